"""What is wrong with a file, in one line."""

from __future__ import annotations

from pathlib import Path

from certiformer.theory.core.errors import CertiformerError
from certiformer.theory.core.errors import shown as shown


class CheckpointError(CertiformerError, ValueError):
    """A checkpoint that cannot be used: where, what is wrong, and how to mend it where that is known."""

    def __init__(self, path: str | Path, problem: str, fix: str = "") -> None:
        self.path, self.problem, self.fix = str(path), problem, fix
        super().__init__(f"{shown(path)}: {problem}" + (f". {fix}" if fix else ""))


class NoNetwork(CheckpointError):
    """A file whose tensors can be measured, but whose network is not known for sure: what stands in the way."""
