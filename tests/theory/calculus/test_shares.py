"""Whatever shares a search proposes, what is charged for them is the cost of radii that fit the budget."""

import math

import numpy as np
import pytest

from certiformer.theory.calculus.allocation import Term, _ln_sum, _Problem, network_cover, split
from certiformer.theory.calculus.covers import maurey, quadratic_cover, volumetric

TERMS = (
    Term("a", volumetric(2.0, 6), math.log(0.7)),
    Term("b", quadratic_cover(3.0, math.log(1.5)), math.log(1.3), 2),
    Term("c", maurey(1.2, 9), math.log(0.4)),
)


def charged(problem, ln_eps, shares):
    """The cost and the radii, checked: the errors they admit add up to eps at most, whatever was proposed."""
    ln_a = problem.ln_reach - ln_eps
    cost, radii = problem._evaluate(ln_eps, ln_a, np.asarray(shares))
    if math.isfinite(cost):
        errors = np.where(np.isinf(radii), problem.ln_reach, problem.ln_beta + radii)
        used = math.fsum(problem.copies * np.exp(errors))
        assert used <= math.exp(ln_eps)
        paid = sum(
            copies * cover.log_size_ln(float(radius))
            for copies, cover, radius in zip(problem.copies, problem.covers, radii, strict=True)
            if math.isfinite(radius)
        )
        assert cost == pytest.approx(paid, rel=1e-9)
        assert cost >= paid
        with np.errstate(divide="ignore"):
            quick = problem._costs(np.array([ln_eps]), np.asarray(shares)[:, None, None]).item()
        assert quick == pytest.approx(cost, rel=1e-6)
    return cost, radii


@pytest.mark.parametrize("ln_eps", [-3.0, -1.0, 0.3])
@pytest.mark.parametrize("total", [0.3, 0.9, 1.0, 1.02, 1.08, 1.5, 30.0])
def test_shares_are_made_to_fit(ln_eps, total):
    problem = _Problem.of(TERMS)
    ln_a = problem.ln_reach - ln_eps
    rng = np.random.default_rng(5)
    for _ in range(5):
        parts = rng.dirichlet(np.ones(3)) * total / problem.copies
        shares = np.minimum(np.log(parts) - ln_a, -1e-9)
        cost, radii = charged(problem, ln_eps, shares)
        assert math.isfinite(cost)
        if total <= 0.9:
            # what fits is left as it is, but for its rounding
            assert radii == pytest.approx(ln_eps + ln_a + shares - problem.ln_beta, abs=1e-9)


def test_what_is_given_up_uses_its_reach():
    problem = _Problem.of(TERMS)
    ln_eps = math.log(5.0)
    ln_a = problem.ln_reach - ln_eps
    reach = problem.copies * np.exp(ln_a)
    assert reach[0] < 0.5
    cost, radii = charged(problem, ln_eps, np.array([0.0, -1.0, -2.0]))
    assert radii[0] == math.inf
    assert math.isfinite(cost)
    for ln_less in (0.0, -0.02, -0.08):
        # one weight alone reaches nearly all of eps, or more: nothing is left for the others
        tight = math.log(float(problem.copies[1])) + float(problem.ln_reach[1]) + ln_less
        assert charged(problem, tight, np.array([-1.0, 0.0, -1.0]))[0] == math.inf
    nobody = math.log(float(np.sum(problem.copies * np.exp(problem.ln_reach))))
    assert charged(problem, nobody + 0.01, np.zeros(3))[0] == 0.0
    assert charged(problem, nobody - 0.01, np.zeros(3))[0] == math.inf
    for shift, expected in ((0.01, 0.0), (-0.01, math.inf)):
        with np.errstate(all="ignore"):
            assert problem._costs(np.array([nobody + shift]), np.zeros((3, 1, 1))).item() == expected


def test_sums_of_logarithms():
    parts = np.array([[0.0, 1.0], [-math.inf, -math.inf], [700.0, 800.0], [-800.0, -math.inf]])
    expected = [math.log(1.0 + math.e), -math.inf, 800.0, -800.0]
    with np.errstate(divide="ignore"):
        assert _ln_sum(parts).tolist() == pytest.approx(expected)


def test_no_weight_no_cost():
    frozen = Term("frozen", volumetric(1.0, 4), -math.inf)
    found = split((frozen,), 0.0)
    assert (found.ln_radii, found.log_size, found.dual) == ((math.inf,), 0.0, 0.0)
    assert network_cover((frozen,)).log_size(1e-9) == 0.0
    both = split((frozen, TERMS[0]), -1.0)
    assert both.ln_radii[0] == math.inf
    assert both.log_size == pytest.approx(TERMS[0].cover.log_size(math.exp(-1.0) / 0.7), rel=1e-6)
    assert split(TERMS, -math.inf).log_size == math.inf
