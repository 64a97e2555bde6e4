"""V for real losses: one pass, each example scored before it is learnt; the log form."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from certiformer.certificates._evidence import LossBound, LossEvidence, hashed, losses_in
from certiformer.certificates._law import Law, Random, Trial
from certiformer.theory.calculus.log_form import GRID, centres, log_form_upper
from certiformer.theory.core import Hypothesis, Result, Variants, assumed, count, reals, upper_bound
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.lazy import Array, np, npt


class ProgressiveLossBound(LossBound):
    r"""Progressive validation for a bounded loss (log form).

    Bounds the average risk of the iterates after the first `skip` examples. x_t is the loss scaled to [0, 1], p_t a
    running mean of the losses before it. Without `skip` lambda is mixed over 0.1, 0.2, ..., 1; with it lambda is the
    one that is best on the skipped losses, which costs nothing. Holds for all lengths of the pass at once.

    Sound: average risk of the iterates <= (1/n) [sum p_t + (ln(1/delta) - sum ln(1 + lambda (p_t - x_t)))/lambda]
    .. math:: \bar\mu\le\frac1n\Big[\sum_t p_t+\frac{\ln(1/\delta)-\sum_t\ln(1+\lambda(p_t-x_t))}{\lambda}\Big]
    Because: log losses of language models, in bits per byte; one pass serves for training and for the certificate
    Assumes:
    - losses in [low, high], declared beforehand
    - independent examples (documents), not tokens of one text
    """

    id = "progressive.loss"
    place = "certificate V for losses"
    proof = "docs/proofs/certificates.md"

    losses: tuple[float, ...] = reals(
        "losses of the pass, in its order",
        low=-math.inf,
        low_open=False,
        example=(0.2, 0.1, 0.3, 0.25, 0.15, 0.2, 0.05, 0.4, 0.2, 0.1, 0.3, 0.2),
    )
    skip: int = count("losses at the start that are left out, a number fixed beforehand", low=0, default=0)

    def sound(self) -> Variants:
        losses, width = checked(self.losses, self.low, self.high, self.skip), self.high - self.low
        limit = log_form_upper(self.fractions(), -math.log(self.delta), self.skip)
        return {
            "value": upper_bound(
                self.low + width * limit,
                clip=self.high,
                hypotheses=hypotheses(self.low, self.high, self.skip),
                terms={"observed": float(np.mean(losses[self.skip :]))},
            )
        }


def checked(losses: npt.ArrayLike, low: float, high: float, skip: int) -> Array:
    """The losses as an array, inside their range, and some of them left after those that are skipped."""
    found = losses_in(losses, low, high)
    if skip >= len(found):
        raise InputError("skip", skip, f"fewer than the {len(found)} losses of the pass")
    return found


def hypotheses(low: float, high: float, skip: int) -> tuple[Hypothesis, ...]:
    skipped = (assumed(f"that the first {skip:,} are left out was decided before the pass"),) if skip else ()
    return (
        assumed("each example was scored by a model that had not seen it, in an order fixed beforehand"),
        assumed("it is the average over the iterates that is bounded, not the risk of the last one"),
        assumed(f"every loss lies in [{low:g}, {high:g}], not only the losses seen here"),
        *skipped,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class ProgressiveLoss(LossEvidence):
    """Losses of one pass in [low, high], each example scored before it was learnt; the first `skip` are left out."""

    bound: ClassVar[type[Result]] = ProgressiveLossBound
    bounds = "mean_iterate_loss"
    measures = "mean loss, averaged over one training pass"
    weight = 2.0
    grows = ()  # a longer pass would learn more: nothing follows from these losses
    guarantee = (
        "Guarantees the mean loss of the iterates of one training pass, averaged over those that scored the examples "
        "counted: the loss of an iterate drawn at random among them. For log losses it also holds for the mixture of "
        "these iterates that gives a document the average of their probabilities (smoothed in the same way). It does "
        "not bound the last iterate, averaged weights, or single documents; a mean over documents is none over bytes."
    )
    absent = "it needs progressive_losses that are not 0 or 1, with a declared range"

    skip: int = 0
    what: str = "loss"

    @property
    def quantity(self) -> str:
        return f"mean {self.what} over new {self.of}, averaged over one training pass"

    def seen(self) -> str:
        left_out = f", after the first {self.skip:,}" if self.skip else ""
        mean = float(np.mean(self.losses[self.skip :]))
        return f"a mean {self.what} of {mean:.4g} over {self.size:,} {self.of} scored before they were learnt{left_out}"

    @property
    def size(self) -> int:
        return len(self.losses) - self.skip

    def terms(self, delta: float) -> dict[str, float]:
        return {**super().terms(delta), "left out": float(self.skip)}

    def record(self) -> dict[str, Any]:
        """Losses are as many as examples: the report keeps their hash, the data give them again."""
        return {**super().record(), "losses": hashed(self.losses), "n": self.size}

    @classmethod
    def laws(cls) -> Mapping[str, Law]:
        return {
            "a learner that improves, its first half left out": Law(improving),
            "rare catastrophes": Law(catastrophes),
            "a learner that stops when the limit is beaten": Law(freezing),
            "the same, with few errors": Law(partial(freezing, risk=0.01)),
            "the same, its risk doubled after luck": Law(partial(freezing, risk=0.1, factor=2.0)),
            "examples scored after they were learnt": Law(scored_late, valid=False),
            "the range read off the losses": Law(observed_range, valid=False),
        }


LENGTH = 300


def improving(random: Random) -> Trial:
    """Risks 0.1 + 0.4/sqrt(1 + t/20), losses of a beta law."""
    risks = 0.1 + 0.4 / np.sqrt(1 + np.arange(LENGTH) / 20)
    losses = random.beta(20 * risks, 20 * (1 - risks))
    return Trial(ProgressiveLoss(losses=losses, skip=LENGTH // 2), float(np.mean(risks[LENGTH // 2 :])))


def catastrophes(random: Random) -> Trial:
    """A loss of 10 in three of LENGTH examples, as often missed as not."""
    losses = np.where(random.random(LENGTH) < 3 / LENGTH, 10.0, 1.0)
    return Trial(ProgressiveLoss(losses=losses, high=10.0), 1.0 + 9.0 * 3 / LENGTH)


def freezing(random: Random, risk: float = 0.3, factor: float = 1.0) -> Trial:
    """A learner that knows the true capital: above 2 its risk grows by `factor`; once the limit is false, it stops.

    From there on its losses are certain, so that the capital stays what it is: the worst there is.
    """
    losses, means = (random.random(LENGTH) < risk).astype(np.float64), np.full(LENGTH, risk)
    rates, capital = np.array(GRID), np.zeros(len(GRID))
    for t in range(LENGTH):
        centre, mixed = centres(losses[: t + 1])[-1], np.mean(np.exp(capital))
        if mixed >= 20.0:
            losses[t:] = means[t:] = centre
            break
        if mixed > 2.0 and means[t] < factor * risk:
            means[t:] = factor * risk
            losses[t:] = random.random(LENGTH - t) < factor * risk
        capital += np.log1p(rates * (centre - losses[t])) + rates * (means[t] - centre)
    return Trial(ProgressiveLoss(losses=losses), float(np.mean(means)))


def scored_late(random: Random) -> Trial:
    """Broken: the model knew the example by heart when it was scored."""
    return Trial(ProgressiveLoss(losses=0.02 * random.random(LENGTH)), 0.3)


def observed_range(random: Random) -> Trial:
    """Broken: `high` is the largest loss seen, and a loss of 1000 is missed more often than not."""
    chance = 0.6 / LENGTH
    losses = np.where(random.random(LENGTH) < chance, 1000.0, random.random(LENGTH))
    return Trial(ProgressiveLoss(losses=losses, high=float(losses.max())), 0.5 * (1 - chance) + 1000 * chance)
