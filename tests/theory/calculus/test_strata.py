"""Radii read off the weights: rounded up to a grid, and paid for."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certiformer.theory.calculus import strata
from certiformer.theory.core.errors import InputError


@given(norm=st.floats(1e-6, 1e6), base=st.floats(0.1, 10), ratio=st.floats(1.01, 4))
def test_the_stratum_contains_the_norm_and_is_the_first_that_does(norm, base, ratio):
    j = strata.index(norm, base=base, ratio=ratio, floor=-100_000)
    assert strata.radius(j, base=base, ratio=ratio) >= norm
    assert strata.radius(j - 1, base=base, ratio=ratio) < norm * (1 + 1e-9)


def test_known_indices():
    assert strata.index(1.0) == 0
    assert strata.index(1.05) == 1
    assert strata.index(0.95) == 0
    assert strata.index(8.0, ratio=2.0) == 3
    assert strata.index(0.0, floor=-7) == strata.index(1e-30, floor=-7) == -7
    assert strata.radius(3, base=2.0, ratio=2.0) == 16.0
    assert pytest.approx(math.pi**2 / 3 - 1) == strata.NORMALISER
    assert strata.radius(1) == 1.1
    assert strata.index(0.0) == strata.index(1e-200) == -1000


def test_cost_is_symmetric_and_zero_only_when_nothing_is_measured():
    assert strata.cost([]) == 0.0
    assert strata.cost([4]) == strata.cost([-4]) == pytest.approx(math.log(strata.NORMALISER) + 2 * math.log(5))


@pytest.mark.parametrize("norm", [-1.0, math.nan, math.inf])
def test_a_norm_that_is_none(norm):
    with pytest.raises(InputError, match="norm"):
        strata.index(norm)


@pytest.mark.parametrize(("base", "ratio"), [(0.0, 2.0), (1.0, 1.0), (-1.0, 2.0)])
def test_a_grid_that_is_none(base, ratio):
    with pytest.raises(InputError, match="ratio"):
        strata.index(1.0, base=base, ratio=ratio)
