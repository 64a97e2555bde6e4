"""ML, local cover: what small changes of the weights do at the examples; no supremum over inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from certiformer.calculus.coordinate_covers import ball_nats
from certiformer.certificates._covers import CoverEvidence, Scale
from certiformer.certificates._law import Law, Random, Trial
from certiformer.certificates.cover_coordinates import NETWORKS, POINTS


@dataclass(frozen=True, kw_only=True)
class LocalCover(CoverEvidence):
    """Examples that some weights within twice the radii get wrong, -ln of the mass within the radii, the price."""

    id: ClassVar[str] = "cover.local"
    cost: ClassVar[str] = "prior mass"
    no_coordinates: ClassVar[Mapping[str, Any]] = {"dimension": 0, "R": 0.0, "rho": 1.0}
    guarantee: ClassVar[str] = (
        "Guarantees the error rate of {subject}, for every real value of its few coordinates at once: what counts are "
        "the examples that small changes of the weights could get wrong. Inputs need not be bounded. All examples "
        "train and certify. It speaks about this small network, not about a large Transformer."
    )
    absent: ClassVar[str] = (
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
    x = random.random(POINTS)
    y = np.where(x > 0.5, 1.0, -1.0) * np.where(random.random(POINTS) < 0.1, -1.0, 1.0)
    errors = np.sum(y * (x - NETWORKS[:, None]) <= 2 * RADIUS, axis=1)
    risks = 0.1 + 0.8 * np.abs(NETWORKS - 0.5)
    best = int(np.argmax(risks - errors / POINTS))
    scale = Scale(int(errors[best]), ball_nats(1, 0.5, RADIUS), 0.0, RADIUS)
    return Trial(LocalCover(n=POINTS, scales=(scale,)), float(risks[best]))


def unpaid_mass(random: Random) -> Trial:
    """Broken: 400 predictors of their own, each in its own ball, and nothing paid for the ball."""
    errors = int(random.binomial(POINTS, 0.2, size=400).min())
    return Trial(LocalCover(n=POINTS, scales=(Scale(errors, 0.0, 0.0, RADIUS),)), 0.2)
