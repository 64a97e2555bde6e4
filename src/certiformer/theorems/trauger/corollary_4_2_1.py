r"""Corollary 4.2.1: Theorem 4.2 with bounds on the entrywise l1 norms.

Printed: Theorem 4.2 with C_1 = B^2 ln(2dk+1) and C_{B_x} = B_x^2 C_1, B the largest of all (1,1) norms.

Sound: the sound Theorem 4.2 with C_w = B^2 ln(2d+1), C_c = C_v = B^2 ln(2dk+1), C_QK = B^2 ln(2d^2+1) (W_QK is d x d),
each matrix with its own norm where given. `exact` takes the smallest cover of every weight at the given radius
(Maurey's exact count, or volume in the spectral norm) and the best of several ways to share the radius.
"""

from __future__ import annotations

import math

from certiformer.calculus.allocation import Term, network_cover
from certiformer.calculus.covers import Cover, maurey, smallest, volumetric
from certiformer.core import Quantity, Result, Status, Variants, count, real, upper_bound
from certiformer.theorems.trauger import TRAUGER
from certiformer.theorems.trauger._multi_layer import (
    ASSUMPTIONS,
    DEFECTS,
    INCREASING,
    NETWORK,
    OPTIONS,
    Network,
    complexity_variants,
    covering_bound,
    ln_total,
    network,
    printed_variants,
    weights,
)


def printed(
    B: float,
    Bx: float,
    d: int,
    k: int,
    L_sigma: float,
    Bc2: float,
    Bv2: float,
    BQK2: float,
    Bw: float,
    layers: int,
    eps: float,
    Bw1: float | None,
    Bc11: float | None,
    Bv11: float | None,
    BQK11: float | None,
    rho: float | None,
    heads: int,
    n: int | None,
) -> Variants:
    net = network(L_sigma, Bc2, Bv2, BQK2, Bw, layers, heads, Bx, rho)
    constant = B * B * math.log(2 * d * k + 1)
    return printed_variants(net, constant, Bx * Bx * constant, eps)


def sound(
    B: float,
    Bx: float,
    d: int,
    k: int,
    L_sigma: float,
    Bc2: float,
    Bv2: float,
    BQK2: float,
    Bw: float,
    layers: int,
    eps: float,
    Bw1: float | None,
    Bc11: float | None,
    Bv11: float | None,
    BQK11: float | None,
    rho: float | None,
    heads: int,
    n: int | None,
) -> Variants:
    net = network(L_sigma, Bc2, Bv2, BQK2, Bw, layers, heads, Bx, rho)
    sparse = {
        "w": maurey(_or(Bw1, B), d),
        "c": maurey(_or(Bc11, B), d * k),
        "v": maurey(_or(Bv11, B), d * k),
        "q": maurey(_or(BQK11, B), d * d),
    }
    dense = {
        "w": volumetric(Bw, d),
        "c": volumetric(Bc2, d * k),
        "v": volumetric(Bv2, d * k),
        "q": volumetric(BQK2, d * d),
    }
    # Maurey's covers project onto convex subclasses and volume packs any subset around zero: both are proper.
    constants = {kind: cover.constant for kind, cover in sparse.items()}
    ln = ln_total(net, constants, proper=True)
    covers = {kind: smallest(sparse[kind], dense[kind]) for kind in sparse}
    return {
        "value": covering_bound(ln, eps),
        "exact": upper_bound(_cover(net, covers).log_size(eps)),
        **complexity_variants(net, ln, n, proper=True),
    }


def _cover(net: Network, covers: dict[str, Cover]) -> Cover:
    terms = [
        Term(weight.kind, covers[weight.kind].scaled(math.exp(weight.ln_input)), weight.ln_beta)
        for weight in weights(net, proper=True)
        for _ in range(1 if weight.kind == "w" else net.heads)
    ]
    return network_cover(terms)


def _or(own: float | None, common: float) -> float:
    return common if own is None else own


RESULT = Result(
    id="trauger.cor4.2.1",
    title="Deep Transformer, entrywise l1 norms",
    paper=TRAUGER,
    place="Corollary 4.2.1",
    bounds=Quantity.LOG_COVERING_NUMBER,
    statement="Theorem 4.2 with C1 = B^2 ln(2dk+1), CBx = Bx^2 C1, B the largest (1,1) norm",
    latex=r"\log N(\varepsilon)=(\gamma+\eta)^3/\varepsilon^2,\quad C_1=B^2\ln(2dk+1),\ C_{B_x}=B_x^2C_1",
    sound_statement=(
        "Theorem 4.2 (sound) with C_w = B^2 ln(2d+1), C_c = C_v = B^2 ln(2dk+1), C_QK = B^2 ln(2d^2+1), each "
        "weight with "
        "its own norm where given; exact: the smallest cover of each weight, the best of several splits of the radius."
    ),
    inputs=(
        real("B", "bound on the entrywise l1 norm of every weight", example=2),
        real("Bx", "bound on the l2 norm of the raw tokens", symbol="B_x", example=1),
        count("d", "token dimension", example=16),
        count("k", "hidden dimension", example=8),
        *NETWORK,
        real("Bw1", "bound on ||w||_1", optional=True, derived="B"),
        real("Bc11", "bound on ||W_c||_{1,1}", optional=True, derived="B"),
        real("Bv11", "bound on ||W_v||_{1,1}", optional=True, derived="B"),
        real("BQK11", "bound on ||W_QK||_{1,1}", optional=True, derived="B"),
        *OPTIONS,
    ),
    status=Status.FALSE,
    reason="a network with d = 500 and Bx = 100 shatters more than the printed number allows",
    printed=printed,
    sound=sound,
    assumptions=ASSUMPTIONS,
    defects=(
        *DEFECTS,
        "W_QK is d x d, so it needs ln(2d^2+1); the printed constant is smaller when k < d.",
        (
            "One layer, sigma = id, k = 1, tokens +-(b/sqrt 2)(e_j + e_z), CLS = b e_cls: all 2^M sign "
            "patterns occur at margin "
            "0.707, so log N(0.706) >= M ln 2 = 345 at d = 500, Bx = 100, where 253 is printed."
        ),
    ),
    monotone={**dict.fromkeys(INCREASING, 1), "eps": -1, "B": 1, "Bx": 1, "d": 1, "k": 1},
    proof="docs/proofs/trauger.md",
)
