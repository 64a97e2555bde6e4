"""The sound bounds on the excess risk of a network, as named variants with the hypotheses each rests on."""

from __future__ import annotations

from certiformer.calculus import excess_risk
from certiformer.calculus.covers import Cover
from certiformer.calculus.excess_risk import RiskBound
from certiformer.core import Bound, Hypothesis, Quantity, stated, upper_bound
from certiformer.theorems.li._architecture import Network


def honest(honest_kappa: bool | None) -> Hypothesis:
    """Whoever gives kappa says so, for that is what kappa means here, unless honest_kappa=0 takes it back."""
    by = "kappa" if honest_kappa is None else "honest_kappa=1"
    return stated("kappa is the Lipschitz constant of l(y, .) for every label y", honest_kappa is not False, by)


def noise(squared_loss: bool | None) -> Hypothesis:
    words = "squared loss, f0 = E[Y|X] with |f0| <= B, noise sub-Gaussian with parameter sigma"
    return stated(words, squared_loss, "squared_loss=1")


def reference(well_specified: bool | None, approx: float) -> Hypothesis:
    said, by = (True, f"approx={approx:g}") if approx > 0.0 else (well_specified, "well_specified=1")
    return stated("the Bayes predictor is in the class, or approx > 0 bounds its excess risk", said, by)


def bernstein_condition(bernstein: bool | None) -> Hypothesis:
    return stated("Bernstein condition: E g^2 <= V E g for every excess loss g of the class", bernstein, "bernstein=1")


def distance_to_target(B: float, output_bound: float, well_specified: bool | None) -> float:
    """A bound on |f - f0|: the Bayes predictor obeys the bound of the class when it belongs to it."""
    return output_bound + (min(B, output_bound) if well_specified else B)


def slow_quantity(well_specified: bool | None, approx: float) -> Quantity | None:
    """What S4 bounds: the excess over the best of the class, and over Bayes only if that is in reach."""
    return None if well_specified or approx > 0.0 else Quantity.EXCESS_OVER_CLASS


def risk(
    bound: RiskBound, clip: float | None, *hypotheses: Hypothesis, note: str = "", bounds: Quantity | None = None
) -> Bound:
    """A sound bound from its terms; terms that are zero are left out."""
    terms = {name: term for name, term in bound.terms.items() if term != 0.0}
    return upper_bound(
        bound.value, clip=clip, terms=terms, additive=True, hypotheses=hypotheses, note=note, bounds=bounds
    )


def log_size(cover: Cover, radius: float) -> Bound:
    return upper_bound(cover.log_size(radius), bounds=Quantity.LOG_COVERING_NUMBER)


def excess_risk_variants(
    cover: Cover,
    *,
    output_bound: float,
    n: int,
    radius: float,
    kappa: float,
    B: float,
    sigma: float,
    approx: float,
    V: float | None,
    honest_kappa: bool,
    bernstein: bool,
    squared_loss: bool,
    well_specified: bool,
) -> dict[str, Bound]:
    """S1 (given V), S2, S4 and S4chain of one cover; *_opt: radius (and tilt) chosen best, which needs no data."""
    distance = distance_to_target(B, output_bound, well_specified)
    trivial = kappa * distance
    kappa_check, reference_check = honest(honest_kappa), reference(well_specified, approx)
    squared = (noise(squared_loss), reference_check)
    lipschitz, over = (kappa_check,), slow_quantity(well_specified, approx)
    variants = {
        "S2": risk(
            excess_risk.squared(cover, radius, n, b_h=distance**2, sigma=sigma, approximation=approx),
            distance**2,
            *squared,
        ),
        "S2_opt": risk(
            excess_risk.squared_best(cover, n, b_h=distance**2, sigma=sigma, approximation=approx),
            distance**2,
            *squared,
        ),
        "S4_opt": risk(
            excess_risk.slow_best(cover, n, loss_range=2.0 * kappa * output_bound, kappa=kappa, approximation=approx),
            trivial,
            *lipschitz,
            bounds=over,
        ),
        "S4chain": upper_bound(
            excess_risk.slow_chain(cover, n, output_bound=output_bound, kappa=kappa, approximation=approx),
            clip=trivial,
            hypotheses=lipschitz,
            bounds=over,
        ),
    }
    if V is not None:
        condition = (kappa_check, bernstein_condition(bernstein), reference_check)
        common = {"V": V, "M": kappa * distance, "kappa": kappa, "approximation": approx}
        variants["S1"] = risk(excess_risk.bernstein(cover, radius, n, **common), trivial, *condition)
        variants["S1_opt"] = risk(excess_risk.bernstein_best(cover, n, **common), trivial, *condition)
    return variants


def closed_rank_form(network: Network, *, n: int, distance: float, sigma: float, approx: float) -> float:
    r"""S2 at a = 1/(4 sigma^2) and radius 1/n, simplified; b = distance^2 >= |f - f0|^2, A = 2 + b/(4 sigma^2).

    ((b + 8 sigma^2)/n) sum_j D_j ln(1 + 4 B_j beta_j D n/D_j) + (2/n) [sqrt b + A (sqrt b + sigma)] + A inf
    """
    b_h = distance**2
    oracle = 2.0 + b_h / (4.0 * sigma**2)
    estimation = (b_h + 8.0 * sigma**2) * network.closed_log_size(n) / n
    return estimation + 2.0 / n * (distance + oracle * (distance + sigma)) + oracle * approx
