r"""Theorem 6.11: heavy-tailed inputs, several layers, rank based.

Printed: Theorem 5.8 with M in place of the input bounds, plus C_beta M^(2-beta); C_beta = kappa C beta/(beta-2).

Sound: S7, S8 where inputs are truncated; S7clip where outputs are confined, with no loss of rate for any tail index.
"""

from __future__ import annotations

from typing import Any

from certiformer.core import Quantity, Result, Status, Variants
from certiformer.theorems.li import LI
from certiformer.theorems.li._heavy import DEFECTS, ROBUST, TAIL, printed_many_layers, sound_many_layers
from certiformer.theorems.li._inputs import A_PRIORI, CLASS_NOTE, ERM, LAYERS, NORMALISATION, NORMALISATION_NOTE, RANKS
from certiformer.theorems.li._rank_based import RANKS_ONLY
from certiformer.theorems.li._truncated import INPUTS, OPTIONS, TAIL_ASSUMPTION, THRESHOLD


def printed(**inputs: Any) -> Variants:
    return printed_many_layers(**inputs)


def sound(**inputs: Any) -> Variants:
    return sound_many_layers(**inputs)


RESULT = Result(
    id="li.thm6.11",
    title="Heavy-tailed inputs, several layers, rank based",
    paper=LI,
    place="Theorem 6.11",
    bounds=Quantity.EXCESS_RISK,
    statement=(
        "excess <= 4 M_psi/n (1 + sum_i r_i C_i log(b_i^2/radius^2)) + C_beta M^(2-beta) + 8 kappa "
        "radius + inf, the sum of Theorem 5.8 with M for B_X; M_psi and C_beta are left open (kappa (B + "
        "Bw) and kappa C beta/(beta-2) here)"
    ),
    latex=r"\frac{4\widetilde M_\psi}{n}(1+\mathcal N_{rank,ML})+C_\beta M^{2-\beta}+8\kappa\delta+\inf",
    sound_statement=(
        "Outputs lie in [-rho Bw, rho Bw] whatever the input: no truncation, no bias. S1 or S2 with "
        "delta + 2 rho Bw C M^-beta in place of delta (S7clip_lip, S7clip_sq), every beta > 0, D log n/n "
        "at M = n^(1/beta); S4clip without condition; S9 for labels."
    ),
    inputs=(*INPUTS, LAYERS, THRESHOLD, *TAIL, *RANKS, *OPTIONS, *NORMALISATION, *ROBUST),
    status=Status.FALSE,
    reason="bounded inputs are a special case and refute Theorem 5.8; the dominant bias term of the proof is dropped",
    printed=printed,
    sound=sound,
    assumptions=("spectral norms and ranks bounded", TAIL_ASSUMPTION, NORMALISATION_NOTE, A_PRIORI, ERM, CLASS_NOTE),
    defects=(
        RANKS_ONLY[0],
        *DEFECTS,
        "One layer on bounded inputs is refuted as Theorem 5.8 is.",
        "M_psi is not specified.",
    ),
    monotone={"n": -1, "d": 1, "k": 1, "rv": 1, "rqk": 1},
    proof="docs/proofs/li.md",
)
