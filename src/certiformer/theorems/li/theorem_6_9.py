r"""Theorem 6.9: heavy-tailed inputs, one head, rank based.

Printed: Theorem B.4 with M in place of the input bounds, plus C_beta M^(2-beta); C_beta = kappa C beta/(beta-2).

Sound: S7, S8 where inputs are truncated; S7clip where outputs are confined, with no loss of rate for any tail index.
"""

from __future__ import annotations

from typing import Any

from certiformer.core import Quantity, Result, Status, Variants
from certiformer.theorems.li import LI
from certiformer.theorems.li._heavy import DEFECTS, ROBUST, TAIL, printed_one_layer, sound_one_layer
from certiformer.theorems.li._inputs import A_PRIORI, CLASS_NOTE, ERM, RANKS
from certiformer.theorems.li._rank_based import RANKS_ONLY
from certiformer.theorems.li._truncated import CLIPPED, DEPLOYED, INPUTS, OPTIONS, TAIL_ASSUMPTION, THRESHOLD


def printed(**inputs: Any) -> Variants:
    return printed_one_layer(H=1, **inputs)


def sound(**inputs: Any) -> Variants:
    return sound_one_layer(H=1, **inputs)


RESULT = Result(
    id="li.thm6.9",
    title="Heavy-tailed inputs, one head, rank based",
    paper=LI,
    place="Theorem 6.9",
    bounds=Quantity.EXCESS_RISK,
    statement=(
        "excess <= 4 kappa (B + Bw Bc Bv L_sigma M)/n (1 + log N_rank) + C_beta M^(2-beta) + 8 kappa "
        "radius + inf, N_rank of Theorem B.4 with M for the input bounds, C_beta = kappa C beta/(beta-2)"
    ),
    latex=r"\frac{4\kappa(B+B_wB_cB_vL_\sigma M)}{n}(1+\log\mathcal N_{rank})+C_\beta M^{2-\beta}+8\kappa\delta+\inf",
    sound_statement=(
        "P(b(X) > t) <= C t^-beta. S7 (Lipschitz): bias kappa K' C (2beta-1)/(beta-1) M^(1-beta), beta > "
        "1, best V' >= V; S8 (squared): K'^2 C (4 + 2/(beta-2) + 2/(beta-1)) M^(2-beta), beta > 2; "
        "S7clip (outputs clipped at B): only P(b > M) = C M^-beta, every beta > 0, D log n/n at M = "
        "n^(1/beta); S4 without condition; S9: log-truncated ERM for heavy-tailed labels."
    ),
    inputs=(*INPUTS, THRESHOLD, *TAIL, *RANKS, *OPTIONS, CLIPPED, *ROBUST),
    status=Status.FALSE,
    reason="bounded inputs are a special case and refute Theorem B.4; the dominant bias term of the proof is dropped",
    printed=printed,
    sound=sound,
    assumptions=("spectral norms and ranks bounded", TAIL_ASSUMPTION, DEPLOYED, A_PRIORI, ERM, CLASS_NOTE),
    defects=(
        RANKS_ONLY[0],
        *DEFECTS,
        (
            "Counterexample: bounded inputs satisfy the assumption for every beta; d = 200, n = 4*10^5, beta "
            "= 100, M = 1.5: excess 5.2e-4, printed 3.2e-4."
        ),
        "Says multi-head where it means single-head, and has an unmatched bracket.",
    ),
    monotone={"n": -1, "d": 1, "k": 1, "rv": 1, "rqk": 1},
    proof="docs/proofs/li.md",
)
