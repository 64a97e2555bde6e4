"""Ways to look for the worst: random points, hill climbing, scans of families, gradient ascent with many restarts."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certiformer.auditing.attack import Attack, Bounds, Candidate, Data, Instance, Version, ratio

Array = NDArray[np.float64]
Built = tuple[Data, Instance] | None
"""An instance with its data; None where a free vector gives none."""
KEPT = 4


@dataclass(slots=True)
class Search:
    """The means of one attack on one claim: chance, a number of points, and the claim's value at given inputs."""

    attack: Attack
    version: Version
    rng: np.random.Generator
    points: int
    bounds: Bounds
    spent: int = 0
    _cache: dict[str, float | None] = field(default_factory=dict)

    def bound(self, inputs: Mapping[str, Any]) -> float | None:
        """The claim at `inputs`; equal inputs are evaluated once."""
        key = repr(sorted(inputs.items()))
        if key not in self._cache:
            self._cache[key] = self.bounds(inputs)
        return self._cache[key]

    def score(self, attained: float, inputs: Mapping[str, Any], given: float | None = None) -> float:
        """Ratio of what is attained to the claim; -inf where the claim says nothing."""
        bound = self.bounds(inputs, given) if given is not None else self.bound(inputs)
        return -np.inf if bound is None else ratio(attained, bound, self.attack.sense)


def best(search: Search, trials: Iterator[tuple[Candidate, float]], keep: int = KEPT) -> list[Candidate]:
    """The highest scores of a stream of scored trials, each of which counts as one point."""
    heap: list[tuple[float, int, Candidate]] = []
    for number, (candidate, score) in enumerate(trials):
        search.spent += 1
        heapq.heappush(heap, (score, -number, candidate))
        if len(heap) > keep:
            heapq.heappop(heap)
    return [candidate for score, _, candidate in sorted(heap, key=lambda entry: entry[:2], reverse=True) if score > 0]


def sample(draw: Callable[[Search], tuple[Data, float, float]]) -> Callable[[Search], list[Candidate]]:
    """Random search: `draw` makes the data of one instance, what it attains, and its score."""

    def run(search: Search) -> list[Candidate]:
        drawn = (draw(search) for _ in range(search.points))
        return best(search, ((Candidate(data, attained), score) for data, attained, score in drawn))

    return run


def family(
    space: Mapping[str, tuple[float, float] | Sequence[Any]],
    measure: Callable[[Data, Version], Instance],
    whole: Sequence[str] = (),
    climb: float = 0.5,
) -> Callable[[Search], list[Candidate]]:
    """Search a parametric family: `space` gives each parameter a positive range (log-uniform) or a list of choices.

    The first part of the points is drawn at random; the rest are perturbations of the best so far.
    `measure` is the instance that a member is, by the quickest way.
    """

    def draw(rng: np.random.Generator) -> dict[str, Any]:
        point: dict[str, Any] = {}
        for name, choices in space.items():
            if isinstance(choices, tuple):
                low, high = choices
                point[name] = float(np.exp(rng.uniform(np.log(low), np.log(high))))
            else:
                point[name] = choices[int(rng.integers(len(choices)))]
        return tidy(point)

    def tidy(point: dict[str, Any]) -> dict[str, Any]:
        return {name: round(value) if name in whole else value for name, value in point.items()}

    def near(point: Mapping[str, Any], rng: np.random.Generator, step: float) -> dict[str, Any]:
        moved = dict(point)
        for name, choices in space.items():
            if isinstance(choices, tuple):
                low, high = choices
                value = float(point[name]) * float(np.exp(step * rng.normal()))
                moved[name] = min(max(value, low), high)
            elif rng.random() < 0.1:
                moved[name] = choices[int(rng.integers(len(choices)))]
        return tidy(moved)

    def run(search: Search) -> list[Candidate]:
        def trials() -> Iterator[tuple[Candidate, float]]:
            top, top_score, step = None, -np.inf, 1.0
            for number in range(search.points):
                exploring = top is None or number < search.points * (1 - climb)
                point = draw(search.rng) if exploring or top is None else near(top, search.rng, step)
                found = measure(point, search.version)
                score = search.score(found.attained, found.inputs, found.bound)
                if score > top_score:
                    top, top_score = point, score
                elif not exploring:
                    step = max(0.997 * step, 1e-3)
                yield Candidate(point, found.attained), score

        return best(search, trials())

    return run


def closed_form(
    id: str,
    what: str,
    space: Mapping[str, tuple[float, float] | Sequence[Any]],
    inputs: Callable[[Data, Version], Mapping[str, Any]],
    quick: Callable[[Data], float],
    again: Callable[[Data], float],
    whole: Sequence[str] = (),
    **more: Any,
) -> Attack:
    """An attack on a family with a formula: `quick` for the search, another one, `again`, for the verdict."""

    def by(formula: Callable[[Data], float]) -> Callable[[Data, Version], Instance]:
        return lambda data, version: Instance(formula(data), inputs(data, version))

    return Attack(id, what, family(space, by(quick), whole), by(again), **more)


def ascend(
    objective: Callable[[dict[str, Any]], Any],
    draw: Callable[[np.random.Generator], dict[str, Array]],
    search: Search,
    *,
    restarts: int = 64,
    rate: float = 0.05,
    keep: int = 8,
) -> list[dict[str, Array]]:
    """Gradient ascent on `objective` (a jax function of a dict of arrays), all restarts at once; the best ends first.

    The arrays are free: `objective` maps them into the class. The number of steps follows from the points to spend.
    """
    import jax
    import jax.numpy as jnp

    starts = [draw(search.rng) for _ in range(restarts)]
    steps = max(8, -(-search.points // restarts))
    with jax.enable_x64(True):
        params = {name: jnp.asarray(np.stack([start[name] for start in starts])) for name in starts[0]}
        slope = jax.vmap(jax.value_and_grad(objective))

        def step(state: tuple[Any, ...], number: Any) -> tuple[tuple[Any, ...], None]:
            # Adam with a step that shrinks to a hundredth; the best point of each restart is kept.
            here, first, second, top, top_value = state
            value, gradient = slope(here)
            gradient = jax.tree.map(lambda g: jnp.where(jnp.isfinite(g), g, 0.0), gradient)
            better = value > top_value

            def pick(new: Any, old: Any) -> Any:
                return jnp.where(better.reshape((-1,) + (1,) * (new.ndim - 1)), new, old)

            top = jax.tree.map(pick, here, top)
            top_value = jnp.where(better, value, top_value)
            first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
            second = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, second, gradient)
            size = rate * 0.01 ** (number / steps)

            def move(p: Any, m: Any, v: Any) -> Any:
                unbiased = m / (1 - 0.9 ** (number + 1)), v / (1 - 0.99 ** (number + 1))
                return p + size * unbiased[0] / (jnp.sqrt(unbiased[1]) + 1e-12)

            return (jax.tree.map(move, here, first, second), first, second, top, top_value), None

        zero = jax.tree.map(jnp.zeros_like, params)
        state = (params, zero, zero, params, jnp.full(restarts, -jnp.inf))
        _, _, _, top, value = jax.jit(lambda s: jax.lax.scan(step, s, jnp.arange(float(steps)))[0])(state)
        order = np.argsort(-np.where(np.isnan(np.asarray(value)), -np.inf, np.asarray(value)))[:keep]
        found = {name: np.asarray(array) for name, array in top.items()}
    search.spent += restarts * steps
    return [{name: array[i] for name, array in found.items()} for i in order]


def explore(
    size: int,
    build: Callable[[Array, Version], Built],
    spread: float = 1.5,
) -> Callable[[Search], list[Candidate]]:
    """Random search and hill climbing over free real vectors; `build` makes an instance of one, and its data."""

    def run(search: Search) -> list[Candidate]:
        def trials() -> Iterator[tuple[Candidate, float]]:
            rng = search.rng
            top, top_score, step = rng.normal(size=size), -np.inf, 0.7
            for number in range(search.points):
                climbing = number > search.points // 3 and number % 4
                if climbing:
                    point = top + step * rng.normal(size=size) * (rng.random(size) < 0.5)
                    step = max(step * 0.9985, 1e-3)
                else:
                    point = rng.normal(size=size) * np.exp(spread * rng.normal())
                built = build(point, search.version)
                if built is None:
                    yield Candidate({}, 0.0), -np.inf
                    continue
                data, found = built
                score = search.score(found.attained, found.inputs, found.bound)
                if score > top_score:
                    top, top_score = point, score
                yield Candidate(data, found.attained), score

        return best(search, trials())

    return run
