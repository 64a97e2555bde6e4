"""The kinds of covers that an entropy is the least of, group by group of weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from certiformer.theory.calculus.entropies import Entropy, Least, Scaled, Shifted


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
