"""The tokenized mixture: its assumption holds with certainty, and one gradient step finds the relevant direction."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certiformer.lab import models, tasks
from certiformer.lab.tasks import TokenizedMixture
from certiformer.lab.tasks.tokenized_mixture import relevant_tokens
from certiformer.theory.core.errors import InputError, UnknownNameError

KEY = jax.random.key(2)


@pytest.mark.parametrize("noise", [0.05, 0.5, 5.0])
def test_assumption_3(noise):
    with jax.enable_x64(True):
        source = TokenizedMixture.draw(
            KEY,
            tokens=10,
            zeta=0.3,
            M=3,
            d=9,
            S=1.5,
            Z_mu=0.2,
            Z_nu=0.1,
            Z=0.4,
            noise=noise,
            dtype=float,
        )
        data = source.sample(jax.random.key(3), 500)
    x, y, mask = (np.asarray(part) for part in (data.inputs, data.labels, data.meta["relevant"]))
    patterns = np.asarray(source.patterns)
    np.testing.assert_allclose(patterns @ patterns.T, 1.5**2 * np.eye(5), atol=1e-12)
    assert set(y.tolist()) == {-1.0, 1.0}
    assert (mask.sum(axis=1) == 3).all()
    mu = np.where(y[:, None] > 0, patterns[0], patterns[1])
    np.testing.assert_array_equal(x[mask].reshape(500, 3, 9), np.repeat(mu[:, None], 3, 1))
    # The rest is a nuisance pattern and noise: subtract the nearest pattern.
    rest = x[~mask]
    nearest = (rest @ patterns[2:].T).argmax(axis=1)
    z = rest - patterns[2:][nearest]
    assert set(nearest.tolist()) == {0, 1, 2}
    slack = 1 + 1e-9
    assert np.abs(z @ patterns[:2].T).max() <= 0.2 * slack
    assert np.abs(z @ patterns[2:].T).max() <= 0.1 / 3 * slack
    assert np.linalg.norm(z, axis=1).max() <= 0.4 * slack
    assert np.linalg.norm(x, axis=2).max() <= source.radius * slack
    assert mask.mean(axis=0) == pytest.approx(np.full(10, 0.3), abs=0.08)


def test_no_noise_and_no_spare_dimension():
    task = tasks.build("tokenized_mixture", KEY, M=2, d=4, noise=0.0, n=8, n_test=8)
    norms = np.linalg.norm(task.train.inputs, axis=2)
    np.testing.assert_allclose(norms, 2.0, rtol=1e-6)


def test_the_bayes_predictor_makes_no_mistake():
    task = tasks.build("tokenized_mixture", KEY, n=50, n_test=500, noise=1.0)
    x, y = np.asarray(task.test.inputs), np.asarray(task.test.labels)
    scores = x @ np.asarray(task.source.patterns[:2]).T
    np.testing.assert_array_equal(np.where(scores[..., 0].max(1) > scores[..., 1].max(1), 1.0, -1.0), y)
    assert task.bayes_risk == 0.0
    assert task.meta["radius"] == pytest.approx(np.sqrt(4 + 0.25 + 0.2))
    assert tasks.build("tokenized_mixture", KEY, S=0.4, Z_mu=0.2, n=2, n_test=2).bayes_risk is None


@pytest.mark.independent("deora.lem2")
def test_one_step_points_along_a_quarter_of_zeta_times_the_difference_of_means():
    """U^(1) = alpha 1 ((zeta/4) u_* + p)^T with ||p|| of order 1/sqrt(n), not zeta/2 as printed."""
    task = tasks.build("tokenized_mixture", KEY, n=4000, n_test=1, zeta=0.5, S=1.0, noise=0.1)
    config = models.MultiHeadAttentionConfig(d=12, tokens=8, heads=2)
    model = models.MultiHeadAttention.one_step(KEY, config, task.train.inputs, task.train.labels)
    difference = np.asarray(task.source.mu(1) - task.source.mu(-1))
    coefficient = np.abs(np.asarray(model.U) @ difference) / (difference @ difference)
    np.testing.assert_allclose(coefficient, 0.5 / 4, rtol=0.02)
    remainder = np.asarray(model.U[0, 0]) - np.sign(np.asarray(model.U[0, 0]) @ difference) * 0.125 * difference
    bound = task.meta["radius"] / (2 * np.sqrt(4000)) * (1 + np.sqrt(2 * np.log(100)))
    assert np.linalg.norm(remainder) <= bound


@given(tokens=st.integers(2, 200), relevant=st.integers(1, 199))
def test_whole_numbers_of_relevant_tokens_are_recognised(tokens, relevant):
    if relevant < tokens:
        assert relevant_tokens(relevant / tokens, tokens) == relevant


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"zeta": 0.3, "tokens": 8}, ["zeta", "0.3", "2.4", "2/8"]),
        ({"zeta": 0.01, "tokens": 8}, ["zeta", "1/8"]),
        ({"zeta": 1.0}, ["zeta"]),
        ({"d": 3, "M": 2}, ["d", "3", "M + 2 = 4"]),
        ({"S": 0.0}, ["S"]),
        ({"Z_mu": -1.0}, ["Z_mu"]),
        ({"noise": float("nan")}, ["noise"]),
        ({"n": -1}, ["n", "-1"]),
    ],
)
def test_bad_settings(settings, words):
    with pytest.raises(InputError) as caught:
        tasks.build("tokenized_mixture", KEY, **settings)
    assert all(word in str(caught.value) for word in words)


def test_unknown_settings_suggest_the_nearest():
    with pytest.raises(UnknownNameError, match="did you mean zeta"):
        tasks.build("tokenized_mixture", KEY, zeto=0.5)
