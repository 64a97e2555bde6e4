"""What certificates of losses share: numbers in a known range, as many as units, that the data give again."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from certiformer.certificates._evidence import Evidence
from certiformer.theory.core.lazy import np, npt


@dataclass(frozen=True, kw_only=True, eq=False)
class LossEvidence(Evidence):
    """Losses in [low, high], declared beforehand; a report keeps what identifies them, not the losses."""

    losses: npt.NDArray[np.float64]
    low: float = 0.0
    high: float = 1.0

    # The equality of other records looks at their fields; arrays have none, so that a record equals itself alone.
    __eq__, __hash__ = object.__eq__, object.__hash__

    @property
    def size(self) -> int:
        return len(self.losses)

    def trivial(self, classes: int) -> float:
        guess = getattr(self, "guess", None)
        return self.high if guess is None else float(guess)

    def terms(self, delta: float) -> dict[str, float]:
        return {"least possible": self.low, "largest possible": self.high}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self | None:
        return None


def hashed(*arrays: Any) -> str:
    """SHA-256 of numbers, as doubles; what is None is left out."""
    digest = hashlib.sha256()
    for array in arrays:
        if array is not None:
            digest.update(np.asarray(array, "<f8").tobytes())
    return digest.hexdigest()


def described(values: npt.NDArray[np.float64]) -> dict[str, float]:
    return {"number": len(values), "mean": math.fsum(values) / max(1, len(values))}
