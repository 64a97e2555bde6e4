"""The commands `theorems`, `explain`, `bound` as a user meets them."""

import json
import subprocess
import sys
from types import SimpleNamespace

import pytest

import certiformer
from certiformer import __version__
from certiformer.cli import main

THM41 = ["Bw=1", "Bc=2", "L_sigma=1", "Bv=1.5", "Bx=1", "C=0.5", "d=64"]


@pytest.fixture
def run(monkeypatch, capsys):
    """The command line, run in this process; `run(...)` returns its exit code and what it wrote."""

    def command(*words):
        monkeypatch.setattr(sys, "argv", ["certiformer", *words])
        with pytest.raises(SystemExit) as left:
            main()
        captured = capsys.readouterr()
        return SimpleNamespace(returncode=left.value.code or 0, stdout=captured.out, stderr=captured.err)

    return command


def test_a_mistake_in_a_real_process_shows_no_traceback():
    words = [sys.executable, "-m", "certiformer", "bound", "dudley", "C=x"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 2
    assert done.stderr.startswith("error: C: got 'x'")
    assert "Traceback" not in done.stderr


def test_version(run):
    assert run("--version").stdout == f"certiformer {__version__}\n"


def test_help_names_the_verbs(run):
    text = run("--help").stdout
    for verb in ("theorems", "explain", "bound"):
        assert verb in text


def test_bound_as_json(run):
    done = run("bound", "trauger.thm4.1", *THM41, "n=1000000", "--json")
    document = json.loads(done.stdout)
    assert document["id"] == "trauger.thm4.1"
    assert document["printed"]["value"]["value"] == pytest.approx(0.03868757444)
    assert document["sound"]["closed"]["value"] == pytest.approx(0.5229063484)
    assert document["sound"]["chain"]["value"] <= 0.1224412994
    assert document["sound"]


def test_bound_as_a_table(run):
    text = run("bound", "trauger.thm4.1", *THM41, "n=1e6").stdout
    assert "best" in text
    assert "0.038688" in text


def test_theorems_and_explain(run):
    rows = json.loads(run("theorems", "trauger", "--json").stdout)
    assert {"id", "bounds", "printed", "reason"} <= set(rows[0])
    assert "trauger.thm4.1" in run("theorems").stdout
    text = run("explain", "trauger.theorem4.1").stdout
    for part in ("As printed", "What is wrong with it", "What holds", "Inputs", "Assumptions", "Reference", "Try"):
        assert part in text
    assert json.loads(run("explain", "dudley", "--json").stdout)["inputs"][0]["name"] == "C"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["bound", "trauger.thm4.2x"], "did you mean trauger.thm4"),
        (["explain", "nothing.at.all"], "unknown result"),
        (["theorems", "traugr"], "did you mean trauger"),
        (["bound", "dudley", "C=1", "D=1"], "Missing: n"),
        (["bound", "dudley", "C=1", "D=1", "n=10", "sigma=2"], "unknown input 'sigma'"),
        (["bound", "dudley", "C=x", "D=1", "n=10"], "C: got 'x', expected a number above 0"),
        (["bound", "dudley", "C=nan", "D=1", "n=10"], "C: got 'nan'"),
        (["bound", "dudley", "C=inf", "D=1", "n=10"], "C: got 'inf'"),
        (["bound", "dudley", "C=-1", "D=1", "n=10"], "For example C=2"),
        (["bound", "dudley", "C", "D=1", "n=10"], "expected KEY=VALUE"),
        (["bound", "dudley", "C=1", "C=2", "D=1", "n=10"], "one value, not two"),
        (["bound", "dudley", "C=1", "D=1", "n=10", "--plot", "x.png"], "a sweep to draw"),
        (["bound", "dudley", "C=1", "D=1", "--sweep", "n=1:2"], "FROM:TO:POINTS"),
        (["bound", "dudley", "C=1", "D=1", "--sweep", "n=1:9:3", "--plot", "x.txt"], ".png"),
        (["bound", "dudley", "C=1", "D=1", "--sweep", "n=1:9:3", "--plot", "no/such/x.png"], "folder that exists"),
    ],
)
def test_mistakes_end_in_one_clear_line(run, words, expected):
    done = run(*words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert expected in done.stderr
    assert done.stderr.startswith("error: ")


@pytest.mark.parametrize(
    "words",
    [
        ["li.thmB.4", "sigma=1e-170", "d=4", "k=3", "Bw=1", "Bc=1", "Bv=1", "BQK=1", "L_sigma=1", "kappa=1", "B=1",
         "Bx=1", "BX=1", "n=10", "radius=0.1", "rw=1", "rc=1", "rv=1", "rqk=1"],
        ["mwigo.lem4", "n=10", "ds=1", "d=2", "dm=2", "RX=1", "RQ=1", "RK=1", "RV=1", "RO=1", "alpha=1e200",
         "residual0=1e-9"],
    ],
)  # fmt: skip
def test_numbers_beyond_floats_are_an_answer_or_a_clear_error(run, words):
    done = run("bound", *words)
    assert done.returncode in (0, 2)
    if done.returncode == 2:
        assert "range of floating-point numbers" in done.stderr


def test_a_sweep_through_points_without_a_bound(run, tmp_path):
    words = ["D=5", "b=0.05", "b0=0", "Lt=0.05", "L0=0.69", "K=100", "eta=0.5", "T=4", "R=1", "d=3"]
    done = run("bound", "deora.thm1", *words, "--sweep", "H=10:1e8:8", "--plot", str(tmp_path / "heads.png"))
    assert done.returncode == 0
    assert (tmp_path / "heads.png").stat().st_size > 10_000


def test_sweep_and_plot(run, tmp_path):
    picture = tmp_path / "out.png"
    done = run(
        "bound", "trauger.thm4.1", *THM41[:-1], "d=8", "--sweep", "n=1e1:1e8:12", "--plot", str(picture), "--json"
    )
    document = json.loads(done.stdout)
    assert len(document["points"]) == 12
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in tmp_path.iterdir()] == ["out.png"]
    assert "sound" in run("bound", "dudley", "C=1", "D=1", "--sweep", "n=10:1000:3").stdout


@pytest.mark.parametrize("second", ["C=1:3:2:linear", "C=0.5:3:9:linear"], ids=["a family of curves", "a map"])
def test_a_sweep_of_two_inputs_is_drawn(run, tmp_path, second):
    picture = tmp_path / "two.png"
    words = ("bound", "dudley", "D=1", "--sweep", "n=10:1e6:9", "--sweep", second)
    done = run(*words, "--plot", str(picture), "--csv")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 1 + 9 * int(second.split(":")[2])
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "linear" in run("bound", "dudley", "D=1", "n=9", "--sweep", "C=0:1:3").stderr  # a range from zero


def test_tables_and_references_in_latex(run):
    bound = run("bound", "trauger.lem3.1", "gamma=0.5", "b=1", "f=0.5", "k=1", "d=1", "--latex").stdout.splitlines()
    assert bound[0] == r"\begin{tabular}{lllrrlll}"
    assert bound[-1] == r"\end{tabular}"
    assert all(line.count(" & ") == 7 for line in bound if line.endswith(r"\\"))
    assert r"$-\infty$" in bound[3]
    listed = run("theorems", "trauger", "--latex").stdout.splitlines()
    assert len(listed) == 4 + len(certiformer.results("trauger"))
    assert "eprint = {2310.13088}" in run("explain", "trauger.lem3.1", "--bibtex").stdout
    assert run("theorems", "--status", "true").returncode == 0
