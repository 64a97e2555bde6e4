"""Members of zip archives by offset: stored ones are memory-mapped, and none is trusted about its size."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path

from certiformer.checkpoints.checkpoint_error import CheckpointError, shown
from certiformer.theory.core.zip_reader import BadArchive, zip_content


def content(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> bytes:
    """A member as bytes, at most `most` of them."""
    try:
        return zip_content(archive, info, most)
    except BadArchive as error:
        raise CheckpointError(path, str(error)) from None


def stored_offset(path: Path, info: zipfile.ZipInfo) -> int | None:
    """Where the bytes of an uncompressed member begin in the file; None if it is compressed."""
    if info.compress_type != zipfile.ZIP_STORED:
        return None
    with path.open("rb") as file:
        file.seek(info.header_offset)
        header = file.read(30)
    if len(header) < 30 or header[:4] != b"PK\x03\x04" or info.file_size != info.compress_size:
        raise CheckpointError(path, f"member {shown(info.filename)} has a broken header")
    name, extra = struct.unpack("<HH", header[26:30])
    offset = info.header_offset + 30 + int(name) + int(extra)
    if offset + info.file_size > path.stat().st_size:
        raise CheckpointError(path, f"truncated: member {shown(info.filename)} lies outside the file")
    return offset
