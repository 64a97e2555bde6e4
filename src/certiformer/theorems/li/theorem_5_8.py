r"""Theorem 5.8: several layers, bounded ranks.

Printed, with C_i = 1/2, b_i of Corollary 5.6 and the alphas of Theorem 5.3 in beta_i, over w and 3L matrices:

.. math:: \frac{4\kappa(B+B_w)}{n}\Bigl(1+\sum_i r_iC_i\log\frac{b_i^2}{\delta^2}\Bigr)+8\kappa\delta+\inf

Sound (squared loss, sub-Gaussian noise): the form of Theorem B.4 with the sensitivities of eq. (5),
D = d + sum_l [(d+k) r_c + (d+k) r_v + 2 d r_QK] and b = (B + B_w)^2.
"""

from __future__ import annotations

from typing import Any

from certiformer.core import Quantity, Result, Status, Variants
from certiformer.theorems.li import LI
from certiformer.theorems.li._inputs import (
    A_PRIORI,
    CLASS_NOTE,
    ERM,
    LAYERS,
    NORMALISATION,
    NORMALISATION_NOTE,
    OPTIONS,
    RANKS,
    SETTING,
)
from certiformer.theorems.li._rank_based import RANKS_ONLY, printed_many_layers, sound_many_layers


def printed(**inputs: Any) -> Variants:
    return printed_many_layers(**inputs)


def sound(**inputs: Any) -> Variants:
    return sound_many_layers(**inputs)


RESULT = Result(
    id="li.thm5.8",
    title="Excess risk of a multi-layer Transformer, rank based",
    paper=LI,
    place="Theorem 5.8",
    bounds=Quantity.EXCESS_RISK,
    statement=(
        "excess <= 4 kappa (B + Bw)/n (1 + sum_i r_i C_i log(b_i^2/radius^2)) + 8 kappa radius + inf, "
        "b_i by Corollary 5.6, C_i = 1/2"
    ),
    latex=(
        r"\frac{4\kappa(B+B_w)}{n}\Bigl(1+\sum_i "
        r"r_iC_i\log\frac{b_i^2}{\delta^2}\Bigr)+8\kappa\delta+\inf_f\mathcal E(f)"
    ),
    sound_statement=(
        "log N counts parameters: D = d + sum_l [(d+k) rc + (d+k) rv + 2d rqk]. S2 (squared loss, "
        "sub-Gaussian noise): log N/(n lambda) + 2 delta (sqrt b + A (sqrt b + sigma)), b = (B + Bw)^2, "
        "1/lambda <= b + 8 sigma^2; S2_opt: best delta and a; S1 (given V): Bernstein; S4chain, S4_opt: "
        "no condition, slow."
    ),
    inputs=(*SETTING, LAYERS, *RANKS, *OPTIONS, *NORMALISATION),
    status=Status.FALSE,
    reason="ranks in place of (d + k) r parameters; sigma^2 d/n is the truth inside its rank-one class",
    printed=printed,
    sound=sound,
    assumptions=(
        "spectral norms and ranks bounded in every layer; ||w||_2 <= Bw; input tokens of norm at most Bx",
        NORMALISATION_NOTE,
        A_PRIORI,
        ERM,
        CLASS_NOTE,
    ),
    defects=(
        *RANKS_ONLY,
        (
            "One layer, d = 5000, n = 10^8: excess 5.0e-5, printed 1.3e-5. The remark that ranks control the "
            "risk is therefore false."
        ),
        (
            "b_i of Corollary 5.6 is not the minimiser's; alpha is off by one layer; B_v and B_c are "
            "exchanged at W_v; L_sigma^2 per block, B_x^3 in layer one and B_W are missing; C_i is undefined."
        ),
        "Inherits Corollary 4.13: no Bernstein condition, kappa may ignore the noise.",
    ),
    monotone={"n": -1, "Bx": 1, "B": 1, "d": 1, "k": 1, "rc": 1, "rv": 1, "rqk": 1},
    proof="docs/proofs/li.md",
)
