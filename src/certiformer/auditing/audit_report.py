"""The audit for people: a table, and a figure of how much of each bound is attained."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from certiformer.auditing.attack import VERSIONS, Verdict
from certiformer.auditing.runner import Audit
from certiformer.report.figure import PRINTED_COLOUR, SOUND_COLOURS
from certiformer.report.numbers import short

STYLES = {"refuted": "bold red", "survived": "green", "not attackable": "dim", "not attacked": "yellow"}
_NEAR, _FAR = 1e-6, 1e6


def pairs(audit: Audit) -> list[tuple[str, dict[str, Verdict]]]:
    """The verdicts on each result, printed and sound together."""
    found: dict[str, dict[str, Verdict]] = {}
    for verdict in audit.verdicts:
        found.setdefault(verdict.claim.id, {})[verdict.claim.version] = verdict
    return list(found.items())


def summary(audit: Audit) -> str:
    """How many claims of each version fell."""
    parts = []
    for version in VERSIONS:
        of_version = [verdict for verdict in audit.verdicts if verdict.claim.version == version]
        counts = {outcome: sum(v.outcome == outcome for v in of_version) for outcome in STYLES}
        parts.append(f"{version}: " + ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count))
    return "; ".join(parts)


def audit_table(audit: Audit) -> RenderableType:
    """One line per result: what became of it as printed and in its sound form, and how much of it was attained."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("claim", no_wrap=True)
    for version in VERSIONS:
        table.add_column(version, no_wrap=True)
        table.add_column("ratio", justify="right", no_wrap=True)
    table.add_column("points", justify="right", no_wrap=True)
    for id, verdicts in pairs(audit):
        cells: list[Text] = []
        for version in VERSIONS:
            verdict = verdicts.get(version)
            if verdict is None:
                cells += [Text("-", "dim"), Text("")]
                continue
            cells.append(Text(verdict.outcome, STYLES[verdict.outcome]))
            cells.append(Text("" if verdict.ratio is None else short(float(f"{verdict.ratio:.3g}"))))
        points = sum(verdict.attacks for verdict in verdicts.values())
        table.add_row(escape(id), *cells, f"{points:,}")
    told = Text(
        "ratio: the largest attained/bound (bound/attained for lower bounds); above 1 the claim is false. "
        "--json has every counterexample with a command that checks it again.",
        "dim",
    )
    return Group(table, Text(), Text(summary(audit), "bold"), told)


def details(verdicts: Sequence[Verdict]) -> RenderableType:
    """Everything about a few claims: numbers, how they were found, and the command that checks a counterexample."""
    lines: list[RenderableType] = []
    for verdict in verdicts:
        head = f"{verdict.claim.id} {verdict.claim.version}: "
        lines.append(Text.assemble((head, "bold"), (verdict.outcome, STYLES[verdict.outcome])))
        if verdict.attained is not None and verdict.bound is not None and verdict.ratio is not None:
            lines.append(
                Text(
                    f"  attained {short(verdict.attained)}, bound {short(verdict.bound)}, "
                    f"ratio {short(verdict.ratio)}, {verdict.attacks:,} points"
                )
            )
        if verdict.why:
            lines.append(Text(f"  {verdict.why}"))
        if verdict.counterexample is not None:
            lines.append(Text(f"  {verdict.counterexample.command}", "dim", overflow="fold"))
    return Group(*lines)


def audit_figure(audit: Audit) -> Figure:
    """For every attacked claim a bar from what was attained to the bound, in units of the bound, printed and sound."""
    rows = [(id, verdicts) for id, verdicts in pairs(audit) if any(v.ratio is not None for v in verdicts.values())]
    figure = Figure(figsize=(9.0, 1.6 + 0.2 * max(len(rows), 1)), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for axis, version, colour in zip(axes, VERSIONS, (PRINTED_COLOUR, SOUND_COLOURS[0]), strict=True):
        for row, (_, verdicts) in enumerate(rows):
            verdict = verdicts.get(version)
            if verdict is not None and verdict.ratio is not None:
                _bar(axis, row, verdict, colour)
        axis.axvline(1.0, color="0.2", lw=1.0)
        axis.set_xscale("log")
        axis.set_xlim(_NEAR / 2, _FAR * 60)
        axis.set_title(f"{version} (bound = 1)", fontsize=9)
        axis.set_xlabel("attained / bound", fontsize=8)
        axis.grid(True, axis="x", color="0.92", lw=0.5)
        axis.tick_params(labelsize=7)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    axes[0].set_yticks(range(len(rows)), [id for id, _ in rows], fontsize=6)
    axes[0].set_ylim(len(rows) - 0.4, -0.6)
    return figure


def _bar(axis: Axes, row: int, verdict: Verdict, colour: str) -> None:
    assert verdict.ratio is not None
    place = min(max(verdict.ratio, _NEAR), _FAR)
    if verdict.outcome != "refuted":
        axis.plot([place, 1.0], [row, row], color=colour, lw=3.0, solid_capstyle="butt")
        axis.plot(place, row, marker="o", color=colour, ms=3.5)
        return
    # A refuted claim: a black hatched bar beyond the bound, a cross, and the word.
    axis.barh(row, place - 1.0, left=1.0, height=0.6, color="white", edgecolor="black", hatch="//////", lw=0.6)
    axis.plot(place, row, marker="X", color="black", ms=6)
    factor = "inf" if math.isinf(verdict.ratio) else short(float(f"{verdict.ratio:.2g}"))
    axis.annotate(f"false ×{factor}", (place, row), xytext=(6, 0), textcoords="offset points", fontsize=6, va="center")
