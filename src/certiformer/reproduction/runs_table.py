"""Runs by keys: what an analysis asks of its rows, said once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from certiformer.reproduction.statistics import Vector
from certiformer.reproduction.sweep import Config, Row

Key = str | Callable[[Config], Any]  # an entry of the configuration, or something made of it
Value = str | Callable[[Row], Any]  # an entry of the values, or a number or several made of a run


class Table:
    """Finished runs, in the order of their configurations' seeds. Parts of a table are tables.

    >>> table.where(teacher="paper").by("width")[64].column("training")          # doctest: +SKIP
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = tuple(sorted(rows, key=lambda row: row.config.get("seed", 0)))

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def where(self, test: Callable[[Row], bool] | None = None, **entries: Any) -> Table:
        """The runs whose configuration has these entries and that pass the test."""
        return Table(
            row
            for row in self.rows
            if all(name in row.config and row.config[name] == entry for name, entry in entries.items())
            and (test is None or test(row))
        )

    def by(self, key: Key) -> dict[Any, Table]:
        """The parts with one value of the key each, in its order; runs without it are left out."""
        parts: dict[Hashable, list[Row]] = {}
        for row in self.rows:
            if callable(key) or key in row.config:
                parts.setdefault(_of(row.config, key), []).append(row)
        return {value: Table(parts[value]) for value in sorted(parts, key=lambda v: (isinstance(v, str), v))}

    def column(self, value: Value) -> Vector:
        """A number of each run, or all the numbers of all runs."""
        found = [value(row) if callable(value) else row.values[value] for row in self.rows]
        return np.concatenate([np.atleast_1d(np.asarray(each, float)) for each in found]) if found else np.zeros(0)

    def points(self, x: Key, y: Value, *, paired: bool = False) -> dict[float, Vector]:
        """What the seeds gave at each x; `paired`: the same seeds everywhere, those that all parts share."""
        parts = self.by(x)
        shared = set.intersection(*(part.seeds for part in parts.values())) if paired and parts else set()
        if shared:
            parts = {at: part.where(lambda row: row.config["seed"] in shared) for at, part in parts.items()}
        return {float(at): part.column(y) for at, part in parts.items()}

    @property
    def seeds(self) -> set[Any]:
        """The seeds of its runs."""
        return {row.config["seed"] for row in self.rows if "seed" in row.config}

    @property
    def config(self) -> Config:
        """The configuration of the first run, for what does not depend on the seed."""
        return self.rows[0].config

    def curve(self, x: Key, of: Callable[[Table], float]) -> dict[float, float]:
        """A number of the runs at each x, such as a bound at their configuration."""
        return {float(at): float(of(part)) for at, part in self.by(x).items()}

    def array(self, name: str) -> np.ndarray[Any, Any]:
        """An array of every run, stacked, cut to the shortest."""
        arrays = [np.asarray(row.arrays[name]) for row in self.rows]
        shortest = min(len(array) for array in arrays)
        return np.stack([array[:shortest] for array in arrays])


def _of(config: Mapping[str, Any], key: Key) -> Any:
    return key(dict(config)) if callable(key) else config[key]
