"""B, betting: the mean of a bounded loss, here the cross-entropy of smoothed probabilities."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from certiformer.certificates._evidence import Evidence, scaled
from certiformer.certificates._law import EXAMPLES, Law, Random, Trial

MOST_LOSSES = 100_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Betting(Evidence):
    """Hold-out losses in [low, high] in the order they came; `smoothing` and the order were fixed beforehand."""

    id: ClassVar[str] = "betting"
    bounds: ClassVar[str] = "smoothed_cross_entropy"
    measures: ClassVar[str] = "smoothed cross-entropy"
    weight: ClassVar[float] = 1.0
    guarantee: ClassVar[str] = (
        "Guarantees the expected cross-entropy of {subject} after its probabilities are smoothed, p' = (1-a) p + a/K "
        "with the a shown; that smoothed predictor is what has to be deployed. It does not bound the unsmoothed "
        "cross-entropy, which may be infinite, and it needs independent examples: tokens of one text are not."
    )
    absent: ClassVar[str] = "it needs probabilities or logits on held-out examples"

    losses: tuple[float, ...]
    low: float
    high: float
    smoothing: float
    classes: int

    @property
    def size(self) -> int:
        return len(self.losses)

    def inputs(self, delta: float) -> dict[str, Any]:
        return {"losses": self.losses, "low": self.low, "high": self.high, "delta": delta}

    def grown(self, factor: float) -> Self | None:
        wanted = scaled(len(self.losses), factor)
        if wanted > MOST_LOSSES:
            return None
        return replace(self, losses=tuple(np.resize(np.asarray(self.losses), wanted).tolist()))

    def trivial(self, classes: int) -> float:
        return math.log(classes)

    def terms(self, delta: float) -> dict[str, float]:
        return {"smoothing": self.smoothing}

    def record(self) -> dict[str, Any]:
        """Losses are as many as examples: the report keeps their hash, the data give them again."""
        digest = hashlib.sha256(np.asarray(self.losses, "<f8").tobytes()).hexdigest()
        return {**super().record(), "losses": digest}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self | None:
        return None

    @classmethod
    def laws(cls) -> Mapping[str, Law]:
        return {
            "a loss with three values": Law(three_values),
            "probabilities in a file sorted by class": Law(probabilities),
            "a learner that improves": Law(under_progress, valid=False),
        }


def three_values(random: Random) -> Trial:
    losses = random.choice([0.0, 0.1, 1.0], p=[0.7, 0.2, 0.1], size=EXAMPLES)
    return Trial(Betting(losses=tuple(losses.tolist()), low=0.0, high=1.0, smoothing=0.0, classes=2), 0.12)


def probabilities(random: Random) -> Trial:
    """Confident answers of which a tenth is wrong; the risk is that of the smoothed probabilities, a = 0.01."""
    labels = np.sort(random.integers(2, size=EXAMPLES))
    sure = np.where(random.random(EXAMPLES) < 0.1, 0.05, 0.95)
    given = np.where(labels == 1, sure, 1.0 - sure)
    risk = sum(chance * -math.log(0.99 * p + 0.005) for p, chance in ((0.95, 0.9), (0.05, 0.1)))
    return Trial({"heldout_labels": labels, "heldout_probabilities": given}, risk)


def under_progress(random: Random) -> Trial:
    """Broken: the betting limit, which needs one fixed mean, on a learner that improves."""
    risks = np.where(np.arange(2000) < 200, 0.5, 0.02)
    losses = tuple((random.random(len(risks)) < risks).astype(float).tolist())
    return Trial(Betting(losses=losses, low=0.0, high=1.0, smoothing=0.0, classes=2), float(np.mean(risks)))
