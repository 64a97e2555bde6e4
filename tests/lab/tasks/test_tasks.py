"""What all tasks share: names, keys, precision, and refusal of data that cannot be used."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certiformer.lab import tasks
from certiformer.theory.core.errors import InputError, UnknownNameError

SMALL = {
    "mnist": {"n": 5},
    "sparse_majority": {"n": 5, "n_test": 6, "tokens": 9, "d": 5},
    "tokenized_mixture": {"n": 5, "n_test": 6},
    "ntk_teacher": {"n": 5, "n_test": 6, "d": 2, "tokens": 3, "anchors": 2, "pool": 8},
    "autoregressive": {"n": 5, "n_test": 6, "lag": 3, "split": "independent"},
    "heavy_tails": {"n": 5, "n_test": 6},
    "masked_words": {"n": 5, "n_test": 6, "vocabulary": 20, "tokens": 5, "d": 4},
}


def test_every_task_is_tried():
    assert sorted(SMALL) == sorted(tasks.names())


@pytest.mark.parametrize("name", tasks.names())
def test_the_key_decides(name):
    one, same, other = (tasks.build(name, jax.random.key(seed), **SMALL[name]) for seed in (0, 0, 1))
    assert one.train.fingerprint() == same.train.fingerprint()
    assert one.test.fingerprint() == same.test.fingerprint()
    assert one.train.fingerprint() != other.train.fingerprint()
    assert one.train.fingerprint() != one.test.fingerprint()
    assert one.name == name
    assert one.train.inputs.dtype == jnp.float32
    raw = tasks.build(name, jax.random.PRNGKey(0), **SMALL[name])
    assert raw.train.fingerprint() == one.train.fingerprint()


@pytest.mark.parametrize("name", tasks.names())
def test_a_key_means_the_same_data_in_both_precisions(name):
    with jax.enable_x64(True):
        single, double = (
            tasks.build(name, jax.random.key(0), dtype=dtype, **SMALL[name]) for dtype in (jnp.float32, jnp.float64)
        )
    assert double.train.inputs.dtype == jnp.float64
    np.testing.assert_allclose(single.train.inputs, double.train.inputs, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(single.test.labels, double.test.labels, rtol=1e-3, atol=1e-5)


def test_double_precision_must_be_on():
    with pytest.raises(InputError, match="enable_x64"):
        tasks.build("tokenized_mixture", jax.random.key(0), dtype=jnp.float64)


def test_sources_draw_more_of_the_same():
    for name in tasks.names():
        task = tasks.build(name, jax.random.key(0), **SMALL[name])
        if task.source is not None:
            more = task.source.sample(jax.random.key(5), 4)
            assert more.inputs.shape == (4, *task.train.inputs.shape[1:])
            assert more.labels.dtype == task.train.labels.dtype


def test_unknown_names_suggest_the_nearest():
    with pytest.raises(UnknownNameError, match="did you mean sparse_majority"):
        tasks.build("sparse_mayority", jax.random.key(0))
    with pytest.raises(UnknownNameError, match="did you mean n_test"):
        tasks.build("sparse_majority", jax.random.key(0), ntest=3)
    assert tasks.build("Sparse-Majority", jax.random.key(0), **SMALL["sparse_majority"]).name == "sparse_majority"


def test_settings_and_their_defaults():
    assert tasks.settings("sparse_majority")["n_test"] == 10_000
    assert tasks.settings("autoregressive")["lag"] == 16
    assert tasks.settings("ntk_teacher")["nu"] == (3.0, 3.0, 3.0)


def test_data_that_is_not_finite_is_refused():
    x = np.ones((3, 2, 2), np.float32)
    x[1, 0, 1] = np.nan
    with pytest.raises(InputError, match=r"inputs: got '1 values.*\(1, 0, 1\)"):
        tasks.Dataset(jnp.asarray(x), jnp.ones(3))
    with pytest.raises(InputError, match="labels"):
        tasks.Dataset(jnp.ones((3, 2, 2)), jnp.asarray([1.0, np.inf, 2.0]))
    with pytest.raises(InputError, match="one for each of 3"):
        tasks.Dataset(jnp.ones((3, 2, 2)), jnp.ones(2))


def test_take_keeps_rows_together():
    data = tasks.build("tokenized_mixture", jax.random.key(0), n=6, n_test=1).train
    part = data.take(np.array([4, 1]))
    np.testing.assert_array_equal(part.inputs, data.inputs[np.array([4, 1])])
    np.testing.assert_array_equal(part.meta["relevant"], data.meta["relevant"][np.array([4, 1])])
    assert len(part) == 2
