"""Lemmas 3.1-3.6 and Appendix A: enumerated, built for real, and refuted where they are false."""

import itertools
import math

import numpy as np
import pytest

from certiformer.theory.core import InputError, find
from certiformer.theory.theorems.trauger.lemma_3_2 import covering_number


def sound(id, **inputs):
    return {name: bound.value for name, bound in find(id).evaluate(inputs).sound.items()}


def printed(id, **inputs):
    return find(id).evaluate(inputs).printed["value"].value


def averages(atoms, draws):
    """All (1/k) sum k_i V_i with sum k_i <= k."""
    padded = np.vstack([atoms, np.zeros((1, atoms.shape[1]))])
    chosen = itertools.combinations_with_replacement(range(len(padded)), draws)
    return np.array([padded[list(each)].sum(axis=0) / draws for each in chosen])


class TestMaurey:
    @pytest.mark.independent("trauger.lem3.1")
    @pytest.mark.parametrize("seed", range(10))
    def test_enumerated(self, seed):
        rng = np.random.default_rng(seed)
        d, k = int(rng.integers(1, 5)), int(rng.integers(1, 5))
        atoms = rng.normal(size=(d, 3))
        b = np.linalg.norm(atoms, axis=1).max()
        weights = rng.dirichlet(np.ones(d)) * rng.uniform(0.1, 1)
        f = weights @ atoms
        reachable = averages(atoms, k)
        best = np.min(np.sum((reachable - f) ** 2, axis=1))
        bound = sound("trauger.lem3.1", gamma=weights.sum(), b=b, f=np.linalg.norm(f), k=k, d=d)
        assert best <= bound["value"] + 1e-12
        assert len(reachable) == math.comb(d + k, k)
        assert math.log(len(reachable)) == pytest.approx(bound["log_count"], abs=1e-9)

    @pytest.mark.counterexample("trauger.lem3.1")
    def test_printed_is_false(self):
        # d = 1, V = 1, gamma = 1/2, one draw: both choices are 1/2 away.
        reachable = averages(np.ones((1, 1)), 1)
        best = np.min(np.sum((reachable - 0.5) ** 2, axis=1))
        assert best == 0.25
        assert printed("trauger.lem3.1", gamma=0.5, b=1, f=0.5, k=1) == 0.0
        assert sound("trauger.lem3.1", gamma=0.5, b=1, f=0.5, k=1)["value"] == pytest.approx(0.25)
        # and the count: d = 2, one draw, three averages
        evaluation = find("trauger.lem3.1").evaluate({"gamma": 1, "b": 1, "f": 0.5, "k": 1, "d": 2})
        assert len(averages(np.eye(2), 1)) == 3 > math.exp(evaluation.printed["log_count"].value) - 1e-9

    @pytest.mark.property_of("trauger.lem3.1")
    def test_scaling_and_conditions(self):
        base = sound("trauger.lem3.1", gamma=0.5, b=2, f=0.6, k=3)["value"]
        assert sound("trauger.lem3.1", gamma=0.5, b=4, f=1.2, k=3)["value"] == pytest.approx(4 * base, rel=1e-9)
        assert sound("trauger.lem3.1", gamma=0.5, b=2, f=0.6, k=6)["value"] == pytest.approx(base / 2, rel=1e-9)
        assert base >= printed("trauger.lem3.1", gamma=0.5, b=2, f=0.6, k=3)
        impossible = find("trauger.lem3.1").evaluate({"gamma": 0.5, "b": 1, "f": 0.6, "k": 1})
        assert not impossible.sound["value"].applies
        huge = sound("trauger.lem3.1", gamma=1, b=1, f=0, k=10**6, d=10**6)["log_count"]
        assert huge == pytest.approx(10**6 * math.log(10**6 + 1), rel=1e-9)


class TestBasis:
    @pytest.mark.independent("trauger.lem3.2")
    @pytest.mark.parametrize("seed", range(12))
    def test_no_other_inputs_are_worse(self, seed):
        rng = np.random.default_rng(seed)
        members, k, d, Bx, q = 7, 2, 3, 1.5, float(rng.choice([1.0, 2.0, 3.0]))
        W = rng.normal(size=(members, k, d))
        eps = float(rng.uniform(1, 5))
        on_basis = covering_number(W, Bx, eps, q)
        for _ in range(20):
            x = rng.laplace(size=(5, d))
            x *= Bx * rng.uniform(0, 1, (5, 1)) / np.abs(x).sum(axis=1, keepdims=True)
            outputs = np.einsum("mkd,nd->mnk", W, x)
            distances = np.linalg.norm(outputs[:, None] - outputs[None], ord=q, axis=3).max(axis=2)
            near = distances < eps
            elsewhere = next(
                size
                for size in range(1, members + 1)
                if any(near[list(c)].any(axis=0).all() for c in itertools.combinations(range(members), size))
            )
            assert elsewhere <= on_basis

    @pytest.mark.property_of("trauger.lem3.2")
    def test_scaling_and_errors(self):
        W = (1, 0, 0, 1, 1, 1, -1, 0)
        one = sound("trauger.lem3.2", W=W, d=2, Bx=2, eps=2.2)
        assert sound("trauger.lem3.2", W=W, d=2, Bx=4, eps=4.4) == one
        assert one["value"] == pytest.approx(math.log(one["covering_number"]), rel=1e-9)
        assert sound("trauger.lem3.2", W=W, d=2, Bx=2, eps=2)["covering_number"] == 4  # strict: distance 2 is not below
        with pytest.raises(InputError, match="multiple"):
            sound("trauger.lem3.2", W=W, d=3, Bx=2, eps=2)
        with pytest.raises(InputError, match="at most 16"):
            sound("trauger.lem3.2", W=tuple(range(17)), d=1, Bx=2, eps=2)
        assert sound("trauger.lem3.2", W=tuple(range(16)), d=1, Bx=1, eps=100)["covering_number"] == 1
        assert printed("trauger.lem3.2", W=W, d=2, Bx=2, eps=2) == pytest.approx(math.log(4))
        assert sound("trauger.lem3.2", W=(0, 3), d=1, Bx=1, eps=3.05)["covering_number"] == 1
        assert sound("trauger.lem3.2", W=(0, 0, 3, 4), d=1, k=2, Bx=1, eps=5.05)["covering_number"] == 1
        assert sound("trauger.lem3.2", W=(0, 0, 3, 4), d=1, k=2, Bx=1, eps=4.95)["covering_number"] == 2


class TestEntrywiseAndColumns:
    @pytest.mark.independent("trauger.lem3.3", "trauger.lem3.6")
    @pytest.mark.parametrize("draws", [1, 2, 3])
    def test_explicit_covers(self, draws):
        rng = np.random.default_rng(draws)
        shrink, radius = math.sqrt(draws) / (1 + math.sqrt(draws)), 1 / (1 + math.sqrt(draws))
        k, d, Bx = 2, 2, 1.5
        flat = shrink * averages(np.vstack([np.eye(4), -np.eye(4)]), draws)
        column = shrink * averages(np.vstack([np.eye(2), -np.eye(2)]), draws)
        eps = radius * Bx * (1 + 1e-9)
        entrywise = sound("trauger.lem3.6", Bw=1, Bx=Bx, eps=eps, d=d, k=k)
        columns = sound("trauger.lem3.3", Bw=1, Bx=Bx, eps=eps, d=d, k=k)
        assert math.log(len(np.unique(np.round(flat, 9), axis=0))) <= entrywise["exact"] <= entrywise["value"]
        assert d * math.log(len(np.unique(np.round(column, 9), axis=0))) <= columns["exact"] <= columns["value"]
        for _ in range(200):
            W = rng.laplace(size=4) * rng.exponential(size=4) ** 2
            W /= np.abs(W).sum()
            What = flat[np.argmin(np.linalg.norm(flat - W, axis=1))]
            assert np.linalg.norm((W - What).reshape(k, d), 2) * Bx <= eps
            C = rng.laplace(size=(k, d))
            C /= np.abs(C).sum(axis=0)
            Chat = np.stack([column[np.argmin(np.linalg.norm(column - C[:, j], axis=1))] for j in range(d)], axis=1)
            assert np.max(np.linalg.norm(C - Chat, axis=0)) * Bx <= eps  # l1 inputs: the worst column

    @pytest.mark.property_of("trauger.lem3.3", "trauger.lem3.6")
    @pytest.mark.parametrize("id", ["trauger.lem3.3", "trauger.lem3.6"])
    def test_only_the_ratio_matters_and_printed_is_an_upper_bound(self, id):
        for eps in (0.05, 0.3, 0.9, 1.4):
            one = find(id).evaluate({"Bw": 1, "Bx": 1.5, "eps": eps, "d": 3, "k": 4})
            other = find(id).evaluate({"Bw": 3, "Bx": 1, "eps": 2 * eps, "d": 3, "k": 4})
            for name, bound in one.sound.items():
                assert other.sound[name].value == pytest.approx(bound.value, rel=1e-9)
                if name != "volume":
                    assert bound.value <= one.printed["value"].value * (1 + 1e-9)
            assert one.sound["exact"].value <= one.sound["value"].value
            assert one.printed["value"].applies
            assert one.sound["volume"].value == pytest.approx(12 * math.log(1 + 3 / eps), rel=1e-9)
        beyond = find(id).evaluate({"Bw": 1, "Bx": 1.5, "eps": 1.5, "d": 3, "k": 4})
        assert all(bound.value == 0 for bound in beyond.sound.values())
        assert not beyond.printed["value"].applies
        tiny = find(id).evaluate({"Bw": 1e200, "Bx": 1e200, "eps": 1e-200, "d": 3, "k": 4})
        assert 0 < tiny.sound["exact"].value < math.inf  # logarithms survive where the quadratic form overflows

    def test_l2_inputs_would_break_lemma_3_3(self):
        # k = 1: the class is the cube [-1, 1]^d. On all inputs of l2 norm one its metric is l2, and volume decides.
        d = 256
        eps = math.sqrt(d) / 4
        ln_ball = d / 2 * math.log(math.pi) - math.lgamma(d / 2 + 1) + d * math.log(eps)
        needed = d * math.log(2) - ln_ball
        assert needed == pytest.approx(172.4, abs=0.1)
        assert printed("trauger.lem3.3", Bw=1, Bx=1, eps=eps, d=d, k=1) == pytest.approx(17.58, abs=0.01)
        # An l2 ball lies in the l1 ball of sqrt(d) times its radius: with that the lemma holds.
        assert sound("trauger.lem3.3", Bw=1, Bx=math.sqrt(d), eps=eps, d=d, k=1)["exact"] >= needed


def run_rows(rng, W, inputs, b, B, eps, h=2):
    """T5 for real: the covered matrix."""
    threshold = eps**2 / (b**2 * B)
    found = np.zeros_like(W)
    for i, row in enumerate(W):
        size = np.linalg.norm(row)
        if size <= threshold:
            continue
        eps_i = math.sqrt(b**2 * threshold**2 * math.floor(h * size / threshold) / h)
        while np.max(np.abs(inputs @ (row - found[i]))) > eps_i:
            j = int(np.argmax(np.abs(inputs @ (row - found[i]))))
            found[i] += eps_i / b**2 * np.sign(inputs[j] @ (row - found[i])) * inputs[j]
    return found


class TestTwoOne:
    @pytest.mark.independent("trauger.lem3.4", "trauger.lem3.5")
    @pytest.mark.parametrize("seed", range(10))
    def test_row_cover_run_for_real(self, seed):
        rng = np.random.default_rng(seed)
        k, d, n, B, b, eps = 5, 4, 6, 2.0, 1.0, 0.7
        W = rng.normal(size=(k, d)) * rng.exponential(size=(k, 1))
        W *= B / np.linalg.norm(W, axis=1).sum()
        basis = b * np.eye(d)
        found = run_rows(rng, W, basis, b, B, eps)
        x = rng.laplace(size=(50, d))
        x *= b / np.abs(x).sum(axis=1, keepdims=True)
        assert np.max(np.linalg.norm(x @ (W - found).T, axis=1)) <= eps + 1e-9  # Lemma 3.4: l1 inputs
        points = rng.normal(size=(n, d))
        points *= b / np.linalg.norm(points, axis=1, keepdims=True)
        found = run_rows(rng, W, points, b, B, eps)
        assert np.max(np.linalg.norm(points @ (W - found).T, axis=1)) <= eps + 1e-9  # Lemma 3.5: these n inputs

    @pytest.mark.independent("trauger.lem3.4", "trauger.lem3.5")
    def test_distinct_covers_found_never_exceed_the_count(self):
        rng = np.random.default_rng(0)
        k, d, B, b, eps, h = 2, 2, 1.0, 1.0, 0.8, 1
        members = set()
        for _ in range(4000):
            W = rng.normal(size=(k, d)) * rng.exponential(size=(k, 1)) ** 2
            W *= B / np.linalg.norm(W, axis=1).sum()
            members.add(tuple(np.round(run_rows(rng, W, b * np.eye(d), b, B, eps, h), 6).ravel()))
        ratio = (B * b / eps) ** 2
        at_h = ratio * (math.log(k + 1) + h * math.log(2) + (1 + 1 / h) * math.log(2 * d + 1))
        assert math.log(len(members)) <= at_h
        assert sound("trauger.lem3.4", Bw=B, Bx=b, eps=eps, d=d, k=k)["external"] <= at_h * (1 + 1e-12)
        assert sound("trauger.lem3.5", Bw=B, Bx=b, eps=eps, d=d, k=k, n=d)["external"] <= at_h * (1 + 1e-12)

    @pytest.mark.counterexample("trauger.lem3.4", "trauger.lem3.5")
    @pytest.mark.parametrize("k", [64, 4096])
    def test_printed_is_false_for_columns(self, k):
        # W = w e_1^T, x = e_1: the l2 ball of R^k, which needs k ln(1/eps) by volume.
        needed = k * math.log(2)
        assert printed("trauger.lem3.4", Bw=1, Bx=1, eps=0.5, d=2, k=k) < needed
        assert printed("trauger.lem3.5", Bw=1, Bx=1, eps=0.5, d=2, k=k, n=1) == pytest.approx(4 * math.log(2))
        assert printed("trauger.lem3.5", Bw=1, Bx=1, eps=0.5, d=2, k=k, n=1) < needed
        for id, more in (("trauger.lem3.4", {}), ("trauger.lem3.5", {"n": 1})):
            evaluation = find(id).evaluate({"Bw": 1, "Bx": 1, "eps": 0.5, "d": 2, "k": k, "columns": 1, **more})
            for name, bound in evaluation.sound.items():
                assert bound.applies == (name not in ("external", "proper"))
                if bound.applies:
                    assert bound.value >= needed

    @pytest.mark.property_of("trauger.lem3.4", "trauger.lem3.5")
    def test_orderings(self):
        at = {"Bw": 2, "Bx": 1.5, "eps": 0.5, "d": 3, "k": 4}
        four = sound("trauger.lem3.4", **at)
        assert four["proper"] == pytest.approx(4 * four["external"], rel=1e-9)
        assert four["frobenius"] == pytest.approx(36 * find_kappa(4, 3), rel=1e-9)
        assert four["volume"] == pytest.approx(12 * math.log(13), rel=1e-9)
        assert sound("trauger.lem3.5", **at, n=3)["external"] == pytest.approx(four["external"], rel=1e-12)
        assert sound("trauger.lem3.5", **at, n=10**6)["external"] > four["external"]
        assert "columns" not in four
        for id, more in (("trauger.lem3.4", {}), ("trauger.lem3.5", {"n": 5})):
            assert find(id).evaluate({**at, "eps": 2.0, **more}).printed["value"].applies
            assert not find(id).evaluate({**at, "eps": 3.0, **more}).printed["value"].applies
        with_columns = sound("trauger.lem3.4", **at, columns=1)
        assert with_columns["columns"] == pytest.approx(6 * (math.log(4) + 4 * math.log(13)), rel=1e-9)


def find_kappa(k, d):
    return min(
        2 * (math.sqrt(k) + math.sqrt(d) + i / 100) ** 2 - math.log(1 - math.exp(-((i / 100) ** 2) / 2))
        for i in range(1, 600)
    )


@pytest.mark.independent("trauger.appA")
@pytest.mark.property_of("trauger.appA")
@pytest.mark.parametrize("q", [1.0, 2.0, 4.0])
def test_rows_covered_one_by_one(q):
    rng = np.random.default_rng(int(q))
    k, eps = 3, 0.25
    grid = np.arange(-1, 1.01, 2 * eps)  # covers [-1, 1] at radius eps: the scalar class on the input x = 1
    outputs = rng.uniform(-1, 1, (500, k))
    nearest = grid[np.argmin(np.abs(outputs[:, :, None] - grid), axis=2)]
    evaluation = find("trauger.appA").evaluate({"k": k, "q": q, "eps": eps, "C": math.log(len(grid))})
    scale = evaluation.sound["scale"].value
    assert np.max(np.sum(np.abs(outputs - nearest) ** q, axis=1) ** (1 / q)) <= scale + 1e-12
    assert math.log(len(grid) ** k) == pytest.approx(evaluation.sound["value"].value, rel=1e-9)
    assert evaluation.printed["scale"].value == pytest.approx(scale, rel=1e-9)
    assert evaluation.best == "value"
