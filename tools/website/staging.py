"""The hand-written pages as the site has them: links that leave the documentation become names of files."""

from __future__ import annotations

import posixpath
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

COPIED = (".png", ".svg", ".jpg")
FROM_THE_TOP = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
"""Pages of the repository that are pages of the site."""
WEIGHTS = {
    "changelog": 0.05, "proofs/": 0.1, "papers/": 0.5, "reproduction": 0.5, "contributing": 0.5, "benchmarks": 0.3,
    "reference/certiformer": 0.1, "results.md": 0.3, "results/": 1.5, "certificates/": 0.6, "audit": 0.8, "how-to/": 3,
    "tutorials/": 2, "add-a": 3, "gates": 3, "install": 5, "what-a-certificate-is": 8, "vacuous": 2,
    "language-model": 3,
}  # fmt: skip
"""Weights in the search, by the beginning of a page's path."""
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


def hand_written(root: Path) -> dict[str, str]:
    """Path in the site to text, for every Markdown file of the documentation."""
    docs = root / "docs"
    found = {str(path.relative_to(docs)): path.read_text(encoding="utf-8") for path in sorted(docs.rglob("*.md"))}
    found |= {target: (root / source).read_text(encoding="utf-8") for source, target in FROM_THE_TOP.items()}
    return found


def relinked(path: str, text: str, known: Mapping[str, str], root: Path) -> str:
    """Links to pages of the site stay; those to other files of the repository become the file's name."""
    where = posixpath.dirname(path)
    top = path in FROM_THE_TOP.values()

    def link(match: re.Match[str]) -> str:
        picture, shown, target = match.groups()
        name, hash_sign, part = target.partition("#")
        if "://" in target or not name:
            return match[0]
        inside = posixpath.normpath(posixpath.join("." if top else posixpath.join("docs", where), name))
        goal = FROM_THE_TOP.get(inside, inside.removeprefix("docs/"))
        goal = goal.removesuffix(".ipynb") + ".md" if goal.endswith(".ipynb") else goal
        if goal in known or picture or (inside.startswith("docs/") and goal.endswith(COPIED)):
            return f"{picture}[{shown}]({posixpath.relpath(goal, where or '.')}{hash_sign}{part})"
        if not (root / inside).exists():
            raise RuntimeError(f"{path} links to {target}, which does not exist")
        return shown if f"`{inside}`" in shown or inside in shown else f"{shown} (`{inside}`)"

    return _LINK.sub(link, text)


def weighted(path: str, text: str) -> str:
    """A page with its weight in the search: what tells a newcomer how comes before what tells what was."""
    weight = next((weight for start, weight in WEIGHTS.items() if path.startswith(start)), 1)
    if weight == 1:
        return text
    said = f"---\nsearch:\n  boost: {weight}\n"
    return said + (text.removeprefix("---\n") if text.startswith("---\n") else f"---\n\n{text}")


def copy_pictures(root: Path, target: Path) -> None:
    """Pictures of the documentation, at the same place."""
    docs = root / "docs"
    for path in docs.rglob("*"):
        if path.suffix in COPIED:
            place = target / path.relative_to(docs)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)
