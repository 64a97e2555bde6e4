r"""Lemma B.3: linear maps with a bounded entrywise l1 norm.

Printed: .. math:: \log N_\infty(\varepsilon) \le (B_xB_W/\varepsilon)^2 \log(2dk+1)

Sound: the same, without a ceiling; sharper log C(2dk+K, K) with K = ceil((B_x B_W/eps)^2) - 1 (maurey), with
K = ceil((B_x B_W/eps - 1)_+^2) (maurey_shrunk), or dk log(1 + 2 B_x B_W/eps) (volumetric).
"""

from __future__ import annotations

import math

from certiformer.core import Quantity, Result, Status, Variants, printed_value, verified
from certiformer.theorems.li import LI
from certiformer.theorems.li._linear import LINEAR, norm_covers


def printed(B: float, eps: float, d: int, k: int, Bx: float) -> Variants:
    value = (Bx * B / eps) ** 2 * math.log(2 * d * k + 1)
    return {"value": printed_value(value, checks=(verified("eps < Bx B (else one ball suffices)", eps < Bx * B),))}


def sound(B: float, eps: float, d: int, k: int, Bx: float) -> Variants:
    return norm_covers(B, eps, d, k, Bx)


RESULT = Result(
    id="li.lemB.3",
    title="Cover of linear maps, entrywise l1 norm",
    paper=LI,
    place="Lemma B.3",
    bounds=Quantity.LOG_COVERING_NUMBER,
    statement="log N <= (Bx B/eps)^2 log(2dk + 1)",
    latex=r"\log N_\infty(\varepsilon)\le\frac{B_x^2B_W^2}{\varepsilon^2}\log(2dk+1)",
    sound_statement=(
        "maurey: log C(2dk+K, K), K = ceil((Bx B/eps)^2) - 1; maurey_shrunk: K = ceil((Bx B/eps - "
        "1)_+^2); volumetric: dk log(1 + 2 Bx B/eps); best: their minimum. All proper."
    ),
    inputs=LINEAR,
    status=Status.TRUE,
    reason="holds without the ceiling that its proof would need",
    printed=printed,
    sound=sound,
    assumptions=("||W||_{1,1} <= B, fixed in advance", "every input the matrix sees has l2 norm at most Bx"),
    defects=(
        "N > d is never needed.",
        "For eps >= Bx B the printed value stays positive although one ball suffices.",
        (
            "It does not cover {||w||_2 <= B_w}, to which the paper applies it: eps = 1/2, d = 100: log N >= "
            "69.3, the lemma's form 21.2."
        ),
    ),
    monotone={"B": 1, "Bx": 1, "eps": -1, "d": 1, "k": 1},
    proof="docs/proofs/li.md",
)
