"""Pieces of the shallow encoder's results: when a sample's points are of use, and who vouches for initial norms."""

import math

import pytest

from certiformer.theory.calculus import chaining
from certiformer.theory.core import find
from certiformer.theory.theorems.mwigo import _shallow

SIZES = {"ds": 4, "d": 8, "RX": 0.5, "RQ": 0.1, "RK": 0.1, "RV": 0.1, "RO": 0.1}


def encoder(**more):
    return find("mwigo.lem2")(**{**SIZES, "n": 100, "dm": 8, **more})


@pytest.mark.parametrize("dm", [2, 5, 8])
def test_points_of_a_sample_are_of_use_while_they_are_few(dm):
    # ln(2n + 1) = dm ln(1 + 2 sqrt 2)
    turn = ((1.0 + 2.0 * math.sqrt(2.0)) ** dm - 1.0) / 2.0
    below, above = math.ceil(turn) - 1, math.ceil(turn)
    assert _shallow._samples(encoder(dm=dm, n=below)) == below
    assert _shallow._samples(encoder(dm=dm, n=above)) is None


def test_who_vouches_for_the_initial_norms():
    given = {"WQF": 2.0, "WKF": 2.0, "WVF": 2.0, "wOF": 1.0}
    assert encoder(**given).initial_norms.state == "stated"
    for name in given:
        left = encoder(**{key: value for key, value in given.items() if key != name}).initial_norms
        assert left.state == "open"
        assert name in left.why
        assert not any(other in left.why for other in given if other != name)
    assert encoder().wOF == 1.0
    assert pytest.approx(math.sqrt(8.0)) == encoder().WQF


@pytest.mark.parametrize("centre", [_shallow.at_zero, _shallow.at_initial])
def test_chains_in_units_of_the_radius_are_chains(centre):
    for n in (1, 10**12):
        net = encoder(n=n, dm=2, d=2)
        at = centre(net)
        plain = chaining.proper_chain(at.cover, at.radius.value, n)
        assert _shallow._complexity(net, centre) == pytest.approx(plain, rel=1e-6)
    assert plain < 0.1 * at.radius.value
