"""Bounds of arrays: the same numbers as one by one, with every hypothesis at every point."""

import csv
import io

import numpy as np
import pytest

import certiformer
from certiformer.core import InputError, find
from certiformer.core.registry import search

GIVEN = {"Bw": 1, "Bc": 2, "L_sigma": 1, "Bv": 1.5, "Bx": 1, "C": 0.5, "d": 64}


def test_one_input_along_an_array():
    sizes = np.geomspace(1e2, 1e8, 7)
    along = certiformer.bound("trauger.thm4.1", n=sizes, **GIVEN)
    assert along.shape == (7,)
    for number, n in enumerate(sizes):
        alone = certiformer.bound("trauger.thm4.1", n=round(n), **GIVEN)
        values = {name: bound.value for name, bound in alone.sound.items()}
        assert {name: values[number] for name, values in along.sound.items()} == values
        assert along.best[number] == alone.sound[alone.best].value
        assert along.best_names[number] == alone.best
    assert along.applies["closed"].all()
    assert not along.applies["chain"].any()
    assert set(along.hypotheses["chain"]["proper-covers"]) == {"open"}


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
