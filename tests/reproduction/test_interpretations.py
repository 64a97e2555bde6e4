"""The score of a reading, against values computed independently."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from certiformer.reproduction.interpretations import Spread, log_density, p_value, pooled, survivors

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "verdicts.json").read_text())


@pytest.mark.parametrize("vector", VECTORS["predictive"])
def test_one_cell(vector):
    spread = pooled([vector["values"]])
    assert spread.deviation == pytest.approx(vector["sd"], rel=1e-8)
    assert log_density(vector["values"], vector["truth"], spread) == pytest.approx(vector["logp"], rel=1e-8)
    if "low" in vector:
        assert p_value(vector["values"], vector["low"], spread) == pytest.approx(0.05, rel=1e-6)
        assert p_value(vector["values"], vector["high"], spread) == pytest.approx(0.05, rel=1e-6)


def test_several_cells_share_their_spread():
    vector = VECTORS["pooled"]
    spread = pooled(vector["groups"])
    assert (spread.freedom, spread.deviation) == (vector["df"], pytest.approx(vector["sd"], rel=1e-8))
    pairs = zip(vector["groups"], vector["truths"], strict=True)
    assert [log_density(g, t, spread) for g, t in pairs] == pytest.approx(vector["logp"], rel=1e-8)


def test_nothing_known_is_the_uniform_part():
    nothing = math.log(0.05 / math.log(1000.0))
    assert pooled([[0.1], [0.2]]) == Spread(math.inf, 0)
    assert log_density([0.1], 0.1, Spread(math.inf, 0)) == nothing
    assert p_value([], 0.1, Spread(1.0, 3)) == 1.0


def test_readings_are_compared_on_what_both_have():
    def lead(one, other):
        return sum(one[key] - other[key] for key in one.keys() & other.keys())

    scores = {"a": {"x": 1.0, "y": 1.0}, "b": {"x": 0.5, "y": 1.2}, "c": {"x": -5.0}}
    assert survivors(scores, lead) == {"a": 0.0, "b": pytest.approx(-0.3), "c": -6.0}
    # whoever fits better excludes, however few its numbers
    assert survivors({**scores, "d": {"y": 5.0}}, lead) == {"a": -4.0, "b": pytest.approx(-3.8), "c": -6.0, "d": 0.0}
    assert survivors({}, lead) == {}
