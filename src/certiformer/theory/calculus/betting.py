r"""Upper confidence limits for the mean of bounded losses: by betting (i.i.d. only), and for learners that change.

Betting: if x_1, x_2, ... in [0, 1] are independent with mean m, then K_t(m) = prod_{i<=t} (1 + b_i (m - x_i)) is a
nonnegative martingale for any predictable bets 0 <= b_i < 1/(1-m), so with probability at least 1 - delta it never
reaches 1/delta. The limit is the smallest m at which it does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from certiformer.theory.core.errors import InputError
from certiformer.theory.core.lazy import Array, np

TRUNCATION = 0.75
_STEPS = 200  # mutants: search-effort


def betting_upper(losses: Sequence[float] | Array, delta: float) -> float:
    r"""The upper limit for the mean of i.i.d. losses in [0, 1], at level 1 - delta, in the order given.

    Bets are b_i(m) = min(sqrt(2 ln(1/delta) / (n s_{i-1}^2)), c/(1-m)) with s^2 the running variance (of two
    pseudo-observations and the losses seen so far) and c = 3/4. Each factor is positive and increases with m, so the
    set of rejected means is an interval and bisection finds its end; the rejected end of the bracket is returned.
    """
    x = _in_unit_interval(losses)
    bets = _plug_in(x, delta)
    target = math.log(1.0 / delta)  # mutants: search-effort
    low, high = float(np.mean(x)), 1.0  # mutants: search-effort
    if not _rejects(x, bets, np.nextafter(1.0, 0.0), target):  # mutants: search-effort
        return 1.0  # mutants: search-effort
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if _rejects(x, bets, middle, target):
            high = middle
        else:
            low = middle
    return min(1.0, high * (1.0 + 1e-12))  # mutants: rounding-margins, search-effort


def _plug_in(x: Array, delta: float) -> Array:
    """sqrt(2 ln(1/delta)/(n s_{i-1}^2)), where s_{i-1} has seen only x_1..x_{i-1} (predictable)."""
    n = len(x)
    counts = np.arange(1, n + 1)
    means = (0.5 + np.cumsum(x)) / (counts + 1)
    variances = (0.25 + np.cumsum((x - means) ** 2)) / (counts + 1)
    before = np.concatenate([[0.25], variances[:-1]])
    return np.asarray(np.sqrt(2.0 * math.log(1.0 / delta) / (n * before)), dtype=np.float64)


def _rejects(x: Array, bets: Array, mean: float, target: float) -> bool:
    """Whether the capital against `mean` ever reaches 1/delta; the margin covers the rounding of the sum."""
    stakes = np.minimum(bets, TRUNCATION / (1.0 - mean))
    wealth = np.cumsum(np.log1p(stakes * (mean - x)))
    return bool(np.max(wealth) >= target + 1e-13 * len(x))  # mutants: rounding-margins


def progressive_grid(points: int = 40, low: float = 0.01, high: float = 10.0) -> tuple[float, ...]:
    """A geometric grid of lambda, fixed before any data are seen."""
    return tuple(float(value) for value in np.geomspace(low, high, points))


def progressive_upper(mean_loss: float, n: int, ln_inverse_delta: float, grid: Sequence[float]) -> float:
    r"""min over lambda in the grid of (1 - exp(-lambda xbar - ln(|G|/delta)/n)) / (1 - e^-lambda).

    Bounds the average risk of the iterates when each example is predicted before it is learnt: the conditional means
    change, so neither betting nor the binomial tail applies. Proof: docs/proofs/certificates.md, V.
    """
    budget = (ln_inverse_delta + math.log(len(grid))) / n
    return min(math.expm1(-lam * mean_loss - budget) / math.expm1(-lam) for lam in grid)


def azuma_upper(mean_loss: float, n: int, ln_inverse_delta: float) -> float:
    """xbar + sqrt(ln(1/delta)/2n), for any adapted sequence of losses in [0, 1]."""
    return mean_loss + math.sqrt(ln_inverse_delta / (2.0 * n))


def _in_unit_interval(losses: Sequence[float] | Array) -> Array:
    x = np.asarray(losses, dtype=np.float64)
    if x.ndim != 1 or len(x) == 0:
        raise InputError("losses", f"an array of shape {x.shape}", "a list of at least one number")
    outside = ~((x >= 0.0) & (x <= 1.0))
    if outside.any():
        first = int(np.flatnonzero(outside)[0])
        raise InputError("losses", float(x[first]), "numbers in [0, 1]", f"Entry {first} is not; rescale the loss")
    return x
