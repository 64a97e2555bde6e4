"""Pieces of the results on linear maps and deep Transformers: who says what a norm is of, and what n adds."""

import pytest

from certiformer.core import find, results
from certiformer.theorems.trauger._linear_maps import TwoOneMaps

TWO_ONE = sorted(id for id, result in results().items() if issubclass(result, TwoOneMaps))


def example(id):
    return {entry.name: entry.example for entry in find(id).inputs if entry.required}


@pytest.mark.parametrize("id", TWO_ONE)
@pytest.mark.parametrize(("columns", "state"), [(None, "open"), (False, "vouched"), (True, "fails")])
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
