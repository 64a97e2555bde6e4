"""ML, local cover: what small changes of the weights do at the examples; no supremum over inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from certiformer.certificates._covers import CoverEvidence, InCoordinates, Scale
from certiformer.certificates._law import Law, Random, Trial
from certiformer.certificates.cover_coordinates import POINTS, worst_threshold
from certiformer.theory.calculus.coordinate_covers import ball_nats, cap_nats
from certiformer.theory.core import Variants, count, real
from certiformer.theory.core.errors import InputError


class LocalCoverBound(InCoordinates):
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


@dataclass(frozen=True, kw_only=True)
class LocalCover(CoverEvidence):
    """Examples that some weights within twice the radii get wrong, -ln of the mass within the radii, the price."""

    bound = LocalCoverBound
    cost = "prior mass"
    no_coordinates: ClassVar[Mapping[str, Any]] = {"dimension": 0, "R": 0.0, "rho": 1.0}
    guarantee = (
        "Guarantees the error rate of {subject}, for every real value of its few coordinates at once: what counts are "
        "the examples that small changes of the weights could get wrong. Inputs need not be bounded. All examples "
        "train and certify. It speaks about this small network, not about a large Transformer."
    )
    absent = (
        "it needs a network in few coordinates whose change at an example is known; certify(train=..., "
        "by=[CoordinateCover()]) trains one"
    )

    @classmethod
    def laws(cls) -> Mapping[str, Law]:
        return {
            "thresholds, the worst of many": Law(thresholds),
            "mass that was never paid": Law(unpaid_mass, valid=False),
        }


RADIUS = 0.05


def thresholds(random: Random) -> Trial:
    """f_z(x) = x - z: an example is safe if it stays right under changes of z by twice the radius."""
    errors, risk = worst_threshold(random, 2 * RADIUS)
    scale = Scale(errors, ball_nats(1, 0.5, RADIUS), 0.0, RADIUS)
    return Trial(LocalCover(n=POINTS, scales=(scale,)), risk)


def unpaid_mass(random: Random) -> Trial:
    """Broken: 400 predictors of their own, each in its own ball, and nothing paid for the ball."""
    errors = int(random.binomial(POINTS, 0.2, size=400).min())
    return Trial(LocalCover(n=POINTS, scales=(Scale(errors, 0.0, 0.0, RADIUS),)), 0.2)
