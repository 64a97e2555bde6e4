"""Deora et al., Propositions 2 and 3: NTK margins at three starts, by quadratic program, against the formulas."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

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
    expanded,
    largest_head,
    outputs,
    work,
)
from certiformer.experiments.statistics import Interval, Prediction, Vector, mean_interval, verdict
from certiformer.experiments.study import Analysis, Finding, Plot, Scale, Study
from certiformer.measure.ntk import hard_margin
from certiformer.models import MultiHeadAttention
from certiformer.report import plots
from certiformer.sweep import Experiment, Outcome, Row
from certiformer.sweep.run import Config

NAME = "deora.margins"
AXES = {
    "S": "signal S",
    "heads": "heads H",
    "tokens": "tokens T",
    "zeta": "fraction of relevant tokens ζ",
    "n": "sample size n",
}
MIDDLE: Config = {"S": 2.0, "heads": 4, "tokens": 8, "zeta": 0.25, "n": 100, "n1": 2000}
ETA, STEPS = 1 / 64, 1600
SECONDS = 6e-10  # per multiplication counted by `work`, measured on one core
ROUNDING = 1e-9  # relative; the program's own margin is exact to less


def run(config: Config) -> Outcome:
    """NTK margin of the start by quadratic program (at norm sqrt 2), then the margin gradient descent reaches."""
    with jax.enable_x64(True):
        problem = draw(config)
        model = expanded(problem.heads)
        slopes = _features()(model, problem.x)
        rows = np.concatenate([np.asarray(slope).reshape(config["n"], -1) for slope in slopes], axis=1)
        found = hard_margin(np.asarray(problem.y)[:, None] * rows)
        values = {
            "margin": math.sqrt(2.0) * found.achieved.value,
            "margin_at_most": math.sqrt(2.0) * found.at_most.value,
            "BPhi": float(jnp.max(jnp.abs(outputs(problem.heads, problem.x)))),
            "B2": float(largest_head(problem.heads)),
            "first_phase_error": problem.first_phase_error,
        }
        if config["steps"]:
            start: Heads = jax.tree.map(lambda leaf: leaf[None], problem.heads)
            weights = jnp.full((1, config["n"]), 1.0 / config["n"])
            data = (problem.x[None], problem.y[None])
            moved = descend_runs(False)(start, *data, weights, config["eta"], config["steps"])
            last: Heads = jax.tree.map(lambda leaf: leaf[0], moved)
            values["reached"] = float(jnp.min(problem.y * outputs(last, problem.x)))
            values["travelled"] = float(distance(last, problem.heads))
    return Outcome(values)


@functools.cache
def _features() -> Callable[[MultiHeadAttention, Array], tuple[Array, Array]]:
    """Gradients of the model at every sample, compiled once for a shape."""

    def slopes(model: MultiHeadAttention, x: Array) -> tuple[Array, Array]:
        gradient = jax.grad(lambda each, sample: each(sample))
        found = jax.vmap(gradient, in_axes=(None, 0))(model, x)
        return found.U, found.W

    return jax.jit(slopes)


def experiment(scale: Scale) -> Experiment:
    return Experiment(NAME, run=f"{__name__}:run", configs=_grid(scale))


def _grid(scale: Scale) -> list[Config]:
    if scale == "smoke":
        axes: dict[str, list[float]] = {"S": [1.0, 2.0, 4.0], "heads": [2]}
        seeds, steps, middle = 2, 20, {**MIDDLE, "heads": 2, "n": 20, "n1": 200}
    else:
        axes = {
            "S": [0.5, 1.0, 1.5, 2.0, 3.0, 4.0],
            "heads": [1, 2, 4, 8, 16],
            "tokens": [4, 8, 12, 16, 24],
            "zeta": [0.125, 0.25, 0.375, 0.5, 0.75],
            "n": [25, 50, 100, 200, 400],
        }
        seeds, steps, middle = 5, STEPS, MIDDLE
    if scale == "paper":
        axes["heads"] += [32, 64, 128]
        axes["n"] += [800, 1600]
        axes["tokens"] += [32, 48]
        seeds, steps = 20, 8 * STEPS
    settings = [{**middle, name: value} for name, values in axes.items() for value in values]
    distinct = list({tuple(sorted(each.items())): each for each in settings}.values())
    return [
        {
            **_mixture(each),
            **each,
            "start": start,
            "n_test": 1,
            "eta": ETA,
            # gradient descent only where heads are varied
            "steps": steps if all(each[name] == middle[name] for name in middle if name != "heads") else 0,
            "seed": seed,
        }
        for each in distinct
        for start in STARTS
        for seed in range(seeds)
    ]


def _mixture(setting: Config) -> Config:
    """Two irrelevant patterns in twelve dimensions; the noise grows with the signal."""
    S = setting["S"]
    return {"M": 2, "d": 12, "Z_mu": 0.05 * S**2, "Z_nu": 0.05 * S**2, "Z": 0.25 * S, "noise": 0.075 * S}


def cost(config: Config) -> float:
    """Seconds on one core: the program over n samples, and the steps, both measured."""
    program = 0.3 + 7e-6 * config["n"] ** 2
    return float(program + SECONDS * work(config) * config["n"] * config["steps"])


Found = tuple[Finding, Interval | None]
Cells = dict[tuple[str, float], list[Row]]


def analyse(rows: Sequence[Row]) -> Analysis:
    found = [*_covered(rows), *_order(rows), *_independent_of_heads(rows), *_exponents(rows), *_reached(rows)]
    panels = {name: title for name, title in AXES.items() if len(_values(rows, name)) > 1}
    drawn = {"margins": _margin_plot(rows, panels or {"S": AXES["S"]})}
    if any("reached" in row.values for row in rows):
        drawn["reached"] = _reached_plot(rows)
    return Analysis(
        findings=tuple(finding for finding, _ in found),
        fits={finding.setting: interval.as_json() for finding, interval in found if interval is not None},
        plots=drawn,
        remarks=_remarks(rows),
    )


def _values(rows: Sequence[Row], name: str) -> list[float]:
    return sorted({row.config[name] for row in rows})


def _along(rows: Sequence[Row], name: str, start: str) -> dict[float, list[Row]]:
    """The runs in which only `name` differs from the usual setting: the setting most runs have."""
    others = [other for other in MIDDLE if other != name]
    usual = {other: _usual(rows, other) for other in others}
    kept: dict[float, list[Row]] = {}
    for row in rows:
        if row.config["start"] == start and all(row.config[other] == usual[other] for other in others):
            kept.setdefault(row.config[name], []).append(row)
    return dict(sorted(kept.items()))


def _usual(rows: Sequence[Row], name: str) -> float:
    every = [row.config[name] for row in rows]
    return max(set(every), key=lambda value: (every.count(value), -value), default=0)


def _margins(rows: Sequence[Row]) -> Vector:
    return np.array([row.values["margin"] for row in rows])


def _lower_bound(row: Row) -> float | None:
    """The sound margin for this very start; the paper has none for a random one."""
    start = theory.start_of(row.config, row.values["first_phase_error"], row.values["BPhi"], row.values["B2"])
    return None if start is None else start.gamma


def _covered(rows: Sequence[Row]) -> list[Found]:
    """Is the margin of the program at least the sound lower bound, in every run?"""
    found: list[Found] = []
    for start in STARTS:
        of = [row for row in rows if row.config["start"] == start]
        if not of:
            continue
        positive = sum(row.values["margin"] > 0.0 for row in of)
        found.append(
            (
                Finding(
                    f"runs with positive NTK margin (P3): {start} start",
                    None if start != "one-step" else "all",
                    f"{positive} of {len(of)}",
                    None,
                    "good in every run" if positive == len(of) else "not good in every run",
                    None if start == "random" else "all where the formula is positive",
                ),
                None,
            )
        )
        bounds = [(row.values["margin"], bound) for row in of if (bound := _lower_bound(row)) is not None and bound > 0]
        if bounds:
            ratios = [margin / bound for margin, bound in bounds]
            holds = sum(ratio >= 1.0 - ROUNDING for ratio in ratios)
            found.append(
                (
                    Finding(
                        f"smallest ratio of the program's margin to the sound bound: {start} start, {len(ratios)} runs",
                        None,
                        min(ratios),
                        None,
                        "bound holds" if holds == len(ratios) else f"bound fails in {len(ratios) - holds} runs",
                        "≥ 1",
                    ),
                    None,
                )
            )
    return found


def _order(rows: Sequence[Row]) -> list[Found]:
    """gamma_attn >= gamma_* >= gamma_lin, with the program's margins for the last two, along the signal."""
    found: list[Found] = []
    zero, one = _along(rows, "S", "zero"), _along(rows, "S", "one-step")
    for S in zero.keys() & one.keys():
        attention = theory.ordering(one[S][0].config).printed["gamma_attn"].value
        star, linear = mean_interval(_margins(one[S])), mean_interval(_margins(zero[S]))
        printed, sound = theory.proposition_2(one[S][0].config, 0.0), Prediction(attention, "<=")
        holds = verdict(star, sound)
        said = {"agrees": "γ_attn ≥ γ_*: holds", "does not agree": "γ_attn ≥ γ_*: fails"}.get(holds, holds)
        setting = (
            f"NTK margin after the first phase, S = {S:g} (γ_attn = {attention:.3g}, zero start {linear.value:.3g})"
        )
        formula = printed.sound["gamma_opt"].value
        found.append(
            (Finding(setting, printed.printed["gamma"].value, star.value, star.ends, said, f"≥ {formula:.3g}"), star)
        )
    return sorted(found, key=lambda each: float(each[0].setting.split("S = ")[1].split()[0]))


def _independent_of_heads(rows: Sequence[Row]) -> list[Found]:
    """The margin of the zero start and after the first phase is one number for every H; the paper asks for many H."""
    found: list[Found] = []
    for start in STARTS:
        by_heads = _along(rows, "heads", start)
        if len(by_heads) < 2:
            continue
        exponent = theory.exponent({int(heads): _margins(of) for heads, of in by_heads.items()})
        spread = _spread(by_heads)
        said = "does not depend on H" if spread <= ROUNDING else verdict(exponent, Prediction(0.0))
        said = {"agrees": "no trend in H", "does not agree": "depends on H"}.get(said, said)
        heads = list(by_heads)
        paper = sound = None
        if start == "one-step":
            printed = theory.proposition_2(by_heads[heads[0]][0].config, 0.0).printed
            paper = f"for H ≥ {printed['H_needed'].value:.2g}" if printed["H_needed"].applies else None
            sound = "0, every H"
        setting = (
            f"exponent of the NTK margin in H, {heads[0]:g} to {heads[-1]:g}: {start} start "
            f"(largest relative difference between H at one seed {spread:.1g})"
        )
        found.append((Finding(setting, paper, exponent.value, exponent.ends, said, sound), exponent))
    return found


def _spread(by_heads: dict[float, list[Row]]) -> float:
    seeds: dict[int, list[float]] = {}
    for of in by_heads.values():
        for row in of:
            seeds.setdefault(row.config["seed"], []).append(row.values["margin"])
    return max((max(each) - min(each)) / max(each) if max(each) > 0.0 else 0.0 for each in seeds.values())


def _exponents(rows: Sequence[Row]) -> list[Found]:
    """How margins grow along the other axes, beside the exponents of the formulas over the same range."""
    found: list[Found] = []
    for name, title in AXES.items():
        if name == "heads":
            continue
        for start in STARTS:
            along = _along(rows, name, start)
            if len(along) < 2:
                continue
            exponent = theory.exponent({value: _margins(of) for value, of in along.items()})
            paper = sound = None
            if start != "random" and name != "n":
                formulas = [theory.proposition_2(of[0].config, 0.0) for of in along.values()]
                paper = _number(theory.slope(list(along), [each.printed["gamma"].value for each in formulas]))
                which = "gamma_zero" if start == "zero" else "gamma_opt"
                sound = _number(theory.slope(list(along), [each.sound[which].value for each in formulas]))
            low, high = min(along), max(along)
            ours = None if math.isnan(exponent.value) else exponent.value
            setting = f"exponent of the NTK margin in {title}, {low:g} to {high:g}: {start} start"
            finding = Finding(
                setting, paper if start == "one-step" else None, ours, exponent.ends, verdict(exponent, None), sound
            )
            found.append((finding, exponent))
    return found


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _reached(rows: Sequence[Row]) -> list[Found]:
    """Margin per distance travelled after gradient descent, beside the NTK margin per unit norm of the same start."""
    found: list[Found] = []
    for start in STARTS:
        for heads, of in _along([row for row in rows if "reached" in row.values], "heads", start).items():
            quotient = mean_interval([row.values["reached"] / row.values["travelled"] for row in of])
            tangent = float(np.mean(_margins(of))) / math.sqrt(2.0)
            said = "above the NTK margin" if quotient.low > tangent else "below the NTK margin"
            if quotient.contains(tangent):
                said = "inconclusive"
            setting = f"margin per distance after {of[0].config['steps']} steps, H = {heads:g}: {start} start"
            finding = Finding(setting, None, quotient.value, quotient.ends, said, f"NTK margin {tangent:.3g}")
            found.append((finding, quotient))
    return found


def _remarks(rows: Sequence[Row]) -> tuple[str, ...]:
    said = []
    gaps = [1.0 - row.values["margin"] / row.values["margin_at_most"] for row in rows if row.values["margin"] > 0.0]
    if gaps:
        said.append(
            "The program's margin is certified from below by an explicit direction and from above by a convex "
            f"combination of samples; the two ends differ by at most {max(gaps):.1g} of the value in {len(gaps)} runs."
        )
    first = [row for row in rows if row.config["start"] == "one-step"]
    if first:
        as_it_was = [
            theory.proposition_2(row.config, row.values["first_phase_error"]).printed["gamma"] for row in first
        ]
        exact = [theory.proposition_2(row.config, 0.0).printed["gamma"] for row in first]
        positive = [sum(each.value > 0 for each in of) for of in (as_it_was, exact)]
        blame = ": the difference is its term P T^(5/2) (S + Z)^3" if positive[0] < positive[1] else ""
        said.append(
            f"With the error the first phase really had, the printed γ_* is positive in {positive[0]} of {len(first)} "
            f"runs; with none it is in {positive[1]}{blame}."
        )
        better = [
            row.values["margin"] / other.values["margin"]
            for row in first
            for other in rows
            if other.config == {**row.config, "start": "zero"} and other.values["margin"] > 0.0
        ]
        if better:
            said.append(
                f"On the same samples the margin after the first phase is {min(better):.3g} to {max(better):.3g} times "
                "that of the zero start, which the paper says it cannot show to be good."
            )
    return tuple(said)


def _margin_plot(rows: Sequence[Row], panels: dict[str, str]) -> Plot:
    columns = min(3, len(panels))
    figure, axes = plots.panels(columns, -(-len(panels) // columns), height=2.5)
    for panel, (name, title) in zip(axes, panels.items(), strict=False):
        for index, start in enumerate(STARTS):
            along = {value: of for value, of in _along(rows, name, start).items() if np.mean(_margins(of)) > 0.0}
            figures.curve(
                panel, list(along), [mean_interval(_margins(of)) for of in along.values()], f"{start} start", index
            )
        along = _along(rows, name, "one-step")
        formulas = {value: theory.proposition_2(of[0].config, 0.0) for value, of in along.items()}
        zero = {value: each.sound["gamma_zero"].value for value, each in formulas.items()}
        star = {value: each.sound["gamma_opt"].value for value, each in formulas.items()}
        printed = {value: each.printed["gamma"].value for value, each in formulas.items()}
        attention = {value: theory.ordering(of[0].config).printed["gamma_attn"].value for value, of in along.items()}
        panel.plot(list(attention), list(attention.values()), color="0.5", lw=1.1, label="γ_attn")
        x, y = _positive(zero)
        panel.plot(x, y, color=plots.COLOURS[0], ls=":", lw=1.4, label="zero start, sound bound")
        plots.theory(panel, *_positive(star), label="γ_*, sound bound")
        plots.theory(panel, *_positive(printed), label="γ_*, printed (7)", printed=True)
        plots.label(panel, title, "NTK margin" if panel in axes[::columns] else "", log="xy", legend=False)
        figures.ticks(
            panel, _values([row for start in STARTS for of in _along(rows, name, start).values() for row in of], name)
        )
    spares = axes[len(panels) :]
    figures.legend(figure, axes[: len(panels)], spare=spares[0] if spares else None, columns=3)
    for spare in spares[1:]:
        spare.set_axis_off()
    return Plot(
        figure,
        "NTK margin at norm √2 by quadratic program, mean over seeds with 95 % intervals; formulas of Proposition 2 "
        "with an exact first phase, where they are positive. γ_attn is a margin of the model, at another norm.",
    )


def _positive(line: dict[float, float]) -> tuple[list[float], list[float]]:
    """The part of a curve that a logarithmic axis can show."""
    kept = {x: y for x, y in line.items() if y > 0.0}
    return list(kept), list(kept.values())


def _reached_plot(rows: Sequence[Row]) -> Plot:
    figure, axes = plots.panels(1)
    trained = [row for row in rows if "reached" in row.values]
    for index, start in enumerate(STARTS):
        along = _along(trained, "heads", start)
        quotients = [[row.values["reached"] / row.values["travelled"] for row in of] for of in along.values()]
        middle = [mean_interval(each) for each in quotients]
        plots.band(
            axes[0],
            list(along),
            [each.value for each in middle],
            [each.low for each in middle],
            [each.high for each in middle],
            label=f"{start} start",
            index=index,
        )
        tangent = [float(np.mean(_margins(of))) / math.sqrt(2.0) for of in along.values()]
        axes[0].plot(list(along), tangent, color=plots.COLOURS[index], ls=":", lw=1.2)
    plots.label(axes[0], "heads H", "margin per distance travelled", log="x")
    figures.ticks(axes[0], _values(trained, "heads"))
    return Plot(
        figure,
        "Least margin over the distance from the start after gradient descent, with 95 % intervals; dotted: the NTK "
        "margin per unit norm at the same start.",
    )


STUDIES = (
    Study(
        id=NAME,
        paper="deora",
        title="NTK margins at three starts, and the margin gradient descent reaches",
        claim=(
            "After one step from zero the NTK features are separated by a margin γ_* that exceeds that of a linear "
            "model by a term of order ζ²(1 - ζ)S⁴; attention that looks at relevant tokens only would have a larger "
            "one still, γ_attn ≥ γ_* ≥ γ_lin. The zero start cannot be shown to be good."
        ),
        experiment=experiment,
        analyse=analyse,
        cost=cost,
        readings=(
            "The paper's own experiments are in an appendix we do not have: data, sizes and starts are our design.",
            (
                "γ_lin has no formula in our copy; the zero start, whose features are linear in the mean token, stands "
                "for it."
            ),
            (
                "Margins are those of the sample, hence at least those of the population that the formulas bound; all "
                "are at norm √2, γ_attn is not, and is compared because the paper compares it."
            ),
            (
                "In the table the formulas assume an exact first phase (P = 0); the check against the sound bound uses "
                "the error that the first phase of that run had."
            ),
        ),
    ),
)
