"""`certiformer plan`: how many labels for which guarantee, before any is collected."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from certiformer.cli import _reading as reading
from certiformer.cli._output import Form, answered, console, forms
from certiformer.report.numbers import percent
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.report import confidence_text


@forms("json", "csv", "markdown")
def plan(
    error: Annotated[float | None, typer.Option(help="The error rate to be certified, e.g. 0.02.")] = None,
    confidence: reading.Confidence = None,
    delta: reading.Delta = None,
    expect: Annotated[
        float | None, typer.Option(help="The error rate you expect; without it, three are shown.")
    ] = None,
    gate: Annotated[
        bool, typer.Option("--gate", help="Items that `certiformer gate` needs to decide at this --error.")
    ] = False,
    power: Annotated[float, typer.Option(help="With which chance of success.")] = 0.8,
    models: Annotated[int, typer.Option(help="Models compared on the same examples, all fixed beforehand.")] = 1,
    difference: Annotated[
        float | None, typer.Option(help="Two models: the difference of their error rates that shall be seen.")
    ] = None,
    discordance: Annotated[
        float | None,
        typer.Option(help="Fraction of items that exactly one model gets right; default 0.1."),
    ] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the chance of success (.png, .svg).")] = None,
    form: Form = "",
) -> None:
    """How many labels to collect for a guarantee."""
    if (error is None) == (difference is None):
        raise InputError("--error", error, "an error rate to certify", "For example --error 0.05; or --difference 0.02")
    from certiformer.evaluation._given import failure_probability

    level = failure_probability(delta, confidence)
    if error is not None:
        if discordance is not None:
            raise InputError("--discordance", discordance, "--difference, for two models")
        planned = _gate if gate else _errors
        if expect is None:
            if plot is not None:
                raise InputError("--plot", str(plot), "one curve", f"Say what you expect: --expect {error / 2:g}")
            shares = [share for share in (*EXPECTED, *(ABOVE if gate else ())) if share * error < 1.0]
            plans = [planned(error, level, share * error, power, models) for share in shares]
            _three(error, plans, form)
            return
        document = planned(error, level, expect, power, models)
    else:
        if expect is not None or models != 1 or gate:
            raise InputError("--expect, --models, --gate", (expect, models, gate), "--error, for one error rate")
        document = _pairs(difference, 0.1 if discordance is None else discordance, level, power)
    if plot is not None:
        _draw(document, plot)
    if answered(form, lambda: document, lambda: [{"labels": n, "chance": chance} for n, chance in document["curve"]]):
        return
    console.print(f"[bold]{document['answer']}[/bold]")
    for text in document["details"]:
        console.print(text)
    console.print("labels  chance of success")
    bar = max(4, min(40, console.width - 16))
    for n, chance in document["curve"][:: max(1, len(document["curve"]) // 12)]:
        console.print(f"{n:6,d}  {'█' * round(bar * chance)} {100 * chance:.0f} %", soft_wrap=True)
    if plot is not None:
        console.print(f"wrote {plot}")


EXPECTED = (0.0, 0.25, 0.5)
"""Shares of the target error rate that are shown where nothing is expected."""
ABOVE = (1.5, 2.0)
"""The same above it, for a gate: it may fail, too."""


def _three(error: float, found: list[dict[str, Any]], form: Form) -> None:
    """The plans for three expectations: how good the model is decides, so it is asked."""
    names = ("expect", "n", "stable", "power")
    rows = [{name: one[name] for name in names} for one in found]
    if not answered(form, lambda: {"error": error, "plans": rows}, lambda: rows):
        console.print("[bold]It depends on the error rate that you expect:[/bold]")
        for one in rows:
            console.print(
                f"{one['n']:>9,} labels if the true rate is {100 * one['expect']:g} % (--expect {one['expect']:g})"
            )


def _may_fall(n: int, stable: int, power: float) -> list[str]:
    told = f"The chance can fall as labels are added; from {stable:,} on it is at least {100 * power:g} %."
    return [told] if stable > n else []


def _gate(error: float, delta: float, expect: float, power: float, models: int) -> dict[str, Any]:
    """The least number of items at which the gate gives the right verdict with this chance."""
    import numpy as np

    from certiformer.evaluation.gates import SCANNED, chance_of_verdict, items_to_decide

    if models < 1:
        raise InputError("--models", models, "a whole number of at least 1")
    level = delta / models
    n = items_to_decide(expect, error, level, power)
    if n is None:
        raise InputError("--expect", expect, f"a rate further from {error:g}", "Ten million items do not decide")
    stable, falls = None, ["As labels are added the chance can fall a little before it grows."]
    if n <= SCANNED:
        every = np.arange(n, 2 * n + 1)
        below = np.flatnonzero(chance_of_verdict(every, expect, error, level) < power)
        stable = n if not len(below) else int(every[below[-1]]) + 1
        falls = _may_fall(n, stable, power)
    verdict, more = "PASS" if expect < error else "FAIL", f" --models {models}" if models > 1 else ""
    return {
        "n": n,
        "certificate": "gate",
        "expect": expect,
        "power": float(chance_of_verdict([n], expect, error, level)[0]),
        "stable": stable,
        "answer": f"Score {n:,} new items: the gate at {100 * error:g} % then says {verdict} with a chance of "
        f"{100 * power:g} %, if the true rate is {100 * expect:g} %.",
        "details": [*falls, f"certiformer gate FILE --error {error:g} --delta {delta:g}{more}"],
        "curve": _curve(n, lambda sizes: chance_of_verdict(sizes, expect, error, level)),
    }


def _curve(n: int, chances: Callable[[Any], Iterable[float]], points: int = 97) -> list[list[float]]:
    """The chance of success from an eighth of n to twice n."""
    import numpy as np

    sizes = np.unique(np.linspace(max(1, n // 8), 2 * n, points).astype(int))
    return [[int(size), float(chance)] for size, chance in zip(sizes, chances(sizes), strict=True)]


def _errors(error: float, delta: float, expect: float, power: float, models: int) -> dict[str, Any]:
    from certiformer.evaluation import plan_errors, success_curve

    found = plan_errors(error, delta, expect, power, models=models)
    allowed = f"at most {found.errors} error{'s' if found.errors != 1 else ''}" if found.errors else "no error"
    details = [
        f"With {allowed} among them the hold-out certificate says: at most {percent(error)}, with confidence "
        f"{confidence_text(delta)}" + (f", for the best of {models} models." if models > 1 else "."),
        f"If the true error rate is {100 * expect:g} %, that happens with probability {100 * found.power:.1f} %.",
        *_may_fall(found.n, found.stable, power),
    ]
    return {
        "n": found.n,
        "certificate": "holdout",
        "expect": expect,
        "power": found.power,
        "errors": found.errors,
        "stable": found.stable,
        "answer": f"Label {found.n:,} independent examples that no model was chosen on.",
        "details": details,
        "curve": _curve(found.n, lambda sizes: success_curve(error, delta, expect, sizes, models=models)),
    }


def _pairs(difference: float | None, discordance: float, delta: float, power: float) -> dict[str, Any]:
    from certiformer.evaluation.planning import PairPlan, plan, sign_power

    found = plan(difference=difference, discordance=discordance, delta=delta, power=power)
    assert isinstance(found, PairPlan)
    worse, better = found.only_a_wrong, found.only_b_wrong
    details = (
        f"If {100 * worse:g} % of the items are wrong for one model only and {100 * better:g} % for the other only, "
        f"the two-sided sign test at level {delta:g} decides with probability {100 * found.power:.1f} %."
    )
    return {
        "n": found.n,
        "certificate": "sign test",
        "power": found.power,
        "answer": f"Label {found.n:,} items and score both models on each.",
        "details": [details],
        "curve": _curve(found.n, lambda sizes: [sign_power(int(n), worse, better, delta) for n in sizes], 25),
    }


def _draw(document: dict[str, Any], path: Path) -> None:
    from matplotlib.figure import Figure

    from certiformer.report.figure import save

    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.subplots()
    axes.plot([n for n, _ in document["curve"]], [chance for _, chance in document["curve"]], drawstyle="steps-post")
    axes.axvline(document["n"], linestyle=":", color="black")
    axes.annotate(f"{document['n']:,}", (document["n"], 0.02), xytext=(4, 0), textcoords="offset points")
    axes.set(xlabel="labels", ylabel="chance of success", ylim=(0, 1.02))
    save(figure, path)
