"""Terminal tables of results, evaluations and sweeps."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from certiformer.report import numbers
from certiformer.theory.core import Bound, Direction, Evaluation, Hypothesis, Quantity, Result, Status
from certiformer.theory.core.rounding import decimals

if TYPE_CHECKING:
    from certiformer.theory.core.arrays import Evaluations
    from certiformer.theory.core.solving import Solution

STATUS_STYLES = {
    Status.TRUE: "green",
    Status.FALSE: "bold red",
    Status.CONSTANT: "yellow",
    Status.UNPROVEN: "yellow",
    Status.RECONSTRUCTED: "cyan",
    Status.NONE: "dim",
}


def theorem_table(results: Sequence[type[Result]], width: int = 80) -> RenderableType:
    """One row per result: id, what it bounds, what became of the printed statement, and, if there is room, why."""
    table = Table(box=None, pad_edge=False, header_style="bold", expand=False)
    columns = {
        "id": [result.id for result in results],
        "bounds": [result.bounds.value for result in results],
        "printed": [result.status.value for result in results],
    }
    for name, entries in columns.items():
        table.add_column(name, no_wrap=True, min_width=max(map(len, entries), default=0))
    roomy = width >= 110
    table.add_column("why" if roomy else "title", overflow="fold")
    for result in results:
        status = Text(result.status.value, STATUS_STYLES[result.status])
        words = Text(result.reason if roomy else result.title)
        table.add_row(Text(result.id), Text(result.bounds.value), status, words)
    hint = Text("certiformer explain ID: what is printed, what is wrong, what holds.", "dim")
    return Group(table, Text(), hint)


def evaluation_table(evaluation: Evaluation) -> RenderableType:
    """Both sides of a result at given inputs, then every hypothesis and who states it."""
    result = evaluation.result
    title = Text.assemble((result.id, "bold"), f"  {result.title}")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("side", "variant", "value", "log10", ""):
        table.add_column(column, justify="right" if column in ("value", "log10") else "left")
    for side, variants in (("printed", evaluation.printed), ("sound", evaluation.sound)):
        for name, bound in variants.items():
            best = side == "sound" and name == evaluation.best
            table.add_row(
                side,
                name,
                bound.text(result.bounds),
                "" if bound.log10 is None else f"{decimals(bound.log10, 3, up=bound.above(result.bounds)):.12g}",
                _remark(bound, result.bounds, best),
                style="bold" if best else ("dim" if not bound.applies else ""),
            )
    parts: list[RenderableType] = [title, Text(f"bounds: {result.bounds.value}", "dim"), Text(), table]
    parts += _best_line(evaluation)
    hypotheses = _hypothesis_table(evaluation)
    if hypotheses is not None:
        parts += [Text(), Text("hypotheses", "bold"), hypotheses]
    parts += [Text(), Text(f"printed statement: {result.status.value} ({result.reason})", STATUS_STYLES[result.status])]
    return Group(*parts)


def _remark(bound: Bound, quantity: Quantity, best: bool) -> Text:
    words = []
    if best:
        words.append("best")
    if bound.bounds is not None and bound.bounds is not quantity:
        words.append(bound.bounds.value)
    if bound.clipped:
        words.append("clipped at the trivial value")
    elif bound.vacuous:
        words.append("vacuous")
    if not bound.applies:
        words.append("does not apply here")
    if bound.note:
        words.append(bound.note)
    return Text("; ".join(words))


def _best_line(evaluation: Evaluation) -> list[RenderableType]:
    """The number to quote, with the hypotheses that nobody has stated: it never stands alone."""
    if evaluation.best is None:
        return []
    bound = evaluation.sound[evaluation.best]
    open_ones = [each.requires for each in bound.hypotheses if each.state == "open"]
    provided = f", provided that {'; '.join(open_ones)}" if open_ones else ""
    told = f"{evaluation.best} = {bound.text(evaluation.result.bounds)}{provided}"
    return [Text(), Text.assemble(("best ", "bold"), told)]


_STATE_STYLES = {"verified": "green", "stated": "green", "open": "yellow", "fails": "red"}


def _hypothesis_table(evaluation: Evaluation) -> Table | None:
    """Each hypothesis once, with its state, why, and the variants that need it."""
    needed: dict[Hypothesis, list[str]] = {}
    variants = [("printed", *item) for item in evaluation.printed.items()]
    variants += [("sound", *item) for item in evaluation.sound.items()]
    for side, name, bound in variants:
        for hypothesis in bound.hypotheses:
            needed.setdefault(hypothesis, []).append(f"{side} {name}")
    if not needed:
        return None
    claims = sum(bound.bounds is not Quantity.CONSTANT for bound in evaluation.sound.values())
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for hypothesis, users in needed.items():
        sound_only = all(user.startswith("sound") for user in users)
        who = "every sound variant" if sound_only and len(users) == claims > 1 else ", ".join(users)
        why = f" ({hypothesis.why})" if hypothesis.why else ""
        table.add_row(
            Text(hypothesis.state, _STATE_STYLES[hypothesis.state]),
            Text.assemble(hypothesis.requires, why, (f"  [{who}]", "dim")),
        )
    return table


def solution_table(solution: Solution) -> RenderableType:
    """The answers of the two sides, each with the neighbour at which the bound misses the target."""
    lower = solution.result.bounds.direction is Direction.LOWER
    relation = "at least" if lower else "at most"
    kind = "least" if solution.least else "largest"
    title = Text.assemble((solution.result.id, "bold"), f"  {solution.result.title}")
    asked = (
        f"the {kind} {solution.name} with {solution.result.bounds.value} {relation} {numbers.short(solution.target)}"
    )
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("side", "variant", solution.name, "bound there", "neighbour", "bound there"):
        table.add_column(column, justify="left" if column in ("side", "variant") else "right")
    for side, found in (("sound", solution.sound), ("printed", solution.printed)):
        if found is None:
            table.add_row(side, f"none: {solution.reasons[side]}", "", "", "", "")
            continue
        beyond = ("", "") if found.neighbour is None else (f"{found.neighbour:.12g}", _value(found.neighbour_value))
        table.add_row(side, found.variant, f"{found.answer:.12g}", _value(found.value), *beyond)
    note = Text("The printed side is shown for comparison: what it promises need not hold.", "dim")
    return Group(title, Text(asked, "dim"), Text(), table, *([Text(), note] if solution.printed else []))


def _value(value: float | None) -> str:
    return "does not apply" if value is None else f"{value:.10g}"


def sweep_table(swept: Evaluations) -> RenderableType:
    """A row per point, a column per variant; stars mark values of variants that do not apply there."""
    title = Text.assemble((swept.result.id, "bold"), f"  {swept.result.title}")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in swept.axes:
        table.add_column(name, justify="right")
    sides = {side: list(dict.fromkeys(getattr(swept, side))) for side in ("printed", "sound")}
    for side, names in sides.items():
        for name in names:
            table.add_column(f"{side}\n{name}", justify="right")
    for values, evaluation in zip(itertools.product(*swept.axes.values()), swept.points, strict=True):
        row = [numbers.short(value) for value in values]
        for side, names in sides.items():
            found = getattr(evaluation, side)
            row += [_starred(found[name], swept.result.bounds) if name in found else "–" for name in names]
        table.add_row(*row)
    bounds = (bound for point in swept.points for side in (point.printed, point.sound) for bound in side.values())
    note = Text("* does not apply there: out of range, or a hypothesis that you did not state", "dim")
    return Group(title, Text(), table, *(() if all(bound.applies for bound in bounds) else [note]))


def _starred(bound: Bound, bounds: Quantity) -> str:
    return bound.text(bounds) + ("" if bound.applies else "*")
