"""What Theorems 6.4-6.6 and 6.9-6.11 share: unbounded inputs, sub-Gaussian or heavy-tailed, for the three networks."""

from __future__ import annotations

import math
from typing import Any

from certiformer.calculus import excess_risk, truncation
from certiformer.calculus.covers import Cover
from certiformer.calculus.excess_risk import RiskBound
from certiformer.calculus.truncation import Tail
from certiformer.core import Bound, Hypothesis, Quantity, assumed, side_number, stated, upper_bound
from certiformer.theorems.li._architecture import Network
from certiformer.theorems.li._variants import (
    bernstein_condition,
    distance_to_target,
    honest,
    log_size,
    noise,
    reference,
    risk,
    slow_quantity,
)

TAIL_ASSUMPTION = "the tail bound is for b(X), the largest token norm (or any norm above it), and known in advance"
DEPLOYED = "S7, S8: the predictor is fhat o T_M, trained and deployed on truncated inputs; else add kappa K' m1"


def tail_hypotheses(tail: Tail) -> tuple[Hypothesis, ...]:
    return (assumed(f"P(b(X) > t) <= {tail_name(tail)} for every t, known before the data"),)


def tail_name(tail: Tail) -> str:
    if isinstance(tail, truncation.SubGaussian):
        return f"{tail.a:g} exp(-t^2/{2 * tail.v:g})"
    if isinstance(tail, truncation.Power):
        return f"{tail.C:g} t^-{tail.beta:g}"
    raise TypeError(f"unknown tail {tail!r}")


def one_layer_variants(
    network: Network,
    cover: Cover,
    tail: Tail,
    *,
    M: float,
    growth: float,
    n: int,
    radius: float,
    kappa: float,
    B: float,
    sigma: float,
    approx: float,
    V: float | None,
    tilt: float | None,
    eta: float | None,
    fraction: float | None,
    honest_kappa: bool,
    bernstein: bool,
    squared_loss: bool,
    well_specified: bool,
    clipped: bool,
) -> dict[str, Bound]:
    """S7 and S8 for truncated inputs, S4 for them without any condition, S7clip for clipped outputs."""
    outside, tau_1, tau_2 = _tail_functionals(tail, M, growth)
    reach = 2.0 * growth * M  # |f - f0| on truncated inputs
    in_class = stated("the Bayes predictor belongs to the class", well_specified, "well_specified=1")
    tails = tail_hypotheses(tail)
    variants = {
        "logN": log_size(cover, radius),
        "P": upper_bound(outside, clip=1.0, bounds=Quantity.TAIL_PROBABILITY, hypotheses=tails),
        "tau1": side_number(tau_1, "E|f0(X) - f0(T_M X)| is at most this"),
        "tau2": side_number(tau_2, "E(f0(X) - f0(T_M X))^2 is at most this"),
    }
    squared = (*tails, noise(squared_loss), in_class)
    most = (reach + math.sqrt(tau_2)) ** 2
    setting = {"reach": reach, "sigma": sigma, "tau_1": tau_1, "tau_2": tau_2}
    variants["S8"] = upper_bound(truncation.squared(cover, radius, n, a=tilt, **setting), clip=most, hypotheses=squared)
    variants["S8_opt"] = upper_bound(truncation.squared_best(cover, n, **setting), clip=most, hypotheses=squared)
    trivial = kappa * (reach + tau_1)
    slow = excess_risk.slow_best(cover, n, loss_range=kappa * reach, kappa=kappa, approximation=approx + kappa * tau_1)
    over = slow_quantity(well_specified, approx)
    variants["S4_opt"] = risk(slow, None, honest(honest_kappa), *tails, bounds=over)
    if V is not None:
        lipschitz = truncation.lipschitz_best(
            cover, radius, n, V=V, M_g=kappa * reach, kappa=kappa, outside=outside, tau_1=tau_1
        )
        on_typical = stated("E g^2 1{b <= M} <= V E g 1{b <= M} for every excess loss g", bernstein, "bernstein=1")
        variants["S7"] = risk(lipschitz, trivial, honest(honest_kappa), on_typical, in_class, *tails)
    clip_check = stated("outputs clipped to [-B, B] inside the training objective, |f0| <= B", clipped, "clipped=1")
    variants |= _confined_variants(
        cover,
        tail,
        outside,
        width=2.0 * B,
        distance=2.0 * B,
        hypotheses=(clip_check, *tails),
        n=n,
        radius=radius,
        kappa=kappa,
        sigma=sigma,
        approx=approx,
        V=V,
        tilt=tilt,
        eta=eta,
        fraction=fraction,
        honest_kappa=honest_kappa,
        bernstein=bernstein,
        squared_loss=squared_loss,
        well_specified=well_specified,
    )
    return variants


def many_layer_variants(
    network: Network, cover: Cover, tail: Tail, *, M: float, radius: float, B: float, **setting: Any
) -> dict[str, Bound]:
    """Normalised outputs are confined by construction: no truncation, any tail."""
    outside = tail.probability(M)
    tails = tail_hypotheses(tail)
    return {
        "logN": log_size(cover, radius),
        "P": upper_bound(outside, clip=1.0, bounds=Quantity.TAIL_PROBABILITY, hypotheses=tails),
        **_confined_variants(
            cover,
            tail,
            outside,
            width=2.0 * network.output_bound,
            distance=distance_to_target(B, network.output_bound, setting["well_specified"]),
            hypotheses=tails,
            radius=radius,
            **setting,
        ),
    }


def _confined_variants(
    cover: Cover,
    tail: Tail,
    outside: float,
    *,
    width: float,
    distance: float,
    hypotheses: tuple[Hypothesis, ...],
    n: int,
    radius: float,
    kappa: float,
    sigma: float,
    approx: float,
    V: float | None,
    tilt: float | None,
    eta: float | None,
    fraction: float | None,
    honest_kappa: bool,
    bernstein: bool,
    squared_loss: bool,
    well_specified: bool,
) -> dict[str, Bound]:
    """S7clip: outputs in an interval of length `width`, |f - f0| <= `distance`; S1, S2, S4 with the cover widened."""
    widen = width * outside
    in_class = reference(well_specified, approx)
    squared = (*hypotheses, noise(squared_loss), in_class)
    setting = {"b_h": distance**2, "sigma": sigma, "approximation": approx, "widen": widen}
    fixed = excess_risk.squared(cover, radius, n, a=tilt, **setting)
    slow = excess_risk.slow_best(
        cover, n, loss_range=kappa * width, kappa=kappa, approximation=approx + 2.0 * kappa * widen
    )
    variants = {
        "S7clip_sq": risk(fixed, distance**2, *squared),
        "S7clip_sq_opt": risk(excess_risk.squared_best(cover, n, **setting), distance**2, *squared),
        "S4clip_opt": risk(
            slow, kappa * distance, honest(honest_kappa), *hypotheses, bounds=slow_quantity(well_specified, approx)
        ),
    }
    if V is None:
        return variants
    condition = (honest(honest_kappa), bernstein_condition(bernstein), in_class, *hypotheses)
    common = {"V": V, "M": kappa * distance, "kappa": kappa}
    lipschitz = excess_risk.bernstein(cover, radius, n, approximation=approx, widen=widen, **common)
    variants["S7clip_lip"] = risk(lipschitz, kappa * distance, *condition)
    if eta is not None and fraction is not None:
        observable: RiskBound = excess_risk.bernstein_hp(
            cover,
            radius,
            n,
            ln_inverse_eta=math.log(1.0 / eta),
            widen=widen,
            widen_observed=width * fraction,
            **common,
        )
        exact = stated(
            "the Bayes predictor belongs to the class, so that P_n g <= 0 for the minimiser",
            well_specified,
            "well_specified=1",
        )
        variants["S7clip_hp"] = risk(observable, kappa * distance, *condition, exact, bounds=Quantity.EXCESS_RISK_HP)
    return variants


def _tail_functionals(tail: Tail, M: float, growth: float) -> tuple[float, float, float]:
    """P(b > M), K' m1 and K'^2 m2."""
    first, second = truncation.first_moment(tail, M), truncation.second_moment(tail, M)
    return tail.probability(M), growth * first, growth**2 * second
