from __future__ import annotations

from certiformer.calculus.coordinate_covers import ball_nats, cap_nats
from certiformer.core import Variants, count, real
from certiformer.core.errors import InputError
from certiformer.theorems.certificates._covers import InCoordinates


class LocalCover(InCoordinates):
    r"""Local cover.

    No bounded inputs, no supremum over inputs: only the change of f at the examples matters. Here z is a unit vector of
    `sphere` coordinates (0: none) moved by rho_w, and a vector of `dimension` coordinates of length at most R moved by
    rho.

    .. math:: R(z) \le \max\{p : P(\mathrm{Bin}(n,p)\le k) \ge \delta\,\pi\,P(B(z,r))\}

    Sound: risk <= max{p : P(Bin(n, p) <= errors) >= delta exp(-nats - paid)}, nats = -ln cap + dimension ln(1 + R/rho)
    .. math:: R(z)\le U(k,n,\delta\pi P(B(z,r))),\ k\ge\#\{i:\exists z''\in B(z,2r):y_if_{z''}(x_i)\le0\}
    Because: the covering certificate with the fewest hypotheses
    Assumes:
    - errors counts every example that some parameter within *twice* the radii gets wrong
    """

    id, place = "cover.local", "certificate ML"

    dimension: int = count("coordinates that are bounded in length", low=0, example=6)
    R: float = real("bound on their length", low_open=False, example=12.0)
    rho: float = real("radius of their ball", example=0.01)
    sphere: int = count("coordinates of a unit vector", low=0, default=0, example=7)
    rho_w: float = real("radius of its cap", high=2.0, default=0.1, example=3e-4)

    def sound(self) -> Variants:
        if self.sphere == 1:
            raise InputError("sphere", self.sphere, "0 for none, or at least 2")
        ball = ball_nats(self.dimension, self.R, self.rho)
        return self.certified(ball + (cap_nats(self.sphere, self.rho_w) if self.sphere else 0.0))
