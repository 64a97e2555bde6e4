"""Pieces of the results on linear maps and deep Transformers: who says what a norm is of, and what n adds."""

import math

import pytest

from certiformer.theory.core import find, results
from certiformer.theory.theorems.trauger import lemma_3_2, theorem_4_2
from certiformer.theory.theorems.trauger._linear_maps import TwoOneMaps

TWO_ONE = sorted(id for id, result in results().items() if issubclass(result, TwoOneMaps))


def example(id):
    return {entry.name: entry.example for entry in find(id).inputs if entry.required}


@pytest.mark.parametrize("id", TWO_ONE)
@pytest.mark.parametrize(("columns", "state"), [(None, "open"), (False, "stated"), (True, "fails")])
def test_rows_or_columns(id, columns, state):
    given = {**example(id), **({} if columns is None else {"columns": columns})}
    found = find(id).evaluate(given).sound
    assert {
        hypothesis.state
        for bound in found.values()
        for hypothesis in bound.hypotheses
        if "sum of the row norms" in hypothesis.requires
    } == {state}


@pytest.mark.parametrize("id", ["trauger.corF.0.1", "trauger.corF.0.2"])
def test_the_engine_answers_where_a_complexity_is_asked_for(id):
    given = {name: value for name, value in example(id).items() if name != "n"}
    bare, asked = (find(id).evaluate({**given, **more}).sound for more in ({}, {"n": 1000}))
    assert not any(name.startswith("engine") for name in bare)
    assert any(name.startswith("engine") for name in asked)


@pytest.mark.parametrize("heads", [1, 3])
def test_constants_of_theorem_4_2_on_the_engine(heads):
    given = {**example("trauger.thm4.2"), "layers": 2, "C1": 3.0, "CBx": 2.0, "Bx": 1.3, "heads": heads}
    terms = theorem_4_2._analysis(find("trauger.thm4.2")(**given), True).terms
    found = {term.name: term.cover.quadratic * math.exp(2.0 * term.cover.ln_radius) for term in terms}
    # at raw tokens both constants hold
    first = min(3.0, 2.0 / 1.3**2)
    expected = {"v1": first, "q1": first, **dict.fromkeys(("c1", "v2", "q2", "c2", "w"), 3.0)}
    assert found == pytest.approx(expected)
    assert {term.name: term.copies for term in terms} == {**dict.fromkeys(expected, heads), "w": 1}
    loose = theorem_4_2._analysis(find("trauger.thm4.2")(**{**given, "CBx": 100.0}), True).terms
    assert all(term.cover.quadratic * math.exp(2.0 * term.cover.ln_radius) == pytest.approx(3.0) for term in loose)


@pytest.mark.parametrize("heads", [2, 3])
def test_heads_are_added_before_the_outer_projection(heads):
    sizes = {"L_sigma": 1.0, "Bc2": 0.5, "Bv2": 0.5, "BQK2": 0.5, "Bw": 1.0, "layers": 1, "Bx": 1.0, "eps": 0.01}
    one, several = (find("trauger.thm4.2")(**sizes, C1=1.0, CBx=1.0, heads=number) for number in (1, heads))
    first, second = (theorem_4_2._analysis(at, True) for at in (one, several))
    # two or three heads of 0.25 stay inside the unit ball
    assert second.range.value == pytest.approx(heads * first.range.value) == pytest.approx(0.25 * heads)
    for name in ("v1", "q1", "c1"):
        assert second.coefficients[name].value == pytest.approx(heads * first.coefficients[name].value)


def test_equal_networks_compare_equal_whatever_is_asked():
    given = example("trauger.thm4.2")
    first, second = (find("trauger.thm4.2")(**{**given, "eps": eps, "n": n}) for eps, n in ((0.1, 10), (2.0, None)))
    assert first.network == second.network
    assert (first.network.eps, first.network.n) == (1.0, None)


def test_a_covering_number_by_exhaustion():
    # three maps of the line, two of them near
    given = {"W": (0.0, 0.1, 1.0), "d": 1, "k": 1, "Bx": 1.0}
    matrices = lemma_3_2._matrices(given["W"], 1, 1)
    for eps, size in ((0.05, 3), (0.2, 2), (0.95, 1)):
        assert lemma_3_2.covering_number(matrices, 1.0, eps, 2.0) == size
    assert lemma_3_2._matrices(tuple(range(12)), 2, 3).shape == (2, 3, 2)
    assert lemma_3_2.covering_number(lemma_3_2._matrices((0.0,), 1, 1), 1.0, 0.1, 2.0) == 1
