"""Softmax and attention constants: never exceeded, and reached."""

import math

import numpy as np
import pytest

from certiformer.theory.calculus import softmax


def attention(tokens, w, query):
    return softmax.softmax(tokens @ w.T @ query) @ tokens


def half_diameter(tokens):
    return max(np.linalg.norm(a - b) for a in tokens for b in tokens) / 2


def test_softmax_sums_to_one_and_does_not_overflow():
    p = softmax.softmax(np.array([[1000.0, 0.0], [1.0, 1.0]]))
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(p[1], 0.5)
    np.testing.assert_allclose(softmax.softmax(np.array([[0.0, 1.0], [0.0, 1.0]]), axis=0), 0.5)


def test_l1_change_holds_and_is_attained():
    rng = np.random.default_rng(0)
    for _ in range(1000):
        a, b = rng.normal(scale=rng.uniform(0.1, 5), size=(2, 4))
        change = np.abs(softmax.softmax(a) - softmax.softmax(b)).sum()
        assert change <= softmax.l1_change(np.ptp(a - b)) + 1e-12
    a = np.array([0.5, -0.5])
    assert np.abs(softmax.softmax(a) - softmax.softmax(-a)).sum() == pytest.approx(softmax.l1_change(2.0))
    assert softmax.l1_change(4.0) == pytest.approx(2 * math.tanh(1.0))


def test_weight_sensitivity():
    rng = np.random.default_rng(1)
    best = 0.0
    for _ in range(2000):
        tokens = rng.normal(size=(3, 2)) + rng.normal(scale=3, size=2)
        w, v = rng.normal(size=(2, 2, 2)) * 0.3
        rho, query = half_diameter(tokens), tokens[0]
        change = np.linalg.norm(attention(tokens, w, query) - attention(tokens, v, query))
        allowed = softmax.weight_sensitivity(rho) * np.linalg.norm((w - v).T @ query)
        assert change <= allowed + 1e-12
        best = max(best, change / allowed)
    assert best > 0.5


def test_weight_sensitivity_is_reached_by_two_opposite_tokens():
    tokens, step = np.array([[2.0], [-2.0]]), 1e-4
    change = np.linalg.norm(
        attention(tokens, np.array([[step]]), tokens[0]) - attention(tokens, np.array([[0.0]]), tokens[0])
    )
    assert change / (softmax.weight_sensitivity(2.0) * step * 2.0) > 0.999


def test_input_sensitivity():
    rng = np.random.default_rng(2)
    for _ in range(2000):
        tokens = rng.normal(size=(3, 2))
        moved = tokens + rng.normal(scale=rng.uniform(0.001, 1), size=(3, 2))
        w = rng.normal(size=(2, 2)) * rng.uniform(0.1, 3)
        radius = max(np.linalg.norm(tokens, axis=1).max(), np.linalg.norm(moved, axis=1).max())
        rho = max(half_diameter(tokens), half_diameter(moved))
        change = np.linalg.norm(attention(tokens, w, tokens[0]) - attention(moved, w, moved[0]))
        allowed = softmax.input_sensitivity(radius, rho, np.linalg.norm(w, 2))
        assert change <= allowed * np.linalg.norm(tokens - moved, axis=1).max() + 1e-12
    assert softmax.input_sensitivity(3.0, 2.0, 0.5) == 1 + 2 * 5 * 0.5
