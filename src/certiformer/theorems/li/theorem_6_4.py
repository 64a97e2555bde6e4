r"""Theorem 6.4: sub-gaussian inputs, one head, norm based.

Printed: Theorem B.1 with M in place of the input bounds, plus T_err = O(kappa nu (T+d) exp(-M^2/2nu^2)), constant 1.

Sound: three tail functionals of b(X), the largest token norm, replace T_err; S7 (Lipschitz), S8 (squared), S7clip
(clipped outputs: no truncation at all), S4 (no condition).
"""

from __future__ import annotations

from typing import Any

from certiformer.core import Quantity, Result, Status, Variants
from certiformer.theorems.li import LI
from certiformer.theorems.li._inputs import A_PRIORI, CLASS_NOTE, ERM
from certiformer.theorems.li._norm_based import LOG_OF_LOG
from certiformer.theorems.li._subgaussian import DEFECTS, TAIL, printed_one_layer, sound_one_layer
from certiformer.theorems.li._truncated import (
    CLIPPED,
    DEPLOYED,
    INPUTS,
    OPTIONAL_RANKS,
    OPTIONS,
    TAIL_ASSUMPTION,
    THRESHOLD,
)


def printed(**inputs: Any) -> Variants:
    return printed_one_layer(H=1, **inputs)


def sound(**inputs: Any) -> Variants:
    return sound_one_layer(H=1, **inputs)


RESULT = Result(
    id="li.thm6.4",
    title="Sub-Gaussian inputs, one head, norm based",
    paper=LI,
    place="Theorem 6.4",
    bounds=Quantity.EXCESS_RISK,
    statement=(
        "excess <= 4 kappa (B + Bw Bc Bv L_sigma M)/n (1 + log(gamma^3/radius^2)) + T_err + 8 kappa "
        "radius + inf, T_err = O(kappa nu (T+d) exp(-M^2/(2 nu^2))), gamma of Theorem B.1 with M for the "
        "input bounds"
    ),
    latex=(
        r"\frac{4\kappa(B+B_wB_cB_vL_\sigma M)}{n}\Bigl(1+\log\frac{\gamma^3}{\delta^2}\Bigr)+\mathcal "
        r"T_{err}(M)+8\kappa\delta+\inf"
    ),
    sound_statement=(
        "P(b(X) > t) <= a exp(-t^2/2v) gives p, m1, m2 beyond M. S7 (Lipschitz loss, Bernstein): log "
        "N/(n lambda) + (1+A) kappa delta + (A-1)(M_g + M_g^2/V')p + kappa K' m1, best V' >= V. S8 "
        "(squared loss): (sqrt Q + sqrt(K'^2 m2))^2. S7clip (outputs clipped at B): S1 or S2 with delta "
        "+ 2Bp for delta, no truncation. S4: no condition, slow."
    ),
    inputs=(*INPUTS, THRESHOLD, *TAIL, *OPTIONAL_RANKS[1:], *OPTIONS, CLIPPED),
    status=Status.FALSE,
    reason="bounded inputs are a special case and refute Theorem B.1; the truncation error drops (M^2 + 2 nu^2)/nu",
    printed=printed,
    sound=sound,
    assumptions=(
        "entrywise l1 norms bounded (or ranks, once given)",
        TAIL_ASSUMPTION,
        DEPLOYED,
        A_PRIORI,
        ERM,
        CLASS_NOTE,
    ),
    defects=(
        LOG_OF_LOG[0],
        *DEFECTS,
        (
            "Counterexample: bounded inputs X = e_J satisfy the assumption with nu = 1; d = 50000, n = "
            "10^15, M = 12: excess 5.0e-11, printed 1.5e-11, and T_err is about 1e-26."
        ),
    ),
    monotone={"n": -1},
    proof="docs/proofs/li.md",
)
