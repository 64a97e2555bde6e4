r"""Corollary 4.1.1: Theorem 4.1 with a bound on the entrywise l1 norm of W_QK.

Printed, with B = B_w B_{W_c} L_sigma B_{W_c} (the second should be B_{W_v}) and
alpha = B_{QK} sqrt(2 log(2d^2+1)) (the proof gives 2 B_{QK} sqrt(log(2d^2+1))):

.. math:: O\Bigl(B\Bigl(\frac{B_x^3\alpha}{\sqrt n}\bigl(1+\ln\frac{\sqrt n}{B_x^2\alpha}\bigr)
          + B_x\sqrt{\ln(2d)/n}\Bigr)\Bigr)

Sound: Theorem 4.1 with C = (B_{QK} B_x)^2 log(2d^2+1); in the chain the smallest of the covers of that class.
"""

from __future__ import annotations

import math

from certiformer.calculus.covers import dual_sudakov, maurey, perceptron_matrix, smallest, volumetric
from certiformer.core import Bound, Quantity, Result, Status, Variants, assumed, real
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
    cls_inf: float | None,
) -> Variants:
    alpha = Bx * Bx * Bx * BQK * math.sqrt(2 * math.log(2 * d * d + 1))

    def form(scale: float) -> Bound:
        return printed_closed_form(scale, alpha, Bx, n, d, minus=False)

    return {"value": form(Bw * Bc * L_sigma * Bc), "Bv_restored": form(Bw * Bc * L_sigma * Bv)}


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
    cls_inf: float | None,
) -> Variants:
    scale, sizes = Bw * Bc * L_sigma * Bv, token_sizes(Bx, rho, D)
    maps = maurey(BQK, d * d)
    # ||W||_2 <= ||W||_F <= ||W||_{1,1}: the covers of those balls serve too, and win at small radii.
    cover = smallest(maps, dual_sudakov(BQK, d, d), volumetric(BQK, d * d), perceptron_matrix(BQK, n, d))
    variants = all_variants(
        closed_variants(scale, BQK * Bx * (BQK * Bx) * maps.quadratic, n, d, *sizes),
        chain_variants(scale, cover.scaled(Bx), n, d, *sizes, odd),
    )
    if cls_inf is None:
        return variants
    # One x_CLS for all samples: only the vector W_QK^T x_CLS matters, and it fills the l1 ball of radius BQK
    # |x_CLS|_inf.
    vectors = smallest(maurey(BQK * cls_inf, d), volumetric(BQK * cls_inf, d))
    same = assumed("every sample has the same CLS token, of sup norm at most cls_inf", True)
    return all_variants(variants, chain_variants(scale, vectors, n, d, *sizes, odd, same, name="chain_cls"))


RESULT = Result(
    id="trauger.cor4.1.1",
    title="One layer, entrywise l1 norm of W_QK",
    paper=TRAUGER,
    place="Corollary 4.1.1",
    bounds=Quantity.RADEMACHER_COMPLEXITY,
    statement=(
        "Rad <= O(B (Bx^3 alpha/sqrt(n) (1 + ln(sqrt(n)/(Bx^2 alpha))) + Bx sqrt(ln(2d)/n))), "
        "B = Bw Bc L_sigma Bc, alpha = BQK sqrt(2 log(2d^2+1))"
    ),
    latex=(
        r"O\Bigl(B\Bigl(\tfrac{B_x^3\alpha}{\sqrt n}\bigl(1+\ln\tfrac{\sqrt n}{B_x^2\alpha}\bigr)"
        r"+B_x\sqrt{\ln(2d)/n}\Bigr)\Bigr),\ \alpha=B_{W_{QK}}\sqrt{2\log(2d^2+1)}"
    ),
    sound_statement=(
        "Theorem 4.1 (sound) with C = (BQK Bx)^2 ln(2d^2+1); the chain uses the smallest of the Maurey, Frobenius, "
        "volume and perceptron covers; chain_cls: one CLS token for all samples, C = (BQK |x_CLS|_inf)^2 ln(2d+1)."
    ),
    inputs=(
        *WEIGHTS,
        real("BQK", "bound on ||W_QK||_{1,1}, the entrywise l1 norm", symbol="B_{W_QK}", example=0.5),
        *SAMPLE,
        real("cls_inf", "sup norm of x_CLS, if it is the same in every sample", optional=True, derived="not used"),
    ),
    status=Status.FALSE,
    reason="as Theorem 4.1; besides, alpha is sqrt(2) too small and B_{W_c} stands in the place of B_{W_v}",
    printed=printed,
    sound=sound,
    assumptions=ASSUMPTIONS,
    defects=(
        NORM_DEFECT,
        "B repeats B_{W_c}; the second must be B_{W_v}.",
        "C = (BQK Bx)^2 log(2d^2+1) gives alpha = 2 BQK sqrt(log(2d^2+1)); the printed alpha is sqrt(2) too small.",
    ),
    monotone={"Bx": 1, "BQK": 1, "n": -1, "d": 1, "rho": 1},
    proof="docs/proofs/trauger.md",
)
