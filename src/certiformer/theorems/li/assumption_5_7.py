r"""Assumption 5.7: linear maps of bounded rank, with a constant.

Printed: .. math:: \log N(\varepsilon) \le C_1 r\log(rB_x^2B_W^2/\varepsilon^2), \quad C_1 = 1/2 \text{ (Lemma B.6)}

Sound: as Lemma B.6. The assumption holds only with C_1 of the order of d + k.
"""

from __future__ import annotations

import math

from certiformer.core import Quantity, Result, Status, Variants, printed_value, real, verified
from certiformer.theorems.li import LI
from certiformer.theorems.li._linear import rank_cover
from certiformer.theorems.li.lemma_b_6 import INPUTS


def printed(r: int, d: int, k: int, B: float, Bx: float, eps: float, C1: float) -> Variants:
    value = C1 * r * (math.log(r) + 2.0 * math.log(Bx * B / eps))
    return {"value": printed_value(value, checks=(verified("the claim is not negative", value >= 0.0),))}


def sound(r: int, d: int, k: int, B: float, Bx: float, eps: float, C1: float) -> Variants:
    return rank_cover(r, d, k, B, Bx, eps)


RESULT = Result(
    id="li.ass5.7",
    title="Assumed cover of linear maps of bounded rank",
    paper=LI,
    place="Assumption 5.7",
    bounds=Quantity.LOG_COVERING_NUMBER,
    statement="log N <= C1 r log(r Bx^2 B^2/eps^2), C1 a constant (1/2 here)",
    latex=r"\log N(\varepsilon)\le C_1r\log\frac{rB_x^2B_W^2}{\varepsilon^2}",
    sound_statement="spectral: min{(d+k) r log(1 + 4 Bx B/eps), dk log(1 + 2 Bx B/eps)}; volumetric: the latter.",
    inputs=(*INPUTS, real("C1", "the constant of the assumption", symbol="C_1", default=0.5, example=0.5)),
    status=Status.FALSE,
    reason="no constant C1 free of the dimensions: log N >= max(d, k) log(B/eps) already for r = 1",
    printed=printed,
    sound=sound,
    assumptions=("rank and spectral norm bounded, fixed in advance",),
    defects=(
        "r = 1, d = k = 2: N >= 1/eps^2, the assumption (C1 = 1/2) allows 1/eps.",
        "It moreover takes the union over all subspaces, which Lemma B.6 does not.",
        "C1 is not specified; with C1 of the order of d + k it would be true.",
        "Negative for large eps.",
    ),
    monotone={"r": 1, "d": 1, "k": 1, "B": 1, "Bx": 1, "eps": -1},
    proof="docs/proofs/li.md",
)
