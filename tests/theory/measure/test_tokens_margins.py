"""Token norms, half-diameters and margins against their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from certiformer.theory.core.errors import InputError
from certiformer.theory.measure.margins import margin_errors, margins
from certiformer.theory.measure.measured import Measured
from certiformer.theory.measure.tokens import half_diameter, token_norm


def test_token_norm_and_half_diameter():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5, 7, 3)) + 100.0
    truth = max(np.linalg.norm(a - b) / 2 for sample in x for a in sample for b in sample)
    value = half_diameter(x).value
    assert truth <= value <= truth * (1 + 1e-9)
    every = x.reshape(-1, 3)
    assert token_norm(x).value == pytest.approx(np.max(np.linalg.norm(every, axis=1)), rel=1e-10)
    assert token_norm(x[0], math.inf).value == pytest.approx(np.max(np.abs(x[0])), rel=1e-10)
    assert half_diameter(x[:, :1]).value == 0.0
    assert half_diameter(np.ones((2, 4, 3))).value < 1e-7
    with pytest.raises(InputError, match="finite"):
        token_norm(np.full((1, 2, 2), np.inf))
    with pytest.raises(InputError, match="shape"):
        token_norm(np.ones(3))


def test_margins():
    assert margins([1.5, -2.0], [1, -1]).tolist() == [1.5, 2.0]
    logits = [[1.0, 3.0, 2.0], [0.0, 0.0, -1.0]]
    assert margins(logits, [1, 0]).tolist() == [1.0, 0.0]
    assert margin_errors(logits, [1, 0], 0.0) == 1
    assert margins(logits, [2, 0]).tolist() == [-1.0, 0.0]
    for outputs, labels in (([1.0], [0.5]), ([[1.0, 2.0]], [2]), ([1.0, 2.0], [1]), ([math.nan], [1])):
        with pytest.raises(InputError):
            margins(outputs, labels)


def test_measured_says_what_it_is():
    with pytest.raises(ValueError, match="nan"):
        Measured(math.nan, "exact", "nothing")
    with pytest.raises(ValueError, match="upper or a lower"):
        Measured(1.0, "certified", "nothing")
    assert float(Measured(2.0, "estimate", "a guess", error=0.1)) == 2.0
