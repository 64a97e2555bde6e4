"""Deora et al., Theorem 2: leave-one-out distances and gap of gradient descent against the sample size."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from certiformer.experiments import _deora_plots as figures
from certiformer.experiments import _deora_theory as theory
from certiformer.experiments._deora_runs import (
    Heads,
    descend_runs,
    distance,
    draw,
    largest_head,
    losses,
    octaves,
    outputs,
    work,
)
from certiformer.experiments.statistics import Interval, Prediction, Vector, below, mean_interval, verdict
from certiformer.experiments.study import Analysis, Finding, Plot, Scale, Study
from certiformer.report import plots
from certiformer.sweep import Experiment, Outcome, Row
from certiformer.sweep.run import Config
from certiformer.training.leave_one_out import weights

NAME = "deora.stability"
MIXTURE = {
    "tokens": 4,
    "zeta": 0.5,
    "M": 2,
    "d": 8,
    "S": 1.0,
    "Z_mu": 0.05,
    "Z_nu": 0.05,
    "Z": 0.25,
    "noise": 0.075,
}
ETA = 0.375  # below 1/beta2 at the zero start and after the first phase: both can be certified at this step size
FEW, ENOUGH = 4, 2**24  # fewer heads than any theorem asks for, and enough for the sound Theorem 2
PAPER_EXPONENT = -1.0  # the paper: stability and gap of order 1/n
TOLERANCE = 0.1  # an exponent seen between finite n is granted this much
SECONDS = 1.3e-9  # per multiplication counted by `work`, measured on one core


def run(config: Config) -> Outcome:
    """Gradient descent with all n samples and without each of them; distances and losses at the checkpoints."""
    with jax.enable_x64(True):
        problem = draw(config)
        n = config["n"]
        table = weights(n, jnp.float64)
        start: Heads = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (n + 1, *leaf.shape)), problem.heads)
        now, done, seen = start, 0, []
        for until in config["checkpoints"]:
            now = descend_runs(True)(now, problem.x, problem.y, table, config["eta"], until - done)
            seen.append(_look()(now, problem.x, problem.y, problem.test_x, problem.test_y))
            done = until
        arrays = {name: np.stack([np.asarray(each[name]) for each in seen]) for name in seen[0]}
        values = {
            "first_phase_error": problem.first_phase_error,
            "B2": float(largest_head(problem.heads)),
            "BPhi": float(jnp.max(jnp.abs(outputs(problem.heads, problem.x)))),
        }
    return Outcome(values, arrays)


@functools.cache
def _look() -> Callable[..., dict[str, Array]]:
    def look(runs: Heads, x: Array, y: Array, test_x: Array, test_y: Array) -> dict[str, Array]:
        full: Heads = jax.tree.map(lambda leaf: leaf[0], runs)
        left_out: Heads = jax.tree.map(lambda leaf: leaf[1:], runs)
        apart = jax.vmap(distance, in_axes=(0, None))(left_out, full)
        own = losses(full, x, y)
        # l_i without sample i: its mean has the expectation of a test loss, and hardly its noise.
        unseen = jax.vmap(lambda heads, one, label: losses(heads, one[None], label[None])[0])(left_out, x, y)
        return {
            "stability": jnp.mean(apart),
            "worst": jnp.max(apart),
            "train": jnp.mean(own),
            "left_out_gap": jnp.mean(unseen - own),
            "test": jnp.mean(losses(full, test_x, test_y)),
            "largest_head": largest_head(full),
        }

    return jax.jit(look)


def experiment(scale: Scale) -> Experiment:
    return Experiment(NAME, run=f"{__name__}:run", configs=_grid(scale))


def _grid(scale: Scale) -> list[Config]:
    if scale == "smoke":
        sizes, last, seeds, tests = [8, 12], 16, 2, 100
    elif scale == "quick":
        sizes, last, seeds, tests = [8, 16, 32, 64, 128], 128, 5, 4000
    else:
        sizes, last, seeds, tests = [8, 16, 32, 64, 128, 256, 512], 1024, 20, 20000
    kinds = [("zero", FEW), ("zero", ENOUGH)]
    if scale != "smoke":
        kinds += [("one-step", ENOUGH), ("random", FEW)]
    common = {**MIXTURE, "n1": 2000, "n_test": tests, "eta": ETA, "checkpoints": octaves(8, last, 1)}
    return [
        {**common, "start": start, "heads": heads, "n": n, "seed": seed}
        for start, heads in kinds
        for n in sizes
        for seed in range(seeds)
    ]


def cost(config: Config) -> float:
    """Seconds on one core, from steps measured at all shapes of the quick scale."""
    samples = config["n"] * (config["n"] + 1)
    return float(0.3 + SECONDS * work(config) * samples * config["checkpoints"][-1])


def probe(config: Config) -> float:
    """The same from a few real steps."""
    with jax.enable_x64(True):
        problem = draw({**config, "n_test": 1})
        n = config["n"]
        start: Heads = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (n + 1, *leaf.shape)), problem.heads)
        arguments = (start, problem.x, problem.y, weights(n, jnp.float64), config["eta"])
        np.asarray(descend_runs(True)(*arguments, 1).U)
        began = time.perf_counter()
        np.asarray(descend_runs(True)(*arguments, 3).U)
        return float(0.3 + (time.perf_counter() - began) / 3 * config["checkpoints"][-1])


Kind = tuple[str, int]
BySize = dict[int, list[Row]]
Found = tuple[Finding, Interval | None]


def analyse(rows: Sequence[Row]) -> Analysis:
    cells: dict[Kind, BySize] = {}
    for row in sorted(rows, key=lambda row: int(row.config["n"])):
        kind = (row.config["start"], row.config["heads"])
        cells.setdefault(kind, {}).setdefault(row.config["n"], []).append(row)
    bounds = {kind: _bounds(by_size) for kind, by_size in cells.items()}
    found = [*_exponents(cells), *_levels(cells, bounds), *_steps_exponents(cells), *_heads(cells)]
    return Analysis(
        findings=tuple(finding for finding, _ in found),
        fits={finding.setting: interval.as_json() for finding, interval in found if interval is not None},
        plots={"stability": _size_plot(cells, bounds), "steps": _steps_plot(cells)},
        remarks=_remarks(cells, bounds),
    )


def _named(kind: Kind) -> str:
    heads = f"2^{kind[1].bit_length() - 1}" if kind[1] > 4096 else str(kind[1])
    return f"{kind[0]} start, H = {heads}"


def _checkpoints(by_size: BySize) -> list[int]:
    return [int(k) for k in next(iter(by_size.values()))[0].config["checkpoints"]]


def _last(rows: Sequence[Row], name: str, index: int = -1) -> Vector:
    """One value per seed, after all steps; "gap" is the test loss minus the training loss."""
    if name == "gap":
        return _last(rows, "test", index) - _last(rows, "train", index)
    return np.array([float(row.arrays[name][index]) for row in rows])


WHAT = {
    "stability": "mean leave-one-out distance",
    "left_out_gap": "gap by leave-one-out",
    "gap": "test loss minus training loss",
}


def _exponents(cells: dict[Kind, BySize]) -> list[Found]:
    """Exponents in n; printed and sound theory have the same one."""
    found: list[Found] = []
    said = Prediction(PAPER_EXPONENT, "<=", tolerance=TOLERANCE)
    for name, what in WHAT.items():
        for kind, by_size in cells.items():
            exponent = theory.exponent({n: _last(of, name) for n, of in by_size.items()})
            sizes = list(by_size)
            setting = f"exponent in n, {sizes[0]}–{sizes[-1]}, of the {what}: {_named(kind)}"
            ours = None if math.isnan(exponent.value) else exponent.value
            found.append((Finding(setting, str(said), ours, exponent.ends, theory.decay(exponent, said)), exponent))
    return found


def _steps_exponents(cells: dict[Kind, BySize]) -> list[Found]:
    """How the distance grows with K at the largest n: the theorem's target lies at a distance of order log K."""
    found: list[Found] = []
    for kind, by_size in cells.items():
        n, of = list(by_size.items())[-1]
        steps = _checkpoints(by_size)
        late = [index for index, k in enumerate(steps) if 8 * k >= steps[-1]]
        exponent = theory.exponent({steps[i]: _last(of, "stability", i) for i in late})
        allowed = theory.slope([steps[i] for i in late], [math.log(steps[i]) ** 2 for i in late])
        said = None if math.isnan(allowed) else Prediction(allowed, "<=")
        setting = f"exponent in K, {steps[late[0]]}–{steps[-1]}, of the {WHAT['stability']}, n = {n}: {_named(kind)}"
        ours = None if math.isnan(exponent.value) else exponent.value
        paper = None if said is None else str(said)
        found.append((Finding(setting, paper, ours, exponent.ends, verdict(exponent, said)), exponent))
    return found


def _start(by_size: BySize) -> theory.Start | None:
    """The start that covers every run of a kind: largest first-phase error, output and head."""
    every = [row for of in by_size.values() for row in of]
    worst = {name: max(row.values[name] for row in every) for name in ("first_phase_error", "BPhi", "B2")}
    return theory.start_of(every[0].config, worst["first_phase_error"], worst["BPhi"], worst["B2"])


def _bounds(by_size: BySize) -> dict[int, Any]:
    """Theorem 2 after all steps, at every sample size; nothing for a start of unknown margin or with too few heads."""
    start, K = _start(by_size), _checkpoints(by_size)[-1]
    if start is None:
        return {}
    claims = {"independent": True, "almost_sure": True}
    config = next(iter(by_size.values()))[0].config
    evaluations = {n: theory.theorem("deora.thm2", config, start, K, n=n, **claims) for n in by_size}
    return {n: each for n, each in evaluations.items() if each is not None}


def _levels(cells: dict[Kind, BySize], bounds: dict[Kind, dict[int, Any]]) -> list[Found]:
    """Distance and gap at the largest n against Theorem 2."""
    found: list[Found] = []
    for kind, by_size in cells.items():
        n, of = list(by_size.items())[-1]
        bound = bounds[kind].get(n)
        for name, variant in (("stability", "stability"), ("left_out_gap", "gap")):
            measured = mean_interval(_last(of, name))
            sound = None if bound is None else bound.sound[variant].value
            printed = None if bound is None else bound.printed["value" if variant == "gap" else variant].value
            certified = sound is not None and math.isfinite(sound)
            said = below(measured, math.inf if sound is None else sound)
            setting = f"{WHAT[name]}, n = {n}, K = {_checkpoints(by_size)[-1]}: {_named(kind)}"
            found.append(
                (Finding(setting, printed, measured.value, measured.ends, said, sound if certified else None), measured)
            )
    return found


def _heads(cells: dict[Kind, BySize]) -> list[Found]:
    """Heads that Theorem 2 asks for, for as many steps as samples."""
    found: list[Found] = []
    for kind, by_size in cells.items():
        start, config = _start(by_size), next(iter(by_size.values()))[0].config
        if start is None or kind[1] != ENOUGH:
            continue
        for K in sorted({10, 100, 1000, _checkpoints(by_size)[-1]}):
            explicit = theory.theorem("deora.thm2", config, start, K, n=K)
            _, sound = theory.corollary_2(config, start, K, K)
            finding = Finding(
                f"heads for K = {K}: {kind[0]} start",
                None if explicit is None else explicit.printed["H_needed"].value,
                None,
                None,
                "theory only",
                sound["H_needed"].value,
            )
            found.append((finding, None))
    return found


def _remarks(cells: dict[Kind, BySize], bounds: dict[Kind, dict[int, Any]]) -> tuple[str, ...]:
    said = []
    for kind, by_size in cells.items():
        n, of = list(by_size.items())[-1]
        bound = bounds[kind].get(n)
        distances, gap = float(np.mean(_last(of, "stability"))), float(np.mean(_last(of, "left_out_gap")))
        if bound is None or not math.isfinite(bound.sound["stability"].value) or min(distances, gap) <= 0.0:
            continue
        said.append(
            f"{_named(kind)}, n = {n}: the sound Theorem 2 allows {bound.sound['stability'].value / distances:.3g} "
            f"times the distance and {bound.sound['gap'].value / gap:.3g} times the gap that were found, "
            f"the printed one {bound.printed['stability'].value / distances:.3g} and "
            f"{bound.printed['value'].value / gap:.3g} times; that one asks for {bound.printed['H_needed'].value:.2g} "
            "heads."
        )
    noise = [float(np.std(_last(of, "gap"))) for by_size in cells.values() for of in by_size.values()]
    calm = [float(np.std(_last(of, "left_out_gap"))) for by_size in cells.values() for of in by_size.values()]
    if noise and min(calm) > 0.0:
        said.append(
            "Standard deviation between seeds of test minus training loss over that of the gap by leave-one-out: "
            f"{np.median(np.array(noise) / np.array(calm)):.2g} (median over the cells)."
        )
    return tuple(said)


def _size_plot(cells: dict[Kind, BySize], bounds: dict[Kind, dict[int, Any]]) -> Plot:
    figure, axes = plots.panels(2, height=3.2)
    certified = {
        kind: of for kind, of in bounds.items() if any(math.isfinite(e.sound["gap"].value) for e in of.values())
    }
    for panel, (name, variant) in zip(axes, (("stability", "stability"), ("left_out_gap", "gap")), strict=True):
        for index, (kind, by_size) in enumerate(cells.items()):
            middle = [mean_interval(_last(of, name)) for of in by_size.values()]
            figures.curve(panel, list(by_size), middle, _named(kind), index)
        for of in list(certified.values())[:1]:
            sound = [each.sound[variant].value for each in of.values()]
            printed = [each.printed["value" if variant == "gap" else variant].value for each in of.values()]
            plots.theory(panel, list(of), sound, label="Theorem 2, sound")
            plots.theory(panel, list(of), printed, label="Theorem 2, printed", printed=True)
        plots.label(panel, "sample size n", WHAT[name], log="xy", legend=False)
        figures.ticks(panel, sorted({n for by_size in cells.values() for n in by_size}))
    figures.legend(figure, axes, columns=3)
    return Plot(
        figure,
        "Distance between the runs with and without a sample, and the gap, with 95 % intervals over seeds. Theorem 2 "
        f"is evaluated for the {_named(next(iter(certified)))}."
        if certified
        else "No kind of run is certified.",
    )


def _steps_plot(cells: dict[Kind, BySize]) -> Plot:
    figure, axes = plots.panels(1)
    for index, (kind, by_size) in enumerate(cells.items()):
        steps, of = _checkpoints(by_size), list(by_size.values())[-1]
        middle = [mean_interval(_last(of, "stability", i)) for i in range(len(steps))]
        figures.curve(axes[0], steps, middle, _named(kind), index)
    plots.label(axes[0], "steps K", WHAT["stability"], log="xy")
    figures.ticks(axes[0], sorted({k for by_size in cells.values() for k in _checkpoints(by_size)}))
    return Plot(figure, "The distance along the run, at the largest n, with 95 % intervals over seeds.")


STUDIES = (
    Study(
        id=NAME,
        paper="deora",
        title="Leave-one-out stability and gap against the sample size",
        claim=(
            "Removing one of n samples moves the iterates of gradient descent by an amount of order 1/n, up to a "
            "factor log(K)^2 after K steps, and the expected gap is of the same order, once there are many heads."
        ),
        experiment=experiment,
        analyse=analyse,
        cost=cost,
        probe=probe,
        readings=(
            "The paper's own experiments are in an appendix we do not have: data, sizes and starts are our design.",
            "All n + 1 runs keep the weight 1/n for every sample, as in the paper's argument.",
            (
                "The gap is estimated by the loss of each sample under the run without it, minus its loss under the "
                "run with it, and by the difference of test and training loss."
            ),
            (
                "Theorem 2 is evaluated at the target of loss 1/K near the start that the sound Corollary 2 uses. For "
                "the zero start its inputs hold almost surely; after the first phase they are read off the runs, so "
                "there the bound is a plug-in value."
            ),
            "Heads that start equal stay equal, so 2^24 heads are followed as one head of each kind with its copies.",
        ),
    ),
)
