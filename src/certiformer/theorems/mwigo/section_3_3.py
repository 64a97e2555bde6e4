r"""Section 3.3: from covering numbers to Rademacher complexity, here for ln N(eps) = P/eps^2 and |f| <= A.

Printed:  .. math:: R_S \le c\inf_{\delta\ge0}\Bigl(\delta+\int_\delta^A\sqrt{\log N_\infty/N}\,d\varepsilon\Bigr)

with an unnamed c, evaluated at c = 1: s (1 + ln(A/s)), s = sqrt(P/N). Sound: the constants 4 and 12 of the classical
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
from certiformer.theorems.mwigo import MWIGO


def printed(P: float, A: float, n: int) -> Variants:
    s = math.sqrt(P / n)
    value = s * (1.0 + math.log(A / s))
    return {"value": printed_value(value, checks=(verified("sqrt(P/N) <= A", s <= A, s),))}


def sound(P: float, A: float, n: int) -> Variants:
    cover = quadratic_cover(P)
    proper = assumed("the covers are proper, as the paper defines them")
    return {
        "closed": upper_bound(chaining.dudley_closed(P, A, n), clip=A),
        "closed_half": upper_bound(chaining.dudley_closed_half(P, A, n), clip=A),
        "chain": upper_bound(chaining.proper_chain(cover, A, n), clip=A, checks=(proper,)),
        "chain_external": upper_bound(chaining.external_chain(cover, A, n), clip=A),
    }


RESULT = Result(
    id="mwigo.dudley",
    title="Dudley's entropy integral",
    paper=MWIGO,
    place="Section 3.3",
    bounds=Quantity.RADEMACHER_COMPLEXITY,
    statement="R_S <= c inf_delta (delta + int_delta^A sqrt(log N(eps)/N) deps), c unnamed (1 here), log N = P/eps^2",
    latex=r"R_S\le c\inf_{\delta\ge0}\Bigl(\delta+\int_\delta^A\sqrt{\tfrac{\log N_\infty}{N}}\,d\varepsilon\Bigr)",
    sound_statement=(
        "closed: min(A, 12 s (1 + ln(A/3s))), s = sqrt(P/N); closed_half: 12 s (1 + ln(A/6s)); "
        "chain: eps_K + sum eps_{j-1} sqrt(2 ln N(eps_j)/N); chain_external: eps_{j-1} + eps_j instead of eps_{j-1}."
    ),
    inputs=(
        real("P", "log N(eps) <= P/eps^2", example=3),
        real("A", "bound on |f|", example=2),
        count("n", "sample size", aliases=("N", "m"), example=100_000),
    ),
    status=Status.CONSTANT,
    reason="false with c = 1 (the cube {-1,1}^N has complexity 1, the right side is below 1); c = 12 is enough",
    printed=printed,
    sound=sound,
    assumptions=("scalar-valued class; covers in the sup norm (or in L2) on the sample",),
    defects=(
        "The constant c is not named, and 1 is too small.",
        "Without a clip at A the closed form falls and turns negative for large P.",
    ),
    monotone={"P": 1, "A": 1, "n": -1},
    proof="docs/proofs/chaining.md",
)
