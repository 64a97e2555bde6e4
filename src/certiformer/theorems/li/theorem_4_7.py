r"""Theorem 4.7: excess risk by offset complexity, h heads.

Printed: Theorem 4.4 with M_MH = 2 kappa (B + H B_w B_c B_v L_sigma B_X). Sound: the forms of Theorem 4.4.
"""

from __future__ import annotations

from typing import Any

from certiformer.core import Quantity, Result, Status, Variants, real
from certiformer.theorems.li import LI
from certiformer.theorems.li._architecture import growth
from certiformer.theorems.li._inputs import HEADS, KAPPA, OUTPUT_NORMS, TARGET, TOKENS
from certiformer.theorems.li._offset_theorem import (
    ASSUMPTIONS,
    COMPLEXITIES,
    DEFECTS,
    SOUND_STATEMENT,
    printed_variants,
    sound_variants,
)


def printed(
    Bw: float,
    Bc: float,
    Bv: float,
    L_sigma: float,
    kappa: float,
    B: float,
    BX: float,
    H: int,
    Roff: float,
    approx: float,
    **_: Any,
) -> Variants:
    M_MH = 2.0 * kappa * (B + growth(Bw, Bc, Bv, L_sigma, H) * BX)
    return printed_variants("M_MH", M_MH, Roff, approx)


def sound(
    Bw: float,
    Bc: float,
    Bv: float,
    L_sigma: float,
    kappa: float,
    B: float,
    BX: float,
    Bx: float | None,
    H: int,
    **options: Any,
) -> Variants:
    distance = B + growth(Bw, Bc, Bv, L_sigma, H) * (BX if Bx is None else min(Bx, BX))
    return sound_variants("M_MH", honest_M=2.0 * kappa * distance, distance=distance, **options)


RESULT = Result(
    id="li.thm4.7",
    title="Excess risk by offset complexity, H heads",
    paper=LI,
    place="Theorem 4.7",
    bounds=Quantity.EXCESS_RISK,
    statement="excess <= 4 R_off(G, 1/M_MH) + inf, M_MH = 2 kappa (B + H Bw Bc Bv L_sigma BX)",
    latex=r"4R^{off}_n(G,1/M_{MH})+\inf_f\mathcal E(f),\; M_{MH}=2\kappa B+2\kappa HB_wB_cB_vL_\sigma B_X",
    sound_statement=SOUND_STATEMENT,
    inputs=(
        *OUTPUT_NORMS,
        KAPPA,
        TARGET,
        TOKENS[1],
        real("Bx", "bound on the l2 norm of every token", symbol="B_x", optional=True, derived="BX"),
        HEADS,
        *COMPLEXITIES,
    ),
    status=Status.FALSE,
    reason="drops the label noise; four counterexamples; true with 3 inf when labels are a function of the inputs",
    printed=printed,
    sound=sound,
    assumptions=(
        "heads are summed before one readout, without 1/sqrt(H)",
        *ASSUMPTIONS,
    ),
    defects=("H = 1 is Theorem 4.4: its counterexamples apply.", *DEFECTS),
    monotone={"Roff": 1},
    proof="docs/proofs/li.md",
)
