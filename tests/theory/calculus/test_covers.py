"""Covers: built for real and measured, counted exactly, attacked at ratios where floats give up."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certiformer.theory.calculus import covers, entropies
from certiformer.theory.core.errors import InputError

FINE = np.linspace(-1.0, 1.0, 81)


def l1_ball(dimension):
    """A grid of the unit l1 ball, vertices included."""
    axis = FINE if dimension <= 2 else np.linspace(-1.0, 1.0, 21)
    points = np.array(list(itertools.product(axis, repeat=dimension)))
    return points[np.abs(points).sum(axis=1) <= 1.0 + 1e-12]


def averages(dimension, draws):
    """All averages of at most `draws` signed atoms (the rest zero), divided by `draws`."""
    atoms = np.vstack([np.eye(dimension), -np.eye(dimension), np.zeros((1, dimension))])
    chosen = itertools.combinations_with_replacement(range(len(atoms)), draws)
    return np.array([atoms[list(each)].sum(axis=0) / draws for each in chosen])


def farthest(points, cover):
    return max(np.min(np.linalg.norm(cover - point, axis=1)) for point in points)


ALL = {
    "maurey": covers.maurey(2.0, 5),
    "maurey_large": covers.maurey(2.0, 50_000),
    "maurey_plain": covers.maurey_plain(2.0, 5),
    "columns_one_inf": covers.columns_one_inf(2.0, 4, 3),
    "vector": covers.perceptron_vector(2.0, 10),
    "vocabulary": covers.perceptron_vocabulary(2.0, 10, 7),
    "matrix": covers.perceptron_matrix(2.0, 10, 3),
    "rows": covers.rows_two_one(2.0, 4, 10),
    "columns": covers.columns_two_one(2.0, 4, 3),
    "sudakov": covers.dual_sudakov(2.0, 4, 3),
    "sudakov_off": covers.dual_sudakov(2.0, 4, 3, centred=False),
    "volume": covers.volumetric(2.0, 12),
    "volume_off": covers.volumetric(2.0, 12, centred=False),
    "low_rank": covers.low_rank(2.0, 4, 3, 1),
    "proper_rows": covers.rows_two_one(2.0, 4, 10).made_proper(),
    "smallest": covers.smallest(covers.maurey(2.0, 12), covers.volumetric(1.5, 12)),
}


@pytest.mark.parametrize("cover", ALL.values(), ids=ALL)
class TestEveryCover:
    def test_never_falls_as_the_radius_shrinks_and_is_positive_below_the_ball(self, cover):
        logs = [*np.linspace(1e-6, 3, 200), *np.linspace(3, 30 * math.log(10), 200), 299.0, 301.0, 800.0]
        sizes = [cover.log_size_ln(cover.ln_radius - x) for x in logs]
        assert all(size > 0 for size in sizes)
        assert all(a <= b * (1 + 1e-12) for a, b in itertools.pairwise(sizes))

    def test_one_ball_suffices_from_the_radius_on(self, cover):
        assert cover.log_size_ln(cover.ln_radius) == 0.0
        assert cover.log_size_ln(cover.ln_radius + 1e-9) == 0.0
        assert cover.log_size(10 * math.exp(cover.ln_radius)) == 0.0

    def test_quadratic_constant_is_a_bound_everywhere(self, cover):
        if math.isinf(cover.quadratic):
            assert cover.log_size(1e-3) > 0
            return
        for x in np.linspace(1e-9, 20, 300):
            assert cover.log_size_ln(cover.ln_radius - x) <= cover.quadratic * math.exp(2 * x) * (1 + 1e-9)

    def test_constant(self, cover):
        expected = cover.quadratic * math.exp(cover.ln_radius) ** 2
        assert cover.constant == (math.inf if math.isinf(expected) else pytest.approx(expected, rel=1e-9))

    def test_scaling_moves_the_radius_only(self, cover):
        scaled = cover.scaled(3.0)
        for eps in (0.01, 0.3, 1.9):
            assert scaled.log_size(3 * eps) == pytest.approx(cover.log_size(eps), rel=1e-9)
        assert (scaled.proper, scaled.domain, scaled.name) == (cover.proper, cover.domain, cover.name)
        assert cover.scaled(2.0, "other").name == "other"
        assert cover.scaled(0.0).log_size(1e-300) == 0.0


class TestMaurey:
    @pytest.mark.parametrize(("dimension", "draws"), [(d, k) for d in (1, 2, 3) for k in (1, 2, 3, 4)])
    def test_shrunk_averages_cover_the_ball_at_exactly_the_stated_radius(self, dimension, draws):
        shrink = math.sqrt(draws) / (1 + math.sqrt(draws))
        members = shrink * averages(dimension, draws)
        radius = 1 / (1 + math.sqrt(draws))
        assert farthest(l1_ball(dimension), members) == pytest.approx(radius, abs=1e-9)
        assert np.all(np.abs(members).sum(axis=1) <= 1.0)  # proper
        distinct = len(np.unique(np.round(members, 9), axis=0))
        size = covers.maurey(1.0, dimension).log_size(radius * (1 + 1e-9))
        assert math.log(distinct) <= size == pytest.approx(math.log(math.comb(2 * dimension + draws, draws)), rel=1e-9)
        below = covers.maurey(1.0, dimension).log_size(radius * (1 - 1e-6))
        assert below == pytest.approx(math.log(math.comb(2 * dimension + draws + 1, draws + 1)), rel=1e-9)

    @pytest.mark.parametrize(("dimension", "draws"), [(1, 2), (2, 1), (2, 3), (3, 2)])
    def test_plain_averages_and_zero_cover_at_their_radius(self, dimension, draws):
        members = np.vstack([averages(dimension, draws), np.zeros((1, dimension))])
        radius = 1 / math.sqrt(draws + 1)
        assert farthest(l1_ball(dimension), members) <= radius + 1e-9
        size = covers.maurey_plain(1.0, dimension).log_size(radius * (1 + 1e-9))
        assert size == pytest.approx(math.log(math.comb(2 * dimension + draws, draws)), rel=1e-9)

    def test_plain_is_never_smaller(self):
        for x in np.linspace(0.01, 6, 60):
            assert covers.maurey_plain(1.0, 7).entropy(x) >= covers.maurey(1.0, 7).entropy(x)

    def test_projecting_on_a_convex_subclass_keeps_the_radius(self):
        rng = np.random.default_rng(0)
        members = 0.5 * averages(4, 1)  # radius 1/2, as 2 x 2 matrices
        clipped = [clip_spectral(m.reshape(2, 2), 0.4) for m in members]
        for _ in range(200):
            w = rng.laplace(size=4)
            w = clip_spectral((w / np.abs(w).sum()).reshape(2, 2), 0.4)
            if np.abs(w).sum() <= 1:
                assert min(np.linalg.norm(w - m) for m in clipped) <= 0.5 + 1e-9

    @given(st.integers(1, 300), st.floats(1.001, 200))
    def test_counts_exactly(self, dimension, ratio):
        draws = math.ceil(Fraction(ratio - 1) ** 2 * (1 + Fraction(1, 10**12)))
        exact = mpmath.log(math.comb(2 * dimension + draws, draws))
        got = covers.maurey(ratio, dimension).log_size(1.0)
        assert got >= exact * (1 - mpmath.mpf(10) ** -14)
        assert got <= mpmath.log(math.comb(2 * dimension + draws + 1, draws + 1)) * (1 + 1e-9) + 3

    def test_enormous_ratios_do_not_cancel(self):
        # A difference of log-gammas gives -496 here.
        assert covers.maurey(1e12, 64).log_size(1.0) == pytest.approx(6577, abs=2)
        assert covers.maurey(1e7, 64).log_size(1.0) == pytest.approx(3629.83, abs=0.02)
        assert covers.maurey(1e12, 10**6).log_size(1.0) == pytest.approx(8.35e7, rel=1e-2)

    @pytest.mark.parametrize("make", [covers.maurey, covers.maurey_plain])
    def test_beyond_floats_the_entropy_bound_takes_over(self, make):
        atoms = 10.0
        for x in (300.5, 400.0, 1000.0):
            assert make(1.0, 5).entropy(x) == pytest.approx(atoms + atoms * (2 * x - math.log(atoms)), rel=1e-9)
        exact = 10 * 2 * 299.5 - float(mpmath.log(mpmath.factorial(10)))
        assert make(1.0, 5).entropy(299.5) == pytest.approx(exact, rel=1e-9)


def clip_spectral(matrix, level):
    u, s, v = np.linalg.svd(matrix, full_matrices=False)
    return u @ np.diag(np.minimum(s, level)) @ v


class TestMultisets:
    @pytest.mark.parametrize("dimension", [1, 3, 64, 1000])
    @pytest.mark.parametrize("draws", [1, 2, 17, 400, 2500, 10**6, 10**15, 10**40])
    def test_against_exact_integers(self, dimension, draws):
        got = entropies.log_multisets(dimension, draws)
        exact = float(mpmath.log(exact_binomial(2 * dimension, draws)))
        assert exact <= got <= exact * (1 + 1e-11) or exact <= got <= min(
            draws * math.log(2 * dimension + 1), exact + 12
        )

    def test_exact_below_the_limit_of_the_sum(self):
        for dimension, draws in ((1000, 10**9), (10**9, 2000), (5, 5)):
            exact = float(mpmath.log(exact_binomial(2 * dimension, draws)))
            assert entropies.log_multisets(dimension, draws) == pytest.approx(exact, rel=1e-11)

    def test_entropy_bound_above_it(self):
        dimension, draws = 1001, 2001
        atoms = 2002
        entropy = draws * math.log1p(atoms / draws) + atoms * math.log1p(draws / atoms)
        assert entropies.log_multisets(dimension, draws) == pytest.approx(entropy, rel=1e-11)

    def test_nothing_to_draw(self):
        assert entropies.log_multisets(3, 0) == 0.0
        assert entropies.log_multisets(3, -1) == 0.0

    def test_counts_too_large_for_a_float(self):
        for digits in (300, 301, 400, 2000):
            got = entropies.log_multisets(3, 10**digits)
            exact = 6 * digits * math.log(10) - math.log(720)
            assert exact - 1e-6 <= got <= exact + 6 - 6 * math.log(6) + math.log(720) + 1e-6
        assert entropies.log_multisets(3, 10**300) == pytest.approx(6 * 300 * math.log(10) - math.log(720), rel=1e-11)

    def test_never_above_the_crude_count(self):
        assert entropies.log_multisets(50, 1) == pytest.approx(math.log(101), rel=1e-12)
        assert entropies.log_multisets(10**6, 5000) <= 5000 * math.log(2 * 10**6 + 1)


def exact_binomial(atoms, draws):
    """C(atoms + draws, draws) as a product over the smaller of the two."""
    small, large = min(atoms, draws), max(atoms, draws)
    return mpmath.fprod((mpmath.mpf(large) + i) / i for i in range(1, small + 1))


class TestDraws:
    @given(st.integers(1, 10**6), st.integers(1, 10**6), st.integers(1, 10**6))
    def test_exact_on_decimals(self, a, b, c):
        left, right, eps = a / 1000, b / 100, c / 10000
        ratio = Fraction(a, 1000) * Fraction(b, 100) / Fraction(c, 10000)
        assert covers.maurey_draws(eps, left, right) == (math.ceil((ratio - 1) ** 2) if ratio > 1 else 0)
        assert covers.maurey_plain_draws(eps, left, right) == (math.ceil(ratio**2) - 1 if ratio > 1 else 0)

    def test_decimals_mean_what_they_say(self):
        assert covers.maurey_draws(0.1, 1.2) == 121  # 1.2/0.1 is 12, not 11.999999999999998
        assert covers.maurey_plain_draws(0.1, 1.2) == 143
        assert covers.maurey_draws(1.0, 1.0) == 0
        assert covers.maurey_draws(2.0, 1.0) == 0
        assert covers.maurey_plain_draws(2.0, 1.0) == 0


class TestPerceptron:
    def steps(self, target, start, inputs, eps, project):
        """The mistake-driven cover: move towards a violated input, project on the class, count the steps."""
        w, count = start.copy(), 0
        b2 = np.max(np.sum(inputs**2, axis=1))
        while True:
            errors = (target - w) @ inputs.T
            worst = np.unravel_index(np.argmax(np.abs(errors)), errors.shape)
            if abs(errors[worst]) <= eps:
                return w, count
            w[worst[0]] += eps / b2 * np.sign(errors[worst]) * inputs[worst[1]]
            w, count = project(w), count + 1

    @pytest.mark.parametrize("seed", range(12))
    def test_vector_and_vocabulary(self, seed):
        rng = np.random.default_rng(seed)
        rows, d, n = int(rng.integers(1, 5)), 4, 12
        a, b, eps = 1.5, 2.0, float(rng.uniform(0.2, 1.0))
        inputs = unit_rows(rng, n, d) * b * rng.uniform(0.1, 1, (n, 1))
        target = random_in_ball(rng, (rows, d), a)
        found, count = self.steps(target, np.zeros((rows, d)), inputs, eps, lambda w: onto_ball(w, a))
        assert np.max(np.abs((target - found) @ inputs.T)) <= eps
        assert np.linalg.norm(found) <= a * (1 + 1e-12)
        assert count <= math.floor((a * b / eps) ** 2)
        # sum over lengths of (2 n rows)^length is at most (2 n rows + 1)^steps
        budget = math.floor((a * b / eps) ** 2)
        cover = covers.perceptron_vocabulary(a, n, rows).scaled(b)
        assert cover.log_size(eps) == pytest.approx(budget * math.log(2 * n * rows + 1), rel=1e-12)
        if rows == 1:
            assert covers.perceptron_vector(a, n).scaled(b).log_size(eps) == pytest.approx(
                cover.log_size(eps), rel=1e-12
            )

    @pytest.mark.parametrize("seed", range(8))
    def test_matrix_with_l2_error_off_centre_and_projected(self, seed):
        rng = np.random.default_rng(seed)
        k, d, n, a, b, eps, cap = 2, 3, 8, 1.0, 1.5, 0.5, 1.0
        centre = 2.0 * unit_rows(rng, 1, k * d).reshape(k, d) * 1.2  # spectral norm above the cap
        onto = lambda w: both(w, centre, a + np.linalg.norm(clip_spectral(centre, cap) - centre), cap)  # noqa: E731
        start = onto(centre)
        radius = a + np.linalg.norm(clip_spectral(centre, cap) - centre)
        target = onto(start + random_in_ball(rng, (k, d), 0.8))
        inputs = unit_rows(rng, n, d) * b
        found, count = self.steps(target, start, inputs, eps / math.sqrt(k), onto)
        assert np.max(np.linalg.norm((target - found) @ inputs.T, axis=0)) <= eps + 1e-9
        assert np.linalg.norm(found, 2) <= cap + 1e-6
        budget = math.floor(k * (radius * b / eps) ** 2)
        assert count <= budget
        cover = covers.perceptron_matrix(radius, n, k).scaled(b)
        assert cover.log_size(eps) == pytest.approx(budget * math.log(2 * n * k + 1), rel=1e-12)

    def test_values(self):
        assert covers.perceptron_vector(2, 100).scaled(1.5).log_size(0.5) == pytest.approx(190.9189767, rel=2e-9)
        assert covers.perceptron_matrix(1, 1000, 64).quadratic == pytest.approx(752.6267747, rel=2e-9)
        assert covers.perceptron_matrix(1, 1000, 1).quadratic == pytest.approx(7.601402335, rel=2e-9)

    def test_too_many_steps_to_count(self):
        cover = covers.perceptron_vector(1.0, 3)
        assert math.isfinite(cover.entropy(299.5))
        assert math.isinf(cover.entropy(300.5))
        assert not cover.domain
        assert cover.proper


def unit_rows(rng, n, d):
    x = rng.normal(size=(n, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def random_in_ball(rng, shape, radius):
    x = rng.normal(size=shape)
    return x / np.linalg.norm(x) * radius * rng.uniform(0, 1) ** 0.3


def onto_ball(w, radius, centre=0.0):
    away = w - centre
    return centre + away * min(1.0, radius / max(np.linalg.norm(away), 1e-300))


def both(w, centre, radius, cap):
    """Dykstra's projection onto a Frobenius ball and a spectral ball."""
    x, p, q = w, 0.0, 0.0
    for _ in range(200):
        y = clip_spectral(x + p, cap)
        p = x + p - y
        x = onto_ball(y + q, radius, centre)
        q = y + q - x
    return clip_spectral(x, cap)


class TestRowsTwoOne:
    """T5: rows below a threshold are dropped, the others walk by perceptron steps on their own radius."""

    @pytest.mark.parametrize("seed", range(20))
    def test_run_for_real(self, seed):
        rng = np.random.default_rng(seed)
        k, d, n, h = 6, 5, 7, int(rng.integers(1, 4))
        B, b, eps = 2.0, 1.5, float(rng.uniform(0.4, 1.5))
        inputs = unit_rows(rng, n, d) * b
        W = rng.normal(size=(k, d)) * rng.exponential(size=(k, 1))
        W *= B / np.sum(np.linalg.norm(W, axis=1))
        threshold, ratio = eps**2 / (b**2 * B), (B * b / eps) ** 2
        found, total, used = np.zeros_like(W), 0, 0
        for i, row in enumerate(W):
            size = np.linalg.norm(row)
            if size <= threshold:
                continue
            used += 1
            m = math.floor(h * size / threshold)
            eps_i = math.sqrt(b**2 * threshold**2 * m / h)
            w, count = np.zeros(d), 0
            while np.max(np.abs(inputs @ (row - w))) > eps_i:
                j = int(np.argmax(np.abs(inputs @ (row - w))))
                w, count = w + eps_i / b**2 * np.sign(inputs[j] @ (row - w)) * inputs[j], count + 1
            # a_i/t >= max(m/h, sqrt(l m/h)) is what the count rests on
            assert size / threshold >= max(m / h, math.sqrt(count * m / h)) - 1e-9
            found[i], total = w, total + count
        assert np.max(np.linalg.norm(inputs @ (W - found).T, axis=1)) <= eps + 1e-9
        assert used <= ratio
        assert total <= ratio * (h + 1) / h

    def test_codewords_fit(self):
        # G = sum over m >= h and step counts l of (2n)^l exp(-mu y(m, l)) must not exceed one, whatever n.
        for h in range(1, 13):
            uniform, crude = 0.0, 0.0
            totals = dict.fromkeys((1, 2, 5, 100, 10**6), 0.0)
            for m in range(h, h + 120):
                crude += 2.0**-m * ((m + 1) ** 2 / (h * m) + 1)
                steps = 0
                while math.sqrt(steps * m / h) < (m + 1) / h:
                    y = max(m / h, math.sqrt(steps * m / h))
                    assert steps <= (1 + 1 / h) * y
                    uniform += math.exp((steps - (1 + 1 / h) * y) * math.log(3) - h * y * math.log(2))
                    for n in totals:
                        mu = h * math.log(2) + (h + 1) / h * math.log(2 * n + 1)
                        totals[n] += math.exp(steps * math.log(2 * n) - mu * y)
                    steps += 1
            assert max(totals.values()) <= uniform <= 1.0
            assert uniform <= crude
            assert h < 3 or crude < 0.78

    @given(st.integers(1, 10**6), st.integers(1, 10**9))
    def test_factor_is_the_minimum_over_h(self, k, n):
        brute = min(math.log(k + 1) + h * math.log(2) + (1 + 1 / h) * math.log(2 * n + 1) for h in range(1, 60))
        assert covers.rows_two_one_factor(k, n) == pytest.approx(brute, rel=1e-12)

    def test_values_and_tags(self):
        cover = covers.rows_two_one(3.0, 4, 3)
        assert cover.log_size(0.5) == pytest.approx(212.9255099, rel=2e-9)
        assert not cover.proper
        assert not cover.domain
        assert covers.rows_two_one(3.0, 4, 3, domain=True).domain
        proper = cover.made_proper()
        assert proper.proper
        assert proper.log_size(0.5) == pytest.approx(851.7020396, rel=2e-9)
        assert proper.quadratic == pytest.approx(4 * cover.quadratic)
        assert proper.name == "rows (2,1), proper"
        assert proper.made_proper() is proper

    def test_a_proper_cover_from_an_external_one(self):
        # Replace each member by a class element within eps/2: the radius doubles at most.
        rng = np.random.default_rng(1)
        members = [random_in_ball(rng, 2, 1.0) for _ in range(300)]
        external = [np.array(p) for p in itertools.product(np.arange(-1.05, 1.2, 0.35), repeat=2)]
        reach = max(min(np.linalg.norm(m - e) for e in external) for m in members)
        proper = [min(members, key=lambda m, e=e: np.linalg.norm(m - e)) for e in external]
        near = [p for p, e in zip(proper, external, strict=True) if np.linalg.norm(p - e) <= reach]
        assert max(min(np.linalg.norm(m - p) for p in near) for m in members) <= 2 * reach


class TestColumns:
    def test_one_inf_product_cover_on_l1_inputs(self):
        rng = np.random.default_rng(2)
        k, d, draws = 2, 3, 2
        members = math.sqrt(2) / (1 + math.sqrt(2)) * averages(k, draws)
        radius = 1 / (1 + math.sqrt(2))
        for _ in range(100):
            W = rng.laplace(size=(k, d))
            W /= np.abs(W).sum(axis=0)
            What = np.stack([members[np.argmin(np.linalg.norm(members - W[:, j], axis=1))] for j in range(d)], axis=1)
            x = rng.laplace(size=d)
            assert np.linalg.norm((W - What) @ (x / np.abs(x).sum())) <= radius + 1e-9
        size = covers.columns_one_inf(1.0, k, d).log_size(radius * (1 + 1e-9))
        assert size == pytest.approx(d * math.log(math.comb(2 * k + draws, draws)), rel=1e-9)
        assert covers.columns_one_inf(1.0, k, d).quadratic == pytest.approx(d * math.log(2 * k + 1))

    @pytest.mark.parametrize("seed", range(5))
    def test_two_one_few_columns_remain(self, seed):
        rng = np.random.default_rng(seed)
        k, d, B, eps = 3, 9, 2.0, float(rng.uniform(0.1, 1.5))
        W = rng.normal(size=(k, d)) * rng.exponential(size=d)
        W *= B / np.sum(np.linalg.norm(W, axis=0))
        kept = np.linalg.norm(W, axis=0) > eps
        assert kept.sum() <= math.floor(B / eps)
        kept_subsets = sum(math.comb(d, j) for j in range(math.floor(B / eps) + 1))
        assert math.log(kept_subsets) <= math.floor(B / eps) * math.log(d + 1) + 1e-9
        expected = math.floor(B / eps) * (math.log(d + 1) + k * math.log(1 + 2 * B / eps))
        cover = covers.columns_two_one(B, k, d)
        assert cover.log_size(eps) == pytest.approx(expected, rel=1e-9)
        # The class contains an l2 ball of R^k, which needs k ln(B/eps) by volume.
        assert cover.log_size(eps) >= k * math.log(B / eps)
        assert not cover.proper
        assert math.isinf(cover.entropy(300.5))
        assert math.isfinite(cover.entropy(299.5))


class TestSudakovAndVolume:
    def test_constant(self):
        for (k, d), value in {(64, 64): 521.628288, (1, 10): 41.61307601, (128, 32): 585.7447555}.items():
            assert covers.sudakov_constant(k, d) == pytest.approx(value, rel=2e-9)

    @pytest.mark.parametrize(("k", "d"), [(1, 1), (2, 5), (64, 64)])
    def test_constant_is_the_minimum_over_u(self, k, d):
        def bracket(u):
            return 2 * (math.sqrt(k) + math.sqrt(d) + u) ** 2 + math.log(1 / (1 - math.exp(-(u**2) / 2)))

        fine = min(bracket(u) for u in np.linspace(0.001, 8, 40_000))
        assert fine - 1e-9 <= covers.sudakov_constant(k, d) <= fine * (1 + 1e-3)
        assert covers.sudakov_constant(k, d) == pytest.approx(min(bracket(i / 100) for i in range(1, 600)), rel=1e-12)

    @pytest.mark.parametrize(("k", "d"), [(1, 1), (1, 2), (2, 2)])
    @pytest.mark.parametrize("eps", [0.25, 0.5, 0.9])
    def test_packings_stay_below(self, k, d, eps):
        rng = np.random.default_rng(3)
        packing = []
        for _ in range(400):
            w = random_in_ball(rng, (k, d), 1.0)
            if all(np.linalg.norm(w - p, 2) > eps for p in packing):
                packing.append(w)
        assert math.log(len(packing)) <= covers.dual_sudakov(1.0, k, d).log_size(eps)
        assert math.log(len(packing)) <= covers.volumetric(1.0, k * d).log_size(eps)

    def test_gaussian_measure_step(self):
        # Shifted operator-norm balls keep at least exp(-|x|^2/2) of their Gaussian measure; checked in one dimension.
        for t, x in ((1.0, 0.5), (2.0, 3.0), (0.3, 1.0)):
            inside = math.erf(t / math.sqrt(2))
            shifted = 0.5 * (math.erf((x + t) / math.sqrt(2)) - math.erf((x - t) / math.sqrt(2)))
            assert shifted >= math.exp(-(x**2) / 2) * inside

    def test_off_centre_classes_need_two_points_up_to_their_diameter(self):
        # {W_ref + aE, W_ref - aE} is a subset of the ball without its centre: two members at distance 2a.
        a = 1.0
        for cover in (covers.dual_sudakov(a, 2, 2, centred=False), covers.volumetric(a, 4, centred=False)):
            for eps in (1.0, 1.5, 1.99):
                assert cover.log_size(eps) >= math.log(2)
            assert cover.log_size(2.0) == 0.0
        for cover in (covers.dual_sudakov(a, 2, 2), covers.volumetric(a, 4)):
            assert cover.log_size(1.5) == 0.0

    @pytest.mark.parametrize("eps", [0.01, 0.4, 1.2])
    def test_off_centre_formulas(self, eps):
        k, d, a = 3, 2, 1.0

        def parts(u):
            return 2 * (math.sqrt(k) + math.sqrt(d) + u) ** 2, math.log(1 / (1 - math.exp(-(u**2) / 2)))

        gaussian, additive = min((parts(i / 100) for i in range(1, 600)), key=sum)
        cover = covers.dual_sudakov(a, k, d, centred=False)
        assert cover.log_size(eps) == pytest.approx(gaussian * (a / eps) ** 2 + additive, rel=1e-9)
        assert cover.quadratic == pytest.approx(gaussian / 4 + additive, rel=1e-9)
        off = covers.volumetric(a, 6, centred=False)
        assert off.log_size(eps) == pytest.approx(6 * math.log(1 + 2 * a / eps), rel=1e-12)
        assert math.isinf(cover.entropy(355.0))
        assert math.isfinite(cover.entropy(299.5))

    def test_volume(self):
        assert covers.volumetric(1, 64 * 64).log_size(0.1) == pytest.approx(12470.3639, rel=2e-9)
        assert covers.volumetric(1, 10).log_size(0.1) == pytest.approx(30.44522438, rel=2e-9)
        assert covers.volumetric(1, 10).parameters == 10
        assert covers.volumetric(1, 10, centred=False).parameters == 10
        # and never below the volume that any cover must fill
        for eps in (0.9, 0.5, 1e-3, 1e-9):
            assert covers.volumetric(1, 10).log_size(eps) >= 10 * math.log(1 / eps)
        assert covers.volumetric(1, 10).entropy(1000.0) == pytest.approx(10 * (1000 + math.log(2)), rel=1e-12)

    def test_low_rank(self):
        cover = covers.low_rank(2.0, 6, 5, 2)

        def factors(eps):
            return 2 * (6 * math.log(1 + 4 * 11 / (6 * eps)) + 5 * math.log(1 + 4 * 11 / (5 * eps)))

        assert cover.log_size(0.5) == pytest.approx(min(factors(0.5), 30 * math.log(9)), rel=1e-12)
        assert cover.log_size(1e-6) == pytest.approx(factors(1e-6), rel=1e-12)
        assert factors(1e-6) <= 22 * math.log(1 + 8e6)
        assert covers.low_rank(0.1, 384, 384, 8).log_size(1e-3) == pytest.approx(36826.89901, rel=1e-9)
        assert covers.low_rank(0.1, 1536, 384, 8).log_size(1e-6) == pytest.approx(195171.5093, rel=1e-9)
        assert cover.parameters == 22
        assert covers.low_rank(2.0, 3, 3, 3).parameters == 9
        assert covers.low_rank(2.0, 3, 3, 3).log_size(0.1) == pytest.approx(9 * math.log(41), rel=1e-12)


class TestQuadratic:
    @given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
    def test_is_c_over_eps_squared(self, constant, eps):
        assert covers.quadratic_cover(constant).log_size(eps) == pytest.approx(constant / eps**2, rel=1e-9)

    def test_ends_where_told(self):
        cover = covers.quadratic_cover(4.0, math.log(3.0), proper=False, domain=False)
        assert cover.log_size(2.9) == pytest.approx(4 / 2.9**2)
        assert cover.log_size(3.0) == 0.0
        assert (cover.proper, cover.domain) == (False, False)
        endless = covers.quadratic_cover(4.0)
        assert endless.ln_radius == pytest.approx(math.log(2) + 40)
        assert endless.proper
        assert endless.domain


class TestSmallest:
    def test_is_the_minimum_at_every_radius_and_inherits_tags(self):
        a, b = covers.maurey(2.0, 20), covers.volumetric(1.0, 20)
        both_ = covers.smallest(a, b)
        for eps in np.geomspace(1e-6, 3, 50):
            assert both_.log_size(eps) == min(a.log_size(eps), b.log_size(eps))
        assert both_.ln_radius == b.ln_radius
        assert both_.quadratic == pytest.approx(4 * math.log(41))  # ln(2D+1) at radius 2, restated at radius 1
        assert both_.parameters == 20
        assert both_.name == "Maurey (shrunk) or volume"
        assert both_.proper
        assert both_.domain

    def test_one_external_or_sample_cover_taints_all(self):
        tainted = covers.smallest(covers.maurey(1.0, 4), covers.rows_two_one(1.0, 2, 3))
        assert not tainted.proper
        assert not tainted.domain
        sample = covers.smallest(covers.maurey(1.0, 4), covers.perceptron_vector(1.0, 3))
        assert sample.proper
        assert not sample.domain

    def test_radii_far_apart_do_not_overflow(self):
        far = covers.smallest(covers.maurey(1e300, 4).scaled(1e300), covers.volumetric(1.0, 4))
        assert math.isinf(far.quadratic)
        near = covers.smallest(covers.maurey(math.exp(340), 4), covers.volumetric(1.0, 4))
        assert math.isfinite(near.quadratic)
        assert covers.smallest(covers.maurey(0.0, 4), covers.volumetric(0.0, 4)).log_size(1e-9) == 0.0


@pytest.mark.parametrize("bad", [-1.0, math.nan])
def test_radii_are_not_negative(bad):
    with pytest.raises(InputError, match="radius"):
        covers.volumetric(bad, 3)


def test_no_finite_cover_is_exact():
    assert covers.volumetric(1.0, 3).log_size(0.0) == math.inf
    assert covers.volumetric(0.0, 3).log_size(0.0) == 0.0
