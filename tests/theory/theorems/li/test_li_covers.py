"""Covers of linear maps and the sharing of the budget: explicit covers, lower bounds, numerical optima."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import gammaln

from certiformer.theory.core import InputError, find


def sound(id, **inputs):
    return {name: bound.value for name, bound in find(id).evaluate(inputs).sound.items()}


def printed(id, **inputs):
    return {name: bound.value for name, bound in find(id).evaluate(inputs).printed.items()}


@pytest.mark.independent("li.lemB.3", "li.lem5.2")
@pytest.mark.parametrize(("m", "eps"), [(2, 0.45), (3, 0.55), (4, 0.6)])
def test_the_maurey_net_covers_the_l1_ball(m, eps):
    """All means of Q out of 2m+1 signed atoms: the count is the bound, and nothing of the ball is further than eps."""
    draws = math.ceil(1 / eps**2) - 1
    atoms = np.concatenate([np.eye(m), -np.eye(m), np.zeros((1, m))])
    net = np.array(
        [atoms[list(c)].mean(axis=0) for c in itertools.combinations_with_replacement(range(2 * m + 1), draws)]
    )
    for id in ("li.lemB.3", "li.lem5.2"):
        assert math.log(len(net)) == pytest.approx(sound(id, B=1.0, eps=eps, d=m, k=1, Bx=1.0)["maurey"])
    rng = np.random.default_rng(m)
    points = rng.laplace(size=(1500, m))
    points /= np.abs(points).sum(axis=1, keepdims=True)
    points *= rng.choice([1.0, 0.7], size=(1500, 1))
    distances = np.min(np.linalg.norm(points[:, None] - net[None], axis=2), axis=1)
    assert distances.max() <= eps


@pytest.mark.property_of("li.lemB.3", "li.lem5.2")
@given(
    B=st.floats(0.1, 20), eps=st.floats(0.01, 5), d=st.integers(1, 50), k=st.integers(1, 50), scale=st.floats(0.2, 5)
)
def test_norm_covers_are_ordered_and_scale(B, eps, d, k, scale):
    values = sound("li.lemB.3", B=B, eps=eps, d=d, k=k, Bx=1.3)
    assert values["best"] == min(values["maurey"], values["maurey_shrunk"], values["volumetric"])
    assert values["maurey_shrunk"] <= values["maurey"] * (1 + 1e-9)
    assert values["maurey"] <= printed("li.lemB.3", B=B, eps=eps, d=d, k=k, Bx=1.3)["value"] * (1 + 1e-9)
    assert sound("li.lem5.2", B=B, eps=eps, d=d, k=k, Bx=1.3) == values
    if eps >= 1.3 * B * (1 + 1e-9):
        assert values["best"] == 0.0
    volume = sound("li.lemB.3", B=B * scale, eps=eps * scale, d=d, k=k, Bx=1.3)["volumetric"]
    assert volume == pytest.approx(values["volumetric"], rel=1e-9)


@pytest.mark.independent("li.lemB.3")
@pytest.mark.parametrize(("d", "eps"), [(3, 0.002), (10, 0.05), (40, 0.02)])
def test_the_sound_cover_is_above_the_volume_lower_bound(d, eps):
    """N >= vol(l1 ball)/vol(eps l2 ball)."""
    log_l1 = d * math.log(2) - gammaln(d + 1)
    log_l2 = d / 2 * math.log(math.pi) - gammaln(d / 2 + 1) + d * math.log(eps)
    assert sound("li.lemB.3", B=1.0, eps=eps, d=d, k=1, Bx=1.0)["best"] >= log_l1 - log_l2


@pytest.mark.counterexample("li.lem5.2", "li.lemB.3")
def test_the_lemma_does_not_cover_the_l2_ball_and_no_constant_is_universal():
    for d, lower in ((50, 34.66), (100, 69.31)):
        assert d * math.log(2) == pytest.approx(lower, abs=0.01)  # N >= 2^d at eps = 1/2
        assert printed("li.lemB.3", B=1.0, eps=0.5, d=d, k=1, Bx=1.0)["value"] < lower
    # The vertices +-e_i are sqrt(2) apart: at eps = 0.7 each needs its own ball.
    C1, d = 3.0, 10_000
    claim = find("li.lem5.2").evaluate({"B": 1.0, "eps": 0.7, "d": d, "k": 1, "Bx": 1.0, "C1": C1}).printed["value"]
    assert claim.value < math.log(2 * d) or not claim.applies
    assert printed("li.lem5.2", B=1.0, eps=0.7, d=d, k=1, Bx=1.0, C1=4.0)["value"] < math.log(2 * d)


@pytest.mark.independent("li.lemB.6", "li.ass5.7")
def test_the_product_cover_of_rank_one_matrices():
    """d = k = 2, r = 1, eps = 1/2: nets of the two factors at eps/2; their products cover, and are few enough."""
    eps = 0.5
    step = eps / 2  # radius 1 factor balls, covered at eps/2 in l2 by a square grid of side eps/sqrt(2)
    side = step * math.sqrt(2)
    axis = np.arange(-math.ceil(1 / side), math.ceil(1 / side) + 1) * side
    grid = np.array(list(itertools.product(axis, axis)))
    net = grid[np.linalg.norm(grid, axis=1) <= 1 + step]
    net = net / np.maximum(1.0, np.linalg.norm(net, axis=1, keepdims=True))  # projected back into the ball
    # The net has no more members than (d+k) r ln(1 + 4B/eps) allows; the bound takes the volume where that is smaller.
    assert 2 * math.log(len(net)) <= 4 * math.log(1 + 4 / eps)
    for id in ("li.lemB.6", "li.ass5.7"):
        bound = sound(id, r=1, d=2, k=2, B=1.0, Bx=1.0, eps=eps)["spectral"]
        assert bound == pytest.approx(min(4 * math.log(1 + 4 / eps), 4 * math.log(1 + 2 / eps)))
    rng = np.random.default_rng(0)
    for _ in range(300):
        a, c = rng.normal(size=(2, 2))
        a, c = a / np.linalg.norm(a), c / np.linalg.norm(c)
        near_a = net[np.argmin(np.linalg.norm(net - a, axis=1))]
        near_c = net[np.argmin(np.linalg.norm(net - c, axis=1))]
        assert np.linalg.norm(np.outer(a, c) - np.outer(near_a, near_c), 2) <= eps


@pytest.mark.counterexample("li.lemB.6", "li.ass5.7")
@pytest.mark.parametrize("eps", [0.2, 0.1, 0.01])
def test_rank_one_matrices_contain_a_disc(eps):
    """{e_1 a^T : |a| <= 1}: N >= 1/eps^2 by area; the printed counts are 2/eps and 1/eps."""
    inputs = {"r": 1, "d": 2, "k": 2, "B": 1.0, "Bx": 1.0, "eps": eps}
    truth = 2 * math.log(1 / eps)
    assert printed("li.lemB.6", **inputs)["value"] < truth
    assert printed("li.ass5.7", **inputs)["value"] < truth
    assert sound("li.lemB.6", **inputs)["spectral"] >= truth
    # A packing found greedily is a lower bound too.
    rng = np.random.default_rng(0)
    points = rng.uniform(-1, 1, size=(600, 2))
    packing: list[np.ndarray] = []
    for p in points[np.linalg.norm(points, axis=1) <= 1]:
        if all(np.linalg.norm(p - q) > 2 * eps for q in packing):
            packing.append(p)
    assert math.log(len(packing)) <= sound("li.lemB.6", **inputs)["spectral"]
    # The proof's inequality between norms is false for the matrix of ones.
    ones = np.ones((2, 2))
    assert np.linalg.norm(ones, 2) > np.linalg.norm(ones, axis=0).max() + 0.5


@pytest.mark.property_of("li.lemB.6", "li.ass5.7")
@given(r=st.integers(1, 40), d=st.integers(1, 30), k=st.integers(1, 30), eps=st.floats(1e-4, 3))
def test_rank_covers_scale_and_lie_between_their_limits(r, d, k, eps):
    inputs = {"r": r, "d": d, "k": k, "B": 1.5, "Bx": 2.0, "eps": eps}
    values = sound("li.lemB.6", **inputs)
    assert values["spectral"] <= values["volumetric"] * (1 + 1e-12)
    assert values == sound("li.ass5.7", **inputs)
    if eps < 3.0 * (1 - 1e-9):
        assert values["spectral"] >= max(d, k) * math.log(3.0 / eps) * (1 - 1e-9)
        factors = min(r, d, k) * sum(side * math.log1p(6 * (d + k) / (side * eps)) for side in (d, k))
        assert factors <= (d + k) * min(r, d, k) * math.log1p(12 / eps) * (1 + 1e-12)
        assert values["spectral"] == pytest.approx(min(factors, d * k * math.log1p(6 / eps)), rel=1e-9)
        moved = sound("li.lemB.6", **{**inputs, "B": 3.0, "eps": 2 * eps})
        assert moved["spectral"] == pytest.approx(values["spectral"], rel=1e-9)


def _numerical_minimum(r, C, beta, BX, eps):
    r, C, beta = (np.array(x, dtype=float) for x in (r, C, beta))

    def value(logits):
        share = np.exp(logits) / np.exp(logits).sum()
        return float(np.sum(r * C * np.log(r * BX**2 * beta**2 / (eps * share) ** 2)))

    return minimize(value, np.zeros(len(r)), method="BFGS", options={"gtol": 1e-10}).fun


@pytest.mark.independent("li.cor5.6")
@pytest.mark.counterexample("li.cor5.6")
@pytest.mark.parametrize("seed", range(5))
def test_the_allocation_is_the_minimum_and_the_printed_value_lies_below(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 6))
    problem = {
        "r": [int(x) for x in rng.integers(1, 9, size=m)],
        "C": [float(x) for x in rng.uniform(0.3, 2, size=m)],
        "beta": [float(x) for x in rng.uniform(0.5, 5, size=m)],
        "BX": float(rng.uniform(1, 8)),
        "eps": 0.01,
    }
    minimum = _numerical_minimum(**problem)
    assert sound("li.cor5.6", **problem)["value"] == pytest.approx(minimum, rel=1e-7)
    assert printed("li.cor5.6", **problem)["value"] < minimum * 0.95


@pytest.mark.counterexample("li.cor5.6")
def test_the_smallest_example_of_the_allocation():
    problem = {"r": [1, 1], "C": [1.0, 1.0], "beta": [1.0, 1.0], "BX": 3.0, "eps": 0.1}
    assert printed("li.cor5.6", **problem)["value"] == pytest.approx(12.79385931)
    assert _numerical_minimum(**problem) == pytest.approx(2 * math.log(9 / 0.05**2))


@pytest.mark.property_of("li.cor5.6")
@given(eps=st.floats(1e-4, 10), scale=st.floats(0.1, 10))
def test_the_allocation_spends_the_budget_and_never_goes_below_zero(eps, scale):
    problem = {"r": [1, 3], "C": [0.5, 2.0], "beta": [1.0, 2.5], "BX": 1.5, "eps": eps}
    values = sound("li.cor5.6", **problem)
    assert 1.0 * values["eps1"] + 2.5 * values["eps2"] == pytest.approx(eps)
    assert values["value"] >= 0.0
    scaled = sound("li.cor5.6", **{**problem, "BX": 1.5 * scale, "eps": eps * scale})
    assert scaled["value"] == pytest.approx(values["value"], rel=1e-9, abs=1e-9)
    for i, (r, C, beta) in enumerate([(1, 0.5, 1.0), (3, 2.0, 2.5)], start=1):
        assert values[f"b{i}"] == pytest.approx(1.5 * beta * 6.5 / (math.sqrt(r) * C))


def test_a_weight_that_never_reaches_the_output_costs_nothing():
    problem = {"r": [1, 2], "C": [1.0, 1.0], "beta": [1.0, 0.0], "BX": 3.0, "eps": 0.1}
    evaluation = find("li.cor5.6").evaluate(problem)
    assert evaluation.sound["value"].value == pytest.approx(math.log(9 / (0.1 / 3) ** 2))
    assert evaluation.sound["b2"].value == 0.0
    assert evaluation.printed["value"].value == -math.inf
    with pytest.raises(InputError, match="same length"):
        find("li.cor5.6").evaluate({**problem, "r": [1]})
    with pytest.raises(InputError, match="same length"):
        find("li.cor5.6").evaluate({**problem, "C": [1.0]})
