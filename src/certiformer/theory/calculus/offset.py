r"""Offset Rademacher complexity: E_tau sup_h [ (1/n) sum tau_i h_i - (beta/n) sum h_i^2 ].

Exact for a finite class on one sample by enumeration of the signs; otherwise bounded: ln N/(2 beta n) for N functions,
and offset chaining (S6) for a class with covers. One sample, or some sign draws, give an *estimate* of the expectation
that the theorems are about, never a bound; a search for the supremum in a network gives a lower bound only.

Proofs: docs/proofs/li.md.
"""

from __future__ import annotations

import itertools
import math

from certiformer.theory.calculus.covers import Cover
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.lazy import Array, np

MOST_SIGNS = 18
_NATS = 28.0  # mutants: any-chain-is-a-bound
_POINTS = 141  # mutants: any-chain-is-a-bound
_STRIDES = (1, 2, 3, 4, 5, 6, 8, 10, 14, 20)  # mutants: any-chain-is-a-bound


def exact(values: Array, beta: float) -> float:
    """The complexity of a finite class on one sample, over all 2^n sign vectors; `values` is (functions, n)."""
    n = values.shape[1]
    if n > MOST_SIGNS:
        raise InputError("n", n, f"at most {MOST_SIGNS} points for enumeration", "Use finite_class")
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=n)))
    return float(np.mean(_suprema(values, beta, signs)))


def half_width(bound: float, n: int, draws: int, eta: float) -> float:
    """M sqrt(2 ln(2/eta)/(n m)) for |h| <= M: bounded differences 2M/(nm) in each of the nm signs (McDiarmid)."""
    return bound * math.sqrt(2.0 * math.log(2.0 / eta) / (n * draws))


def finite_class(log_size: float, beta: float, n: float) -> float:
    """ln N/(2 beta n): E exp(s (sum tau h - beta sum h^2)) <= 1 at s = 2 beta."""
    return log_size / (2.0 * beta * n)


def chain_value(scales: Array, log_sizes: Array, beta: float, n: float) -> float:
    r"""S6 for scales eps_0 > ... > eps_K with log sizes ln N(eps_0), ..., ln N(eps_K); s_1 = eps_1 + ... + eps_K.

    .. math:: \frac{2\ln(N_0+1)}{\beta n} + (\varepsilon_0+s_1)\sqrt{\frac{2\ln(N_1(N_0+1))}{n}}
              + \sum_{k=2}^{K}\varepsilon_{k-1}\sqrt{\frac{2\ln N_k}{n}} + \varepsilon_K
    """
    return float(_chain_values(scales, log_sizes, beta, n)[-1])


def chain(cover: Cover, beta: float, n: float) -> float:
    """S6 at the best geometric scales. Needs a proper cover in the empirical L2 norm (a sup-norm one will do)."""
    if not cover.proper:
        raise InputError("cover", cover.name, "a proper cover", "Use cover.made_proper()")
    if cover.ln_radius == -math.inf:  # one function
        return 0.0
    if cover.ln_radius == math.inf:
        raise InputError("cover", cover.name, "a class of finite radius", "Restrict the class, or bound its outputs")
    grid = np.exp(cover.ln_radius - np.linspace(0.0, _NATS, _POINTS))
    rough = cover.roughly
    sizes = np.array([rough.log_size(float(eps)) for eps in grid])
    best = math.inf
    for start, stride in itertools.product(range(_POINTS), _STRIDES):
        values = _chain_values(grid[start::stride], sizes[start::stride], beta, n)
        best = min(best, float(np.min(values)))
    return best


def _chain_values(scales: Array, log_sizes: Array, beta: float, n: float) -> Array:
    """The bound for every K from 0 to the number of scales minus one."""
    ln_plus = float(np.logaddexp(log_sizes[0], 0.0))
    coarse = 2.0 * ln_plus / (beta * n)
    if len(scales) == 1:
        return np.array([coarse + scales[0]])
    pairs = math.sqrt(2.0 * (float(log_sizes[1]) + ln_plus) / n)
    first = (scales[0] + np.cumsum(scales[1:])) * pairs
    links = np.concatenate([[0.0], np.cumsum(scales[1:-1] * np.sqrt(2.0 * log_sizes[2:] / n))])
    return np.concatenate([[coarse + scales[0]], coarse + first + links + scales[1:]])


def _suprema(values: Array, beta: float, signs: Array) -> Array:
    """sup_h of the offset process for each row of signs."""
    n = values.shape[1]
    penalty = beta / n * np.sum(values**2, axis=1)
    return np.asarray(np.max(signs @ values.T / n - penalty, axis=1), dtype=np.float64)
