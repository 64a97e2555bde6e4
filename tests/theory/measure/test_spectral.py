"""Certified spectral norms and entrywise norms: never below the truth, close above it."""

from __future__ import annotations

import math
import time

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certiformer.theory.core.errors import InputError
from certiformer.theory.measure.norms import entrywise_l1, frobenius_norm, mixed_norm, norms
from certiformer.theory.measure.spectral import spectral_norm, spectral_norm_below, spectral_norms


def exact(matrix):
    """Largest singular value with 50 digits."""
    with mpmath.workdps(50):
        values = mpmath.matrix(np.asarray(matrix, float).tolist())
        return mpmath.svd_r(values, compute_uv=False)[0]


def check(matrix, truth=None, close=1e-8):
    above, below = spectral_norm(matrix), spectral_norm_below(matrix)
    truth = exact(matrix) if truth is None else mpmath.mpf(truth)
    assert (above.how, above.side) == ("certified", "upper")
    assert mpmath.mpf(above.value) >= truth >= mpmath.mpf(below.value)
    assert mpmath.mpf(above.value) <= truth * (1 + close)
    assert mpmath.mpf(below.value) >= truth * (1 - 1e-6)


def test_random_rank_one_and_rectangular():
    rng = np.random.default_rng(0)
    for shape in ((1, 1), (1, 7), (7, 1), (5, 5), (4, 9), (12, 3)):
        check(rng.normal(size=shape))
        check(np.outer(rng.normal(size=shape[0]), rng.normal(size=shape[1])))


def test_clustered_singular_values():
    rng = np.random.default_rng(1)
    left, right = (np.linalg.qr(rng.normal(size=(9, 9)))[0] for _ in range(2))
    check(left @ np.diag(1 - 1e-13 * np.arange(9)) @ right)
    check(np.eye(8))
    check(left @ np.diag(np.logspace(0, -20, 9)) @ right)


@pytest.mark.parametrize("scale", [1e300, 1e-300, 2.0**-1040, 1e308])
def test_huge_and_tiny_entries(scale):
    matrix = scale * np.array([[0.25, -0.5], [0.125, 1.0]])
    check(matrix)


def test_zero_mixed_scales_and_bad_input():
    assert spectral_norm(np.zeros((3, 2))).value == 0.0
    check(np.array([[1e200, 0.0], [0.0, 1e-200]]))
    assert spectral_norm(np.full((2, 2), 1.7e308)).value == math.inf
    with pytest.raises(InputError, match="finite"):
        spectral_norm([[math.nan]])
    with pytest.raises(InputError, match="axes"):
        spectral_norm(np.zeros((2, 2, 2)))


def test_large_matrices_with_known_norm():
    # Householder reflections of a diagonal matrix: the norm is 3 up to the rounding of the products, far below 1e-12.
    rng = np.random.default_rng(2)
    size = 150
    v, w = (vector / np.linalg.norm(vector) for vector in rng.normal(size=(2, size)))
    matrix = np.diag(np.linspace(3.0, 0.5, size))
    matrix = matrix - 2 * np.outer(v, v @ matrix)
    matrix = matrix - 2 * np.outer(matrix @ w, w)
    assert 3.0 * (1 - 1e-12) <= spectral_norm(matrix).value <= 3.0 * (1 + 1e-8)
    assert spectral_norm(matrix.astype(np.float32)).value == pytest.approx(3.0, rel=1e-6)
    integers = np.ones((200, 300))
    check(integers, truth=mpmath.sqrt(60000))


def _spectra(size):
    """Spectra that are easy, hard and mean to a Lanczos basis."""
    rng = np.random.default_rng(3)
    return {
        "random": np.sort(rng.uniform(0.1, 3.0, size))[::-1],
        "flat": np.ones(size),
        "cluster": 1.0 - 1e-9 * np.arange(size),
        "plateau": np.concatenate([np.full(size // 2, 2.0), np.full(size - size // 2, 1.9999)]),
        "decaying": np.logspace(0, -12, size),
    }


@pytest.mark.parametrize("kind", _spectra(1))
def test_both_sides_agree_to_eight_digits_on_large_matrices(kind):
    size = 160
    rng = np.random.default_rng(4)
    left = np.linalg.qr(rng.normal(size=(2 * size, size)))[0]
    right = np.linalg.qr(rng.normal(size=(size, size)))[0]
    values = _spectra(size)[kind]
    matrix = (left * values) @ right
    truth = float(values[0])
    for form in (matrix, matrix.T, np.asfortranarray(matrix)):
        found = spectral_norms(form)
        assert found.lower.value <= truth * (1 + 1e-13)
        assert found.upper.value >= truth * (1 - 1e-13)
        assert found.upper.value <= found.lower.value * (1 + 1e-8)


def test_matrices_are_read_in_rows_from_disk(tmp_path, monkeypatch):
    monkeypatch.setattr("certiformer.theory.measure.spectral.BLOCK", 500)
    values = np.random.default_rng(5).normal(size=(300, 90)).astype(np.float32)
    np.save(tmp_path / "w.npy", values)
    mapped = np.load(tmp_path / "w.npy", mmap_mode="r")
    truth = np.linalg.norm(values.astype(float), 2)
    for matrix in (mapped, mapped.T):
        found = spectral_norms(matrix)
        assert truth * (1 - 1e-8) <= found.lower.value <= truth <= found.upper.value <= truth * (1 + 1e-8)


@pytest.mark.deep
def test_both_sides_of_bert_sized_matrices_in_a_part_of_the_time_of_svds():
    rng = np.random.default_rng(6)
    shapes = [(768, 768)] * 4 + [(3072, 768), (768, 3072)]
    matrices = [rng.normal(size=shape).astype(np.float32) for shape in shapes * 2]
    start = time.process_time()
    truth = [np.linalg.svd(matrix.astype(float), compute_uv=False)[0] for matrix in matrices]
    theirs, start = time.process_time() - start, time.process_time()
    found = [spectral_norms(matrix) for matrix in matrices]
    ours = time.process_time() - start
    assert all(one.lower.value >= s * (1 - 1e-8) for one, s in zip(found, truth, strict=True))
    assert all(one.upper.value <= s * (1 + 1e-8) for one, s in zip(found, truth, strict=True))
    assert ours <= 0.4 * theirs


@given(st.lists(st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3), min_size=2, max_size=4))
def test_never_below_the_truth(rows):
    matrix = np.array(rows)
    truth = exact(matrix)
    assert mpmath.mpf(spectral_norm(matrix).value) >= truth >= mpmath.mpf(spectral_norm_below(matrix).value)


def test_norms_of_the_worked_example():
    measured = norms([[1, -2, 0], [3, 4, -1]])
    expected = {
        "W_1,inf": 6.0,
        "W_2,1": 8.634413615,
        "W_1,1": 11.0,
        "W_2,inf": 4.472135955,
        "F": 5.567764363,
        "WT_1,inf": 8.0,
        "WT_2,1": 7.335087491,
        "WT_1,1": 11.0,
        "WT_2,inf": 5.099019514,
    }
    assert {name: pytest.approx(value.value, rel=1e-9) for name, value in measured.items()} == expected
    assert spectral_norm([[1, -2, 0], [3, 4, -1]]).value == pytest.approx(5.20861818, rel=1e-8)


@given(
    st.lists(st.lists(st.floats(-5, 5), min_size=4, max_size=4), min_size=1, max_size=4),
    st.sampled_from([1.0, 1.5, 2.0, math.inf]),
    st.sampled_from([1.0, 2.0, 3.0, math.inf]),
)
def test_mixed_norms_against_their_definition(rows, inner, outer):
    matrix = np.array(rows)
    for transposed in (False, True):
        columns = matrix if transposed else matrix.T
        truth = np.linalg.norm([np.linalg.norm(column, inner) for column in columns], outer)
        value = mixed_norm(matrix, inner, outer, transposed=transposed).value
        assert value >= truth * (1 - 1e-15)
        assert value == pytest.approx(truth, rel=1e-10, abs=1e-300)


def test_norms_do_not_overflow_and_refuse_bad_orders():
    assert frobenius_norm(1e200 * np.ones((2, 2))).value == pytest.approx(2e200)
    assert frobenius_norm(1e-200 * np.ones((2, 2))).value == pytest.approx(2e-200)
    assert entrywise_l1({"a": [[1.0, -2.0]], "b": [3.0]}).value == pytest.approx(6.0)
    with pytest.raises(InputError, match="order"):
        mixed_norm([[1.0]], 0.5, 1)
