r"""Corollary 4.8: H heads, excess risk by covering numbers.

Printed: (2 M_MH/n)(1 + log E N) + 8 kappa delta + inf, M_MH = 2 kappa (B + H B_w B_c B_v L_sigma B_X).
Sound: S1, S2, S4 of Corollary 4.5 with |f| <= H K B_x.
"""

from __future__ import annotations

from typing import Any

from certiformer.core import Quantity, Result, Status, Variants
from certiformer.theorems.li import LI
from certiformer.theorems.li._architecture import growth
from certiformer.theorems.li._corollary import COVER, DEFECTS, INPUTS, printed_variants, sound_variants
from certiformer.theorems.li._inputs import ERM, HEADS, KAPPA, OUTPUT_NORMS, TARGET, TOKENS


def printed(
    Bw: float, Bc: float, Bv: float, L_sigma: float, kappa: float, B: float, Bx: float, BX: float, H: int, **rest: Any
) -> Variants:
    M_MH = 2.0 * kappa * (B + growth(Bw, Bc, Bv, L_sigma, H) * BX)
    return printed_variants(M=M_MH, kappa=kappa, **rest)


def sound(Bw: float, Bc: float, Bv: float, L_sigma: float, Bx: float, BX: float, H: int, **rest: Any) -> Variants:
    return sound_variants(output_bound=growth(Bw, Bc, Bv, L_sigma, H) * Bx, **rest)


RESULT = Result(
    id="li.cor4.8",
    title="Excess risk by covering numbers, H heads",
    paper=LI,
    place="Corollary 4.8",
    bounds=Quantity.EXCESS_RISK,
    statement=(
        "excess <= (2 M_MH/n)(1 + log E N(radius)) + 8 kappa radius + inf, M_MH = 2 kappa (B + H Bw Bc Bv L_sigma BX)"
    ),
    latex=r"\frac{2M_{MH}}{n}\bigl(1+\log E N_\infty(\delta)\bigr)+8\kappa\delta+\inf_f\mathcal E(f)",
    sound_statement=(
        "With D = H K Bx >= |f|: S2 (squared loss, sub-Gaussian noise), b = (B + D)^2; S4 (no "
        "condition): inf + 2 kappa D sqrt(log N/2n) + 2 kappa delta; S1 (given V): Bernstein with M = "
        "kappa (B + D)."
    ),
    inputs=(*OUTPUT_NORMS, KAPPA, TARGET, *TOKENS, HEADS, *INPUTS),
    status=Status.FALSE,
    reason="H = 1 is Corollary 4.5 and has its counterexamples",
    printed=printed,
    sound=sound,
    assumptions=(COVER, ERM, "heads are summed before one readout, without 1/sqrt(H)"),
    defects=(*DEFECTS, "No proof is given (only 4.5, 4.7 and 4.13 have one)."),
    monotone={"n": -1, "logN": 1, "radius": 1, "Bx": 1, "B": 1, "H": 1},
    proof="docs/proofs/li.md",
)
