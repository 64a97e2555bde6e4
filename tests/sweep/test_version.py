"""The code version follows what a run's numbers depend on, and nothing else."""

from __future__ import annotations

import textwrap

import pytest

from certiformer.experiments import studies
from certiformer.sweep import Experiment, Ledger
from certiformer.sweep.version import code_version, reached_modules

SOURCE = '''
"""A module."""
import numpy as np
from math import tau as turn

RATE = 0.1
LABEL = "x"

def decorate(f):
    return f

def helper(x):
    return RATE * np.sin(x)

@decorate
def run(config):
    return helper(config["x"]) * turn

def figure(rows):
    return LABEL

if True:
    def later():
        return helper(1)
'''


@pytest.fixture
def version_of(tmp_path, monkeypatch):
    """The version of `name` in a module with this source."""
    monkeypatch.syspath_prepend(tmp_path)
    count = iter(range(100))

    def version(source, name="run"):
        folder = tmp_path / f"v{next(count)}"
        folder.mkdir()
        (folder / "versioned_module.py").write_text(textwrap.dedent(source))
        with monkeypatch.context() as patch:
            patch.syspath_prepend(folder)
            return code_version((f"versioned_module:{name}",))

    return version


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("RATE = 0.1", "RATE = 0.2"),
        ("np.sin", "np.cos"),
        ("tau as turn", "pi as turn"),
        ('config["x"]', 'config["y"]'),
        ("return f\n", "return lambda c: f(c)\n"),
        ("@decorate\n", ""),
    ],
)
def test_what_the_run_reaches_counts(version_of, old, new):
    assert old in SOURCE
    assert version_of(SOURCE) != version_of(SOURCE.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [('LABEL = "x"', 'LABEL = "y"'), ("return LABEL", "return LABEL * 2"), ('"""A module."""', "# moved\n\n")],
)
def test_what_it_does_not_reach_does_not(version_of, old, new):
    assert old in SOURCE
    assert version_of(SOURCE) == version_of(SOURCE.replace(old, new))


def test_definitions_inside_statements_are_found(version_of):
    assert version_of(SOURCE, "later") != version_of(SOURCE.replace("helper(1)", "helper(2)"), "later")


LIBRARY = {
    "runs.py": """
        from functools import singledispatch

        from versioned import helpers
        from versioned.tools import Walker, shape as form
        from versioned.drawing import figure
        import numpy as np

        @singledispatch
        def area(x):
            return 0

        @area.register
        def _(x: int):
            return 1

        CASES = {}
        CASES["a"] = 1

        def run(config):
            from versioned.late import late
            figure = 3
            return helpers.used(config) + Walker().walk() + form() + area(1) + late() + CASES["a"] + figure

        def draw():
            return figure
        """,
    "helpers.py": """
        RATE = 0.1

        def used(config):
            return RATE

        def unused(config):
            return 5
        """,
    "tools/__init__.py": "from .walker import Walker\nfrom .forms import other\nfrom .forms import shape",
    "tools/walker.py": """
        from versioned.carrier import save
        class Base:
            def walk(self):
                save()
                return 1

        class Walker(Base):
            'Walks.'
            steps: int = 3
        """,
    "tools/forms.py": """
        import json
        from pathlib import Path

        print("a module that does something")
        TABLE = json.loads(Path(__file__).with_name("table.json").read_text())

        def shape(size: int = 2) -> int:
            return TABLE[0] * size

        def other():
            return 4
        """,
    "tools/table.json": "[1]",
    "carrier.py": "__makes_numbers__ = False\ndef save(): pass",
    "late.py": "def late(): return 7",
    "drawing.py": "def figure(): return 8",
    "__init__.py": "",
}


@pytest.fixture
def library(tmp_path, monkeypatch):
    """The package `versioned`; calling it with a file, old and new text changes it and gives the version of its run."""
    monkeypatch.syspath_prepend(tmp_path)
    for name, text in LIBRARY.items():
        path = tmp_path / "versioned" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))

    def change(name=None, old="", new=""):
        if name is not None:
            path = tmp_path / "versioned" / name
            assert old in path.read_text()
            path.write_text(path.read_text().replace(old, new))
        return code_version(("versioned.runs:run",))

    return change


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("helpers.py", "0.1", "0.2"),
        ("tools/walker.py", "return 1", "return 2"),
        ("tools/walker.py", "int = 3", "int = 4"),
        ("tools/forms.py", "TABLE[0]", "TABLE[-1]"),
        ("tools/forms.py", "int = 2", "int = 3"),
        ("tools/forms.py", "does something", "does another thing"),
        ("tools/table.json", "1", "2"),
        ("tools/__init__.py", "from .forms import shape", "from .forms import other as shape"),
        ("late.py", "7", "8"),
        ("runs.py", "x: int):\n    return 1", "x: int):\n    return 2"),
        ("runs.py", 'CASES["a"] = 1', 'CASES["a"] = 2'),
    ],
)
def test_imports_are_followed(library, name, old, new):
    before = library()
    assert before == library()
    assert library(name, old, new) != before


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("helpers.py", "return 5", "return 6"),
        ("tools/walker.py", "Walks.", "Runs."),
        ("tools/forms.py", "return 4", "return 5"),
        ("tools/forms.py", "-> int:", "-> float:  # a number"),
        ("carrier.py", "pass", "return 3"),
        ("drawing.py", "8", "9"),  # a local variable has the name of the function
        ("runs.py", "return figure", "return figure()"),
    ],
)
def test_what_is_imported_and_not_used_is_not(library, name, old, new):
    before = library()
    assert library(name, old, new) == before


def test_a_change_to_a_module_that_a_run_imports_makes_the_run_stale(library, tmp_path):
    def grid():
        return Experiment("walk", "versioned.runs:run", [{"seed": 0}, {"seed": 1}])

    with Ledger(tmp_path / "runs.db") as ledger:
        kept = grid()
        ledger.enrol(kept)
        assert set(ledger.states(kept)) == set(ledger.states(grid()))
        library("drawing.py", "8", "9")
        assert set(ledger.states(kept)) == set(ledger.states(grid()))
        library("helpers.py", "0.1", "0.2")
        assert grid().version != kept.version
        assert ledger.status(grid()).pending == 2
        assert not ledger.rows(grid())


def test_a_package_imported_by_its_name_counts_as_a_whole(library):
    by_name = "from importlib import import_module\nWHOLE = import_module('versioned.tools')\n"
    library("helpers.py", "RATE = 0.1", f"{by_name}RATE = len(WHOLE.__path__)")
    before = library()
    assert library("tools/forms.py", "return 4", "return 5") != before


@pytest.mark.parametrize("study", studies(), ids=lambda study: study.id)
def test_no_run_depends_on_its_analysis(study):
    grid = study.experiment("smoke")
    for module in reached_modules((grid.run, *([grid.run_batch] if grid.run_batch else []))):
        assert not module.startswith(("certiformer.report", "certiformer.cli", "certiformer.sweep")), module
        assert module not in ("certiformer.experiments.statistics", "certiformer.experiments.study"), module
        assert not module.startswith("certiformer.auditing"), module
