"""An exact limit computed a second time, in whole numbers: the check that a proof kernel makes of it.

`tail_at_most` and `tail_at_least` are `check` and `check_low` of certificates/proofs/Check.v, line by line; that they
are right is a theorem there. They share nothing with `tails`, which finds the limits with floats and logarithms.
"""

from __future__ import annotations

import math
from fractions import Fraction

from certiformer.theory.calculus.tails import binomial_lower, binomial_upper
from certiformer.theory.core.errors import FormulaError

KEPT = 96  # mutants: rounding-margins
"""A mantissa keeps this many bits and one."""
MOST_ERRORS = 20_000
"""Each error costs half a millisecond of the kernel; beyond this many nothing is checked."""
RESOLVED = 2**46  # mutants: search-effort
"""Powers keep 97 bits: a tail of n examples that is nearer than n/2^46 to 1 is beyond them, and nothing is checked."""


def tail_at_most(n: int, k: int, p: Fraction, delta: Fraction) -> bool:
    """Whether P(Bin(n, p) <= k) <= delta was shown; False says that it was not, which is not that it is false.

    >>> tail_at_most(5, 0, Fraction(1, 2), Fraction(1, 32))
    False
    >>> tail_at_most(5, 0, Fraction(1, 2), Fraction(1, 31))
    True
    """
    if not (0 <= k < n and 0 < p < 1):
        return False
    total, e = _tail(n, k, p, rounded=1)  # mutants: rounding-margins
    return total * delta.denominator <= delta.numerator << e


def tail_at_least(n: int, k: int, p: Fraction, delta: Fraction) -> bool:
    """Whether P(Bin(n, p) <= k - 1) >= 1 - delta was shown: k errors or more have probability at most delta."""
    if not (0 < k <= n and 0 < p < 1):
        return False
    total, e = _tail(n, k - 1, p, rounded=0)
    return (delta.denominator - delta.numerator) << e <= total * delta.denominator


def upper_shown(n: int, k: int, limit: Fraction, delta: Fraction) -> bool:
    """Whether `limit` is shown to be an upper confidence limit after k errors among n; 1 needs no proof."""
    return limit >= 1 or tail_at_most(n, k, limit, delta)


def lower_shown(n: int, k: int, limit: Fraction, delta: Fraction) -> bool:
    """Whether `limit` is shown to be a lower confidence limit after k errors among n; 0 needs no proof."""
    return limit <= 0 or tail_at_least(n, k, limit, delta)


def exact_upper(id: str, errors: int, n: int, delta: float, parts: int = 1) -> float:
    """`binomial_upper` at the share delta/parts, for the result `id`; an error unless whole numbers confirm it."""
    found, share = binomial_upper(errors, n, math.log(delta) - math.log(parts)), Fraction(delta) / parts
    if _in_reach(errors, n, 1 - share) and not upper_shown(n, errors, Fraction(found), share):
        raise FormulaError(id, _unconfirmed("upper", n, errors, found))
    return found


def exact_lower(id: str, errors: int, n: int, delta: float) -> float:
    """`binomial_lower`, likewise."""
    found, share = binomial_lower(errors, n, math.log(delta)), Fraction(delta)
    if _in_reach(errors, n, share) and not lower_shown(n, errors, Fraction(found), share):
        raise FormulaError(id, _unconfirmed("lower", n, errors, found))
    return found


def _in_reach(errors: int, n: int, distance: Fraction) -> bool:
    return errors <= MOST_ERRORS and n + 2 * errors <= RESOLVED * distance  # mutants: search-effort


def _unconfirmed(side: str, n: int, k: int, limit: float) -> ArithmeticError:
    return ArithmeticError(f"whole numbers do not confirm the {side} limit {limit!r} after {k} errors among {n}")


def _tail(n: int, k: int, p: Fraction, *, rounded: int) -> tuple[int, int]:
    """(m, e) such that m / 2^e is at least P(Bin(n, p) <= k) with `rounded` = 1, at most with 0."""
    a, b = p.numerator, p.denominator
    q = b - a
    term, e = _power(q, b, n, rounded)
    total = term
    for i in range(k):
        term = term * ((n - i) * a) // ((i + 1) * q) + rounded
        total += term
        s = _excess(term, e)
        term, total, e = (term >> s) + rounded, (total >> s) + rounded, e - s
    return total, e


def _power(q: int, b: int, x: int, rounded: int) -> tuple[int, int]:
    """(q/b)^x as (m, e), by squaring."""
    m, e = (q << 128) // b + rounded, 128
    for bit in bin(x)[3:]:
        s = _excess(m * m, 2 * e)  # mutants: nobody-looks
        m, e = ((m * m) >> s) + rounded, 2 * e - s
        if bit == "1":
            m = m * q // b + rounded
    return m, e


def _excess(m: int, e: int) -> int:
    """How many bits of m / 2^e are beyond those that are kept."""
    s = m.bit_length() - 1 - KEPT  # mutants: rounding-margins
    return s if 0 <= s <= e else 0  # mutants: nobody-looks
