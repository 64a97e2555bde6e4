r"""Corollary 4.13: several layers, excess risk by covering numbers.

Printed: (4 kappa (B + B_w)/n)(1 + log E N) + 8 kappa delta + inf.
Sound: S1, S2, S4 of Corollary 4.5 with |f| <= rho B_w; rho = 1 for the projection on the unit ball,
sqrt(d) max|gain| + ||bias||_2 for LayerNorm.
"""

from __future__ import annotations

from typing import Any

from certiformer.core import Quantity, Result, Status, Variants
from certiformer.theorems.li import LI
from certiformer.theorems.li._corollary import COVER, DEFECTS, INPUTS, printed_variants, sound_variants
from certiformer.theorems.li._inputs import ERM, KAPPA, NORMALISATION, NORMALISATION_NOTE, OUTPUT_NORMS, TARGET


def printed(Bw: float, kappa: float, B: float, rho: float, **rest: Any) -> Variants:
    return printed_variants(M=2.0 * kappa * (B + Bw), kappa=kappa, **rest)


def sound(Bw: float, rho: float, **rest: Any) -> Variants:
    return sound_variants(output_bound=rho * Bw, **rest)


RESULT = Result(
    id="li.cor4.13",
    title="Excess risk by covering numbers, several layers",
    paper=LI,
    place="Corollary 4.13",
    bounds=Quantity.EXCESS_RISK,
    statement="excess <= (4 kappa (B + Bw)/n)(1 + log E N(radius)) + 8 kappa radius + inf",
    latex=r"\frac{4\kappa(B+B_w)}{n}\bigl(1+\log E N_\infty(\delta)\bigr)+8\kappa\delta+\inf_f\mathcal E(f)",
    sound_statement=(
        "With D = rho Bw >= |f|: S2 (squared loss, sub-Gaussian noise), b = (B + D)^2; S4 (no "
        "condition): inf + 2 kappa D sqrt(log N/2n) + 2 kappa delta; S1 (given V): Bernstein with M = "
        "kappa (B + D)."
    ),
    inputs=(OUTPUT_NORMS[0], KAPPA, TARGET, *INPUTS, NORMALISATION[0]),
    status=Status.FALSE,
    reason="one layer with an inactive projection is Corollary 4.5 and has its counterexamples",
    printed=printed,
    sound=sound,
    assumptions=(COVER, ERM, NORMALISATION_NOTE),
    defects=(*DEFECTS, "LayerNorm does not map into the unit ball: the printed bound needs the projection."),
    monotone={"n": -1, "logN": 1, "radius": 1, "B": 1, "Bw": 1, "rho": 1},
    proof="docs/proofs/li.md",
)
