r"""Proposition 4: the loss on a segment is not much larger than at its ends.

With q = max(beta3(theta_1), beta3(theta_2)) ||theta_1 - theta_2||^2 / sqrt(H),

Printed:  .. math:: 2q\le1 \Rightarrow
          \max_{[\theta_1,\theta_2]}\hat L\le\tfrac43\max(\hat L(\theta_1),\hat L(\theta_2))

Sound:    .. math:: q<\pi^2 \Rightarrow \max_{[\theta_1,\theta_2]}\hat L\le
          \frac{\max(\hat L(\theta_1),\hat L(\theta_2))}{\cos(\sqrt q/2)}.
"""

from __future__ import annotations

import math

from certiformer.calculus.descent import segment_maximum
from certiformer.core import Quantity, Result, Status, Variants, assumed, printed_value, real, upper_bound, verified
from certiformer.theorems.deora import DEORA


def printed(q: float, L: float) -> Variants:
    return {"value": printed_value(4.0 / 3.0 * L, checks=(verified("2 q <= 1", 2.0 * q <= 1.0, q),))}


def sound(q: float, L: float) -> Variants:
    checks = (
        verified("q < pi^2", q < math.pi**2, q),
        assumed(
            "q is at least beta3 ||theta_1 - theta_2||^2 / sqrt(H), beta3 of deora.cor1 at the larger of the two norms"
        ),
    )
    factor = segment_maximum(q)
    return {"value": upper_bound(math.inf if math.isinf(factor) else factor * L, checks=checks)}


RESULT = Result(
    id="deora.prop4",
    title="Quasi-convexity of the loss on short segments",
    paper=DEORA,
    place="Proposition 4, (18)",
    bounds=Quantity.TRAINING_LOSS,
    statement=(
        "2 q <= 1 implies max over the segment <= 4/3 max of the two ends, q = beta3 ||theta_1 - theta_2||^2/sqrt(H)"
    ),
    latex=(
        r"2(\beta_3(\theta_1)\vee\beta_3(\theta_2))\|\theta_1-\theta_2\|^2\le\sqrt H\Rightarrow"
        r"\max_{[\theta_1,\theta_2]}\hat L\le\tfrac43(\hat L(\theta_1)\vee\hat L(\theta_2))"
    ),
    sound_statement="q < pi^2 implies max over the segment <= max of the two ends / cos(sqrt(q)/2)",
    inputs=(
        real("q", "beta3 ||theta_1 - theta_2||^2 / sqrt(H)", low_open=False, example=0.5),
        real("L", "the larger of the two losses at the ends", low_open=False, default=1.0, example=1),
    ),
    status=Status.TRUE,
    reason="true and loose: 1.066 suffices where 4/3 is printed, and q may go up to pi^2",
    printed=printed,
    sound=sound,
    defects=(
        "Under the printed condition q <= 1/2 the factor is at most 1/cos(1/sqrt(8)) = 1.066; 4/3 holds up to q = 2.",
    ),
    monotone={"q": 1, "L": 1},
    proof="docs/proofs/deora.md",
)
