"""MS, soft cover: prior mass near the network in place of a cover of all networks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from certiformer.certificates._covers import CoverEvidence, Scale, SumForm
from certiformer.certificates._law import Law, Random, Trial
from certiformer.certificates.cover_coordinates import GAMMA, POINTS, paid_cover, worst_threshold
from certiformer.theory.calculus.coordinate_covers import cross_polytope_nats
from certiformer.theory.core import Variants
from certiformer.theory.core.lazy import np


class SoftCoverBound(SumForm):
    r"""Soft cover.

    The cover is replaced by prior mass near the network; nothing is drawn, nothing is lost. V holds the parameters
    whose network differs by at most gamma/2 anywhere. For all z with |z_j| <= R_j at once.

    .. math:: R(z) \le \max\{p : P(\mathrm{Bin}(n,p)\le k_\gamma) \ge \delta\,\pi\,P(V)\}

    Sound: risk <= max{p : P(Bin(n, p) <= errors) >= delta exp(-nats - paid)}, nats = ln D! + sum ln(1 + 2 L R/gamma)
    .. math:: R(z)\le U(k_\gamma,n,\delta\pi P(V)),\ -\ln P(V)=\ln D!+\sum_j\ln(1+2L_jR_j/\gamma)
    Because: about one nat per coordinate below the cover of coordinates
    """

    id, place = "cover.soft", "certificate MS"

    def sound(self) -> Variants:
        return self.certified(cross_polytope_nats(self.L, self.R, self.gamma))


@dataclass(frozen=True, kw_only=True)
class SoftCover(CoverEvidence):
    """Examples with margin at most gamma, -ln of the prior mass within gamma/2, the price of the cell."""

    bound = SoftCoverBound
    cost = "prior mass"
    guarantee = (
        "Guarantees the error rate of {subject}, for every real value of its few coordinates at once: networks near "
        "it have enough prior mass, and differ from it by less than the margin on every input. Nothing is drawn. It "
        "speaks about this small network, not about a large Transformer."
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
