"""Arrays from files: .npz archives without pickles, with errors that say what is wrong."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.core.errors import InputError, UnknownNameError

Arrays = Mapping[str, npt.NDArray[Any]]


def read_npz(path: str | Path, known: tuple[str, ...]) -> Arrays:
    """The arrays of an .npz file, all of them named in `known`; pickled objects are refused, not run."""
    source = Path(path)
    if not source.exists():
        raise InputError("file", str(source), "an existing .npz file")
    if not source.is_file():
        raise InputError("file", str(source), "a file, not a folder")
    try:
        # Objects hidden in arrays would be unpickled, which runs code: never.
        with source.open("rb") as file:
            archive = np.load(file, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise InputError("file", str(source), "an .npz archive with named arrays", "Use numpy.savez")
            with archive:
                found = {name: archive[name] for name in archive.files}
    except InputError:
        raise
    except OSError as error:
        raise InputError("file", str(source), "a readable .npz file", f"It cannot be read: {error}") from error
    except (ValueError, zipfile.BadZipFile, EOFError, KeyError) as error:
        if "pickle" in str(error).lower():
            raise InputError(
                "file", str(source), "plain arrays", "It holds pickled objects, which are never loaded: save numbers"
            ) from error
        raise InputError("file", str(source), "a complete .npz file", f"It cannot be read: {error}") from error
    refuse_unknown_arrays(found, known, source.name)
    return found


def refuse_unknown_arrays(names: Iterable[str], known: tuple[str, ...], where: str) -> None:
    """A misspelt array would switch a check off in silence."""
    for name in names:
        if name not in known:
            raise UnknownNameError("array", name, known, f"in {where} (known: {', '.join(known)})")


def finite(name: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array, if it holds numbers without nan and infinity."""
    if array.dtype.kind not in "fiub":
        raise InputError(name, f"type {array.dtype}", "numbers")
    if array.dtype.kind == "f" and not np.all(np.isfinite(array)):
        raise InputError(name, "nan or infinite entries", "finite numbers", "Remove these examples")
    return array
