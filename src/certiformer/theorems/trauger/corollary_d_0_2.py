r"""Corollary D.0.2: Theorem 4.1 for tokens of bounded l1 norm and a (2,1) norm of W_QK.

Printed, with alpha = 2 B_{QK} sqrt(2 log d) (zero at d = 1):

.. math:: \hat O\Bigl(B\Bigl(\frac{B_x^3\alpha}{\sqrt n}\bigl(1+\ln\frac{\sqrt n-\sqrt{\ln 2d}}{B_x^2\alpha}\bigr)
          + B_x\sqrt{\ln(2d)/n}\Bigr)\Bigr)

Sound: Theorem 4.1 with the cover T5 (docs/proofs/covers.md) of the maps x -> W_QK^T x on the d scaled basis vectors;
B_{QK} bounds the sum of the *row* norms of W_QK^T, which is ||W_QK||_{2,1}. That cover is external, and so is its
chain; a proper chain uses it at half the radius.
"""

from __future__ import annotations

import math

from certiformer.calculus.covers import dual_sudakov, rows_two_one, smallest, volumetric
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
    alpha = Bx * Bx * Bx * 2 * BQK * math.sqrt(2 * math.log(d))
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
    rows = rows_two_one(BQK, d, d, domain=True)
    # ||W||_2 <= ||W||_F <= the sum of the row norms.
    others = (dual_sudakov(BQK, d, d), volumetric(BQK, d * d))
    external = smallest(rows, *others)
    proper = smallest(rows.made_proper(), *others)
    return all_variants(
        closed_variants(scale, BQK * Bx * (BQK * Bx) * rows.quadratic, n, d, *sizes),
        chain_variants(scale, external.scaled(Bx), n, d, *sizes, odd, name="chain_external"),
        chain_variants(scale, proper.scaled(Bx), n, d, *sizes, odd),
    )


RESULT = Result(
    id="trauger.corD.0.2",
    title="One layer, (2,1) norm of W_QK, l1 tokens",
    paper=TRAUGER,
    place="Corollary D.0.2",
    bounds=Quantity.RADEMACHER_COMPLEXITY,
    statement=(
        "Rad <= O^(B (Bx^3 alpha/sqrt(n) (1 + ln((sqrt(n) - sqrt(ln 2d))/(Bx^2 alpha))) + Bx sqrt(ln(2d)/n))), "
        "B = Bw Bc L_sigma Bv, alpha = 2 BQK sqrt(2 log d)"
    ),
    latex=(
        r"\hat O\Bigl(B\Bigl(\tfrac{B_x^3\alpha}{\sqrt n}\bigl(1+\ln\tfrac{\sqrt n-\sqrt{\ln 2d}}{B_x^2\alpha}\bigr)"
        r"+B_x\sqrt{\ln(2d)/n}\Bigr)\Bigr),\ \alpha=2B_{W_{QK}}\sqrt{2\log d}"
    ),
    sound_statement=(
        "Theorem 4.1 (sound) with C = (BQK Bx)^2 min_h [ln(d+1) + h ln 2 + (1+1/h) ln(2d+1)], BQK >= ||W_QK||_{2,1} "
        "(columns of W_QK = rows of the acting matrix), external chain; chain: the same cover at eps/2, proper."
    ),
    inputs=(
        *WEIGHTS,
        real("BQK", "bound on ||W_QK||_{2,1}, the sum of the column l2 norms", symbol="B_{W_QK}", example=0.5),
        *SAMPLE,
    ),
    status=Status.FALSE,
    reason="inherits Theorem 4.1 and the false Lemma 3.4; alpha vanishes at d = 1; logarithms are dropped",
    printed=printed,
    sound=sound,
    assumptions=(*ASSUMPTIONS, "every token has l1 norm (not only l2 norm) at most Bx"),
    defects=(
        NORM_DEFECT,
        (
            "Rests on Lemma 3.4, false for the norm it is stated with; here ||W_QK||_{2,1} happens to be the "
            "right one, "
            "because W_QK^T is what acts on tokens."
        ),
        "alpha = 0 at d = 1, although the class is not a single function.",
        "Logarithms of other quantities are dropped without a constant.",
    ),
    monotone={"Bx": 1, "BQK": 1, "n": -1, "d": 1, "rho": 1},
    proof="docs/proofs/trauger.md",
)
