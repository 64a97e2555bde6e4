"""Gaps, losses and margins: exact on tiny classes, covered in simulation."""

import itertools
import math

import numpy as np
import pytest

from certiformer.theory.calculus import rademacher


def test_exact_complexities_of_two_small_classes():
    assert rademacher.exact(np.array([[1.0, 0, 2], [0, 1, -1], [-1, 1, 0]])) == pytest.approx(0.5416666667)
    assert rademacher.exact(np.array([[1.0] * 4, [-1.0] * 4])) == 0.375


def test_gap_formulas():
    assert rademacher.gap_from_data(0.1, 2.0, 3.0, 100) == pytest.approx(0.2 + 6 * math.sqrt(0.015))
    assert rademacher.gap_uniform(0.1, 2.0, 3.0, 100) == pytest.approx(0.2 + 2 * math.sqrt(0.015))


def test_gap_covers_in_simulation():
    # Threshold functions on ten points, 0-1 loss, labels by coin: all gaps at once, for both versions.
    rng = np.random.default_rng(0)
    n, delta, repetitions = 10, 0.2, 300
    thresholds = np.arange(11)
    failures = {"data": 0, "uniform": 0}
    worst = rademacher.exact((np.arange(n)[None, :] >= thresholds[:, None]).astype(float))
    for _ in range(repetitions):
        x = rng.integers(0, 10, n)
        y = rng.integers(0, 2, n)
        losses = ((x[None, :] >= thresholds[:, None]) != y[None, :]).astype(float)
        gap = np.max(0.5 - losses.mean(axis=1))
        data = rademacher.gap_from_data(rademacher.exact(losses), 1.0, math.log(1 / delta), n)
        uniform = rademacher.gap_uniform(worst, 1.0, math.log(1 / delta), n)
        failures["data"] += gap > data
        failures["uniform"] += gap > uniform
    assert max(failures.values()) <= delta * repetitions


def test_contraction_and_the_range_of_the_loss():
    assert rademacher.of_loss(0.2, 3.0) == pytest.approx(0.6)
    assert rademacher.of_loss(0.2, 3.0, 1.0) == 0.5
    values = np.array([[0.5, -1.0, 0.2], [-0.3, 0.4, 0.9], [0.0, 0.1, -0.8]])
    assert rademacher.exact(np.tanh(2 * values)) <= rademacher.of_loss(rademacher.exact(values), 2.0)


def test_maurer_holds_on_a_tiny_vector_class():
    rng = np.random.default_rng(1)
    for _ in range(10):
        outputs = rng.normal(size=(4, 3, 2))  # functions, points, coordinates
        loss = np.linalg.norm(outputs - rng.normal(size=(1, 3, 2)), axis=2)
        per_coordinate = [rademacher.exact(outputs[:, :, k]) for k in range(2)]
        assert rademacher.exact(loss) <= rademacher.maurer(per_coordinate, 1.0) + 1e-12
    assert rademacher.maurer([0.1, 0.2], 2.0) == pytest.approx(math.sqrt(2) * 2 * 0.3)


def test_every_sign_vector_counts():
    values = np.array([[1.0, 2.0], [0.5, -1.0]])
    by_hand = np.mean([max(np.dot(s, f) for f in values) for s in itertools.product((-1, 1), repeat=2)]) / 2
    assert rademacher.exact(values) == pytest.approx(by_hand)
