"""Transformer teachers on tokens with known tails."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

from certiformer.lab import tasks
from certiformer.lab.tasks import HeavyTails
from certiformer.theory.core.errors import InputError, UnknownNameError

KEY = jax.random.key(8)


def norm_tail(source, t):
    """P(max token norm > t): exact for Gaussian and Pareto tokens, an upper bound (a union) for Student's."""
    if source.clip is not None and t >= source.clip:
        return 0.0
    d = source.direction.shape[0]
    if source.tail == "student":  # the norm of entries divided by sqrt(d) is at most their largest absolute value
        return min(1.0, source.tokens * d * 2.0 * float(scipy.special.stdtr(source.beta, -t)))
    one = float(scipy.special.gammaincc(d / 2.0, d * t * t / 2.0)) if source.tail == "gaussian" else t**-source.beta
    return 1.0 if one >= 1.0 else -math.expm1(source.tokens * math.log1p(-one))


@pytest.mark.parametrize(("tail", "beta"), [("gaussian", 3.0), ("student", 3.0), ("pareto", 2.5)])
@pytest.mark.parametrize("clip", [None, 2.0])
def test_tail_of_the_largest_token(tail, beta, clip):
    source = HeavyTails.draw(KEY, tokens=3, d=4, tail=tail, beta=beta, clip=clip)
    n = 20_000
    largest = np.linalg.norm(source.sample_inputs(np.random.default_rng(0), n), axis=-1).max(axis=-1)
    if clip is not None:
        assert largest.max() <= clip * (1 + 1e-6)
    for t in (0.5, 1.0, 1.3, 1.9, 2.5, 6.0):
        found, claimed = float((largest > t * (1 + 1e-6)).mean()), norm_tail(source, t)
        error = 4 * math.sqrt(max(claimed * (1 - claimed), 1e-4) / n)
        assert found <= claimed + error
        if tail != "student":
            assert found >= claimed - error


@pytest.mark.parametrize("rank", [None, 1, 2])
def test_teachers(rank):
    source = HeavyTails.draw(KEY, d=5, k=4, heads=2, rank=rank)
    for stack in (source.teacher.W_QK, source.teacher.W_v, source.teacher.W_c):
        for matrix in np.asarray(stack).reshape(-1, *stack.shape[2:]):
            assert np.linalg.matrix_rank(matrix, tol=1e-4) == (rank or min(matrix.shape))
    inputs = source.sample_inputs(np.random.default_rng(1), 3)
    expected = jax.jit(jax.vmap(source.teacher))(inputs)
    np.testing.assert_allclose(source.target(inputs), expected, rtol=1e-5)


def test_a_misfit_leaves_the_class():
    """Every network without biases vanishes at zero; the misspecified target does not."""
    zero = jnp.zeros((1, 4, 4))
    assert float(HeavyTails.draw(KEY).target(zero)[0]) == 0.0
    assert float(HeavyTails.draw(KEY, misfit=0.3).target(zero)[0]) == pytest.approx(0.3)
    assert tasks.build("heavy_tails", KEY, n=2, n_test=2).meta["well_specified"]
    assert not tasks.build("heavy_tails", KEY, n=2, n_test=2, misfit=-0.1).meta["well_specified"]


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
    [{"beta": 0.0}, {"sigma": -1.0}, {"clip": 0.0}, {"rank": 9}, {"tokens": 0}, {"misfit": math.nan}, {"nu": 0.0}],
)
def test_bad_settings(settings):
    with pytest.raises(InputError):
        tasks.build("heavy_tails", KEY, n=2, n_test=2, **settings)


def test_unknown_names():
    with pytest.raises(UnknownNameError, match="pareto"):
        tasks.build("heavy_tails", KEY, tail="paretto")
    with pytest.raises(UnknownNameError, match="gaussian"):
        tasks.build("heavy_tails", KEY, noise="gausian")
