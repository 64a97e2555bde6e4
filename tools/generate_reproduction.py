"""Write docs/reproduction.md and what follows the runs in docs/papers/*.md from the published runs.

    python tools/generate_reproduction.py redraw [ID ...]   reports and figures again, from docs/reproduction/runs
    python tools/generate_reproduction.py [--check]         the page again, from the reports that are kept

Runs are published by `certiformer reproduce ID --scale paper --export docs/reproduction/runs/NAME.runs`. Nothing is run
here, and numbers on the page are those of the reports; nothing is typed in.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from certiformer.report import reproduction as shown
from certiformer.reproduction.reproduce import TIMES, redraw
from certiformer.reproduction.study_registry import PAPERS, studies
from certiformer.reproduction.sweep import read
from certiformer.reproduction.sweep.time_estimate import processor_times, shape_name
from certiformer.theory.core import papers

ROOT = Path(__file__).resolve().parents[1]
RUNS = ROOT / "docs" / "reproduction" / "runs"
REPORTS = ROOT / "docs" / "reproduction" / "reports"
PAGE = ROOT / "docs" / "reproduction.md"
PAPER_PAGES = ROOT / "docs" / "papers"
FIGURES = "## Figures and tables"
"""In a paper's page: what stands below this heading is written here."""
MOST = 12
"""So many judged rows stand open under a figure."""

Document = dict[str, Any]


def keep(document: Document, place: Path) -> None:
    """A report and its figures, PNG and PDF, with names instead of paths; pages show the PNG."""
    folder, final = place / f".{document['id']}", place / document["id"]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    pictures = [Path(path) for path in document["figures"] if path.endswith(".png")]
    for picture in map(Path, document["figures"]):
        shutil.copy(picture, folder / picture.name)
    document = _rounded({**document, "figures": [picture.name for picture in pictures]})
    (folder / "report.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    shutil.rmtree(final, ignore_errors=True)
    folder.rename(final)


def _rounded(value: Any) -> Any:
    """Numbers to ten digits: the last ones depend on the processor."""
    if isinstance(value, dict):
        return {name: _rounded(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [_rounded(entry) for entry in value]
    return float(f"{value:.10g}") if isinstance(value, float) else value


def redraw_all(ids: Sequence[str] = ()) -> None:
    """Those named, or all that have runs."""
    for study in studies():
        if (not ids or study.id in ids) and (RUNS / f"{study.experiment('smoke').name}.runs").exists():
            with tempfile.TemporaryDirectory() as out:
                keep(dict(redraw(study.id, RUNS, out=out).document), REPORTS)
                print(f"redrew {study.id}")


def times() -> dict[str, dict[str, float]]:
    """Seconds of the processor that the published runs took, by experiment and shape: for estimates."""
    versions = {(grid := study.experiment("smoke")).name: grid.version for study in studies()}
    found = {path.stem: processor_times(read(path).rows, versions[path.stem]) for path in sorted(RUNS.glob("*.runs"))}
    return {
        name: {shape_name(shape): float(f"{seconds:.3g}") for shape, seconds in sorted(of.items())}
        for name, of in found.items()
    }


def kept() -> list[Document]:
    found = {path.parent.name: json.loads(path.read_text()) for path in REPORTS.glob("*/report.json")}
    return [found[study.id] for study in studies() if study.id in found]


def name_of(paper: str) -> str:
    return papers()[paper].short


def figures(document: Document) -> list[str]:
    """An experiment on its paper's page: the claim, the finding, figures, numbers side by side; the rest is folded."""
    lines = [f"### {document['id']}: {document['title']}", "", f"*The paper:* {document['claim']}", ""]
    lines += [f"*Our runs:* {document['headline']}", ""]
    for picture in document["figures"]:
        caption = document["captions"][picture.removesuffix(".png")]
        lines += [f"![{document['id']}](../reproduction/reports/{document['id']}/{picture})", "", caption, ""]
    judged = [row for row in document["rows"] if row["verdict"] != "measured"][:MOST]
    others = [row for row in document["rows"] if row not in judged]
    if judged:
        lines += [shown.findings_markdown({**document, "rows": judged}), ""]
    if others:
        name = f"{len(others)} {'more ' if judged else ''}row{'s' if len(others) > 1 else ''}"
        table = shown.findings_markdown({**document, "rows": others})
        lines += [f"<details><summary>{name}</summary>", "", table, "", "</details>", ""]
    notes = [*document["remarks"], *document["readings"]]
    if notes:
        lines += ["<details><summary>Details, and settings that the paper does not state</summary>", ""]
        lines += [*(f"- {note}" for note in notes), "", "</details>", ""]
    again = f"certiformer reproduce {document['id']} --from docs/reproduction/runs"
    return [*lines, f"<sub>{shown.provenance({**document, 'reused': 0})}</sub>", "", "```", again, "```", ""]


def coverage(paper: str, documents: list[Document]) -> str:
    """How much of each experiment of a paper has been run."""
    lines = ["| experiment | what is shown | figure points covered | runs | processor time |", "|---|---|---|---|---|"]
    found = {document["id"]: document for document in documents}
    for study in (study for study in studies() if study.paper == paper):
        document = found.get(study.id)
        if document is None:
            of, runs = study.covered([]).of, len(study.experiment("paper").configs)
            lines.append(f"| `{study.id}` | {study.title} | 0 of {of} | 0 of {runs:,} | not run |")
            continue
        cells = f"{document['covered']['cells']} of {document['covered']['of']}"
        runs, time = f"{document['finished']:,} of {document['runs']:,}", shown.span(document["work_seconds"])
        link = f"[`{document['id']}`](#{anchor(document)})"
        lines.append(f"| {link} | {document['title'].replace('|', '&#124;')} | {cells} | {runs} | {time} |")
    return "\n".join(lines)


def anchor(document: Document) -> str:
    """The id that Markdown gives to the heading of an experiment."""
    plain = f"{document['id']}: {document['title']}".lower()
    plain = "".join(c for c in plain if c.isalnum() or c in " -_").strip()
    return re.sub(r"[-\s]+", "-", plain)


def verdicts(document: Document) -> str:
    words = ", ".join(f"{count} {word}" for word, count in document["tally"].items() if word != "measured")
    return f" *({words})*" if words else ""


def findings(paper: str, documents: list[Document]) -> str:
    """What each published experiment of a paper found."""
    own = [document for document in documents if document["paper"] == paper]
    lines = [f"- **{document['id']}.** {document['headline']}{verdicts(document)}" for document in own]
    return "\n".join(lines) or "Nothing is published yet."


def paper_page(paper: str, documents: list[Document]) -> str:
    """The page of a paper: its prose as it stands, with the parts that follow the runs written anew."""
    text = (PAPER_PAGES / f"{paper}.md").read_text(encoding="utf-8")
    for mark, body in (("coverage", coverage(paper, documents)), ("found", findings(paper, documents))):
        text = re.sub(
            rf"<!-- {mark} -->.*?<!-- end -->", f"<!-- {mark} -->\n{_kept(body)}\n<!-- end -->", text, flags=re.S
        )
    lines = [text.partition(FIGURES)[0].rstrip(), "", FIGURES, ""]
    for document in documents:
        if document["paper"] == paper:
            lines += figures(document)
    return "\n".join(lines).rstrip() + "\n"


def _kept(text: str) -> str:
    return text.replace("\\", "\\\\")


def page(documents: list[Document]) -> str:
    """The index: one line per paper, then what every experiment found."""
    lines = [
        "# The papers' experiments",
        "",
        "Every figure and table is drawn from [published runs](reproduction/runs/README.md), without running anything:",
        "`certiformer reproduce ID --from docs/reproduction/runs`. Whoever repeats some runs (`--verify 5`) gets",
        "the same bits with the same version and libraries on the same type of processor. Verdicts follow",
        "[rules](verdicts.md) that were written down before the runs. Only completed runs are shown. To continue them:",
        "",
        "```",
        "certiformer reproduce merge docs/reproduction/runs/*.runs",
        "certiformer reproduce ID --scale paper    # --estimate says how long it takes, --only takes a part",
        "```",
        "",
        "`--set seed=0:40` or `--set lag=4,16,128` goes beyond the paper's grid. Scale `quick` is a self-test of",
        "minutes on smaller grids and settles no question about a paper.",
        "",
        "| paper | experiments published | points covered | runs | processor time |",
        "|---|---|---|---|---|",
    ]
    for paper in PAPERS:
        own = [document for document in documents if document["paper"] == paper]
        planned = [study for study in studies() if study.paper == paper]
        points = sum(document["covered"]["cells"] for document in own)
        of = sum(study.covered([]).of for study in planned)
        grids = {study.id: study.experiment("smoke").name for study in planned}
        own.sort(key=lambda document: document["finished"])  # of experiments that share runs, the one that has them all
        runs = {grids[document["id"]]: document for document in own}.values()
        done, time = sum(d["finished"] for d in runs), shown.span(sum(d["work_seconds"] for d in runs))
        cells = f"{len(own)} of {len(planned)} | {points} of {of} | {done:,} | {time}"
        lines.append(f"| [{name_of(paper)}](papers/{paper}.md) | {cells} |")
    for paper in PAPERS:
        lines += ["", f"## {name_of(paper)}", "", f"[Claims, runs, findings, figures](papers/{paper}.md)", ""]
        lines.append(findings(paper, documents))
        missing = [
            study for study in studies() if study.paper == paper and study.id not in {d["id"] for d in documents}
        ]
        lines += [f"- **{study.id}.** {study.title}: not published yet." for study in missing]
    return "\n".join([*lines, ""])


def pages() -> dict[Path, str]:
    """Every page that follows the published runs."""
    documents = kept()
    return {PAGE: page(documents), **{PAPER_PAGES / f"{paper}.md": paper_page(paper, documents) for paper in PAPERS}}


def main() -> int:
    parser = argparse.ArgumentParser(description="The pages of the papers' experiments.")
    parser.add_argument("action", nargs="?", choices=["redraw"])
    parser.add_argument("ids", nargs="*", metavar="ID")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    if given.action == "redraw":
        redraw_all(given.ids)
    for place, text in {**pages(), TIMES: json.dumps(times(), indent=0) + "\n"}.items():
        if not given.check:
            place.write_text(text)
            print(f"wrote {place.relative_to(ROOT)}")
        elif not place.exists() or place.read_text() != text:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
