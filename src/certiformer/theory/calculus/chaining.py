r"""From covering numbers to Rademacher complexity (T8). Let |f - f0| <= D on the sample, f0 fixed; always R <= D.

Classical:  R <= inf_delta 4 delta + (12/sqrt n) int_delta^{D/2} sqrt(ln N(eps)) deps, any covers.
Proper:     R <= eps_K + sum_j eps_{j-1} sqrt(2 ln N(eps_j) / n)            for any D = eps_0 > ... > eps_K.
External:   R <= eps_K + sum_j (eps_{j-1} + eps_j) sqrt(2 ln N(eps_j) / n)  for any D = eps_0 > ... > eps_K.

The scales of a chain are the analyst's to choose, so they are optimised: a shortest path over a grid of scales, then
shortest paths over ever finer grids around it. Every candidate is a bound, so the optimum is one whatever the optimiser
does.

A link to eps_j costs at least eps_{j-1} sqrt(2 ln N(eps_j)/n) and saves at most eps_{j-1}: scales with ln N >= n/2 are
never used, and if ln N just below D is that large, the answer is D after one look.
"""

from __future__ import annotations

import bisect
import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from certiformer.theory.calculus.covers import Cover
from certiformer.theory.core.elementwise import each, several
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.lazy import Array, np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_SEARCHED = 1000  # mutants: any-chain-is-a-bound
"""Up to so many n each has a search of its own, the same as for a single n."""

_DECADES = 12.0
_POINTS = 480  # mutants: any-chain-is-a-bound
_BLOCK = 48  # mutants: any-chain-is-a-bound
_FINER = 8  # mutants: any-chain-is-a-bound
_NODES_PER_DECADE = 25  # mutants: any-chain-is-a-bound
_ROWS = 1024  # mutants: any-chain-is-a-bound
_ADJUSTMENTS = (0.02, 0.008, 0.003, 0.001)  # mutants: any-chain-is-a-bound
_ROUNDS = 4  # mutants: any-chain-is-a-bound
_REPEATS = 5  # mutants: any-chain-is-a-bound


@functools.cache
def _grid() -> Array:
    """Logarithms of the largest radius over the radii of a chain."""
    return np.linspace(0.0, _DECADES * math.log(10.0), _POINTS)  # mutants: any-chain-is-a-bound


def dudley_closed(constant: float, radius: float, n: float, additive: float = 0.0) -> float:
    r"""min(D, 12 s (1 + ln(D/3s)) + 12 D sqrt(a/n)), s = sqrt(C/n), for ln N <= a + C/eps^2; any covers.

    Below its range (3s >= D) the formula would decrease and turn negative; the answer there is D.
    """
    return _integral(constant, radius, n, additive, upto=radius)


def dudley_closed_half(constant: float, radius: float, n: float, additive: float = 0.0) -> float:
    r"""min(D, 12 s (1 + ln(D/6s)) + 6 D sqrt(a/n)): the same integral, stopped at D/2 as the proof allows."""
    return _integral(constant, radius, n, additive, upto=radius / 2.0)


def _integral(constant: float, radius: float, n: float, additive: float, *, upto: float) -> float:
    """min(D, 4 delta + 12 int_delta^upto sqrt((a + C/eps^2)/n) deps) at delta = 3s, D where 3s >= upto."""

    def closed(constant: float, n: float) -> float:
        s = math.sqrt(constant / n)
        if 3.0 * s >= upto:  # mutants: nobody-looks
            return radius
        integral = 12.0 * s * (1.0 + math.log(upto / (3.0 * s))) if s > 0.0 else 0.0
        return min(radius, integral + 12.0 * upto * math.sqrt(additive / n))

    return each(closed, constant, n)  # type: ignore[no-any-return]


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
    ratios = np.arange(22, 161)[:, None] / 20.0  # mutants: any-chain-is-a-bound
    scales = radius * ratios ** -np.arange(0.0, 81.0)  # mutants: any-chain-is-a-bound
    roots = scales[:, :-1] * np.sqrt(2.0 * (additive + cover.log_sizes(scales[:, 1:])))

    def least(n: float) -> float:
        return min(radius, float(np.min(scales[:, 1:] + np.cumsum(roots / math.sqrt(n), axis=1))))

    return each(least, n)  # type: ignore[no-any-return]


def chain_value(scales: Array, log_sizes: Array, n: float, *, external: bool) -> float:
    """The bound of one chain: `scales` are eps_0 > ... > eps_K, `log_sizes` are ln N at eps_1, ..., eps_K."""
    links = scales[:-1] + scales[1:] if external else scales[:-1]
    return float(scales[-1] + np.sum(links * np.sqrt(2.0 * log_sizes / n)))


def _chain(cover: Cover, radius: float, n: float, additive: float, *, external: bool) -> float:
    found: Any = _chains(cover, radius, np.atleast_1d(np.asarray(n, np.float64)), additive, external=external)
    return found if several(n) else float(found[0])


def _chains(cover: Cover, radius: float, n: Array, additive: float, *, external: bool) -> Array:
    """The best chains for several n at once: their covers are the same, and so are the scales to choose from."""
    if math.isinf(radius):
        return np.full(len(n), radius)
    rough = cover.roughly

    def sizes(steps: Array) -> Array:
        """ln N at the scales D e^-steps; those of a network are computed once each."""
        if cover.rough is None:  # mutants: any-chain-is-a-bound
            return additive + cover.log_sizes(radius * np.exp(-steps))
        different, place = np.unique(steps, return_inverse=True)
        return (additive + rough.log_sizes(radius * np.exp(-different)))[place].reshape(steps.shape)

    # Beyond ln N = n/2 a link costs more than it saves; fine scales may be costly to look at, hence in blocks.
    coarse = [np.zeros(1)]  # mutants: any-chain-is-a-bound
    for start in range(1, _POINTS, _BLOCK):  # mutants: any-chain-is-a-bound
        coarse.append(additive + _tabulated(rough, radius, start))
        if coarse[-1].max() >= np.max(n) / 2.0:  # mutants: any-chain-is-a-bound
            break
    table = np.concatenate(coarse)
    if len(n) <= MOST_SEARCHED:  # mutants: any-chain-is-a-bound
        best, _ = _searched(sizes, table, n, external=external)
    else:
        best = _between_nodes(sizes, table, _nodes(n), n, external=external)
    return np.minimum(radius, best * radius)


@functools.lru_cache(maxsize=256)  # mutants: any-chain-is-a-bound
def _tabulated(cover: Cover, radius: float, start: int) -> Array:
    """ln N at a block of the grid's scales, once for all n and for all points of a sweep that share the cover."""
    return cover.log_sizes(radius * np.exp(-_grid()[start : start + _BLOCK]))


def _nodes(n: Array) -> Array:
    """Some of the n, the least and the largest among them: so many to a decade."""
    ordered = np.unique(n)
    low, high = float(ordered[0]), float(ordered[-1])  # mutants: any-chain-is-a-bound
    # mutants: any-chain-is-a-bound
    many = math.ceil(_NODES_PER_DECADE * math.log10(high / low)) + 1 if high > low else 1
    places = np.searchsorted(ordered, np.geomspace(low, high, many + 1))  # mutants: any-chain-is-a-bound
    return np.unique(ordered[np.minimum(places, len(ordered) - 1)])  # mutants: any-chain-is-a-bound


def _between_nodes(sizes: Callable[[Array], Array], table: Array, nodes: Array, n: Array, *, external: bool) -> Array:
    """Many n: chains are sought at the nodes, and those of the two next to each n are adjusted to it."""
    _, found = _searched(sizes, table, nodes, external=external)
    above = np.searchsorted(nodes, n)  # at most the last: the largest n is a node
    below = np.maximum(above - 1, 0)  # mutants: any-chain-is-a-bound
    best = np.full(len(n), np.inf)
    for start in range(0, len(n), _ROWS):  # mutants: any-chain-is-a-bound
        rows = slice(start, start + _ROWS)
        for start_from in (below[rows], above[rows]):
            value, steps = np.full(len(start_from), np.inf), found[start_from]
            longest = int(np.max(np.sum(steps > 0.0, axis=1)))  # mutants: any-chain-is-a-bound
            steps = steps[:, steps.shape[1] - longest - 1 :]  # mutants: any-chain-is-a-bound
            for step in _ADJUSTMENTS:
                # mutants: any-chain-is-a-bound
                value, steps = _closer(sizes, steps, step, n[rows], value, 2, external=external)
            best[rows] = np.minimum(best[rows], value)
    return best


def _searched(sizes: Callable[[Array], Array], table: Array, n: Array, *, external: bool) -> tuple[Array, Array]:
    """The best chain of each n in units of D, and ln(D/eps_j) of its scales; `table` is ln N at the coarse ones."""
    over = np.flatnonzero(table >= np.max(n) / 2.0)  # mutants: any-chain-is-a-bound
    costs = table[: over[0] + 1] if len(over) else table  # mutants: any-chain-is-a-bound
    steps = _grid()[: len(costs)]
    # mutants: any-chain-is-a-bound
    links = np.sqrt(2.0 * np.where(np.roll(costs, 1) < n[:, None] / 2.0, costs, np.inf) / n[:, None])
    links[:, 0] = 0.0  # mutants: any-chain-is-a-bound
    best, paths = _shortest_paths(np.exp(-steps), links, external=external)
    found = np.where(paths > 0, steps[paths], 0.0)  # mutants: any-chain-is-a-bound
    step = float(steps[1]) if len(steps) > 1 else 0.0  # mutants: any-chain-is-a-bound
    for _ in range(_ROUNDS):
        step /= _FINER
        moving = np.arange(len(n))
        for _ in range(_REPEATS):
            last = best[moving]
            now, steps_now = _closer(sizes, found[moving], step, n[moving], last, _FINER, external=external)
            best[moving], found[moving] = now, steps_now
            moving = moving[now < last * (1.0 - 1e-6)]  # mutants: any-chain-is-a-bound
            if not len(moving):
                break
    return best, found


def _shortest_paths(scales: Array, links: Array, *, external: bool) -> tuple[Array, NDArray[np.int64]]:
    """Least sums of links from the coarsest scale to any scale, plus that scale; one row of `links` per problem.

    The paths are rows of indices that end with the finest scale; 0, the coarsest, fills what is not needed.
    """
    rows, many = links.shape
    if rows == 1:  # mutants: any-chain-is-a-bound
        least, path = _shortest_path(scales.tolist(), links[0].tolist(), external=external)
        return np.array([least]), np.array([path])
    reached = np.full((rows, many), np.inf)
    reached[:, 0] = 0.0  # mutants: any-chain-is-a-bound
    previous = np.zeros((rows, many), dtype=np.int64)
    every = np.arange(rows)
    for j in range(1, many):  # mutants: any-chain-is-a-bound
        cost = links[:, j : j + 1]
        totals = reached[:, :j] + scales[:j] * cost
        at = np.argmin(totals, axis=1)
        previous[:, j] = at
        reached[:, j] = totals[every, at] + (scales[j] * cost[:, 0] if external else 0.0)
    ends = reached + scales
    last = np.argmin(ends, axis=1)  # mutants: any-chain-is-a-bound
    path = [last]
    while np.any(path[-1] > 0):  # mutants: any-chain-is-a-bound
        path.append(previous[every, path[-1]])  # mutants: any-chain-is-a-bound
    return ends[every, last], np.stack(path[::-1], axis=1)  # mutants: any-chain-is-a-bound


def _shortest_path(scales: list[float], links: list[float], *, external: bool) -> tuple[float, list[int]]:
    """One problem: reached[i] + scales[i] c is a line in c = links[j], and the lowest of those before j is sought.

    Scales fall, so lines come by falling slopes: those that are lowest somewhere stand in that order, `until` the c
    where the next one takes over.
    """
    reached, previous = [0.0], [0]  # mutants: nobody-looks
    lines, until = [0], [math.inf]
    for j in range(1, len(scales)):
        cost = links[j]
        if cost == math.inf:
            break
        at = lines[bisect.bisect_left(until, cost)]
        total = reached[at] + scales[at] * cost + (scales[j] * cost if external else 0.0)
        reached.append(total)
        previous.append(at)
        while True:
            last = lines[-1]
            begins = (total - reached[last]) / (scales[last] - scales[j])
            if len(lines) == 1 or begins > until[-2]:
                break
            lines.pop()
            until.pop()
        until[-1] = begins
        lines.append(j)
        until.append(math.inf)
    ends = [one + scale for one, scale in zip(reached, scales, strict=False)]
    least = min(ends)
    path = [ends.index(least)]
    while path[-1] > 0:
        path.append(previous[path[-1]])
    return least, path[::-1]


def _closer(
    sizes: Callable[[Array], Array], steps: Array, step: float, n: Array, best: Array, wide: int, *, external: bool
) -> tuple[Array, Array]:
    """Every scale of every chain may move by up to `wide` times `step`: the best combination, exactly.

    `steps` are ln(D/eps_j), a row per chain, 0 where the chain is shorter; scales are in units of D.
    """
    rows, length = steps.shape
    around = step * np.arange(-wide, wide + 1.0)  # mutants: any-chain-is-a-bound
    # mutants: any-chain-is-a-bound
    moved = np.maximum(steps[..., None] + np.where(steps > 0.0, 1.0, 0.0)[..., None] * around, 0.0)
    live = moved > 0.0  # mutants: any-chain-is-a-bound
    with np.errstate(invalid="ignore"):
        costs = np.where(live, np.sqrt(2.0 * sizes(moved) / n[:, None, None]), 0.0)  # mutants: any-chain-is-a-bound
    scales = np.exp(-moved)
    total, came = np.zeros((rows, moved.shape[-1])), []  # mutants: any-chain-is-a-bound
    for j in range(1, length):  # mutants: any-chain-is-a-bound
        ways = total[:, :, None] + scales[:, j - 1, :, None] * costs[:, j, None, :]
        # Chains get finer as they go.
        ways = np.where(moved[:, j - 1, :, None] <= moved[:, j, None, :], ways, np.inf)
        came.append(np.argmin(ways, axis=1))  # mutants: any-chain-is-a-bound
        total = np.min(ways, axis=1) + (scales[:, j] * costs[:, j] if external else 0.0)
    ends = total + scales[:, -1]  # mutants: any-chain-is-a-bound
    every, at = np.arange(rows), np.argmin(ends, axis=1)  # mutants: any-chain-is-a-bound
    value, chosen = ends[every, at], [at]
    for back in reversed(came):
        chosen.append(back[every, chosen[-1]])  # mutants: any-chain-is-a-bound
    found = moved[every[:, None], np.arange(length), np.stack(chosen[::-1], axis=1)]  # mutants: any-chain-is-a-bound
    better = value < best
    return np.where(better, value, best), np.where(better[:, None], found, steps)
