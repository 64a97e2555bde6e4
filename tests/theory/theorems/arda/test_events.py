"""The event E_R, the neighbourhood Omega_rho and the norms of Gaussian vectors, against mpmath and simulation."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from certiformer.theory.calculus.activations import activation
from certiformer.theory.core import InputError, find
from certiformer.theory.theorems.arda._heads import averaged, common, exact_radius, gaussian_radius, initial_norms
from certiformer.theory.theorems.arda.fact_4 import TINY


def sound(id: str, **inputs: object) -> dict[str, float]:
    return {name: bound.value for name, bound in find(id).evaluate(inputs).sound.items()}


def chi_tail(d: int, radius: float) -> mpmath.mpf:
    """P(||g|| > radius), g ~ N(0, I_d)."""
    return mpmath.gammainc(mpmath.mpf(d) / 2, mpmath.mpf(radius) ** 2 / 2, regularized=True)


@pytest.mark.independent("arda.fact4", "arda.def1")
@pytest.mark.parametrize(("d", "t", "pairs"), [(1, 1.5, 1), (4, 2.0, 32), (8, 6.0, 500_000), (300, 0.7, 3)])
def test_tails_against_the_incomplete_gamma_function(d: int, t: float, pairs: int) -> None:
    with mpmath.workdps(30):
        exact = float(1 - (1 - chi_tail(d, mpmath.sqrt(d) + t)) ** pairs)
    union = pairs * math.exp(-t * t / 2)
    single = sound("arda.fact4", d=d, t=t, copies=pairs)
    event = sound("arda.def1", m=2 * pairs, d=d, R=t)
    for bounds in (single, event):
        assert exact <= bounds["exact"] <= exact * (1 + 2e-9)
        assert bounds["value"] == pytest.approx(min(1.0, union), rel=1e-11)
        assert bounds["exact"] <= bounds["value"]
    assert find("arda.fact4").evaluate({"d": d, "t": t, "copies": pairs}).printed["value"].value == pytest.approx(union)
    assert find("arda.def1").evaluate({"m": 2 * pairs, "d": d, "R": t}).printed["value"].value == pytest.approx(union)


@pytest.mark.independent("arda.fact4", "arda.def1", "arda.def2")
def test_simulated_norms_exceed_the_bounds_as_rarely_as_promised() -> None:
    rng = np.random.default_rng(11)
    m, d, delta_R, runs = 16, 3, 0.2, 4000
    largest = np.linalg.norm(rng.normal(size=(runs, m // 2, d)), axis=2).max(axis=1)
    radii = sound("arda.def2", m=m, d=d, rho_c=1, rho_u=1e-300, rho_w=1, delta_R=delta_R)
    assert np.mean(largest > radii["B"]) <= delta_R / 4  # concentration is generous
    # the exact quantile is exact: three standard errors either way
    rate, error = np.mean(largest > radii["B_exact"]), math.sqrt(delta_R * (1 - delta_R) / runs)
    assert abs(rate - delta_R) < 3 * error
    t = 0.8
    exact = sound("arda.def1", m=m, d=d, R=t)["exact"]
    rate = np.mean(largest > math.sqrt(d) + t)
    assert abs(rate - exact) < 3 * math.sqrt(exact * (1 - exact) / runs)


@pytest.mark.property_of("arda.fact4", "arda.def1")
def test_probabilities_never_vanish_and_never_exceed_one() -> None:
    far = sound("arda.fact4", d=2, t=100, copies=1)
    assert far["value"] == far["exact"] == pytest.approx(TINY)
    assert TINY == 2.0**-1022
    assert sound("arda.def1", m=4, d=2, R=200)["exact"] > 0
    assert sound("arda.def1", m=4, d=2, R=200)["value"] > 0
    certain = {"fact4": {"d": 2, "t": 0.01, "copies": 10**6}, "def1": {"m": 10**6, "d": 2, "R": 0.01}}
    for kind, inputs in certain.items():
        assert sound(f"arda.{kind}", **inputs) == {"value": 1.0, "exact": 1.0}
    with mpmath.workdps(30):
        true = chi_tail(3, mpmath.sqrt(3) + 2)
    assert float(sound("arda.fact4", d=3, t=2, copies=1)["exact"] / true - 1) == pytest.approx(1.01e-10, rel=0.03)
    near = find("arda.def1").evaluate({"m": 1000, "d": 2, "R": 0.1})
    assert near.sound["value"].value == 1.0
    assert near.sound["value"].clipped
    assert near.printed["value"].value > 400
    assert not find("arda.def1").evaluate({"m": 9, "d": 2, "R": 3}).sound["value"].applies
    assert find("arda.def1").evaluate({"m": 8, "d": 2, "R": 3}).sound["exact"].applies


@pytest.mark.independent("arda.def2")
def test_radius_inverts_the_tail() -> None:
    for m, d, delta_R in ((2, 1, 0.5), (64, 4, 0.1), (10**6, 8, 0.01), (2, 50, 1e-9)):
        R = gaussian_radius(m, delta_R)
        assert m / 2 * math.exp(-R * R / 2) == pytest.approx(delta_R, rel=1e-12)
        B = exact_radius(m, d, delta_R)
        with mpmath.workdps(40):
            failure = 1 - (1 - chi_tail(d, B)) ** (m // 2)
            inside = 1 - (1 - chi_tail(d, B * (1 - 1e-8))) ** (m // 2)
        assert failure <= delta_R < inside
        assert math.sqrt(d) + R >= B


@pytest.mark.property_of("arda.def2")
def test_quantiles_that_cannot_be_confirmed_are_not_used() -> None:
    # one draw in one dimension: inflating the square by 1e-9 lowers the tail by half of 1e-9 (1 - delta_R)
    def fallback(delta_R):
        return 1 + math.sqrt(-2 * math.log(delta_R))

    assert exact_radius(2, 1, 0.99) == pytest.approx(fallback(0.99), rel=1e-12)
    assert exact_radius(2, 1, 1 - 0.0190) == pytest.approx(fallback(1 - 0.0190), rel=1e-12)
    assert exact_radius(2, 1, 1 - 0.0208) < 0.03
    with mpmath.workdps(30):
        quantile = mpmath.sqrt(2) * mpmath.erfinv(mpmath.mpf("0.9"))
    assert (exact_radius(2, 1, 0.1) / float(quantile)) ** 2 - 1 == pytest.approx(1e-9, rel=0.02)


@pytest.mark.property_of("arda.def2")
def test_neighbourhood_formulas() -> None:
    inputs = {"m": 16, "d": 9, "rho_c": 2.0, "rho_u": 4.0, "rho_w": 5.0, "delta_R": 0.08}
    evaluation = find("arda.def2").evaluate(inputs)
    bounds = {name: bound.value for name, bound in evaluation.sound.items()}
    assert bounds["c"] == pytest.approx(1.5, rel=1e-11)
    assert bounds["B"] == pytest.approx(3 + math.sqrt(2 * math.log(100)) + 1, rel=1e-11)
    assert bounds["B_exact"] == pytest.approx(exact_radius(16, 9, 0.08) + 1, rel=1e-11)
    assert bounds["distance"] == pytest.approx(math.sqrt(45), rel=1e-11)
    assert evaluation.printed["c"].value == 1.5
    assert evaluation.printed["B"].value == pytest.approx(bounds["B"], rel=1e-11)
    assert all(bound.applies for bound in evaluation.sound.values())
    assert not find("arda.def2").evaluate(inputs | {"m": 15}).sound["B"].applies
    assert not find("arda.def2").evaluate(inputs | {"m": 15}).sound["B_exact"].applies


@pytest.mark.property_of("arda.lem2")
def test_averages_over_heads_lie_below_the_worst_head() -> None:
    norms, sigma = (0.5, 1.5, 2.5), activation("tanh")
    average, worst = averaged(sigma, norms), common(sigma, max(norms))
    assert pytest.approx((1 + 1.5 + 2.5) / 3, rel=1e-14) == average.L1
    assert average.L1_squared == pytest.approx((1 + 2.25 + 6.25) / 3, rel=1e-14)
    assert pytest.approx(sum(common(sigma, norm).L2 for norm in norms) / 3, rel=1e-14) == average.L2
    assert average.L1 < worst.L1
    assert average.L2 < worst.L2
    assert worst.L1_squared == worst.L1**2
    assert average.s0 == worst.s0 == 1.0


def test_the_number_of_initial_norms_is_checked() -> None:
    assert initial_norms([1.0, 2.0], 4) == (1.0, 2.0)
    assert initial_norms([1.0, 2.0, 1.0, 2.0], 4) == (1.0, 2.0, 1.0, 2.0)
    with pytest.raises(InputError, match="u_norms: got '3 numbers', expected 2"):
        initial_norms([1.0, 2.0, 3.0], 4)
