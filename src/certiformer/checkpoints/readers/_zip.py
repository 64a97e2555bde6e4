"""Members of zip archives by offset: stored ones are memory-mapped, and none is trusted about its size."""

from __future__ import annotations

import struct
import zipfile
import zlib
from pathlib import Path

from certiformer.checkpoints.errors import CheckpointError, shown

BOMB_BYTES, BOMB_RATIO = 2**26, 100
MOST_MEMBERS = 1_000_000
BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OSError,
)


def members(path: Path, archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Members by name; duplicates, encryption and zip bombs are refused."""
    size = path.stat().st_size
    found: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        name = info.filename
        if name in found:
            raise CheckpointError(path, f"the archive has the member {shown(name)} twice")
        if info.flag_bits & 1:
            raise CheckpointError(path, f"member {shown(name)} is encrypted")
        if info.compress_size > size or info.header_offset >= size:
            raise CheckpointError(path, f"truncated: member {shown(name)} lies outside the file")
        if info.file_size > max(BOMB_BYTES, BOMB_RATIO * info.compress_size):
            raise CheckpointError(
                path, f"member {shown(name)} would grow from {info.compress_size} to {info.file_size} bytes: a zip bomb"
            )
        found[name] = info
        if len(found) > MOST_MEMBERS:
            raise CheckpointError(path, "too many members")
    return found


def content(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> bytes:
    """A member as bytes, at most `most` of them."""
    if info.file_size > most:
        raise CheckpointError(
            path, f"member {shown(info.filename)} has {info.file_size} bytes, at most {most} are read"
        )
    try:
        with archive.open(info) as file:
            found = file.read(info.file_size)
    except BROKEN as error:
        raise CheckpointError(path, f"member {shown(info.filename)} is broken ({shown(error)})") from None
    if len(found) != info.file_size:
        raise CheckpointError(path, f"truncated: member {shown(info.filename)}")
    return found


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
