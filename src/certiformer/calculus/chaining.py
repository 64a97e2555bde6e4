r"""From covering numbers to Rademacher complexity (T8). Let |f - f0| <= D on the sample, f0 fixed; always R <= D.

Classical:  R <= inf_delta 4 delta + (12/sqrt n) int_delta^{D/2} sqrt(ln N(eps)) deps, any covers.
Proper:     R <= eps_K + sum_j eps_{j-1} sqrt(2 ln N(eps_j) / n)            for any D = eps_0 > ... > eps_K.
External:   R <= eps_K + sum_j (eps_{j-1} + eps_j) sqrt(2 ln N(eps_j) / n)  for any D = eps_0 > ... > eps_K.

The scales of a chain are the analyst's to choose, so they are optimised: a shortest path over a fine grid of scales,
then a local polish. Every candidate is a bound, so the optimum is one whatever the optimiser does.

A link to eps_j costs at least eps_{j-1} sqrt(2 ln N(eps_j)/n) and saves at most eps_{j-1}: scales with ln N >= n/2 are
never used, and if ln N just below D is that large, the answer is D after one look.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
import scipy
from numpy.typing import NDArray

from certiformer.calculus.covers import Cover
from certiformer.core.errors import InputError

Array = NDArray[np.float64]
LogSize = Callable[[float], float]

_DECADES = 12.0
_POINTS = 480


def dudley_closed(constant: float, radius: float, n: float, additive: float = 0.0) -> float:
    r"""min(D, 12 s (1 + ln(D/3s)) + 12 D sqrt(a/n)), s = sqrt(C/n), for ln N <= a + C/eps^2; any covers.

    Below its range (3s >= D) the formula would decrease and turn negative; the answer there is D.
    """
    s = math.sqrt(constant / n)
    if 3.0 * s >= radius:
        return radius
    integral = 12.0 * s * (1.0 + math.log(radius / (3.0 * s))) if s > 0.0 else 0.0
    return min(radius, integral + 12.0 * radius * math.sqrt(additive / n))


def dudley_closed_half(constant: float, radius: float, n: float, additive: float = 0.0) -> float:
    r"""min(D, 12 s (1 + ln(D/6s)) + 6 D sqrt(a/n)): the same integral, stopped at D/2 as the proof allows."""
    s = math.sqrt(constant / n)
    if 6.0 * s >= radius:
        return radius
    integral = 12.0 * s * (1.0 + math.log(radius / (6.0 * s))) if s > 0.0 else 0.0
    return min(radius, integral + 6.0 * radius * math.sqrt(additive / n))


def proper_chain(cover: Cover, radius: float, n: float, additive: float = 0.0) -> float:
    """The best proper chain; refuses a cover whose members may lie outside the class."""
    if not cover.proper:
        raise InputError("cover", cover.name, "a proper cover", "Use external_chain, or cover.made_proper()")
    return _chain(cover, radius, n, additive, external=False)


def external_chain(cover: Cover, radius: float, n: float, additive: float = 0.0) -> float:
    """The best chain of covers that need not lie in the class. Proper covers are welcome."""
    return _chain(cover, radius, n, additive, external=True)


def geometric_chain(cover: Cover, radius: float, n: float, additive: float = 0.0) -> float:
    """The best proper chain among the scales D q^-j, q = 1.10, 1.15, ..., 8.00, j <= 80: plain and reproducible."""
    if not cover.proper:
        raise InputError("cover", cover.name, "a proper cover", "Use external_chain, or cover.made_proper()")
    best = radius
    for q in np.arange(22, 161) / 20.0:
        scales = radius * q ** -np.arange(0.0, 81.0)
        sizes = np.array([additive + cover.log_size(float(eps)) for eps in scales[1:]])
        partial = scales[1:] + np.cumsum(scales[:-1] * np.sqrt(2.0 * sizes / n))
        best = min(best, float(np.min(partial)))
    return best


def chain_value(scales: Array, log_sizes: Array, n: float, *, external: bool) -> float:
    """The bound of one chain: `scales` are eps_0 > ... > eps_K, `log_sizes` are ln N at eps_1, ..., eps_K."""
    links = scales[:-1] + scales[1:] if external else scales[:-1]
    return float(scales[-1] + np.sum(links * np.sqrt(2.0 * log_sizes / n)))


def _chain(cover: Cover, radius: float, n: float, additive: float, *, external: bool) -> float:
    if math.isinf(radius):
        return radius
    rough = cover.roughly

    def search(eps: float) -> float:
        return additive + rough.log_size(eps)

    scales = radius * np.exp(-np.linspace(0.0, _DECADES * math.log(10.0), _POINTS))
    sizes = np.full(len(scales), math.inf)
    sizes[0] = 0.0
    for j in range(1, len(scales)):
        sizes[j] = search(float(scales[j]))
        if sizes[j] >= n / 2.0:
            # ln N only grows from here: a link would cost more than it saves.
            break
    best, path = _shortest_path(scales, np.sqrt(2.0 * sizes / n), external=external)
    if len(path) > 1:
        best, found = _polish(search, scales[path], n, external=external)
        if rough is not cover:
            sizes = np.array([additive + cover.log_size(float(eps)) for eps in found[1:]])
            best = min(best, chain_value(found, sizes, n, external=external))
    return min(radius, best)


def _shortest_path(scales: Array, costs: Array, *, external: bool) -> tuple[float, list[int]]:
    """Least sum of links from the coarsest scale to any scale, plus that scale."""
    reached = np.full(len(scales), np.inf)
    reached[0] = 0.0
    previous = np.zeros(len(scales), dtype=np.int64)
    for j in range(1, len(scales)):
        if math.isinf(costs[j]):
            continue
        links = (scales[:j] + scales[j] if external else scales[:j]) * costs[j]
        totals = reached[:j] + links
        previous[j] = int(np.argmin(totals))
        reached[j] = totals[previous[j]]
    last = int(np.argmin(reached + scales))
    path = [last]
    while path[-1] != 0:
        path.append(int(previous[path[-1]]))
    return float(reached[last] + scales[last]), path[::-1]


def _polish(log_size: LogSize, scales: Array, n: float, *, external: bool) -> tuple[float, Array]:
    """Move the scales of a chain continuously; whatever comes out is still a chain: its value and its scales."""
    top = float(scales[0])
    limits = math.log(scales[-1]) - 7.0, math.log(top)
    remembered = functools.cache(log_size)  # a numerical gradient moves one scale at a time

    def moved(ln_scales: Array) -> Array:
        return np.concatenate([[top], np.sort(np.exp(np.clip(ln_scales, *limits)))[::-1]])

    def value(ln_scales: Array) -> float:
        eps = moved(ln_scales)
        sizes = np.array([remembered(float(e)) for e in eps[1:]])
        result = chain_value(eps, sizes, n, external=external) / top
        return result if math.isfinite(result) else 1e300

    start = np.log(scales[1:])
    found = scipy.optimize.minimize(
        value, start, method="L-BFGS-B", options={"maxiter": 40, "maxfun": 40 * (len(start) + 1)}
    )
    best = min(start, found.x, key=value)
    return top * value(best), moved(best)
