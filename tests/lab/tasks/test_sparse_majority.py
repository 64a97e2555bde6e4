"""Sparse majority, against the description of the experiment and by enumeration."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from certiformer.lab import tasks
from certiformer.lab.tasks import SparseMajority
from certiformer.lab.tasks.sparse_majority import gram_schmidt, positional_encoding
from certiformer.theory.core.errors import InputError, UnknownNameError

KEY = jax.random.key(5)


def released_encoding(rows, d):
    out = np.zeros((rows, d))
    for j in range(rows):
        for i in range(d):
            out[j, i] = (np.sin if i % 2 == 0 else np.cos)(j / 10000 ** (i / d))
    return out


def test_released_embeddings():
    source = SparseMajority.draw(KEY, tokens=20, relevant=9)
    table = np.asarray(source.table, np.float64)
    assert table.shape == (41, 64)
    encoding = released_encoding(21, 64)
    zeros, ones, cls = table[:20] - encoding[:20], table[20:40] - encoding[:20], table[40] - encoding[20]
    np.testing.assert_allclose(zeros, zeros[:1].repeat(20, 0), atol=1e-6)
    np.testing.assert_allclose(ones, ones[:1].repeat(20, 0), atol=1e-6)
    three = np.stack([zeros[0], ones[0], cls])
    np.testing.assert_allclose(np.abs(three).sum(axis=1), 1.0, rtol=1e-5)
    gram = three @ three.T
    np.testing.assert_allclose(gram - np.diag(np.diag(gram)), 0.0, atol=1e-7)


@pytest.mark.parametrize(("tokens", "half_diameter_squared"), [(20, 6.9), (200, 14.0)])
def test_sizes_of_released_tokens(tokens, half_diameter_squared):
    table = np.asarray(SparseMajority.draw(KEY, tokens=tokens).table)
    norms = np.linalg.norm(table, axis=1)
    assert norms.min() > 5.2
    assert norms.max() < 6.1
    assert np.abs(table).sum(axis=1).min() > 32
    assert np.abs(table).sum(axis=1).max() < 44
    distances = np.linalg.norm(table[:, None] - table[None], axis=-1)
    assert (distances.max() / 2) ** 2 == pytest.approx(half_diameter_squared, abs=0.3)


def test_clean_tokens_lie_in_the_unit_ball():
    for d in (63, 64):
        table = np.asarray(SparseMajority.draw(KEY, tokens=50, d=d, variant="clean").table)
        norms = np.linalg.norm(table, axis=1)
        assert norms.max() <= 1.0 + 1e-6
        assert norms.min() > 0.3
    paired = positional_encoding(7, 4, paired=True)
    np.testing.assert_allclose(paired[:, 0] ** 2 + paired[:, 1] ** 2, 1.0)
    np.testing.assert_allclose(paired[:, 2], np.sin(np.arange(7) / 100))


def test_examples_are_rows_of_the_table_and_cls_stands_last():
    source = SparseMajority.draw(KEY, tokens=11, relevant=3, d=8)
    data = source.sample(jax.random.key(1), 6)
    bits, table = np.asarray(data.meta["bits"]), np.asarray(source.table)
    assert data.inputs.shape == (6, 12, 8)
    for row, sequence in zip(bits, np.asarray(data.inputs), strict=True):
        np.testing.assert_array_equal(sequence, table[[*(j + 11 * bit for j, bit in enumerate(row)), 22]])
    index = np.asarray(source.index_set)
    assert len(set(index.tolist())) == 3
    np.testing.assert_array_equal(data.labels, bits[:, index].sum(axis=1) >= 1.5)


def test_all_inputs_of_a_short_sequence():
    source = SparseMajority.draw(KEY, tokens=9, relevant=5, d=4)
    everything = (np.arange(2**9)[:, None] >> np.arange(9)) & 1
    # |I| is odd, so exactly half of all inputs have label one.
    assert float(np.mean(source.labels(everything))) == 0.5


def test_the_task():
    task = tasks.build("sparse_majority", KEY, n=40, n_test=4000, tokens=12, d=6)
    assert task.train.inputs.shape == (40, 13, 6)
    assert float(np.mean(task.test.meta["bits"])) == pytest.approx(0.5, abs=0.01)
    assert task.bayes_risk == 0.0
    small = tasks.build("sparse_majority", KEY, n=40, n_test=50, tokens=12, d=6, embedded=False)
    np.testing.assert_array_equal(small.train.inputs, task.train.meta["bits"])
    np.testing.assert_array_equal(small.source.embed(small.train.inputs), task.train.inputs)
    np.testing.assert_array_equal(small.train.labels, task.train.labels)


def test_gram_schmidt():
    rows = gram_schmidt(np.random.default_rng(0).uniform(-1, 1, (3, 5)))
    gram = rows @ rows.T
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-14)


@pytest.mark.parametrize("settings", [{"relevant": 4}, {"tokens": 7}, {"d": 2}, {"n": 0}, {"tokens": 0}])
def test_bad_settings(settings):
    with pytest.raises(InputError):
        tasks.build("sparse_majority", KEY, **settings)


def test_unknown_variant():
    with pytest.raises(UnknownNameError, match="did you mean released"):
        tasks.build("sparse_majority", KEY, variant="release")
