r"""M in coordinates: a network with few real parameters, through a cover of the parameters.

.. math:: R(z) \le \max\{p : P(\mathrm{Bin}(n,p)\le k_\gamma) \ge \delta\,\pi\,/N\}, \quad
          \ln N = \sum_j \ln\lceil 2DL_jR_j/\gamma\rceil

for all real z with |z_j| <= R_j at once, k the number of examples with margin at most gamma.
"""

from __future__ import annotations

from collections.abc import Sequence

from certiformer.calculus.coordinate_covers import box_nats
from certiformer.core import Quantity, Result, Status, Variants
from certiformer.theorems.certificates import CERTIFICATES
from certiformer.theorems.certificates._covers import COUNTED, DOMAIN, SUM_FORM, certified


def sound(
    L: Sequence[float], R: Sequence[float], gamma: float, errors: int, other: float, n: int, delta: float, paid: float
) -> Variants:
    return certified(errors, n, delta, box_nats(L, R, gamma) + other, paid, (DOMAIN,))


RESULT = Result(
    id="cover.coordinates",
    title="Cover of coordinates",
    paper=CERTIFICATES,
    place="certificate M, in coordinates",
    bounds=Quantity.RISK,
    statement="nothing printed",
    latex=r"R(z)\le U(k_\gamma,n,\delta\pi/N),\ \ln N=\sum_j\ln\lceil 2DL_jR_j/\gamma\rceil",
    sound_statement=(
        "risk <= max{p : P(Bin(n, p) <= errors) >= delta exp(-nats - paid)}, nats = sum ln ceil(2 D L R/gamma)"
    ),
    inputs=(*SUM_FORM, *COUNTED),
    status=Status.NONE,
    reason="a covering certificate of a trained network that says something",
    printed=None,
    sound=sound,
    monotone={"errors": 1, "delta": -1, "paid": 1},
    proof="docs/proofs/coordinate-covers.md",
)
