"""Sequence length: norms against the laws of Gaussian matrices, and the analysis on rows with known answers."""

import json
import math

import numpy as np
import pytest

from certiformer.reproduction.designs import li_length
from certiformer.reproduction.study import strict
from certiformer.reproduction.sweep import Row

TINY = {**li_length.experiment("smoke").configs[0], "n": 32, "draws": 3, "test": 256, "tokens": 6}


@pytest.fixture(scope="module")
def outcome():
    return li_length.run(TINY)


def row(config, values, arrays):
    return Row(key="", experiment="", version="", config=config, state="done", values=values, arrays=arrays)


def test_norms_of_gaussian_tokens(outcome):
    """In two dimensions the squared norm of a token is exponential: the largest of T has mean 1 + 1/2 + ... + 1/T."""
    harmonic = sum(1.0 / t for t in range(1, 7))
    assert outcome.values["longest_squared"] == pytest.approx(harmonic, rel=0.2)
    assert outcome.values["longest"] <= outcome.values["spectral"]
    assert outcome.arrays["excess"].shape == (3,)


def test_run_is_determined_by_its_seed(outcome):
    np.testing.assert_array_equal(outcome.arrays["excess"], li_length.run(TINY).arrays["excess"])


def test_thresholds_hold():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4000, 16, 2)) / math.sqrt(2.0)
    spectral, longest = li_length.thresholds(16, 2, 100)
    assert np.mean(np.linalg.norm(x, 2, axis=(1, 2)) > spectral) <= 0.01
    assert np.mean(np.max(np.linalg.norm(x, axis=-1), axis=-1) > longest) <= 0.01


def synthetic(power):
    found = []
    for one in li_length.experiment("quick").runs:
        c, T = one.config, one.config["tokens"]
        rng = np.random.default_rng([T, c["seed"]])
        values = {
            "spectral": 0.7 * T**0.5 * (1 + 0.001 * rng.standard_normal()),
            "longest": math.sqrt(math.log(T)),
            "longest_squared": math.log(T) + 0.6 + 0.01 * rng.standard_normal(),
            "converged": 1.0,
            "norms": {"Bw": 1.0, "Bc": 1.0, "Bv": 1.0, "BQK": 1.0},
        }
        found.append(row(c, values, {"excess": 1e-3 * T**power * rng.exponential(size=c["draws"])}))
    return found


def test_scales():
    quick = li_length.experiment("quick").configs
    assert len({c["tokens"] for c in quick}) >= 5
    assert len({c["seed"] for c in quick}) >= 5


def words(analysis, *parts):
    """The verdicts of the findings whose setting has these parts."""
    return {f.verdict.word for f in analysis.findings if all(part in f.setting for part in parts)}


def test_planted_growth_is_found():
    flat, growing = (li_length.analyse(synthetic(power)) for power in (-0.3, 0.5))
    assert words(flat, "excess risk, exponent") == {"holds"}
    assert words(growing, "excess risk, exponent") == {"violated"}
    assert words(flat, "b(X)²") == {"agrees"}
    printed, sound = (f.ours for f in flat.findings if "bound (Theorem B.4)" in f.setting)
    assert printed > 0.25 > sound > 0.0
    json.dumps(strict(flat.fits), allow_nan=False)


@pytest.mark.parametrize("keep", [1, 6])
def test_missing_runs_are_no_obstacle(keep):
    analysis = li_length.analyse(synthetic(0.0)[:keep])
    json.dumps([finding.as_json() for finding in analysis.findings], allow_nan=False)
