"""Runs on heavy tails against the model itself, scipy and closed forms; their analysis on rows with known answers."""

import json
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import least_squares
from scipy.stats import t as student

from certiformer.reproduction.designs import _li_tails_runs as runs
from certiformer.reproduction.designs import li_tails
from certiformer.reproduction.designs._li_tails_fits import asymptotic_variance, quantile_power_law
from certiformer.reproduction.study import strict
from certiformer.reproduction.sweep import Row

SHAPE = {"d": 2, "k": 2, "tokens": 4, "teacher": 0, "iterations": 100, "test": 256, "draws": 3}
TINY = {**li_tails.cell("pareto"), **SHAPE, "n": 32, "seed": 1}


@pytest.fixture(scope="module")
def outcome():
    return li_tails.run(TINY)


def row(config, values, arrays):
    return Row(key="", experiment="", version="", config=config, state="done", values=values, arrays=arrays)


def test_merged_head_is_the_cls_transformer():
    with jax.enable_x64(True):
        source = runs.problem(TINY)
        inputs = source.sample_inputs(np.random.default_rng(0), 5)
        ours = runs.target(runs.merge(source.teacher), inputs)
        np.testing.assert_allclose(ours, jax.vmap(source.teacher)(inputs), rtol=1e-12)


def test_samples_are_those_of_the_task():
    config = {**TINY, **li_tails.cell("student", noise="student")}
    with jax.enable_x64(True):
        source = runs.problem(config)
        inputs, _, labels = runs.training_sample(source, config)
        data = source.sample(jax.random.key(config["seed"] + 1_000_003), 96)
    np.testing.assert_array_equal(inputs.reshape(96, 4, 2), data.inputs)
    np.testing.assert_allclose(labels.ravel(), data.labels, rtol=1e-10)


def test_weights_are_the_slope_of_the_loss():
    r, h = np.array([-3.0, -0.2, 0.1, 0.5, 2.0]), 1e-5
    with jax.enable_x64(True):
        weights = runs.influence_weights(jnp.asarray(r), 0.7)
    for above, below, weight in zip(runs.losses(r + h, 0.7), runs.losses(r - h, 0.7), weights, strict=True):
        np.testing.assert_allclose((above - below) / (4.0 * h * r), weight, rtol=1e-6)


def plain(w, x):
    """The head in NumPy: u, W_v, W_QK one after the other in w."""
    u, W_v, W_QK = w[:2], w[2:6].reshape(2, 2), w[6:].reshape(2, 2)
    scores = np.einsum("ni,ij,ntj->nt", x[:, 0], W_QK, x)
    attention = np.exp(scores - scores.max(axis=1, keepdims=True))
    attention /= attention.sum(axis=1, keepdims=True)
    z = np.einsum("nt,ntj->nj", attention, x) @ W_v
    return np.maximum(z, 0.1 * z) @ u


def test_local_minimum_is_as_low_as_scipys():
    with jax.enable_x64(True):
        source = runs.problem(TINY)
        start = runs.merge(source.teacher)
        inputs, _, labels = runs.training_sample(source, TINY)
        heads, done = runs.minimise(
            start, jnp.asarray(inputs), jnp.asarray(labels), 0, 1.0, math.inf, iterations=TINY["iterations"]
        )
    begin = np.concatenate([np.ravel(np.asarray(leaf)) for leaf in start])
    for draw in range(3):
        x, y = inputs[draw], labels[draw]
        ended = np.concatenate([np.ravel(np.asarray(leaf)[draw]) for leaf in heads])
        ours, teachers = (np.mean((plain(w, x) - y) ** 2) for w in (ended, begin))
        found = least_squares(lambda w, x=x, y=y: plain(w, x) - y, begin)
        assert ours <= 1.02 * 2.0 * found.cost / 32  # a flat valley: rounding decides where one stops
        assert ours < teachers
    assert done.all()


@pytest.mark.parametrize(("tail", "second_moment"), [("pareto", 5.0), ("student", 3.0), ("gaussian", 1.0)])
def test_weighted_test_points_know_the_second_moment(tail, second_moment):
    """E ||x||^2 of a token: beta/(beta - 2) in both heavy cases; the plain mean has no variance there."""
    points, weights = runs.test_sample(np.random.default_rng(0), {**TINY, **li_tails.cell(tail)}, 200_000)
    assert weights.max() <= 2.0
    assert weights.mean() == pytest.approx(1.0, abs=0.01)
    assert np.mean(weights[:, None] * np.sum(points**2, axis=-1)) == pytest.approx(second_moment, rel=0.03)


def test_truncation_scales_whole_sequences():
    x = np.array([[[3.0, 4.0], [1.0, 0.0]], [[0.1, 0.0], [0.0, 0.2]]])
    np.testing.assert_allclose(runs.truncate(x, 1.0), [[[0.6, 0.8], [0.2, 0.0]], [[0.1, 0.0], [0.0, 0.2]]])
    np.testing.assert_array_equal(runs.truncate(x, math.inf), x)


def test_asymptotic_variances():
    assert asymptotic_variance("huber", 1.345, "gaussian", 1.0, 2.2) == pytest.approx(1.0 / 0.95, rel=1e-3)
    assert asymptotic_variance("squared", 1.0, "student", 0.5, 2.2) == pytest.approx(0.25 * 11.0)

    def slope(r):
        return 2.0 * r * (1.0 + r**2) / (1.0 + r**2 + r**4 / 2.0)

    def both(function):
        return quad(lambda r: function(r) * student.pdf(r, 2.2), -60.0, 60.0, limit=400, points=[0.0])[0]

    curvature = both(lambda r: (slope(r + 1e-5) - slope(r - 1e-5)) / 2e-5)
    expected = both(lambda r: slope(r) ** 2) / curvature**2
    assert asymptotic_variance("catoni", 1.0, "student", 1.0, 2.2) == pytest.approx(expected, rel=1e-3)


def test_run_is_determined_by_its_seed(outcome):
    again, other = li_tails.run(TINY), li_tails.run({**TINY, "seed": 2})
    np.testing.assert_array_equal(outcome.arrays["excess"], again.arrays["excess"])
    assert not np.array_equal(outcome.arrays["excess"], other.arrays["excess"])
    assert outcome.arrays["excess"].shape == (3,)
    assert (outcome.arrays["excess"] > 0.0).all()


def synthetic(power):
    rng = np.random.default_rng(0)
    found = []
    for c in li_tails.experiment("quick").configs:
        if c["n"] not in (128, 4096) or (c["tail"] == "pareto" and c["clip"]):
            continue
        variance = asymptotic_variance(c["loss"], c["scale"], c["noise"], c["sigma"], c["nu"])
        level = 8 * variance / 128 * (c["n"] / 128) ** power(c["tail"])
        excess = level * rng.uniform(0.5, 1.5, c["draws"])
        found.append(row(c, {"converged": 1.0, "mean": 0.0, "median": 0.0}, {"excess": excess}))
    return found


def test_scales():
    quick = li_tails.experiment("quick").configs
    assert len({c["n"] for c in quick}) >= 5
    assert len({c["seed"] for c in quick}) >= 5
    assert len(li_tails.experiment("paper").configs) > len(quick) > len(li_tails.experiment("smoke").configs)


def words(analysis, *parts):
    """The verdicts of the findings whose setting has these parts."""
    return {f.verdict.word for f in analysis.findings if all(part in f.setting for part in parts)}


def test_planted_exponents_are_found():
    rng = np.random.default_rng(0)
    points = {n: n**-0.7 * rng.exponential(size=200) for n in (100.0, 200.0, 400.0, 800.0)}
    found = quantile_power_law(points, 0.99)
    assert found.low < -0.7 < found.high


def test_no_slow_down_speaks_against_the_difficulty_and_violates_no_bound():
    analysis = li_tails.analyse(synthetic(lambda tail: -1.0))
    assert words(analysis, "t₃ inputs, unbounded target, exponent of", "rate") == {"holds"}
    assert words(analysis, "exponent above") == {"differs"}
    assert words(analysis, "noise", "classical") == {"agrees", "measured"}
    json.dumps(strict(analysis.fits), allow_nan=False)


def test_a_slow_down_as_printed_is_seen_too():
    analysis = li_tails.analyse(synthetic(lambda tail: {"gaussian": -0.93, "student": -0.5, "pareto": -1 / 3}[tail]))
    assert "differs" not in words(analysis, "exponent above")
    assert "violated" not in words(analysis, "t₃ inputs, unbounded target, exponent of the mean", "sound rate")


@pytest.mark.parametrize("keep", [1, 7])
def test_missing_runs_are_no_obstacle(keep):
    analysis = li_tails.analyse(synthetic(lambda tail: -1.0)[:keep])
    json.dumps([finding.as_json() for finding in analysis.findings], allow_nan=False)


def test_one_run_decides_nothing(outcome):
    analysis = li_tails.analyse([row(TINY, outcome.values, outcome.arrays)])
    assert not {"agrees", "differs", "holds", "violated"} & set(analysis.tally)


@pytest.mark.parametrize("keep", [8, 16, 24, 1000])
def test_the_headline_counts_the_verdicts_of_the_table(keep):
    found = synthetic(lambda tail: {"gaussian": -1.0, "student": -1.2, "pareto": -1.0}[tail])
    analysis = li_tails.analyse(found[:keep])
    rows = [f.verdict.word for f in analysis.findings if "exponent above" in f.setting]
    counted = f"in {rows.count('agrees')} of {len(rows)} cases; it differs in {rows.count('differs')}."
    assert counted in analysis.headline
