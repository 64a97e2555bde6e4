r"""ML, local cover: no bounded inputs, no supremum over inputs; only the change of f at the examples matters.

.. math:: R(z) \le \max\{p : P(\mathrm{Bin}(n,p)\le k) \ge \delta\,\pi\,P(B(z,r))\}

for all z at once, k an upper bound of the number of examples that some z'' within **2r** of z gets wrong. Here z is a
unit vector of `sphere` coordinates (0: none) moved by `rho_w`, and a vector of `dimension` coordinates of length at
most R moved by `rho`: nats = -ln cap(sphere, rho_w) + dimension ln(1 + R/rho).
"""

from __future__ import annotations

from certiformer.calculus.coordinate_covers import ball_nats, cap_nats
from certiformer.core import Quantity, Result, Status, Variants, assumed, count, real
from certiformer.core.errors import InputError
from certiformer.theorems.certificates import CERTIFICATES
from certiformer.theorems.certificates._covers import COUNTED, OTHER, certified


def sound(
    dimension: int,
    R: float,
    rho: float,
    sphere: int,
    rho_w: float,
    errors: int,
    other: float,
    n: int,
    delta: float,
    paid: float,
) -> Variants:
    if sphere == 1:
        raise InputError("sphere", sphere, "0 for none, or at least 2")
    nats = ball_nats(dimension, R, rho) + (cap_nats(sphere, rho_w) if sphere else 0.0) + other
    twice = assumed("errors counts every example that some parameter within 2 rho_w and 2 rho gets wrong")
    return certified(errors, n, delta, nats, paid, (twice,))


RESULT = Result(
    id="cover.local",
    title="Local cover",
    paper=CERTIFICATES,
    place="certificate ML",
    bounds=Quantity.RISK,
    statement="nothing printed",
    latex=r"R(z)\le U(k,n,\delta\pi P(B(z,r))),\ k\ge\#\{i:\exists z''\in B(z,2r):y_if_{z''}(x_i)\le0\}",
    sound_statement=(
        "risk <= max{p : P(Bin(n, p) <= errors) >= delta exp(-nats - paid)}, nats = -ln of the mass of the ball"
    ),
    inputs=(
        count("dimension", "coordinates that are bounded in length", low=0, example=6),
        real("R", "bound on their length", low_open=False, example=12.0),
        real("rho", "radius of their ball", example=0.01),
        count("sphere", "coordinates of a unit vector", low=0, default=0, example=7),
        real("rho_w", "radius of its cap", high=2.0, default=0.1, example=3e-4),
        count(
            "errors",
            "examples that some parameter within twice the radii gets wrong",
            low=0,
            aliases=("k",),
            example=30,
        ),
        OTHER,
        *COUNTED,
    ),
    status=Status.NONE,
    reason="the covering certificate with the least hypotheses",
    printed=None,
    sound=sound,
    monotone={"errors": 1, "delta": -1, "paid": 1},
    proof="docs/proofs/coordinate-covers.md",
)
