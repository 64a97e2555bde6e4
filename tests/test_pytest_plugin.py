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


def session(tmp_path, n, wrong, *words, more="", crash=False):
    (tmp_path / "test_it.py").write_text(TEST.format(n=n, wrong=wrong, more=more))
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    words = (sys.executable, "-m", "pytest", "-q", "-p", "certiformer.pytest_plugin", "-p", "no:cacheprovider", *words)
    environment = {"PYTHONPATH": python_path(), "PATH": "/usr/bin:/bin"} | ({"CRASH": "1"} if crash else {})
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


WAYS = """
import os, pytest
xfail = pytest.mark.xfail
expected = {0: xfail, 1: xfail(strict=True), 2: xfail(run=False), 3: pytest.mark.skip}
@pytest.fixture
def thing(case):
    if case == 4:
        raise RuntimeError
@pytest.mark.certified(error=0.05)
@pytest.mark.parametrize("case", [pytest.param(k, marks=expected.get(k, ())) for k in range(70)])
def test_answers(case, thing, request):
    if case == 5:
        pytest.xfail("known")
    if case == 6:
        pytest.skip("not today")
    if case == 7 and "CRASH" in os.environ:
        os._exit(3)
    assert case != 0
"""


def test_every_way_to_end_is_counted_or_said(tmp_path):
    (tmp_path / "test_ways.py").write_text(WAYS)
    found = session(tmp_path, 10, 0, "test_ways.py").stdout
    assert "2 of 66 cases wrong" in found, "0 and 5; 1 was right against expectation"
    assert "4 more had no outcome" in found, "2, 3, 4 and 6"
    pytest.importorskip("xdist")
    crashed = session(tmp_path, 10, 0, "test_ways.py", "-n", "2", crash=True)
    assert crashed.returncode == 1
    assert "no verdict" in crashed.stdout


def test_a_case_with_subtests_is_wrong_if_one_of_them_is(tmp_path):
    pytest.importorskip("_pytest.subtests")
    text = TEST.format(n=100, wrong=0, more="").replace("(case)", "(case, subtests)")
    parts = (
        "    for part in 0, 1:\n        with subtests.test(part=part):\n            assert case >= 12 or part == 0\n"
    )
    (tmp_path / "test_parts.py").write_text(text + parts)
    assert "FAIL test_parts.py::test_answers: 12 of 100 cases wrong" in session(tmp_path, 1, 0, "test_parts.py").stdout


def test_a_session_that_stops_has_no_verdict(tmp_path):
    (tmp_path / "test_a.py").write_text("def test_plain():\n    assert False\n")
    found = session(tmp_path, 100, 0, "-x", "test_it.py", "test_a.py")
    assert found.returncode == 1
    assert "no verdict: the session was stopped" in found.stdout


def test_a_marker_that_says_nothing_is_refused(tmp_path):
    found = session(tmp_path, 10, 0, more=", eror=3")
    assert found.returncode == 4
    assert "certified(error=0.05)" in found.stdout + found.stderr
    assert session(tmp_path, 10, 0, more=", delta=0.7").returncode == 4


def test_nothing_heavy_is_imported_before_it_is_used():
    code = "import sys, certiformer.pytest_plugin as p; sys.exit('numpy' in sys.modules or 'scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": python_path()}).returncode == 0
