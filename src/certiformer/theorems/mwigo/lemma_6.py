r"""Lemma 6 (Corollary 4.5 of Edelman et al., as transcribed): covering number of an attention head.

Printed, with V21 = ||W_V||_{2,1}, A21 = ||W_K^T W_Q||_{2,1}/sqrt(d_m), V2 = ||W_V||_2, logarithms hidden:

.. math:: \log N \lesssim B_X^2\,\frac{(V_{21}^{2/3}+(A_{21}V_2)^{2/3})^3}{\varepsilon^2}\,\log(Nd_s)

Sound, for sums of **row** norms, n = N d_s points and half-diameter rho (T5 in docs/proofs/covers.md, Lemma E.1 of
Trauger and Tewari):

.. math:: \log N \le \bigl(C_V^{1/3}+C_A^{1/3}(V_2\rho^2)^{2/3}\bigr)^3/\varepsilon^2,\quad
          C_V=(V_{21}B_X)^2t(d_m,n),\ C_A=(A_{21}B_X)^2t(d,n)

for the head; the scalar class adds w_O: its own cover, and eta_O in the sensitivities.
"""

from __future__ import annotations

import math

from certiformer.calculus.allocation import Term, network_cover, quadratic_total
from certiformer.calculus.covers import Cover, dual_sudakov, rows_two_one, smallest, volumetric
from certiformer.calculus.softmax import weight_sensitivity
from certiformer.core import Bound, Quantity, Result, Status, Variants, count, printed_value, real, upper_bound
from certiformer.theorems.mwigo import MWIGO


def printed(
    BX: float,
    V21: float,
    V2: float,
    A21: float,
    eps: float,
    n: int,
    ds: int,
    d: int,
    dm: int,
    rho: float | None,
    eta_O: float | None,
) -> Variants:
    total = quadratic_total((V21 * V21, A21 * A21), (1.0, V2))
    return {"value": printed_value(BX * BX * total / eps / eps * math.log(n * ds))}


def sound(
    BX: float,
    V21: float,
    V2: float,
    A21: float,
    eps: float,
    n: int,
    ds: int,
    d: int,
    dm: int,
    rho: float | None,
    eta_O: float | None,
) -> Variants:
    half = BX if rho is None else min(rho, BX)
    value, scores = rows_two_one(V21, dm, n * ds), rows_two_one(A21, d, n * ds)
    attention = V2 * weight_sensitivity(half)
    constants = [V21 * BX * (V21 * BX) * value.quadratic, A21 * BX * (A21 * BX) * scores.quadratic]
    betas = [1.0, attention]
    # ||W||_2 <= ||W||_F <= the sum of the row norms: those balls have covers of their own.
    covers = [
        smallest(value, dual_sudakov(V21, dm, d), volumetric(min(V21, V2), dm * d)).scaled(BX),
        smallest(scores, dual_sudakov(A21, d, d), volumetric(A21, d * d)).scaled(BX),
    ]
    by_product = None if eta_O is None else Quantity.CONSTANT
    variants: dict[str, Bound] = {
        "head": upper_bound(quadratic_total(constants, betas) / eps / eps, bounds=by_product, note="without w_O"),
    }
    if eta_O is not None:
        # The hat sits on w_O's factor: |w h - w_hat h_hat| <= |(w - w_hat) h| + eta_O ||h - h_hat||, h of norm V2 BX.
        read = smallest(dual_sudakov(eta_O, 1, dm), volumetric(eta_O, dm)).scaled(V2 * BX)
        constants.append(read.constant)
        betas = [eta_O, eta_O * attention, 1.0]
        covers.append(read)
        variants["scalar"] = upper_bound(quadratic_total(constants, betas) / eps / eps, note="with w_O")
    variants["exact"] = upper_bound(_network(covers, betas).log_size(eps))
    return variants


def _network(covers: list[Cover], betas: list[float]) -> Cover:
    return network_cover(
        [
            Term(cover.name, cover, math.log(beta) if beta > 0.0 else -math.inf)
            for cover, beta in zip(covers, betas, strict=True)
        ]
    )


RESULT = Result(
    id="mwigo.lem6",
    title="Covering number of an attention head",
    paper=MWIGO,
    place="Lemma 6",
    bounds=Quantity.LOG_COVERING_NUMBER,
    statement="log N <~ BX^2 (V21^(2/3) + (A21 V2)^(2/3))^3/eps^2 log(N ds)",
    latex=r"\log N\lesssim B_X^2\frac{(V_{21}^{2/3}+(A_{21}V_2)^{2/3})^3}{\varepsilon^2}\log(Nd_s)",
    sound_statement=(
        "head: (C_V^(1/3) + C_A^(1/3) (V2 rho^2)^(2/3))^3/eps^2, C_V = (V21 BX)^2 t(dm, N ds), C_A = (A21 "
        "BX)^2 t(d, N ds), "
        "t(k,n) = min_h [ln(k+1) + h ln 2 + (1+1/h) ln(2n+1)], row norms; scalar: sensitivities times eta_O, "
        "plus w_O with "
        "(eta_O V2 BX)^2 kappa(1, dm); exact: the smallest covers of each weight, best split of the radius."
    ),
    inputs=(
        real("BX", "bound on the l2 norm of every token", symbol="B_X", example=1),
        real("V21", "bound on the sum of the row norms of W_V, ||W_V^T||_{2,1}", example=2),
        real("V2", "bound on the spectral norm of W_V", example=1),
        real("A21", "bound on the sum of the row norms of W_K^T W_Q/sqrt(d_m)", example=3),
        real("eps", "radius of the cover", symbol="ε", example=0.5),
        count("n", "sample size", aliases=("N", "m"), example=100),
        count("ds", "sequence length", symbol="d_s", example=10),
        count("d", "token dimension", example=8),
        count("dm", "model dimension", symbol="d_m", example=8),
        real("rho", "half the diameter of the token set", low_open=False, optional=True, derived="BX", example=1),
        real("eta_O", "bound on ||w_O||_2, for the scalar class", optional=True, derived="no readout", example=1),
    ),
    status=Status.FALSE,
    reason="the score term lacks the squared token norm (shattering), and w_O is not covered at all",
    printed=printed,
    sound=sound,
    assumptions=("the norms are fixed in advance", "scores are divided by sqrt(d_m), as in the model"),
    defects=(
        "The class contains w_O, the bound does not.",
        (
            "The score term misses rho^2 <= BX^2: tokens (b/sqrt 3)(+-e_j +- e_z + e_c) and A = s e_c^T shatter "
            "1000 points "
            "at BX = 97.4, which needs 693, where 164 is printed."
        ),
        "The class is written without 1/sqrt(d_m) inside the softmax.",
        "The norm is the sum of column norms; row norms are right.",
        "BX is called both a bound on token norms and a number below ||X||_F.",
    ),
    monotone={"BX": 1, "V21": 1, "V2": 1, "A21": 1, "eps": -1, "n": 1, "ds": 1, "d": 1, "dm": 1, "rho": 1},
    proof="docs/proofs/mwigo.md",
)
