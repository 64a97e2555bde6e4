"""What was decided on the way from what people have to what is counted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Decision:
    """A choice that was made while reading: about what, which, and why."""

    subject: str
    choice: str
    why: str
