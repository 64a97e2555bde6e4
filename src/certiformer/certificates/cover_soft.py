"""MS, soft cover: prior mass near the network in place of a cover of all networks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from certiformer.calculus.coordinate_covers import cross_polytope_nats
from certiformer.certificates._covers import CoverEvidence, Scale
from certiformer.certificates._law import Law, Random, Trial
from certiformer.certificates.cover_coordinates import GAMMA, POINTS, paid_cover, worst_threshold


@dataclass(frozen=True, kw_only=True)
class SoftCover(CoverEvidence):
    """Examples with margin at most gamma, -ln of the prior mass within gamma/2, the price of the cell."""

    id: ClassVar[str] = "cover.soft"
    cost: ClassVar[str] = "prior mass"
    guarantee: ClassVar[str] = (
        "Guarantees the error rate of {subject}, for every real value of its few coordinates at once: networks near "
        "it have enough prior mass, and differ from it by less than the margin on every input. Nothing is drawn. It "
        "speaks about this small network, not about a large Transformer."
    )
    absent: ClassVar[str] = (
        "it needs a network in few coordinates with known slopes; certify(train=..., by=[CoordinateCover()]) trains one"
    )

    @classmethod
    def laws(cls) -> Mapping[str, Law]:
        return {
            "thresholds, the worst of many": Law(thresholds),
            "400 predictors, each with its mass": Law(masses),
            "a margin that depends on the network": Law(own_margin, valid=False),
        }


def thresholds(random: Random) -> Trial:
    errors, risk = worst_threshold(random)
    nats = cross_polytope_nats([1.0], [0.5], GAMMA)
    return Trial(SoftCover(n=POINTS, scales=(Scale(errors, nats, 0.0, GAMMA),)), risk)


def masses(random: Random) -> Trial:
    errors, nats = paid_cover(random)
    return Trial(SoftCover(n=POINTS, scales=(Scale(errors, nats, 0.0, GAMMA),)), 0.2)


def own_margin(random: Random) -> Trial:
    """Broken: all mass on f(x) = x, y = 1; f_z jumps by gamma at gamma/2, and gamma is chosen with z after looking.

    Its risk is gamma/2, and no x_i <= gamma/2 is seen if gamma/2 is just below the smallest x_i.
    """
    n = 1000
    x = np.sort(random.random(n))
    index = int(np.argmax(x - np.arange(n) / n))
    return Trial(SoftCover(n=n, scales=(Scale(index, 0.0, 0.0, float(2 * x[index])),)), float(x[index]))
