"""The printed claims that are false, each with the example that shows it; the sound bounds hold on the same ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.special import gammaln

from certiformer.theory.core import find

ONE_HEAD = {"Bw": 1.0, "Bc": 1.0, "Bv": 1.0, "L_sigma": 1.0}


def evaluate(id, **inputs):
    return find(id).evaluate(inputs)


# --- CE1 to CE4: one-dimensional Transformers, T = d = k = 1 -----------------------------------------------------


def clipped_second_moment(deviation):
    """E min(1, Z^2) for Z ~ N(0, deviation^2): the excess risk of the clipped mean under the squared loss."""
    inside = quad(lambda z: z**2 * stats.norm.pdf(z, scale=deviation), -1, 1, epsabs=1e-14)[0]
    return inside + 2 * stats.norm.sf(1, scale=deviation)


def offset_of_squares(n, beta):
    """R^off of {x -> theta^2 : |theta| <= 1} at x = 1: E sup_{u in [0,1]} u S/n - beta u^2, S a sum of n signs."""
    k = np.arange(n + 1)
    s = np.maximum(0.0, (2 * k - n) / n)
    u = np.minimum(1.0, s / (2 * beta))
    return float(np.sum(stats.binom.pmf(k, n, 0.5) * (u * s - beta * u**2)))


@pytest.mark.counterexample("li.thm4.4", "li.thm4.7", "li.thm4.11")
@pytest.mark.parametrize(("n", "s"), [(100, 100.0), (10_000, 1000.0)])
def test_noise_that_kappa_ignores(n, s):
    """CE1: squared loss, X = 1, |f| <= 1, Y ~ N(0, s^2). Assumption 4.3 allows kappa = 2, whatever s."""
    excess = clipped_second_moment(s / math.sqrt(n))
    roff = offset_of_squares(n, 1 / 8)
    common = {"kappa": 2.0, "B": 1.0, "Roff": roff}
    claims = [
        evaluate("li.thm4.4", **ONE_HEAD, BX=1.0, **common),
        evaluate("li.thm4.7", **ONE_HEAD, BX=1.0, H=1, **common),
        evaluate("li.thm4.11", Bw=1.0, **common),
    ]
    for claim, name in zip(claims, ("M_SH", "M_MH", "M_ML"), strict=True):
        assert claim.printed[name].value == 8.0
        assert claim.printed["value"].value < excess / 20
        # The sound form for noise-free labels is not claimed to apply.
        assert not claim.sound["C"].applies


@pytest.mark.counterexample("li.cor4.5", "li.cor4.8", "li.cor4.13")
@pytest.mark.independent("li.cor4.5", "li.cor4.8", "li.cor4.13")
def test_noise_that_the_corollaries_ignore():
    """CE1 for the corollaries; S2 knows the noise and holds."""
    n, s, radius = 10_000, 1000.0, 1e-4
    excess = clipped_second_moment(s / math.sqrt(n))
    cover = {"n": n, "logN": math.log(1 / radius), "radius": radius, "kappa": 2.0}
    flags = {"squared_loss": 1, "well_specified": 1}
    claims = [
        evaluate("li.cor4.5", **cover, M_SH=8.0, V=1.0, M=1.0, b_h=1.0, sigma=s, **flags),
        evaluate("li.cor4.8", **cover, **ONE_HEAD, B=1.0, Bx=1.0, BX=1.0, H=1, sigma=s, **flags),
        evaluate("li.cor4.13", **cover, Bw=1.0, B=1.0, sigma=s, **flags),
    ]
    for claim in claims:
        assert claim.printed["value"].value == pytest.approx(0.0179, abs=1e-4)
        assert claim.printed["value"].value < excess
        assert claim.sound["S2"].applies
        assert claim.sound["S2"].value >= excess


@pytest.mark.counterexample("li.cor4.5", "li.thm4.4")
@pytest.mark.independent("li.cor4.5")
def test_absolute_loss_with_flat_noise():
    """CE2: absolute loss (kappa = 1 honestly), Bayes in the class, Y ~ N(0, n): the excess decays like n^(-1/2)."""
    n = 10**6 + 1
    s = math.sqrt(n)
    half = (n + 1) / 2
    law = stats.beta(half, half)  # the median's quantile level
    sd = law.std()

    def excess_at(u):
        theta = min(1.0, abs(s * stats.norm.ppf(u)))
        t = theta / s
        return s * t**2 * stats.norm.pdf(0) * (1 - t**2 / 12)  # E|Y - theta| - E|Y|, relative error below t^4

    levels = np.linspace(0.5 - 9 * sd, 0.5 + 9 * sd, 4001)
    excess = float(np.trapezoid([excess_at(u) * law.pdf(u) for u in levels], levels))
    assert excess == pytest.approx(2.392e-4, rel=1e-2)
    claim = evaluate(
        "li.cor4.5", n=n, logN=math.log(1e6), kappa=1.0, M_SH=4.0, V=1.0, M=2.0, radius=1e-6, well_specified=1
    )
    assert claim.printed["value"].value == pytest.approx(1.265e-4, rel=1e-3)
    assert claim.printed["value"].value < excess
    assert claim.best == "S4"
    assert claim.sound["S4"].value >= excess
    assert not claim.sound["S1"].applies  # nobody claimed a Bernstein condition


@pytest.mark.counterexample("li.cor4.5", "li.cor4.8", "li.cor4.13")
def test_a_cross_that_misses_the_target():
    """CE3: u relu(v x), x = +-1, is the cross {(s,0)} u {(0,s)}; squared loss, P(Y=1|x) = 1/2 +- 1/(2 sqrt n)."""
    rng = np.random.default_rng(0)
    n, runs = 10**8, 20_000
    h = 0.5 / math.sqrt(n)
    plus, minus = 0.5 + h, 0.5 - h
    n1 = rng.binomial(n, 0.5, size=runs)
    y1, y2 = rng.binomial(n1, plus) / n1, rng.binomial(n - n1, minus) / (n - n1)
    first = n1 * y1**2 >= (n - n1) * y2**2  # the branch that explains more
    excess = np.where(first, 0.5 * (y1 - plus) ** 2, 0.5 * ((y2 - minus) ** 2 + plus**2 - minus**2)).mean()
    assert math.sqrt(n) * excess == pytest.approx(0.093, abs=0.005)
    radius = 1e-8
    claim = evaluate("li.cor4.5", n=n, logN=math.log(2 / radius), kappa=2.0, M_SH=8.0, V=1.0, M=1.0, radius=radius)
    assert claim.printed["value"].value < excess
    assert claim.sound["S4"].value >= excess


@pytest.mark.counterexample("li.cor4.5")
@pytest.mark.independent("li.cor4.5")
def test_large_labels():
    """CE4: squared loss, honest kappa = 2(s+1), well specified, Y = +-s: the scale is 4 Var(Y|x), not M."""
    n, s, radius = 10**8, 1000.0, 1e-8
    excess = clipped_second_moment(s / math.sqrt(n))
    kappa = 2 * (s + 1)
    claim = evaluate(
        "li.cor4.5",
        n=n,
        logN=math.log(1 / radius),
        kappa=kappa,
        M_SH=4 * kappa,
        V=1 + 4 * s**2,
        M=s**2,
        radius=radius,
        b_h=1.0,
        sigma=s,
        bernstein=1,
        squared_loss=1,
        well_specified=1,
    )
    assert claim.printed["value"].value < excess
    assert claim.sound["S1"].applies
    assert claim.sound["S1"].value >= excess
    assert claim.sound["S2"].value >= excess


# --- regression on a basis: x = e_J uniform, Y = +-1, theta* = 0 -------------------------------------------------


def basis_regression(d, n, power, runs, seed=0):
    """Mean excess risk of least squares, exact in law: (1/d) sum_j (mean of n_j signs)^2, constraint inactive."""
    rng = np.random.default_rng(seed)
    values = []
    for _ in range(runs):
        counts = rng.multinomial(n, np.full(d, 1 / d))
        means = (2.0 * rng.binomial(counts, 0.5) - counts) / counts
        assert np.sum(np.abs(means) ** power) <= 1
        values.append(np.mean(means**2))
    return float(np.mean(values))


def smallest_claim(id, radii, **inputs):
    """The printed bound at its best radius, where it claims anything."""
    result = find(id)
    claims = [result(**{**inputs, "radius": float(r)}).printed()["value"] for r in radii]
    return min(claim.value for claim in claims if claim.applies)


NORM_CLASS = {"k": 1, **ONE_HEAD, "BQK": 1.0, "kappa": 4.0, "B": 1e-9, "sigma": 1.0}
RANK_CLASS = {**NORM_CLASS, "rw": 1, "rc": 1, "rv": 1, "rqk": 1}
UNIT = {"Bx": 1.0, "BX": 1.0}


@pytest.mark.counterexample("li.thmB.1", "li.thmB.2", "li.thm5.3")
@pytest.mark.independent("li.thmB.1", "li.thmB.2", "li.thm5.3")
def test_regression_in_the_l1_ball():
    """d = 5000, n = 10^12: the excess is d/n; the printed bounds see only norms."""
    d, n = 5000, 10**12
    excess = basis_regression(d, n, power=1, runs=10)
    assert excess == pytest.approx(d / n, rel=0.05)
    radii = np.exp(np.linspace(-32, -18, 29))
    flags = {"squared_loss": 1, "well_specified": 1, "radius": 1e-9}
    for id, extra in (("li.thmB.1", {}), ("li.thmB.2", {"H": 1}), ("li.thm5.3", {"layers": 1})):
        inputs = {**NORM_CLASS, **UNIT, **extra, "d": d, "n": n}
        assert smallest_claim(id, radii, **inputs) < excess / 2
        claim = find(id).evaluate({**inputs, **flags})
        assert claim.sound["S2_opt"].applies
        assert claim.sound["S2_opt"].value >= excess
        assert claim.sound["S4chain"].value >= excess


@pytest.mark.counterexample("li.thmB.1")
def test_no_polylog_over_n_in_the_norms_alone():
    """With d = 0.8 n^(1/3) the excess risk decays like n^(-2/3)."""
    sizes = (10**6, 10**9)
    excess = [basis_regression(int(0.8 * n ** (1 / 3)), n, power=1, runs=60) for n in sizes]
    slope = math.log(excess[1] / excess[0]) / math.log(sizes[1] / sizes[0])
    assert slope == pytest.approx(-2 / 3, abs=0.02)


@pytest.mark.counterexample("li.thmB.4", "li.thmB.5")
@pytest.mark.independent("li.thmB.4", "li.thmB.5")
def test_regression_in_the_rank_one_class():
    """d = 200, n = 400000, all ranks one: the excess is d/n whatever the rank."""
    d, n = 200, 400_000
    excess = basis_regression(d, n, power=2, runs=200)
    radii = np.exp(np.linspace(-20, -4, 33))
    for id, extra in (("li.thmB.4", {}), ("li.thmB.5", {"H": 1})):
        inputs = {**RANK_CLASS, **UNIT, **extra, "d": d, "n": n}
        assert smallest_claim(id, radii, **inputs) < excess / 2
        claim = find(id).evaluate({**inputs, "radius": 1e-4, "squared_loss": 1, "well_specified": 1})
        for variant in ("S2", "S2_opt", "closed", "S4_opt", "S4chain"):
            assert claim.sound[variant].applies
            assert claim.sound[variant].value >= excess


@pytest.mark.counterexample("li.thm5.8")
@pytest.mark.independent("li.thm5.8")
def test_regression_in_the_rank_one_class_of_one_layer():
    d, n = 5000, 10**8
    excess = basis_regression(d, n, power=2, runs=8)
    assert excess == pytest.approx(d / n, rel=0.05)
    inputs = {**RANK_CLASS, **UNIT, "layers": 1, "d": d, "n": n}
    assert smallest_claim("li.thm5.8", np.exp(np.linspace(-24, -8, 33)), **inputs) < excess / 2
    claim = find("li.thm5.8").evaluate({**inputs, "radius": 1e-6, "squared_loss": 1, "well_specified": 1})
    assert claim.sound["S2_opt"].value >= excess


@pytest.mark.counterexample("li.thm6.4", "li.thm6.5", "li.thm6.6")
@pytest.mark.independent("li.thm6.4", "li.thm6.5", "li.thm6.6")
def test_bounded_inputs_refute_the_sub_gaussian_theorems():
    """||X|| = 1 satisfies Assumption 6.2 with nu = 1; at M = 12 the truncation error is below 1e-24."""
    d, n = 50_000, 10**15
    excess = basis_regression(d, n, power=1, runs=3)
    radii = np.exp(np.linspace(-38, -24, 29))
    for id, extra in (("li.thm6.4", {}), ("li.thm6.5", {"H": 1}), ("li.thm6.6", {"layers": 1})):
        inputs = {**NORM_CLASS, **extra, "d": d, "n": n, "M": 12.0, "T": 1, "nu": 1.0, "a": 1.0 + d, "v": 1.0}
        confined = {} if "layers" in extra else {"clipped": 1}  # clipping at B = 1 changes nothing here
        flags = {"B": 1.0, "radius": 1e-12, "squared_loss": 1, "well_specified": 1, **confined}
        claim = find(id).evaluate({**inputs, **flags})
        assert claim.printed["T_err"].value < 1e-24
        assert smallest_claim(id, radii, **inputs) < excess / 2
        assert claim.sound["S7clip_sq_opt"].applies
        assert claim.sound["S7clip_sq_opt"].value >= excess


@pytest.mark.counterexample("li.thm6.9", "li.thm6.10", "li.thm6.11")
@pytest.mark.independent("li.thm6.9", "li.thm6.10", "li.thm6.11")
def test_bounded_inputs_refute_the_heavy_tailed_theorems():
    """||X|| = 1 satisfies Assumption 6.8 with C = 1 and every beta; at beta = 100, M = 1.5 the bias is negligible."""
    d, n = 200, 400_000
    excess = basis_regression(d, n, power=2, runs=200)
    radii = np.exp(np.linspace(-20, -4, 33))
    tail = {"M": 1.5, "C": 1.0, "beta": 100.0}
    for id, extra in (("li.thm6.9", {}), ("li.thm6.10", {"H": 1})):
        inputs = {**RANK_CLASS, **extra, **tail, "d": d, "n": n}
        assert smallest_claim(id, radii, **inputs) < excess
        flags = {"B": 1.0, "radius": 1e-4, "squared_loss": 1, "well_specified": 1, "clipped": 1}
        claim = find(id).evaluate({**inputs, **flags})
        assert claim.printed["bias"].value < 1e-15
        for variant in ("S8", "S8_opt", "S7clip_sq"):
            assert claim.sound[variant].applies
        assert claim.sound["S8_opt"].value >= excess
    d, n = 5000, 10**8
    inputs = {**RANK_CLASS, **tail, "layers": 1, "d": d, "n": n}
    assert smallest_claim("li.thm6.11", np.exp(np.linspace(-24, -8, 33)), **inputs) < d / n / 2
    claim = find("li.thm6.11").evaluate({**inputs, "radius": 1e-6, "squared_loss": 1, "well_specified": 1})
    assert claim.sound["S7clip_sq_opt"].value >= d / n


# --- covering numbers, tails, rates ------------------------------------------------------------------------------


@pytest.mark.counterexample("li.thmB.1")
@pytest.mark.parametrize(("d", "delta"), [(3, 0.002), (10, 0.05)])
def test_the_log_of_the_log_is_below_the_covering_number(d, delta):
    """The class contains the l1 ball: N >= vol(l1)/vol(delta l2); log(gamma^3/delta^2) is smaller than log N."""
    log_n = d * math.log(2) - gammaln(d + 1) - (d / 2 * math.log(math.pi) - gammaln(d / 2 + 1) + d * math.log(delta))
    claim = evaluate("li.thmB.1", **NORM_CLASS, **UNIT, d=d, n=1000, radius=delta)
    gamma = claim.printed["gamma"].value
    assert math.log(gamma**3 / delta**2) < log_n
    assert claim.sound["logN"].value >= log_n
    # The printed gamma does not see B_QK at all.
    other = evaluate("li.thmB.1", **{**NORM_CLASS, "BQK": 100.0}, **UNIT, d=d, n=1000, radius=delta)
    assert other.printed["gamma"].value == gamma
    assert other.sound["gamma"].value > 5 * claim.sound["gamma"].value


@pytest.mark.counterexample("li.ass6.2")
@pytest.mark.independent("li.ass6.2")
def test_sub_gaussian_inputs_at_their_median():
    """Entries N(0, s^2), T = d = 1: at the median the probability is 1/2."""
    for s in (0.1, 0.05):
        median = s * stats.norm.ppf(0.75)
        claim = evaluate("li.ass6.2", T=1, d=1, nu=s**2, t=median, spectral=s**2)
        assert claim.printed["value"].value < 1e-9
        assert min(claim.sound["series"].value, claim.sound["tokens"].value) >= 0.5
    # Dimensionally corrected, it is still false for the Frobenius norm of a 20 x 20 Gaussian matrix.
    median = math.sqrt(stats.chi2(400).median())
    assert evaluate("li.ass6.2", T=20, d=20, nu=math.sqrt(20.0), t=median).printed["value"].value < 0.002


@pytest.mark.independent("li.lem6.1", "li.ass6.2")
def test_matrix_series_by_simulation():
    rng = np.random.default_rng(0)
    for shape in ((5, 5), (12, 4)):
        norms = np.array([np.linalg.norm(rng.normal(size=shape), 2) for _ in range(1500)])
        v = float(max(shape))
        for t in (2.0, 5.0, 6.0, 7.0):
            claim = evaluate("li.lem6.1", v=v, d1=shape[0], d2=shape[1], t=t)
            assert np.mean(norms >= t) <= claim.sound["tail"].value + 1e-9
            assert norms.mean() <= claim.sound["E"].value
            series = evaluate("li.ass6.2", T=shape[0], d=shape[1], nu=v, t=t)
            assert series.sound["series"].value == pytest.approx(claim.sound["tail"].value)


@pytest.mark.counterexample("li.rem6.7")
@pytest.mark.independent("li.rem6.7")
def test_the_threshold_without_its_constant():
    """Rayleigh inputs have exactly the tail exp(-t^2/2): at sqrt(log n) it is n^(-1/2), not O(1/n)."""
    n = 10_000
    claim = evaluate("li.rem6.7", a=1.0, v=1.0, n=n)
    printed_tail = stats.rayleigh.sf(claim.printed["M"].value)
    assert printed_tail == pytest.approx(n**-0.5)
    assert printed_tail > 50 / n
    assert stats.rayleigh.sf(claim.sound["M"].value) <= claim.sound["P_at_M"].value <= 1 / n * (1 + 1e-9)


@pytest.mark.counterexample("li.rem6.12")
@pytest.mark.independent("li.rem6.12")
@pytest.mark.parametrize(("beta", "slope"), [(2.5, 1.0), (3.0, 0.0), (5.0, -2 / 3)])
def test_the_printed_threshold_contradicts_the_printed_rate(beta, slope):
    """At the printed M the prefactor M/n of Theorems 6.9 and 6.10 grows, stands still, or decays too slowly."""
    small, large = (evaluate("li.rem6.12", n=n, beta=beta) for n in (10**4, 10**8))
    measured = math.log(large.printed["M_over_n"].value / small.printed["M_over_n"].value) / math.log(10**4)
    assert measured == pytest.approx(slope, abs=1e-9)
    rate = math.log(large.printed["rate"].value / small.printed["rate"].value) / math.log(10**4)
    assert measured > rate + 0.05
    assert not large.printed["rate"].applies
    # What the threshold should be, by minimising M/n + M^-(beta-2) numerically: it has the printed rate.
    n = 10**8
    M = np.exp(np.linspace(0, 30, 4001))
    best = M[np.argmin(M / n + M ** -(beta - 2))]
    assert math.log(best) / math.log(n) == pytest.approx(1 / (beta - 1), abs=0.03)
