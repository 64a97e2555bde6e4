"""Sections 3.2 and 3.3: constants written out, exact complexities."""

import itertools
import math

import numpy as np
import pytest

from certiformer.theory.calculus.rademacher import exact
from certiformer.theory.core import find

GAP, DUDLEY = find("mwigo.rad2gap"), find("mwigo.dudley")


@pytest.mark.property_of("mwigo.rad2gap")
def test_gap_constants():
    inputs = {"rho": 2, "rad": 0.1, "c": 1, "delta": 0.05, "n": 400}
    evaluation = GAP.evaluate({**inputs, "every_sample": 1})
    root = math.sqrt(math.log(20) / 800)
    assert evaluation.sound["data"].value == pytest.approx(0.4 + 3 * root, rel=1e-9)
    assert evaluation.sound["uniform"].value == pytest.approx(0.4 + root, rel=1e-9)
    assert dict(evaluation.sound["data"].terms) == pytest.approx({"complexity": 0.4, "confidence": 3 * root})
    assert evaluation.printed["value"].value == pytest.approx(0.4 + 3 * math.sqrt(math.log(40) / 800), rel=1e-12)
    assert evaluation.sound["uniform"].value < evaluation.sound["data"].value < evaluation.printed["value"].value
    assert GAP.evaluate({**inputs, "rad": 100}).sound["data"].terms["complexity"] == 1.0  # half the range, twice
    assert GAP.evaluate({**inputs, "rad": 100}).sound["data"].value == 1.0
    assert not GAP.evaluate(inputs).sound["uniform"].applies


@pytest.mark.independent("mwigo.dudley")
@pytest.mark.counterexample("mwigo.dudley")
def test_the_cube_again():
    n = 8
    cube = np.array(list(itertools.product((-1.0, 1.0), repeat=n)))
    evaluation = DUDLEY.evaluate({"P": n * math.log(2), "A": 1, "n": n})
    assert evaluation.printed["value"].value < exact(cube) == 1.0
    assert all(bound.value >= 1.0 for bound in evaluation.sound.values())


@pytest.mark.property_of("mwigo.dudley")
def test_dudley_range_and_order():
    evaluation = DUDLEY.evaluate({"P": 3, "A": 2, "n": 10**5})
    sound = {name: bound.value for name, bound in evaluation.sound.items()}
    assert sound["chain"] < sound["chain_external"] < sound["closed_half"] < sound["closed"] < 2
    assert evaluation.printed["value"].applies
    negative = DUDLEY.evaluate({"P": 1e6, "A": 1, "n": 100})
    assert negative.printed["value"].value < 0
    assert not negative.printed["value"].applies
    assert negative.sound["closed"].value == 1.0
