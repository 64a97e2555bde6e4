"""Write docs/reproduction.md and its figures from the experiments' own documents.

    python tools/generate_reproduction.py run [--ledger FILE]     every experiment at scale quick, and the paper cells
    python tools/generate_reproduction.py [--check]               the page again, from what is kept in docs/reproduction

Finished runs come from the ledger. Numbers on the page are those of the documents; nothing is typed in.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from certiformer.core import papers
from certiformer.experiments import PAPERS, studies
from certiformer.report import reproduction as shown

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "docs" / "reproduction"
PAGE = ROOT / "docs" / "reproduction.md"

# One cell of each grid at the paper's full setting: small enough to be run on a laptop.
PAPER_CELLS: dict[str, dict[str, Any]] = {
    "mwigo.table1": {"d_m": 64, "n": 400, "tokens": "padded", "logits": "one"},
    "trauger.fig2": {"tokens": 20, "seed": 0},
    "trauger.bounds": {"tokens": 20, "seed": 0},
    "deora.margins": {"n": 1600, "start": "zero", "seed": 0},
    "deora.stability": {"n": 256, "start": "zero", "heads": 16777216, "seed": 0},
    "deora.training": {"start": "one-step", "heads": 1099511627776, "seed": 0},
    "arda.fig1": {"teacher": "paper", "seed": 1},
    "arda.fig2": {"lag": 4, "seed": 1},
    "li.rates": {"n": 131072, "seed": 0},
    "li.rank": {"d": 32, "seed": 0},
    "li.heads": {"heads": 16, "seed": 0},
    "li.depth": {"layers": 6, "seed": 0},
    "li.tails": {"tail": "pareto", "n": 16384, "noise": "gaussian", "loss": "squared", "seed": 0},
    "li.truncation": {"tail": "pareto", "n": 2048, "seed": 0},
    "li.length": {"tokens": 2048, "seed": 0},
    "li.misspecified": {"problem": "cross", "n": 1000000000001, "seed": 0},
    "certificates": {"task": "mnist", "n": 10000, "seed": 0},
}

Document = dict[str, Any]


def reproduce(*arguments: str) -> Document:
    """What the command says; a run that failed is part of it, a mistake is not."""
    done = subprocess.run(
        [sys.executable, "-m", "certiformer", "reproduce", *arguments, "--json"], stdout=subprocess.PIPE, text=True
    )
    if done.returncode not in (0, 1) or not done.stdout:
        raise SystemExit(done.returncode or 1)
    document: Document = json.loads(done.stdout)
    return document


def keep(document: Document, place: Path, *, figures: bool = True) -> None:
    """A document and its PNG figures, with names instead of paths."""
    folder, final = place / f".{document['id']}", place / document["id"]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    pictures = [Path(path) for path in document["figures"] if figures and path.endswith(".png")]
    for picture in pictures:
        shutil.copy(picture, folder / picture.name)
    document = {**document, "figures": [picture.name for picture in pictures]}
    (folder / "report.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    shutil.rmtree(final, ignore_errors=True)
    folder.rename(final)


def run(ledger: str | None) -> None:
    place = ["--ledger", ledger] if ledger else []
    with tempfile.TemporaryDirectory() as out:
        everything = reproduce("all", "--scale", "quick", "--out", out, *place)
        for document in everything["experiments"]:
            keep(document, KEPT / "quick")
        for id, cell in PAPER_CELLS.items():
            only = [word for name, value in cell.items() for word in ("--only", f"{name}={json.dumps(value)}")]
            keep(reproduce(id, "--scale", "paper", "--out", out, *only, *place), KEPT / "paper", figures=False)


def kept(scale: str) -> list[Document]:
    found = {path.parent.name: json.loads(path.read_text()) for path in (KEPT / scale).glob("*/report.json")}
    return [found[study.id] for study in studies() if study.id in found]


def name_of(paper: str) -> str:
    return "Our own" if paper == "certificates" else papers()[paper].short


def section(document: Document, place: str) -> list[str]:
    lines = [f"### {document['id']}: {document['title']}", "", document["claim"], ""]
    lines += ["```", shown.command(document), "```", ""]
    for picture in document["figures"]:
        caption = document["captions"][picture.removesuffix(".png")]
        lines += [f"![{document['id']}]({place}/{document['id']}/{picture})", "", caption, ""]
        lines += [f"<sub>{shown.provenance(document)}</sub>", ""]
    lines += [shown.findings_markdown(document), ""]
    for remark in document["remarks"]:
        lines += [remark, ""]
    if document["readings"]:
        lines += ["<details><summary>What is left open, and how we read it</summary>", ""]
        lines += [*(f"- {reading}" for reading in document["readings"]), "", "</details>", ""]
    return lines


def page() -> str:
    quick, cells = kept("quick"), kept("paper")
    lines = [
        "# The papers' experiments",
        "",
        "Generated by `make reproduction` from the ledger of `certiformer reproduce all --scale quick`; each figure",
        "carries the hash of the runs behind it. “Inconclusive” means that the interval is compatible with both",
        "predictions, or that there are too few runs to tell.",
        "",
        summary(quick),
        "",
    ]
    for paper in PAPERS:
        documents = [document for document in quick if document["paper"] == paper]
        if documents:
            lines += [f"## {name_of(paper)}", ""]
            for document in documents:
                lines += section(document, "reproduction/quick")
    lines += [
        "## At the paper's full setting: one cell each",
        "",
        "`--scale paper` runs the whole grid (hours to a day on two cores; the time is projected from measured steps",
        "before it starts). These cells of it were run, some while the machine was busy with other sweeps, which shows",
        "in their wall time.",
        "",
    ]
    for document in cells:
        lines += [f"### {document['id']}", "", "```", shown.command(document), "```", ""]
        lines += [shown.findings_markdown(document), ""]
        for remark in document["remarks"]:
            lines += [remark, ""]
        lines += [f"<sub>{shown.provenance(document)}</sub>", ""]
    return "\n".join(lines)


def summary(documents: list[Document]) -> str:
    """A line per experiment: what it shows, what came out, how long it took."""
    lines = ["| experiment | what it shows | verdicts | runs | time |", "|---|---|---|---|---|"]
    for document in documents:
        verdicts = "; ".join(f"{count} × {verdict}" for verdict, count in shown.verdicts(document).items())
        anchor = f"{document['id']}: {document['title']}".lower()
        anchor = "".join(c for c in anchor if c.isalnum() or c in " -_").replace(" ", "-")
        link = f"[`{document['id']}`](reproduction.md#{anchor})"
        time = shown.span(document["wall_seconds"])
        lines.append(f"| {link} | {document['title']} | {verdicts} | {document['runs']} | {time} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description="The reproduction's page.")
    parser.add_argument("action", nargs="?", choices=["run"])
    parser.add_argument("--ledger")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    if given.action == "run":
        run(given.ledger)
    text = page()
    if given.check:
        return int(not PAGE.exists() or PAGE.read_text() != text)
    PAGE.write_text(text)
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
