"""The documentation as a static site: one page per result and certificate, written from the classes themselves.

`python -m website` (with `tools` on the path; `make docs` does it) stages Markdown in `build/site` and lets MkDocs turn
it into `site/`. Everything a page shows is computed here, at build time; a reader needs no network.
"""
