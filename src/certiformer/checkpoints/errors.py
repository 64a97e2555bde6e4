"""What is wrong with a file, in one line."""

from __future__ import annotations

from pathlib import Path

from certiformer.theory.core.errors import CertiformerError

_LONGEST = 120


class CheckpointError(CertiformerError, ValueError):
    """A checkpoint that cannot be used: where, what is wrong, and how to mend it where that is known."""

    def __init__(self, path: str | Path, problem: str, fix: str = "") -> None:
        self.path, self.problem, self.fix = str(path), problem, fix
        super().__init__(f"{shown(path)}: {problem}" + (f". {fix}" if fix else ""))


def shown(text: object) -> str:
    """A name from a file as it may be printed: one line, no control characters, not too long."""
    plain = "".join(letter if letter.isprintable() else "?" for letter in str(text))
    return plain if len(plain) <= _LONGEST else plain[: _LONGEST - 3] + "..."


class NoNetwork(CheckpointError):
    """A file whose tensors can be measured, but whose network is not known for sure: what stands in the way."""
