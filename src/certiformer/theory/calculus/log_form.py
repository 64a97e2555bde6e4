r"""Limits for the average risk of a learner that changes, from losses in [0, 1]: the log form.

x_t is the loss of the t-th example before it is learnt, mu_t its conditional mean, p_t in (0, 1] known before x_t. Then
prod_s (1 + lambda (p_s - x_s)) exp(lambda (mu_s - p_s)) is a nonnegative supermartingale for 0 < lambda <= 1, and so is
a mixture over lambda. Proof: docs/proofs/certificates.md, V for losses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from certiformer.theory.core.lazy import Array, np

GRID = tuple(j / 10 for j in range(1, 11))
MEMORY = 256


def centres(x: Array) -> Array:
    """p_1 = 1/2, p_{t+1} = p_t + (x_t - p_t) max(1/(t+1), 1/256): a running mean in (0, 1), known before x_t."""
    found = np.empty(len(x))
    centre = 0.5
    for t, loss in enumerate(x.tolist(), 1):
        found[t - 1] = centre
        centre += (loss - centre) * max(1.0 / (t + 1), 1.0 / MEMORY)
    return found


def log_form_upper(x: Array, ln_inverse_delta: float, skip: int = 0, grid: Sequence[float] | None = None) -> float:
    """The limit for the mean of mu_t after the first `skip` losses: the root of sum_j w_j W(lambda_j) = 1/delta.

    Without `skip` the mixture over GRID; with it one lambda, the best of GRID on the skipped losses, which are known
    before the others begin. The margin covers the rounding of the sums.
    """
    p = centres(x)
    if grid is None:
        grid = (best_lambda(x[:skip], p[:skip], ln_inverse_delta),) if skip else GRID
    x, p = x[skip:], p[skip:]
    total = math.fsum(p)
    slack = [math.fsum(np.log1p(rate * (p - x))) for rate in grid]
    target = ln_inverse_delta + math.log(len(grid)) + 1e-13 * len(x)  # mutants: rounding-margins
    # Every lambda alone, paid for, is above the root; the one of them that pays least begins the search.
    high = min((target - one) / rate for rate, one in zip(grid, slack, strict=True))
    low = high - (math.log(len(grid)) + 1.0) / grid[0]  # mutants: the-same-root
    while low < (middle := 0.5 * (low + high)) < high:
        exponents = [rate * middle + one for rate, one in zip(grid, slack, strict=True)]
        top = max(exponents)
        if top + math.log(math.fsum(math.exp(one - top) for one in exponents)) >= target:
            high = middle
        else:
            low = middle
    return (total + high) / len(x) + 1e-13  # mutants: rounding-margins


def best_lambda(x: Array, p: Array, ln_inverse_delta: float) -> float:
    """The lambda of GRID that gives these losses the smallest limit."""
    return min(GRID, key=lambda rate: (ln_inverse_delta - math.fsum(np.log1p(rate * (p - x)))) / rate)


def ratio_upper(
    losses: Array,
    sizes: Array,
    limits: tuple[float, float],
    largest: float,
    ln_inverse_delta: float,
    skip: int,
    *,
    theta: float | None = None,
    grid: Sequence[float] | None = None,
) -> tuple[float, dict[str, float]]:
    r"""A limit for sum_t E[loss_t size_t | past] / sum_t E[size_t] after the first `skip`, and its parts.

    theta + max(U, 0)/L: U bounds the mean of size (loss - theta) at 0.9 delta, L is a lower limit of the mean size at
    0.1 delta. theta is known when the others begin: the ratio over the last quarter of the skipped.
    """
    (low, high), total = limits, losses * sizes
    if theta is None:
        late = slice(skip - max(1, skip // 4), skip)
        theta = float(np.clip(math.fsum(total[late]) / math.fsum(sizes[late]), low, high))
    least, width = largest * (low - theta), largest * (high - low)
    x = np.clip((total - theta * sizes - least) / width, 0.0, 1.0)  # mutants: rounding-margins
    excess = least + width * log_form_upper(x, ln_inverse_delta - math.log(0.9), skip, grid)
    mean_size = largest * (1.0 - log_form_upper(1.0 - sizes / largest, ln_inverse_delta - math.log(0.1), skip, grid))
    value = theta + max(excess, 0.0) / mean_size if mean_size > 0.0 else math.inf
    return value, {"theta": theta, "excess per document": excess, "least mean size": mean_size}
