"""A result as a function of arrays: one or two inputs vary, every variant becomes an array.

>>> import numpy as np
>>> import certiformer
>>> along = certiformer.bound("trauger.lem3.6", Bw=1, Bx=1, eps=np.array([0.25, 0.5]), d=4, k=4)
>>> along.sound["exact"].shape
(2,)
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certiformer.core import notebook
from certiformer.core.bound import Bound
from certiformer.core.errors import InputError
from certiformer.core.result import Evaluation, Result

Values = NDArray[np.float64]


def frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Rows as a pandas data frame; pandas is no dependency, and is asked for where it is missing."""
    try:
        import pandas as pd  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        raise InputError("to_frame", "no pandas", "pandas to be installed", "pip install pandas") from None
    return pd.DataFrame(list(rows))


@dataclass(frozen=True, slots=True)
class Evaluations:
    """The evaluations of a result on a grid; `axes` are the inputs that vary, in the order of the dimensions."""

    result: type[Result]
    axes: Mapping[str, tuple[Any, ...]]
    points: tuple[Evaluation, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(values) for values in self.axes.values())

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
        return {
            name: np.array([name in e.sound and e.sound[name].applies for e in self.points]).reshape(self.shape)
            for name in self._names("sound")
        }

    @property
    def hypotheses(self) -> dict[str, dict[str, NDArray[np.str_]]]:
        """The state of every hypothesis of every sound variant, as arrays of words; empty where it plays no part."""
        states: dict[str, dict[str, list[str]]] = {}
        for number, point in enumerate(self.points):
            for name, bound in point.sound.items():
                for each in bound.hypotheses:
                    column = states.setdefault(name, {}).setdefault(each.id, [""] * len(self.points))
                    column[number] = each.state
        return {
            name: {id: np.array(column).reshape(self.shape) for id, column in of.items()} for name, of in states.items()
        }

    @property
    def best(self) -> Values:
        """The best sound value at every point; nan where there is none to offer."""
        found = [np.nan if e.best is None else e.sound[e.best].value for e in self.points]
        return np.array(found, dtype=np.float64).reshape(self.shape)

    @property
    def best_names(self) -> NDArray[np.str_]:
        return np.array([e.best or "" for e in self.points]).reshape(self.shape)

    def rows(self) -> list[dict[str, Any]]:
        """One row per point: the inputs that vary, then every variant, then which sound one is best."""
        rows = []
        for number, (inputs, point) in enumerate(zip(itertools.product(*self.axes.values()), self.points, strict=True)):
            row = dict(zip(self.axes, inputs, strict=True))
            for side in ("printed", "sound"):
                row |= {f"{side}_{name}": values.flat[number] for name, values in self._values(side).items()}
            rows.append(row | {"best": point.best})
        return rows

    def to_csv(self) -> str:
        """The rows as comma-separated values."""
        rows, text = self.rows(), io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue()

    def to_frame(self) -> Any:
        """The rows as a pandas data frame."""
        return frame(self.rows())

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.result.id,
            "axes": {name: list(values) for name, values in self.axes.items()},
            "points": [point.as_json() for point in self.points],
        }

    def _names(self, side: str) -> list[str]:
        return list(dict.fromkeys(name for point in self.points for name in getattr(point, side)))

    def _values(self, side: str) -> dict[str, Values]:
        def value(bound: Bound | None) -> float:
            return np.nan if bound is None else bound.value

        return {
            name: np.array([value(getattr(e, side).get(name)) for e in self.points], np.float64).reshape(self.shape)
            for name in self._names(side)
        }

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
        found[name] = tuple(round(x) if entry.kind == "integer" else float(x) for x in values.tolist())
    if len(found) > 2:
        raise InputError(", ".join(found), "arrays", "at most two inputs that vary at once")
    return found


def evaluate_along(result: type[Result], given: Mapping[str, Any], axes: Mapping[str, tuple[Any, ...]]) -> Evaluations:
    """The result at every combination of the values on the axes."""
    points = tuple(
        result.evaluate({**given, **dict(zip(axes, values, strict=True))})
        for values in itertools.product(*axes.values())
    )
    return Evaluations(result, dict(axes), points)
