r"""Theorem B.5: H heads, bounded ranks.

Printed: Theorem B.4 with H in the prefactor and in every beta, but each rank counted once.
Sound: Theorem B.4's sound form with H copies of u, W_v, W_QK and b = (B + H K B_x)^2.
"""

from __future__ import annotations

from typing import Any

from certiformer.core import Quantity, Result, Status, Variants
from certiformer.theorems.li import LI
from certiformer.theorems.li._inputs import A_PRIORI, CLASS_NOTE, ERM, HEADS, OPTIONS, RANKS, SETTING
from certiformer.theorems.li._rank_based import RANKS_ONLY, printed_one_layer, sound_one_layer


def printed(**inputs: Any) -> Variants:
    return printed_one_layer(**inputs)


def sound(**inputs: Any) -> Variants:
    return sound_one_layer(**inputs)


RESULT = Result(
    id="li.thmB.5",
    title="Excess risk of H heads, rank based",
    paper=LI,
    place="Theorem B.5",
    bounds=Quantity.EXCESS_RISK,
    statement=(
        "excess <= 4 kappa (B + H Bw Bc Bv L_sigma BX)/n (1 + log N_rank) + 8 kappa radius + inf, N_rank "
        "as in Theorem B.4 with H in every beta"
    ),
    latex=r"\frac{4\kappa(B+HB_wB_cB_vL_\sigma B_X)}{n}(1+\log\mathcal N_{rank,M})+8\kappa\delta+\inf_f\mathcal E(f)",
    sound_statement=(
        "log N = H times that of one head at radius delta/H; S2, S2_opt, closed, S1, S4chain, S4_opt "
        "with sup|f| = H K Bx and b = (B + H K Bx)^2."
    ),
    inputs=(*SETTING, HEADS, *RANKS, *OPTIONS),
    status=Status.FALSE,
    reason="counts each rank once, not H times, and not the (d + k) r parameters; H = 1 is Theorem B.4",
    printed=printed,
    sound=sound,
    assumptions=(
        "spectral norms and ranks bounded for every head; heads summed before one readout",
        "every token has norm at most Bx",
        A_PRIORI,
        ERM,
        CLASS_NOTE,
    ),
    defects=(
        "N_rank already is a log covering number; the theorem takes its logarithm.",
        *RANKS_ONLY,
        "H matrices of each kind need H covers; the ranks are counted once, so N_rank grows only like log H.",
        "beta_w = H B_c has the defects of Theorem B.4's beta_w.",
        "H = 1 is Theorem B.4 and has its counterexample.",
    ),
    monotone={"n": -1, "Bx": 1, "B": 1, "d": 1, "k": 1, "H": 1, "rv": 1, "rqk": 1},
    proof="docs/proofs/li.md",
)
