"""The score of a reading, against values computed independently."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from certiformer.reproduction.interpretations import (
    Spread,
    log_density,
    p_value,
    pooled,
    survivors,
    tails,
    two_sided,
)

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


def test_predictions_with_variation_within_seeds_are_calibrated():
    """One more run of a planted law: a normal seed, a skewed deviation within it, and three of ten without a number."""
    draw = np.random.default_rng(3)
    within = np.log(draw.exponential(size=1000) + 0.2)
    within -= within.mean()
    found = []
    for _ in range(2000):
        cells = [np.exp(0.3 * draw.normal(size=5)) for _ in range(4)]
        number = math.exp(0.3 * draw.normal() + draw.choice(within)) if draw.random() < 0.7 else 1e9
        found.append(tails(cells[0], number, pooled(cells), within, 0.7)[0])
    for level in (0.025, 0.1, 0.35, 0.6):
        assert np.mean(np.array(found) <= level) == pytest.approx(level, abs=0.03)
    assert two_sided(0.01, 0.99) == 0.02


def test_densities_with_variation_within_seeds_are_those_of_the_tails():
    values, spread, within = [0.1, 0.12, 0.09], Spread(0.2, 6), np.array([-0.5, 0.1, 0.4])
    step = 1e-4
    for truth in (0.05, 0.1, 0.3):
        below = [tails(values, truth * math.exp(s * step), spread, within, 0.8)[0] for s in (-1, 1)]
        density = 0.95 * (below[1] - below[0]) / (2 * step) + 0.05 / math.log(1000.0)
        assert log_density(values, truth, spread, within, 0.8) == pytest.approx(math.log(density), rel=1e-5)
