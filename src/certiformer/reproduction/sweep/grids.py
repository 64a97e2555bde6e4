"""Parts of a grid, and grids that go beyond it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from certiformer.reproduction.sweep.run import Config, Experiment, canonical
from certiformer.theory.core.errors import InputError, UnknownNameError


def part(experiment: Experiment, only: Mapping[str, Any]) -> Experiment:
    """The runs whose configuration has these values, of several one of them.

    Keys stay the same, so that nothing is ever done twice.
    """
    _known(experiment, only)
    wanted = {name: value if isinstance(value, (list, tuple)) else [value] for name, value in only.items()}
    there = {name: _values(experiment, name) for name in only}
    kept = [c for c in experiment.configs if all(n in c and _among(c[n], values) for n, values in wanted.items())]
    if not kept or not all(_among(value, there[name]) for name, values in wanted.items() for value in values):
        raise InputError("--only", dict(only), f"values that occur in the grid: {there}")
    return dataclasses.replace(experiment, configs=kept)


def extended(experiment: Experiment, values: Mapping[str, Sequence[Any]]) -> Experiment:
    """The grid with these values of some entries, whether it had them or not.

    For a value that the grid has, its own runs; for a new one those of the nearest value, with the new one in its
    place: what goes with a width or a size, such as a number of epochs, is taken from its neighbour.
    """
    _known(experiment, values)
    configs: list[Config] = list(experiment.configs)
    for name, wanted in values.items():
        present = list({canonical(c[name]): c[name] for c in configs if name in c}.values())
        chosen = []
        for value in wanted:
            nearest, meant = _nearest(name, value, present)
            chosen += [{**c, name: meant} for c in configs if name in c and _same(c[name], nearest)]
        if not chosen:
            raise InputError("--set", f"{name}={list(wanted)}", "at least one value")
        configs = chosen
    unique = {canonical(config): config for config in configs}
    return dataclasses.replace(experiment, configs=list(unique.values()))


def _nearest(name: str, value: Any, present: Sequence[Any]) -> tuple[Any, Any]:
    """The value of the grid that is nearest, and `value` as the grid would write it: 4 where 4.0 was typed."""
    for own in present:
        if _same(own, value):
            return own, own
    numbers = [p for p in present if is_number(p)]
    if not is_number(value) or not numbers:
        raise InputError("--set", f"{name}={canonical(value)}", f"a number, or one of {', '.join(map(str, present))}")
    meant = value
    if all(isinstance(p, int) for p in numbers):
        if not float(value).is_integer():
            raise InputError("--set", f"{name}={value}", f"whole numbers, as in the grid: {_sorted(numbers)}")
        meant = int(value)
    elif all(isinstance(p, float) for p in numbers):
        meant = float(value)
    if value > 0 and min(numbers) > 0:
        return min(numbers, key=lambda p: (abs(math.log(p / value)), p)), meant
    return min(numbers, key=lambda p: (abs(p - value), p)), meant


def is_number(value: Any) -> bool:
    """Whether a value is a number, and not true or false."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _same(one: Any, other: Any) -> bool:
    """4 and 4.0 are the same; 1 and true are not, whatever Python says."""
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _among(value: Any, values: Iterable[Any]) -> bool:
    return any(_same(value, each) for each in values)


def _known(experiment: Experiment, names: Mapping[str, Any]) -> None:
    known = {name for config in experiment.configs for name in config}
    for name in names:
        if name not in known:
            raise UnknownNameError("part of a configuration", name, known, f"Known: {', '.join(sorted(known))}.")


def _values(experiment: Experiment, name: str) -> list[Any]:
    return _sorted({canonical(c[name]): c[name] for c in experiment.configs if name in c}.values())


def _sorted(values: Iterable[Any]) -> list[Any]:
    return sorted(values, key=lambda v: (isinstance(v, str), v if isinstance(v, (str, int, float)) else 0))
