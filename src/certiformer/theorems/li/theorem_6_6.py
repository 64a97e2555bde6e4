r"""Theorem 6.6: sub-gaussian inputs, several layers, norm based.

Printed: Theorem 5.3 with M in place of the input bounds, plus T_err = O(kappa nu (T+d) exp(-M^2/2nu^2)), constant 1.

Sound: the normalised network is bounded whatever its input, so nothing needs truncating: the tail enters only as
2 rho B_w P(b > M) next to the cover radius (S7clip), for plain training on raw inputs.
"""

from __future__ import annotations

from typing import Any

from certiformer.core import Quantity, Result, Status, Variants
from certiformer.theorems.li import LI
from certiformer.theorems.li._inputs import A_PRIORI, CLASS_NOTE, ERM, LAYERS, NORMALISATION, NORMALISATION_NOTE
from certiformer.theorems.li._norm_based import LOG_OF_LOG
from certiformer.theorems.li._subgaussian import DEFECTS, TAIL, printed_many_layers, sound_many_layers
from certiformer.theorems.li._truncated import INPUTS, OPTIONAL_RANKS, OPTIONS, TAIL_ASSUMPTION, THRESHOLD


def printed(**inputs: Any) -> Variants:
    return printed_many_layers(**inputs)


def sound(**inputs: Any) -> Variants:
    return sound_many_layers(**inputs)


RESULT = Result(
    id="li.thm6.6",
    title="Sub-Gaussian inputs, several layers, norm based",
    paper=LI,
    place="Theorem 6.6",
    bounds=Quantity.EXCESS_RISK,
    statement=(
        "excess <= 4 kappa (B + Bw)/n (1 + log((gamma_M + eta_M)^3/radius^2)) + T_err + 8 kappa radius + "
        "inf, T_err = O(kappa nu (T+d) exp(-M^2/(2 nu^2))), gammas of Theorem 5.3 with M for the input "
        "bound"
    ),
    latex=(
        r"\frac{4\kappa(B+B_w)}{n}\Bigl(1+\log\frac{(\gamma_M+\eta_M)^3}{\delta^2}\Bigr)+\mathcal "
        r"T_{err}(M)+8\kappa\delta+\inf"
    ),
    sound_statement=(
        "Outputs lie in [-rho Bw, rho Bw] whatever the input, so no truncation is needed: S1 or S2 with "
        "delta + 2 rho Bw P(b > M) in place of delta (S7clip_lip, S7clip_sq), S4clip without any "
        "condition; S7clip_hp with the observed fraction outside."
    ),
    inputs=(*INPUTS, LAYERS, THRESHOLD, *TAIL, *OPTIONAL_RANKS, *OPTIONS, *NORMALISATION),
    status=Status.FALSE,
    reason="bounded inputs are a special case and refute Theorem 5.3; the truncation error drops (M^2 + 2 nu^2)/nu",
    printed=printed,
    sound=sound,
    assumptions=(
        "entrywise l1 norms bounded (or ranks, once given)",
        TAIL_ASSUMPTION,
        NORMALISATION_NOTE,
        A_PRIORI,
        ERM,
        CLASS_NOTE,
    ),
    defects=(
        LOG_OF_LOG[0],
        *DEFECTS,
        "layers = 1 on bounded inputs is refuted as Theorem 6.4 is.",
    ),
    monotone={"n": -1},
    proof="docs/proofs/li.md",
)
