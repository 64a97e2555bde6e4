"""The one reader of zip archives that others wrote: nothing in them is trusted about its size."""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from certiformer.theory.core.errors import shown

try:
    from compression.zstd import ZstdError  # type: ignore[import-not-found]
except ImportError:  # before Python 3.14 archives with zstd are not read at all
    ZstdError = zlib.error

SMALL, MOST_RATIO, MOST_MEMBERS = 2**26, 100, 1_000_000
"""A member, and all together, may grow to SMALL bytes, or to MOST_RATIO times what they take in the archive."""
MOST_VALUES = 2**21
"""JSON values of a small archive: `[],` is three bytes there, and sixty in memory. A larger one may have one a byte."""
BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    ZstdError,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OSError,
)
"""What Python raises when it reads a broken archive, or one that it cannot unpack."""


class BadArchive(ValueError):
    """What is wrong with an archive, in one line."""


def zip_members(path: Path, archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Members by name; what is there twice, encrypted, outside the file, overlapping or a zip bomb is refused."""
    size = path.stat().st_size
    found: dict[str, zipfile.ZipInfo] = {}
    packed = unpacked = 0
    for info in archive.infolist():
        name = info.filename
        packed += info.compress_size
        unpacked += info.file_size
        if name in found:
            raise BadArchive(f"the archive has the member {shown(name)} twice")
        if info.flag_bits & 1:
            raise BadArchive(f"member {shown(name)} is encrypted")
        if info.compress_size > size or info.header_offset >= size:
            raise BadArchive(f"truncated: member {shown(name)} lies outside the file")
        if info.file_size > max(SMALL, MOST_RATIO * info.compress_size):
            raise BadArchive(
                f"member {shown(name)} would grow from {info.compress_size} to {info.file_size} bytes: a zip bomb"
            )
        if unpacked > max(SMALL, MOST_RATIO * size):
            raise BadArchive(f"its members would grow from {size} to more than {unpacked} bytes: a zip bomb")
        if packed > size:
            raise BadArchive("its members lie on top of each other: a zip bomb")
        found[name] = info
        if len(found) > MOST_MEMBERS:
            raise BadArchive("too many members")
    return found


def zip_content(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> bytes:
    """A member as bytes, at most `most` of them."""
    if info.file_size > most:
        raise BadArchive(f"member {shown(info.filename)} has {info.file_size} bytes, at most {most} are read")
    try:
        with archive.open(info) as file:
            found = file.read(info.file_size)
    except BROKEN as error:
        raise BadArchive(f"member {shown(info.filename)} is broken ({shown(error)})") from error
    except MemoryError as error:  # LZMA says itself how large its dictionary is
        raise BadArchive(f"member {shown(info.filename)} asks for more memory than there is") from error
    if len(found) != info.file_size:
        raise BadArchive(f"truncated: member {shown(info.filename)}")
    return found


def refuse_dense(path: Path, texts: Iterable[bytes]) -> Iterator[bytes]:
    """The JSON texts of an archive; refused once they have more values than its size explains."""
    room = max(MOST_VALUES, path.stat().st_size)
    for text in texts:
        room -= text.count(b",") + text.count(b"[") + text.count(b"{")
        if room < 0:
            raise BadArchive("its texts have too many values for its size: a zip bomb")
        yield text
