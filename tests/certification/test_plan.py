"""Delta adds up, splits are disjoint and hashed, and seen examples are refused."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certiformer.certification.pipeline import divide
from certiformer.certification.split import configuration_hash, example_hashes, refuse_overlap, split
from certiformer.theory.core.errors import InputError


@given(st.dictionaries(st.text(min_size=1), st.floats(1e-6, 1e6), min_size=1, max_size=20), st.floats(1e-6, 0.5))
def test_shares_never_exceed_delta(weights, total):
    shares = divide(total, weights)
    assert math.fsum(shares.values()) <= total
    assert math.fsum(shares.values()) == pytest.approx(total)
    assert all(share > 0.0 for share in shares.values())
    name = next(iter(weights))
    assert shares[name] == pytest.approx(total * weights[name] / sum(weights.values()))


@pytest.mark.parametrize("total", [0.0, 1.0, -0.1, math.nan])
def test_delta_must_be_a_probability(total):
    with pytest.raises(InputError, match="delta"):
        divide(total, {"a": 0.01})


def test_a_split_is_disjoint_reproducible_and_hashed():
    one, two = split(100, {"train": 60, "certify": 30}, 7), split(100, {"train": 60, "certify": 30}, 7)
    assert len(np.unique(np.concatenate([one["train"], one["certify"]]))) == 90
    assert one.hash == two.hash != split(100, {"train": 60, "certify": 30}, 8).hash
    np.testing.assert_array_equal(one["train"], two["train"])


@pytest.mark.parametrize("sizes", [{"train": 90, "certify": 20}, {"train": 0, "certify": 10}])
def test_a_split_that_cannot_be(sizes):
    with pytest.raises(InputError, match="add up to at most 100"):
        split(100, sizes, 0)


def test_seen_examples_are_refused_and_twins_counted():
    data = np.random.default_rng(0).normal(size=(20, 3))
    assert refuse_overlap(data[:5], data[5:]) == 0
    with pytest.raises(InputError, match=r"2 of 5 that were also used"):
        refuse_overlap(data[:5], data[3:])
    assert refuse_overlap(data[:5], data[3:], allow_twins=True) == 2


def test_a_copy_is_recognised_whatever_its_form():
    numbers = np.random.default_rng(1).normal(size=(5, 4)).astype(np.float32)
    assert example_hashes(numbers) == example_hashes(numbers.astype(np.float64))
    assert example_hashes(numbers) == example_hashes(numbers.reshape(5, 2, 2))
    assert example_hashes(np.array([[0.0, 1.5]])) == example_hashes(np.array([[-0.0, 1.5]]))
    ids = np.arange(3)
    assert example_hashes(ids) == example_hashes(ids.astype(np.int32)[:, None]) == example_hashes(ids.astype(float))
    assert example_hashes(np.array(["a", "b"])) == example_hashes(np.array(["a", "b", "longer"]))[:2]
    assert len(set(example_hashes(np.array([2**53 - 2, 2**53 - 1])))) == 2
    with pytest.raises(InputError, match="2 of 2"):
        refuse_overlap(np.array(["a1", "a2"]), np.array(["a1", "a2", "a1000"]))


def test_configurations_are_hashed_in_canonical_form():
    assert configuration_hash({"a": 1, "b": 2}) == configuration_hash({"b": 2, "a": 1})
