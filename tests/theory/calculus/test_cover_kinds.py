"""Entropies at many radii are those at one radius at a time, never below; and the kinds they are the least of."""

import math

import numpy as np
import pytest

from certiformer.theory.calculus.cover_kinds import columns, kinds_of
from certiformer.theory.calculus.entropies import (
    Added,
    Constant,
    Least,
    Multisets,
    Power,
    Scaled,
    Shifted,
    Volume,
    sizes,
)

LN_TWO = math.log(2.0)
ENTROPIES = [
    Volume(6),
    Volume(3, 0.1),
    Power(2.0),
    Power(1e-200),
    Multisets(9),
    Multisets(9, shrunk=False),
    Multisets(2000),
    Scaled(3.0, Power(0.5)),
    Scaled(2.0, Multisets(3)),
    Shifted(LN_TWO, Volume(4)),
    Shifted(LN_TWO, Multisets(4)),
    Shifted(0.3, Scaled(1.5, Power(0.1))),
    Added((Volume(2), Volume(5, 1.0))),
    Added((Volume(1), Volume(2), Volume(3, 0.5))),
    Added((Volume(2), Power(1.0))),
    Constant(4.0),
    Least(((Volume(20), 0.0), (Multisets(20), LN_TWO))),
    Least(((Volume(41), 0.0), (Multisets(20), 0.0))),
    Least(((Volume(39), 0.2), (Multisets(20), 0.1), (Power(0.3), 0.0))),
    Least(((Volume(100, -5.0), 0.0), (Multisets(20), 0.0))),  # the volume is less for a while
    Least(((Power(3.0), 0.0), (Volume(5), -0.4))),
    Least(((Power(3.0), 0.0), (Multisets(5), -0.4))),
    Least(((Constant(2.0), -1.0), (Power(0.01), -0.7))),
    Scaled(2.0, Shifted(0.5, Least(((Volume(2), 0.0), (Volume(1, 3.0), 0.0), (Power(0.2), 0.1))))),
]
X = np.concatenate([np.linspace(0.005, 3.0, 60), [4.0, 6.0, 10.0, 20.0, 40.0, 200.0, 340.0, 360.0]])


def at_single_numbers(entropy):
    return np.array([entropy(float(x)) for x in X])


@pytest.mark.parametrize("entropy", ENTROPIES, ids=lambda entropy: type(entropy).__name__)
def test_many_radii_at_once_are_each_their_own(entropy):
    with np.errstate(over="ignore"):
        found = sizes(entropy, X)
    alone = at_single_numbers(entropy)
    assert np.all(found >= alone * (1.0 - 1e-14))
    assert found == pytest.approx(alone, rel=1e-9)


def test_an_entropy_is_the_least_of_its_kinds():
    """factor * base(x + shift), nothing from x + shift = 0 on."""
    for entropy in ENTROPIES:
        kinds = kinds_of(entropy)
        values = [
            [kind.factor * kind.base(x + kind.shift) if x + kind.shift > 0.0 else 0.0 for kind in kinds] for x in X
        ]
        assert np.min(values, axis=1) == pytest.approx(at_single_numbers(entropy), rel=1e-12)
    assert [len(kinds_of(entropy)) for entropy in ENTROPIES[-6:]] == [3, 2, 2, 2, 2, 3]


def test_columns_are_as_long_as_the_longest():
    first, second = kinds_of(ENTROPIES[-1]), kinds_of(Volume(1))
    assert columns([first, second]) == ((first[0], second[0]), (first[1], None), (first[2], None))
    assert columns([]) == ()
