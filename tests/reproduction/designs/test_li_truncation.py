"""Truncation: the run against plain formulas on its last column, and the analysis on rows with known answers."""

import json
import math

import numpy as np
import pytest

from certiformer.reproduction.designs import li_tails, li_truncation
from certiformer.reproduction.study import strict
from certiformer.reproduction.sweep import Row

SHAPE = {"d": 2, "k": 2, "tokens": 4, "teacher": 0, "iterations": 100, "test": 256, "draws": 3}
TINY = {**li_tails.cell("pareto"), **SHAPE, "n": 32, "seed": 1}


def row(config, arrays):
    return Row(key="", experiment="", version="", config=config, state="done", values={"converged": 1.0}, arrays=arrays)


@pytest.fixture(scope="module")
def outcome():
    return li_truncation.run({**TINY, "thresholds": [2.0, 50.0, 1e9]})


def test_without_truncation_it_is_the_study_of_tails(outcome):
    plain = li_tails.run(TINY).arrays["excess"]
    np.testing.assert_allclose(outcome.arrays["excess"][:, -1], plain, rtol=1e-9)
    assert outcome.arrays["excess"].shape == (3, 4)


def test_biases_fall_with_the_threshold(outcome):
    for name in ("bias", "bias_squared"):
        low, middle, high = outcome.arrays[name]
        assert low > middle > high >= 0.0


def test_run_is_determined_by_its_seed(outcome):
    again = li_truncation.run({**TINY, "thresholds": [2.0, 50.0, 1e9]})
    for name, array in outcome.arrays.items():
        np.testing.assert_array_equal(array, again.arrays[name])


def synthetic(bias_power, seeds=None):
    """Risk = squared bias M^(2-beta) + 1/n, flat in the variance."""
    rng = np.random.default_rng(0)
    found = []
    for one in li_truncation.experiment("quick").runs:
        c = one.config
        if seeds is not None and c["seed"] not in seeds:
            continue
        M, beta = np.array([*c["thresholds"], math.inf]), c["beta"]
        risk = 0.3 * M ** (2.0 - beta) + 10.0 / c["n"]
        noise = rng.exponential(size=(c["draws"], 1))
        bias = 0.2 * M[:-1] ** bias_power(beta) * (1.0 + 0.05 * rng.standard_normal(len(M) - 1))
        squared = 0.3 * M[:-1] ** (2.0 - beta) * (1.0 + 0.05 * rng.standard_normal(len(M) - 1))
        found.append(row(c, {"excess": risk * (0.5 + 0.5 * noise), "bias": bias, "bias_squared": squared}))
    return found


def test_enough_interpolates_between_thresholds():
    thresholds = [1.0, 10.0, 100.0, 1000.0]
    means = np.array([1.0 + 1.0 / M for M in thresholds] + [1.0])
    found = li_truncation.enough(thresholds, means)
    assert 9.0 < found < 11.0
    assert li_truncation.enough(thresholds, np.array([2.0, 2.0, 2.0, 2.0, 1.0])) == math.inf
    assert li_truncation.enough(thresholds, np.ones(5)) == 1.0


def test_scales():
    quick = li_truncation.experiment("quick").configs
    assert len({c["n"] for c in quick}) >= 5
    assert len({c["seed"] for c in quick}) >= 5
    assert all(len(c["thresholds"]) >= 5 for c in quick)


def words(analysis, *parts):
    """The verdicts of the findings whose setting has these parts."""
    return {f.verdict.word for f in analysis.findings if all(part in f.setting for part in parts)}


def test_planted_biases_are_found():
    for power, printed, sound in (
        (lambda beta: 1.0 - beta, "differs", "agrees"),
        (lambda beta: 2.0 - beta, "agrees", "differs"),
    ):
        analysis = li_truncation.analyse(synthetic(power))
        assert words(analysis, "exponent of E|", "printed") == {printed}
        assert words(analysis, "exponent of E|", "sound") == {sound}
        assert words(analysis, "exponent of E(") == {"agrees"}
        json.dumps(strict(analysis.fits), allow_nan=False)


def test_flat_variance_has_no_minimum_inside():
    analysis = li_truncation.analyse(synthetic(lambda beta: 1.0 - beta))
    assert "agrees" not in words(analysis, "least risk")


@pytest.mark.parametrize("keep", [1, 3])
def test_missing_runs_are_no_obstacle(keep):
    analysis = li_truncation.analyse(synthetic(lambda beta: 1.0 - beta)[:keep])
    json.dumps([finding.as_json() for finding in analysis.findings], allow_nan=False)
