"""The one writer of files: each is written completely or not at all, and a folder's files belong together."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from certiformer.theory.core.errors import CertiformerError
from certiformer.theory.core.locks import locked_folder
from certiformer.theory.core.regular_file import is_special


def write_text(path: Path, text: str) -> None:
    """Write a text file completely or not at all."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes, *, lasting: bool = True) -> None:
    """Write a file completely or not at all: an existing one survives a run that fails, or (`lasting`) a power cut."""
    with whole_file(path, lasting=lasting) as file:
        file.write(content)


@contextmanager
def whole_file(path: Path, *, lasting: bool = True) -> Iterator[IO[bytes]]:
    """A file to write into that takes its name when all is written; `lasting` as for `write_bytes`."""
    if is_special(path) or path.is_dir():
        what = "a folder" if path.is_dir() else "a pipe, a socket or a device"
        raise CertiformerError(f"cannot write {path}: it is {what}. Choose another place")
    # not a file of `tempfile`, which nobody else could read: the user's umask decides
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            if lasting:
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        kept = "; what it held before is intact" if path.exists() else ""
        raise CertiformerError(f"cannot write {path}: {error.strerror}{kept}. Choose another place") from error
    finally:
        temporary.unlink(missing_ok=True)


def write_folder(folder: str | Path, files: Mapping[str, str | bytes]) -> Path:
    """Write all of these files or none of them: two processes with one folder leave the set of one of them."""
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CertiformerError(f"cannot write to {target}: {error.strerror}. Choose another --out") from error
    with locked_folder(target), ExitStack() as written:
        for name, content in files.items():
            file = written.enter_context(whole_file(target / name, lasting=False))
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())  # here, so that the disk has taken all of them before the first takes its name
    return target
