"""Sliders: printed and sound on a grid, computed here; the page of sliders and those of results only look them up."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from certiformer.theory.core import Bound, Evaluation, Result, Status, find
from certiformer.theory.core.errors import CertiformerError
from website.markup import page, words
from website.series import POINTS, example_inputs, grid, varied


def _as_given(point: Mapping[str, float]) -> dict[str, Any]:
    return dict(point)


@dataclass(frozen=True)
class Panel:
    """A result over a few inputs; the first axis is drawn, every axis has a slider."""

    id: str
    title: str
    axes: Mapping[str, Sequence[float]]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    start: Mapping[str, int] = field(default_factory=dict)
    inputs: Callable[[Mapping[str, float]], dict[str, Any]] = _as_given
    meanings: Mapping[str, str] = field(default_factory=dict)


def powers(low: int, high: int, per_decade: float = 1) -> list[float]:
    """Powers of ten, rounded to two digits in between."""
    count = round((high - low) * per_decade)
    return [float(f"{10 ** (low + step / per_decade):.2g}") for step in range(count + 1)]


def _errors(point: Mapping[str, float]) -> dict[str, Any]:
    return {"n": point["n"], "errors": round(point["rate"] * point["n"])}


def _tokens(point: Mapping[str, float]) -> dict[str, Any]:
    """Mwigo & Dasgupta write T as ds."""
    return {"n": point["n"], "ds": point["T"]}


PANELS = (
    Panel(
        "trauger.cor4.1.1",
        "One layer: examples, norm of W_QK, width",
        {"n": powers(2, 12, 1), "BQK": [0.1, 0.5, 1, 2, 8], "d": [16, 64, 256, 1024]},
        start={"n": 6, "BQK": 1, "d": 1},
    ),
    Panel(
        "li.thmB.2",
        "Heads: examples and number of heads",
        {"n": powers(3, 13, 0.5), "H": [1, 2, 4, 8, 16]},
        fixed={"squared_loss": 1, "well_specified": 1},
        start={"n": 2, "H": 1},
    ),
    Panel(
        "trauger.cor4.2.1",
        "Depth: cover radius, layers, norms",
        {"eps": powers(-3, 1, 2), "layers": [1, 2, 3, 4, 6, 8], "B": [0.5, 1, 2, 4]},
        start={"eps": 4, "layers": 1, "B": 2},
    ),
    Panel(
        "mwigo.lem2",
        "Sequence length: examples and tokens T",
        {"n": powers(2, 14, 0.5), "T": [4, 16, 64, 1024]},
        fixed={"WQF": 1, "WKF": 1, "WVF": 1, "wOF": 1},
        start={"n": 3, "T": 1},
        inputs=_tokens,
        meanings={"T": "tokens (ds)"},
    ),
    Panel(
        "deora.thm2",
        "Training: examples, heads, steps",
        {"n": powers(1, 8, 2), "H": [1e2, 1e3, 1e4, 1e5, 1e6, 1e8], "K": [10, 100, 1000, 10000]},
        fixed={"independent": 1, "almost_sure": 1},
        start={"n": 6, "H": 3, "K": 1},
    ),
    Panel(
        "arda.lem3",
        "Linearisation: width, dimension, radius",
        {"m": powers(2, 10, 2), "d": [2, 8, 32, 128], "rho_c": [0.05, 0.15, 0.5, 1.5]},
        start={"m": 8, "d": 1, "rho_c": 1},
    ),
    Panel(
        "holdout",
        "A certificate: examples and observed error rate",
        {"n": powers(1, 6, 4), "rate": [0.0, 0.01, 0.02, 0.05, 0.1, 0.2], "delta": [0.001, 0.01, 0.05, 0.1]},
        start={"n": 8, "rate": 2, "delta": 2},
        inputs=lambda point: {**_errors(point), "delta": point["delta"]},
        meanings={"rate": "observed error rate"},
    ),
)


def panel_of(result: type[Result]) -> Panel | None:
    """The panel of a result's own page: one of `PANELS`, else the two inputs that people vary first."""
    made = next((panel for panel in PANELS if panel.id == result.id), None)
    if made is not None:
        return made
    axes, start = {}, {}
    for entry, points in zip(varied(result), (POINTS, 5), strict=False):
        values = sorted({float(f"{x:.3g}") for x in grid(entry, points, theory=result.status is not Status.NONE)})
        values = [value for value in values if entry.low <= value <= entry.high]
        if len(values) > 1:
            axes[entry.name] = values
            start[entry.name] = min(range(len(values)), key=lambda k: abs(math.log(values[k] / entry.example)))
    return Panel(result.id, "Move the inputs", axes, start=start) if axes else None


def own_sliders(result: type[Result]) -> str:
    """The sliders of a result's page, with their table; nothing where no point has a value."""
    panel = panel_of(result)
    made = None if panel is None else table(panel)
    if panel is None or made is None or all(value is None for value in (*made["printed"], *made["sound"])):
        return ""
    return page(
        "## Move the inputs",
        f'<section class="sliders" data-id="{panel.id}"><p class="facts">The rest as in the example below'
        f'{_and(panel.fixed)}. The sliders stop at points that were computed.</p><div class="panel"></div></section>',
        f'<script>{tables_script([made]).strip()}</script>\n<script src="../assets/sliders.js"></script>',
    ).rstrip()


def table(panel: Panel) -> dict[str, Any]:
    """The decimal logarithms of both sides at every point of the grid, the first axis running fastest."""
    result = find(panel.id)
    first, *rest = panel.axes
    printed, sound, names = [], [], []
    for outer in itertools.product(*(panel.axes[name] for name in rest)):
        for value in panel.axes[first]:
            point = {first: value, **dict(zip(rest, outer, strict=True))}
            found = _evaluate(panel, point)
            printed.append(None if found is None else _log10(_printed(found)))
            best = None if found is None or found.best is None else found.best
            sound.append(None if found is None or best is None else _log10(found.sound[best]))
            names.append(best or "")
    known = sorted(set(names))
    meanings = {entry.name: entry.meaning for entry in result.inputs}
    return {
        "id": panel.id,
        "quantity": result.bounds.value,
        "axes": [
            {
                "name": name,
                "meaning": panel.meanings.get(name, meanings.get(name, "")),
                "values": list(values),
                "start": panel.start.get(name, 0),
            }
            for name, values in panel.axes.items()
        ],
        "printed": printed,
        "sound": sound,
        "variants": known,
        "variant": [known.index(name) for name in names],
    }


def _evaluate(panel: Panel, point: Mapping[str, float]) -> Evaluation | None:
    given = {**example_inputs(find(panel.id)), **panel.fixed, **panel.inputs(point)}
    try:
        return find(panel.id).evaluate(given)
    except CertiformerError:
        return None


def _printed(found: Evaluation) -> Bound | None:
    """The printed value itself, not a by-product that stands beside it."""
    return next((one for one in found.printed.values() if one.bounds in (None, found.result.bounds)), None)


def _log10(bound: Bound | None) -> float | None:
    log10 = None if bound is None else bound.log10
    return None if log10 is None or not math.isfinite(log10) else round(log10, 6)


def tables_script(tables: Sequence[Mapping[str, Any]]) -> str:
    """The tables as a script: it works from a file on disk, where a page may not read other files."""
    said = json.dumps(list(tables), separators=(",", ":"), allow_nan=False).replace("<", r"\u003c")
    return f"window.certiformerTables = {said};\n"  # no name in it ends the script


def body(panels: Sequence[Panel] = PANELS) -> str:
    """A place for every panel; `sliders.js` fills them."""
    return "\n\n".join(
        f'<section class="sliders" data-id="{panel.id}"><h2 id="{panel.id}">{words(panel.title)}</h2>'
        f'<p class="facts"><a href="results/{panel.id}.html"><code>{panel.id}</code></a> '
        f"{words(find(panel.id).title)}. The rest as in its example{_and(panel.fixed)}.</p>"
        f'<div class="panel"></div></section>'
        for panel in panels
    )


def _and(fixed: Mapping[str, Any]) -> str:
    return "".join(f", <code>{name}={value}</code>" for name, value in fixed.items())


def sliders_page() -> str:
    return page(
        "---\nhide:\n  - toc\n---",
        "# Sliders",
        "Move an input and see what the printed statement and what the sound bound say. Every number was computed when "
        "this page was built: the sliders stop at the points of a grid, nothing is interpolated. Dashed: as printed, "
        "which may be false or lack a constant; full: the best sound variant that applies.",
        body(),
        '<script src="assets/tables.js"></script>\n<script src="assets/sliders.js"></script>',
    )
