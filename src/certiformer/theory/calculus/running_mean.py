r"""The average of means that may change from one outcome to the next: limits that hold at all times at once.

For outcomes x_i in [0, 1] with E[x_i | past] = mu_i, whatever these do, let S = x_1 + ... + x_n and mbar the average of
mu_1..mu_n. With tilts l_j = 4 2^-j and weights w_j = 2/((j+2)(j+3)), j = 0..23 (their sum is below 1),

    K^s_n(p) = sum_j w_j exp(s l_j S - n ln(1 + p (e^{s l_j} - 1))),        s = +1 or -1,

is at p = mbar below a nonnegative supermartingale from at most 1 (convexity of exp, Jensen), so that it ever reaches
1/delta with probability at most delta (Ville). K^+ falls and K^- rises with p.

For outcomes that are not just 0 and 1, three quarters of the capital bet on a small variance: with h_j = 0.75 2^-j,
j = 0..11, psi(h) = -ln(1-h) - h and V = sum (x_i - c_i)^2 for centres c_i in [0, 1] that the past decides,

    E^s_n(p) = sum_j w_j exp(s h_j (S - n p) - psi(h_j) V),        capital K/4 + 3 E/4.

Proofs: docs/proofs/evaluation.md. Nothing is intersected over time: the target moves.
"""

from __future__ import annotations

import functools
import math
from typing import Literal

from certiformer.theory.core.errors import InputError
from certiformer.theory.core.lazy import Array, np

Side = Literal[1, -1]  # mutants: nobody-looks
TILTS, BERNSTEIN = 24, 12


def ln_capital(n: int, total: float, p: float, side: Side, squares: float | None = None) -> float:
    r"""A lower bound of ln of the capital against "the average is p": side +1 bets that it is higher, -1 lower.

    `squares` is V for outcomes between 0 and 1; None for outcomes that are 0 or 1. The rounding of every exponent is
    taken off.

    >>> round(ln_capital(200, 2, 0.05, -1), 6)
    3.523121
    """
    if not 0.0 < p < 1.0:
        # At p = 0 an outcome above 0 is impossible, at p = 1 one below 1.
        impossible = total > 0.0 if p <= 0.0 else total < n
        return math.inf if impossible and side == (1 if p <= 0.0 else -1) else 0.0
    tilts, ln_weights, growths = _tilts(side)
    drift = np.log1p(p * growths)
    exponents = ln_weights + side * tilts * total - n * drift
    sizes = tilts * total + n * np.abs(drift)
    if squares is not None:
        h, psi, ln_shares = _bernstein()
        bernstein = ln_shares + side * h * (total - n * p) - psi * squares
        exponents = np.concatenate([exponents + math.log(0.25), bernstein + math.log(0.75)])
        sizes = np.concatenate([sizes, h * (total + n * p) + psi * squares])
    exponents = exponents - 1e-15 * (8.0 + sizes)  # mutants: rounding-margins
    top = float(exponents.max())
    return top + math.log(float(np.exp(exponents - top).sum())) - 1e-14  # mutants: rounding-margins


def running_limits(n: int, total: float, delta: float, squares: float | None = None) -> tuple[float, float]:
    """Limits for the average of the first n conditional means, both and for all n at once with probability 1 - delta.

    >>> low, high = running_limits(1000, 50, 0.05)
    >>> round(low, 6), round(high, 6)
    (0.029126, 0.078031)
    """
    if n < 0 or not 0.0 <= total <= n:
        raise InputError("total", total, f"a sum of {n} outcomes between 0 and 1")
    if n == 0:
        return 0.0, 1.0
    bar = math.log(2.0 / delta)
    mean = total / n

    def edge(outside: float, side: Side) -> float:
        """The rejected end of the bracket; the end of the range where nothing is rejected."""
        inside = mean
        if inside == outside:
            return outside
        while abs(outside - inside) > 1e-13 * max(inside, outside):  # mutants: rounding-margins
            middle = 0.5 * (inside + outside)  # mutants: the-same-root
            if middle in (inside, outside):
                break
            rejected = ln_capital(n, total, middle, side, squares) >= bar
            inside, outside = (inside, middle) if rejected else (middle, outside)
        return outside

    return edge(0.0, 1), edge(1.0, -1)


def squares_after(x: Array, n: int, total: float) -> float:
    """What outcomes x add to V after n others: squared distances from (1/2 + sum)/(n + 1) of their own past."""
    before = total + np.concatenate([[0.0], np.cumsum(x)[:-1]])
    centre = (0.5 + before) / (n + np.arange(len(x)) + 1.0)
    return float(np.sum((x - centre) ** 2))


@functools.cache
def _tilts(side: Side) -> tuple[Array, Array, Array]:
    """l_j, ln w_j and e^{s l_j} - 1."""
    tilts: Array = 4.0 * 0.5 ** np.arange(TILTS, dtype=np.float64)
    return tilts, np.log(_weights(TILTS)), np.expm1(side * tilts)


@functools.cache
def _bernstein() -> tuple[Array, Array, Array]:
    """h_j, psi(h_j) and ln w_j."""
    h: Array = 0.75 * 0.5 ** np.arange(BERNSTEIN, dtype=np.float64)
    return h, -np.log1p(-h) - h, np.log(_weights(BERNSTEIN))


def _weights(count: int) -> Array:
    j = np.arange(count, dtype=np.float64)
    return 2.0 / ((j + 2.0) * (j + 3.0))
