"""Parts of a grid, and grids that go beyond it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from certiformer.core.errors import InputError, UnknownNameError
from certiformer.sweep.run import Config, Experiment, canonical


def part(experiment: Experiment, only: Mapping[str, Any]) -> Experiment:
    """The runs whose configuration has these values, of several one of them.

    Keys stay the same, so that nothing is ever done twice.
    """
    _known(experiment, only)
    wanted = {name: value if isinstance(value, (list, tuple)) else [value] for name, value in only.items()}
    there = {name: _values(experiment, name) for name in only}
    kept = [c for c in experiment.configs if all(name in c and c[name] in values for name, values in wanted.items())]
    if not kept or any(value not in there[name] for name, values in wanted.items() for value in values):
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
        present = {canonical(c[name]): c[name] for c in configs if name in c}
        chosen = []
        for value in wanted:
            nearest = canonical(_nearest(value, list(present.values())))
            chosen += [{**c, name: value} for c in configs if name in c and canonical(c[name]) == nearest]
        configs = chosen
    unique = {canonical(config): config for config in configs}
    return dataclasses.replace(experiment, configs=list(unique.values()))


def _nearest(value: Any, present: Sequence[Any]) -> Any:
    if value in present:
        return value
    numbers = [p for p in present if isinstance(p, (int, float)) and not isinstance(p, bool)]
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not numbers:
        raise InputError("--set", value, f"a number, or one of {', '.join(map(str, present))}")
    if value > 0 and min(numbers) > 0:
        return min(numbers, key=lambda p: (abs(math.log(p / value)), p))
    return min(numbers, key=lambda p: (abs(p - value), p))


def _known(experiment: Experiment, names: Mapping[str, Any]) -> None:
    known = {name for config in experiment.configs for name in config}
    for name in names:
        if name not in known:
            raise UnknownNameError("part of a configuration", name, known, f"Known: {', '.join(sorted(known))}.")


def _values(experiment: Experiment, name: str) -> list[Any]:
    found = {canonical(c[name]): c[name] for c in experiment.configs if name in c}.values()
    return sorted(found, key=lambda v: (isinstance(v, str), v if isinstance(v, (str, int, float)) else 0))
