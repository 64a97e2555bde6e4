r"""Theorem 4.11: excess risk by offset complexity, several layers.

Printed: .. math:: E[\mathcal E(\hat f)] \le 4R^{off}_n\bigl(G, 1/(2\kappa(B+B_w))\bigr) + \inf

Sound: the forms of Theorem 4.4 with |f| <= rho B_w, rho = 1 for the projection on the unit ball and
sqrt(d) max|gain| + ||bias||_2 for LayerNorm.
"""

from __future__ import annotations

from typing import Any

from certiformer.core import Quantity, Result, Status, Variants
from certiformer.theorems.li import LI
from certiformer.theorems.li._inputs import KAPPA, NORMALISATION, NORMALISATION_NOTE, OUTPUT_NORMS, TARGET
from certiformer.theorems.li._offset_theorem import (
    ASSUMPTIONS,
    COMPLEXITIES,
    DEFECTS,
    SOUND_STATEMENT,
    printed_variants,
    sound_variants,
)


def printed(Bw: float, kappa: float, B: float, Roff: float, approx: float, **_: Any) -> Variants:
    return printed_variants("M_ML", 2.0 * kappa * (B + Bw), Roff, approx)


def sound(Bw: float, kappa: float, B: float, rho: float, **options: Any) -> Variants:
    distance = B + rho * Bw
    return sound_variants("M_ML", honest_M=2.0 * kappa * distance, distance=distance, **options)


RESULT = Result(
    id="li.thm4.11",
    title="Excess risk by offset complexity, several layers",
    paper=LI,
    place="Theorem 4.11",
    bounds=Quantity.EXCESS_RISK,
    statement="excess <= 4 R_off(G, 1/(2 kappa (B + Bw))) + inf",
    latex=r"4R^{off}_n\bigl(G,\tfrac1{2\kappa(B+B_w)}\bigr)+\inf_f\mathcal E(f)",
    sound_statement=SOUND_STATEMENT,
    inputs=(OUTPUT_NORMS[0], KAPPA, TARGET, *COMPLEXITIES, NORMALISATION[0]),
    status=Status.FALSE,
    reason="drops the label noise; one layer with an inactive projection has the counterexamples of Theorem 4.4",
    printed=printed,
    sound=sound,
    assumptions=(NORMALISATION_NOTE, *ASSUMPTIONS),
    defects=(
        "One layer with Bc Bv Bx <= 1 leaves the projection inactive, so the counterexamples of Theorem 4.4 apply.",
        (
            "LayerNorm maps into a ball of radius sqrt(d) max|gain| + ||bias||, not into the unit ball; "
            "x/||x|| is not Lipschitz at 0."
        ),
        (
            "Eqs. (4)-(5) apply the activation twice per block; the proofs quoted from Trauger and Tewari "
            "are for another block."
        ),
        *DEFECTS,
    ),
    monotone={"Roff": 1},
    proof="docs/proofs/li.md",
)
