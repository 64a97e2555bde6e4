r"""Dudley's entropy integral for ln N(eps) <= C/eps^2, as the papers print it and as it holds.

Printed with an unnamed constant c (1 here), delta at its best:

.. math:: R \le s\,(1 + \ln(D/s)),\qquad s = \sqrt{C/n},

and sound as closed forms and as optimised chains (`calculus.chaining`, T8).
"""

from __future__ import annotations

import math

from certiformer.calculus import chaining
from certiformer.calculus.covers import quadratic_cover
from certiformer.core.bound import Bound, printed_value, upper_bound
from certiformer.core.hypothesis import stated, verified


def printed(constant: float, radius: float, n: int, in_range: str) -> dict[str, Bound]:
    """s (1 + ln(D/s)); beyond s = D the integral is empty and the formula falls below its own infimum D."""
    s = math.sqrt(constant / n)
    value = s * (1.0 + math.log(radius / s))
    return {"value": printed_value(value, hypotheses=(verified(in_range, s <= radius, s),))}


def sound(constant: float, radius: float, n: int, proper: bool | None) -> dict[str, Bound]:
    """Both closed forms (any covers), the best proper chain (if the caller says so), the best external chain."""
    cover = quadratic_cover(constant)
    words = "the covers are proper: their members belong to the class"
    in_class = stated(words, proper, "proper=1", id="proper-covers")
    return {
        "closed": upper_bound(chaining.dudley_closed(constant, radius, n), clip=radius),
        "closed_half": upper_bound(chaining.dudley_closed_half(constant, radius, n), clip=radius),
        "chain": upper_bound(chaining.proper_chain(cover, radius, n), clip=radius, hypotheses=(in_class,)),
        "chain_external": upper_bound(chaining.external_chain(cover, radius, n), clip=radius),
    }
