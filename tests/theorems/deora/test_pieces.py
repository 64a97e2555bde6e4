"""Pieces of the results on attention heads: defaults and corner cases."""

import math

import pytest

from certiformer.theorems.deora._mixture import Mixture
from certiformer.theorems.deora.softmax_facts import SoftmaxFacts


def test_a_mixture_without_noise():
    bare = Mixture(8, 0.25, 3, 1.2)
    assert bare == Mixture(8, 0.25, 3, 1.2, Zmu=0.0, Znu=0.0, Z=0.0)
    assert pytest.approx(1.2) == bare.R


def test_the_margin_holds_up_to_noise_of_half_the_square():
    # 2 Zmu is between S^3 and S^2
    assert math.isfinite(Mixture(8, 0.9, 3, 0.9, Zmu=0.39).margin_W(0.0))
    assert Mixture(8, 0.9, 3, 0.9, Zmu=0.41).margin_W(0.0) == -math.inf


def test_softmax_facts_by_hand():
    # probabilities 1/4 and 3/4
    apart, same = (SoftmaxFacts(v=(0.0, math.log(3.0)), i=i, j=2) for i in (1, 2))
    assert apart.sound()["norm_here"].value == pytest.approx(2.0 * 0.25 * 0.75)
    assert apart.sound()["entry"].value == pytest.approx(-0.25 * 0.75)
    assert apart.printed()["entry"].value == pytest.approx(0.0)
    assert same.printed()["entry"].value == pytest.approx(0.75 - math.log(3.0) ** 2)
