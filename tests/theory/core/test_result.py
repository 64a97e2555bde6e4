"""Results, evaluations and the registry."""

import subprocess
import sys

import pytest

import certiformer
from certiformer.theory.core import (
    Direction,
    InputError,
    Paper,
    Quantity,
    Result,
    Status,
    UnknownNameError,
    find,
    lower_bound,
    papers,
    real,
    results,
    side_number,
    stated,
    upper_bound,
)  # fmt: skip
from certiformer.theory.core.registry import normalise
from certiformer.theory.core.sweeping import Range, parse_sweep, sweep

PAPER = Paper("p", "A. Author", "T", 2026)


def make(variants, quantity=Quantity.GAP):
    class Theorem1(Result):
        """title."""

        paper, place, bounds, status = PAPER, "Theorem 1", quantity, Status.TRUE
        x: float = real("x")

        def sound(self):
            return variants(self.x)

    return Theorem1


def test_best_is_the_smallest_variant_that_applies():
    evaluation = make(
        lambda x: {
            "large": upper_bound(3 * x),
            "small": upper_bound(2 * x),
            "claimed by nobody": upper_bound(x, hypotheses=(stated("y", None, "y=1"),)),
            "constant": side_number(0.0),
            "something else": upper_bound(0.1, bounds=Quantity.RISK),
        }
    ).evaluate({"x": 1})
    assert evaluation.best == "small"
    assert evaluation.as_json()["best"] == "small"


def test_best_of_lower_bounds_is_the_largest():
    evaluation = make(lambda x: {"a": lower_bound(1.0), "b": lower_bound(2.0)}, Quantity.NTK_MARGIN).evaluate({"x": 1})
    assert evaluation.best == "b"
    assert Quantity.NTK_MARGIN.direction is Direction.LOWER
    assert Quantity.GAP.direction is Direction.UPPER


def test_best_is_none_when_nothing_applies():
    assert (
        make(lambda x: {"a": upper_bound(1.0, hypotheses=(stated("y", None, "y=1"),))}).evaluate({"x": 1}).best is None
    )
    assert make(lambda x: {"a": side_number(1.0)}, Quantity.CONSTANT).evaluate({"x": 1}).best is None


def test_best_among_values_beyond_floats():
    big = make(lambda x: {"a": upper_bound(float("inf"), ln=2000.0), "b": upper_bound(float("inf"), ln=1000.0)})
    assert big.evaluate({"x": 1}).best == "b"


def test_json_has_the_contract():
    document = certiformer.bound("trauger.lem3.6", Bw=2, Bx=1.5, eps=0.5, d=3, k=4).as_json()
    assert {"id", "inputs", "derived", "printed", "sound", "best"} <= set(document)
    assert document["printed"]["value"]["value"] == pytest.approx(115.8795297)
    for side in ("printed", "sound"):
        for variant in document[side].values():
            for hypothesis in variant["hypotheses"]:
                assert set(hypothesis) == {"id", "requires", "state", "why"}
                assert hypothesis["state"] in {"verified", "stated", "open", "fails"}


def test_an_instance_is_the_result_at_its_inputs():
    theorem = find("trauger.thm4.1")
    at = theorem(Bw=1, Bc=2, L_sigma=1, Bv=1.5, Bx=1, C=0.5, N="1e6", d=64)
    assert at.n == 1_000_000
    assert at.rho == at.Bx
    assert at.derived["rho"]
    assert at.sound()["chain"].value == certiformer.bound("trauger.thm4.1", **at.as_inputs()).sound["chain"].value
    assert at.at(n=10).n == 10
    assert at.at(Bx=2).rho == 2.0
    assert at == at.at()
    with pytest.raises(AttributeError, match="frozen"):
        at.n = 5


def test_moving_is_the_same_as_stating_everything_again():
    for result in results().values():
        at = result(**{entry.name: entry.example for entry in result.inputs if entry.required})
        said = {name: value for name, value in at.as_inputs().items() if value is not None and name not in at.derived}
        for entry in result.inputs:
            if entry.kind not in ("real", "integer"):
                continue
            other = entry.example + 1 if entry.kind == "integer" else 0.9 * entry.example
            try:
                again = result(**{**said, entry.name: other})
            except InputError:
                continue  # out of its range
            moved = at.at(**{entry.name: other})
            assert moved == again
            assert getattr(moved, entry.name) == other
            assert moved.derived == again.derived
    at = find("trauger.thm4.1")(Bw=1, Bc=2, L_sigma=1, Bv=1.5, Bx=1, C=0.5, n=1e6, d=64)
    assert (at.at(N=10).n, at.at(Bx=2.0).rho, at.at(rho=0.5).rho, at.at(rho=None).rho) == (
        10,
        2.0,
        0.5,
        1.0,
    )
    assert at.at(rho=0.5).at(Bx=2.0).rho == 0.5
    with pytest.raises(UnknownNameError):
        at.at(rhoo=1.0)
    assert at.n == 1_000_000
    for wrong in ({"n": 0}, {"n": None}, {"Bx": -1.0}):
        with pytest.raises(InputError):
            at.at(**wrong)


def test_what_the_docstring_assumes_is_a_hypothesis_of_every_sound_variant():
    for result in results().values():
        given = {entry.name: entry.example for entry in result.inputs if entry.required}
        for name, bound in result(**given).sound().items():
            if bound.bounds is not Quantity.CONSTANT:
                assert set(result.assumptions) <= {each.requires for each in bound.hypotheses}, (result.id, name)


def test_a_default_never_vouches():
    for result in results().values():
        given = {entry.name: entry.example for entry in result.inputs if entry.required}
        assert all(entry.default is None for entry in result.inputs if entry.kind == "flag"), result.id
        for bound in result(**given).sound().values():
            for each in bound.hypotheses:
                assert each.state != "stated" or any(name in each.why for name in given), (result.id, each)


def test_names_are_forgiving():
    assert find("trauger.theorem4.1").id == find("Trauger.Thm4.1").id == "trauger.thm4.1"
    assert normalise("Deora.Lemma 2") == "deora.lem2"
    with pytest.raises(UnknownNameError, match=r"did you mean trauger\.thm4\.1"):
        find("trauger.thm41")


def test_papers_and_order():
    assert {"trauger", "toolbox"} <= set(papers())
    ids = [id for id in results() if id.startswith("trauger.lem3.")]
    assert ids == sorted(ids)
    with pytest.raises(UnknownNameError, match="unknown paper"):
        certiformer.results("traugr")
    assert all(result.paper.key == "trauger" for result in certiformer.results("trauger"))


def test_sweeps():
    found = parse_sweep("n=1e2:1e8:4")
    assert found == Range("n", 100.0, 1e8, 4)
    assert found.values() == pytest.approx([1e2, 1e4, 1e6, 1e8])
    swept = sweep(find("dudley"), {"C": 1, "D": 1}, found)
    assert swept.axes == {"n": (100.0, 10000.0, 1000000.0, 100000000.0)}
    small = sweep(find("dudley"), {"C": 1, "D": 1}, Range("m", 1.0, 3.0, 9))
    assert small.axes == {"n": (1.0, 2.0, 3.0)}
    assert Range("n", 5.0, 9.0, 1).values() == [5.0]
    assert parse_sweep("C=0:1:5:linear").values() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert parse_sweep("n=1e2:1e8:4:log") == found


def test_a_sweep_of_two_inputs_is_every_pair():
    swept = sweep(find("dudley"), {"D": 1}, parse_sweep("n=10:1000:3"), parse_sweep("C=1:2:2:linear"))
    assert swept.shape == (3, 2)
    for row in swept.rows():
        alone = certiformer.bound("dudley", n=row["n"], C=row["C"], D=1)
        assert row["sound_closed"] == pytest.approx(alone.sound["closed"].value, rel=1e-12)
    with pytest.raises(certiformer.theory.core.InputError, match="two different inputs"):
        sweep(find("dudley"), {"D": 1}, parse_sweep("n=10:1000:3"), parse_sweep("m=10:1000:3"))
    with pytest.raises(certiformer.theory.core.InputError, match="10,000 points together"):
        sweep(find("dudley"), {"D": 1}, parse_sweep("n=10:1e9:200"), parse_sweep("C=1:2:200"))


@pytest.mark.parametrize(
    "bad",
    [
        "n",
        "n=1:2",
        "n=1:2:x",
        "n=0:2:3",
        "n=5:2:3",
        "n=1:inf:3",
        "n=1:2:0",
        "n=1:2:2.5",
        "=1:2:3",
        "n=1:2:inf",
        "n=1:2:3:cubic",
        "n=nan:2:3",
    ],
)
def test_bad_sweeps(bad):
    with pytest.raises(certiformer.theory.core.InputError, match="--sweep"):
        parse_sweep(bad)


@pytest.mark.parametrize(("name", "given"), [("C", {"C": 1, "D": 1, "n": 3}), ("proper", {"C": 1, "D": 1, "n": 3})])
def test_sweeps_of_the_wrong_thing(name, given):
    with pytest.raises(certiformer.theory.core.InputError):
        sweep(find("dudley"), given, Range(name, 1.0, 2.0, 2))


def test_importing_is_light_and_changes_nothing():
    code = (
        "import sys, time, os, warnings; before = dict(os.environ); filters = list(warnings.filters);"
        "start = time.perf_counter(); import certiformer; took = time.perf_counter() - start;"
        "heavy = [m for m in ('jax', 'scipy.stats', 'matplotlib', 'scipy') if m in sys.modules];"
        "assert not heavy, heavy; assert dict(os.environ) == before; assert list(warnings.filters) == filters;"
        "certiformer.bound('dudley', C=1, D=1, n=10);"
        "heavy = [m for m in ('jax', 'scipy.stats', 'matplotlib') if m in sys.modules]; assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
