"""M with floors: deviations below a floor are counted in the same binomial event as small margins."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from certiformer.certificates._covers import CoverEvidence, InCoordinates, Scale
from certiformer.certificates._law import Law, Random, Trial
from certiformer.theory.core import Variants, real
from certiformer.theory.core.lazy import np, scipy


class CoverWithFloorsBound(InCoordinates):
    r"""Margin certificate with floors under deviations.

    A LayerNorm has slope 1/sqrt(eps) near constant tokens, and a million per layer ruins every cover. With the slope
    1/tau instead, which holds where the deviation s(z) of every token is at least tau in both networks, the cover of
    the *weights* is small, and the condition is counted: `errors` are the examples with margin at most gamma, or with
    some deviation below tau_j + 2 kappa_j/sqrt(d), kappa_j the error of the covering network at that normalisation
    (`Analysis.conditions`). Every f has a cover member g such that an error of f is an event of g, and an event of g
    is counted; nothing is assumed of g's deviations. Radii and half-diameters may be conditions as well.

    Sound: risk <= max{p : P(Bin(n, p) <= errors) >= delta exp(-logN - paid)}
    .. math:: R_{01}(f)\le\max\{p: P(\mathrm{Bin}(n,p)\le k)\ge\delta\pi/N\},\quad
       k=\#\{i: y_if(x_i)\le\gamma\ \text{or}\ \min_t s_j(x_i)<\tau_j+2\kappa_j/\sqrt d\ \text{for some}\ j\}
    Because: the deviation rule of the engine holds only where it is counted
    Assumes:
    - ln N is that of a proper cover of the weights over the whole domain at gamma/2 (gamma/4 for several classes), with
      the floors in the slopes; covers of a sample are not allowed here
    - floors were chosen before the certified sample (other, unlabelled text will do), or their grid is in `paid`
    - an example counts if one of its tokens falls below one of the floors
    """

    id, place = "cover.floors", "certificate M, with floors"
    monotone = f"{InCoordinates.monotone} +logN"
    proof = "docs/proofs/more-layers.md"

    logN: float = real("ln of the cover of the weights at gamma/2, floors in the slopes", low_open=False, example=200.0)

    def sound(self) -> Variants:
        return self.certified(self.logN)


@dataclass(frozen=True, kw_only=True)
class CoverWithFloors(CoverEvidence):
    """Examples with a small margin or a deviation below a floor, ln of the cover, the price of the cell."""

    bound = CoverWithFloorsBound
    no_coordinates: ClassVar[Mapping[str, Any]] = {"logN": 0.0}
    guarantee = (
        "Guarantees the error rate of {subject}, from a cover of its weights over the whole input domain and the "
        "examples with a small margin or with a token whose deviation at some normalisation falls below a floor. The "
        "floors were fixed in advance; examples that break them, seen or unseen, are paid for by the count."
    )
    absent = "it needs a network with floors and a cover of its weights; see `certiformer compose`"

    @classmethod
    def laws(cls) -> Mapping[str, Law]:
        return {
            "a normalised threshold, the worst of many": Law(threshold),
            "floors that nobody counts": Law(uncounted, valid=False),
        }


FLOOR, GAMMA, RANGE, NOISE = 0.05, 0.2, 0.5, 0.05


def threshold(random: Random) -> Trial:
    """f_t(x) = first coordinate of RMSNorm(x - (t, 0)), x Gaussian in the plane, |t| <= 1/2: slope 1/FLOOR in t.

    A grid of t with spacing 2e, e = FLOOR gamma/2, covers at gamma/2, and the norm's input is off by at most e.
    """
    n, shifts = 400, np.linspace(-RANGE, RANGE, 201)
    error = FLOOR * GAMMA / 2.0
    x = random.standard_normal((n, 2))
    y = np.where(x[:, 0] > 0.0, 1.0, -1.0) * np.where(random.random(n) < NOISE, -1.0, 1.0)
    moved = x[:, 0] - shifts[:, None]
    deviation = np.sqrt((moved**2 + x[:, 1] ** 2) / 2.0 + 1e-12)
    counted = (y * moved / deviation <= GAMMA) | (deviation < FLOOR + 2.0 * error / math.sqrt(2.0))
    errors = np.sum(counted, axis=1)
    risks = NOISE + (1.0 - 2.0 * NOISE) * np.abs(scipy.special.ndtr(shifts) - 0.5)
    best = int(np.argmax(risks - errors / n))
    nats = math.log(math.ceil(RANGE / error))
    return Trial(CoverWithFloors(n=n, scales=(Scale(int(errors[best]), nats, 0.0, GAMMA),)), float(risks[best]))


def uncounted(random: Random) -> Trial:
    """Broken: RMSNorm((theta_j, 1e-9)) with |theta_j| <= 1e-4 for each of 10^4 identities j memorises coin flips.

    With slope 1/tau = 10 all thetas together reach 1e-3, so "ln N(1/2) = 0", and the margins are sqrt 2: no error is
    seen, although every token's deviation is below the floor.
    """
    identities, n = 10_000, 400
    seen = len(np.unique(random.integers(identities, size=n)))
    return Trial(CoverWithFloors(n=n, scales=(Scale(0, 0.0, 0.0, 1.0),)), 0.5 * (1.0 - seen / identities))
