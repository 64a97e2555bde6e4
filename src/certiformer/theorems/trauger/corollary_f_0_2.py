r"""Corollary F.0.2: Theorem 4.2 with (2,1) norms.

Printed: Theorem 4.2 with C_1 = B^2 ln(dk) and C_{B_x} = B_x^2 C_1 (Lemma 3.4), B the largest norm.

Sound, for the sums of **row** norms of the matrices that act, x -> W^T x, that is ||W_c||_{2,1}, ||W_v||_{2,1},
||W_QK||_{2,1} and ||w||_2: the sound Theorem 4.2 with the cover T5 (docs/proofs/covers.md) on the scaled basis, times
the input dimension because the projections bound l2 norms only:

.. math:: C_c=kB^2\,t(d,k),\quad C_v=dB^2\,t(k,d),\quad C_{QK}=dB^2\,t(d,d),\quad C_w=dB^2\,t(1,d),

t(k, n) = min_h [ln(k+1) + h ln 2 + (1+1/h) ln(2n+1)]. T5 is external.
"""

from __future__ import annotations

import math

from certiformer.calculus.covers import rows_two_one_factor
from certiformer.core import Quantity, Result, Status, Variants, count, printed_value, real, verified
from certiformer.theorems.trauger import TRAUGER
from certiformer.theorems.trauger._multi_layer import (
    ASSUMPTIONS,
    DEFECTS,
    INCREASING,
    NETWORK,
    OPTIONS,
    complexity_variants,
    covering_bound,
    ln_total,
    network,
    printed_variants,
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
    rho: float | None,
    heads: int,
    n: int | None,
) -> Variants:
    net = network(L_sigma, Bc2, Bv2, BQK2, Bw, layers, heads, Bx, rho)
    constant = B * B * math.log(d * k)
    if constant == 0.0:
        return {"value": printed_value(0.0, checks=(verified("d k > 1 (else the formula is 0)", False, d * k),))}
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
    rho: float | None,
    heads: int,
    n: int | None,
) -> Variants:
    net = network(L_sigma, Bc2, Bv2, BQK2, Bw, layers, heads, Bx, rho)

    def constant(outputs: int, inputs: int) -> float:
        # An l2 ball of R^inputs lies in the l1 ball of sqrt(inputs) times its radius.
        return B * B * inputs * rows_two_one_factor(outputs, inputs)

    constants = {"w": constant(1, d), "c": constant(d, k), "v": constant(k, d), "q": constant(d, d)}
    ln = ln_total(net, constants, proper=False)
    return {"value": covering_bound(ln, eps), **complexity_variants(net, ln, n, proper=False)}


RESULT = Result(
    id="trauger.corF.0.2",
    title="Deep Transformer, (2,1) norms",
    paper=TRAUGER,
    place="Corollary F.0.2",
    bounds=Quantity.LOG_COVERING_NUMBER,
    statement="Theorem 4.2 with C1 = B^2 ln(dk), CBx = Bx^2 C1, B the largest norm of Lemma 3.4",
    latex=r"\log N(\varepsilon)=(\gamma+\eta)^3/\varepsilon^2,\quad C_1=B^2\ln(dk),\ C_{B_x}=B_x^2C_1",
    sound_statement=(
        "Theorem 4.2 (sound, external) with C_c = k B^2 t(d,k), C_v = d B^2 t(k,d), C_QK = d B^2 t(d,d), C_w = d B^2 "
        "t(1,d), t(k,n) = min_h [ln(k+1) + h ln 2 + (1+1/h) ln(2n+1)]; B bounds ||W_c||_{2,1}, ||W_v||_{2,1}, "
        "||W_QK||_{2,1} (columns of the stored matrices) and ||w||_2."
    ),
    inputs=(
        real("B", "bound on ||W_c||_{2,1}, ||W_v||_{2,1}, ||W_QK||_{2,1} and ||w||_2", example=2),
        real("Bx", "bound on the l2 norm of the raw tokens", symbol="B_x", example=1),
        count("d", "token dimension", example=16),
        count("k", "hidden dimension", example=8),
        *NETWORK,
        *OPTIONS,
    ),
    status=Status.FALSE,
    reason="rests on the false Lemma 3.4 and on l1 inputs that a projection does not give; shattering at d = 1000",
    printed=printed,
    sound=sound,
    assumptions=ASSUMPTIONS,
    defects=(
        *DEFECTS,
        "Lemma 3.4 needs inputs of l1 norm at most 1 at every layer; a projection onto the l2 ball gives sqrt(d).",
        "Read with the norms of the transposes it is Lemma 3.4 as printed, which is false.",
        "One pair of dimensions serves all matrices, and dk = 1 gives 0.",
    ),
    monotone={**dict.fromkeys(INCREASING, 1), "eps": -1, "B": 1, "Bx": 1, "d": 1, "k": 1},
    proof="docs/proofs/trauger.md",
)
