"""Autoregressive windows: the recursion, the windows, and the least risk."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from certiformer.lab import tasks
from certiformer.lab.tasks import Autoregressive
from certiformer.theory.core.errors import InputError, UnknownNameError

KEY = jax.random.key(6)


@pytest.mark.parametrize("lag", [1, 4, 16])
def test_the_recursion(lag):
    source = Autoregressive.draw(lag=lag)
    x = source.series(np.random.default_rng(0), 4000)[0]
    innovation = x[lag:] - 0.9 * x[:-lag]
    assert innovation.var() == pytest.approx(0.1, rel=0.1)
    assert abs(np.corrcoef(innovation, x[:-lag])[0, 1]) < 0.05
    assert abs(np.corrcoef(innovation[1:], innovation[:-1])[0, 1]) < 0.05
    assert x.var() == pytest.approx(0.1 / 0.19, rel=0.35)


@pytest.mark.parametrize(("lag", "tokens"), [(1, 2), (4, 5)])
def test_windows_overlap_and_the_label_follows(lag, tokens):
    source = Autoregressive.draw(lag=lag, pairs=2)
    data = source.windows(KEY, 50)
    values, labels = np.asarray(data.inputs[..., 0]), np.asarray(data.labels)
    assert data.inputs.shape == (50, tokens, 5)
    np.testing.assert_array_equal(values[1:, :-1], values[:-1, 1:])
    np.testing.assert_array_equal(values[1:, -1], labels[:-1])
    # The value `lag` steps before the label is in the window.
    np.testing.assert_allclose(data.meta["target"], 0.9 * values[:, tokens - lag], rtol=1e-6)
    assert np.var(labels - np.asarray(data.meta["target"])) == pytest.approx(0.1, rel=0.6)


def test_positional_channels():
    source = Autoregressive.draw(lag=16)
    data = source.windows(KEY, 3)
    assert data.inputs.shape == (3, 17, 17)
    channels = np.asarray(data.inputs[0, :, 1:])
    np.testing.assert_array_equal(channels, data.inputs[2, :, 1:])
    for place in (0, 5, 16):
        for pair in range(8):
            angle = 2 * np.pi * place / (32 * 2**pair)
            np.testing.assert_allclose(channels[place, pair], np.sin(angle), atol=1e-6)
            np.testing.assert_allclose(channels[place, 8 + pair], np.cos(angle), atol=1e-6)


def test_independent_examples():
    data = Autoregressive.draw(lag=2).sample(KEY, 4000)
    residual = np.asarray(data.labels - data.meta["target"])
    assert residual.var() == pytest.approx(0.1, rel=0.08)
    assert np.asarray(data.labels).var() == pytest.approx(0.1 / 0.19, rel=0.08)


def test_the_released_split_shares_points_and_scale():
    task = tasks.build("autoregressive", KEY, n=400, n_test=100, lag=4)
    labels = np.concatenate([task.train.labels, task.test.labels])
    assert labels.mean() == pytest.approx(0, abs=1e-5)
    assert labels.std() == pytest.approx(1, abs=1e-5)
    train, test = (set(np.asarray(part.inputs[..., 0]).ravel().tolist()) for part in (task.train, task.test))
    assert test & train
    residual = np.concatenate([part.labels - part.meta["target"] for part in (task.train, task.test)])
    assert np.mean(residual**2) == pytest.approx(task.bayes_risk, rel=0.25)
    assert task.bayes_risk == pytest.approx(0.1 / task.meta["spread"] ** 2)


def test_the_independent_split_shares_nothing():
    task = tasks.build("autoregressive", KEY, n=400, n_test=100, lag=4, split="independent")
    train, test = (set(np.asarray(part.inputs[..., 0]).ravel().tolist()) for part in (task.train, task.test))
    assert not test & train
    assert float(np.mean(task.train.labels)) == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"coefficient": 1.0}, ["coefficient"]),
        ({"variance": 0.0}, ["variance"]),
        ({"lag": 0}, ["lag"]),
    ],
)
def test_bad_settings(settings, words):
    with pytest.raises(InputError) as caught:
        tasks.build("autoregressive", KEY, **settings)
    assert all(word in str(caught.value) for word in words)


def test_unknown_split():
    with pytest.raises(UnknownNameError, match="random"):
        tasks.build("autoregressive", KEY, split="randm")
