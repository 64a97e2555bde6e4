"""Gallery and tutorials: scripts in `examples/gallery` and notebooks in `docs/tutorials`, run when the site is made.

A script is Python in cells: a line `# %% [markdown]` begins prose (comment lines), a line `# %%` begins code. What a
cell prints stands under it; what it leaves as `figure = ...` (a matplotlib figure) is drawn.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Sequence
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from website.markup import fenced, page
from website.running import output_of

FOLDER, TUTORIALS = "examples/gallery", "docs/tutorials"


@dataclass(frozen=True, slots=True)
class Cell:
    """Prose or code."""

    kind: str  # "markdown" or "python"
    text: str


@dataclass(frozen=True, slots=True)
class Example:
    """One script of the gallery, or one notebook."""

    name: str
    place: str
    title: str
    summary: str
    cells: tuple[Cell, ...]


def examples(root: Path) -> list[Example]:
    """All scripts, in the order of their names."""
    return [read(path) for path in sorted((root / FOLDER).glob("*.py"))]


def tutorials(root: Path) -> list[Example]:
    """All notebooks, in the order of `ORDER`."""
    return [notebook(root / TUTORIALS / f"{name}.ipynb") for name in ORDER]


ORDER = (
    "certify-a-classifier",
    "compare-language-models",
    "audit-a-theorem",
    "train-and-watch",
    "certify-a-language-model",
)
"""The tutorials as a newcomer reads them."""


def notebook(path: Path) -> Example:
    """The cells of a notebook; the first one is its title and summary."""
    kinds = {"markdown": "markdown", "code": "python"}
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    cells = [Cell(kinds[cell["cell_type"]], "".join(cell["source"])) for cell in found]
    title, _, summary = cells[0].text.partition("\n")
    return Example(
        path.stem, f"{TUTORIALS}/{path.name}", title.removeprefix("# "), " ".join(summary.split()), tuple(cells[1:])
    )


def read(path: Path) -> Example:
    """The cells of a script; its docstring is title and summary."""
    text = path.read_text(encoding="utf-8")
    match = re.match(r'"""(.+?)\n(.*?)"""\n', text, re.DOTALL)
    if match is None:
        raise RuntimeError(f"{path.name} has no docstring with a title")
    parts = re.split(r"^# %%(.*)$", text[match.end() :], flags=re.MULTILINE)
    cells = [Cell("python", parts[0].strip())] if parts[0].strip() else []
    for head, body in zip(parts[1::2], parts[2::2], strict=True):
        if "[markdown]" in head:
            prose = "\n".join(line.removeprefix("#").removeprefix(" ") for line in body.strip().splitlines())
            cells.append(Cell("markdown", prose))
        elif body.strip():
            cells.append(Cell("python", body.strip()))
    return Example(path.stem, f"{FOLDER}/{path.name}", match[1].rstrip("."), " ".join(match[2].split()), tuple(cells))


def example_page(example: Example, pictures: Path) -> str:
    """Prose, code, what it printed, and the figures, which are written to `pictures`."""
    parts = [f"# {example.title}", example.summary]
    space: dict[str, Any] = {"__name__": "__main__"}
    pictures.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as empty, chdir(empty):
        for number, cell in enumerate(example.cells):
            if cell.kind == "markdown":
                parts.append(cell.text)
                continue
            parts.append(fenced(cell.text, "python"))
            said = output_of(cell.text, example.place, space)
            if said.strip():
                parts.append(fenced(said, "text"))
            shown = space.pop("shown", None)
            if shown is not None:
                parts.append(f'<div class="notebook">{_one_line(shown._repr_html_())}</div>')
            figure = space.pop("figure", None)
            if figure is not None:
                file = pictures / f"{example.name}-{number}.svg"
                figure.savefig(file, metadata={"Date": None})
                parts.append(f"![{example.title}]({os.path.basename(pictures)}/{file.name})")
    parts.append(f"To run it yourself: `{example.place}`.")
    return page(*parts)


def _one_line(text: str) -> str:
    return re.sub(r"\s*\n\s*", " ", text)


def index_page(found: Sequence[Example]) -> str:
    lines = [f"- [{each.title}]({each.name}.md): {each.summary}" for each in found]
    return page(
        "# Gallery",
        "Small examples that run in seconds. Every one is run by the tests, and what you see under the code is what it "
        "printed when this page was made.",
        "\n".join(lines),
    )


def tutorials_page(found: Sequence[Example]) -> str:
    lines = [f"- [{each.title}]({each.name}.md): {each.summary}" for each in found]
    return page(
        "# Tutorials",
        "Each takes less than ten minutes. They are notebooks in `docs/tutorials`; what stands under the code is what "
        "it printed when this page was made.",
        "\n".join(lines),
    )
