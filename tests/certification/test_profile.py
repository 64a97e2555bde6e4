"""The profile: norms in both orientations, certified spectral norms, losses, and how each was obtained."""

import math

import numpy as np
import pytest

from certiformer.theory.core.errors import InputError
from certiformer.theory.measure.profile import (
    cross_entropy,
    matrix_entries,
    measure,
    ramp,
    smoothed_cross_entropy,
    stable_rank,
)

RNG = np.random.default_rng(0)
W = RNG.normal(size=(3, 4))
X = RNG.normal(size=(20, 5, 3))
Y = np.where(X[:, 0, 0] > 0, 1, -1)
OUTPUTS = X[:, 0, 0] * 2 + 0.1


def profile(**changes):
    given = {"tensors": {"W": W, "stack": np.stack([W, 2 * W])}, "inputs": X, "outputs": OUTPUTS, "labels": Y}
    given |= changes
    return measure(given.pop("tensors"), given.pop("inputs"), given.pop("outputs"), given.pop("labels"), **given)


def test_norms_are_those_of_numpy():
    found = profile()
    assert found["W F"] == pytest.approx(np.linalg.norm(W))
    assert found["W spectral"] == pytest.approx(np.linalg.norm(W, 2))
    assert found["W spectral"] >= np.linalg.norm(W, 2)
    assert found["W W_1,inf"] == pytest.approx(np.abs(W).sum(0).max())
    assert found["W WT_1,inf"] == pytest.approx(np.abs(W).sum(1).max())
    assert found["W WT_2,1"] == pytest.approx(np.linalg.norm(W, axis=1).sum())
    assert found["W rank"] == 3
    assert found.largest("stack", "F") == pytest.approx(2 * np.linalg.norm(W))
    assert found.each("stack", "F") == pytest.approx([np.linalg.norm(W), 2 * np.linalg.norm(W)])
    assert found.entries["W spectral"].how == "certified"
    assert found.entries["W rank"].how == "estimate"


def test_tokens_outputs_and_losses():
    found = profile()
    assert found["tokens l2 norm"] == pytest.approx(np.linalg.norm(X, axis=2).max())
    assert found["largest output"] == OUTPUTS.max()
    gaps = OUTPUTS * Y
    assert found["0-1 loss"] == np.mean(gaps <= 0)
    assert found["cross-entropy"] == pytest.approx(np.mean(np.log1p(np.exp(-gaps))))
    np.testing.assert_allclose(ramp(gaps, 0.5), np.clip(1 - gaps / 0.5, 0, 1))
    assert found.tokens == 5
    assert found.n == 20


def test_logits_and_signs_give_the_same_losses():
    logits = np.stack([np.zeros(20), OUTPUTS], axis=1)
    np.testing.assert_allclose(cross_entropy(logits, (Y + 1) // 2), cross_entropy(OUTPUTS, Y))
    low = smoothed_cross_entropy(np.array([1.0]), 0.1, 2)
    assert low[0] == pytest.approx(-math.log(0.95))
    assert smoothed_cross_entropy(np.array([0.0]), 0.1, 2)[0] == pytest.approx(math.log(20))


def test_distance_from_the_start():
    start = {"W": W - 0.5, "stack": np.stack([W, 2 * W])}
    found = profile(initial=start)
    assert found["W distance from start F"] == pytest.approx(0.5 * math.sqrt(12))
    assert found["stack[1] distance from start F"] == 0.0
    assert found["all weights distance from start F"] == pytest.approx(0.5 * math.sqrt(12))
    assert found["W start spectral"] >= np.linalg.norm(W - 0.5, 2)
    assert found.initial_known


def test_large_stacks_keep_the_largest_of_each_norm():
    many = RNG.normal(size=(40, 2, 2))
    found = profile(tensors={"W": many})
    assert found["W F"] == pytest.approx(max(np.linalg.norm(part) for part in many))
    assert found.largest("W", "spectral") >= max(np.linalg.norm(part, 2) for part in many)


def test_stable_rank_from_above_and_zero():
    assert stable_rank(W).value >= (np.linalg.norm(W) / np.linalg.norm(W, 2)) ** 2
    assert stable_rank(np.zeros((2, 2))).value == 0.0
    assert matrix_entries(np.zeros((2, 2)))["rank"].value == 0


def test_features_scalars_and_unknown_names():
    features = RNG.normal(size=(20, 3))
    found = profile(tensors={"b": np.float64(3.0)}, features=features, inputs=None)
    least = np.linalg.svd(features, compute_uv=False)[-1]
    assert found["sigma_min of the features"] == pytest.approx(least)
    with pytest.raises(InputError, match="profile entry"):
        found["W F"]
    with pytest.raises(InputError, match="profile entry"):
        found.largest("W", "F")
    rows = {row["name"]: row["how"] for row in found.rows()}
    assert rows["0-1 loss"].startswith("exact")
    assert rows["sigma_min of the features"].startswith("estimate")
