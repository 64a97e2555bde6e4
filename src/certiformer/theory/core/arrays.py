"""A result as a function of arrays: one or two inputs vary, every variant becomes an array.

An entry is the value at that input alone, to 1e-9. One exception: along more than 1,000 sample sizes the scales of a
chain are searched at some sizes and adjusted to the others, so that an entry may be smaller or larger in the fourth
digit. Every choice of scales is a bound.

>>> import numpy as np
>>> import certiformer
>>> along = certiformer.bound("trauger.lem3.6", Bw=1, Bx=1, eps=np.array([0.25, 0.5]), d=4, k=4)
>>> along.sound["exact"].shape
(2,)
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certiformer.theory.core import notebook
from certiformer.theory.core.csv_writer import csv_text
from certiformer.theory.core.elementwise import Apart, Mixed
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.inputs import Input
from certiformer.theory.core.quantity import Direction
from certiformer.theory.core.result import Evaluation, Result

Values = NDArray[np.float64]
_FEW = 4


def frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Rows as a pandas data frame; pandas is no dependency, and is asked for where it is missing."""
    try:
        import pandas as pd  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        raise InputError("to_frame", "no pandas", "pandas to be installed", "pip install pandas") from None
    return pd.DataFrame(list(rows))


@dataclass(frozen=True, slots=True)
class Part:
    """The evaluation at some points of a grid, by their places: of arrays where the result takes them at once."""

    places: NDArray[np.int64]
    evaluation: Evaluation
    axis: str = ""

    def points(self) -> Iterator[Evaluation]:
        """One evaluation per place."""
        if not self.axis:
            yield self.evaluation
            return
        entries = getattr(self.evaluation.at, self.axis).tolist()
        whole = next(entry.kind == "integer" for entry in self.evaluation.result.inputs if entry.name == self.axis)
        for number, value in enumerate(entries):
            at = self.evaluation.at.with_entries(self.axis, int(value) if whole else value)
            sides = (
                {name: bound.entry(number) for name, bound in side.items()}
                for side in (self.evaluation.printed, self.evaluation.sound)
            )
            yield Evaluation(at, *sides)

    def best(self) -> tuple[NDArray[np.str_], Values]:
        """The name and the value of the best sound variant at every place; no name and nan where there is none."""
        names, size = self.evaluation.eligible, len(self.places)
        if not self.axis or not names:
            name = self.evaluation.best
            value = np.nan if name is None else self.evaluation.sound[name].value
            return np.full(size, name or ""), np.full(size, value)
        values = np.array([np.broadcast_to(self.evaluation.sound[name].value, size) for name in names])
        lower = self.evaluation.result.bounds.direction is Direction.LOWER
        at = (np.argmax if lower else np.argmin)(values, axis=0)
        return np.array(names)[at], values[at, np.arange(size)]


@dataclass(frozen=True)
class Evaluations:
    """The evaluations of a result on a grid; `axes` are the inputs that vary, in the order of the dimensions."""

    result: type[Result]
    axes: Mapping[str, tuple[Any, ...]]
    parts: tuple[Part, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(values) for values in self.axes.values())

    @functools.cached_property
    def points(self) -> tuple[Evaluation, ...]:
        """The evaluation at every point, the last axis fastest."""
        found = {place: one for part in self.parts for place, one in zip(part.places, part.points(), strict=True)}
        return tuple(found[place] for place in range(math.prod(self.shape)))

    @property
    def printed(self) -> dict[str, Values]:
        """Every printed variant as an array; nan where a variant does not exist at a point."""
        return self._values("printed")

    @property
    def sound(self) -> dict[str, Values]:
        """Every sound variant as an array; nan where a variant does not exist at a point."""
        return self._values("sound")

    @property
    def applies(self) -> dict[str, NDArray[np.bool_]]:
        """Where each sound variant has nothing failing and nothing open that an input could have stated."""
        found = {name: np.zeros(math.prod(self.shape), dtype=np.bool_) for name in self._names("sound")}
        for part in self.parts:
            for name, bound in part.evaluation.sound.items():
                found[name][part.places] = bound.applies
        return {name: column.reshape(self.shape) for name, column in found.items()}

    @property
    def hypotheses(self) -> dict[str, dict[str, NDArray[np.str_]]]:
        """The state of every hypothesis of every sound variant, as arrays of words; empty where it plays no part."""
        states: dict[str, dict[str, NDArray[np.str_]]] = {}
        for part in self.parts:
            for name, bound in part.evaluation.sound.items():
                for each in bound.hypotheses:
                    blank = np.full(math.prod(self.shape), "", dtype="<U8")
                    states.setdefault(name, {}).setdefault(each.id, blank)[part.places] = each.state
        return {name: {id: column.reshape(self.shape) for id, column in of.items()} for name, of in states.items()}

    @property
    def best(self) -> Values:
        """The best sound value at every point; nan where there is none to offer."""
        found = np.full(math.prod(self.shape), np.nan)
        for part in self.parts:
            found[part.places] = part.best()[1]
        return found.reshape(self.shape)

    @property
    def best_names(self) -> NDArray[np.str_]:
        names = [part.best()[0] for part in self.parts]
        found = np.full(math.prod(self.shape), "", dtype=np.result_type(*names))
        for part, of in zip(self.parts, names, strict=True):
            found[part.places] = of
        return found.reshape(self.shape)

    def rows(self) -> list[dict[str, Any]]:
        """One row per point: the inputs that vary, then every variant, then which sound one is best."""
        columns = {
            f"{side}_{name}": values.ravel().tolist()
            for side in ("printed", "sound")
            for name, values in self._values(side).items()
        }
        best = self.best_names.ravel().tolist()
        return [
            dict(zip(self.axes, inputs, strict=True))
            | {name: values[number] for name, values in columns.items()}
            | {"best": best[number] or None}
            for number, inputs in enumerate(itertools.product(*self.axes.values()))
        ]

    def to_csv(self) -> str:
        """The rows as comma-separated values."""
        rows = self.rows()
        return csv_text(rows, list(rows[0]))

    def to_frame(self) -> Any:
        """The rows as a pandas data frame."""
        return frame(self.rows())

    def plot(self) -> Any:
        """Printed and sound bounds as a matplotlib figure: curves along one input, a map of two."""
        from certiformer.report.figure import sweep_figure

        return sweep_figure(self)

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.result.id,
            "axes": {name: list(values) for name, values in self.axes.items()},
            "points": [point.as_json() for point in self.points],
        }

    def _names(self, side: str) -> list[str]:
        return list(dict.fromkeys(name for part in self.parts for name in getattr(part.evaluation, side)))

    def _values(self, side: str) -> dict[str, Values]:
        found = {name: np.full(math.prod(self.shape), np.nan) for name in self._names(side)}
        for part in self.parts:
            for name, bound in getattr(part.evaluation, side).items():
                found[name][part.places] = bound.value
        return {name: column.reshape(self.shape) for name, column in found.items()}

    def _repr_html_(self) -> str:
        rows = self.rows()
        return notebook.table(
            f"{self.result.id}: {self.result.title}", list(rows[0]), [list(row.values()) for row in rows]
        )


def varying(result: type[Result], given: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """The single-number inputs that were given as arrays or lists."""
    names = {name: entry for entry in result.inputs for name in (entry.name, *entry.aliases)}
    found = {}
    for name, value in given.items():
        entry = names.get(name)
        several = isinstance(value, np.ndarray) or (isinstance(value, Sequence) and not isinstance(value, str))
        if entry is None or not several or entry.kind not in ("real", "integer"):
            continue
        values = np.asarray(value)
        if values.ndim != 1 or values.size == 0:
            raise InputError(name, f"an array of shape {values.shape}", "a number, or a one-dimensional array of them")
        found[name] = tuple(_checked(entry, name, x) for x in values.tolist())
    if len(found) > 2:
        raise InputError(", ".join(found), "arrays", "at most two inputs that vary at once")
    return found


def _checked(entry: Input, name: str, value: Any) -> Any:
    """An entry of an array, by the same rules as a single number."""
    try:
        return entry.parse(value)
    except InputError:
        fix = f"For example {name}=np.rint({name}): numbers between two whole ones have no bound"
        whole = entry.kind == "integer" and isinstance(value, float)
        raise InputError(
            f"{name}, an array", value, entry.range, fix if whole else f"For example {entry.sample}"
        ) from None


def evaluate_along(result: type[Result], given: Mapping[str, Any], axes: Mapping[str, tuple[Any, ...]]) -> Evaluations:
    """The result at every combination of the values on the axes.

    At once along an axis that the result takes as an array, if it is long enough; point by point otherwise.
    """
    names = {name: entry.name for entry in result.inputs for name in (entry.name, *entry.aliases)}
    shape = tuple(len(values) for values in axes.values())
    places = np.arange(math.prod(shape), dtype=np.int64).reshape(shape)
    at_once = max(
        (name for name in axes if names[name] in result.elementwise), key=lambda n: len(axes[n]), default=None
    )
    parts: list[Part] = []
    if at_once is None or len(axes[at_once]) < _FEW:
        start = result(**{**given, **{name: values[0] for name, values in axes.items()}})
        for place, values in zip(places.reshape(-1, 1), itertools.product(*axes.values()), strict=True):
            parts.append(Part(place, start.at(**dict(zip(axes, values, strict=True))).evaluated()))
        return Evaluations(result, dict(axes), tuple(parts))
    others = [name for name in axes if name != at_once]
    rows = np.moveaxis(places, list(axes).index(at_once), -1).reshape(-1, len(axes[at_once]))
    for row, values in zip(rows, itertools.product(*(axes[name] for name in others)), strict=True):
        here = {**given, **dict(zip(others, values, strict=True))}
        parts += _at_once(result, here, names[at_once], np.array(axes[at_once], dtype=np.float64), row)
    return Evaluations(result, dict(axes), tuple(parts))


def _at_once(
    result: type[Result], given: Mapping[str, Any], name: str, values: Values, places: NDArray[np.int64]
) -> Iterator[Part]:
    """Parts on which every condition that decides a formula holds throughout, or fails throughout."""
    ends = [result(**{**given, name: value}) for value in (values.min(), values.max())]
    derived = [{of: at.as_inputs()[of] for of in at.derived} for at in ends]
    if derived[0] != derived[1]:
        # What is derived from the input varies with it.
        yield from (_single(result, {**given, name: value}, at) for value, at in zip(values, places, strict=True))
        return
    left = [np.arange(len(values))]
    while left:
        chosen = left.pop()
        try:
            found = ends[0].with_entries(name, values[chosen]).evaluated()
        except Mixed as mixed:
            left += [chosen[~mixed.holds], chosen[mixed.holds]]
        except Apart:
            yield from (_single(result, {**given, name: values[one]}, places[one]) for one in chosen)
        else:
            yield Part(places[chosen], found, name)


def _single(result: type[Result], given: Mapping[str, Any], place: np.int64) -> Part:
    return Part(np.array([place]), result.evaluate(given))
