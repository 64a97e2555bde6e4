"""What people have, as columns and arrays: files of every kind (`files`), one table of metrics, one reading of columns.

Only `certiformer.certification.sample` opens files through this package.
"""
