r"""Corollary D.0.1: Theorem 4.1 for tokens of bounded l1 norm and W_QK with l1-bounded columns.

Printed, with alpha = 2 B_{QK} sqrt(d log(2d+1)):

.. math:: O\Bigl(B\Bigl(\frac{B_x^3\alpha}{\sqrt n}\bigl(1+\ln\frac{\sqrt n-\sqrt{\ln 2d}}{B_x^2\alpha}\bigr)
          + B_x\sqrt{\ln(2d)/n}\Bigr)\Bigr)

Sound: Theorem 4.1 with C = d (B_{QK} B_x)^2 log(2d+1), where B_{QK} bounds ||W_QK^T||_{1,inf}: scores are X W_QK^T x.
"""

from __future__ import annotations

import math

from certiformer.calculus.covers import columns_one_inf, smallest, volumetric
from certiformer.core import Quantity, Result, Status, Variants, real
from certiformer.theorems.trauger import TRAUGER
from certiformer.theorems.trauger._single_layer import (
    ASSUMPTIONS,
    NORM_DEFECT,
    SAMPLE,
    WEIGHTS,
    all_variants,
    chain_variants,
    closed_variants,
    printed_closed_form,
    token_sizes,
)


def printed(
    Bw: float,
    Bc: float,
    L_sigma: float,
    Bv: float,
    Bx: float,
    BQK: float,
    n: int,
    d: int,
    rho: float | None,
    D: float | None,
    odd: bool,
) -> Variants:
    alpha = Bx * Bx * Bx * 2 * BQK * math.sqrt(d * math.log(2 * d + 1))
    return {"value": printed_closed_form(Bw * Bc * L_sigma * Bv, alpha, Bx, n, d, minus=True)}


def sound(
    Bw: float,
    Bc: float,
    L_sigma: float,
    Bv: float,
    Bx: float,
    BQK: float,
    n: int,
    d: int,
    rho: float | None,
    D: float | None,
    odd: bool,
) -> Variants:
    scale, sizes = Bw * Bc * L_sigma * Bv, token_sizes(Bx, rho, D)
    columns = columns_one_inf(BQK, d, d)
    # On l1 inputs the error of a map is its largest column error, a norm on R^{d x d}: volume applies to its ball.
    cover = smallest(columns, volumetric(BQK, d * d))
    return all_variants(
        closed_variants(scale, BQK * Bx * (BQK * Bx) * columns.quadratic, n, d, *sizes),
        chain_variants(scale, cover.scaled(Bx), n, d, *sizes, odd),
    )


RESULT = Result(
    id="trauger.corD.0.1",
    title="One layer, (1, inf) norm of W_QK, l1 tokens",
    paper=TRAUGER,
    place="Corollary D.0.1",
    bounds=Quantity.RADEMACHER_COMPLEXITY,
    statement=(
        "Rad <= O(B (Bx^3 alpha/sqrt(n) (1 + ln((sqrt(n) - sqrt(ln 2d))/(Bx^2 alpha))) + Bx sqrt(ln(2d)/n))), "
        "B = Bw Bc L_sigma Bv, alpha = 2 BQK sqrt(d log(2d+1))"
    ),
    latex=(
        r"O\Bigl(B\Bigl(\tfrac{B_x^3\alpha}{\sqrt n}\bigl(1+\ln\tfrac{\sqrt n-\sqrt{\ln 2d}}{B_x^2\alpha}\bigr)"
        r"+B_x\sqrt{\ln(2d)/n}\Bigr)\Bigr),\ \alpha=2B_{W_{QK}}\sqrt{d\log(2d+1)}"
    ),
    sound_statement="Theorem 4.1 (sound) with C = d (BQK Bx)^2 ln(2d+1), BQK >= ||W_QK^T||_{1,inf}, Bx >= ||x||_1.",
    inputs=(
        *WEIGHTS,
        real("BQK", "bound on ||W_QK^T||_{1,inf}: every row of W_QK in an l1 ball", symbol="B_{W_QK}", example=0.5),
        *SAMPLE,
    ),
    status=Status.FALSE,
    reason="inherits the transposed norms and the hidden constants of Theorem 4.1",
    printed=printed,
    sound=sound,
    assumptions=(*ASSUMPTIONS, "every token has l1 norm (not only l2 norm) at most Bx"),
    defects=(
        NORM_DEFECT,
        "The matrix that acts on tokens is W_QK^T, so ||W_QK^T||_{1,inf} is the norm that matters.",
    ),
    monotone={"Bx": 1, "BQK": 1, "n": -1, "d": 1, "rho": 1},
    proof="docs/proofs/trauger.md",
)
