r"""A rate from few outcomes and a control variate whose mean other draws tell: betting in blocks.

m outcomes Z in {0, 1} come with J in [0, 1], each with the mean of J over r further draws of its own. With l_t in
[0, 1] from the blocks before t,

    Y_t = Z_t - l_t (J_t - mean J of its block),        E[Y_t | past] = E Z,    Y_t in [-l_t, 1 + l_t],

so that the capital of `target_betting`, with stakes capped at K/(1 + l_t - m') and (T - K)/(m' + l_t), is valid for Y.
l_t is the regression of Z on J so far, shrunk: it starts at 0 and goes to the best control variate. Nothing is assumed
about J. Proof: docs/proofs/gates.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from certiformer.theory.calculus.target_betting import LEAST_DELTA, PRIOR_WEIGHT, TARGET_SEVERAL_ORDERS, fixed_orders
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.lazy import Array, np, scipy

_TOLERANCE = 1e-11  # mutants: rounding-margins


def block_upper(z: Array, j: Array, means: Array, block: int, delta: float, *, complement: bool = False) -> float:
    """The upper limit of E Z at level 1 - delta, on the average of 16 orders; of 1 - E Z for the `complement`."""
    capital = _capital(z, j, means, block, delta, complement=complement)
    low, high = 0.0, float(np.nextafter(1.0, 0.0))
    bar = (1.0 + 2.0**-48) / TARGET_SEVERAL_ORDERS  # mutants: rounding-margins
    if capital([high])[0] < bar:
        return 1.0
    while high - low > _TOLERANCE * high:
        ends = np.linspace(low, high, 9)  # mutants: the-same-root
        first = 1 + int(np.argmax(np.append(capital(ends[1:-1]) >= bar, True)))
        low, high = float(ends[first - 1]), float(ends[first])  # mutants: the-same-root
    return high


def block_evidence(
    mean: float, z: Array, j: Array, means: Array, block: int, delta: float, *, complement: bool = False
) -> float:
    """The capital won against "E Z >= mean" (1 - E Z for the `complement`), from 1, by bets that aim at this delta."""
    capital = _capital(z, j, means, block, delta, complement=complement)
    # mutants: rounding-margins
    return float(capital([mean])[0]) * TARGET_SEVERAL_ORDERS / delta * (1.0 - 2.0**-48)


def _capital(
    z: Array, j: Array, means: Array, block: int, delta: float, *, complement: bool
) -> Callable[[Array | list[float]], Array]:
    """The average over orders of the final capitals, in units of T = tau/delta, at every mean."""
    if not delta >= LEAST_DELTA:
        raise InputError("delta", delta, f"at least {LEAST_DELTA:g}")
    orders = fixed_orders(len(z))
    zs, js, bs = z[orders].T, j[orders].T, means[orders].T
    slopes = _slopes(zs, js, block)
    y = zs - slopes * (js - bs)
    if complement:
        y = 1.0 - y
    n = len(z)
    seen = np.arange(n, dtype=np.float64)[:, None]
    centre = (0.5 + np.cumsum(y, axis=0)) / (seen + 2.0)
    squares = np.cumsum((y - centre) ** 2, axis=0)
    before = np.concatenate([np.zeros_like(squares[:1]), squares[:-1]])
    factor = 1.0 / np.sqrt(2.0 * math.pi * (PRIOR_WEIGHT / 4.0 + before) / (PRIOR_WEIGHT + seen) * (n - seen))
    start = delta / TARGET_SEVERAL_ORDERS * (1.0 - 2.0**-48)  # mutants: rounding-margins

    def capital(means: Array | list[float]) -> Array:
        m = np.asarray(means)[:, None]
        k = np.full((len(means), len(orders)), start)
        for row, slope, scale in zip(y, slopes, factor, strict=True):
            stake = scale * np.exp(-0.5 * scipy.special.ndtri(k) ** 2)
            stake = np.minimum(np.minimum(stake, k / (1.0 + slope - m)), (1.0 - k) / (m + slope))
            step = stake * (m - row)
            # Rounding is directed as in target_betting: the computed capital never exceeds the exact one.
            # mutants: rounding-margins
            k = k * (1.0 - 2.0**-51) + (step - 2.0**-40 * np.abs(step) - 2.0**-50 * stake * (m + 2.0))
            k = np.where(k < 1e-280, 0.0, np.minimum(k, 1.0))  # mutants: rounding-margins
        return np.asarray(np.mean(k, axis=1), dtype=np.float64)

    return capital


def _slopes(z: Array, j: Array, r: int) -> Array:
    """l_t = clip(C/(V+1), 0, 1) r/(r+1) from the items before t: C and V are sums of products of deviations."""
    seen = np.maximum(np.arange(len(z), dtype=np.float64)[:, None], 1.0)

    def past(values: Array) -> Array:
        return np.concatenate([np.zeros_like(values[:1]), np.cumsum(values, axis=0)[:-1]])

    shared = past(z * j) - past(z) * past(j) / seen
    spread = past(j * j) - past(j) ** 2 / seen
    return np.asarray(np.clip(shared / (spread + 1.0), 0.0, 1.0) * (r / (r + 1.0)), dtype=np.float64)
