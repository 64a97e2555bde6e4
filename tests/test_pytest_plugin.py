"""The pytest plug-in in a session of its own: cases are counted, the session ends with the verdict."""

import subprocess
import sys

import pytest

from subprocesses import python_path

TEST = """
import pytest
@pytest.mark.certified(error=0.05{more})
@pytest.mark.parametrize("case", range({n}))
def test_answers(case):
    assert case >= {wrong}
"""


def session(tmp_path, n, wrong, *words, more=""):
    (tmp_path / "test_it.py").write_text(TEST.format(n=n, wrong=wrong, more=more))
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    words = (sys.executable, "-m", "pytest", "-q", "-p", "certiformer.pytest_plugin", "-p", "no:cacheprovider", *words)
    environment = {"PYTHONPATH": python_path(), "PATH": "/usr/bin:/bin"}
    return subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("n", "wrong", "words", "code", "line"),
    [
        (59, 0, (), 0, "PASS test_it.py::test_answers: 0 of 59 cases wrong"),
        (100, 10, (), 1, "FAIL test_it.py::test_answers: 10 of 100 cases wrong"),
        (100, 2, (), 0, "UNDECIDED test_it.py::test_answers: 2 of 100 cases wrong"),
        (100, 2, ("-n", "2"), 0, "98 passed, 2 xfailed, 1 undecided"),
        (100, 2, ("--certified-undecided=fail",), 1, "new cases would decide"),
        (100, 1, ("-n", "2"), 0, "PASS test_it.py::test_answers: 1 of 100 cases wrong"),
    ],
)
def test_cases_are_gated_together(tmp_path, n, wrong, words, code, line):
    if "-n" in words:
        pytest.importorskip("xdist")
    found = session(tmp_path, n, wrong, *words)
    assert found.returncode == code, found.stdout + found.stderr
    assert line in found.stdout


def test_a_marker_that_says_nothing_is_refused(tmp_path):
    found = session(tmp_path, 10, 0, more=", eror=3")
    assert found.returncode == 4
    assert "certified(error=0.05)" in found.stdout + found.stderr
    assert session(tmp_path, 10, 0, more=", delta=0.7").returncode == 4


def test_nothing_heavy_is_imported_before_it_is_used():
    code = "import sys, certiformer.pytest_plugin as p; sys.exit('numpy' in sys.modules or 'scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": python_path()}).returncode == 0
