"""The code version follows what a run's numbers depend on, and nothing else."""

from __future__ import annotations

import textwrap

import pytest

from certiformer.core.errors import InputError
from certiformer.sweep.version import code_version

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

    def version(source, name="run", sources=()):
        folder = tmp_path / f"v{next(count)}"
        folder.mkdir()
        (folder / "versioned_module.py").write_text(textwrap.dedent(source))
        with monkeypatch.context() as patch:
            patch.syspath_prepend(folder)
            return code_version((f"versioned_module:{name}",), tuple(sources))

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


def test_sources_count_as_a_whole(tmp_path, monkeypatch, version_of):
    package = tmp_path / "dependency"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "inner" / "deep.py").write_text("x = 1\n")
    before = version_of(SOURCE, sources=["dependency"])
    assert before == version_of(SOURCE, sources=["dependency"])
    assert before != version_of(SOURCE)
    (package / "inner" / "deep.py").write_text("x = 2\n")
    assert before != version_of(SOURCE, sources=["dependency"])


def test_a_source_that_is_not_there_is_refused(version_of):
    with pytest.raises(InputError, match="no_such_module"):
        version_of(SOURCE, sources=["no_such_module"])
