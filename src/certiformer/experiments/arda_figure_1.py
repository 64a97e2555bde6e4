"""Arda et al., figure 1: linearisation error, approximation error and training loss against the width m.

Runs go one by one: on a core, a batch of seeds by `vmap` is slower for each seed than the blocks of a single run.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter

import certiformer
from certiformer.experiments import statistics
from certiformer.experiments.statistics import Interval, Prediction
from certiformer.experiments.study import Analysis, Finding, Plot, Scale, Study
from certiformer.measure.linearization import boundary_move, linear_prediction
from certiformer.models.independent_heads import IndependentHeads, IndependentHeadsConfig
from certiformer.report import plots
from certiformer.sweep import Experiment, Outcome, Row
from certiformer.sweep.run import Config
from certiformer.tasks.ntk_teacher import NTKTeacher, ntk_teacher
from certiformer.training import fast, loop
from certiformer.training.optimisers import gradient_descent
from certiformer.training.projection import onto_omega
from certiformer.training.steps import Data, begin, full_batch

TEACHERS = ("paper", "released_diagonal")
DIMENSION, TOKENS, ANCHORS = 8, 16, 16
RADIUS = 3.0  # rho and nu, the same for every block
RADII = {"c": RADIUS, "u": RADIUS, "W": RADIUS}
STEP_SCALE = 1.75  # the step is 1.75/sqrt(number of steps), as released
PARTS = tuple(2**k for k in range(4, -1, -1))  # the training loss is also read after 1/16, 1/8, ... of the steps

PAPER_WIDTHS = (8, 16, 32, 64, 128, 256)  # the paper's
TOLERANCE = 0.05  # for logarithms and small widths: the exponents are asymptotic

# Measured on one core: seconds for one sample, head and step of training, for the rest of a step, for one input and
# draw of the teacher's pool, and for one input and head of the two errors.
SECONDS_PER_HEAD = 8.5e-8
SECONDS_PER_STEP = 3e-4
SECONDS_PER_LABEL = 9e-8
SECONDS_PER_ERROR = 2.5e-6


class Problem(NamedTuple):
    """Inputs and labels of one seed; the first `n` train."""

    teacher: NTKTeacher
    x: Array
    y: Array


def run(config: Config) -> Outcome:
    """The three errors of a network of one width, at its initialisation and after projected gradient descent."""
    heads, n = config["width"], config["n"]
    problem = _problem(config["teacher"], config["seed"], n, config["n_more"], config["pool"])
    with jax.enable_x64(True):
        start = _network(config, "float64")
        exact = (problem.x.astype(jnp.float64), problem.y.astype(jnp.float64))
        linearisation = np.asarray(_linearisation(start, exact[0]))
        approximation, proxy = (np.asarray(e) for e in _approximation(start, problem.teacher, *exact))
        norms = np.asarray(jnp.linalg.norm(start.u[: heads // 2], axis=1))
    start = _network(config, "float32")
    step = _step(heads, config["steps"])
    state = begin(start, gradient_descent(_rate(config["steps"])), jax.random.key(0), projected=True)
    batch = Data(fast.blocks(problem.x[:n], problem.y[:n], heads))
    done = loop.run(step, state, batch, steps=config["steps"], chunk=min(config["steps"], 500), progress=False)
    lowest = np.minimum.accumulate(np.asarray(done.metrics["loss"], np.float64))
    return Outcome(
        {
            "linearisation": float(np.mean(linearisation)),
            "linearisation_largest": float(np.max(linearisation)),
            "approximation": float(np.max(approximation)),
            "approximation_released": float(np.max(proxy)),
            "training": float(lowest[-1]),
            "training_at_start": float(done.metrics["loss"][0]),
            "travelled": _travelled(start, done.state.params),
        },
        {"training_after": lowest[[max(1, config["steps"] // part) - 1 for part in PARTS]], "u_norms": norms},
    )


@functools.lru_cache(maxsize=4)
def _problem(teacher: str, seed: int, n: int, n_more: int, pool: int) -> Problem:
    """The same inputs and labels for every width, as released; kept, because labels cost as much as a short run."""
    task = ntk_teacher(
        jax.random.key(seed),
        n=n,
        n_test=n_more,
        variant=teacher,
        d=DIMENSION,
        tokens=TOKENS,
        anchors=ANCHORS,
        pool=pool,
        nu=(RADIUS, RADIUS, RADIUS),
        dtype=jnp.float32,
    )
    parts = (task.train, task.test)
    x, y = (jnp.concatenate([getattr(part, name) for part in parts]) for name in ("inputs", "labels"))
    assert isinstance(task.source, NTKTeacher)
    return Problem(task.source, x, y)


def _network(config: Config, dtype: str) -> IndependentHeads:
    key = jax.random.fold_in(jax.random.key(config["seed"]), config["width"])
    return IndependentHeads.init(key, IndependentHeadsConfig(DIMENSION, config["width"]), dtype=dtype)


@jax.jit
def _linearisation(start: IndependentHeads, x: Array) -> Array:
    """|f - f_lin| on every input, all heads moved to the boundary of Omega_rho."""
    moved = boundary_move(start, x, RADII)

    def one(part: Array) -> Array:
        return jnp.abs(jax.vmap(moved)(part) - linear_prediction(_output, start, moved, part))

    errors: Array = jax.lax.map(one, _parts(x)).reshape(-1)
    return errors


@jax.jit
def _approximation(start: IndependentHeads, teacher: NTKTeacher, x: Array, y: Array) -> tuple[Array, Array]:
    """|f_lin - y| at the transported parameters; and the same with the teacher's own features, as released."""
    target = transported(start, teacher)
    linear = jax.lax.map(lambda part: linear_prediction(_output, start, target, part), _parts(x)).reshape(-1)
    # The paper's features are the student's: its average is the linearisation.
    average = linear if teacher.variant == "paper" else teacher.average(x, start.u, start.W)
    return jnp.abs(linear - y), jnp.abs(average - y)


def _output(model: IndependentHeads, x: Array) -> Array:
    return model(x)


def _parts(x: Array) -> Array:
    """The inputs in equal parts of at most 256: some heads times tokens times 256 numbers fit into memory."""
    size = max(size for size in range(1, 257) if len(x) % size == 0)
    return x.reshape(-1, size, *x.shape[1:])


def transported(start: IndependentHeads, teacher: NTKTeacher) -> IndependentHeads:
    """Equation (11): c + v_c/sqrt(m), u + c v_u/sqrt(m), W + c v_w/sqrt(m), with v at the initial (u, W)."""
    v_c, v_u, v_w = teacher.transport(start.u, start.W)
    scale = float(start.config.heads) ** -0.5
    c = start.c
    return replace(
        start,
        c=c + scale * v_c,
        u=start.u + scale * c[:, None] * v_u,
        W=start.W + scale * c[:, None, None] * v_w,
    )


def _rate(steps: int) -> float:
    return STEP_SCALE / math.sqrt(steps)


@functools.cache
def _step(heads: int, steps: int) -> loop.Step:
    """Projected gradient descent; one compiled program serves all runs of a shape."""
    return full_batch(fast.independent_heads(), gradient_descent(_rate(steps)), project=onto_omega(RADII, heads))


def _travelled(start: IndependentHeads, end: IndependentHeads) -> float:
    """The longest way of a block of a head, in units of what Omega_rho allows: 1 where the projection has held it."""
    longest = 0.0
    for name, radius in RADII.items():
        way = np.asarray(getattr(end, name) - getattr(start, name)).reshape(start.config.heads, -1)
        longest = max(longest, float(np.max(np.linalg.norm(way, axis=1))) * math.sqrt(start.config.heads) / radius)
    return longest


def experiment(scale: Scale) -> Experiment:
    """Teachers times seeds times widths."""
    widths, seeds, sizes = {
        "smoke": ((4, 8), 2, {"n": 48, "n_more": 16, "pool": 64, "steps": 32}),
        "quick": (PAPER_WIDTHS[:5], 5, {"n": 500, "n_more": 750, "pool": 2048, "steps": 1200}),
        "paper": (PAPER_WIDTHS, 10, {"n": 4000, "n_more": 1000, "pool": 8192, "steps": 4000}),
    }[scale]
    return Experiment(
        "arda.fig1",
        run=f"{__name__}:run",
        configs=[
            {"teacher": teacher, "width": width, "seed": seed, **sizes}
            for teacher in TEACHERS
            for seed in range(1, seeds + 1)
            for width in widths
        ],
    )


def cost(config: Config) -> float:
    """Seconds on one core; the labels of a seed are shared by the widths."""
    inputs, heads = config["n"] + config["n_more"], config["width"]
    labels = SECONDS_PER_LABEL * inputs * config["pool"] / len(PAPER_WIDTHS)
    errors = SECONDS_PER_ERROR * inputs * heads
    training = config["steps"] * (SECONDS_PER_STEP + SECONDS_PER_HEAD * config["n"] * heads)
    return float(labels + errors + training)


def probe(config: Config) -> float:
    """Some steps more and some steps fewer of this shape, timed here: the difference tells what a step takes."""
    fewer, more = (config | {"steps": min(config["steps"], steps)} for steps in (2, 12))
    seconds = []
    for few in (fewer, more):
        run(few)  # compiles, and draws the labels
        started = time.perf_counter()
        run(few)
        seconds.append(time.perf_counter() - started)
    per_step = max(0.0, seconds[1] - seconds[0]) / max(1, more["steps"] - fewer["steps"])
    return float(cost(config | {"steps": 0}) + per_step * config["steps"])


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
        curvature = _rate(max(steps)) * _bounds("arda.thm1", m).sound["G2"].value
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
