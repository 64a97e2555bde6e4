"""A lock on an open file, between processes. The system takes it back from a process that dies, however it dies."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from certiformer.theory.core.errors import CertiformerError

WAIT_SECONDS, POLL_SECONDS = 120.0, 0.01


class NoLocking(CertiformerError):
    """This platform, or this file system, has no locks between processes."""

    def __init__(self, path: Path, why: object) -> None:
        super().__init__(
            f"cannot lock {path}: {why}. Two processes at once would mix what they write; "
            "use a folder on a local disk of Linux or macOS"
        )


@contextmanager
def locked(file: IO[Any] | int, path: Path, *, shared: bool = False) -> Iterator[None]:
    """`file`, open at `path`, for this process alone, or with `shared` for everybody who only reads."""
    try:
        import fcntl
    except ImportError:
        raise NoLocking(path, "this platform has no flock") from None
    wanted = (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB
    last = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            fcntl.flock(file, wanted)
            break
        except BlockingIOError:
            if time.monotonic() > last:
                raise CertiformerError(
                    f"another process has held {path} for {WAIT_SECONDS:g} seconds; try again when it has ended"
                ) from None
            time.sleep(POLL_SECONDS)
        except OSError as error:
            raise NoLocking(path, error.strerror or error) from None
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """The folder for this process alone, where the system has such locks; nothing is left in it."""
    with ExitStack() as held:
        with suppress(NoLocking, OSError):
            descriptor = os.open(folder, os.O_RDONLY)
            held.callback(os.close, descriptor)
            held.enter_context(locked(descriptor, folder))
        yield


@contextmanager
def held(path: Path) -> Iterator[None]:
    """One run at a time with the file, which is replaced whole: a file beside it has the lock, and is there as long."""
    beside = path.with_name(f".{path.name}.lock")
    while True:
        try:
            handle = os.open(beside, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise CertiformerError(f"cannot write {path}: {error.strerror}") from error
        with ExitStack() as kept:
            kept.callback(os.close, handle)
            with suppress(NoLocking):  # no such locks there: one run at a time is up to the caller
                kept.enter_context(locked(handle, path))
            mine = False
            with suppress(FileNotFoundError):
                mine = os.path.samestat(beside.stat(), os.fstat(handle))
            if mine:  # and not that of a run that has just ended, which took it away
                kept.callback(beside.unlink, missing_ok=True)
                yield
                return
