"""Vector registers as values of kernels, against NumPy in higher precision."""

import numpy as np
import pytest

numba = pytest.importorskip("numba")
vectors = pytest.importorskip("certiformer.lab.training.kernels._vectors")
# not the compiler of the kernels, which keeps what it made of an older `_vectors`
kernel = numba.njit(error_model="numpy")


@kernel
def functions(x, least, exps, downs, tanhs, kept):
    lanes = vectors.BYTES // x.itemsize
    for place in range(0, len(x), lanes):
        one = vectors.load(x, place)
        vectors.store(exps, place, vectors.exp(one))
        vectors.store(downs, place, vectors.exp_down(one, -60.0))
        vectors.store(tanhs, place, vectors.tanh_of_half(one))
        vectors.store(kept, place, vectors.flushed(one, least))


@kernel
def losses(x, logs, chosen):
    for place in range(0, len(x), 16):
        one = vectors.load(x, place)
        vectors.store(logs, place, vectors.log_of_one_plus(one))
        vectors.store(chosen, place, vectors.if_positive(one - 0.5, one, 2.0))


@kernel
def arithmetic(x, out):
    lanes = vectors.BYTES // x.itemsize
    one, other = vectors.load(x, 0), vectors.load(x, lanes)
    acc = vectors.zeros(x)
    acc += one * 2.0 - other / 4.0
    acc -= 1.0
    vectors.store(out, 0, vectors.larger(acc, vectors.each(x, 3)))
    vectors.store(out, lanes, vectors.smaller(acc, 0.5))
    return vectors.total(acc)


ERRORS = {"float32": 2.5e-7, "float64": 6e-16}


@pytest.mark.parametrize("dtype", ERRORS)
def test_exp_and_tanh(dtype):
    near, far = np.linspace(-1.0, 1.0, 4096), np.linspace(-60.0, 60.0, 4096)
    x = np.concatenate([near, 1e-6 * near, far]).astype(dtype)
    exps, downs, tanhs, kept = (np.empty_like(x) for _ in range(4))
    functions(x, 0.25, exps, downs, tanhs, kept)
    exact = x.astype(np.longdouble)
    np.testing.assert_allclose(exps, np.exp(exact), rtol=ERRORS[dtype])
    np.testing.assert_allclose(downs, np.exp(exact), rtol=ERRORS[dtype])
    np.testing.assert_allclose(tanhs, np.tanh(exact / 2), rtol=2 * ERRORS[dtype])
    np.testing.assert_array_equal(kept, np.where(np.abs(x) < 0.25, 0.0, x))


def test_logarithms_and_choices():
    x = np.linspace(0.0, 1.0, 1024).astype(np.float32)
    logs, chosen = np.empty_like(x), np.empty_like(x)
    losses(x, logs, chosen)
    np.testing.assert_allclose(logs, np.log1p(x.astype(np.longdouble)), rtol=3e-7)
    np.testing.assert_array_equal(chosen, np.where(x > 0.5, x, np.float32(2.0)))


@pytest.mark.parametrize(("dtype", "ends"), [("float32", (-86.0, 87.0)), ("float64", (-699.0, 699.0))])
def test_exp_to_its_ends(dtype, ends):
    x = np.linspace(*ends, 4096).astype(dtype)
    exps, downs, tanhs, kept = (np.empty_like(x) for _ in range(4))
    functions(x, 0.25, exps, downs, tanhs, kept)
    np.testing.assert_allclose(exps, np.exp(x.astype(np.longdouble)), rtol=2 * ERRORS[dtype])


@pytest.mark.parametrize("dtype", ERRORS)
def test_beyond_what_numbers_hold(dtype):
    x = np.zeros(16, dtype)
    x[:6] = [np.nan, np.inf, -np.inf, 1e4, -1e4, -70.0]
    exps, downs, tanhs, kept = (np.empty_like(x) for _ in range(4))
    functions(x, 0.25, exps, downs, tanhs, kept)
    assert all(np.isnan(found[0]) for found in (exps, downs, tanhs, kept))
    assert np.all(np.isfinite(exps[1:]))
    assert exps[2] == exps[4] > 0.0
    assert list(tanhs[1:5]) == [1.0, -1.0, 1.0, -1.0]
    assert downs[5] == pytest.approx(np.exp(-60.0))


@pytest.mark.parametrize("dtype", ERRORS)
def test_operators_take_lanes_and_numbers(dtype):
    lanes = 64 // np.dtype(dtype).itemsize
    x = np.random.default_rng(0).normal(size=2 * lanes).astype(dtype)
    out = np.empty_like(x)
    found = arithmetic(x, out)
    expected = x[:lanes] * 2.0 - x[lanes:] / 4.0 - 1.0
    assert found == pytest.approx(float(np.sum(expected)), rel=1e-5)
    np.testing.assert_allclose(out[:lanes], np.maximum(expected, x[3]), rtol=1e-6)
    np.testing.assert_allclose(out[lanes:], np.minimum(expected, 0.5), rtol=1e-6)
