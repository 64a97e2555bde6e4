r"""V, progressive validation: one pass, each example predicted before it is learnt.

.. math:: \bar\mu \le \min_{\lambda\in G}
          \frac{1-\exp(-\lambda\bar x - \ln(|G|/\delta)/n)}{1-e^{-\lambda}}

bounds the average risk of the iterates (the risk of an iterate drawn at random), with G fixed in advance.
Betting and binomial limits are false here: the mean changes while the model learns.
"""

from __future__ import annotations

import math

from certiformer.calculus.betting import azuma_upper, progressive_grid, progressive_upper
from certiformer.core import Quantity, Result, Status, Variants, assumed, count, real, upper_bound
from certiformer.theorems.certificates import CERTIFICATES


def sound(mean_loss: float, n: int, delta: float, points: int) -> Variants:
    checks = (
        assumed("each example was scored by a model that had not seen it, in an order fixed beforehand"),
        assumed("it is the average risk of the iterates that is bounded, not that of the last one"),
    )
    ln_inverse = -math.log(delta)
    observed = {"observed": mean_loss}
    return {
        "value": upper_bound(
            progressive_upper(mean_loss, n, ln_inverse, progressive_grid(points)),
            clip=1.0,
            checks=checks,
            terms=observed,
        ),
        "azuma": upper_bound(
            azuma_upper(mean_loss, n, ln_inverse),
            clip=1.0,
            checks=(*checks, assumed("this form was chosen before the data were seen", False)),
            terms=observed,
        ),
    }


RESULT = Result(
    id="progressive",
    title="Progressive validation",
    paper=CERTIFICATES,
    place="certificate V",
    bounds=Quantity.RISK,
    statement="nothing printed",
    latex=r"\bar\mu\le\min_{\lambda\in G}\frac{1-e^{-\lambda\bar x-\ln(|G|/\delta)/n}}{1-e^{-\lambda}}",
    sound_statement=(
        "average risk of the iterates <= min over a fixed grid of lambda; azuma: mean_loss + sqrt(ln(1/delta)/2n), "
        "offered for comparison: taking the smaller of the two would have to be paid for"
    ),
    inputs=(
        real("mean_loss", "average progressive loss", low_open=False, high=1.0, high_open=False, example=0.01),
        count("n", "examples scored", aliases=("m", "N"), example=10_000),
        real("delta", "failure probability", high=1.0, example=0.05),
        count("points", "size of the grid of lambda, from 0.01 to 10", low=2, high=10_000, default=40, example=40),
    ),
    status=Status.NONE,
    reason="one pass over the data serves for training and for the certificate",
    printed=None,
    sound=sound,
    assumptions=("losses in [0, 1]", "independent examples, not tokens of one text"),
    monotone={"mean_loss": 1, "n": -1, "delta": -1},
    proof="docs/proofs/certificates.md",
)
