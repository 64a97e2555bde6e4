"""Build the site: `PYTHONPATH=tools python -m website [--out site]`."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from certiformer.certificates import certificates
from certiformer.theory.core import results as all_results
from website import certificates as certificate_pages
from website import commands, gallery, reference, report_json, sliders, staging, verdicts
from website import results as result_pages
from website.formulas import typeset
from website.markup import page
from website.settings import navigation, settings

ROOT = Path(__file__).resolve().parents[2]
ASSETS = Path(__file__).parent / "assets"


def pages(root: Path, stage: Path) -> Iterator[tuple[str, str]]:
    """Every page that is not written by hand: its place and its text."""
    claims = verdicts.read(root / "build" / "audit.json")
    missing = reference.undocumented()
    if missing:
        raise SystemExit("public names without a docstring:\n  " + "\n  ".join(missing))
    yield "results/index.md", result_pages.index_page(claims)
    for result in all_results().values():
        yield result_pages.file_of(result.id), result_pages.result_page(result, claims, root)
    yield "certificates/index.md", certificate_pages.index_page()
    for id, kind in certificates().items():
        yield certificate_pages.file_of(id), certificate_pages.certificate_page(kind)
    yield "reference/index.md", _reference_index()
    yield commands.FILE, commands.commands_page()
    yield report_json.FILE, report_json.schema_page()
    for package, purpose in reference.PACKAGES:
        yield f"reference/{package}.md", reference.reference_page(package, purpose)
    lessons = gallery.tutorials(root)
    yield "tutorials/index.md", gallery.tutorials_page(lessons)
    for lesson in lessons:
        yield f"tutorials/{lesson.name}.md", gallery.example_page(lesson, stage / "tutorials" / "pictures")
    found = gallery.examples(root)
    yield "gallery/index.md", gallery.index_page(found)
    for example in found:
        yield f"gallery/{example.name}.md", gallery.example_page(example, stage / "gallery" / "pictures")
    yield "sliders.md", sliders.sliders_page()


def _reference_index() -> str:
    lines = [f"- [`{package}`]({package}.md): {purpose}" for package, purpose in reference.PACKAGES]
    told = (
        "What a user may import, from the signatures in the source. "
        "The build of this site fails when a name is not documented."
    )
    return page("# Reference", told, "\n".join(lines))


def stage_pages(root: Path, stage: Path) -> None:
    """All Markdown and what it needs, ready for MkDocs."""
    shutil.rmtree(stage, ignore_errors=True)
    began = time.perf_counter()
    texts: dict[str, str] = {}
    for path, text in pages(root, stage):
        texts[path] = text
        _write(stage / path, staging.weighted(path, text))
    by_hand = staging.hand_written(root)
    known = {**texts, **by_hand}
    for path, text in by_hand.items():
        shown = typeset(staging.relinked(path, text, known, root), greek=path.startswith("proofs/"))
        _write(stage / path, staging.weighted(path, shown))
    staging.copy_pictures(root, stage)
    shutil.copytree(ASSETS, stage / "assets")
    _write(stage / "assets" / "tables.js", sliders.tables_script([sliders.table(panel) for panel in sliders.PANELS]))
    print(f"{len(known)} pages staged in {time.perf_counter() - began:.0f} s")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "site")
    parser.add_argument("--staged", action="store_true", help="use the pages of the last build")
    options = parser.parse_args()
    stage = ROOT / "build" / "site"
    if not options.staged:
        stage_pages(ROOT, stage)
    names = [f"gallery/{example.name}.md" for example in gallery.examples(ROOT)]
    file = ROOT / "build" / "mkdocs.yml"
    file.write_text(json.dumps(settings(navigation(names), str(stage), str(options.out.resolve())), indent=1))
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-f", str(file)]
    return subprocess.run(command, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}).returncode


if __name__ == "__main__":
    sys.exit(main())
