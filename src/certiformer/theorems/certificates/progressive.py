from __future__ import annotations

import math

from certiformer.calculus.betting import azuma_upper, progressive_grid, progressive_upper
from certiformer.core import (
    Quantity,
    Result,
    Status,
    Variants,
    assumed,
    count,
    flag,
    real,
    stated,
    upper_bound,
)
from certiformer.theorems.certificates import CERTIFICATES


class Progressive(Result):
    r"""Progressive validation.

    bounds the average risk of the iterates (the risk of an iterate drawn at random), with G fixed in advance.
    Betting and binomial limits are false here: the mean changes while the model learns.

    .. math:: \bar\mu \le \min_{\lambda\in G} \frac{1-\exp(-\lambda\bar x - \ln(|G|/\delta)/n)}{1-e^{-\lambda}}

    Sound: average risk of the iterates <= min over a fixed grid of lambda; azuma: mean_loss + sqrt(ln(1/delta)/2n),
    offered for comparison: taking the smaller of the two would have to be paid for
    .. math:: \bar\mu\le\min_{\lambda\in G}\frac{1-e^{-\lambda\bar x-\ln(|G|/\delta)/n}}{1-e^{-\lambda}}
    Because: one pass over the data serves for training and for the certificate
    Assumes:
    - losses in [0, 1]
    - independent examples, not tokens of one text
    """

    id = "progressive"
    paper, place = CERTIFICATES, "certificate V"
    bounds, status = Quantity.RISK, Status.NONE
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
        return {
            "value": upper_bound(
                progressive_upper(self.mean_loss, self.n, ln_inverse, progressive_grid(self.points)),
                clip=1.0,
                hypotheses=hypotheses,
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
