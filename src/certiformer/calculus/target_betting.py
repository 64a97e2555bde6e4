r"""The mean of a bounded loss by betting towards a target: as short as the z-test's limit, and valid at every n.

For pairs 0 <= y_t <= w_t <= 1 with E[y_t - theta w_t | past] = 0 and a candidate m, the capital

    K_0 = 1,   K_t = K_{t-1} + G_t (m w_t - y_t),   0 <= G_t <= K_{t-1}/(1-m) decided by the past

is a nonnegative supermartingale whenever theta >= m, so P(sup_t K_t >= 1/delta) <= delta (Ville).

The stake is G_t = min(g_t(K), K/(1-m), (T-K)/m) with T = tau/delta and

    g_t(K) = T phi(Phi^-1(K/T)) / (s_t sqrt(n-t+1)),

the hedge of an option that pays T if a z-test at level delta/tau rejects at the horizon n. phi o Phi^-1 is concave and
vanishes at 0 and 1, and neither s_t nor n depends on m; hence 0 <= K_t <= T and K_t increases with m: the rejected
means are an interval, and bisection finds its end. Proof: docs/proofs/evaluation.md.

`one order` rejects m when the largest capital reaches 1/delta (tau = 1.3). `several orders` rejects m when the average
over fixed permutations of the *final* capitals does (tau = 1.5; an average of variables of expectation at most 1).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from certiformer.core.lazy import Array, np, scipy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Orders = NDArray[np.int64]

TARGET_ONE_ORDER = 1.3
TARGET_SEVERAL_ORDERS = 1.5
PRIOR_WEIGHT = 2.0
"""s_t^2 = (A/4 + sum of squares so far)/(A + t - 1) with A = 2: fixed here, not an option."""
ORDERS = 16
_POINTS = 24
_TOLERANCE = 1e-10
_MOST_PASSES = 60
_ROOT_TWO_PI = math.sqrt(2.0 * math.pi)


def fixed_orders(n: int) -> Orders:
    """The permutations of `several orders`: row b sorts row b of `default_rng(0).random((16, n))`."""
    return np.argsort(np.random.default_rng(0).random((ORDERS, n)), axis=1)


def target_upper(w: Array, y: Array, delta: float, orders: Orders | None = None) -> float:
    r"""The upper limit for theta = E y / E w at level 1 - delta; `orders` None takes the order as it stands.

    The rejected end of a bracket of relative width 1e-10 is returned. Each update of the capital rounds by at most
    2^-51 T, so m is rejected only beyond (1 + 1e-15 n T)/delta.
    """
    n = len(w)
    tau = TARGET_ONE_ORDER if orders is None else TARGET_SEVERAL_ORDERS
    scale = tau / delta
    paths = _Paths(w, y, orders)
    bar = (1.0 + 1e-15 * n * scale) / tau  # in units of T

    def statistic(means: Array) -> Array:
        return _capital(paths, means, 1.0 / scale, final=orders is not None)

    total = float(np.sum(w))
    high = float(np.nextafter(1.0, 0.0))
    if total <= 0.0 or bar >= 1.0:
        return 1.0
    low = min(float(np.sum(y)) / total, high)
    error = paths.deviation / math.sqrt(n)
    guess, spread = low + 1.75 * error, error
    # One path is cheap to follow for many means at once, so that few passes are needed; sixteen are not.
    steps = 4.0 ** -np.arange(1.0, 13.0 if orders is None else 9.0)
    first_look = low + error * np.arange(1.0, 4.0, 0.05 if orders is None else 1.0)
    for each in range(_MOST_PASSES):
        if each and high - low <= _TOLERANCE * high:
            break
        means = _candidates(low, high, guess, spread * steps)
        if each == 0:
            # Is any mean rejected at all? The largest number below 1 is asked beside the others.
            means = np.unique(np.concatenate([means, first_look[first_look < high], [high]]))
        elif len(means) == 0:
            break
        values = statistic(means)
        if each == 0 and values[-1] < bar:
            return 1.0
        rejected = values >= bar
        first = int(np.argmax(rejected)) if rejected.any() else len(means)
        # The bracket's ends with their values, where they are known, say where to look next.
        left = (low, math.nan) if first == 0 else (float(means[first - 1]), float(values[first - 1]))
        right = (high, math.nan) if first == len(means) else (float(means[first]), float(values[first]))
        low, high = left[0], right[0]
        guess, spread = _next(left, right, bar), high - low
    return high


class _Paths:
    """What the stakes know that does not depend on m: w_t, y_t and s_t sqrt(n-t+1), one column per order."""

    def __init__(self, w: Array, y: Array, orders: Orders | None) -> None:
        self.w = w[:, None] if orders is None else w[orders].T
        self.y = y[:, None] if orders is None else y[orders].T
        n = len(w)
        centre = (0.5 + np.cumsum(self.y, axis=0)) / (1.0 + np.cumsum(self.w, axis=0))
        squares = np.cumsum((self.y - centre * self.w) ** 2, axis=0)
        before = np.concatenate([np.zeros_like(squares[:1]), squares[:-1]])
        seen = np.arange(n, dtype=np.float64)[:, None]
        variance = (PRIOR_WEIGHT / 4.0 + before) / (PRIOR_WEIGHT + seen)
        self.factor = 1.0 / (_ROOT_TWO_PI * np.sqrt(variance * (n - seen)))
        last = (PRIOR_WEIGHT / 4.0 + float(np.max(squares[-1]))) / (PRIOR_WEIGHT + n)
        self.deviation = math.sqrt(last) / max(float(np.mean(w)), 1e-12)


def _capital(paths: _Paths, means: Array, start: float, *, final: bool) -> Array:
    """K/T at every mean: the largest along the way, or the average over orders of the last."""
    m = means[:, None]
    columns = paths.w.shape[1]
    k = np.full((len(means), columns), start)
    top = k.copy()
    up, down = 1.0 / (1.0 - m), 1.0 / m
    stake, cap = np.empty_like(k), np.empty_like(k)
    for w, y, factor in zip(paths.w, paths.y, paths.factor, strict=True):
        scipy.special.ndtri(k, out=stake)
        np.multiply(stake, stake, out=stake)
        np.multiply(stake, -0.5, out=stake)
        np.exp(stake, out=stake)
        np.multiply(stake, factor, out=stake)
        np.multiply(k, up, out=cap)
        np.minimum(stake, cap, out=stake)
        np.subtract(1.0, k, out=cap)
        np.multiply(cap, down, out=cap)
        np.minimum(stake, cap, out=stake)
        np.multiply(m, w, out=cap)
        np.subtract(cap, y, out=cap)
        np.multiply(stake, cap, out=stake)
        np.add(k, stake, out=k)
        np.maximum(k, 0.0, out=k)
        np.minimum(k, 1.0, out=k)
        if not final:
            np.maximum(top, k, out=top)
    return np.mean(k, axis=1) if final else top[:, 0]


def _candidates(low: float, high: float, guess: float, steps: Array) -> Array:
    """Points inside the bracket: evenly spaced ones, and ever closer ones around the guess."""
    even = low + (high - low) * np.arange(1, _POINTS) / _POINTS
    near = guess + np.concatenate([-steps, [0.0], steps])
    points = np.unique(np.concatenate([even, near]))
    return points[(points > low) & (points < high)]


def _next(left: tuple[float, float], right: tuple[float, float], bar: float) -> float:
    """Where Phi^-1 of the capital, nearly linear in m, crosses the bar."""
    a, b, goal = (
        float(scipy.special.ndtri(left[1])),
        float(scipy.special.ndtri(right[1])),
        float(scipy.special.ndtri(bar)),
    )
    if not (math.isfinite(a) and math.isfinite(b) and a < goal <= b):
        return 0.5 * (left[0] + right[0])
    return left[0] + (right[0] - left[0]) * (goal - a) / (b - a)
