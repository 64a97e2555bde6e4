"""What `reproduce --list` shows, without the libraries that the experiments run on.

`listing.json` is written by `tools/generate_listing.py` and holds for the text of the experiments that it was written
for; with any other text they are walked.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("listing.json")


def listed() -> list[dict[str, Any]]:
    """Every experiment: id, paper, title and runs by scale."""
    kept: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    found: list[dict[str, Any]] = kept["experiments"] if kept.get("of") == text_digest() else walked()
    return found


def walked() -> list[dict[str, Any]]:
    """The same from the experiments themselves."""
    from certiformer.reproduction.study_registry import SCALES, studies

    return [
        {
            "id": study.id,
            "paper": study.paper,
            "title": study.title,
            "runs": {scale: len(study.experiment(scale).configs) for scale in SCALES},
        }
        for study in studies()
    ]


def text_digest() -> str:
    """SHA-256 of the modules that declare experiments and their runs, in order."""
    digest = hashlib.sha256()
    for path in sorted((Path(__file__).parents[2] / "reproduction").rglob("*.py")):
        text = path.read_bytes().replace(b"\r\n", b"\n")
        digest.update(f"{path.name} {len(text)}\n".encode() + text)
    return digest.hexdigest()
