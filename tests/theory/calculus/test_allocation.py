"""Sharing a radius: against numerical optimisers, and never cheaper than any feasible split allows."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from certiformer.theory.calculus import chaining, covers
from certiformer.theory.calculus.allocation import (
    Term,
    network_cover,
    parameter_split,
    quadratic_split,
    quadratic_total,
    split,
)
from certiformer.theory.calculus.entropies import Power

LN = math.log
VECTORS = {  # (ln reach, copies, parameters, quadratic coefficient) of every group at eps = 1, and the least cost
    "two volumes": (((LN(10), 1, 5, None), (LN(1000), 1, 50, None)), 411.82413),
    "volume and quadratic": (((LN(3), 1, 100, None), (LN(20), 2, None, 4)), 13634.34017),
    "both kinds": (((LN(5), 1, 40, 30), (LN(50), 3, 400, 60), (LN(1e6), 1, 10, 500)), 7320.640871),
    "given up": (((LN(0.01), 1, 1000, None), (LN(1e4), 1, 10, None)), 99.13587387),
    "beyond floats": (((600.0, 2, 64, 80), (300.0, 2, 64, 80), (0.5, 1, 8, 9)), 115777.8047),
    "local optimum trap": (((-1.63696707, 1, 169, 140.57619922), (-0.15566867, 1, 391, None)), 221.0809458),
}


def both_kinds(parameters, quadratic):
    found = []
    if parameters is not None:
        found.append(covers.volumetric(1.0, parameters))
    if quadratic is not None:
        found.append(covers.Cover("c/eps^2", 0.0, Power(quadratic), quadratic=quadratic))
    return found[0] if len(found) == 1 else covers.smallest(*found)


POSITIVE = st.lists(st.tuples(st.floats(0.01, 100), st.floats(0.01, 100)), min_size=1, max_size=5)


def free_minimum(cost, count):
    """Minimise cost(shares) over the simplex, shares = softmax(z)."""

    def objective(z):
        shares = np.exp(z - np.max(z))
        return cost(shares / shares.sum())

    found = minimize(objective, np.zeros(count), method="BFGS", options={"gtol": 1e-10})
    return found.fun


class TestQuadratic:
    @given(POSITIVE, st.floats(0.05, 5))
    def test_is_the_minimum(self, pairs, eps):
        constants, betas = zip(*pairs, strict=True)
        total = quadratic_total(constants, betas) / eps**2
        split = quadratic_split(constants, betas, eps)
        assert sum(b * e for b, e in zip(betas, split, strict=True)) == pytest.approx(eps, rel=1e-9)
        assert sum(c / e**2 for c, e in zip(constants, split, strict=True)) == pytest.approx(total, rel=1e-9)

        def cost(shares):
            return float(sum(c * (b / (s * eps)) ** 2 for c, b, s in zip(constants, betas, shares, strict=True)))

        assert free_minimum(lambda s: math.log(cost(s)), len(pairs)) >= math.log(total) - 1e-9

    def test_values(self):
        assert quadratic_total((1, 2, 3), (0.5, 1, 2)) / 0.25**2 == pytest.approx(1167.975572, rel=2e-9)
        assert quadratic_total((4, 9), (2, 0.5)) == pytest.approx(56.19125201, rel=2e-9)
        assert quadratic_split((4, 9), (2, 0.5), 1.0) == pytest.approx([0.3289428334, 0.6842286664], rel=2e-9)

    def test_weights_that_do_not_matter_are_free(self):
        assert quadratic_total((4, 9), (2, 0)) == pytest.approx(16.0)
        assert quadratic_split((4, 9), (2, 0), 1.0) == [pytest.approx(0.5), math.inf]
        assert parameter_split((3, 5), (2, 0), 1.0) == [pytest.approx(3 / 16), math.inf]


class TestParameters:
    @given(POSITIVE, st.floats(0.05, 5))
    def test_split_is_optimal_for_volume_costs(self, pairs, eps):
        parameters, betas = zip(*pairs, strict=True)
        split = parameter_split(parameters, betas, eps)
        assert sum(b * e for b, e in zip(betas, split, strict=True)) == pytest.approx(eps, rel=1e-9)

        def cost(shares):
            return float(-sum(p * math.log(s * eps / b) for p, b, s in zip(parameters, betas, shares, strict=True)))

        at_split = cost([b * e / eps for b, e in zip(betas, split, strict=True)])
        scale = sum(parameters)
        assert free_minimum(lambda s: cost(s) / scale, len(pairs)) >= at_split / scale - 1e-7


def mixed_terms(rng, count):
    terms = []
    for i in range(count):
        radius, beta = float(rng.uniform(0.2, 3)), float(rng.uniform(0.2, 5))
        dimension = int(rng.integers(2, 40))
        cover = covers.smallest(covers.maurey(radius, dimension), covers.volumetric(radius, dimension))
        terms.append(Term(str(i), cover, math.log(beta)))
    return terms


class TestNetwork:
    @pytest.mark.parametrize("seed", range(4))
    def test_feasible_and_no_worse_than_the_classical_splits(self, seed):
        rng = np.random.default_rng(seed)
        terms = mixed_terms(rng, 3)
        network = network_cover(terms)
        betas = [math.exp(term.ln_beta) for term in terms]
        radii = [math.exp(term.cover.ln_radius) for term in terms]
        assert math.exp(network.ln_radius) == pytest.approx(sum(b * r for b, r in zip(betas, radii, strict=True)))
        quadratics = [term.cover.quadratic * r**2 for term, r in zip(terms, radii, strict=True)]
        for eps in np.geomspace(1e-4, 0.999, 6) * math.exp(network.ln_radius):

            def cost(split):
                return sum(term.cover.log_size(e) for term, e in zip(terms, split, strict=True))

            by_norm = cost(quadratic_split(quadratics, betas, eps))
            by_count = cost(parameter_split([term.cover.parameters for term in terms], betas, eps))
            got = network.log_size(eps)
            assert 0 < got <= min(by_norm, by_count) * (1 + 1e-9)
            assert got <= quadratic_total(quadratics, betas) / eps**2 * (1 + 1e-9)
            # Not below the best of many feasible splits by more than a grid can explain: it is one of them.
            feasible = min(
                cost([s * eps / b for s, b in zip(shares, betas, strict=True)])
                for shares in rng.dirichlet(np.ones(3), 300)
            )
            lower = free_lower_bound(terms, betas, eps)
            assert lower <= got * (1 + 1e-9)
            assert lower <= feasible * (1 + 1e-9)

    def test_never_above_the_best_of_three_splits(self):
        for seed in range(3):
            terms = mixed_terms(np.random.default_rng(seed), 2)
            betas = np.array([math.exp(term.ln_beta) for term in terms])
            constants = [term.cover.constant for term in terms]
            network = network_cover(terms)
            for eps in np.geomspace(0.01, 0.5, 5) * math.exp(network.ln_radius):
                norm = betas * quadratic_split(constants, betas, eps) / eps
                count = betas * parameter_split([term.cover.parameters for term in terms], betas, eps) / eps
                mean = np.sqrt(norm * count)
                costs = [
                    sum(t.cover.log_size(s * eps / b) for t, s, b in zip(terms, shares, betas, strict=True))
                    for shares in (norm, count, mean / mean.sum())
                ]
                for cover in (network, network.roughly):
                    assert cover.log_size(eps) <= min(costs) * (1 + 1e-9)

    @pytest.mark.parametrize(("groups", "value"), VECTORS.values(), ids=VECTORS)
    def test_vectors(self, groups, value):
        terms = [
            Term("t", both_kinds(parameters, quadratic), ln_reach, copies)
            for ln_reach, copies, parameters, quadratic in groups
        ]
        found = split(terms, 0.0)
        assert found.log_size == pytest.approx(value, rel=2e-8)
        assert found.dual <= found.log_size * (1 + 1e-9)
        spent = sum(t.copies * math.exp(t.ln_beta + min(r, 0.0)) for t, r in zip(terms, found.ln_radii, strict=True))
        assert spent <= 1.0

    def test_equal_terms_are_one_group_with_copies(self):
        one = Term("w", both_kinds(64, 80), 3.0)
        separate = network_cover([one] * 7).log_size(0.01)
        assert network_cover([Term("w", both_kinds(64, 80), 3.0, 7)]).log_size(0.01) == pytest.approx(separate)

    def test_a_thousand_layers_of_a_thousand_heads(self):
        terms = [
            Term("w", both_kinds(256, 6.0), 0.1 * layer + kind, 1000) for layer in range(1000) for kind in range(3)
        ]
        found = split(terms, 0.0)
        assert found.dual <= found.log_size <= found.dual * (1 + 1e-6)

    def test_the_reference_network(self):
        terms = [
            Term("first", covers.smallest(covers.quadratic_cover(4.0), covers.volumetric(1.0, 16)), math.log(2.0)),
            Term("second", covers.smallest(covers.quadratic_cover(9.0), covers.volumetric(2.0, 64)), math.log(0.5)),
        ]
        network = network_cover(terms)
        assert network.log_size(0.1) <= 293.371057 * (1 + 1e-6)
        assert network.log_size(1.0) <= 44.47855654 * (1 + 1e-6)
        assert chaining.proper_chain(network, 1.0, 10**5) <= 0.07842137829 * (1 + 1e-6)
        pure = network_cover(
            [
                Term("first", covers.quadratic_cover(4.0), math.log(2.0)),
                Term("second", covers.quadratic_cover(9.0), math.log(0.5)),
            ]
        )
        for eps in (0.1, 1.0, 7.0):
            assert pure.log_size(eps) == pytest.approx(56.19125201 / eps**2, rel=2e-9)
        assert pure.quadratic * math.exp(2 * pure.ln_radius) == pytest.approx(56.19125201, rel=2e-9)

    def test_one_ball_from_the_radius_on_and_more_below(self):
        network = network_cover(mixed_terms(np.random.default_rng(1), 4))
        assert network.log_size_ln(network.ln_radius) == 0.0
        sizes = [network.log_size_ln(network.ln_radius - x) for x in (1e-3, 0.1, 1.0, 10.0, 70.0)]
        assert all(size > 0 for size in sizes)
        assert sizes == sorted(sizes)

    def test_tags_are_inherited(self):
        proper = Term("a", covers.maurey(1.0, 3), 0.0)
        external = Term("b", covers.rows_two_one(1.0, 3, 4), 0.0)
        sample = Term("c", covers.perceptron_vector(1.0, 4), 0.0)
        assert network_cover([proper]).proper
        assert network_cover([proper]).domain
        assert not network_cover([proper, external]).proper
        assert network_cover([proper, sample]).proper
        assert not network_cover([proper, sample]).domain
        assert network_cover([proper], "mine").name == "mine"

    def test_weights_without_reach_cost_nothing(self):
        live = Term("live", covers.maurey(1.0, 3), 0.0)
        frozen = Term("frozen", covers.maurey(0.0, 3), 0.0)
        deaf = Term("deaf", covers.rows_two_one(1.0, 3, 4), -math.inf)
        assert network_cover([live, frozen, deaf]).log_size(0.3) == pytest.approx(live.cover.log_size(0.3))
        assert network_cover([live, deaf]).proper
        nothing = network_cover([frozen])
        assert nothing.log_size(1e-300) == 0.0
        assert nothing.ln_radius == -math.inf

    def test_mixed_kinds_share_too(self):
        sparse = Term("sparse", covers.maurey(1.0, 50), 0.0)  # no parameter count
        dense = Term("dense", covers.volumetric(1.0, 50), 0.0)  # no quadratic bound
        network = network_cover([sparse, dense])
        assert math.isinf(network.quadratic)
        for eps in (1.9, 0.5, 0.01):
            halves = sparse.cover.log_size(eps / 2) + dense.cover.log_size(eps / 2)
            assert 0 < network.log_size(eps) <= halves * (1 + 1e-9)
            assert network.log_size(eps) >= free_lower_bound([sparse, dense], [1.0, 1.0], eps) * (1 - 1e-9)

    def test_sensitivities_beyond_floats(self):
        terms = [Term("deep", covers.maurey(1.0, 8), 2000.0), Term("near", covers.maurey(1.0, 8), 0.0)]
        network = network_cover(terms)
        assert network.ln_radius == pytest.approx(2000.0)
        size = network.log_size(1.0)
        assert 0 < size < 2e5
        assert size >= 16 * 2 * 2000 - 16 * math.log(16)  # what the deep weight costs at least
        chain = chaining.proper_chain(network, 1.0, 200)
        assert chain == 1.0

    def test_a_weight_of_infinite_reach_cannot_be_covered(self):
        network = network_cover(
            [Term("near", covers.maurey(1.0, 8), 0.0), Term("far", covers.maurey(1.0, 8), math.inf)]
        )
        assert network.log_size(1.0) == math.inf
        assert chaining.proper_chain(network, 2.0, 10) == 2.0
        assert chaining.proper_chain(network, math.inf, 10) == math.inf
        assert quadratic_total((1e300, 1e300), (1e300, 1.0)) == math.inf

    def test_quadratic_coefficient_is_at_most_the_sum(self):
        terms = mixed_terms(np.random.default_rng(7), 4)
        assert network_cover(terms).quadratic <= sum(term.cover.quadratic for term in terms) * (1 + 1e-9)

    def test_reach(self):
        assert Term("x", covers.maurey(3.0, 2), math.log(5.0)).ln_reach == pytest.approx(math.log(15.0))


def free_lower_bound(terms, betas, eps):
    """Each weight gets the whole radius: no feasible split costs less."""
    return sum(term.cover.log_size(eps / beta) for term, beta in zip(terms, betas, strict=True))
