"""What Theorems 6.9-6.11 share: heavy-tailed inputs on the rank-based bounds, and the robust loss."""

from __future__ import annotations

import math
from typing import Any

from certiformer.calculus import robust
from certiformer.calculus.covers import Cover
from certiformer.calculus.truncation import Power
from certiformer.core import (
    Bound,
    Quantity,
    Variants,
    assumed,
    printed_value,
    side_number,
    stated,
    upper_bound,
    verified,
)
from certiformer.theorems.li import _rank_based
from certiformer.theorems.li._architecture import growth, many_layers, one_layer
from certiformer.theorems.li._truncated import many_layer_variants, one_layer_variants, tail_hypotheses
from certiformer.theorems.li._variants import honest

DEFECTS = (
    (
        "The proof ends with C1 M^(1-beta/2) + C2 M^(2-beta); the theorem keeps only the smaller second "
        "term (beta = 3, M = 100: 0.01 of 0.11)."
    ),
    (
        "The proof assumes tails of the entries, with constant C (Td)^(1+beta/2); the assumption is "
        "about ||X||_F with constant C."
    ),
    (
        "The estimator minimises the robust loss, the risk bounded is that of the base loss; the scale "
        "of the robust loss never appears."
    ),
    (
        "The base loss is already assumed Lipschitz, so the robust loss does nothing; psi' <= 1 holds "
        "for Catoni's function but reaches 1.76 for the generalized one."
    ),
    (
        "M^(2-beta) rests on a network Lipschitz constant O(||X||) that is really O(1 + ||X||^2); by "
        "growth alone the bias of a Lipschitz loss is of order M^(1-beta)."
    ),
)


def bias(*, kappa: float, C: float, beta: float, M: float) -> float:
    """C_beta M^(2-beta) with C_beta = kappa C beta/(beta - 2), as the proof has it; inf for beta <= 2."""
    return kappa * C * beta / (beta - 2.0) * M ** (2.0 - beta) if beta > 2.0 else math.inf


def printed_one_layer(*, kappa: float, M: float, C: float, beta: float, **inputs: Any) -> Variants:
    extra = bias(kappa=kappa, C=C, beta=beta, M=M)
    return _with_bias(_rank_based.printed_one_layer(kappa=kappa, Bx=M, BX=M, extra=extra, **inputs), extra, beta)


def printed_many_layers(*, kappa: float, M: float, C: float, beta: float, **inputs: Any) -> Variants:
    extra = bias(kappa=kappa, C=C, beta=beta, M=M)
    return _with_bias(_rank_based.printed_many_layers(kappa=kappa, BX=M, extra=extra, **inputs), extra, beta)


def _with_bias(variants: Variants, extra: float, beta: float) -> Variants:
    value = variants["value"]
    heavy = verified("the tail index is above 2", beta > 2.0, beta)
    return {
        **variants,
        "bias": printed_value(extra, hypotheses=(heavy,), note="C_beta = kappa C beta/(beta - 2)"),
        "value": printed_value(value.value, hypotheses=(*value.hypotheses, heavy)),
    }


def sound_one_layer(
    *,
    H: int,
    d: int,
    k: int,
    Bw: float,
    Bc: float,
    Bv: float,
    BQK: float,
    L_sigma: float,
    M: float,
    C: float,
    beta: float,
    rw: int,
    rc: int,
    rv: int,
    rqk: int,
    moment: float | None,
    alpha: float,
    **setting: Any,
) -> Variants:
    network = one_layer(d=d, k=k, Bw=Bw, Bc=Bc, Bv=Bv, BQK=BQK, L_sigma=L_sigma, b=M, H=H, rv=rv, rqk=rqk)
    cover, tail = network.rank_cover(), Power(C, beta)
    scale = growth(Bw, Bc, Bv, L_sigma, H)
    variants = one_layer_variants(network, cover, tail, M=M, growth=scale, **setting)
    clip = (stated("outputs clipped to [-B, B] inside the training objective", setting["clipped"], "clipped=1"),)
    return {**variants, **_robust(cover, tail, M, 2.0 * setting["B"], moment, alpha, clip, **setting)}


def sound_many_layers(
    *,
    layers: int,
    d: int,
    k: int,
    Bw: float,
    Bc: float,
    Bv: float,
    BQK: float,
    L_sigma: float,
    M: float,
    C: float,
    beta: float,
    rw: int,
    rc: int,
    rv: int,
    rqk: int,
    rho: float,
    xi: float,
    moment: float | None,
    alpha: float,
    **setting: Any,
) -> Variants:
    network = many_layers(
        d=d,
        k=k,
        layers=layers,
        Bw=Bw,
        Bc=Bc,
        Bv=Bv,
        BQK=BQK,
        L_sigma=L_sigma,
        b=M,
        rho=rho,
        xi=xi,
        rc=rc,
        rv=rv,
        rqk=rqk,
    )
    cover, tail = network.rank_cover(), Power(C, beta)
    variants = many_layer_variants(network, cover, tail, M=M, **setting)
    return {**variants, **_robust(cover, tail, M, 2.0 * network.output_bound, moment, alpha, (), **setting)}


def _robust(
    cover: Cover,
    tail: Power,
    M: float,
    width: float,
    moment: float | None,
    alpha: float,
    hypotheses: tuple[Any, ...],
    *,
    n: int,
    radius: float,
    kappa: float,
    approx: float,
    eta: float | None,
    fraction: float | None,
    honest_kappa: bool,
    **_: Any,
) -> dict[str, Bound]:
    """S9, for heavy-tailed *labels*: needs a moment of the loss, a confidence, and the observed fraction outside."""
    if moment is None or eta is None or fraction is None:
        return {}
    size = cover.log_size(radius)
    value = robust.truncated_erm(n, size, moment, eta, alpha=alpha)
    widen = width * tail.probability(M)
    steps = robust.truncated_erm_discretisation(kappa, robust.slope(alpha), radius, widen, width * fraction)
    all_checks = (
        *hypotheses,
        *tail_hypotheses(tail),
        honest(honest_kappa),
        assumed("the predictor minimises the mean of psi(s l)/s with the scale reported"),
        assumed("E l^alpha <= moment for every function of the class"),
    )
    return {
        "S9_scale": side_number(robust.truncated_erm_scale(n, size, moment, eta, alpha), "scale s of the robust loss"),
        "S9": upper_bound(value + steps + approx, hypotheses=all_checks, bounds=Quantity.EXCESS_RISK_HP),
    }
