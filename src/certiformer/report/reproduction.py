"""Experiments side by side with their papers: tables for the terminal, pages for the browser, Markdown for the docs."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

import jinja2
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from certiformer.report.page import environment, number

Document = Mapping[str, Any]
STYLES = {
    "agrees": "green",
    "compatible": "green",
    "holds": "green",
    "not violated": "green",
    "differs": "red",
    "incompatible": "red",
    "violated": "red",
    "small effect": "yellow",
    "cannot tell": "yellow",
}


def experiment_page(document: Document, drawings: Mapping[str, str]) -> str:
    """The page of one experiment; `drawings` are its figures as SVG, by name."""
    figures = [
        {"name": name, "source": _data_uri(svg), "caption": document["captions"][name]}
        for name, svg in drawings.items()
    ]
    return _template("experiment.html").render(
        report=document, figures=figures, provenance=provenance(document), command=command(document), **_words(document)
    )


def index_page(documents: Sequence[Document], scale: str, pictures: Mapping[str, str]) -> str:
    """One page for many experiments: what each says, and the way to its own page; `pictures` are links to images."""
    entries = [{"report": d, "picture": pictures.get(d["id"]), "said": tally(d)} for d in documents]
    return _template("reproduction.html").render(entries=entries, scale=scale, span=span)


def findings_table(document: Document) -> RenderableType:
    """The paper's value, ours with its interval, and the verdict."""
    words = _words(document)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("setting", overflow="fold")
    table.add_column(words["paper_column"], justify="right")
    if words["has_sound"]:
        table.add_column("sound", justify="right")
    table.add_column("ours", justify="right", no_wrap=True)
    table.add_column("95 % interval", justify="right")
    table.add_column("verdict")
    for row in document["rows"]:
        cells = [escape(row["setting"]), escape(value(row["paper"]))]
        cells += [escape(value(row["sound"]))] if words["has_sound"] else []
        cells += [escape(value(row["ours"])), escape(interval(row["ci"]))]
        table.add_row(*cells, Text(said(row), STYLES.get(row["verdict"], "")))
    parts: list[RenderableType] = [
        Text.assemble((document["id"], "bold"), f"  {document['title']}"),
        Text(document["headline"]),
        Text(tally(document), "dim"),
        Text(),
        table,
    ]
    parts += [Text(), *(Text(remark) for remark in document["remarks"])] if document["remarks"] else []
    return Group(*parts, Text(), Text(provenance(document), "dim"))


def findings_markdown(document: Document) -> str:
    """The same table for a Markdown page, without columns that say nothing in any row."""
    columns = {
        "setting": [row["setting"] for row in document["rows"]],
        _words(document)["paper_column"]: [value(row["paper"]) for row in document["rows"]],
        "sound": [value(row["sound"]) for row in document["rows"]],
        "ours": [value(row["ours"]) for row in document["rows"]],
        "95 % interval": [interval(row["ci"]) for row in document["rows"]],
        "verdict": [said(row) for row in document["rows"]],
    }
    kept = {name: cells for name, cells in columns.items() if set(cells) - {"–", "measured"} or name == "ours"}
    lines = [f"| {' | '.join(kept)} |", "|---" * len(kept) + "|"]
    rows = zip(*kept.values(), strict=True)
    lines += [f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |" for cells in rows]
    return "\n".join(lines)


def list_table(entries: Sequence[Document]) -> RenderableType:
    """The experiments, and how many runs each scale has."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("experiment", no_wrap=True)
    table.add_column("what it shows")
    for scale in ("smoke", "quick", "paper"):
        table.add_column(scale, justify="right", no_wrap=True)
    for entry in entries:
        table.add_row(entry["id"], escape(entry["title"]), *(f"{entry['runs'][s]:,}" for s in entry["runs"]))
    hint = (
        "Runs at each scale. certiformer reproduce ID runs the self-test (quick), --scale paper the whole; --estimate "
        "says how long it would take, --from FILE redraws what was published."
    )
    return Group(table, Text(), Text(hint, "dim"))


def status_table(entries: Sequence[Document]) -> RenderableType:
    """How far each experiment is, by scale."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    columns = ("experiment", "scale", "done", "failed", "running", "pending")
    for column in columns:
        table.add_column(column, justify="left" if column in ("experiment", "scale") else "right", no_wrap=True)
    table.add_column("work", justify="right", no_wrap=True)
    for entry in entries:
        table.add_row(*(str(entry[column]) for column in columns), span(entry["seconds"]))
    return table


def tally(document: Document) -> str:
    """How often each word is said, and how much of the full grid that rests on."""
    words = ", ".join(f"{count} × {word}" for word, count in document["tally"].items())
    covered = document["covered"]
    share = f"Cells covered: {covered['cells']} of {covered['of']}"
    runs = f"runs: {document['finished']:,} of {document['runs']:,}"
    return f"{len(document['rows'])} rows: {words or 'none'}. {share}; {runs}."


def said(row: Mapping[str, Any]) -> str:
    """The verdict with its remark."""
    return f"{row['verdict']} ({row['detail']})" if row["detail"] else str(row["verdict"])


def provenance(document: Document) -> str:
    """What stands under each figure: the digest of the runs, the code, the seeds, the time, and what computed them."""
    words = [f"runs {document['ledger'][:16]}", code(document["code"])]
    runs = f"{document['finished']:,} of {document['runs']:,} runs"
    words.append(runs + (f", {document['failed']} failed" if document["failed"] else ""))
    if document["seeds"]:
        words.append(f"seeds {seeds(document['seeds'])}")
    wall = document["wall_seconds"]
    words.append(("" if wall is None else f"{span(wall)} wall time, ") + f"{span(document['work_seconds'])} of work")
    if document["reused"]:
        words.append(f"{document['reused']} runs reused")
    words += document["origins"]
    return " · ".join(words)


def command(document: Document) -> str:
    """The command that gives this document."""
    part = _options(document["only"], document["set"])
    return f"certiformer reproduce {document['id']} --scale {document['scale']}{part}"


def code(parts: Sequence[Mapping[str, Any]]) -> str:
    """Of which version and commits runs are: "version 2 (commit 465f2fb), 25 runs of version 1 (commit e763ce4)"."""
    versions: dict[int, list[Mapping[str, Any]]] = {}
    for part in parts:
        versions.setdefault(part["version"], []).append(part)
    words: list[str] = []
    for version, same in versions.items():
        commits = " and ".join(str(part["commit"]) for part in same if part["commit"])
        count = "" if not words else f"{sum(part['runs'] for part in same):,} runs of "
        words.append(f"{count}version {version}" + (f" (commit {commits})" if commits else ""))
    return ", ".join(words)


def older_versions(count: int, ledger: str) -> str:
    """Runs of another version that are in a ledger and missing in this one; nothing where there are none."""
    if not count:
        return ""
    runs = f"{count} run{'s' if count > 1 else ''} of another version"
    return f"{runs} in {ledger} give other numbers and are not counted; --from {ledger} redraws them"


def _options(only: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    given = [("--only", only), ("--set", values)]
    return "".join(f" {option} {name}={_typed(of)}" for option, entries in given for name, of in entries.items())


def _typed(entry: Any) -> str:
    """One value or several, as one types them."""
    several = entry if isinstance(entry, list | tuple) else [entry]
    return ",".join(each if isinstance(each, str) else json.dumps(each) for each in several)


def value(entry: Any) -> str:
    """A cell: a number, a text, or nothing."""
    if isinstance(entry, float) and 0 < abs(entry) < 1e6 and not entry.is_integer():
        return f"{entry:.3g}" if abs(entry) >= 1e-3 else number(entry)
    return number(entry)


def interval(ends: Sequence[Any] | None) -> str:
    """[low, high]; a dash where there is none."""
    if ends is None or all(isinstance(end, str) for end in ends):
        return "–"
    return f"[{', '.join('-∞' if end == '-inf' else value(end) for end in ends)}]"


def seeds(numbers: Sequence[int]) -> str:
    """0–9, 11: runs of neighbours joined."""
    parts: list[list[int]] = []
    for seed in numbers:
        if parts and seed == parts[-1][-1] + 1:
            parts[-1].append(seed)
        else:
            parts.append([seed])
    return ", ".join(str(p[0]) if len(p) == 1 else f"{p[0]}–{p[-1]}" for p in parts)


def span(seconds: float) -> str:
    """Seconds as a person says them."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h" if seconds < 48 * 3600 else f"{seconds / 86400:.1f} d"


def _words(document: Document) -> dict[str, Any]:
    """Whose numbers stand in which column."""
    own = document["paper"] == "li"
    return {
        "paper_column": "printed theory" if own else "paper",
        "has_sound": any(row["sound"] is not None for row in document["rows"]),
    }


def _template(name: str) -> jinja2.Template:
    found = environment()
    found.filters["value"] = value
    found.filters["interval"] = interval
    found.filters["said"] = said
    found.filters["tally"] = tally
    found.filters["span"] = span
    return found.get_template(name)


def _data_uri(svg: str) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
