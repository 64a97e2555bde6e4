"""Transformer teachers on tokens with known tails."""

from __future__ import annotations

import math

import jax
import numpy as np
import pytest
import scipy.special

from certiformer.lab import tasks
from certiformer.lab.tasks import HeavyTails
from certiformer.theory.core.errors import InputError, UnknownNameError

KEY = jax.random.key(8)


def norm_tail(source, t):
    """P(max token norm > t): exact for Gaussian and Pareto tokens, an upper bound (a union) for Student's."""
    d = source.teacher.config.d
    if source.tail == "student":  # the norm of entries divided by sqrt(d) is at most their largest absolute value
        return min(1.0, source.tokens * d * 2.0 * float(scipy.special.stdtr(source.beta, -t)))
    one = float(scipy.special.gammaincc(d / 2.0, d * t * t / 2.0)) if source.tail == "gaussian" else t**-source.beta
    return 1.0 if one >= 1.0 else -math.expm1(source.tokens * math.log1p(-one))


@pytest.mark.parametrize(("tail", "beta"), [("gaussian", 3.0), ("student", 3.0), ("pareto", 2.5)])
def test_tail_of_the_largest_token(tail, beta):
    source = HeavyTails.draw(KEY, tokens=3, d=4, tail=tail, beta=beta)
    n = 20_000
    largest = np.linalg.norm(source.sample_inputs(np.random.default_rng(0), n), axis=-1).max(axis=-1)
    for t in (0.5, 1.0, 1.3, 1.9, 2.5, 6.0):
        found, claimed = float((largest > t * (1 + 1e-6)).mean()), norm_tail(source, t)
        error = 4 * math.sqrt(max(claimed * (1 - claimed), 1e-4) / n)
        assert found <= claimed + error
        if tail != "student":
            assert found >= claimed - error


def test_the_target_is_the_teacher():
    source = HeavyTails.draw(KEY, d=5, k=4)
    inputs = source.sample_inputs(np.random.default_rng(1), 3)
    expected = jax.jit(jax.vmap(source.teacher))(inputs)
    np.testing.assert_allclose(source.target(inputs), expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("settings", "risk"),
    [
        ({"sigma": 0.5}, 0.25),
        ({"sigma": 0.5, "noise": "student", "nu": 6.0}, 0.25 * 1.5),
        ({"sigma": 0.5, "noise": "student", "nu": 2.0}, math.inf),
        ({"sigma": 0.0, "noise": "student", "nu": 2.0}, 0.0),
    ],
)
def test_the_bayes_risk_is_the_variance_of_the_noise(settings, risk):
    task = tasks.build("heavy_tails", KEY, n=10, n_test=20_000, **settings)
    assert task.bayes_risk == pytest.approx(risk)
    if math.isfinite(risk):
        residual = np.asarray(task.test.labels - task.test.meta["target"])
        assert np.mean(residual**2) == pytest.approx(risk, rel=0.1)


@pytest.mark.parametrize(
    "settings",
    [{"beta": 0.0}, {"sigma": -1.0}, {"tokens": 0}, {"nu": 0.0}],
)
def test_bad_settings(settings):
    with pytest.raises(InputError):
        tasks.build("heavy_tails", KEY, n=2, n_test=2, **settings)


def test_unknown_names():
    with pytest.raises(UnknownNameError, match="pareto"):
        tasks.build("heavy_tails", KEY, tail="paretto")
    with pytest.raises(UnknownNameError, match="gaussian"):
        tasks.build("heavy_tails", KEY, noise="gausian")
