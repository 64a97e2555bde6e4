r"""Section 2.4: Dudley's entropy integral, here for ln N(eps) = C/eps^2 and functions of radius D.

Printed:  .. math:: \mathrm{Rad} \le c\inf_{\delta\ge0}\Bigl(\delta+\int_\delta^D\sqrt{\log N(\varepsilon)/n}\,
          d\varepsilon\Bigr)

with an unnamed c, evaluated at c = 1: s (1 + ln(D/s)), s = sqrt(C/n). Sound: the constants 4 and 12 of the classical
proof, or chains of covers with optimised scales (docs/proofs/chaining.md, T8).
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
    printed_value,
    real,
    upper_bound,
    verified,
)
from certiformer.theorems.trauger import TRAUGER


def printed(C: float, D: float, n: int) -> Variants:
    s = math.sqrt(C / n)
    value = s * (1.0 + math.log(D / s))
    return {"value": printed_value(value, checks=(verified("sqrt(C/n) <= D", s <= D, s),))}


def sound(C: float, D: float, n: int) -> Variants:
    cover = quadratic_cover(C)
    proper = assumed("the covers are proper, as the paper defines them")
    return {
        "closed": upper_bound(chaining.dudley_closed(C, D, n), clip=D),
        "closed_half": upper_bound(chaining.dudley_closed_half(C, D, n), clip=D),
        "chain": upper_bound(chaining.proper_chain(cover, D, n), clip=D, checks=(proper,)),
        "chain_external": upper_bound(chaining.external_chain(cover, D, n), clip=D),
    }


RESULT = Result(
    id="trauger.dudley",
    title="Dudley's entropy integral",
    paper=TRAUGER,
    place="Section 2.4",
    bounds=Quantity.RADEMACHER_COMPLEXITY,
    statement="Rad <= c inf_delta (delta + int_delta^D sqrt(log N(eps)/n) deps), c unnamed (1 here), log N = C/eps^2",
    latex=(
        r"\mathrm{Rad}_n\le c\inf_{\delta\ge0}\Bigl(\delta+\int_\delta^\infty\sqrt{\tfrac{\log "
        r"N_\infty}{n}}\,d\varepsilon\Bigr)"
    ),
    sound_statement=(
        "closed: min(D, 12 s (1 + ln(D/3s))), s = sqrt(C/n); closed_half: 12 s (1 + ln(D/6s)); "
        "chain: eps_K + sum eps_{j-1} sqrt(2 ln N(eps_j)/n); chain_external: eps_{j-1} + eps_j instead of eps_{j-1}."
    ),
    inputs=(
        real("C", "log N(eps) <= C/eps^2", example=2),
        real("D", "radius: |f - f0| <= D on the sample, f0 fixed", example=1),
        count("n", "sample size", aliases=("m", "N"), example=10_000),
    ),
    status=Status.CONSTANT,
    reason="false with c = 1 (the cube {-1,1}^n has Rad = 1, the right side is below 1); c = 12 is enough",
    printed=printed,
    sound=sound,
    assumptions=("scalar-valued class; covers in the sup norm (or in L2) on the sample",),
    defects=(
        (
            "The constant c is not named, and 1 is too small: for the cube {-1,1}^n the complexity is 1 and the right "
            "side is sqrt(ln 2) = 0.8326."
        ),
        "Without a clip at D the closed form falls and turns negative for large C.",
    ),
    monotone={"C": 1, "D": 1, "n": -1},
    proof="docs/proofs/chaining.md",
)
