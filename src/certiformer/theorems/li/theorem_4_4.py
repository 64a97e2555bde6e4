r"""Theorem 4.4: excess risk by offset complexity, one head.

Printed, with G the *conditional* excess losses:

.. math:: E[\mathcal E(\hat f)] \le 4R^{off}_n(G, 1/M_{SH}) + \inf, \quad M_{SH} = 2\kappa(B + B_wB_cB_vL_\sigma B_X)

Sound: three forms, none with the printed right-hand side; see `sound_statement`.
"""

from __future__ import annotations

from typing import Any

from certiformer.core import Quantity, Result, Status, Variants, real
from certiformer.theorems.li import LI
from certiformer.theorems.li._architecture import growth
from certiformer.theorems.li._inputs import KAPPA, OUTPUT_NORMS, TARGET, TOKENS
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
    Roff: float,
    approx: float,
    **_: Any,
) -> Variants:
    M_SH = 2.0 * kappa * (B + growth(Bw, Bc, Bv, L_sigma) * BX)
    return printed_variants("M_SH", M_SH, Roff, approx)


def sound(
    Bw: float,
    Bc: float,
    Bv: float,
    L_sigma: float,
    kappa: float,
    B: float,
    BX: float,
    Bx: float | None,
    **options: Any,
) -> Variants:
    distance = B + growth(Bw, Bc, Bv, L_sigma) * (BX if Bx is None else min(Bx, BX))
    return sound_variants("M_SH", honest_M=2.0 * kappa * distance, distance=distance, **options)


RESULT = Result(
    id="li.thm4.4",
    title="Excess risk by offset complexity, one head",
    paper=LI,
    place="Theorem 4.4",
    bounds=Quantity.EXCESS_RISK,
    statement="excess <= 4 R_off(G, 1/M_SH) + inf, M_SH = 2 kappa (B + Bw Bc Bv L_sigma BX)",
    latex=r"4R^{off}_n(G,1/M_{SH})+\inf_f\mathcal E(f),\; M_{SH}=2\kappa B+2\kappa B_wB_cB_vL_\sigma B_X",
    sound_statement=SOUND_STATEMENT,
    inputs=(
        *OUTPUT_NORMS,
        KAPPA,
        TARGET,
        TOKENS[1],
        real("Bx", "bound on the l2 norm of every token", symbol="B_x", optional=True, derived="BX"),
        *COMPLEXITIES,
    ),
    status=Status.FALSE,
    reason="drops the label noise; four counterexamples; true with 3 inf when labels are a function of the inputs",
    printed=printed,
    sound=sound,
    assumptions=(*ASSUMPTIONS,),
    defects=DEFECTS,
    monotone={"Roff": 1},
    proof="docs/proofs/li.md",
)
