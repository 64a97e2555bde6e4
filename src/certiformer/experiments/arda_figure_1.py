"""Arda et al., figure 1: linearisation error, approximation error and training loss against the width m."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter

import certiformer
from certiformer.experiments import statistics
from certiformer.experiments._arda_width_runs import DIMENSION, PARTS, RADIUS, cost, experiment, probe, step_size
from certiformer.experiments.statistics import Interval, Prediction
from certiformer.experiments.study import Analysis, Finding, Plot, Study
from certiformer.report import plots
from certiformer.sweep import Row

TOLERANCE = 0.05  # for logarithms and small widths: the exponents are asymptotic

Cells = Mapping[str, Mapping[int, Mapping[int, Row]]]  # teacher, width, seed
MEASURES = {
    "linearisation": "linearisation error, mean over inputs",
    "linearisation_largest": "linearisation error, largest over inputs",
    "approximation": "approximation error, largest over inputs",
    "approximation_released": "approximation error with the teacher's own features, as released",
    "training": "lowest training loss",
}
LEMMA = {"linearisation": "arda.lem3", "approximation": "arda.lem5", "training": "arda.thm1"}
TITLES = {"paper": "the paper's teacher", "released_diagonal": "the released teacher"}


def analyse(rows: Sequence[Row]) -> Analysis:
    """Exponents in m with intervals, beside those of the bounds, and the bounds themselves beside the errors."""
    cells: dict[str, dict[int, dict[int, Row]]] = {}
    for row in rows:
        by_width = cells.setdefault(row.config["teacher"], {})
        by_width.setdefault(row.config["width"], {})[row.config["seed"]] = row
    slopes = {
        (measure, teacher): _slope({m: {s: float(r.values[measure]) for s, r in by.items()} for m, by in table.items()})
        for teacher, table in cells.items()
        for measure in MEASURES
        if _shown(measure, teacher, cells)
    }
    durations = {teacher: _by_duration(table) for teacher, table in cells.items()}
    widths = sorted({m for table in cells.values() for m in table})
    predicted = {name: predicted_exponents(name, widths) for name in LEMMA} if len(widths) > 1 else {}
    shares = _shares(cells)
    findings = [_finding(*key, found, predicted) for key, found in slopes.items()]
    findings += [_share_finding(name, ratios) for name, ratios in shares.items()]
    fits: dict[str, Any] = {
        "exponent_in_width": {f"{measure}/{teacher}": found.as_json() for (measure, teacher), found in slopes.items()},
        "exponent_by_share_of_steps": {
            teacher: {f"1/{part}": found.as_json() for part, found in zip(PARTS, by, strict=True)}
            for teacher, by in durations.items()
        },
        "predicted": {name: {"printed": p, "sound": s} for name, (p, s) in predicted.items()},
        "largest_share_of_the_bound": {name: max(ratios) for name, ratios in shares.items()},
    }
    plotted = {"figure_1": _plot(cells, predicted, durations)} if widths else {}
    return Analysis(tuple(findings), fits, plotted, _remarks(cells, slopes, durations))


def predicted_exponents(name: str, widths: Sequence[int]) -> tuple[float, float]:
    """(printed, sound): the slope of the registered bounds between these widths; for the loss after unlimited steps."""
    printed, sound = [], []
    for m in widths:
        bounds = _bounds(LEMMA[name], m)
        if name == "training":
            bounds = _bounds(LEMMA[name], m, eta=bounds.sound["eta_suggested"].value)
        printed.append(bounds.printed["value"].value)
        sound.append(bounds.sound["value"].value)
    x = np.log(np.array(widths, float))
    weights = (x - x.mean()) / np.sum((x - x.mean()) ** 2)
    return float(weights @ np.log(printed)), float(weights @ np.log(sound))


def _bounds(id: str, m: int, **inputs: Any) -> Any:
    """A registered result at the setting of the experiment; unlimited steps unless told otherwise."""
    rho = {f"rho_{block}": RADIUS for block in "cuw"}
    nu = {f"nu_{block}": RADIUS for block in "cuw"}
    common: dict[str, Any] = {"activation": "tanh", "m": m, "d": DIMENSION}
    per_result = {
        "arda.lem3": {**rho, "delta_R": 0.05},
        "arda.lem5": {**nu, "n": 5000, "delta": 0.05},
        "arda.thm1": {**rho, **nu, "delta_R": 0.05, "n": 4000, "delta": 0.05, "eta": 1e-3, "tau": 10**15},
    }
    return certiformer.bound(id, **(common | per_result[id] | inputs))


def _shown(measure: str, teacher: str, cells: Cells) -> bool:
    """Linearisation does not depend on the teacher; the paper's teacher has the student's features."""
    if measure.startswith("linearisation"):
        return teacher == next(iter(cells))
    return measure != "approximation_released" or teacher == "released_diagonal"


def _slope(points: Mapping[int, Mapping[int, float]]) -> Interval:
    """The exponent in m; seeds are the same problem at every width, so they are resampled together."""
    common = set.intersection(*(set(by) for by in points.values())) if points else set()
    if common:
        return statistics.power_law({m: [by[s] for s in sorted(common)] for m, by in points.items()}, paired=True)
    return statistics.power_law({m: list(by.values()) for m, by in points.items()})


def _by_duration(table: Mapping[int, Mapping[int, Row]]) -> list[Interval]:
    """The exponent of the training loss when training ends after 1/16, 1/8, ... of the steps."""
    return [
        _slope({m: {s: float(row.arrays["training_after"][k]) for s, row in by.items()} for m, by in table.items()})
        for k in range(len(PARTS))
    ]


def _finding(measure: str, teacher: str, found: Interval, predicted: Mapping[str, tuple[float, float]]) -> Finding:
    name = measure.split("_")[0]
    where = "" if name == "linearisation" else f", {TITLES[teacher]}"
    setting = f"{MEASURES[measure]}{where}: exponent in m"
    if name not in predicted:
        return Finding(setting, None, found.value, found.ends, "inconclusive")
    printed, sound = predicted[name]
    claimed = Prediction(printed, "=", TOLERANCE)
    after = " after unlimited steps" if name == "training" else ""
    said = statistics.verdict(found, claimed)
    if said == "agrees" and abs(sound - printed) > 2 * TOLERANCE and found.contains(sound):
        said = "inconclusive"
    return Finding(setting, str(claimed), found.value, found.ends, said, f"{sound:.3g}{after}")


def _shares(cells: Cells) -> dict[str, list[float]]:
    """Measured error over its sound bound, run by run."""
    shares: dict[str, list[float]] = {}
    for teacher, table in cells.items():
        for m, by_seed in table.items():
            for row in by_seed.values():
                norms = [float(norm) for norm in row.arrays["u_norms"]]
                surely = _bounds("arda.lem3", m, u_norms=norms).sound["init"].value
                shares.setdefault("linearisation", []).append(row.values["linearisation_largest"] / surely)
                if teacher == "paper":
                    inputs = row.config["n"] + row.config["n_more"]
                    likely = _bounds("arda.lem5", m, n=inputs).sound["value"].value
                    shares.setdefault("approximation", []).append(row.values["approximation"] / likely)
    return shares


def _share_finding(name: str, ratios: Sequence[float]) -> Finding:
    worst = max(ratios)
    lemma = {"linearisation": "Lemma 3", "approximation": "Lemma 5"}[name]
    setting = f"largest {name} error over its sound bound ({lemma}), {len(ratios)} runs"
    return Finding(setting, None, worst, None, "bound holds" if worst <= 1.0 else "bound fails", "≤ 1")


def _remarks(
    cells: Cells, slopes: Mapping[tuple[str, str], Interval], durations: Mapping[str, Sequence[Interval]]
) -> tuple[str, ...]:
    remarks = []
    for teacher, by in durations.items():
        early, late = by[0], by[-1]
        if not (math.isfinite(early.high) and math.isfinite(late.high)):
            continue
        remarks.append(
            f"With {TITLES[teacher]} the exponent of the training loss is {_span(early)} after 1/{PARTS[0]} of the "
            f"steps and {_span(late)} at the end: "
            + ("the longer the training, the steeper." if late.high < early.low else "no clear change between them.")
        )
    diagonal = [slopes.get((m, "released_diagonal")) for m in ("approximation", "approximation_released")]
    if diagonal[0] is not None and diagonal[1] is not None and all(math.isfinite(d.high) for d in diagonal if d):
        remarks.append(
            "The released teacher is not in the student's space: at the transported parameters the student misses it "
            f"by an error with exponent {_span(diagonal[0])}; with the teacher's own features, {_span(diagonal[1])}."
        )
    rows = [row for table in cells.values() for by in table.values() for row in by.values()]
    if rows:
        way = max(row.values["travelled"] for row in rows)
        held = sum(row.values["travelled"] >= 1.0 - 1e-4 for row in rows)
        steps = {row.config["steps"] for row in rows}
        m = max(row.config["width"] for row in rows)
        curvature = step_size(max(steps)) * _bounds("arda.thm1", m).sound["G2"].value
        remarks.append(
            f"The projection held a block in {held} of {len(rows)} runs; the longest way was {way:.2g} of the radius. "
            f"The step times the sound bound on the squared gradient is {curvature:.2g} at m = {m}"
            + ("; Theorem 1 needs it below 1, so that it certifies nothing here." if curvature >= 1.0 else ".")
        )
    return tuple(remarks)


def _span(found: Interval) -> str:
    return f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"


def _plot(
    cells: Cells, predicted: Mapping[str, tuple[float, float]], durations: Mapping[str, Sequence[Interval]]
) -> Plot:
    figure, axes = plots.panels(2, 2, height=2.9)
    first = next(iter(cells))
    approximations = [("approximation", teacher, TITLES[teacher]) for teacher in cells]
    if "released_diagonal" in cells:
        approximations.append(("approximation_released", "released_diagonal", "the same, with its own features"))
    _curves(
        axes[0],
        cells,
        [("linearisation_largest", first, "largest over inputs"), ("linearisation", first, "mean over inputs")],
        predicted,
        y="|f - f_lin|",
        title="linearisation error at radius 3",
    )
    _curves(axes[1], cells, approximations, predicted, y="largest |f_lin - y|", title="approximation error")
    trained = [("training", teacher, TITLES[teacher]) for teacher in cells]
    _curves(axes[2], cells, trained, predicted, y="lowest mean of (f - y)²", title="training loss")
    _exponents(axes[3], predicted, durations)
    caption = (
        "Three errors against the width, and the exponent of the training loss against the length of training. Lines: "
        "means over seeds; bands: 95 % intervals; dashed and dash-dotted: slopes of the bounds through the first point."
    )
    return Plot(figure, caption)


def _curves(
    panel: Axes,
    cells: Cells,
    shown: Sequence[tuple[str, str, str]],
    predicted: Mapping[str, tuple[float, float]],
    *,
    y: str,
    title: str,
) -> None:
    """Means over seeds against the width, and the predicted slopes through the first point of the first curve."""
    guides: list[tuple[str, list[float], list[float]]] = []
    for index, (measure, teacher, name) in enumerate(shown):
        table = cells[teacher]
        here = [float(m) for m in sorted(table)]
        found = [statistics.mean_interval([float(r.values[measure]) for r in table[int(m)].values()]) for m in here]
        low = [f.low if f.low > 0.0 else f.value for f in found]
        plots.band(panel, here, [f.value for f in found], low, [f.high for f in found], label=name, index=index)
        result = measure.split("_")[0]
        if index == 0 and result in predicted:
            slopes = zip(("printed", "sound"), predicted[result], strict=True)
            guides = [
                (f"{side}: slope {slope:.2f}", here, [found[0].value * (m / here[0]) ** slope for m in here])
                for side, slope in slopes
                if side == "printed" or result == "training"
            ]
    for name, here, line in guides:
        plots.theory(panel, here, line, label=name, printed=name.startswith("printed"))
    plots.label(panel, "width m (heads)", y, title=title, log="xy")
    low_end, high_end = panel.get_ylim()
    panel.set_ylim(low_end / (high_end / low_end) ** 0.5, high_end)  # a third of the panel for the legend
    panel.legend(fontsize=7.5, frameon=False, loc="lower left")
    ticks = sorted({m for _, teacher, _ in shown for m in cells[teacher]})
    panel.set_xticks(ticks, [str(m) for m in ticks])
    panel.set_xticks([], minor=True)
    panel.yaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    panel.yaxis.set_major_formatter("{x:g}")
    panel.yaxis.set_minor_formatter(NullFormatter())


def _exponents(
    panel: Axes, predicted: Mapping[str, tuple[float, float]], durations: Mapping[str, Sequence[Interval]]
) -> None:
    """The exponent of the training loss against the share of the steps done."""
    share = [1.0 / part for part in PARTS]
    for index, (teacher, by) in enumerate(durations.items()):
        low, high = [f.low for f in by], [f.high for f in by]
        plots.band(panel, share, [f.value for f in by], low, high, label=TITLES[teacher], index=index)
    if "training" in predicted:
        printed, sound = predicted["training"]
        plots.theory(panel, [share[0], 1.0], [printed] * 2, label="printed", printed=True)
        plots.theory(panel, [share[0], 1.0], [sound] * 2, label="sound, after unlimited steps")
        panel.set_ylim(bottom=1.7 * sound)
    plots.label(panel, "share of the steps", "exponent of the loss in m", title="how long one trains", log="x")
    panel.legend(fontsize=7.5, frameon=False, loc="lower left")
    panel.set_xticks(share, [f"1/{part}" if part > 1 else "1" for part in PARTS])
    panel.set_xticks([], minor=True)


STUDIES = (
    Study(
        "arda.fig1",
        "arda",
        "Linearisation error, approximation error and training loss against the width",
        "All three errors fall with the width as power laws whose exponents are close to -1/2.",
        experiment,
        analyse,
        cost,
        probe,
        readings=(
            (
                "The released teacher scores with the diagonal of W only and is not in the student's space; the text's "
                "teacher uses all of W. We run both."
            ),
            (
                "Linearisation: the released program moves every head to the boundary of Omega_rho along the gradient "
                "summed over the inputs and takes the mean over the inputs; the lemma is about the largest. We show "
                "both."
            ),
            (
                "Approximation: the student's own linearisation at the transported parameters, with the m/2 different "
                "heads of the symmetric initialisation. The released program draws m different heads, and for its "
                "teacher compares features that the student does not have: shown beside it."
            ),
            (
                "Training: projected gradient descent in single precision with step 1.75/sqrt(steps), radii 3, full "
                "batch, as released; at the quick scale 500 samples and 1,200 steps instead of 4,000 and 4,000."
            ),
            (
                "Predicted exponents are slopes of the registered bounds between the widths shown; that of the loss "
                "after unlimited steps of the length that the theorem asks for, since the experiment's are too long."
            ),
        ),
    ),
)
