"""Results that bound the same quantity, side by side: which is smallest here, and along a range."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from certiformer.theory.core import Evaluation, Result, find
from certiformer.theory.core.arrays import Evaluations
from certiformer.theory.core.bound import json_number
from certiformer.theory.core.errors import CertiformerError, InputError, UnknownNameError
from certiformer.theory.core.sweeping import Range, sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Row:
    """One result at the given inputs; `why` says what stands beside its number, or why there is none."""

    id: str
    quantity: str
    value: float | None
    log10: float | None
    sound: str
    variant: str
    printed: str
    why: str


@dataclass(frozen=True, eq=False)
class Comparison:
    """The rows (at the end of the range, where one was given), and the sweeps along it."""

    rows: tuple[Row, ...]
    sweeps: tuple[Evaluations, ...]

    def by_quantity(self) -> dict[str, list[Row]]:
        """Different quantities never share a table: a gap is not a covering number."""
        found: dict[str, list[Row]] = {}
        for row in self.rows:
            found.setdefault(row.quantity, []).append(row)
        return {
            name: sorted(rows, key=lambda row: (row.value is None, row.value or 0.0, row.log10 or 0.0))
            for name, rows in found.items()
        }

    def best(self, quantity: str) -> str | None:
        """The smallest sound bound, where at least two have one."""
        rows = [row for row in self.by_quantity()[quantity] if row.value is not None]
        return rows[0].id if len(rows) > 1 else None

    def swept(self) -> dict[str, list[Evaluations]]:
        """The sweeps by the quantity they bound."""
        found: dict[str, list[Evaluations]] = {}
        for one in self.sweeps:
            found.setdefault(one.result.bounds.value, []).append(one)
        return found

    def along(self) -> list[tuple[float, Row]]:
        """Every result at every point of the range: the point, and the row there."""
        return [
            (value, _row(evaluation))
            for sweeps in self.swept().values()
            for at in zip(*(zip(_along(one), one.points, strict=True) for one in sweeps), strict=True)
            for value, evaluation in at
        ]

    def wins(self, quantity: str) -> list[dict[str, Any]]:
        """Who (`id`) has the smallest sound bound from `low` to `high`, along the range; None where none has one."""
        found: list[dict[str, Any]] = []
        sweeps = self.swept().get(quantity, [])
        for place, value in enumerate(_along(sweeps[0]) if sweeps else ()):
            rows = [_row(one.points[place]) for one in sweeps]
            sizes = {row.id: (row.value, row.log10 or 0.0) for row in rows if row.value is not None}
            best = min(sizes, key=lambda id: sizes[id]) if sizes else None
            if found and found[-1]["id"] == best:
                found[-1]["high"] = value
            else:
                found.append({"low": value, "high": value, "id": best})
        return found

    def as_json(self) -> dict[str, Any]:
        return {
            "results": [
                {
                    "id": row.id,
                    "bounds": row.quantity,
                    "value": None if row.value is None else json_number(row.value),
                    "log10": row.log10,
                    "variant": row.variant,
                    "printed": row.printed,
                    "why": row.why,
                }
                for row in self.rows
            ],
            "smallest": {quantity: self.best(quantity) for quantity in self.by_quantity()},
            "sweeps": [swept.as_json() for swept in self.sweeps],
            "smallest_along": {quantity: self.wins(quantity) for quantity in self.swept()},
        }


def compare_results(ids: Sequence[str], given: Mapping[str, str], along: Range | None = None) -> Comparison:
    """Every result at the inputs that it knows among `given`; an input that none of them knows is refused."""
    if len(ids) < 2:
        raise InputError("results", list(ids), "at least two ids", "For example trauger.thm4.1 trauger.thm4.2 n=1e6")
    results = [find(id) for id in ids]
    known = {name for result in results for entry in result.inputs for name in (entry.name, *entry.aliases)}
    for name in (*given, *((along.name,) if along else ())):
        if name not in known:
            raise UnknownNameError("input", name, sorted(known), place=" of these results")
    rows, sweeps = [], []
    for result in results:
        own = {name: value for name, value in given.items() if name in _names(result)}
        try:
            if along is not None and along.name in _names(result):
                swept = sweep(result, own, along)
                sweeps.append(swept)
                rows.append(_row(swept.points[-1]))
            else:
                rows.append(_row(result.evaluate(own)))
        except CertiformerError as error:
            rows.append(Row(result.id, result.bounds.value, None, None, "–", "", "–", str(error)))
    return Comparison(tuple(rows), tuple(sweeps))


def _along(swept: Evaluations) -> tuple[float, ...]:
    """The values of the one input that was swept."""
    (values,) = swept.axes.values()
    return values


def _names(result: type[Result]) -> set[str]:
    return {name for entry in result.inputs for name in (entry.name, *entry.aliases)}


def _row(evaluation: Evaluation) -> Row:
    result, best = evaluation.result, evaluation.best
    printed = next(iter(evaluation.printed.values()), None)
    shown = "–" if printed is None else printed.text(result.bounds)
    if best is None:
        failing = [one.requires for bound in evaluation.sound.values() for one in bound.hypotheses if one.blocks]
        why = "; ".join(dict.fromkeys(failing)) or "no variant applies"
        return Row(result.id, result.bounds.value, None, None, "–", "", shown, why)
    bound = evaluation.sound[best]
    open_ones = [one.requires for one in bound.hypotheses if one.state == "open"]
    remark = "vacuous; " if bound.vacuous else ""
    why = remark + (f"if {'; '.join(open_ones)}" if open_ones else "every hypothesis was verified")
    return Row(result.id, result.bounds.value, bound.value, bound.log10, bound.text(result.bounds), best, shown, why)


def comparison_figure(found: Comparison) -> Figure:
    """The best sound variants along the sweep, one panel per quantity."""
    from matplotlib.figure import Figure

    from certiformer.report.figure import SOUND_COLOURS, geometric

    quantities = list(dict.fromkeys(swept.result.bounds.value for swept in found.sweeps))
    if not quantities:
        raise InputError("--sweep", "nothing", "an input that at least one of the results has")
    figure = Figure(figsize=(6.4, 3.6 * len(quantities)), layout="constrained")
    panels = figure.subplots(len(quantities), 1, squeeze=False)[:, 0]
    for axes, quantity in zip(panels, quantities, strict=True):
        colours = itertools.cycle(SOUND_COLOURS)
        for swept in found.sweeps:
            if swept.result.bounds.value != quantity:
                continue
            heights = [
                math.nan
                if one.best is None or not math.isfinite(one.sound[one.best].value)
                else one.sound[one.best].value
                for one in swept.points
            ]
            axes.plot(_along(swept), heights, color=next(colours), lw=1.6, label=swept.result.id)
        (name,) = found.sweeps[0].axes
        spacing = "log" if geometric(_along(found.sweeps[0])) else "linear"
        axes.set(xscale=spacing, yscale="log", xlabel=name, ylabel=quantity)
        axes.grid(True, which="major", color="0.9", lw=0.6)
        axes.legend(fontsize=8, frameon=False)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    return figure


def draw(found: Comparison, path: Path) -> None:
    from certiformer.report.figure import save

    save(comparison_figure(found), path)
