"""What a bound rests on, and who vouches for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Check:
    """A hypothesis of a bound.

    `holds` is true or false where the program could decide, and None where it could not.
    `by` says who vouches: the program ("verified") or the caller ("caller").
    """

    requires: str
    measured: float | str | None = None
    holds: bool | None = None
    by: Literal["verified", "caller"] = "caller"

    def as_json(self) -> dict[str, Any]:
        return {"requires": self.requires, "measured": self.measured, "holds": self.holds, "by": self.by}


def verified(requires: str, holds: bool, measured: float | str | None = None) -> Check:
    """A hypothesis that the program decided."""
    return Check(requires, measured, bool(holds), "verified")


def assumed(requires: str, holds: bool | None = None, measured: float | str | None = None) -> Check:
    """A hypothesis that only the caller can know; `holds=False` says that the caller did not claim it."""
    return Check(requires, measured, holds, "caller")
