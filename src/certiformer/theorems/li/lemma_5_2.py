r"""Lemma 5.2: linear maps with a bounded entrywise l1 norm, C_1 "universal".

Printed: .. math:: \log N(\varepsilon) \le C_1B_x^2B_W^2/\varepsilon^2

Sound: as Lemma B.3. C_1 = log(2dk+1) depends on the dimensions; no universal constant will do.
"""

from __future__ import annotations

import math

from certiformer.core import Quantity, Result, Status, Variants, printed_value, real, verified
from certiformer.theorems.li import LI
from certiformer.theorems.li._linear import LINEAR, norm_covers


def printed(B: float, eps: float, d: int, k: int, Bx: float, C1: float | None) -> Variants:
    constant = math.log(2 * d * k + 1) if C1 is None else C1
    checks = (
        verified("eps < Bx B (else one ball suffices)", eps < Bx * B),
        verified("C1 >= log(2dk + 1)", constant >= math.log(2 * d * k + 1), constant),
    )
    return {"value": printed_value(constant * (Bx * B / eps) ** 2, checks=checks)}


def sound(B: float, eps: float, d: int, k: int, Bx: float, C1: float | None) -> Variants:
    return norm_covers(B, eps, d, k, Bx)


RESULT = Result(
    id="li.lem5.2",
    title="Cover of linear maps, entrywise l1 norm, with a constant",
    paper=LI,
    place="Lemma 5.2",
    bounds=Quantity.LOG_COVERING_NUMBER,
    statement="log N <= C1 Bx^2 B^2/eps^2, C1 universal",
    latex=r"\log N(\varepsilon)\le C_1B_x^2B_W^2/\varepsilon^2",
    sound_statement="As Lemma B.3: C1 = log(2dk+1) is enough; sharper: maurey, maurey_shrunk, volumetric, best.",
    inputs=(*LINEAR, real("C1", "the paper's constant", symbol="C_1", optional=True, derived="log(2dk+1)", example=3)),
    status=Status.CONSTANT,
    reason="C1 is log(2dk+1), not universal",
    printed=printed,
    sound=sound,
    assumptions=("||W||_{1,1} <= B, fixed in advance", "every input the matrix sees has l2 norm at most Bx"),
    defects=(
        (
            "C1 depends on the dimensions: at eps = 0.7 the l1 ball needs at least 2d points in R^d (its "
            "vertices), so no universal C1."
        ),
        (
            "Applied to {||w||_2 <= B_w}, which it does not cover: eps = 1/2, d = 50: log N >= 34.7, the "
            "lemma's form 18.5."
        ),
        "Assumption 5.1 bounds only the CLS token; the lemma is applied to all tokens.",
    ),
    monotone={"B": 1, "Bx": 1, "eps": -1, "d": 1, "k": 1},
    proof="docs/proofs/li.md",
)
