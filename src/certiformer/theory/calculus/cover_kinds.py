"""The kinds of covers that an entropy is the least of; and the entropies of many groups of weights at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from certiformer.theory.calculus.entropies import (
    Added,
    Entropy,
    Least,
    Multisets,
    Power,
    Scaled,
    Shifted,
    Volume,
    multisets_on,
    raised,
    sizes,
)
from certiformer.theory.core.lazy import Array, np

_LOOK = tuple(0.25 * number for number in range(121))  # mutants: skipped-kinds


@dataclass(frozen=True, slots=True)
class Kind:
    """factor * base(x + shift), base a Volume or a Power record or anything else (by table)."""

    base: Entropy
    factor: float = 1.0  # mutants: nobody-leaves-it-out
    shift: float = 0.0  # mutants: nobody-leaves-it-out


def kinds_of(entropy: Entropy, factor: float = 1.0, shift: float = 0.0) -> list[Kind]:
    """The alternatives an entropy is the minimum of."""
    if isinstance(entropy, Scaled):
        return kinds_of(entropy.of, factor * entropy.copies, shift)
    if isinstance(entropy, Shifted):
        return kinds_of(entropy.of, factor, shift + entropy.shift)
    if isinstance(entropy, Least):
        return [kind for part, more in entropy.parts for kind in kinds_of(part, factor, shift + more)]
    return [Kind(entropy, factor, shift)]


Column = tuple[Kind | None, ...]


def columns(kinds: Sequence[Sequence[Kind]]) -> tuple[Column, ...]:
    """The j-th kind of every group, None where it has fewer."""
    most = max((len(each) for each in kinds), default=0)
    return tuple(tuple(each[j] if j < len(each) else None for each in kinds) for j in range(most))


def members(column: Column) -> tuple[tuple[Kind, list[int]], ...]:
    """The kinds of a column, each with the groups that have it."""
    groups: dict[Kind, list[int]] = {}
    for g, kind in enumerate(column):
        if kind is not None:
            groups.setdefault(kind, []).append(g)
    return tuple(groups.items())


@dataclass(frozen=True, slots=True)
class Bank:
    """The entropies of many groups, column by column: one formula for the volumes of all groups, one for their powers.

    What a group does not have costs inf there. Like every entropy on arrays, never below the single numbers.
    """

    volumes: tuple[tuple[tuple[Array, Array], ...], ...]  # summands: parameters, ln of the factor before e^x
    powers: tuple[tuple[Array, Array], ...]  # coefficient, twice the shift
    draws: tuple[tuple[Array, Array, Array, Array], ...]  # dimensions, factor, shift, x from which on volumes are less
    others: tuple[tuple[Kind, list[int]], ...]

    @classmethod
    def of(cls, entropies: Sequence[Entropy]) -> Bank:
        """The kinds of several entropies, put together formula by formula."""
        kinds = [kinds_of(entropy) for entropy in entropies]
        formulas = dict.fromkeys(_formula(kind) for each in kinds for kind in each)
        by_formula = {one: columns([[k for k in each if _formula(k) == one] for each in kinds]) for one in formulas}
        volumes = [[kind for kind in each if _formula(kind) == (Volume, 1)] for each in kinds]  # mutants: skipped-kinds
        return cls(
            tuple(
                tuple(_summand(column, number) for number in range(formula[1]))
                for formula, found in by_formula.items()
                if formula[0] is Volume
                for column in found
            ),
            tuple(
                (
                    _entries(column, lambda kind: kind.factor * kind.base.coefficient, math.inf),
                    _entries(column, lambda kind: 2.0 * kind.shift, 0.0),  # mutants: nobody-looks
                )
                for column in by_formula.get((Power, 1), ())
            ),
            tuple(
                (
                    _entries(column, lambda kind: float(kind.base.dimension), 1.0),  # mutants: nobody-looks
                    _entries(column, lambda kind: kind.factor, math.inf),
                    _entries(column, lambda kind: kind.shift, 0.0),  # mutants: nobody-looks
                    np.array([[_useful(kind, each)] for kind, each in zip(column, volumes, strict=True)]),
                )
                for column in by_formula.get((Multisets, 1), ())
            ),
            tuple(pair for column in by_formula.get((object, 1), ()) for pair in members(column)),
        )

    def on(self, x: Array) -> Array:
        """ln N of every group; x > 0 has a row per group."""
        found = np.full(x.shape, np.inf)
        for summands in self.volumes:
            value = np.zeros(x.shape)
            for parameters, ln_factor in summands:
                value += parameters * np.logaddexp(0.0, ln_factor + x)
            np.minimum(found, raised(raised(value)), out=found)
        for coefficient, twice in self.powers:
            exponent = 2.0 * x + twice
            # mutants: ends-of-the-floats
            np.minimum(found, raised(coefficient * np.exp(np.where(exponent < 709.0, exponent, np.inf))), out=found)
        for dimension, factor, shift, useful in self.draws:
            near = x < useful
            if near.any():
                at, dimensions, factors = (
                    np.broadcast_to(one, x.shape)[near] for one in (x + shift, dimension, factor)
                )
                found[near] = np.minimum(found[near], factors * multisets_on(dimensions, at, shrunk=True))
        for kind, groups in self.others:
            at = x[groups] + kind.shift
            # mutants: nobody-looks
            value = np.where(at > 0.0, kind.factor * sizes(kind.base, np.maximum(at, 1e-300)), 0.0)
            found[groups] = np.minimum(found[groups], value)
        return found


def _formula(kind: Kind) -> tuple[type, int]:
    """The record whose formula serves all groups, and how many of it are added up; `object` where there is none."""
    base = kind.base
    if kind.shift >= 0.0:  # mutants: skipped-kinds
        if isinstance(base, Volume | Power) or (isinstance(base, Multisets) and base.shrunk):
            return type(base), 1
        if isinstance(base, Added) and all(isinstance(part, Volume) for part in base.parts):
            return Volume, len(base.parts)
    return object, 1


def _useful(draws: Kind | None, volumes: Sequence[Kind]) -> float:
    """The x from which on some volume is less: draws cost ln C(2D+K, K) >= 2D ln(1 + K/2D), K >= (e^x - 1)^2.

    From K = 2D on the right side grows with x at the rate 2D at least, and a volume at its P at most: if it is less
    at one such x, and P <= 2D, then for good.
    """
    if draws is None:
        return 0.0  # mutants: skipped-kinds
    x = np.array(_LOOK)
    # mutants: skipped-kinds
    atoms, root = 2.0 * draws.base.dimension, np.expm1(x + draws.shift)  # type: ignore[attr-defined]
    # mutants: skipped-kinds
    least = np.where(root * root >= atoms, draws.factor * atoms * np.log1p(root * root / atoms), -np.inf)
    found = math.inf
    for kind in volumes:
        parameters, ln_factor = kind.factor * kind.base.parameters, kind.base.ln_factor  # type: ignore[attr-defined]
        if parameters <= draws.factor * atoms:
            # mutants: skipped-kinds
            less = np.flatnonzero(parameters * np.logaddexp(0.0, ln_factor + kind.shift + x) < least * (1.0 - 1e-9))
            found = min(found, float(x[less[0]]) if len(less) else math.inf)  # mutants: skipped-kinds
    return found


def _summand(column: Column, number: int) -> tuple[Array, Array]:
    """The volumes that stand at this place of the sums of a column."""

    def volume(base: Any) -> Any:
        return base.parts[number] if isinstance(base, Added) else base

    return (
        _entries(column, lambda kind: kind.factor * volume(kind.base).parameters, math.inf),
        _entries(column, lambda kind: volume(kind.base).ln_factor + kind.shift, 0.0),  # mutants: nobody-looks
    )


def _entries(column: Column, entry: Callable[[Any], float], absent: float) -> Array:
    """A number for each group, one below the other."""
    return np.array([[absent if kind is None else entry(kind)] for kind in column], dtype=np.float64)
