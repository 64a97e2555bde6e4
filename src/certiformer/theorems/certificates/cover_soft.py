r"""MS, soft cover: the cover is replaced by prior mass near the network; nothing is drawn, nothing is lost.

.. math:: R(z) \le \max\{p : P(\mathrm{Bin}(n,p)\le k_\gamma) \ge \delta\,\pi\,P(V)\}, \quad
          -\ln P(V) = \ln D! + \sum_j\ln(1 + 2L_jR_j/\gamma)

for all real z with |z_j| <= R_j at once: V holds the parameters whose network differs by at most gamma/2 anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence

from certiformer.calculus.coordinate_covers import cross_polytope_nats
from certiformer.core import Quantity, Result, Status, Variants
from certiformer.theorems.certificates import CERTIFICATES
from certiformer.theorems.certificates._covers import COUNTED, DOMAIN, SUM_FORM, certified


def sound(
    L: Sequence[float], R: Sequence[float], gamma: float, errors: int, other: float, n: int, delta: float, paid: float
) -> Variants:
    return certified(errors, n, delta, cross_polytope_nats(L, R, gamma) + other, paid, (DOMAIN,))


RESULT = Result(
    id="cover.soft",
    title="Soft cover",
    paper=CERTIFICATES,
    place="certificate MS",
    bounds=Quantity.RISK,
    statement="nothing printed",
    latex=r"R(z)\le U(k_\gamma,n,\delta\pi P(V)),\ -\ln P(V)=\ln D!+\sum_j\ln(1+2L_jR_j/\gamma)",
    sound_statement=(
        "risk <= max{p : P(Bin(n, p) <= errors) >= delta exp(-nats - paid)}, nats = ln D! + sum ln(1 + 2LR/gamma)"
    ),
    inputs=(*SUM_FORM, *COUNTED),
    status=Status.NONE,
    reason="about one nat per coordinate below the cover of coordinates",
    printed=None,
    sound=sound,
    monotone={"errors": 1, "delta": -1, "paid": 1},
    proof="docs/proofs/coordinate-covers.md",
)
