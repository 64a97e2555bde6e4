"""Q for real losses: the mean loss of an untouched model, through a certified one and unlabelled examples."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from certiformer.certificates._evidence import LossBound, LossEvidence, described
from certiformer.certificates._law import Law, Random, Trial
from certiformer.theory.calculus.compression import compression_upper
from certiformer.theory.calculus.target_betting import target_upper
from certiformer.theory.core import Variants, assumed, count, real, reals, upper_bound
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.lazy import Array, np, npt


class SurrogateLossBound(LossBound):
    r"""Surrogate certificate for a bounded loss.

    An untouched model h, certified through one that can be, s, for a loss in [low, high]. The excess rho(x) =
    max_y [loss(h(x), y) - loss(s(x), y)] needs no label, only x. For the cross-entropy of smoothed probabilities it is
    max_y ln(p_s(y|x)/p_h(y|x)). s is certified by its losses on a hold-out, delta/2 for each mean; or, where s came
    from a pick loop (`k` examples picked or left wrong), by its losses on all the others, delta/3 for each part. h may
    have seen everything that is labelled.

    .. math:: E\,\ell(h) \le E\,\ell(s) + E\rho, \qquad \rho(x) = \max_y[\ell(h(x), y) - \ell(s(x), y)]

    Sound: mean loss of h <= limit of the mean loss of s + limit of the mean excess, both by target betting
    .. math:: E\,\ell(h) \le \varepsilon\,\mathrm{high} + (1-\varepsilon)\,\bar\mu + \bar\rho,\ \varepsilon = 0
              \text{ for a hold-out}
    Because: cross-entropy, Brier scores and other losses of a model that nobody can certify by itself
    Assumes:
    - the unlabelled examples are new to h, s and to the choice of s, and of the distribution of the labelled ones
    - the excess is the largest over every label, not over the labels that were seen
    """

    id = "surrogate.loss"
    place = "certificate Q for losses"
    proof = "docs/proofs/compression.md"

    losses: tuple[float, ...] = reals(
        "losses of s on its hold-out; with k, on the examples that were neither picked nor left wrong",
        low=-math.inf,
        low_open=False,
        example=(0.1, 0.0, 0.3, 0.05, 0.2, 0.0, 0.1, 0.0),
    )
    excess: tuple[float, ...] = reals(
        "rho of fresh unlabelled examples, in a fixed order",
        low=-math.inf,
        low_open=False,
        example=(0.0, 0.05, 0.0, 0.1, 0.0, 0.0),
    )
    k: int | None = count(
        "examples the pick loop of s picked or left wrong", low=0, default=None, otherwise="a hold-out certifies s"
    )
    least: float | None = real(
        "least possible excess: 0 where no answer beats another for every label, as with cross-entropy and Brier score",
        low=-math.inf,
        default=None,
        otherwise="low - high",
    )

    def sound(self) -> Variants:
        if not self.low < self.high:
            raise InputError("high", self.high, f"a number above low = {self.low}")
        width = self.high - self.low
        least = -width if self.least is None else self.least
        if not -width <= least < width:
            raise InputError("least", least, f"a number in [{-width:g}, {width:g})")
        level = self.delta / (2.0 if self.k is None else 3.0)
        own = limit("losses", self.losses, self.low, self.high, level)
        parts = {}
        if self.k is not None:
            changed = compression_upper(self.k, self.k + len(self.losses), math.log(level))
            own, parts = changed * self.high + (1.0 - changed) * own, {"share that changes s": changed}
        apart = limit("excess", self.excess, least, width, level)
        observed = float(np.mean(self.losses)) + float(np.mean(self.excess))
        hypotheses = (
            assumed(
                "the n labelled examples played no part in choosing s"
                if self.k is None
                else "s is what the pick loop gave"
            ),
            assumed("the loss lies in [low, high] for every example and both models: declared beforehand"),
            assumed("examples are independent, in an order made without looking at their losses"),
            *(() if self.least is None else (assumed(f"no excess is below {self.least:g}, for any example"),)),
        )
        terms = {"observed": observed, "loss of s": own, "excess over s": apart, **parts}
        return {"value": upper_bound(own + apart, clip=self.high, terms=terms, hypotheses=hypotheses)}


def limit(name: str, values: npt.ArrayLike, low: float, high: float, level: float) -> float:
    """The upper limit of a mean of numbers in [low, high] by target betting, in the order given."""
    x = (np.asarray(values, np.float64) - low) / (high - low)
    if len(x) == 0:
        return high
    if not np.all((x >= -1e-12) & (x <= 1.0 + 1e-12)):
        outside = np.asarray(values, np.float64)[(x < -1e-12) | (x > 1.0 + 1e-12) | np.isnan(x)]
        raise InputError(name, float(outside[0]), f"numbers in [{low:g}, {high:g}]")
    return low + (high - low) * target_upper(np.ones(len(x)), np.clip(x, 0.0, 1.0), level)


@dataclass(frozen=True, kw_only=True, eq=False)
class SurrogateLoss(LossEvidence):
    """`losses` of s on a hold-out, or, with `k` picked or left wrong, on the other examples; `excess` of h over s.

    `what` is the loss in words, `loss` its name for `verify`, `outputs` what the target answers with, `guess` the loss
    of a predictor that knows nothing. Range, `least` possible excess and both orders were fixed beforehand.
    """

    bound = SurrogateLossBound
    bounds = "mean_loss"
    measures = "mean loss"
    weight = 2.0
    grows = ()  # two samples do, and picks do not: no single n is needed
    guarantee = (
        "Guarantees the mean loss of {subject}, which nobody changed: at most that of a certified surrogate, plus the "
        "most by which it can be worse on unlabelled examples, whatever their labels are. These must be new to both "
        "and come from the distribution of the labelled ones; where they do not, nothing follows. A smoothed "
        "cross-entropy is that of the smoothed probabilities, which are what has to be deployed."
    )
    absent = (
        "it needs a certified surrogate, a loss in a known range and unlabelled examples that are new to both; "
        'certify(train=..., by=[Surrogate(model, unlabelled, loss="cross-entropy")]) finds one'
    )

    excess: Array
    merged_excess: int = 1
    k: int | None = None
    least: float | None = None
    what: str = "loss"
    guess: float | None = None
    loss: str = ""
    outputs: str = "logits"

    def seen(self) -> str:
        labelled, unlabelled = len(self.losses) * self.merged, len(self.excess) * self.merged_excess
        return f"{labelled:,} labelled and {unlabelled:,} unlabelled examples"

    @property
    def quantity(self) -> str:
        return f"mean {self.what} over new examples"

    @property
    def size(self) -> int:
        return super().size + (self.k or 0)

    def terms(self, delta: float) -> dict[str, float]:
        return {**super().terms(delta), "unlabelled examples": float(len(self.excess) * self.merged_excess)}

    def record(self) -> dict[str, Any]:
        found = {**super().record(), "excess": described(self.excess)}
        if self.merged_excess == 1:
            del found["merged_excess"]
        return found

    @classmethod
    def laws(cls) -> Mapping[str, Law]:
        return {
            "the worst label wherever the two differ": Law(worst_label),
            "a target that saw the hold-out": Law(adaptive),
            "an excess measured where the target was trained": Law(seen, valid=False),
            "the excess at the labels that were seen": Law(own_labels, valid=False),
        }


EXAMPLES, RARE = 40, 0.1
LEVELS, CHANCES = (0.05, 0.3, 1.0), (0.6, 0.3, 0.1)


def worst_label(random: Random) -> Trial:
    """The label is always that at which h is worst, so that the inequality is an equality."""
    losses, excess = _levels(random), np.where(random.random(EXAMPLES) < RARE, 0.5, 0.0)
    return Trial(SurrogateLoss(losses=losses, excess=excess, high=2.0, least=0.0), _mean() + 0.5 * RARE)


def adaptive(random: Random) -> Trial:
    """h knows how lucky the hold-out was, and is the worse the luckier it was."""
    losses = _levels(random)
    rate = 0.2 if float(np.mean(losses)) < _mean() - 0.03 else 0.02
    excess = np.where(random.random(EXAMPLES) < rate, 0.5, 0.0)
    return Trial(SurrogateLoss(losses=losses, excess=excess, high=2.0), _mean() + 0.5 * rate)


def seen(random: Random) -> Trial:
    """Broken: h was trained to say what s says on these very inputs, and is worse by 1 on all others."""
    return Trial(SurrogateLoss(losses=_levels(random), excess=np.zeros(EXAMPLES), high=2.0), _mean() + 1.0)


def own_labels(random: Random) -> Trial:
    """Broken: in place of the worst label, that which h itself would give, at which it is better than s."""
    record = SurrogateLoss(losses=_levels(random), excess=np.full(EXAMPLES, -0.3), high=2.0)
    return Trial(record, _mean() + 0.5)


def _levels(random: Random) -> Array:
    return np.asarray(random.choice(LEVELS, p=CHANCES, size=EXAMPLES))


def _mean() -> float:
    return float(np.dot(LEVELS, CHANCES))
