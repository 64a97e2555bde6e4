"""Write what `reproduce --list` shows: `python tools/generate_listing.py`."""

from __future__ import annotations

import json
from pathlib import Path

from certiformer.cli.reproduce.listing import FILE, text_digest, walked


def write(file: Path = FILE) -> None:
    """The listing for the experiments as they are now."""
    kept = {"of": text_digest(), "experiments": walked()}
    file.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
