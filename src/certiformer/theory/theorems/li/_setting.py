"""What the paper's theorems share: the risk of an empirical minimiser, and the hypotheses that its bounds rest on.

A bound on the excess risk is made by one of three calculations, and each brings its hypotheses with it: `squared`
(S2, S8: squared loss), `fast` (S1, S7: a Bernstein condition) and `slow` (S4: no condition, over the class).
"""

from __future__ import annotations

import math
from typing import Any

from certiformer.theory.calculus import excess_risk
from certiformer.theory.calculus.covers import Cover
from certiformer.theory.calculus.excess_risk import RiskBound
from certiformer.theory.core import (
    Bound,
    Hypothesis,
    InputError,
    Quantity,
    Result,
    count,
    flag,
    real,
    stated,
    upper_bound,
)
from certiformer.theory.core.elementwise import each, several
from certiformer.theory.theorems.li import LI
from certiformer.theory.theorems.li._architecture import Network


class SquaredLoss(Result):
    """The bounds that need f0 = E[Y|X] within reach and sub-Gaussian noise."""

    paper = LI

    approx: float = real(
        "excess risk of the best predictor in the class over Bayes", low_open=False, example=0.0, default=0.0
    )
    squared_loss: bool | None = flag("squared loss, f0(X) = E[Y|X], noise sub-Gaussian with parameter sigma")
    well_specified: bool | None = flag("the Bayes predictor belongs to the class (else state `approx`)")

    @property
    def noise(self) -> Hypothesis:
        words = "squared loss, f0 = E[Y|X] with |f0| <= B, noise sub-Gaussian with parameter sigma"
        return stated(words, self.squared_loss, "squared_loss=1", id="squared-loss")

    @property
    def reference(self) -> Hypothesis:
        """Excess over Bayes is bounded only if Bayes is in the class, or its distance from the class is given."""
        said, by = (True, f"approx={self.approx:g}") if self.approx > 0.0 else (self.well_specified, "well_specified=1")
        words = "the Bayes predictor is in the class, or approx > 0 bounds its excess risk"
        return stated(words, said, by, id="reference")

    @property
    def bayes_in_class(self) -> Hypothesis:
        return stated(
            "the Bayes predictor belongs to the class", self.well_specified, "well_specified=1", id="bayes-in-class"
        )

    def squared(self, value: float | RiskBound, ceiling: float | None, *more: Hypothesis) -> Bound:
        """A bound made by the calculation for the squared loss."""
        return _bound(value, ceiling, (*more, self.noise, self.reference), None)


class LipschitzLoss(SquaredLoss):
    """The bounds that need a Lipschitz constant of the loss."""

    kappa: float = real("Lipschitz constant of the loss l(y, .), for every label y", example=2, symbol="κ")
    honest_kappa: bool | None = flag("kappa holds for every label y, not only for the conditional risk")
    bernstein: bool | None = flag("the Bernstein condition holds with the constant V")

    @property
    def honest(self) -> Hypothesis:
        """Whoever gives kappa says so, for that is what kappa means here, unless honest_kappa=0 takes it back."""
        by = "kappa" if self.honest_kappa is None else "honest_kappa=1"
        words = "kappa is the Lipschitz constant of l(y, .) for every label y"
        return stated(words, self.honest_kappa is not False, by, id="honest-kappa")

    @property
    def bernstein_condition(self) -> Hypothesis:
        words = "Bernstein condition: E g^2 <= V E g for every excess loss g of the class"
        return stated(words, self.bernstein, "bernstein=1", id="bernstein")

    @property
    def over(self) -> Quantity | None:
        """What S4 bounds: the excess over the best of the class, and over Bayes only if that is in reach."""
        return None if self.well_specified or self.approx > 0.0 else Quantity.EXCESS_OVER_CLASS

    def slow(self, value: float | RiskBound, ceiling: float | None, *more: Hypothesis) -> Bound:
        """A bound made without any condition on the loss but its Lipschitz constant."""
        return _bound(value, ceiling, (*more, self.honest), self.over)

    def fast(self, value: RiskBound, ceiling: float | None, *more: Hypothesis, bounds: Quantity | None = None) -> Bound:
        """A bound made by the calculation under a Bernstein condition."""
        return _bound(value, ceiling, (*more, self.honest, self.bernstein_condition, self.reference), bounds)


class Minimiser(LipschitzLoss):
    """The excess risk of an empirical risk minimiser.

    Assumes:
    - norms, ranks and the cover radius are fixed before the data are seen (or paid for: `strata`)
    - the predictor minimises the empirical risk over the whole class (else add the optimisation error)
    """

    B: float = real("bound on the Bayes predictor |f0(X)|")
    sigma: float = real("the label noise Y - E[Y|X] is sub-Gaussian with this parameter", example=0.5, symbol="σ")
    n: int = count("sample size", example=1_000_000, aliases=("m", "N"))
    radius: float = real("cover radius", example=0.001, symbol="δ", aliases=("cover_radius",))
    V: float | None = real(
        "Bernstein constant: E g^2 <= V E g for the excess losses g",
        example=5,
        default=None,
        otherwise="variants that need it are left out",
    )

    def distance(self, output_bound: float) -> float:
        """A bound on |f - f0|: the Bayes predictor obeys the bound of the class when it belongs to it."""
        return output_bound + (min(self.B, output_bound) if self.well_specified else self.B)

    def on_cover(self, cover: Cover, output_bound: float) -> dict[str, Bound]:
        """S1 (given V), S2, S4 and S4chain of one cover; *_opt: radius (and tilt) chosen best, which needs no data."""
        distance = self.distance(output_bound)
        trivial = self.kappa * distance
        shared = {"b_h": distance**2, "sigma": self.sigma, "approximation": self.approx}
        steps = {"kappa": self.kappa, "approximation": self.approx}
        variants = {
            "S2": self.squared(excess_risk.squared(cover, self.radius, self.n, **shared), distance**2),
            "S2_opt": self.squared(excess_risk.squared_best(cover, self.n, **shared), distance**2),
            "S4_opt": self.slow(
                excess_risk.slow_best(cover, self.n, loss_range=2.0 * self.kappa * output_bound, **steps), trivial
            ),
            "S4chain": self.slow(excess_risk.slow_chain(cover, self.n, output_bound=output_bound, **steps), trivial),
        }
        if self.V is not None:
            given = {"V": self.V, "M": trivial, **steps}
            variants["S1"] = self.fast(excess_risk.bernstein(cover, self.radius, self.n, **given), trivial)
            variants["S1_opt"] = self.fast(excess_risk.bernstein_best(cover, self.n, **given), trivial)
        return variants

    def tilt_or(self, tilt: float | None) -> float | None:
        """The tilt as given, if it is in its range."""
        most = 1.0 / (2.0 * self.sigma**2) if self.sigma > 1e-150 else math.inf  # mutants: ends-of-the-floats
        if tilt is not None and not tilt < most:
            raise InputError(
                "tilt", tilt, f"a number in (0, 1/(2 sigma^2)) = (0, {most:.6g})", "Leave it out for the best"
            )
        return tilt


def _bound(
    value: float | RiskBound, ceiling: float | None, hypotheses: tuple[Hypothesis, ...], bounds: Quantity | None
) -> Bound:
    """A sound bound from its value or its terms; terms that are zero are left out."""
    if not isinstance(value, RiskBound):
        return upper_bound(value, clip=ceiling, hypotheses=hypotheses, bounds=bounds)
    terms = {name: term for name, term in value.terms.items() if _counts(term)}
    return upper_bound(value.value, clip=ceiling, terms=terms, additive=True, hypotheses=hypotheses, bounds=bounds)


def _counts(term: Any) -> bool:
    """Whether a term is anything but zero, somewhere."""
    return bool(term.any()) if several(term) else bool(term != 0.0)


def log_size(cover: Cover, radius: float) -> Bound:
    return upper_bound(cover.log_size(radius), bounds=Quantity.LOG_COVERING_NUMBER)


def closed_rank_form(network: Network, *, n: int, distance: float, sigma: float, approx: float) -> float:
    r"""S2 at a = 1/(4 sigma^2) and radius 1/n, simplified; b = distance^2 >= |f - f0|^2, A = 2 + b/(4 sigma^2).

    ((b + 8 sigma^2)/n) sum_j D_j ln(1 + 4 B_j beta_j D n/D_j) + (2/n) [sqrt b + A (sqrt b + sigma)] + A inf
    """
    b_h = distance**2
    oracle = 2.0 + b_h / (4.0 * sigma**2)
    estimation: float = (b_h + 8.0 * sigma**2) * each(network.closed_log_size, n) / n
    return estimation + 2.0 / n * (distance + oracle * (distance + sigma)) + oracle * approx
