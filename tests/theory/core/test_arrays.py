"""Bounds of arrays: the same numbers as one by one, with every hypothesis at every point."""

import csv
import io

import numpy as np
import pytest

import certiformer
from certiformer.theory.core import InputError, find, results
from certiformer.theory.core.registry import search

GIVEN = {"Bw": 1, "Bc": 2, "L_sigma": 1, "Bv": 1.5, "Bx": 1, "C": 0.5, "d": 64}


def agree(along, sizes, given):
    """Never below one by one, hardly above, and everything else the same."""
    result = along.result
    for number, n in enumerate(sizes):
        alone = result.evaluate({**given, "n": round(n)})
        for name, bound in alone.printed.items():
            assert along.printed[name][number] == bound.value, name
        for name, bound in alone.sound.items():
            assert bound.value <= along.sound[name][number] <= bound.value * (1 + 1e-9), name
            assert along.applies[name][number] == bound.applies
            assert {id: states[number] for id, states in along.hypotheses.get(name, {}).items() if states[number]} == {
                each.id: each.state for each in bound.hypotheses
            }
        assert along.best_names[number] == (alone.best or "")
        point = along.points[number]
        assert point.at == alone.at
        assert point.sound.keys() == alone.sound.keys()
        assert point.best == alone.best


def test_one_input_along_an_array():
    sizes = np.rint(np.geomspace(1e2, 1e8, 7))
    along = certiformer.bound("trauger.thm4.1", n=sizes, **GIVEN)
    assert along.shape == (7,)
    agree(along, sizes, GIVEN)
    assert along.applies["closed"].all()
    assert not along.applies["chain"].any()
    assert set(along.hypotheses["chain"]["proper-covers"]) == {"open"}


AT_ONCE = [result.id for result in results().values() if result.elementwise]


def test_some_results_take_arrays():
    assert {"trauger.thm4.1", "trauger.corD.0.1", "li.thm5.3", "mwigo.thm5"} <= set(AT_ONCE)


@pytest.mark.parametrize("id", AT_ONCE)
def test_at_once_as_one_by_one(id):
    """Over ranges in which hypotheses change, and covers with them."""
    given = {entry.name: entry.example for entry in find(id).inputs if entry.required and entry.name != "n"}
    sizes = [30, 20_000, 30_000, 10**8]
    agree(certiformer.bound(id, n=sizes, **given), sizes, given)


def test_two_inputs_one_of_them_at_once():
    table = certiformer.bound(
        "trauger.thm4.1", n=[10**k for k in range(2, 8)], C=[0.5, 5.0], **{k: v for k, v in GIVEN.items() if k != "C"}
    )
    assert table.sound["closed"].shape == (6, 2)
    for column, constant in enumerate((0.5, 5.0)):
        alone = certiformer.bound("trauger.thm4.1", n=10**5, **{**GIVEN, "C": constant})
        assert table.sound["closed"][3, column] == pytest.approx(alone.sound["closed"].value, rel=1e-11)
        assert table.points[3 * 2 + column].inputs["n"] == 10**5


@pytest.mark.parametrize("id", ["trauger.corD.0.1", "trauger.corD.0.2", "li.thm5.3", "li.thmB.2"])
def test_many_sizes_close_together_are_those_one_by_one(id):
    given = {entry.name: entry.example for entry in find(id).inputs if entry.required and entry.name != "n"}
    sizes = [100_000, 104_995, 105_000, 110_000, 1_000_000]
    agree(certiformer.bound(id, n=sizes, **given), sizes, given)


@pytest.mark.parametrize(
    ("name", "values", "given"),
    [
        ("n", [1.5, 2.5, 3.5, 4.5], {"errors": 0}),
        ("n", np.geomspace(3, 50, 4), {"errors": 0}),
        ("errors", np.array([0.5, 1.5]), {"n": 100}),
        ("n", [True, False], {"errors": 0}),
        ("n", [10, 0, 20], {"errors": 0}),
    ],
)
def test_an_array_of_whole_numbers_is_refused_where_a_number_is(name, values, given):
    with pytest.raises(InputError, match=f"^{name}, an array"):
        certiformer.bound("holdout", delta=0.05, **given, **{name: values})


def test_a_very_long_array_is_adjusted_between_its_nodes():
    sizes = np.unique(np.round(np.geomspace(1e3, 1e7, 1400)))
    along = certiformer.bound("trauger.thm4.1", n=sizes, **GIVEN)
    for number in range(0, len(sizes), 97):
        alone = certiformer.bound("trauger.thm4.1", n=int(sizes[number]), **GIVEN)
        for name, bound in alone.sound.items():
            assert bound.value <= along.sound[name][number] <= bound.value * (1 + 1e-6), name


def test_two_inputs_make_a_table():
    along = certiformer.bound("trauger.lem3.6", Bw=[1.0, 2.0], eps=[0.25, 0.5, 1.0], Bx=1, d=4, k=4)
    assert along.sound["exact"].shape == (2, 3)
    corner = certiformer.bound("trauger.lem3.6", Bw=2, eps=1, Bx=1, d=4, k=4)
    assert along.sound["exact"][1, 2] == corner.sound["exact"].value
    rows = list(csv.DictReader(io.StringIO(along.to_csv())))
    assert len(rows) == len(along.rows()) == 6
    assert float(rows[0]["sound_exact"]) == along.sound["exact"][0, 0]
    assert "<table>" in along._repr_html_()


def test_lists_that_belong_to_an_input_are_no_sweep():
    assert certiformer.bound("trauger.lemE.1", C=[1.0, 2.0], beta=[0.5, 1.0], eps=0.5).best == "value"


@pytest.mark.parametrize(
    "inputs", [{"Bw": [[1.0]], "eps": 1.0}, {"Bw": [], "eps": 1.0}, {"Bw": [1.0], "eps": [1.0], "d": [4], "k": [4]}]
)
def test_arrays_that_make_no_sense(inputs):
    with pytest.raises(InputError):
        certiformer.bound("trauger.lem3.6", **{"Bx": 1, "d": 4, "k": 4, **inputs})


def test_results_are_found_by_place_and_by_words():
    assert find("Trauger Theorem 4.1").id == find("theorem 4.1 of Trauger & Tewari").id == "trauger.thm4.1"
    assert find("Corollary D.0.1").id == "trauger.corD.0.1"
    assert "li.thm6.9" in [result.id for result in search("heavy tails")]
