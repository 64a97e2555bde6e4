"""Chains against exact Rademacher complexities, integrals done numerically, and chains written out by hand."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import minimize_scalar

from certiformer.theory.calculus import chaining, covers
from certiformer.theory.calculus.covers import Cover, quadratic_cover
from certiformer.theory.calculus.rademacher import exact
from certiformer.theory.core.errors import InputError


def random_class(seed):
    """Values of a random finite class on a sample of ten: clusters, so that covers matter."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(int(rng.integers(1, 6)), 10))
    values = centres[rng.integers(0, len(centres), 40)] + rng.uniform(0.01, 0.6) * rng.normal(size=(40, 10))
    return values


def greedy_proper(values, eps):
    """Size of a greedy proper cover in the sup norm."""
    left, size = values, 0
    while len(left):
        left = left[np.max(np.abs(left - left[0]), axis=1) > eps]
        size += 1
    return size


def rounded(values, eps):
    """Size of an external cover: coordinates rounded to multiples of 2 eps."""
    return len(np.unique(np.round(values / (2 * eps)), axis=0))


def as_cover(values, counter, proper):
    """Measured covering numbers as a Cover: between two scales, the number at the smaller one."""
    scales = np.geomspace(1e-4, 10.0, 70)
    sizes = [math.log(counter(values, eps)) for eps in scales]
    everything = math.log(len(values))

    def entropy(x):
        below = int(np.searchsorted(scales, math.exp(50.0 - x), side="right")) - 1
        return sizes[below] if below >= 0 else everything

    return Cover("measured", 50.0, entropy, proper=proper)


@pytest.mark.parametrize("seed", range(20))
class TestAgainstExactComplexities:
    def test_proper_chain(self, seed):
        values = random_class(seed)
        radius = float(np.max(np.abs(values)))
        cover = as_cover(values, greedy_proper, True)
        complexity = exact(values)
        assert complexity <= chaining.proper_chain(cover, radius, 10)
        assert complexity <= chaining.geometric_chain(cover, radius, 10)

    def test_external_chain(self, seed):
        values = random_class(seed)
        radius = float(np.max(np.abs(values)))
        cover = as_cover(values, rounded, False)
        assert exact(values) <= chaining.external_chain(cover, radius, 10)

    def test_closed_forms(self, seed):
        values = random_class(seed)
        radius = float(np.max(np.abs(values)))
        scales = np.geomspace(1e-3 * radius, radius, 60)
        # From one scale to the next the covering number is at most that of the smaller one.
        constant = max(big**2 * math.log(rounded(values, small)) for small, big in itertools.pairwise(scales))
        assert exact(values) <= chaining.dudley_closed(constant, radius, 10)
        assert exact(values) <= chaining.dudley_closed_half(constant, radius, 10)


def test_fixed_function_may_be_anywhere():
    # A class far from zero is close to f0: the radius counts from f0, and constants do not matter.
    values = 100.0 + random_class(3)
    middle = (values.max(axis=0) + values.min(axis=0)) / 2
    radius = float(np.max(np.abs(values - middle)))
    assert exact(values) <= chaining.proper_chain(as_cover(values, greedy_proper, True), radius, 10) <= radius


class TestClosedForms:
    @pytest.mark.parametrize(("constant", "radius", "n"), [(2.0, 1.0, 10_000), (0.5, 3.0, 5_000), (0.01, 1.0, 50)])
    def test_are_the_minimised_integrals(self, constant, radius, n):
        def integral(top):
            def total(ln_delta):
                delta = math.exp(ln_delta)
                area = quad(lambda e: math.sqrt(constant) / e, delta, top)[0] if delta < top else 0.0
                return 4 * delta + 12 / math.sqrt(n) * area

            return minimize_scalar(total, bounds=(math.log(1e-6), math.log(radius)), method="bounded").fun

        assert chaining.dudley_closed(constant, radius, n) == pytest.approx(min(radius, integral(radius)), rel=1e-6)
        assert chaining.dudley_closed_half(constant, radius, n) == pytest.approx(
            min(radius, integral(radius / 2)), rel=1e-6
        )

    def test_additive_part(self):
        # sqrt(a + C/eps^2) <= sqrt(a) + sqrt(C)/eps, integrated up to D and to D/2.
        C, D, n, a = 0.02, 2.0, 10_000, 3.0
        gap = chaining.dudley_closed(C, D, n, a) - chaining.dudley_closed(C, D, n)
        assert gap == pytest.approx(12 * D * math.sqrt(a / n), rel=1e-9)
        gap = chaining.dudley_closed_half(C, D, n, a) - chaining.dudley_closed_half(C, D, n)
        assert gap == pytest.approx(6 * D * math.sqrt(a / n), rel=1e-9)

    def test_nothing_but_the_additive_part(self):
        assert chaining.dudley_closed(0.0, 2.0, 10_000, 1.0) == pytest.approx(12 * 2.0 * 0.01)
        assert chaining.dudley_closed_half(0.0, 2.0, 10_000, 1.0) == pytest.approx(6 * 2.0 * 0.01)
        assert chaining.dudley_closed(0.0, 2.0, 10_000) == 0.0
        assert chaining.dudley_closed_half(0.0, 2.0, 10_000) == 0.0

    @pytest.mark.parametrize("form", [chaining.dudley_closed, chaining.dudley_closed_half])
    def test_never_above_the_radius_and_never_falling(self, form):
        values = [form(C, 1.0, 100) for C in np.geomspace(1e-8, 1e8, 200)]
        assert all(a <= b for a, b in itertools.pairwise(values))
        assert values[-1] == 1.0
        assert all(value > 0 for value in values)

    def test_beyond_their_range_they_say_the_radius(self):
        # 3 s = D and 6 s = D: the logarithm's argument reaches one.
        assert chaining.dudley_closed(100 / 9, 1.0, 100) == 1.0
        assert chaining.dudley_closed(1e6, 1.0, 100) == 1.0
        assert chaining.dudley_closed_half(100 / 36, 1.0, 100) == 1.0
        assert chaining.dudley_closed_half(1e6, 1.0, 100) == 1.0

    def test_values(self):
        assert chaining.dudley_closed(2, 1, 10_000) == pytest.approx(0.7059727472, rel=2e-9)
        assert chaining.dudley_closed(0.5, 3, 500) == pytest.approx(1.690127731, rel=2e-9)
        assert chaining.dudley_closed_half(2, 1, 10_000) == pytest.approx(0.588, abs=5e-4)


class TestChains:
    @given(st.lists(st.floats(0.01, 0.9), min_size=1, max_size=6), st.integers(1, 10**6), st.booleans())
    def test_value_by_hand(self, factors, n, external):
        scales = np.cumprod([2.0, *factors])
        sizes = np.arange(1.0, len(factors) + 1)
        total = scales[-1]
        for j in range(1, len(scales)):
            link = scales[j - 1] + (scales[j] if external else 0.0)
            total += link * math.sqrt(2 * sizes[j - 1] / n)
        assert chaining.chain_value(scales, sizes, n, external=external) == pytest.approx(total, rel=1e-12)

    @pytest.mark.parametrize("external", [False, True])
    @pytest.mark.parametrize("seed", range(6))
    def test_no_chain_beats_the_best(self, external, seed):
        rng = np.random.default_rng(seed)
        cover = covers.smallest(quadratic_cover(float(rng.uniform(0.1, 5))), covers.volumetric(1.5, 40))
        n = int(rng.integers(50, 10**5))
        best = (chaining.external_chain if external else chaining.proper_chain)(cover, 1.0, n, 0.7)
        for _ in range(100):
            scales = np.concatenate([[1.0], np.sort(np.exp(-rng.uniform(0, 8, rng.integers(1, 9))))[::-1]])
            sizes = np.array([0.7 + cover.log_size(float(e)) for e in scales[1:]])
            assert best <= chaining.chain_value(scales, sizes, n, external=external) * (1 + 1e-9)

    def test_asymptotic_constant_of_the_proper_chain(self):
        # e sqrt(2) s (1 + ln(D/(e sqrt(2) s))) for ln N = C/eps^2
        for n in (10**8, 10**10):
            s = math.e * math.sqrt(2) * math.sqrt(1.0 / n)
            assert chaining.proper_chain(quadratic_cover(1.0), 1.0, n) == pytest.approx(s * (1 - math.log(s)), rel=0.02)

    def test_values(self):
        for C, D, n, proper, external in (
            (2, 1, 10_000, 0.2127356341, 0.2610),
            (0.5, 3, 500, 0.5119621553, 0.6413090932),
            (1, 1, 10_000, 0.16404, 0.20581),
        ):
            got = chaining.proper_chain(quadratic_cover(C), D, n)
            assert 0.99 * proper <= got <= proper * (1 + 2e-5)
            got = chaining.external_chain(quadratic_cover(C, proper=False), D, n)
            assert 0.95 * external <= got <= external * (1 + 2e-4)

    def test_geometric_scales_reproduce(self):
        assert chaining.geometric_chain(quadratic_cover(2), 1, 10_000) == pytest.approx(0.2127356341, rel=2e-9)
        assert chaining.geometric_chain(quadratic_cover(0.5), 3, 500) == pytest.approx(0.5119621553, rel=2e-9)
        assert chaining.geometric_chain(quadratic_cover(100), 1, 50) == 1.0
        assert chaining.geometric_chain(quadratic_cover(3), 2, 10**5) == pytest.approx(0.1173045837, rel=2e-9)
        # By hand: q = 1.10, ..., 8.00 and up to 80 links, with an additive part.
        best = 1.0
        for q in [round(1.10 + 0.05 * i, 2) for i in range(139)]:
            total, eps = 0.0, 1.0
            for _ in range(80):
                total += eps * math.sqrt(2 * (2.0 + 0.01 / (eps / q) ** 2) / 10**5)
                eps /= q
                best = min(best, total + eps)
        assert chaining.geometric_chain(quadratic_cover(0.01), 1, 10**5, 2.0) == pytest.approx(best, rel=1e-12)

    def test_geometric_grid_has_its_stated_ends(self):
        # A class of one point at every radius: the chain ends at D 8^-80.
        assert chaining.geometric_chain(Cover("point", -math.inf, lambda x: 0.0), 1.0, 10) == pytest.approx(8.0**-80)
        # Two points down to radius 1/1.1: the first grid's first scale is the only one at no cost.
        step = Cover("step", math.log(1 / 1.1001), lambda x: 1e9)
        assert chaining.geometric_chain(step, 1.0, 10) == pytest.approx(1 / 1.1)

    def test_proper_chains_refuse_external_covers(self):
        external = covers.rows_two_one(1.0, 2, 3)
        with pytest.raises(InputError, match="proper"):
            chaining.proper_chain(external, 1.0, 10)
        with pytest.raises(InputError, match="proper"):
            chaining.geometric_chain(external, 1.0, 10)
        assert chaining.proper_chain(external.made_proper(), 1.0, 10) <= 1.0
        assert chaining.external_chain(external, 1.0, 10) <= 1.0

    def test_external_is_dearer_than_proper(self):
        cover = quadratic_cover(1.0)
        assert chaining.proper_chain(cover, 1.0, 1000) < chaining.external_chain(cover, 1.0, 1000)

    def test_the_cube_needs_its_whole_radius(self):
        n = 12
        cube = np.array(list(itertools.product((-1.0, 1.0), repeat=n)))
        cover = Cover("cube", 0.0, lambda x: n * math.log(2))
        assert exact(cube) == 1.0
        assert chaining.external_chain(cover, 1.0, n) == 1.0

    def test_unaffordable_scales_are_left_out(self):
        wall = Cover("wall", 0.0, lambda x: math.inf if x > 1.0 else 0.5)
        value = chaining.proper_chain(wall, 1.0, 10_000)
        assert value == pytest.approx(math.exp(-1) + math.sqrt(2 * 0.5 / 10_000), rel=0.06)
        assert math.isfinite(value)

    def test_a_single_function_has_no_complexity(self):
        assert chaining.proper_chain(Cover("point", -math.inf, lambda x: 0.0), 2.0, 5) == pytest.approx(2e-12, rel=1e-6)

    def test_falls_with_the_sample_and_grows_with_the_class(self):
        cover = covers.maurey(1.0, 30)
        by_n = [chaining.proper_chain(cover, 1.0, n) for n in (10, 100, 1000, 10**5)]
        assert all(a >= b for a, b in itertools.pairwise(by_n))
        by_size = [chaining.proper_chain(cover.scaled(f), 1.0, 10**4) for f in (0.1, 0.5, 1.0, 2.0)]
        assert all(a <= b for a, b in itertools.pairwise(by_size))
        assert chaining.proper_chain(cover, 1.0, 10**4, 5.0) > chaining.proper_chain(cover, 1.0, 10**4)


@pytest.mark.parametrize("size", [1e-200, 1e-9, 1e7, 1e200])
def test_chains_do_not_care_about_units(size):
    cover = covers.smallest(quadratic_cover(1.0), covers.volumetric(1.0, 10))
    for run in (chaining.proper_chain, chaining.external_chain, chaining.geometric_chain):
        assert run(cover.scaled(size), size, 1000) == pytest.approx(size * run(cover, 1.0, 1000), rel=1e-5)


@pytest.mark.parametrize("external", [False, True])
def test_one_chain_against_every_choice_of_scales(external):
    """All chains that start at the coarsest scale: the least cost, and the scales that attain it."""
    rng = np.random.default_rng(3)
    seen = set()
    for _ in range(40):
        many = int(rng.integers(2, 8))
        scales = np.sort(rng.uniform(0.01, 1.0, many))[::-1].tolist()
        links = [math.inf, *np.sort(rng.uniform(0.0, float(rng.choice([0.3, 1.0, 3.0])), many - 1)).tolist()]

        def cost(path, scales=scales, links=links):
            steps = itertools.pairwise(path)
            return scales[path[-1]] + sum((scales[i] + external * scales[j]) * links[j] for i, j in steps)

        every = [(0, *rest) for size in range(many) for rest in itertools.combinations(range(1, many), size)]
        least, path = chaining._shortest_path(scales, links, external=external)
        best = min(every, key=cost)
        assert least == pytest.approx(cost(best), rel=1e-12)
        assert tuple(path) == best
        seen.add(len(best))
        seen.add(best[1:2])
    assert {1, 2, 3, (1,)} <= seen
