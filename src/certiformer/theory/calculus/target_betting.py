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

Rounding is directed: every step takes off more than it can have rounded, so that the computed capital never exceeds
the exact one, down to delta = 1e-300. The stake aims at one z-test and is a poor bet at a tiny delta with errors
present: below delta = 1e-3 half of delta goes to a mixture of ten fixed bets F_j/(1-m), F = 0.95, 1/2, 1/4, ..., whose
weights fall like 1/(j+2), and the smaller of the two limits holds.

Long paths are followed by `compiled_betting` where Numba is installed (extra [fast]): nearly the same numbers, below
the exact capital likewise.
"""

from __future__ import annotations

import importlib.util
import math
from typing import TYPE_CHECKING

from certiformer.theory.core.errors import InputError
from certiformer.theory.core.lazy import Array, np, scipy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Orders = NDArray[np.int64]

TARGET_ONE_ORDER = 1.3
TARGET_SEVERAL_ORDERS = 1.5
PRIOR_WEIGHT = 2.0
"""s_t^2 = (A/4 + sum of squares so far)/(A + t - 1) with A = 2: fixed here, not an option."""
ORDERS = 16
LEAST_DELTA = 1e-300
"""Of one limit: a delta of 1e-290 may be divided among many."""
SMALL_DELTA = 1e-3
"""Below this delta the mixture of fixed bets shares it: a rule by delta alone, fixed here."""
FIXED_BETS = (0.95, *(0.5**j for j in range(1, 10)))
_POINTS = 24  # mutants: the-same-root
_TOLERANCE = 1e-10  # mutants: rounding-margins
_MOST_PASSES = 60  # mutants: the-same-root
_WORTH_COMPILING = 10_000
"""Steps of all paths from which on the import of Numba is regained."""
_ROOT_TWO_PI = math.sqrt(2.0 * math.pi)


def fixed_orders(n: int) -> Orders:
    """The permutations of `several orders`: row b sorts row b of `default_rng(0).random((16, n))`."""
    return np.argsort(np.random.default_rng(0).random((ORDERS, n)), axis=1)


def target_upper(w: Array, y: Array, delta: float, orders: Orders | None = None) -> float:
    r"""The upper limit for theta = E y / E w at level 1 - delta; `orders` None takes the order as it stands.

    The rejected end of a bracket of relative width 1e-10 is returned.
    """
    if not delta >= LEAST_DELTA:
        raise InputError("delta", delta, f"at least {LEAST_DELTA:g}")
    if delta < SMALL_DELTA:
        return min(_target_upper(w, y, 0.5 * delta, orders), _mixture_upper(w, y, 0.5 * delta))
    return _target_upper(w, y, delta, orders)


def evidence_against(mean: float, w: Array, y: Array, delta: float, orders: Orders | None = None) -> float:
    """The capital won against "theta >= mean", from 1: such a theta gives 1/delta or more with probability <= delta.

    The bets aim at this delta. `mean` was fixed before the outcomes were seen.
    """
    if not delta >= LEAST_DELTA:
        raise InputError("delta", delta, f"at least {LEAST_DELTA:g}")
    if mean <= 0.0:
        return 1.0
    share = 0.5 if delta < SMALL_DELTA else 1.0
    tau = TARGET_ONE_ORDER if orders is None else TARGET_SEVERAL_ORDERS
    start = share * delta / tau * (1.0 - 2.0**-48)
    m = np.array([min(mean, float(np.nextafter(1.0, 0.0)))])
    target = float(_followed(_Paths(w, y, orders), m, start, final=orders is not None)[0]) * tau * (1.0 - 2.0**-48)
    mixture = math.exp(min(700.0, _ln_mixture(w, y, float(m[0])))) if share < 1.0 else 0.0
    return max(target / (share * delta), mixture) * share


def _mixture_upper(w: Array, y: Array, delta: float) -> float:
    """The smallest mean that the mixture of fixed bets rejects at 1/delta, by bisection; 1 if it rejects none."""
    bar = math.log(1.0 / delta) + 1e-14 * abs(math.log(delta))
    low, high = min(float(np.sum(y)) / max(float(np.sum(w)), 1e-300), 1.0), float(np.nextafter(1.0, 0.0))
    if low >= high or _ln_mixture(w, y, high) < bar:
        return 1.0
    while high - low > _TOLERANCE * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if _ln_mixture(w, y, middle) >= bar else (middle, high)
    return high


def _ln_mixture(w: Array, y: Array, mean: float) -> float:
    """ln of sum_j v_j prod_t (1 + F_j (m w_t - y_t)/(1-m)), v_j proportional to 1/(j+2), rounded down."""
    gains = (mean * w - y) / (1.0 - mean)
    gains = gains - 2.0**-51 * (np.abs(gains) + mean * w / (1.0 - mean))
    weights = 1.0 / np.arange(2.0, 2.0 + len(FIXED_BETS))
    logs = np.log(weights / np.sum(weights))
    # m w - y >= -(1-m) w >= -(1-m): no factor falls below 1 - F_0 but for rounding.
    logs = logs + [float(np.sum(np.log1p(np.maximum(bet * gains, -1.0 + 1e-16)))) for bet in FIXED_BETS]
    sizes = float(np.sum(np.abs(np.log1p(np.maximum(FIXED_BETS[0] * gains, -1.0 + 1e-16)))))
    top = float(np.max(logs))
    return top + math.log(float(np.sum(np.exp(logs - top)))) - 1e-14 * (1.0 + sizes)


def _target_upper(w: Array, y: Array, delta: float, orders: Orders | None) -> float:
    n = len(w)
    tau = TARGET_ONE_ORDER if orders is None else TARGET_SEVERAL_ORDERS
    paths = _Paths(w, y, orders)
    # In units of T = tau/delta: neither 1/tau nor delta/tau is a double, and the average over orders rounds.
    start, bar = delta / tau * (1.0 - 2.0**-48), (1.0 + 2.0**-48) / tau

    def statistic(means: Array) -> Array:
        return _followed(paths, means, start, final=orders is not None)

    total = float(np.sum(w))
    high = float(np.nextafter(1.0, 0.0))
    if total <= 0.0:
        return 1.0
    low = min(float(np.sum(y)) / total, high)
    error = paths.deviation / math.sqrt(n)
    guess, spread = low + 1.75 * error, error  # mutants: search-effort
    # One path is cheap to follow for many means at once, so that few passes are needed; sixteen are not.
    steps = 4.0 ** -np.arange(1.0, 13.0 if orders is None else 9.0)  # mutants: search-effort
    first_look = low + error * np.arange(1.0, 4.0, 0.05 if orders is None else 1.0)  # mutants: search-effort
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
        last = (PRIOR_WEIGHT / 4.0 + float(np.max(squares[-1]))) / (PRIOR_WEIGHT + n)  # mutants: the-same-root
        self.deviation = math.sqrt(last) / max(float(np.mean(w)), 1e-12)  # mutants: rounding-margins


def _followed(paths: _Paths, means: Array, start: float, *, final: bool) -> Array:
    """K/T at every mean by the quicker of two loops."""
    if paths.w.size < _WORTH_COMPILING or importlib.util.find_spec("numba") is None:
        return _capital(paths, means, start, final=final)
    from certiformer.theory.calculus.compiled_betting import capital

    return capital(paths.w, paths.y, paths.factor, means, start, final=final)


def _capital(paths: _Paths, means: Array, start: float, *, final: bool) -> Array:
    """K/T at every mean: the largest along the way, or the average over orders of the last.

    A step s = G (m w - y) is made smaller by 2^-40 |s| (the stake, computed to 2^-41), 2^-52 G m w (m w rounds before y
    is taken off) and 2^-51 K (the sums); a capital below 1e-280 is given up. The exact map rises with K, so by
    induction the computed capital stays below the exact one.
    """
    m = means[:, None]
    columns = paths.w.shape[1]
    k = np.full((len(means), columns), start)
    top = k.copy()
    up, down = 1.0 / (1.0 - m), 1.0 / m
    stake, cap, loss = np.empty_like(k), np.empty_like(k), np.empty_like(k)
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
        np.multiply(stake, cap, out=loss)
        np.subtract(cap, y, out=cap)
        np.multiply(stake, cap, out=stake)
        np.multiply(loss, 2.0**-52, out=loss)
        np.abs(stake, out=cap)
        np.multiply(cap, 2.0**-40, out=cap)
        np.add(loss, cap, out=loss)
        np.subtract(stake, loss, out=stake)
        np.multiply(k, 1.0 - 2.0**-51, out=k)
        np.add(k, stake, out=k)
        np.minimum(k, 1.0, out=k)
        k[k < 1e-280] = 0.0
        if not final:
            np.maximum(top, k, out=top)
    return np.mean(k, axis=1) if final else top[:, 0]


def _candidates(low: float, high: float, guess: float, steps: Array) -> Array:
    """Points inside the bracket: evenly spaced ones, and ever closer ones around the guess."""
    even = low + (high - low) * np.arange(1, _POINTS) / _POINTS  # mutants: the-same-root
    near = guess + np.concatenate([-steps, [0.0], steps])  # mutants: the-same-root
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
        return 0.5 * (left[0] + right[0])  # mutants: the-same-root
    return left[0] + (right[0] - left[0]) * (goal - a) / (b - a)  # mutants: the-same-root
