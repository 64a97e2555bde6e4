"""Pieces of the toolbox: probabilities end at one."""

import math

import pytest

from certiformer.theory.core import find


def test_a_rate_is_at_most_one():
    found = find("binomial").evaluate({"errors": 9, "n": 10, "delta": 1e-6}).sound
    assert all(bound.value <= 1.0 for bound in found.values())
    assert found["hoeffding"].value == 1.0
    assert all(bound.trivial == 1.0 for bound in found.values())


def test_pinsker():
    assert find("kl_inverse")(q=0.1, budget=0.02).sound()["pinsker"].value == pytest.approx(0.1 + math.sqrt(0.01))
    wide = find("kl_inverse")(q=0.9, budget=5.0).sound()
    assert wide["pinsker"].value == 1.0
    assert all(bound.trivial == 1.0 for bound in wide.values())
