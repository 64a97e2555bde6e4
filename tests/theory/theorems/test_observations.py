"""Remarks of the papers that bound something: Arda Remark 7, Li Remarks 5.4 and 5.9, Trauger Section 3.4."""

import math

import numpy as np
import pytest

from certiformer.theory.core import find


def sound(id, **inputs):
    return {name: bound.value for name, bound in find(id)(**inputs).sound().items()}


@pytest.mark.independent("arda.rem7")
def test_the_norm_in_the_kernels_space_by_least_squares():
    """On finitely many weights the norm is a least-squares problem: the smallest v that gives f at every input."""
    rng = np.random.default_rng(0)
    weights, inputs = 12, 5
    features = rng.normal(size=(inputs, weights, 3))  # psi at every input and weight, three blocks of one number
    nu = {"nu_c": 0.7, "nu_u": 0.4, "nu_w": 0.2}
    for _ in range(50):
        v = rng.uniform(-1, 1, size=(weights, 3)) * np.array(list(nu.values()))
        target = np.einsum("xwb,wb->x", features, v) / weights
        kernel = np.einsum("xwb,ywb->xy", features, features) / weights
        norm = math.sqrt(target @ np.linalg.solve(kernel, target))
        assert norm <= sound("arda.rem7", **nu)["rkhs_norm"] * (1 + 1e-12)


@pytest.mark.property_of("arda.rem7")
def test_the_norm_scales_with_the_map():
    one, two = (sound("arda.rem7", nu_c=s, nu_u=2 * s, nu_w=2 * s)["rkhs_norm"] for s in (1.0, 2.0))
    assert (one, two) == (pytest.approx(3.0), pytest.approx(6.0))


GIVEN = {"Bx": 0.8, "B": 1.5, "Bw": 1.1, "Bc": 0.9, "Bv": 1.3, "L_sigma": 1.2, "H": 2}


@pytest.mark.independent("li.rem5.4")
def test_the_spectral_norm_of_tokens():
    rng = np.random.default_rng(1)
    for T in (1, 3, 17):
        bound = sound("li.rem5.4", T=T, **GIVEN)["BX"]
        tokens = rng.normal(size=(40, T, 6))
        tokens *= 0.8 / np.linalg.norm(tokens, axis=2, keepdims=True)
        assert np.linalg.norm(tokens, 2, axis=(1, 2)).max() <= bound * (1 + 1e-12)
        equal = np.tile(tokens[0, :1], (T, 1))
        assert np.linalg.norm(equal, 2) == pytest.approx(bound, rel=1e-9)


@pytest.mark.property_of("li.rem5.4")
def test_the_prefactor_grows_like_the_root_at_most():
    assert sound("li.rem5.4", T=1, **GIVEN)["growth"] == pytest.approx(1.0)
    growth = [sound("li.rem5.4", T=T, **GIVEN)["growth"] for T in (4, 16, 10**8)]
    assert growth == sorted(growth)
    assert growth[-1] < 1e4
    theorem = find("li.thmB.2")
    base = {entry.name: entry.example for entry in theorem.inputs if entry.required}
    given = {**base, "H": 2, **{name: GIVEN[name] for name in ("B", "Bw", "Bc", "Bv", "L_sigma")}, "radius": 1e-9}
    short, long = (theorem(**{**given, "BX": 0.8 * math.sqrt(T)}).printed()["value"].value for T in (1, 16))
    assert long / short == pytest.approx(growth[1], rel=1e-5)


def dimension(rows, columns, rank, rng):
    """The rank of the derivative of (A, B) -> A B^T at a random point."""
    left, right = rng.normal(size=(rows, rank)), rng.normal(size=(columns, rank))
    moves = [np.outer(unit, right[:, j]).ravel() for j in range(rank) for unit in np.eye(rows)]
    moves += [np.outer(left[:, j], unit).ravel() for j in range(rank) for unit in np.eye(columns)]
    return int(np.linalg.matrix_rank(np.array(moves)))


@pytest.mark.independent("li.rem5.9")
@pytest.mark.counterexample("li.rem5.9")
def test_degrees_of_freedom_by_the_rank_of_a_derivative():
    rng = np.random.default_rng(2)
    for d, k, rc, rv, rqk in ((4, 3, 2, 2, 1), (5, 5, 1, 1, 1), (3, 6, 9, 2, 3)):
        counted = d + 2 * sum(dimension(a, b, min(r, a, b), rng) for a, b, r in ((d, k, rc), (d, k, rv), (d, d, rqk)))
        result = find("li.rem5.9")(d=d, k=k, layers=2, rc=rc, rv=rv, rqk=rqk)
        assert result.sound()["degrees_of_freedom"].value == pytest.approx(counted)
        assert counted > result.printed()["sum_of_ranks"].value


@pytest.mark.property_of("li.rem5.9")
def test_degrees_of_freedom_grow_with_the_dimension_and_the_sum_of_ranks_does_not():
    small, large = (find("li.rem5.9")(d=d, k=d, layers=1, rc=1, rv=1, rqk=1) for d in (10, 1000))
    assert small.printed()["sum_of_ranks"].value == large.printed()["sum_of_ranks"].value == 4
    assert large.sound()["degrees_of_freedom"].value > 90 * small.sound()["degrees_of_freedom"].value


@pytest.mark.independent("trauger.sec3.4")
@pytest.mark.parametrize("p", ["1", "2"])
def test_sums_of_column_norms(p):
    rng = np.random.default_rng(3)
    for d, k in ((1, 4), (6, 3)):
        result = find("trauger.sec3.4")(p=p, B=0.7, Bx=1, eps=0.3, d=d, k=k)
        norms = rng.normal(size=(200, k, d))
        norms *= 0.7 / np.linalg.norm(norms, int(p), axis=1, keepdims=True)
        assert np.linalg.norm(norms, int(p), axis=1).sum(axis=1) == pytest.approx(result.sound()["norm"].value)
        assert np.abs(norms).sum(axis=(1, 2)).max() <= result.entrywise * (1 + 1e-12)


@pytest.mark.property_of("trauger.sec3.4")
def test_the_cover_is_that_of_lemma_3_6_at_d_times_the_norm():
    ours = sound("trauger.sec3.4", p="1", B=0.5, Bx=1.5, eps=0.5, d=4, k=3)
    lemma = sound("trauger.lem3.6", Bw=2.0, Bx=1.5, eps=0.5, d=4, k=3)
    assert {name: ours[name] for name in lemma} == lemma
    assert sound("trauger.sec3.4", p="2", B=0.5, Bx=1.5, eps=0.5, d=4, k=4)["exact"] >= ours["exact"]
