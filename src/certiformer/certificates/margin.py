"""M, margin: from a cover of the class over the whole domain to the error rate."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from certiformer.certificates._covers import CoverEvidence, Scale
from certiformer.certificates._evidence import CertificateBound
from certiformer.certificates._law import Law, Random, Trial
from certiformer.theory.calculus.tails import binomial_upper
from certiformer.theory.core import Variants, assumed, count, flag, real, upper_bound
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.lazy import np


class MarginBound(CertificateBound):
    r"""One-scale margin certificate.

    For all f and all margins gamma of a paid grid at once, k the number of examples with margin at most gamma or
    outside the domain. N is a sup-norm cover of the class over the whole input domain, never over the sample.

    Sound: risk <= max{p : P(Bin(n, p) <= margin_errors) >= delta exp(-logN - paid)}
    .. math:: R_{01}(f)\le\max\{p: P(\mathrm{Bin}(n,p)\le k_\gamma)\ge\delta\pi/N(\gamma/2)\}
    Because: the bridge from the papers' covers to a bound that is not vacuous
    Assumes:
    - two classes: margin y f(x); several: f_y minus the largest other logit, cover radius gamma/4
    """

    id = "margin"
    place = "certificate M"
    monotone = "+margin_errors -delta +logN +paid"

    margin_errors: int = count(
        "examples with margin at most gamma, or outside the domain", low=0, example=100, aliases=("k",)
    )
    n: int = count("examples, all of them", example=10_000, aliases=("m", "N"))
    delta: float = real("failure probability", high=1.0, example=0.05)
    logN: float = real("ln of the covering number at gamma/2 over the domain", low_open=False, example=200.0)
    paid: float = real("price of the strata and of the margin grid, in nats", low_open=False, example=5.0, default=0.0)
    sample_cover: bool | None = flag("the cover was built on the sample")

    def sound(self) -> Variants:
        if self.sample_cover:
            raise InputError(
                "sample_cover",
                True,
                "a cover of the class over the whole input domain",
                "A cover on the sample proves nothing here",
            )
        if self.margin_errors > self.n:
            raise InputError("margin_errors", self.margin_errors, f"at most n = {self.n}")
        hypotheses = (
            assumed(
                "N(gamma/2) covers the class over the whole domain in sup norm (gamma/4 for logits of several classes)"
            ),
            assumed("examples outside the domain are counted as margin errors"),
            assumed("radii, margins and domain radius are on grids fixed beforehand; their price is in `paid`"),
        )
        value = binomial_upper(self.margin_errors, self.n, math.log(self.delta) - self.logN - self.paid)
        terms = {
            "observed": self.margin_errors / self.n,
            "ln N (nats)": self.logN,
            "paid for radii and margin (nats)": self.paid,
        }
        return {"value": upper_bound(value, clip=1.0, hypotheses=hypotheses, terms=terms)}


@dataclass(frozen=True, kw_only=True)
class Margin(CoverEvidence):
    """The margins of a grid fixed beforehand, each with its price in `paid`; the best of them may be reported.

    ln N is that of a sup-norm cover over the whole domain at gamma/2 (gamma/4 for several classes), at the rounded-up
    radii of the stratum, whose price is in `paid` too; `errors` counts examples outside the domain as well.
    """

    bound = MarginBound
    guarantee = (
        "Guarantees the error rate of {subject}, from a cover of its class of functions over the whole input domain "
        "and the examples with a small margin. All examples serve for training and for the certificate; radii, "
        "margins and the domain are on grids that were fixed in advance and are paid for. It is the bridge from the "
        "papers' covering numbers to a number that can be useful."
    )
    absent = (
        "it needs a cover of the class over the whole input domain in few coordinates; no recipe knows one for this "
        "model"
    )
    written: ClassVar[Mapping[str, str]] = {
        "margin": "gamma",
        "errors": "margin_errors",
        "nats": "logN",
        "paid": "paid",
    }

    def inputs(self, delta: float) -> dict[str, Any]:
        scale = self.best(delta)
        counted = {name: getattr(scale, own) for own, name in self.written.items() if own != "margin"}
        return {**counted, "n": self.n, "delta": delta}

    def terms(self, delta: float) -> dict[str, float]:
        return {"margin": self.best(delta).margin, "margins on the grid": float(len(self.scales))}

    @classmethod
    def laws(cls) -> Mapping[str, Law]:
        return {
            "lines, the worst of many candidates": Law(lines),
            "a cover on the sample": Law(sample_cover, valid=False),
        }


GAMMAS = (0.1, 0.2, 0.4)
NOISE = 0.1


def lines(random: Random) -> Trial:
    """f(x) = w x + c with |w|, |c| <= 1 on [-1, 1]: of many candidates, the one that looks best for its risk.

    Steps of gamma/2 in w and in c give a cover at gamma/4 + gamma/4 = gamma/2 over the whole domain.
    """
    n, grid = 1000, np.linspace(-1.0, 1.0, 101)
    x = random.choice(grid, size=n)
    y = np.where(x > 0.2, 1.0, -1.0) * np.where(random.random(n) < NOISE, -1.0, 1.0)
    w, c = random.uniform(-1, 1, size=(2, 100))
    clean = np.where(grid > 0.2, 1.0, -1.0) * (w[:, None] * grid + c[:, None])
    risks = np.mean(np.where(clean <= 0, 1.0 - NOISE, NOISE), axis=1)
    counts = np.sum((y * (w[:, None] * x + c[:, None]))[:, :, None] <= np.array(GAMMAS), axis=1)
    worst = int(np.argmax(risks - np.min(counts, axis=1) / n))
    paid = math.log(len(GAMMAS))
    scales = tuple(
        Scale(int(k), 2 * math.log(math.ceil(4 / gamma)), paid, gamma)
        for gamma, k in zip(GAMMAS, counts[worst], strict=True)
    )
    return Trial(Margin(n=n, scales=scales), float(risks[worst]))


def sample_cover(random: Random) -> Trial:
    """Broken: all sign functions on a million points, covered on the sample; right there, wrong everywhere else."""
    points = 1_000_000
    seen = len(np.unique(random.integers(points, size=100)))
    return Trial(Margin(n=100, scales=(Scale(0, 100 * math.log(2.0), 0.0, 1.0),)), 1.0 - seen / points)
