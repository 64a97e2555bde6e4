"""Write docs/reproduction.md, its figures and the README's table from the published runs.

    python tools/generate_reproduction.py redraw [ID ...]   reports and figures again, from docs/reproduction/runs
    python tools/generate_reproduction.py [--check]         the page again, from the reports that are kept

Runs are published by `certiformer reproduce ID --scale paper --export docs/reproduction/runs/NAME.runs`. Nothing is run
here, and numbers on the page are those of the reports; nothing is typed in.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from certiformer.report import reproduction as shown
from certiformer.reproduction.registry import PAPERS, studies
from certiformer.reproduction.reproduce import TIMES, redraw
from certiformer.reproduction.sweep import read
from certiformer.reproduction.sweep.time_estimate import processor_times, shape_name
from certiformer.theory.core import papers

ROOT = Path(__file__).resolve().parents[1]
RUNS = ROOT / "docs" / "reproduction" / "runs"
REPORTS = ROOT / "docs" / "reproduction" / "reports"
PAGE = ROOT / "docs" / "reproduction.md"
README = ROOT / "README.md"
BEGIN, END = "<!-- reproduction -->", "<!-- end of reproduction -->"
SHOWN = ("mwigo.table1", "trauger.fig1", "arda.fig1", "arda.fig2", "li.misspecified")
"""In the README: one experiment for each claim that a paper rests on."""

Document = dict[str, Any]


def keep(document: Document, place: Path) -> None:
    """A report and its PNG figures, with names instead of paths."""
    folder, final = place / f".{document['id']}", place / document["id"]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    pictures = [Path(path) for path in document["figures"] if path.endswith(".png")]
    for picture in pictures:
        shutil.copy(picture, folder / picture.name)
    document = {**document, "figures": [picture.name for picture in pictures]}
    (folder / "report.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    shutil.rmtree(final, ignore_errors=True)
    folder.rename(final)


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


def section(document: Document) -> list[str]:
    """Our finding first; the paper's claim is the paper's."""
    lines = [f"### {document['id']}: {document['title']}", "", f"**{document['headline']}**", ""]
    lines += [shown.tally(document), "", f"> The paper's claim: {document['claim']}", ""]
    for picture in document["figures"]:
        caption = document["captions"][picture.removesuffix(".png")]
        lines += [f"![{document['id']}](reproduction/reports/{document['id']}/{picture})", "", caption, ""]
    again = f"certiformer reproduce {document['id']} --from docs/reproduction/runs"
    lines += [f"<sub>{shown.provenance({**document, 'reused': 0})}</sub>", "", "```", again, "```", ""]
    lines += ["<details><summary>Side by side</summary>", "", shown.findings_markdown(document), "", "</details>", ""]
    for remark in document["remarks"]:
        lines += [remark, ""]
    if document["readings"]:
        lines += ["<details><summary>What is left open, and how we read it</summary>", ""]
        lines += [*(f"- {reading}" for reading in document["readings"]), "", "</details>", ""]
    return lines


def page() -> str:
    documents = kept()
    lines = [
        "# The papers' experiments",
        "",
        "Redrawn from the runs published in [reproduction/runs](reproduction/runs), without running anything:",
        "`certiformer reproduce ID --from docs/reproduction/runs`. Under a figure stands the digest of its runs, with",
        "their version and commit: whoever does them again, or some of them (`--verify 5`), gets the same bits with",
        "the same version and libraries on the same type of processor. Each verdict is one of nine words, by",
        "[rules](verdicts.md) that were written down before the runs.",
        "",
        "What is here is what has been run: the last two columns say how many cells of a paper's figure or table have",
        "as many seeds as the paper has there (of our own designs: all seeds of the grid), and how many runs of the",
        "grid exist. Runs go seed by seed over all cells (of Trauger and Tewari over five lengths first). Any machine",
        "can continue from here:",
        "",
        "```",
        "certiformer reproduce merge docs/reproduction/runs/*.runs",
        "certiformer reproduce ID --scale paper    # --estimate says how long it takes, --only takes a part",
        "```",
        "",
        "`--set seed=0:40` or `--set lag=4,16,128` goes beyond the grid, with the study's own analysis; such cells do",
        "not count as the paper's. [More](reproduction/runs/README.md)",
        "",
        "Scale `quick` is a self-test of minutes on smaller grids: it shows that the machinery works, and says nothing",
        "about a paper.",
        "",
        summary(documents),
        "",
    ]
    for paper in PAPERS:
        of_paper = [document for document in documents if document["paper"] == paper]
        if of_paper:
            lines += [f"## {name_of(paper)}", ""]
            for document in of_paper:
                lines += section(document)
    return "\n".join(lines)


def summary(documents: list[Document]) -> str:
    """A line per experiment: what we found, and on how much of the full grid it rests."""
    lines = ["| experiment | what we found | verdicts | cells | runs |", "|---|---|---|---|---|"]
    found = {document["id"]: document for document in documents}
    for study in studies():
        document = found.get(study.id)
        if document is None:
            of, runs = study.covered([]).of, len(study.experiment("paper").configs)
            lines.append(f"| `{study.id}` | {study.title}: not published yet | | 0 of {of} | 0 of {runs:,} |")
            continue
        anchor = f"{document['id']}: {document['title']}".lower()
        anchor = "".join(c for c in anchor if c.isalnum() or c in " -_").replace(" ", "-")
        words = ", ".join(f"{count} × {word}" for word, count in document["tally"].items())
        cells = f"{document['covered']['cells']} of {document['covered']['of']}"
        link = f"[`{document['id']}`](reproduction.md#{anchor})"
        runs = f"{document['finished']:,} of {document['runs']:,}"
        lines.append(f"| {link} | {document['headline'].replace('|', '&#124;')} | {words} | {cells} | {runs} |")
    return "\n".join(lines)


def readme(documents: list[Document]) -> str:
    """The README with the few findings of SHOWN."""
    lines = ["| experiment | what we found | cells | runs |", "|---|---|---|---|"]
    for document in (found for found in documents if found["id"] in SHOWN):
        cells = f"{document['covered']['cells']} of {document['covered']['of']}"
        runs = f"{document['finished']:,} of {document['runs']:,}"
        lines.append(f"| `{document['id']}` | {document['headline'].replace('|', '&#124;')} | {cells} | {runs} |")
    before, rest = README.read_text().split(BEGIN)
    return "\n".join([f"{before}{BEGIN}", *lines, f"{END}{rest.split(END)[1]}"])


def main() -> int:
    parser = argparse.ArgumentParser(description="The reproduction's page.")
    parser.add_argument("action", nargs="?", choices=["redraw"])
    parser.add_argument("ids", nargs="*", metavar="ID")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    if given.action == "redraw":
        redraw_all(given.ids)
    for place, text in ((PAGE, page()), (README, readme(kept())), (TIMES, json.dumps(times(), indent=0) + "\n")):
        if not given.check:
            place.write_text(text)
            print(f"wrote {place.relative_to(ROOT)}")
        elif not place.exists() or place.read_text() != text:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
