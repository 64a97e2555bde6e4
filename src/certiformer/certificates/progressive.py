"""V, progressive validation: one pass, each example predicted before it is learnt."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from certiformer.certificates._evidence import CertificateBound, Evidence
from certiformer.certificates._law import Law, Random, Trial
from certiformer.theory.calculus.betting import azuma_upper, progressive_grid, progressive_upper
from certiformer.theory.core import Variants, assumed, count, flag, real, stated, upper_bound
from certiformer.theory.core.lazy import np


class ProgressiveBound(CertificateBound):
    r"""Progressive validation.

    Bounds the average risk of the iterates (the risk of an iterate drawn at random), with G fixed in advance.
    Betting and binomial limits are false here: the mean changes while the model learns.

    Sound: average risk of the iterates <= min over a fixed grid of lambda; azuma: mean_loss + sqrt(ln(1/delta)/2n),
    offered for comparison: taking the smaller of the two would have to be paid for
    .. math:: \bar\mu\le\min_{\lambda\in G}\frac{1-e^{-\lambda\bar x-\ln(|G|/\delta)/n}}{1-e^{-\lambda}}
    Because: one pass over the data serves for training and for the certificate
    Assumes:
    - losses in [0, 1]
    - independent examples, not tokens of one text
    """

    id = "progressive"
    place = "certificate V"
    monotone = "+mean_loss -n -delta"

    mean_loss: float = real("average progressive loss", high=1.0, low_open=False, high_open=False, example=0.01)
    n: int = count("examples scored", example=10_000, aliases=("m", "N"))
    delta: float = real("failure probability", high=1.0, example=0.05)
    azuma_chosen: bool | None = flag("the azuma form was chosen before the data were seen, instead of the other")
    points: int = count("size of the grid of lambda, from 0.01 to 10", low=2, high=10_000, example=40, default=40)

    def sound(self) -> Variants:
        hypotheses = (
            assumed("each example was scored by a model that had not seen it, in an order fixed beforehand"),
            assumed("it is the average risk of the iterates that is bounded, not that of the last one"),
        )
        ln_inverse = -math.log(self.delta)
        observed = {"observed": self.mean_loss}
        instead = (stated("this form was chosen before the data were seen", None, "azuma_chosen=0"),)
        return {
            "value": upper_bound(
                progressive_upper(self.mean_loss, self.n, ln_inverse, progressive_grid(self.points)),
                clip=1.0,
                hypotheses=(*hypotheses, *instead) if self.azuma_chosen else hypotheses,
                terms=observed,
            ),
            "azuma": upper_bound(
                azuma_upper(self.mean_loss, self.n, ln_inverse),
                clip=1.0,
                hypotheses=(
                    *hypotheses,
                    stated("this form was chosen before the data were seen", self.azuma_chosen, "azuma_chosen=1"),
                ),
                terms=observed,
            ),
        }


@dataclass(frozen=True, kw_only=True)
class Progressive(Evidence):
    """Average loss in [0, 1] of one pass, each of the n examples predicted before it was learnt."""

    bound = ProgressiveBound
    bounds = "mean_iterate_risk_01"
    measures = "error rate, averaged over one training pass"
    weight = 2.0
    grows = ("n",)
    guarantee = (
        "Guarantees the average error rate of the iterates of one training pass, that is the error rate of an iterate "
        "drawn at random. It does not bound the last iterate, nor averaged weights; those may be better or worse."
    )
    absent = "it needs the losses of one training pass, each example scored before it was learnt"

    mean_loss: float
    n: int

    def seen(self) -> str:
        rate = f"{100 * self.mean_loss:.2f} %"
        return f"{rate} errors in one pass over {self.n:,} examples, each predicted before it was learnt"

    @classmethod
    def laws(cls) -> Mapping[str, Law]:
        return {
            "a learner that improves": Law(improving),
            "a learner that stops when the limit looks too small": Law(adaptive),
            "best of many passes, all counted": Law(best_of_many_passes),
            "best of many passes, one counted": Law(unpaid_passes, valid=False),
        }


def improving(random: Random) -> Trial:
    """A learner that understands after two hundred steps."""
    risks = np.where(np.arange(2000) < 200, 0.5, 0.02)
    mean = float(np.mean(random.random(len(risks)) < risks))
    return Trial(Progressive(mean_loss=mean, n=len(risks)), float(np.mean(risks)))


def adaptive(random: Random) -> Trial:
    """A learner that stays bad until the limit looks too small, then becomes perfect."""
    n, risk = 500, 0.2
    losses = random.random(n) < risk
    seen, total = np.cumsum(losses), risk * np.arange(1, n + 1)
    # A normal limit is enough to find the moment; the certificate is computed at the end.
    too_small = total > seen + 1.7 * np.sqrt(n * risk * (1 - risk) / 4) + 3
    stop = int(np.argmax(too_small)) + 1 if too_small.any() else n
    return Trial(Progressive(mean_loss=float(np.sum(losses[:stop])) / n, n=n), risk * stop / n)


PASSES = 10_000


def _best_pass(random: Random) -> dict[str, Any]:
    errors = int(random.binomial(500, 0.05, size=PASSES).min())
    labels = np.arange(20) % 2
    losses = (np.arange(500) < errors).astype(np.float64)
    return {"heldout_labels": labels, "heldout_predictions": labels, "progressive_losses": losses}


def best_of_many_passes(random: Random) -> Trial:
    return Trial(_best_pass(random), 0.05, {"models": PASSES})


def unpaid_passes(random: Random) -> Trial:
    """Broken: the best of ten thousand passes, and nobody pays."""
    return Trial(_best_pass(random), 0.05)
