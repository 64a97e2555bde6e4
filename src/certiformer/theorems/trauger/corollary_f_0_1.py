r"""Corollary F.0.1: Theorem 4.2 with columns in l1 balls.

Printed: Theorem 4.2 with C_1 = d B^2 ln(2k+1) and C_{B_x} = B_x^2 C_1 (Lemma 3.3), B the largest norm.

Lemma 3.3 wants inputs of bounded **l1** norm, but the projections bound l2 norms, so the input dimension comes in
once more. Sound, for the norms ||W_c^T||_{1,inf}, ||W_v^T||_{1,inf}, ||W_QK^T||_{1,inf}, ||w||_inf (the matrices act
as x -> W^T x): the sound Theorem 4.2 with

.. math:: C_c=k^2B^2\ln(2d+1),\quad C_v=d^2B^2\ln(2k+1),\quad C_{QK}=d^2B^2\ln(2d+1),\quad C_w=d^2B^2\ln3 .

These covers leave the spectral balls: external, so W_c's inputs have norm up to L_sigma.
"""

from __future__ import annotations

import math

from certiformer.calculus.covers import columns_one_inf
from certiformer.core import Quantity, Result, Status, Variants, count, real
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
    constant = d * B * B * math.log(2 * k + 1)
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
        return inputs * columns_one_inf(B, outputs, inputs).constant

    constants = {"w": constant(1, d), "c": constant(d, k), "v": constant(k, d), "q": constant(d, d)}
    ln = ln_total(net, constants, proper=False)
    return {"value": covering_bound(ln, eps), **complexity_variants(net, ln, n, proper=False)}


RESULT = Result(
    id="trauger.corF.0.1",
    title="Deep Transformer, (1, inf) norms",
    paper=TRAUGER,
    place="Corollary F.0.1",
    bounds=Quantity.LOG_COVERING_NUMBER,
    statement="Theorem 4.2 with C1 = d B^2 ln(2k+1), CBx = Bx^2 C1, B the largest norm of Lemma 3.3",
    latex=r"\log N(\varepsilon)=(\gamma+\eta)^3/\varepsilon^2,\quad C_1=dB^2\ln(2k+1),\ C_{B_x}=B_x^2C_1",
    sound_statement=(
        "Theorem 4.2 (sound, external) with C_c = k^2 B^2 ln(2d+1), C_v = d^2 B^2 ln(2k+1), C_QK = d^2 B^2 ln(2d+1), "
        "C_w = d^2 B^2 ln 3; B bounds ||W_c^T||_{1,inf}, ||W_v^T||_{1,inf}, ||W_QK^T||_{1,inf}, ||w||_inf."
    ),
    inputs=(
        real("B", "bound on ||W_c^T||, ||W_v^T||, ||W_QK^T|| in the (1,inf) norm and on ||w||_inf", example=2),
        real("Bx", "bound on the l2 norm of the raw tokens", symbol="B_x", example=1),
        count("d", "token dimension", example=16),
        count("k", "hidden dimension", example=8),
        *NETWORK,
        *OPTIONS,
    ),
    status=Status.FALSE,
    reason="l1 inputs are not available after an l2 projection; a network with d = 601 shatters 90000 points",
    printed=printed,
    sound=sound,
    assumptions=ASSUMPTIONS,
    defects=(
        *DEFECTS,
        "Lemma 3.3 needs inputs of l1 norm at most 1 at every layer; a projection onto the l2 ball gives sqrt(d).",
        "One pair of dimensions serves all matrices: W_c^T is d x k, W_v^T is k x d, W_QK^T is d x d, w^T is 1 x d.",
        "No orientation is stated; the opposite of Theorem 4.1's is needed.",
    ),
    monotone={**dict.fromkeys(INCREASING, 1), "eps": -1, "B": 1, "Bx": 1, "d": 1, "k": 1},
    proof="docs/proofs/trauger.md",
)
