"""Deora et al., Theorem 1 and Corollary 2: training and test loss of gradient descent, heads and starts compared."""

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
    work,
)
from certiformer.experiments.statistics import Interval, Prediction, Vector, below, mean_interval, ratio
from certiformer.experiments.study import Analysis, Finding, Plot, Scale, Study
from certiformer.report import plots
from certiformer.sweep import Experiment, Outcome, Row
from certiformer.sweep.run import Config

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
SECONDS = 6e-10  # per multiplication counted by `work`, measured on one core


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
            now = descend_runs(False)(now, x, y, weights, configs[0]["eta"], until - done)
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
        configs=_grid(scale),
        run_batch=f"{__name__}:run_batch",
        batch_key=_shape,
        batch_size=5,
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
    return [
        {**common, "start": start, "heads": heads, "n": size, "seed": seed}
        for start, heads, size in cells
        for seed in range(seeds)
    ]


def cost(config: Config) -> float:
    """Seconds on one core, from steps measured at all shapes of the quick scale."""
    steps = config["checkpoints"][-1]
    looks = (1 + len(config["checkpoints"])) * config["n_test"] / 2.0
    return float(0.3 + SECONDS * work(config) * (config["n"] * steps + looks))


def probe(config: Config) -> float:
    """The same from a few real steps."""
    short = {**config, "checkpoints": [4], "n_test": 1}
    run(short)
    with jax.enable_x64(True):
        problem = draw(short)
        arguments = jax.tree.map(lambda leaf: leaf[None], (problem.heads, problem.x, problem.y))
        weights = jnp.full((1, config["n"]), 1.0 / config["n"])
        began = time.perf_counter()
        np.asarray(descend_runs(False)(*arguments, weights, config["eta"], 20).U)
        step = (time.perf_counter() - began) / 20
    looks = (1 + len(config["checkpoints"])) * config["n_test"] / 2.0
    return float(0.3 + step * (config["checkpoints"][-1] + looks / config["n"]))


Cell = tuple[str, int, int]


def analyse(rows: Sequence[Row]) -> Analysis:
    cells: dict[Cell, list[Row]] = {}
    for row in rows:
        cells.setdefault((row.config["start"], row.config["heads"], row.config["n"]), []).append(row)
    cells = dict(sorted(cells.items(), key=lambda item: (STARTS.index(item[0][0]), *item[0][1:])))
    usual = _usual_size(cells)
    grid = {cell: of for cell, of in cells.items() if cell[2] == usual}
    bounds = {start: _bounds(grid, start) for start in STARTS}
    findings = [*_rates(grid), *_levels(grid, bounds), *_sizes(cells), *_few_or_many(grid), *_heads(grid, bounds)]
    return Analysis(
        findings=tuple(finding for finding, _ in findings),
        fits={finding.setting: found.as_json() for finding, found in findings if found is not None},
        plots={"losses": _loss_plot(grid, bounds), "orders": _order_plot(cells, grid, bounds)},
        remarks=_remarks(grid, bounds),
    )


Found = tuple[Finding, Interval | None]


def _usual_size(cells: dict[Cell, list[Row]]) -> int:
    """The sample size at which most starts and heads were run."""
    sizes = [n for _, _, n in cells]
    return max(set(sizes), key=lambda n: (sizes.count(n), n), default=0)


def _curve(rows: Sequence[Row], name: str) -> Vector:
    """(seeds, 1 + checkpoints), the start first."""
    return np.stack([np.asarray(row.arrays[name], float) for row in rows])


def _steps(rows: Sequence[Row]) -> list[int]:
    return [int(k) for k in rows[0].config["checkpoints"]]


def _after(rows: Sequence[Row], name: str, K: int) -> Vector:
    """One value per seed, after K steps."""
    return _curve(rows, name)[:, 1 + _steps(rows).index(K)]


def _late(steps: list[int]) -> list[int]:
    """Indices of the last three octaves, where the exponent is read off."""
    return [index for index, k in enumerate(steps) if 8 * k >= steps[-1]]


def _named(cell: Cell) -> str:
    return f"{cell[0]} start, H = {_power(cell[1])}"


def _power(heads: int) -> str:
    return f"2^{heads.bit_length() - 1}" if heads > 4096 and heads.bit_count() == 1 else str(heads)


def _rates(grid: dict[Cell, list[Row]]) -> list[Found]:
    """Exponents in K of the training loss, and of the test loss for the most heads."""
    found: list[Found] = []
    for name in ("train", "test"):
        for cell, rows in grid.items():
            if name == "test" and cell[1] != max(other[1] for other in grid if other[0] == cell[0]):
                continue
            steps = _steps(rows)
            late, curves = _late(steps), _curve(rows, name)[:, 1:]
            exponent = theory.exponent({steps[i]: curves[:, i] for i in late})
            # The printed order is log(K)^2 / K: its own exponent over these steps.
            allowed = theory.slope([steps[i] for i in late], [math.log(steps[i]) ** 2 / steps[i] for i in late])
            said = None if math.isnan(allowed) else Prediction(allowed, "<=")
            loss = "training loss" if name == "train" else "test loss"
            setting = f"exponent of the {loss} in K, {steps[late[0]]}–{steps[-1]}: {_named(cell)}"
            found.append((_finding(setting, said, exponent), exponent))
    return found


def _finding(setting: str, said: Prediction | None, found: Interval) -> Finding:
    ours = None if math.isnan(found.value) else found.value
    return Finding(setting, None if said is None else str(said), ours, found.ends, theory.decay(found, said))


def _few_or_many(grid: dict[Cell, list[Row]]) -> list[Found]:
    """The last training loss with the most heads over that with the fewest, on the same samples."""
    found: list[Found] = []
    for start in STARTS:
        cells = sorted(cell for cell in grid if cell[0] == start)
        if len(cells) < 2:
            continue
        few, many = (_curve(grid[cell], "train")[:, -1] for cell in (cells[0], cells[-1]))
        quotient = ratio(many, few, paired=len(few) == len(many))
        said = "fewer heads train faster" if quotient.low > 1.0 else "more heads train faster"
        if quotient.contains(1.0):
            said = "inconclusive"
        names = f"H = {_power(cells[-1][1])} over H = {_power(cells[0][1])}"
        finding = Finding(f"last training loss, {names}: {start} start", None, quotient.value, quotient.ends, said)
        found.append((finding, quotient))
    return found


Bounds = dict[str, Any]


def _bounds(grid: dict[Cell, list[Row]], start: str) -> Bounds | None:
    """Corollary 2 along K at the largest number of heads that was run, at the worst start of its seeds."""
    largest = max((cell for cell in grid if cell[0] == start), key=lambda cell: cell[1], default=None)
    if largest is None:
        return None
    rows = grid[largest]
    config, steps = rows[0].config, _steps(rows)[::-2][::-1]
    P = max(row.values["first_phase_error"] for row in rows)
    good = theory.start_of(
        config, P, float(np.max(_curve(rows, "output")[:, 0])), float(np.max(_curve(rows, "largest_head")[:, 0]))
    )
    if good is None:
        return None
    both = [theory.corollary_2(config, good, K, config["n"]) for K in steps]
    printed, sound = zip(*both, strict=True)
    return {"cell": largest, "steps": steps, "start": good, "sound": sound, "printed": printed}


def _levels(grid: dict[Cell, list[Row]], bounds: dict[str, Bounds | None]) -> list[Found]:
    """Last training loss and gap against Corollary 2, where the number of heads is large enough for it."""
    found: list[Found] = []
    for bound in bounds.values():
        if bound is None:
            continue
        rows, K = grid[bound["cell"]], bound["steps"][-1]
        train, test = _curve(rows, "train")[:, -1], _curve(rows, "test")[:, -1]
        for name, variant, values in (("training loss", "train", train), ("gap", "gap", test - train)):
            measured = mean_interval(values)
            sound, printed = bound["sound"][-1][f"{variant}_opt"], bound["printed"][-1][variant]
            said = below(measured, sound.value)
            setting = f"{name} at K = {K}, n = {bound['cell'][2]}: {_named(bound['cell'])}"
            found.append((Finding(setting, printed.value, measured.value, measured.ends, said, sound.value), measured))
    return found


def _sizes(cells: dict[Cell, list[Row]]) -> list[Found]:
    """Exponents in n: of the gap after all K steps, and of the test loss after K = n of them."""
    found: list[Found] = []
    for name, by_size in _by_size(cells).items():
        if len(by_size) < 2:
            continue
        for what, values in _against_n(by_size).items():
            exponent = theory.exponent(values)
            sizes = list(values)
            allowed = PAPER_EXPONENT
            if what == "test loss at K = n":
                allowed = theory.slope(sizes, [math.log(n) ** 2 / n for n in sizes])
            said = None if math.isnan(allowed) else Prediction(allowed, "<=")
            setting = f"exponent of the {what} in n, {sizes[0]}–{sizes[-1]}: {name}"
            found.append((_finding(setting, said, exponent), exponent))
    return found


def _by_size(cells: dict[Cell, list[Row]]) -> dict[str, dict[int, list[Row]]]:
    sizes: dict[str, dict[int, list[Row]]] = {}
    for cell, rows in cells.items():
        sizes.setdefault(_named(cell), {})[cell[2]] = rows
    return {name: dict(sorted(by.items())) for name, by in sizes.items() if len(by) > 1}


def _against_n(by_size: dict[int, list[Row]]) -> dict[str, dict[int, Vector]]:
    gaps, tests = {}, {}
    for n, rows in by_size.items():
        steps, test = _steps(rows), _curve(rows, "test")
        gaps[n] = test[:, -1] - _curve(rows, "train")[:, -1]
        if n in steps:
            tests[n] = _after(rows, "test", n)
    last = _steps(next(iter(by_size.values())))[-1]
    return {f"gap at K = {last}": gaps, "test loss at K = n": tests}


def _heads(grid: dict[Cell, list[Row]], bounds: dict[str, Bounds | None]) -> list[Found]:
    """Heads that the theory asks for, and the fewest that trained as well as it promises."""
    found: list[Found] = []
    for start, bound in bounds.items():
        if bound is None:
            continue
        rows = grid[bound["cell"]]
        config, steps = rows[0].config, bound["steps"]
        for index in sorted({0, len(steps) // 2, len(steps) - 1}):
            K, sound = steps[index], bound["sound"][index]
            explicit = theory.theorem("deora.thm1", config, bound["start"], K)
            enough = [
                cell[1]
                for cell, of in grid.items()
                if cell[0] == start and np.mean(_after(of, "train", K)) <= sound["train_opt"].value
            ]
            finding = Finding(
                f"heads for K = {K}, and the fewest run that met the sound loss bound: {start} start",
                None if explicit is None else explicit.printed["H_needed"].value,
                min(enough, default=None),
                None,
                "measured" if enough else "none met it",
                sound["H_needed"].value,
            )
            found.append((finding, None))
    return found


def _remarks(grid: dict[Cell, list[Row]], bounds: dict[str, Bounds | None]) -> tuple[str, ...]:
    said = []
    for start in STARTS:
        cells = sorted(cell for cell in grid if cell[0] == start)
        if len(cells) < 2:
            continue
        first, last = (float(np.mean(_curve(grid[cell], "train")[:, -1])) for cell in (cells[0], cells[-1]))
        zeta = grid[cells[0]][0].config["zeta"]
        mass = [float(np.mean(_curve(grid[cell], "relevant_mass")[:, -1])) for cell in (cells[0], cells[-1])]
        said.append(
            f"{start} start: the last training loss is {first:.2g} with {_power(cells[0][1])} heads and {last:.2g} "
            f"with {_power(cells[-1][1])}; the share of attention on relevant tokens, {zeta:.2f} when it is uniform, "
            f"ends at {mass[0]:.2f} and {mass[1]:.2f}."
        )
    for start, bound in bounds.items():
        if bound is not None:
            tight = bound["sound"][-1]["train_opt"].value / float(np.mean(_curve(grid[bound["cell"]], "train")[:, -1]))
            said.append(
                f"{start} start: the sound bound on the last training loss is {tight:.3g} times what was found."
            )
    return tuple(said)


def _loss_plot(grid: dict[Cell, list[Row]], bounds: dict[str, Bounds | None]) -> Plot:
    figure, axes = plots.panels(len(STARTS), 2, height=2.4, sharex=True, sharey="row")
    every = sorted({cell[1] for cell in grid})
    shown = [every[round(i)] for i in np.linspace(0, len(every) - 1, min(len(every), len(plots.COLOURS)))]
    for column, start in enumerate(STARTS):
        bound = bounds[start]
        for row, name in enumerate(("train", "test")):
            panel = axes[row * len(STARTS) + column]
            for cell in (cell for cell in grid if cell[0] == start and cell[1] in shown):
                steps, curves = _steps(grid[cell]), _curve(grid[cell], name)[:, 1:]
                middle = [mean_interval(curves[:, i]) for i in range(len(steps))]
                figures.curve(panel, steps, middle, f"H = {_power(cell[1])}", shown.index(cell[1]), marker=False)
            if bound is not None and row == 0:
                sound = [each["train_opt"].value for each in bound["sound"]]
                plots.theory(panel, bound["steps"], sound, label="Corollary 2, sound")
                printed = [each["train"].value for each in bound["printed"]]
                plots.theory(panel, bound["steps"], printed, label="Corollary 2, printed", printed=True)
            unit = ("training loss", "test loss")[row] if column == 0 else ""
            title = "" if row else f"{start} start"
            plots.label(panel, "steps K" if row else "", unit, title=title, log="xy", legend=False)
    figures.legend(figure, axes)
    return Plot(
        figure,
        "Mean loss over seeds with 95 % intervals. Both curves of Corollary 2 are for the largest H and the same "
        "margin; the printed one takes B_2, B_Phi >= 1 as it demands. A random start has no bound.",
    )


def _order_plot(cells: dict[Cell, list[Row]], grid: dict[Cell, list[Row]], bounds: dict[str, Bounds | None]) -> Plot:
    by_size = _by_size(cells)
    figure, axes = plots.panels(2 if by_size else 1)
    for index, start in enumerate(STARTS):
        of = sorted((cell for cell in grid if cell[0] == start), key=lambda cell: cell[1])
        middle = [mean_interval(_curve(grid[cell], "train")[:, -1]) for cell in of]
        figures.curve(axes[0], [cell[1] for cell in of], middle, f"{start} start", index)
        bound = bounds[start]
        if bound is not None and math.isfinite(bound["sound"][-1]["H_needed"].value):
            axes[0].axvline(bound["sound"][-1]["H_needed"].value, color=plots.COLOURS[index], ls="-.", lw=1.1)
    plots.label(axes[0], "heads H", "last training loss", log="xy")
    for name, sizes in by_size.items():
        for index, (what, values) in enumerate(_against_n(sizes).items()):
            middle = [mean_interval(each) for each in values.values()]
            if not middle or min(each.value for each in middle) <= 0.0:
                continue
            figures.curve(axes[1], list(values), middle, what, index)
            line = [middle[0].value * min(values) / n for n in values]
            plots.theory(axes[1], list(values), line, label="order 1/n" if index == 0 else "_")
        plots.label(axes[1], "sample size n", "loss", title=name, log="xy")
        figures.ticks(axes[1], list(sizes))
    axes[0].tick_params(which="both", labelsize=8)
    return Plot(
        figure,
        "Left: the last training loss against the number of heads; dash-dotted, the heads that the sound Corollary 2 "
        "needs. Right: the gap after all steps and the test loss after as many steps as samples. 95 % intervals.",
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
        cost=cost,
        probe=probe,
        readings=(
            "The paper's own experiments are in an appendix we do not have: data, sizes and starts are our design.",
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
