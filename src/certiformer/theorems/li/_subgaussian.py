"""What Theorems 6.4-6.6 share: sub-Gaussian inputs on the norm-based bounds."""

from __future__ import annotations

import math
from typing import Any

from certiformer.calculus.covers import Cover
from certiformer.calculus.truncation import SubGaussian
from certiformer.core import Variants, printed_value, side_number
from certiformer.theorems.li import _printed
from certiformer.theorems.li._architecture import Network, growth, many_layers, one_layer
from certiformer.theorems.li._truncated import many_layer_variants, one_layer_variants

DEFECTS = (
    (
        "The proof arrives at (M^2 + 2 nu^2) exp(-M^2/2nu^2) and then prints nu exp(-M^2/2nu^2): the "
        "ratio (M^2 + 2 nu^2)/nu is unbounded (11 at nu = 1, M = 3), and the network's constant is "
        "dropped."
    ),
    "The network is said to be locally Lipschitz in X with constant O(||X||); it is of order 1 + ||X||^2.",
    (
        "Assumption 6.2 measures nu in units of X^2 and squares it again; it is not scale equivariant "
        "and fails for Gaussian matrices."
    ),
    "A Lipschitz constant independent of M is impossible for the squared loss.",
    "The theorem is about f_n, the estimator is f_n^(M); the proof has 3 inf, the theorem 1 inf.",
)


def truncation_error(*, kappa: float, nu: float, T: int, d: int, M: float) -> float:
    """T_err = kappa nu (T + d) exp(-M^2/(2 nu^2)), the constant inside O() taken as 1."""
    return kappa * nu * (T + d) * math.exp(-(M**2) / (2.0 * nu**2))


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
    n: int,
    radius: float,
    approx: float,
    M: float,
    T: int,
    nu: float,
    **_: Any,
) -> Variants:
    gamma = _printed.gamma_one_layer(d=d, k=k, Bw=Bw, Bc=Bc, Bv=Bv, L_sigma=L_sigma, Bx=M, H=H)
    front = _printed.prefactor(n, kappa, B, growth(Bw, Bc, Bv, L_sigma, H) * M)
    return _with_error(front, gamma, kappa, radius, approx, truncation_error(kappa=kappa, nu=nu, T=T, d=d, M=M))


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
    n: int,
    radius: float,
    approx: float,
    M: float,
    T: int,
    nu: float,
    **_: Any,
) -> Variants:
    gamma = _printed.gamma_many_layers(d=d, k=k, layers=layers, Bw=Bw, Bc=Bc, Bv=Bv, BQK=BQK, L_sigma=L_sigma, Bx=M)
    front = _printed.prefactor(n, kappa, B, Bw)
    return _with_error(front, gamma, kappa, radius, approx, truncation_error(kappa=kappa, nu=nu, T=T, d=d, M=M))


def _with_error(front: float, gamma: float, kappa: float, radius: float, approx: float, error: float) -> Variants:
    inside = _printed.log_cubed_over_squared(gamma, radius)
    return {
        "gamma": side_number(gamma),
        "T_err": printed_value(error, note="the constant inside O() is taken as 1"),
        "value": _printed.fast_rate(front, inside, kappa, radius, approx, error),
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
    T: int,
    nu: float,
    a: float | None,
    v: float | None,
    rv: int | None,
    rqk: int | None,
    **setting: Any,
) -> Variants:
    network = one_layer(d=d, k=k, Bw=Bw, Bc=Bc, Bv=Bv, BQK=BQK, L_sigma=L_sigma, b=M, H=H, rv=rv, rqk=rqk)
    return one_layer_variants(
        network,
        _cover(network, rv is not None or rqk is not None),
        _tail(a, v, T, d, nu),
        M=M,
        growth=growth(Bw, Bc, Bv, L_sigma, H),
        **setting,
    )


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
    T: int,
    nu: float,
    a: float | None,
    v: float | None,
    rc: int | None,
    rv: int | None,
    rqk: int | None,
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
        b=M,
        rho=rho,
        xi=xi,
        rc=rc,
        rv=rv,
        rqk=rqk,
    )
    cover = _cover(network, rc is not None or rv is not None or rqk is not None)
    return many_layer_variants(network, cover, _tail(a, v, T, d, nu), M=M, **setting)


def _cover(network: Network, by_rank: bool) -> Cover:
    """Ranks, once given, define the class; otherwise it is the class of bounded l1 norms."""
    return network.rank_cover() if by_rank else network.norm_cover()


def _tail(a: float | None, v: float | None, T: int, d: int, nu: float) -> SubGaussian:
    return SubGaussian(float(T + d) if a is None else a, nu if v is None else v)
