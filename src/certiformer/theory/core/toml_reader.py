"""The one reader of TOML that others wrote."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from certiformer.theory.core.errors import InputError
from certiformer.theory.core.regular_file import regular


def read_toml(path: str | Path, name: str = "file") -> dict[str, Any]:
    """The tables of a TOML file, or one line on what is wrong with it; `name` is what the file is called there."""
    file = regular(path, name, "a TOML file")
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(name, str(path), "a readable TOML file", f"({error.strerror or error})") from error
    except RecursionError:
        raise InputError(name, str(path), "TOML (it is nested too deeply)") from None
    except ValueError as error:  # also what is not UTF-8, and numbers of thousands of digits
        raise InputError(name, str(path), f"TOML ({error})") from error
