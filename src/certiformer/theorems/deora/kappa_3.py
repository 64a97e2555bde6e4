r"""The third mixed cumulant of bounded variables: the constant behind every Hessian bound of softmax attention.

.. math:: |E (y-Ey)(s-Es)^2| \le \frac{4}{3\sqrt3}\, Y S^2 \qquad (|y|\le Y,\ |s|\le S),\ \text{attained.}

The paper does not state it; it bounds the same derivative term by term and loses a factor 6 d.
"""

from __future__ import annotations

from certiformer.core import Quantity, Result, Status, Variants, real, upper_bound
from certiformer.theorems.deora import DEORA
from certiformer.theorems.deora._attention import KAPPA_3


def sound(Y: float, S: float) -> Variants:
    return {"value": upper_bound(KAPPA_3 * Y * S * S)}


RESULT = Result(
    id="deora.kappa3",
    title="Third mixed cumulant of bounded variables",
    paper=DEORA,
    place="used for Proposition 1 (not stated there)",
    bounds=Quantity.SMOOTHNESS,
    statement="(not in the paper)",
    latex=r"|E(y-Ey)(s-Es)^2| \le \tfrac{4}{3\sqrt3} Y S^2",
    sound_statement="|E (y - Ey)(s - Es)^2| <= 4/(3 sqrt 3) Y S^2 when |y| <= Y and |s| <= S; attained",
    inputs=(
        real("Y", "bound on |y|", low_open=False, example=1),
        real("S", "bound on |s|", low_open=False, example=1),
    ),
    status=Status.NONE,
    reason="a lemma of ours",
    printed=None,
    sound=sound,
    assumptions=("y and s are random variables on the same finite probability space",),
    monotone={"Y": 1, "S": 1},
    proof="docs/proofs/deora.md",
)
