import math

from certiformer.theory.calculus.descent import segment_maximum
from certiformer.theory.core import (
    Quantity,
    Result,
    Status,
    Variants,
    assumed,
    printed_value,
    real,
    upper_bound,
    verified,
)
from certiformer.theory.theorems.deora import DEORA


class Proposition4(Result):
    r"""Quasi-convexity of the loss on short segments.

    The loss along a segment between two parameters, with q = max(beta3(theta_1), beta3(theta_2)) ||theta_1 -
    theta_2||^2/sqrt(H).

    Printed: 2 q <= 1 implies max over the segment <= 4/3 max of the two ends, q = beta3 ||theta_1 -
    theta_2||^2/sqrt(H)
    .. math:: 2(\beta_3(\theta_1)\vee\beta_3(\theta_2))\|\theta_1-\theta_2\|^2\le\sqrt
       H\Rightarrow\max_{[\theta_1,\theta_2]}\hat L\le\tfrac43(\hat L(\theta_1)\vee\hat L(\theta_2))
    Sound: q < pi^2 implies max over the segment <= max of the two ends / cos(sqrt(q)/2)
    .. math:: q<\pi^2\ \Rightarrow\ \max_{[\theta_1,\theta_2]}\hat L\le\frac{\hat L(\theta_1)\vee\hat
       L(\theta_2)}{\cos(\sqrt q/2)}
    Because: true and loose: 1.066 suffices where 4/3 is printed, and q may go up to pi^2
    Defects:
    - Under the printed condition q <= 1/2 the factor is at most 1/cos(1/sqrt(8)) = 1.066; 4/3 holds up to q = 2.
    """

    paper, place = DEORA, "Proposition 4, (18)"
    bounds, status = Quantity.TRAINING_LOSS, Status.TRUE
    monotone = "+q +L"

    q: float = real("beta3 ||theta_1 - theta_2||^2 / sqrt(H)", low_open=False, example=0.5)
    L: float = real("the larger of the two losses at the ends", low_open=False, default=1.0)

    def printed(self) -> Variants:
        return {
            "value": printed_value(4.0 / 3.0 * self.L, hypotheses=(verified("2 q <= 1", 2.0 * self.q <= 1.0, self.q),))
        }

    def sound(self) -> Variants:
        hypotheses = (
            verified("q < pi^2", self.q < math.pi**2, self.q),
            assumed(
                "q is at least beta3 ||theta_1 - theta_2||^2 / sqrt(H), beta3 of deora.cor1 at the larger of the two "
                "norms"
            ),
        )
        factor = segment_maximum(self.q)
        return {"value": upper_bound(math.inf if math.isinf(factor) else factor * self.L, hypotheses=hypotheses)}
