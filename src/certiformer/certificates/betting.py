"""B, betting: the mean of a bounded loss, here the cross-entropy of smoothed probabilities."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from certiformer.certificates._evidence import THE_MODEL, LossBound, LossEvidence, scaled
from certiformer.certificates._law import EXAMPLES, Law, Random, Trial
from certiformer.theory.calculus.betting import betting_upper
from certiformer.theory.core import Variants, assumed, flag, reals, upper_bound
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.lazy import np


class BettingBound(LossBound):
    r"""Betting certificate for a bounded loss.

    The capital of a gambler who bets against the mean m, K_t(m) = prod (1 + b_i (m - x_i)), is a martingale if m is
    right; means at which it reaches 1/delta are rejected. For cross-entropy the predictor is smoothed,
    p' = (1-a) p + a/K, so that the loss lies in [-ln(1-a+a/K), ln(K/a)]; the smoothed predictor is what is certified.

    Sound: mean loss <= the smallest m at which prod (1 + b_i (m - x_i)) reaches 1/delta, bets predictable
    .. math:: \sup\{m : \max_t \prod_{i\le t}(1+b_i(m-x_i)) < 1/\delta\}
    Because: for losses that are not 0 or 1; for the smoothed cross-entropy above all
    Assumes:
    - examples (documents, not tokens of one text) are independent
    - smoothing level fixed beforehand
    """

    id = "betting"
    place = "certificate B"

    losses: tuple[float, ...] = reals(
        "hold-out losses, in the order they came", low=-math.inf, low_open=False, example=(0.1, 0.0, 0.3, 0.05)
    )
    progressive: bool | None = flag("the model was learning while these losses were recorded")

    def sound(self) -> Variants:
        if self.progressive:
            raise InputError(
                "progressive",
                True,
                "independent losses of one fixed model",
                "The mean changes while it learns: use `progressive`",
            )
        hypotheses = (
            assumed("the losses are independent, of one model fixed before they were computed, in a fixed order"),
            assumed("the loss lies in [low, high] for every example, not only for these"),
        )
        value = self.low + (self.high - self.low) * betting_upper(self.fractions(), self.delta)
        return {
            "value": upper_bound(
                value, clip=self.high, hypotheses=hypotheses, terms={"observed": float(np.mean(self.losses))}
            )
        }


MOST_LOSSES = 100_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Betting(LossEvidence):
    """Hold-out losses in [low, high] in the order they came; `smoothing` and the order were fixed beforehand."""

    bound = BettingBound
    bounds = "smoothed_cross_entropy"
    measures = "cross-entropy of the smoothed predictor"
    weight = 1.0
    guarantee = (
        "Guarantees the expected cross-entropy of {subject} after its probabilities are smoothed, p' = (1-a) p + a/K "
        "with the a shown; that smoothed predictor is what has to be deployed. It does not bound the unsmoothed "
        "cross-entropy, which may be infinite, and it needs independent examples: tokens of one text are not."
    )
    absent = "it needs probabilities or logits on held-out examples"

    low: float = field()
    high: float = field()
    smoothing: float
    classes: int

    @property
    def about(self) -> str:
        return "the smoothed predictor" if self.subject == THE_MODEL else self.subject

    def seen(self) -> str:
        mean = math.fsum(self.losses) / len(self.losses)
        return f"a mean of {mean:.4g} over {self.size:,} {self.examples}{self.at_a_time}"

    def grown(self, factor: float) -> Self | None:
        wanted = scaled(len(self.losses), factor)
        if wanted > MOST_LOSSES:
            return None
        return replace(self, losses=np.resize(self.losses, wanted))

    def trivial(self, classes: int) -> float:
        return math.log(classes)

    def terms(self, delta: float) -> dict[str, float]:
        return {"smoothing": self.smoothing}

    @classmethod
    def laws(cls) -> Mapping[str, Law]:
        return {
            "a loss with three values": Law(three_values),
            "probabilities in a file sorted by class": Law(probabilities),
            "a learner that improves": Law(under_progress, valid=False),
        }


def three_values(random: Random) -> Trial:
    losses = random.choice([0.0, 0.1, 1.0], p=[0.7, 0.2, 0.1], size=EXAMPLES)
    return Trial(Betting(losses=losses, low=0.0, high=1.0, smoothing=0.0, classes=2), 0.12)


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
    losses = (random.random(len(risks)) < risks).astype(float)
    return Trial(Betting(losses=losses, low=0.0, high=1.0, smoothing=0.0, classes=2), float(np.mean(risks)))
