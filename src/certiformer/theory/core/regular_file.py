"""Files as opposed to pipes and devices, which may have no end, and which wait for somebody when they are opened."""

from __future__ import annotations

from pathlib import Path

from certiformer.theory.core.errors import InputError


def regular(path: str | Path, name: str, expected: str) -> Path:
    """The path, unless something is there that is neither a file nor a folder; `name` is what it is called."""
    found = Path(path)
    if is_special(found):
        fix = "It is a pipe, a socket or a device: write what comes out of it into a file"
        raise InputError(name, str(found), expected, fix)
    return found


def is_special(path: Path) -> bool:
    """Whether a pipe, a socket or a device is there."""
    return path.exists() and not (path.is_file() or path.is_dir())
