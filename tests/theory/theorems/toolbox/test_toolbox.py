"""The tools against exact enumeration, quadrature and high-precision arithmetic."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import certiformer
from certiformer.theory.calculus import rademacher
from certiformer.theory.core.errors import InputError


def cube(n):
    return np.array(list(itertools.product((-1.0, 1.0), repeat=n)))


@pytest.mark.counterexample("dudley")
def test_the_printed_constant_one_is_false_on_the_cube():
    # ln N(eps) = n ln 2 below the radius 1, so inf_delta (delta + (1-delta) sqrt(ln 2)) = sqrt(ln 2) < 1 = Rad.
    assert rademacher.exact(cube(4)) == 1.0
    delta = np.linspace(0, 1, 1001)
    assert np.min(delta + (1 - delta) * math.sqrt(math.log(2))) < 0.84


@pytest.mark.independent("dudley")
@pytest.mark.parametrize("n", [4, 8])
def test_dudley_holds_for_a_class_that_is_enumerated(n):
    # All sign vectors scaled by 1/sqrt(n): an l2-bounded class; ln N(eps) <= n ln 2 <= C/eps^2 for eps < radius.
    radius = 1 / math.sqrt(n)
    values = cube(n) * radius
    complexity = rademacher.exact(values)
    constant = n * math.log(2) * radius**2
    for bound in certiformer.bound("dudley", C=constant, D=radius, n=n).sound.values():
        assert complexity <= bound.value * (1 + 1e-12)


@pytest.mark.independent("dudley")
def test_closed_forms_bound_the_integral_they_come_from():
    c, radius, n = 0.7, 2.0, 5000

    def classical(delta):
        integral = mpmath.quad(lambda e: mpmath.sqrt(c) / e, [delta, radius / 2])
        return float(4 * delta + 12 / math.sqrt(n) * integral)

    best = min(classical(delta) for delta in np.geomspace(1e-4, radius / 2, 60))
    sound = certiformer.bound("dudley", C=c, D=radius, n=n).sound
    assert sound["closed_half"].value <= best * (1 + 1e-9)
    assert sound["closed_half"].value == pytest.approx(best, rel=1e-2)
    assert sound["closed_half"].value <= sound["closed"].value


@pytest.mark.property_of("dudley")
@given(scale=st.floats(0.01, 100))
def test_dudley_is_homogeneous(scale):
    one = certiformer.bound("dudley", C=2, D=1, n=5000).sound
    many = certiformer.bound("dudley", C=2 * scale**2, D=scale, n=5000).sound
    for name, bound in one.items():
        assert many[name].value == pytest.approx(scale * bound.value, rel=1e-6)


@pytest.mark.property_of("dudley")
def test_an_external_class_does_not_get_the_proper_chain():
    evaluation = certiformer.bound("dudley", C=2, D=1, n=10000, proper=False)
    assert not evaluation.sound["chain"].applies
    assert evaluation.best == "chain_external"


@pytest.mark.independent("strata")
def test_the_weights_of_the_strata_sum_to_one():
    total = sum(math.exp(-certiformer.bound("strata", j=[j]).sound["value"].value) for j in range(-3000, 3001))
    assert 0.999 < total <= 1.0


@pytest.mark.property_of("strata")
@given(st.lists(st.integers(-50, 50), min_size=1, max_size=5))
def test_strata_add_up_and_grow_with_distance(indices):
    value = certiformer.bound("strata", j=indices).sound["value"].value
    parts = [certiformer.bound("strata", j=[j]).sound["value"].value for j in indices]
    assert value == pytest.approx(sum(parts))
    assert certiformer.bound("strata", j=[indices[0] + (1 if indices[0] >= 0 else -1)]).sound["value"].value > parts[0]


@pytest.mark.independent("binomial")
@pytest.mark.parametrize(("k", "n", "delta"), [(0, 1, 0.5), (3, 10, 0.05), (35, 4780, 0.05), (999, 1000, 0.01)])
def test_binomial_against_exact_arithmetic(k, n, delta):
    p = certiformer.bound("binomial", errors=k, n=n, delta=delta).sound["value"].value
    with mpmath.workdps(50):

        def tail(x):
            x = mpmath.mpf(x)
            return mpmath.fsum(mpmath.binomial(n, i) * x**i * (1 - x) ** (n - i) for i in range(k + 1))

        assert tail(p) <= delta
        assert tail(p * (1 - 1e-10)) > delta * (1 - 1e-6)


@pytest.mark.independent("binomial")
def test_binomial_coverage_by_enumeration():
    n, delta = 12, 0.1
    limits = [certiformer.bound("binomial", errors=k, n=n, delta=delta).sound["value"].value for k in range(n + 1)]
    for p in np.linspace(0.01, 0.99, 99):
        missed = sum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1) if limits[k] < p)
        assert missed <= delta


@pytest.mark.property_of("binomial")
@given(n=st.integers(1, 3000), share=st.floats(0, 1), delta=st.floats(1e-12, 0.5))
def test_exact_is_tightest(n, share, delta):
    sound = certiformer.bound("binomial", errors=int(share * n), n=n, delta=delta).sound
    assert int(share * n) / n <= sound["value"].value <= sound["kl"].value * (1 + 1e-11)
    assert sound["kl"].value <= sound["hoeffding"].value * (1 + 1e-11)


def test_more_errors_than_examples_is_an_error():
    with pytest.raises(InputError, match="errors"):
        certiformer.bound("binomial", errors=11, n=10, delta=0.1)


@pytest.mark.independent("kl_inverse")
@pytest.mark.parametrize(("q", "c"), [(0.01, 0.01), (0.3, 1e-6), (0.5, 3.0), (0.0, 0.03), (0.999, 0.5)])
def test_kl_inverse_against_high_precision(q, c):
    p = certiformer.bound("kl_inverse", q=q, budget=c).sound["value"].value

    def kl(x):
        x, y = mpmath.mpf(x), mpmath.mpf(q)
        left = y * mpmath.log(y / x) if q > 0 else 0
        return left + (1 - y) * mpmath.log((1 - y) / (1 - x))

    with mpmath.workdps(50):
        assert p == 1.0 or kl(p) >= c
        assert kl(p - 1e-9 * (p - q)) <= c * (1 + 1e-6)


@pytest.mark.property_of("kl_inverse")
@given(q=st.floats(0, 1), c=st.floats(0, 5))
def test_kl_inverse_lies_between_q_and_pinsker(q, c):
    sound = certiformer.bound("kl_inverse", q=q, budget=c).sound
    assert q <= sound["value"].value <= sound["pinsker"].value * (1 + 1e-11) + 1e-15
