"""Where files go that nobody named: the user's own directories, as each system has them."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_directory() -> Path:
    """For what can be made again, such as compiled programs."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "certiformer"
    if sys.platform == "win32":
        return _windows() / "Cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "certiformer"


def data_directory() -> Path:
    """For what took time to make, such as the ledger of finished runs."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "certiformer"
    if sys.platform == "win32":
        return _windows()
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "certiformer"


def _windows() -> Path:
    return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "certiformer"
