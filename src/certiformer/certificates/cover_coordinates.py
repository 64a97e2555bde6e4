"""M in coordinates: a network with few real parameters, through a cover of the parameters over the whole domain."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from certiformer.certificates._covers import CoverEvidence, Scale, SumForm
from certiformer.certificates._law import Law, Random, Trial
from certiformer.theory.calculus.coordinate_covers import box_nats
from certiformer.theory.core import Variants
from certiformer.theory.core.lazy import np


class CoverOfCoordinatesBound(SumForm):
    r"""Cover of coordinates.

    M for a network with few real parameters, for all z with |z_j| <= R_j at once; `errors` counts the examples with
    margin at most gamma.

    .. math:: R(z) \le \max\{p : P(\mathrm{Bin}(n,p)\le k_\gamma) \ge \delta\,\pi\,/N\}

    Sound: risk <= max{p : P(Bin(n, p) <= errors) >= delta exp(-nats - paid)}, nats = sum_j ln ceil(2 D L_j R_j/gamma)
    .. math:: R(z)\le U(k_\gamma,n,\delta\pi/N),\ \ln N=\sum_j\ln\lceil 2DL_jR_j/\gamma\rceil
    Because: a covering certificate of a trained network that is not vacuous
    """

    id, place = "cover.coordinates", "certificate M, in coordinates"

    def sound(self) -> Variants:
        return self.certified(box_nats(self.L, self.R, self.gamma))


@dataclass(frozen=True, kw_only=True)
class CoverOfCoordinates(CoverEvidence):
    """Examples with margin at most gamma, ln of a cover at gamma/2 over the whole domain, the price of the cell."""

    bound = CoverOfCoordinatesBound
    guarantee = (
        "Guarantees the error rate of {subject}, for every real value of its few coordinates at once, from a cover of "
        "the coordinates over the whole input domain and the examples with a small margin. All examples train and "
        "certify. It speaks about this small network, not about a large Transformer."
    )

    @classmethod
    def laws(cls) -> Mapping[str, Law]:
        return {
            "thresholds, the worst of many": Law(thresholds),
            "a margin without a cover": Law(unpaid_cover, valid=False),
        }


POINTS, GAMMA = 60, 0.1


def worst_threshold(random: Random, margin: float = GAMMA) -> tuple[int, float]:
    """f_z(x) = x - z on [0, 1], y the sign of x - 1/2 with noise: margin errors and risk of the z that looks best."""
    z = np.linspace(0.0, 1.0, 201)
    x = random.random(POINTS)
    y = np.where(x > 0.5, 1.0, -1.0) * np.where(random.random(POINTS) < 0.1, -1.0, 1.0)
    errors = np.sum(y * (x - z[:, None]) <= margin, axis=1)
    risks = 0.1 + 0.8 * np.abs(z - 0.5)
    best = int(np.argmax(risks - errors / POINTS))
    return int(errors[best]), float(risks[best])


def thresholds(random: Random) -> Trial:
    errors, risk = worst_threshold(random)
    return Trial(CoverOfCoordinates(n=POINTS, scales=(Scale(errors, box_nats([1.0], [0.5], GAMMA), 0.0, GAMMA),)), risk)


def unpaid_cover(random: Random) -> Trial:
    """Broken: 400 independent predictors, the best of them without paying for their number."""
    errors = int(random.binomial(POINTS, 0.2, size=400).min())
    return Trial(CoverOfCoordinates(n=POINTS, scales=(Scale(errors, 0.0, 0.0, GAMMA),)), 0.2)


def paid_cover(random: Random) -> tuple[int, float]:
    """400 independent predictors: errors of the best, and ln 400."""
    return int(random.binomial(POINTS, 0.2, size=400).min()), math.log(400.0)
