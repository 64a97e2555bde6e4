"""Sections 2.3 and 2.4: coverage in simulation, exact complexities, the cube."""

import itertools
import math

import numpy as np
import pytest

from certiformer.theory.calculus.rademacher import exact
from certiformer.theory.core import find

GAP, DUDLEY = find("trauger.rad2gap"), find("trauger.dudley")


@pytest.mark.independent("trauger.rad2gap", "mwigo.rad2gap")
def test_gap_covers_in_simulation():
    rng = np.random.default_rng(0)
    n, runs, delta, points = 12, 300, 0.3, 6
    losses = rng.uniform(size=(8, points))  # eight functions on six equally likely points
    truth = losses.mean(axis=1)
    failures = dict.fromkeys(("data", "uniform", "two_sided", "mwigo"), 0)
    # The largest complexity of any sample, for the uniform form: found by search over many samples.
    samples = [rng.integers(0, points, n) for _ in range(runs)]
    complexities = [exact(losses[:, sample]) for sample in samples]
    for sample, complexity in zip(samples, complexities, strict=True):
        gap = truth - losses[:, sample].mean(axis=1)
        bound = GAP.evaluate({"rad": complexity, "c": 1, "delta": delta, "n": n}).sound
        uniform = GAP.evaluate({"rad": max(complexities), "c": 1, "delta": delta, "n": n, "every_sample": 1}).sound
        other = find("mwigo.rad2gap").evaluate({"rho": 1, "rad": complexity, "c": 1, "delta": delta, "n": n}).sound
        failures["data"] += gap.max() > bound["data"].value
        failures["uniform"] += gap.max() > uniform["uniform"].value
        failures["two_sided"] += np.abs(gap).max() > uniform["two_sided"].value
        failures["mwigo"] += gap.max() > other["data"].value
    assert all(count <= delta * runs for count in failures.values())


@pytest.mark.property_of("trauger.rad2gap")
def test_gap_orderings_and_constants():
    inputs = {"rad": 0.02, "c": 2.0, "delta": 0.05, "n": 5000}
    sound = GAP.evaluate({**inputs, "every_sample": 1}).sound
    assert sound["uniform"].value < sound["two_sided"].value < sound["data"].value < sound["two_sided_data"].value
    # |loss| <= c has range 2c; even so the printed two-sided form is larger than the sound one.
    twice = GAP.evaluate({**inputs, "c": 4.0, "every_sample": 1}).sound["two_sided_data"].value
    assert twice < GAP.evaluate(inputs).printed["value"].value
    root = math.sqrt(math.log(20) / (2 * 5000))
    assert sound["data"].value == pytest.approx(0.04 + 6 * root, rel=1e-9)
    assert sound["uniform"].value == pytest.approx(0.04 + 2 * root, rel=1e-9)
    half = math.sqrt(math.log(40) / (2 * 5000))
    assert sound["two_sided"].value == pytest.approx(0.04 + 2 * half, rel=1e-9)
    assert sound["two_sided_data"].value == pytest.approx(0.04 + 6 * half, rel=1e-9)
    assert sound["data"].terms["complexity"] == pytest.approx(0.04)


def test_gap_is_never_above_the_range_and_uniform_must_be_claimed():
    evaluation = GAP.evaluate({"rad": 5.0, "c": 1.0, "delta": 0.05, "n": 10})
    assert evaluation.sound["data"].value == 1.0
    assert evaluation.sound["data"].vacuous
    assert not evaluation.sound["uniform"].applies
    assert not evaluation.sound["two_sided"].applies
    assert evaluation.best == "data"
    assert any("support" in check.requires for check in evaluation.sound["data"].hypotheses)


def test_a_range_read_off_the_sample_proves_nothing():
    # x = 1 almost always, m^4 with probability 1/m^2; f = w x, |w| <= 1, loss |f|. The sample shows c = 1.
    m = 100
    rad = 1 / math.sqrt(m)
    naive = GAP.evaluate({"rad": rad, "c": 1, "delta": 0.05, "n": m}).sound["data"].value + 1.0
    assert (1 - 1 / m**2) ** m >= 1 - 1 / m  # the sample looks harmless
    assert m**4 / m**2 > naive  # the true loss at w = 1 does not


@pytest.mark.independent("trauger.dudley", "mwigo.dudley")
@pytest.mark.counterexample("trauger.dudley", "mwigo.dudley")
def test_the_cube():
    n = 10
    cube = np.array(list(itertools.product((-1.0, 1.0), repeat=n)))
    assert exact(cube) == 1.0
    # ln N(eps) = n ln 2 below eps = 1, so C = n ln 2 serves, and the printed value at c = 1 is too small.
    for id, C, D in (("trauger.dudley", "C", "D"), ("mwigo.dudley", "P", "A")):
        evaluation = find(id).evaluate({C: n * math.log(2), D: 1, "n": n})
        assert evaluation.printed["value"].value < 1.0
        for bound in evaluation.sound.values():
            assert bound.value >= 1.0
    assert math.sqrt(math.log(2)) < 1.0  # and the infimum of the integral itself


@pytest.mark.property_of("trauger.dudley", "mwigo.dudley")
def test_dudley_orderings_and_range():
    for id, C, D in (("trauger.dudley", "C", "D"), ("mwigo.dudley", "P", "A")):
        evaluation = find(id).evaluate({C: 2, D: 1, "n": 10_000})
        sound = {name: bound.value for name, bound in evaluation.sound.items()}
        assert sound["chain"] < sound["chain_external"] < sound["closed_half"] < sound["closed"] < 1
        assert evaluation.printed["value"].applies
        # homogeneous: functions twice as large, covers twice as coarse
        double = find(id).evaluate({C: 8, D: 2, "n": 10_000}).sound
        for name, value in sound.items():
            assert double[name].value == pytest.approx(2 * value, rel=1e-6)
        negative = find(id).evaluate({C: 1e6, D: 1, "n": 100})
        assert negative.printed["value"].value < 0
        assert not negative.printed["value"].applies
        assert negative.sound["closed"].value == 1.0
