r"""Dudley's entropy integral for ln N(eps) = C/eps^2 and a class of radius D.

Printed in two of the papers with an unnamed constant c, evaluated here at c = 1:
inf_delta c (delta + int_delta^D sqrt(C)/(eps sqrt n) deps).

Sound: the classical form with its constants (4 and 12), and chains of covers with optimised scales.
The cube {-1, 1}^n has Rad = 1 while the printed value at c = 1 is sqrt(ln 2): the constant matters.
"""

from __future__ import annotations

import math

from certiformer.calculus import chaining
from certiformer.calculus.covers import quadratic_cover
from certiformer.core import (
    Quantity,
    Result,
    Status,
    Variants,
    assumed,
    count,
    flag,
    printed_value,
    real,
    upper_bound,
    verified,
)
from certiformer.theorems.toolbox import TOOLBOX


def printed(C: float, D: float, n: int, proper: bool) -> Variants:
    s = math.sqrt(C / n)
    # delta* = s; beyond D the integral is empty and the formula falls below its own infimum D.
    value = s * (1.0 + math.log(D / s))
    return {"value": printed_value(value, checks=(verified("sqrt(C/n) <= D", s <= D, s),))}


def sound(C: float, D: float, n: int, proper: bool) -> Variants:
    cover = quadratic_cover(C)
    in_class = assumed("the covers are proper: their members belong to the class", proper)
    return {
        "closed": upper_bound(chaining.dudley_closed(C, D, n), clip=D),
        "closed_half": upper_bound(chaining.dudley_closed_half(C, D, n), clip=D),
        "chain": upper_bound(chaining.proper_chain(cover, D, n), clip=D, checks=(in_class,)),
        "chain_external": upper_bound(chaining.external_chain(cover, D, n), clip=D),
    }


RESULT = Result(
    id="dudley",
    title="Dudley's entropy integral",
    paper=TOOLBOX,
    place="T8; Trauger & Tewari, Section 2.4; Mwigo & Dasgupta, Section 3.3",
    bounds=Quantity.RADEMACHER_COMPLEXITY,
    statement="Rad <= c inf_delta (delta + int_delta^D sqrt(C/n)/eps deps), c unnamed (1 here)",
    latex=r"\mathrm{Rad}\le c\inf_{\delta}\Bigl(\delta+\int_\delta^D\sqrt{C/n}\,\frac{d\varepsilon}{\varepsilon}\Bigr)",
    sound_statement=(
        "closed: min(D, 12 s (1 + ln(D/3s))), s = sqrt(C/n); closed_half: 12 s (1 + ln(D/6s)); "
        "chain (proper covers): eps_K + sum eps_{j-1} sqrt(2 ln N(eps_j)/n); chain_external: eps_{j-1} + eps_j instead."
    ),
    inputs=(
        real("C", "log N(eps) <= C/eps^2", example=2),
        real("D", "radius: |f - f0| <= D on the sample", example=1),
        count("n", "sample size", aliases=("m", "N"), example=10_000),
        flag("proper", "the covers are proper", default=True),
    ),
    status=Status.CONSTANT,
    reason="false with c = 1 (the cube: Rad = 1, right side 0.8326); 12 is enough",
    printed=printed,
    sound=sound,
    assumptions=("scalar-valued class, sup-norm (or L2) covers on the sample",),
    defects=("The constant c is not named; c = 1 is false.", "For C > n D^2 e^2 the closed form is negative."),
    monotone={"C": 1, "D": 1, "n": -1},
    proof="docs/proofs/chaining.md",
)
