"""What Theorems B.4, B.5 and 5.8 share: printed bounds in ranks only, and sound ones on the low-rank cover."""

from __future__ import annotations

from typing import Any

from certiformer.core import Bound, Variants, printed_value, side_number, upper_bound, verified
from certiformer.theorems.li import _printed
from certiformer.theorems.li._architecture import Network, growth, many_layers, one_layer
from certiformer.theorems.li._variants import (
    closed_rank_form,
    distance_to_target,
    excess_risk_variants,
    log_size,
    noise,
    reference,
)

RANKS_ONLY = (
    (
        "Assumption 5.7 is false: r = 1, 2 x 2 matrices e_1 a^T already form a disc, N >= 1/eps^2; the "
        "count must grow with (d + k) r, not with r."
    ),
    (
        "Counterexample: one token, identity activation, all ranks 1, class {theta.x : ||theta||_2 <= "
        "1}, Y = +-1. The excess risk is sigma^2 d/n, so no bound in ranks and norms alone can hold."
    ),
)


def printed_one_layer(
    *,
    H: int,
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
    rw: int,
    rc: int,
    rv: int,
    rqk: int,
    extra: float = 0.0,
    **_: Any,
) -> Variants:
    n_rank = _printed.rank_sum_one_layer(
        Bw=Bw, Bc=Bc, Bv=Bv, L_sigma=L_sigma, Bx=Bx, radius=radius, ranks=(rc, rqk, rv, rw), H=H
    )
    front = _printed.prefactor(n, kappa, B, growth(Bw, Bc, Bv, L_sigma, H) * BX)
    bound = _printed.fast_rate(front, _printed.log_or_inf(n_rank), kappa, radius, approx, extra)
    return {"N_rank": side_number(n_rank), "value": bound}


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
    rw: int,
    rc: int,
    rv: int,
    rqk: int,
    **setting: Any,
) -> Variants:
    network = one_layer(d=d, k=k, Bw=Bw, Bc=Bc, Bv=Bv, BQK=BQK, L_sigma=L_sigma, b=Bx, H=H, rv=rv, rqk=rqk)
    return sound_variants(network, **setting)


def printed_many_layers(
    *,
    layers: int,
    Bw: float,
    Bc: float,
    Bv: float,
    BQK: float,
    L_sigma: float,
    kappa: float,
    B: float,
    BX: float,
    n: int,
    radius: float,
    approx: float,
    rw: int,
    rc: int,
    rv: int,
    rqk: int,
    rho: float,
    extra: float = 0.0,
    **_: Any,
) -> Variants:
    total = _printed.rank_sum_many_layers(
        layers=layers,
        Bw=Bw,
        Bc=Bc,
        Bv=Bv,
        BQK=BQK,
        L_sigma=L_sigma,
        BX=BX,
        radius=radius,
        rw=rw,
        rc=rc,
        rv=rv,
        rqk=rqk,
    )
    bound = _printed.fast_rate(_printed.prefactor(n, kappa, B, Bw), total, kappa, radius, approx, extra)
    unit = verified("the normalisation maps into the unit ball", rho <= 1.0, rho)
    return {"sum": side_number(total), "value": printed_value(bound.value, hypotheses=(*bound.hypotheses, unit))}


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
    rw: int,
    rc: int,
    rv: int,
    rqk: int,
    rho: float,
    xi: float,
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
        b=Bx,
        rho=rho,
        xi=xi,
        rc=rc,
        rv=rv,
        rqk=rqk,
    )
    return sound_variants(network, **setting)


def sound_variants(network: Network, *, radius: float, **setting: Any) -> dict[str, Bound]:
    """The cover, the risk bounds on it, and S2 in closed form."""
    cover = network.rank_cover()
    distance = distance_to_target(setting["B"], network.output_bound, setting["well_specified"])
    closed = closed_rank_form(
        network, n=setting["n"], distance=distance, sigma=setting["sigma"], approx=setting["approx"]
    )
    hypotheses = (noise(setting["squared_loss"]), reference(setting["well_specified"], setting["approx"]))
    return {
        "logN": log_size(cover, radius),
        **excess_risk_variants(cover, output_bound=network.output_bound, radius=radius, **setting),
        "closed": upper_bound(closed, clip=distance**2, hypotheses=hypotheses),
    }
