"""The generated pages are those that the registry would generate now; links in the documentation lead somewhere."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

from certiformer.reproduction.sweep import read

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def loaded(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def generate():
    return loaded("generate_docs")


def test_the_tables_are_up_to_date(generate):
    assert (ROOT / "docs" / "results.md").read_text() == generate.page(), "run `make docs`"
    for page in ("README.md", "CONTRIBUTING.md"):
        assert (ROOT / page).read_text() == generate.filled((ROOT / page).read_text()), "run `make docs`"


def test_the_reproduction_is_what_its_documents_say():
    tool = loaded("generate_reproduction")
    for path, text in tool.pages().items():
        assert path.read_text() == text, f"{path.name}: run `make docs`"


def test_published_times_are_those_of_the_published_runs():
    tool = loaded("generate_reproduction")
    assert json.loads(tool.TIMES.read_text()) == tool.times(), "run `make docs`"


def test_published_runs_are_what_they_say_and_few():
    tool = loaded("generate_reproduction")
    files = sorted(tool.RUNS.glob("*.runs"))
    assert sum(file.stat().st_size for file in files) < 20e6
    names = {study.experiment("smoke").name for study in tool.studies()}
    for file in files:
        assert read(file).experiment == file.stem
        assert file.stem in names


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
