"""What Theorems B.1, B.2 and 5.3 share: printed bounds with the log of a log, and sound ones on the norm cover."""

from __future__ import annotations

from typing import Any

from certiformer.calculus import excess_risk
from certiformer.core import Bound, Variants, printed_value, side_number, upper_bound, verified
from certiformer.core.quantity import Quantity
from certiformer.theorems.li import _printed
from certiformer.theorems.li._architecture import Network, growth, many_layers, one_layer
from certiformer.theorems.li._variants import (
    excess_risk_variants,
    honest,
    log_size,
    slow_quantity,
)

LOG_OF_LOG = (
    (
        "The log covering number of the class is gamma^3/delta^2; the theorem puts log(gamma^3/delta^2) "
        "in its place. One head, k = 1, all norms 1, d = 10, delta = 0.05: log N is at least 20.8, the "
        "printed logarithm is 11.3."
    ),
    (
        "gamma lacks B_QK altogether, B_c in the W_c term, B_w in the w term and the 2^(2/3) of the "
        "paper's own constraint."
    ),
    (
        "The constraint on the radii drops B_X (one line above it is there), B_v at W_c and B_x^2 at "
        "W_QK: the output moves up to 27 times further than allowed for."
    ),
    "The readout is bounded in l2 while the cover is for l1 balls.",
    (
        "Only the CLS token is assumed bounded, all tokens are used; B_X = ||X||_{2->2} grows like "
        "sqrt(T), so the bound is not free of the sequence length."
    ),
    "Inherits Corollary 4.5: no Bernstein condition, and a Lipschitz constant that ignores the label noise.",
    "The value can be negative (small n, large radius).",
)


def printed_one_layer(
    *,
    H: int,
    d: int,
    k: int,
    Bw: float,
    Bc: float,
    Bv: float,
    L_sigma: float,
    kappa: float,
    B: float,
    Bx: float,
    BX: float,
    n: int,
    radius: float,
    approx: float,
    **_: Any,
) -> Variants:
    gamma = _printed.gamma_one_layer(d=d, k=k, Bw=Bw, Bc=Bc, Bv=Bv, L_sigma=L_sigma, Bx=Bx, H=H)
    inside = _printed.log_cubed_over_squared(gamma, radius)
    front = _printed.prefactor(n, kappa, B, growth(Bw, Bc, Bv, L_sigma, H) * BX)
    return {"gamma": side_number(gamma), "value": _printed.fast_rate(front, inside, kappa, radius, approx)}


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
    Bx: float,
    BX: float,
    **setting: Any,
) -> Variants:
    network = one_layer(d=d, k=k, Bw=Bw, Bc=Bc, Bv=Bv, BQK=BQK, L_sigma=L_sigma, b=Bx, H=H)
    return sound_variants(network, **setting)


def printed_many_layers(
    *,
    layers: int,
    d: int,
    k: int,
    Bw: float,
    Bc: float,
    Bv: float,
    BQK: float,
    L_sigma: float,
    kappa: float,
    B: float,
    Bx: float,
    n: int,
    radius: float,
    approx: float,
    rho: float,
    **_: Any,
) -> Variants:
    gamma = _printed.gamma_many_layers(d=d, k=k, layers=layers, Bw=Bw, Bc=Bc, Bv=Bv, BQK=BQK, L_sigma=L_sigma, Bx=Bx)
    inside = _printed.log_cubed_over_squared(gamma, radius)
    bound = _printed.fast_rate(_printed.prefactor(n, kappa, B, Bw), inside, kappa, radius, approx)
    unit = verified("the normalisation maps into the unit ball", rho <= 1.0, rho)
    return {"gamma": side_number(gamma), "value": printed_value(bound.value, hypotheses=(*bound.hypotheses, unit))}


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
    Bx: float,
    BX: float,
    rho: float,
    xi: float,
    **setting: Any,
) -> Variants:
    network = many_layers(d=d, k=k, layers=layers, Bw=Bw, Bc=Bc, Bv=Bv, BQK=BQK, L_sigma=L_sigma, b=Bx, rho=rho, xi=xi)
    return sound_variants(network, **setting)


def sound_variants(network: Network, *, radius: float, **setting: Any) -> dict[str, Bound]:
    """The covers (T3 and, for comparison, C1), gamma, and the risk bounds on the better cover."""
    cover = network.norm_cover()
    closed = excess_risk.slow_chain_closed(
        network.gamma**3 if network.ln_gamma < 230.0 else float("inf"),
        network.output_bound,
        setting["n"],
        kappa=setting["kappa"],
        approximation=setting["approx"],
    )
    clip = setting["kappa"] * (setting["B"] + network.output_bound)
    return {
        "gamma": side_number(network.gamma, "log N(delta) <= gamma^3/delta^2"),
        "logN": log_size(cover, radius),
        "logN_C1": upper_bound(network.plain_norm_cover().log_size(radius), bounds=Quantity.LOG_COVERING_NUMBER),
        **excess_risk_variants(cover, output_bound=network.output_bound, radius=radius, **setting),
        "S4chain_closed": upper_bound(
            closed,
            clip=clip,
            hypotheses=(honest(setting["honest_kappa"]),),
            bounds=slow_quantity(setting["well_specified"], setting["approx"]),
        ),
    }
