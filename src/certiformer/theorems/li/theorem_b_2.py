r"""Theorem B.2: H heads, entrywise l1 norms.

Printed: Theorem B.1 with prefactor 4 kappa (B + H B_w B_c B_v L_sigma B_X)/n and

.. math:: \gamma = C_1^{1/3}B_x^{2/3}\bigl[(HB_wL_\sigma)^{2/3} + 2(HB_wL_\sigma B_cB_v)^{2/3} + H^{2/3}\bigr].

Sound: H heads need H covers, so gamma is H times that of one head (gamma^3 grows like H^3, not H^2).
"""

from __future__ import annotations

from typing import Any

from certiformer.core import Quantity, Result, Status, Variants
from certiformer.theorems.li import LI
from certiformer.theorems.li._inputs import A_PRIORI, CLASS_NOTE, ERM, HEADS, OPTIONS, SETTING
from certiformer.theorems.li._norm_based import LOG_OF_LOG, printed_one_layer, sound_one_layer


def printed(**inputs: Any) -> Variants:
    return printed_one_layer(**inputs)


def sound(**inputs: Any) -> Variants:
    return sound_one_layer(**inputs)


RESULT = Result(
    id="li.thmB.2",
    title="Excess risk of H heads, norm based",
    paper=LI,
    place="Theorem B.2",
    bounds=Quantity.EXCESS_RISK,
    statement=(
        "excess <= 4 kappa (B + H Bw Bc Bv L_sigma BX)/n (1 + log(gamma^3/radius^2)) + 8 kappa radius + "
        "inf, gamma = C1^(1/3) Bx^(2/3) [(H Bw L_sigma)^(2/3) + 2 (H Bw L_sigma Bc Bv)^(2/3) + H^(2/3)]"
    ),
    latex=(
        r"\frac{4\kappa(B+HB_wB_cB_vL_\sigma "
        r"B_X)}{n}\Bigl(1+\log\frac{\gamma_{MH}^3}{\delta^2}\Bigr)+8\kappa\delta+\inf_f\mathcal E(f)"
    ),
    sound_statement=(
        "As Theorem B.1 with H copies of u, W_v, W_QK: gamma = H gamma(one head), sup|f| = H K Bx; then "
        "S4chain, S4_opt, S2, S1."
    ),
    inputs=(*SETTING, HEADS, *OPTIONS),
    status=Status.FALSE,
    reason="log of a log covering number, and one cover where H are needed; H = 1 is Theorem B.1",
    printed=printed,
    sound=sound,
    assumptions=(
        "||W||_{1,1} bounds on every head's W_c, W_v, W_QK; ||w||_2 <= Bw",
        "heads are summed before one readout, without 1/sqrt(H)",
        A_PRIORI,
        ERM,
        CLASS_NOTE,
    ),
    defects=(
        *LOG_OF_LOG,
        (
            "H separate covers add up to gamma^3 ~ H^3; the printed gamma^3 ~ H^2 scales one cover: H = 16 "
            "gives 16384 C against 259060 C in the paper's own optimisation problem."
        ),
        "H = 1 is Theorem B.1 and has its counterexample.",
    ),
    monotone={"n": -1},
    proof="docs/proofs/li.md",
)
