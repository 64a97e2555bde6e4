"""The constants of the activations are suprema: never exceeded, and approached."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from certiformer.theory.calculus.activations import ACTIVATIONS, activation
from certiformer.theory.core import UnknownNameError

MP = {
    "tanh": mpmath.tanh,
    "erf": lambda x: mpmath.erf(x / mpmath.sqrt(2)),
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "sin": mpmath.sin,
}
# where |sigma'| and |sigma''| are largest, found by setting the next derivative to zero
PEAKS = {"tanh": (0, 0.65), "erf": (0, 1), "sigmoid": (0, 1.3), "sin": (0, 1.5)}


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_constants_are_the_suprema_of_the_derivatives(name: str) -> None:
    sigma, f = activation(name), MP[name]
    with mpmath.workdps(30):
        slope = abs(mpmath.diff(f, PEAKS[name][0], 1))
        peak = mpmath.findroot(lambda x: mpmath.diff(f, x, 3), PEAKS[name][1])
        bend = abs(mpmath.diff(f, peak, 2))
    assert sigma.s1 == pytest.approx(float(slope), rel=1e-14)
    assert sigma.s2 == pytest.approx(float(bend), rel=1e-14)


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_no_point_of_a_fine_grid_exceeds_the_constants(name: str) -> None:
    sigma = activation(name)
    x = np.linspace(-20.0, 20.0, 400_001)
    values, slopes = sigma.value(x), sigma.slope(x)
    assert np.max(np.abs(values)) == pytest.approx(sigma.s0, rel=1e-8)
    assert np.max(np.abs(values)) <= sigma.s0
    assert np.max(np.abs(slopes)) <= sigma.s1 * (1 + 1e-15)
    np.testing.assert_allclose(np.diff(values), 0.5 * (slopes[1:] + slopes[:-1]) * np.diff(x), atol=1e-10)
    assert np.max(np.abs(np.diff(slopes) / np.diff(x))) <= sigma.s2 * (1 + 1e-9)


def test_unknown_activation_is_named() -> None:
    with pytest.raises(UnknownNameError, match="relu"):
        activation("relu")
