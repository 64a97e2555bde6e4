"""Assumption 3: the test against exact binomial sums, and data that refute it."""

import math

import mpmath
import numpy as np
import pytest

from certiformer.theory.core import InputError, find

RESULT = find("mwigo.ass3")


def exact_tail(pairs, large):
    p = mpmath.exp(-1)
    return mpmath.fsum(mpmath.binomial(pairs, i) * p**i * (1 - p) ** (pairs - i) for i in range(large, pairs + 1))


@pytest.mark.independent("mwigo.ass3")
@pytest.mark.parametrize(("pairs", "large"), [(1, 0), (1, 1), (10, 3), (100, 40), (100, 99), (2000, 800), (2000, 1900)])
def test_tail_against_exact_sums(pairs, large):
    exact = exact_tail(pairs, large)
    got = RESULT.evaluate({"pairs": pairs, "large": large}).sound["value"]
    assert exact <= got.value * (1 + 1e-15)
    ln = math.log(got.value) if got.ln is None else got.ln
    assert ln == pytest.approx(float(mpmath.log(exact)), rel=1e-8, abs=1e-8)


@pytest.mark.independent("mwigo.ass3")
def test_lower_limit_is_the_exact_one():
    sound = RESULT.evaluate({"pairs": 100, "large": 60, "delta": 0.05}).sound
    p = mpmath.mpf(sound["at_least"].value)
    tail = mpmath.fsum(mpmath.binomial(100, i) * p**i * (1 - p) ** (100 - i) for i in range(60, 101))
    assert float(tail) == pytest.approx(0.05, rel=1e-9)
    assert tail <= mpmath.mpf("0.05")


@pytest.mark.property_of("mwigo.ass3")
def test_decision():
    assert RESULT.evaluate({"pairs": 100, "large": 37}).sound["not_refuted"].value == 1
    refuted = RESULT.evaluate({"pairs": 100, "large": 60})
    assert refuted.sound["not_refuted"].value == 0
    assert refuted.sound["at_least"].value > math.exp(-1)
    assert RESULT.evaluate({"pairs": 100, "large": 60, "delta": 1e-9}).sound["not_refuted"].value == 1
    assert RESULT.evaluate({"pairs": 7, "large": 0}).sound["value"].value == 1.0
    with pytest.raises(InputError, match="at most"):
        RESULT.evaluate({"pairs": 3, "large": 4})


def test_non_negative_images_refute_it():
    rng = np.random.default_rng(0)
    images = rng.uniform(0, 1, (200, 16, 64)) * (rng.uniform(size=(200, 16, 64)) < 0.2)
    products = [np.linalg.norm(images[2 * i] @ images[2 * i + 1].T) ** 2 for i in range(100)]
    large = int(np.sum(np.array(products) >= 1))
    assert RESULT.evaluate({"pairs": 100, "large": large}).sound["not_refuted"].value == 0
