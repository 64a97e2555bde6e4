"""Random true problems through the front door: what is said to be proved is true, and what is false is never vouched.

Every family is put a hundred problems from a random seed, which a failure names (VALIDITY_SEED repeats it), besides the
same ones every time (fewer where a problem takes half a second); ten thousand in `make deep`.
"""

import os
import secrets

import numpy as np
import pytest

from validity import attention, encoders, finite_classes, linear_maps, networks, shattering, unvouched
from validity.problem import optional, violations


def corollaries(rng):
    return finite_classes.make(rng, finite_classes.COROLLARIES)


def offset_theorems(rng):
    return finite_classes.make(rng, finite_classes.THEOREMS)


def bounded_networks(rng):
    return networks.make(rng, networks.BOUNDED)


def tails(rng):
    return networks.make(rng, networks.TAILS)


# Those that answer in a millisecond have every optional input left out in turn at every problem.
QUICK = (corollaries, offset_theorems, shattering.make, linear_maps.make, unvouched.make)
FAMILIES = [
    pytest.param(corollaries, id="finite classes, covering numbers"),
    pytest.param(offset_theorems, id="finite classes, offset complexity"),
    pytest.param(bounded_networks, id="networks on a line"),
    pytest.param(tails, id="networks on a line, unbounded inputs"),
    pytest.param(encoders.make, id="encoders at their initial weights"),
    pytest.param(attention.make, id="one layer, single tokens"),
    pytest.param(shattering.make, id="deep networks that shatter"),
    pytest.param(linear_maps.make, id="linear maps"),
    pytest.param(unvouched.make, id="what nobody vouched for"),
]


def put(make, seed, problems):
    """The first answers that break the law."""
    for number in range(problems):
        problem = make(np.random.default_rng([seed, number]))
        turns = [problem, *map(problem.without, optional(problem))]
        chosen = turns if make in QUICK else [turns[number % len(turns)]]
        broken = [line for turn in chosen for line in violations(turn)]
        if broken:
            return [f"seed {seed}, problem {number}", *broken]
    return []


@pytest.mark.parametrize("make", FAMILIES)
def test_the_same_problems_every_time(make):
    broken = put(make, 0, 100 if make in QUICK else 10)
    assert not broken, "\n".join(broken)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("make", FAMILIES)
def test_new_problems_every_time(make):
    seed = int(os.environ.get("VALIDITY_SEED", secrets.randbits(32)))
    broken = put(make, seed, 100)
    assert not broken, "\n".join([f"VALIDITY_SEED={seed}", *broken])


@pytest.mark.deep
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("make", FAMILIES)
def test_ten_thousand_problems(make):
    seed = int(os.environ.get("VALIDITY_SEED", secrets.randbits(32)))
    broken = put(make, seed, 10_000)
    assert not broken, "\n".join([f"VALIDITY_SEED={seed}", *broken])
