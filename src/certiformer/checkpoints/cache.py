"""What was computed before, on disk, by content: the same bytes are never measured twice."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.theory.core.errors import CertiformerError
from certiformer.theory.core.user_dirs import cache_directory
from certiformer.theory.core.whole_files import write_bytes

VERSION = 1
"""Part of every key: a change of what is computed begins anew."""


class Cache:
    """JSON values and arrays by key, in CERTIFORMER_CACHE or the user's cache directory; nothing unless `kept`.

    A cache that cannot be read or written is as good as none.
    """

    def __init__(self, kind: str, *, kept: bool = True) -> None:
        root = Path(os.environ.get("CERTIFORMER_CACHE") or cache_directory())
        self.root = root / f"{kind}-{VERSION}" if kept else None

    def _place(self, key: str, ending: str) -> Path | None:
        if self.root is None:
            return None
        name = hashlib.sha256(key.encode()).hexdigest()
        return self.root / name[:2] / (name + ending)

    def get(self, key: str) -> Any:
        place = self._place(key, ".json")
        try:
            return None if place is None else json.loads(place.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def put(self, key: str, value: Any) -> None:
        self._write(self._place(key, ".json"), json.dumps(value).encode())

    def get_array(self, key: str) -> npt.NDArray[Any] | None:
        place = self._place(key, ".npy")
        try:
            return None if place is None else np.load(place, allow_pickle=False)
        except (OSError, ValueError, EOFError):
            return None

    def put_array(self, key: str, value: npt.NDArray[Any]) -> None:
        place = self._place(key, ".npy")
        if place is not None:
            import io

            buffer = io.BytesIO()
            np.save(buffer, value, allow_pickle=False)
            self._write(place, buffer.getvalue())

    def _write(self, place: Path | None, data: bytes) -> None:
        if place is None:
            return
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(place, data, lasting=False)
        except (OSError, CertiformerError):
            return
