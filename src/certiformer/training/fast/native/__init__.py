"""The papers' inner loops as kernels that Numba compiles on this machine (the extra `fast`).

Every kernel has a JAX form beside it, which computes the same numbers several times slower: the fallback where Numba is
not installed, and what the tests compare with. Nothing here is imported before `wanted` says yes.
"""

from __future__ import annotations

import functools
import importlib.util
import warnings


def wanted(native: bool | None = None) -> bool:
    """Whether to take the kernel: as told, or if Numba is installed; if it is not, that is said once."""
    if native is not None:
        return native
    if _installed():
        return True
    _say()
    return False


@functools.cache
def _installed() -> bool:
    return importlib.util.find_spec("numba") is not None


@functools.cache
def _say() -> None:
    warnings.warn(
        "Numba is not installed: the papers' inner loops run in JAX, several times slower. "
        "pip install 'certiformer[fast]' brings it.",
        stacklevel=4,
    )
