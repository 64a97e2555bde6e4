"""Deora et al., Theorem 1 and Corollary 2: training and test loss of gradient descent, heads and starts compared."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from certiformer.reproduction.designs import _deora_theory as theory
from certiformer.reproduction.designs._deora_analysis import OUR_DESIGN, at, named, power
from certiformer.reproduction.designs._deora_runs import (
    STARTS,
    Heads,
    descend_runs,
    distance,
    draw,
    largest_head,
    losses,
    octaves,
    outputs,
    relevant_mass,
)
from certiformer.reproduction.panel import Panel, Plot, Series
from certiformer.reproduction.statistics import Interval, mean_interval, power_law, ratio
from certiformer.reproduction.study import Analysis, Finding, Scale, Study, seed_by_seed
from certiformer.reproduction.sweep import Experiment, Outcome, Row, Shortened
from certiformer.reproduction.sweep.run import Config
from certiformer.reproduction.table import Table
from certiformer.reproduction.trend import Notes, Theory, Trend, fitted_exponent
from certiformer.reproduction.verdicts import MEASURED, Verdict, rate_allowed

NAME = "deora.training"
MIXTURE = {
    "tokens": 8,
    "zeta": 0.25,
    "M": 2,
    "d": 12,
    "S": 2.0,
    "Z_mu": 0.2,
    "Z_nu": 0.2,
    "Z": 0.5,
    "noise": 0.15,
}
ETA = 1 / 64  # below 1/beta2 at the zero start and after the first phase: both can be certified at this step size
ENOUGH = 2**30  # heads for which the sound corollary covers every step count of the quick scale
PAPER_EXPONENT = -1.0  # the paper: loss and gap of order 1/K and 1/n, up to logarithms


def run_batch(configs: Sequence[Config]) -> list[Outcome]:
    """Runs that differ in nothing but the seed."""
    with jax.enable_x64(True):
        problems = [draw(config) for config in configs]
        x, y, test_x, test_y, relevant = (
            jnp.stack([getattr(problem, name) for problem in problems])
            for name in ("x", "y", "test_x", "test_y", "relevant")
        )
        start: Heads = jax.tree.map(lambda *leaves: jnp.stack(leaves), *(problem.heads for problem in problems))
        weights = jnp.full(y.shape, 1.0 / y.shape[1])
        seen = [_look()(start, start, x, y, test_x, test_y, relevant)]
        now, done = start, 0
        for until in configs[0]["checkpoints"]:
            now = descend_runs()(now, x, y, weights, configs[0]["eta"], until - done)
            seen.append(_look()(now, start, x, y, test_x, test_y, relevant))
            done = until
        curves = {name: np.stack([np.asarray(each[name]) for each in seen], axis=1) for name in seen[0]}
    return [
        Outcome(
            {"first_phase_error": problem.first_phase_error},
            {name: curve[index] for name, curve in curves.items()},
        )
        for index, problem in enumerate(problems)
    ]


def run(config: Config) -> Outcome:
    """Curves over the checkpoints, the start first: losses, error, margin, distance travelled, attention."""
    return run_batch([config])[0]


@functools.cache
def _look() -> Callable[..., dict[str, Array]]:
    def look(
        now: Heads, start: Heads, x: Array, y: Array, test_x: Array, test_y: Array, relevant: Array
    ) -> dict[str, Array]:
        test = losses(now, test_x, test_y)
        return {
            "train": jnp.mean(losses(now, x, y)),
            "test": jnp.mean(test),
            "test_error": jnp.mean((test >= math.log(2.0)).astype(test.dtype)),
            "output": jnp.max(jnp.abs(outputs(now, x))),
            "distance": distance(now, start),
            "largest_head": largest_head(now),
            "relevant_mass": relevant_mass(now, x, relevant),
        }

    return jax.jit(jax.vmap(look))


def experiment(scale: Scale) -> Experiment:
    return Experiment(
        NAME,
        run=f"{__name__}:run",
        version=1,
        configs=_grid(scale),
        run_batch=f"{__name__}:run_batch",
        batch_key=_shape,
        batch_size=5,
        shorten=_shorten,
    )


def _shape(config: Config) -> object:
    return {name: value for name, value in config.items() if name != "seed"}


def _grid(scale: Scale) -> list[Config]:
    if scale == "smoke":
        few, many, sizes, n, last, seeds, tests = [2], [ENOUGH], [25, 50], 50, 50, 2, 50
    elif scale == "quick":
        few, many, sizes, n, last, seeds, tests = (
            [1, 4, 16],
            [64, 4096, ENOUGH],
            [25, 50, 100, 200, 400],
            100,
            1600,
            10,
            2000,
        )
    else:
        few, many, n, last, seeds, tests = [1, 4, 16, 64], [256, 4096, 2**20, 2**40], 200, 12800, 20, 5000
        sizes = [25, 50, 100, 200, 400, 800, 1600]
    cells = [(start, heads, n) for start in STARTS for heads in (few if start == "random" else few + many)]
    cells += [("one-step", few[-1], size) for size in sizes if size != n]
    common = {**MIXTURE, "n1": 2000, "n_test": tests, "eta": ETA, "checkpoints": octaves(25, last)}
    return seed_by_seed([{**common, "start": start, "heads": heads, "n": size} for start, heads, size in cells], seeds)


def _shorten(config: Config) -> Shortened:
    """Few steps of many samples, and one look at the end."""
    most, last = min(320, max(40, 64_000 // config["n"])), config["checkpoints"][-1]
    one, two = (({**config, "checkpoints": [steps]}, steps / last) for steps in (min(most // 4, last), min(most, last)))
    return one, two


def analyse(rows: Sequence[Row]) -> Analysis:
    table, notes = Table(rows), Notes()
    sizes = {n: len(part.by(named)) for n, part in table.by("n").items()}
    usual = max(sizes, key=lambda n: (sizes[n], n))
    grid = table.where(n=usual)
    bounds = {start: _bounds(part) for start, part in grid.by("start").items()}
    slopes = [_rate(notes, cell, part) for cell, part in grid.by(named).items()]
    for start, part in grid.by("start").items():
        _levels(notes, part, bounds[start])
        _few_or_many(notes, start, part)
        _asked(notes, start, part, bounds[start])
    right = _sizes(notes, table)
    left = []
    for start, part in grid.by("start").items():
        left.append(Series.means(f"{start} start", part.points("heads", at("train"))))
    panels = [Panel("heads H", "last training loss", left, "heads", "xy")]
    panels += [Panel("sample size n", "loss", right, "sample size", "xy")] if right else []
    low, high = min(s.value for s in slopes), max(s.value for s in slopes)
    return notes.analysis(
        f"the training loss changes with the steps K with exponents {low:.2f} to {high:.2f} in {len(slopes)} settings "
        "of start and heads.",
        losses=_loss_plot(grid, bounds),
        orders=Plot(
            panels,
            "Left: the last training loss against the number of heads. Right: the gap after all steps and the test "
            "loss after as many steps as samples. 95 % intervals.",
        ),
    )


def _rate(notes: Notes, cell: str, table: Table) -> Interval:
    """Exponents in K over the last three octaves; the printed order is log(K)^2 / K, with its exponent there."""
    steps = table.config["checkpoints"]
    late = {k: i + 1 for i, k in enumerate(steps) if 8 * k >= steps[-1]}
    allowed = fitted_exponent(list(late), [math.log(k) ** 2 / k for k in late])
    slopes = []
    for name, loss in (("train", "training loss"), ("test", "test loss")):
        slope = power_law({k: table.column(at(name, i)) for k, i in late.items()}, paired=True)
        setting = f"exponent of the {loss} in K, {min(late)}–{max(late)}, {cell}: order log(K)²/K"
        notes.found(setting, slope, rate_allowed(slope, allowed), paper=f"≤ {allowed:.3g}")
        slopes.append(slope)
    return slopes[0]


def _few_or_many(notes: Notes, start: str, table: Table) -> None:
    """The last training loss with the most heads over that with the fewest, on the same samples."""
    by_heads = table.by("heads")
    if len(by_heads) < 2:
        return
    few, many = min(by_heads), max(by_heads)
    quotient = ratio(*(by_heads[heads].column(at("train")) for heads in (many, few)), paired=True)
    notes.found(f"last training loss, H = {power(many)} / H = {power(few)}, {start} start", quotient)
    mass = [float(np.mean(by_heads[heads].column(at("relevant_mass")))) for heads in (few, many)]
    notes.remarks.append(
        f"{start} start: the share of attention on relevant tokens, {table.config['zeta']:.2f} when it is uniform, "
        f"ends at {mass[0]:.2f} with {power(few)} heads and at {mass[1]:.2f} with {power(many)}."
    )


def _bounds(table: Table) -> dict[str, Any] | None:
    """Corollary 2 along K at the largest number of heads that was run, at the worst start of its seeds."""
    most = table.by("heads")[max(table.by("heads"))]
    config, steps = most.config, most.config["checkpoints"][::-2][::-1]
    worst = [float(np.max(most.column(at(name, 0)))) for name in ("output", "largest_head")]
    good = theory.start_of(config, float(np.max(most.column("first_phase_error"))), *worst)
    if good is None:
        return None
    printed, sound = zip(*(theory.corollary_2(config, good, K, config["n"]) for K in steps), strict=True)
    return {"table": most, "steps": steps, "start": good, "sound": sound, "printed": printed}


def _levels(notes: Notes, table: Table, bound: dict[str, Any] | None) -> None:
    """Last training loss and gap against Corollary 2, printed and sound, where the heads are enough for it."""
    if bound is None:
        return
    most, K = bound["table"], bound["steps"][-1]
    for what, variant, name in (("training loss", "train", "train"), ("gap", "gap", "gap")):
        found = mean_interval(most.column(at(name)))
        setting = f"{what} at K = {K}, n = {most.config['n']}, {named(most.config)}: Corollary 2"
        printed, sound = bound["printed"][-1][variant].value, bound["sound"][-1][f"{variant}_opt"].value
        notes.sides(setting, found, _if_finite, paper=printed, sound=sound)


def _if_finite(found: Interval, value: float) -> Verdict:
    return rate_allowed(found, value) if math.isfinite(value) else MEASURED


def _asked(notes: Notes, start: str, table: Table, bound: dict[str, Any] | None) -> None:
    """Heads that the theory asks for, and the fewest that trained as well as it promises."""
    if bound is None:
        return
    steps = bound["steps"]
    for index in sorted({0, len(steps) // 2, len(steps) - 1}):
        K, sound = steps[index], bound["sound"][index]
        explicit = theory.theorem("deora.thm1", bound["table"].config, bound["start"], K)
        place = table.config["checkpoints"].index(K) + 1
        enough = [
            heads
            for heads, part in table.by("heads").items()
            if np.mean(part.column(at("train", place))) <= sound["train_opt"].value
        ]
        setting = f"heads asked for at K = {K}, and the fewest run that met the sound loss bound, {start} start"
        asked = None if explicit is None else explicit.printed["H_needed"].value
        notes.findings.append(Finding(setting, asked, min(enough, default=None), sound=sound["H_needed"].value))


def _sizes(notes: Notes, table: Table) -> list[Series]:
    """Exponents in n: of the gap after all K steps, and of the test loss after K = n of them."""
    series: list[Series] = []
    for cell, part in table.by(named).items():
        sizes = part.by("n")
        if len(sizes) < 2:
            continue
        last = part.config["checkpoints"][-1]
        one = Theory("order 1/n", exponent=PAPER_EXPONENT, relation="<=")
        gap = Trend(
            f"exponent of the gap at K = {last} in n, {cell}", part, "n", at("gap"), one, paired=True, label="gap"
        )
        series += notes.note(gap)
        tests = {
            n: of.column(at("test", of.config["checkpoints"].index(n) + 1))
            for n, of in sizes.items()
            if n in of.config["checkpoints"]
        }
        slope = power_law(tests, paired=True)
        allowed = fitted_exponent(list(tests), [math.log(n) ** 2 / n for n in tests])
        if not math.isnan(allowed):
            setting = f"exponent of the test loss at K = n in n, {cell}: order log(n)²/n"
            notes.found(setting, slope, rate_allowed(slope, allowed), paper=f"≤ {allowed:.3g}")
            series.append(Series.means("test loss at K = n", tests))
    return series


def _loss_plot(grid: Table, bounds: dict[str, dict[str, Any] | None]) -> Plot:
    panels = []
    for name, loss in (("train", "training loss"), ("test", "test loss")):
        for start, part in grid.by("start").items():
            by_heads = part.by("heads")
            heads = list(by_heads)
            shown = [heads[round(i)] for i in np.linspace(0, len(heads) - 1, min(len(heads), 5))]
            series = []
            for H in dict.fromkeys(shown):
                steps = by_heads[H].config["checkpoints"]
                means = {k: mean_interval(by_heads[H].column(at(name, i + 1))) for i, k in enumerate(steps)}
                series.append(Series.measured(f"H = {power(H)}", means, points=False))
            bound = bounds[start]
            if bound is not None and name == "train":
                for side, key, printed in (("sound", "train_opt", False), ("printed", "train", True)):
                    curve = {K: each[key].value for K, each in zip(bound["steps"], bound[side], strict=True)}
                    series.append(Series.theory(f"Corollary 2, {side}", curve, printed=printed))
            panels.append(Panel("steps K", loss, series, f"{start} start", "xy"))
    return Plot(
        panels,
        "Mean loss over seeds with 95 % intervals. Both curves of Corollary 2 are for the largest H and the same "
        "margin; the printed one takes B_2, B_Phi >= 1 as it demands. A random start has no bound.",
        columns=len(bounds),
    )


STUDIES = (
    Study(
        id=NAME,
        paper="deora",
        title="Training and test loss against steps, heads and starts on the tokenized mixture",
        claim=(
            "From a good initialization gradient descent has training loss of order 1/K and gap of order 1/n, up to "
            "logarithms, once the number of heads is polylogarithmic in K; after K = n steps the test loss is of order "
            "1/n."
        ),
        experiment=experiment,
        analyse=analyse,
        readings=(
            OUR_DESIGN,
            "The random start draws W ~ N(0, 1/d) and U ~ N(0, 1/(dT)); the paper gives no margin for it.",
            (
                "Orders up to logarithms are read as log(K)^2 / K and, at K = n, log(n)^2 / n: an exponent at most "
                "that of these curves over the same range agrees."
            ),
            (
                "Heads that start equal stay equal, so the zero start and the first phase are run with one head of "
                "each kind and its number of copies: this is the same gradient descent, at any number of heads."
            ),
            (
                "Where a margin is needed it is the sound one of Proposition 2. For the zero start all inputs of the "
                "theory hold almost surely; after the first phase, which has 2000 samples of its own, its error, the "
                "outputs and the heads are read off the runs, so there the bound on the gap is a plug-in value."
            ),
        ),
    ),
)
