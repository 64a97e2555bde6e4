"""Speed of the training steps against PyTorch, on one thread.

Run `python -m benchmarks` (or `make bench`). PyTorch is not a dependency of the package: install the `bench` extra.
PyPI's default PyTorch wheel for Linux brings CUDA along; the CPU build is enough here.
"""
