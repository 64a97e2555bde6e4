"""Lemmas 1, 2 and 6 and Theorem 5: real encoders perturbed and searched, classes that shatter, sums written out."""

import importlib.util
import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from certiformer.theory import networks
from certiformer.theory.calculus.rademacher import exact
from certiformer.theory.core import InputError, find
from certiformer.theory.theorems.mwigo import _shallow

_spec = importlib.util.spec_from_file_location("mwigo_encoder", Path(__file__).with_name("encoder.py"))
encoder = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(encoder)

NORMS = {"WQF": 8**0.5, "WKF": 8**0.5, "WVF": 8**0.5, "wOF": 1.0, "WQ2": 2.0, "WK2": 2.0, "WV2": 2.0}
SIZES = {"n": 10**8, "ds": 4, "d": 8, "dm": 8, "RX": 0.5, "RQ": 0.1, "RK": 0.1, "RV": 0.1, "RO": 0.1}
SMALL = {**SIZES, "B": 0.5, **NORMS}
TRAINED = {"alpha": 0.5, "delta": 0.05, "LS": 0.01, "ymax": 1}


def values(id, **inputs):
    return {name: bound.value for name, bound in find(id).evaluate(inputs).sound.items()}


def half_diameter(X):
    return max(np.linalg.norm(a - b) for x in X for a, b in itertools.combinations(x, 2)) / 2


@pytest.mark.independent("mwigo.lem1", "mwigo.lem2", "mwigo.thm5")
@pytest.mark.parametrize("seed", range(25))
def test_perturbation_inequality_on_real_encoders(seed):
    rng = np.random.default_rng(seed)
    n, ds, d, dm = 3, 4, 3, 5
    X = rng.normal(size=(n, ds, d)) * rng.choice([0.3, 1.0, 2.0])
    B, rho = np.linalg.norm(X, axis=2).max(), half_diameter(X)
    start = encoder.initial(rng, d, dm)
    radii = dict(zip(("RQ", "RK", "RV", "RO"), rng.uniform(0.05, 1.0, 4), strict=True))
    one, two = (
        [encoder.inside(rng, W, r, rng.uniform()) for W, r in zip(start, radii.values(), strict=True)] for _ in range(2)
    )
    (Q, K, V, o), (Qh, Kh, Vh, oh) = one, two
    A, Ah = K.T @ Q / math.sqrt(dm), Kh.T @ Qh / math.sqrt(dm)
    tokens = X.reshape(-1, d).T
    net = _shallow.ShallowEncoder(n=n, ds=ds, d=d, dm=dm, RX=B, **radii, **encoder.norms(*start), B=B, rho=rho)
    change = np.abs(encoder.output(X, *one) - encoder.output(X, *two))
    readout = np.abs(encoder.features(X, Qh, Kh, Vh) @ (o - oh))
    value = np.linalg.norm((V - Vh) @ tokens, axis=0).max()
    scores = np.linalg.norm((A - Ah) @ tokens, axis=0).max()
    assert np.all(change <= readout + net.eta_O * value + net.eta_O * net.xi_V * rho**2 * scores + 1e-12)
    # radii of the cover terms, and of the class
    assert np.linalg.norm(A - start[1].T @ start[0] / math.sqrt(dm)) <= net.R_A + 1e-12
    assert np.linalg.norm(A) <= min(net.eta_K * net.xi_Q, net.xi_K * net.eta_Q) / math.sqrt(dm) + 1e-12
    assert np.linalg.norm(encoder.features(X, Qh, Kh, Vh), axis=1).max() <= net.xi_V * B + 1e-12
    moved = np.abs(encoder.output(X, *one) - encoder.output(X, *start))
    assert np.all(moved <= net.movement + 1e-12)
    assert np.all(np.abs(encoder.output(X, *one)) <= net.output + 1e-12)
    assert net.radius == min(net.movement, net.output)
    # at their own radius the covers of the three weights reach exactly as far as the class moves
    # (the engine stops at twice the size of the outputs where that is less)
    reached = _shallow.at_initial(net)
    assert reached.distance.value <= net.movement * (1 + 1e-9)
    assert reached.range.value == pytest.approx(net.output, rel=1e-9)
    coefficients = {name: beta.value for name, beta in reached.coefficients.items()}
    assert coefficients["w_O"] * net.RO + coefficients["W_V"] * net.RV + coefficients["A"] * net.R_A == pytest.approx(
        net.movement, rel=1e-9
    )
    eta_A = min(net.eta_K * net.xi_Q, net.xi_K * net.eta_Q) / math.sqrt(dm)
    reach = net.eta_O * (net.xi_V * B + net.eta_V * B + net.xi_V * rho**2 * eta_A * B)
    coefficients = {name: beta.value for name, beta in _shallow.at_zero(net).coefficients.items()}
    found = coefficients["w_O"] * net.eta_O + coefficients["W_V"] * net.eta_V + coefficients["A"] * eta_A
    assert found == pytest.approx(reach, rel=1e-9)


@pytest.mark.independent("mwigo.lem1", "mwigo.lem2")
def test_searched_complexity_stays_below():
    rng = np.random.default_rng(0)
    n, ds, d, dm = 8, 3, 3, 4
    X = rng.normal(size=(n, ds, d))
    X /= np.linalg.norm(X, axis=2, keepdims=True)
    start = encoder.initial(rng, d, dm)
    radii = {"RQ": 1.0, "RK": 1.0, "RV": 1.0, "RO": 1.0}
    rows = np.array([encoder.output(X, *(encoder.inside(rng, W, 1.0) for W in start)) for _ in range(400)])
    found = exact(rows)
    inputs = {"n": n, "ds": ds, "d": d, "dm": dm, "RX": 1, **radii, **encoder.norms(*start)}
    for id in ("mwigo.lem1", "mwigo.lem2"):
        evaluation = find(id).evaluate(inputs)
        assert evaluation.printed["value"].value < 0 < found  # printed: negative
        assert not evaluation.printed["value"].applies
        for name in ("closed_zero", "closed_init", "chain_zero", "chain_init"):
            assert found <= evaluation.sound[name].value


@pytest.mark.independent("mwigo.lem2", "mwigo.thm5")
def test_constants_written_out():
    n, d, dm, B, rho = 1000, 3, 5, 0.8, 0.6
    given = {"WQF": 2.0, "WKF": 2.5, "WVF": 3.0, "wOF": 1.5, "WQ2": 1.1, "WK2": 1.2, "WV2": 1.3}
    radii = {"RQ": 0.1, "RK": 0.2, "RV": 0.3, "RO": 0.4}
    got = values("mwigo.lem2", n=n, ds=7, d=d, dm=dm, RX=9.0, B=B, rho=rho, **given, **radii)

    def kappa(k, d):
        grid = (i / 100 for i in range(1, 600))
        return min(2 * (math.sqrt(k) + math.sqrt(d) + u) ** 2 - math.log(1 - math.exp(-u * u / 2)) for u in grid)

    def total(terms):
        return sum(C ** (1 / 3) * beta ** (2 / 3) for C, beta in terms) ** 3

    eta_O, eta_V, eta_K, eta_Q, xi_V = 1.9, 3.3, 2.7, 2.1, 1.6
    R_A = (1.2 * 0.1 + 0.2 * 1.1 + 0.2 * 0.1) / math.sqrt(dm)
    zero = total(
        [
            ((eta_O * eta_V * B) ** 2 * math.log(2 * n + 1), 1),
            ((eta_V * B) ** 2 * kappa(dm, d), eta_O),
            ((eta_K * eta_Q * B) ** 2 / dm * kappa(d, d), eta_O * eta_V * rho**2),
        ]
    )
    init = total(
        [
            ((0.4 * xi_V * B) ** 2 * math.log(2 * n + 1), 1),
            ((0.3 * B) ** 2 * kappa(dm, d), eta_O),
            ((R_A * B) ** 2 * kappa(d, d), eta_O * xi_V * rho**2),
        ]
    )
    assert got["P_zero"] == pytest.approx(zero, rel=1e-9)
    assert got["P_init"] == pytest.approx(init, rel=1e-9)
    assert got["D_zero"] == pytest.approx(eta_O * eta_V * B)
    movement = 0.4 * xi_V * B + eta_O * 0.3 * B + eta_O * xi_V * rho**2 * B * R_A
    assert got["D_init"] == pytest.approx(min(eta_O * xi_V * B, movement))
    # Theorem 5 at the same class: one geometric chain by hand, then the gap
    n = 10**7
    net = values("mwigo.lem2", n=n, ds=7, d=d, dm=dm, RX=9.0, B=B, rho=rho, **given, **radii)
    around = min(2 * eta_O * xi_V * B, movement)
    best = around
    for q in [round(1.10 + 0.05 * i, 2) for i in range(139)]:
        chain, eps = 0.0, around
        for _ in range(80):
            chain += eps * math.sqrt(2 * net["P_init"] / (eps / q) ** 2 / n)
            eps /= q
            best = min(best, chain + eps)
    c = eta_O * xi_V * B + 0.5
    trained = {"alpha": 1, "delta": 0.1, "LS": 0.2, "ymax": 0.5}
    shape = {"n": n, "ds": 7, "d": d, "dm": dm, "RX": 9.0, "B": B, "rho": rho}
    risk = values("mwigo.thm5", **shape, **given, **radii, **trained)
    assert risk["c"] == pytest.approx(c)
    assert risk["value"] == pytest.approx(0.2 + 2 * best + c * math.sqrt(math.log(10) / (2 * n)), rel=1e-9)
    assert risk["chain"] <= risk["value"]
    complexity = min(net[name] for name in ("closed_zero", "closed_init", "chain_zero", "chain_init"))
    assert risk["chain"] == pytest.approx(
        0.2 + 2 * min(complexity, c / 2) + c * math.sqrt(math.log(10) / (2 * n)), rel=1e-9
    )


@pytest.mark.counterexample("mwigo.lem1")
def test_the_additional_factor_is_wrong():
    """Constant inputs, everything but w_O fixed: R >= R_O ||h|| E|sum eps|/N, of order N^(-1/2)."""
    rng = np.random.default_rng(3)
    d = dm = 8
    start = encoder.initial(rng, d, dm)
    x = rng.normal(size=d)
    X = np.tile(0.5 * x / np.linalg.norm(x), (1, 4, 1))
    h = np.linalg.norm(encoder.features(X, *start[:3])[0])
    for n in (10**8, 10**12):
        true = 0.1 * h * math.sqrt(2 / (math.pi * n)) * 0.999  # E|sum eps| ~ sqrt(2N/pi)
        inputs = {**SMALL, "n": n, **encoder.norms(*start)}
        evaluation = find("mwigo.lem1").evaluate(inputs)
        assert evaluation.printed["value"].applies
        assert evaluation.printed["value"].value < true / 100
        assert all(evaluation.sound[name].value >= true for name in ("closed_init", "chain_init", "chain_zero"))


@pytest.mark.counterexample("mwigo.lem2", "mwigo.thm5")
def test_complexity_is_proportional_to_the_readout():
    rng = np.random.default_rng(4)
    d = dm = 8
    start = encoder.initial(rng, d, dm)
    x = rng.normal(size=d)
    h = np.linalg.norm(encoder.features(np.tile(0.5 * x / np.linalg.norm(x), (1, 4, 1)), *start[:3])[0])
    RO, n = 1e7, 10**8
    true = RO * h * math.sqrt(2 / (math.pi * n)) * 0.999
    inputs = {**SMALL, "RO": RO, **encoder.norms(*start)}
    evaluation = find("mwigo.lem2").evaluate(inputs)
    assert evaluation.printed["value"].applies
    assert evaluation.printed["value"].value < true / 10
    assert all(evaluation.sound[name].value >= true for name in ("closed_init", "chain_init", "chain_zero"))
    # Theorem 5 at the size of the paper's experiment: a negative bound on a loss that cannot be negative
    mnist = {"n": 400, "ds": 13, "d": 64, "dm": 64, "RX": 1, "RQ": 1, "RK": 1, "RV": 1, "RO": 1, "B": 1, **NORMS}
    theorem = find("mwigo.thm5").evaluate({**mnist, **TRAINED})
    assert theorem.printed["value"].value < 0
    assert not theorem.printed["value"].applies
    assert theorem.sound["value"].vacuous


@pytest.mark.property_of("mwigo.lem1", "mwigo.lem2", "mwigo.thm5")
def test_scaling_and_orderings():
    base = values("mwigo.lem2", **SMALL)
    assert values("mwigo.lem1", **SMALL) == base
    for kind in ("zero", "init"):
        assert base[f"chain_{kind}"] < base[f"closed_{kind}"]
    assert base["P_init"] < base["P_zero"]
    # Homogeneous in the readout: w_O and its radius ten times larger.
    ten = values("mwigo.lem2", **{**SMALL, "RO": 1.0, "wOF": 10.0})
    for name in ("closed_zero", "closed_init", "chain_zero", "chain_init", "D_init"):
        assert ten[name] == pytest.approx(10 * base[name], rel=1e-4)
    # The sequence length does not enter; a narrow token set helps.
    assert values("mwigo.lem2", **{**SMALL, "ds": 400}) == base
    assert values("mwigo.lem2", **SMALL, rho=0.05)["P_init"] < base["P_init"]
    assert values("mwigo.lem2", **SMALL, rho=0.0)["chain_init"] < base["chain_init"]
    assert values("mwigo.lem2", **SMALL, rho=9.0) == base
    # RX speaks of the whole input: unless B is given, a token may have the norm sqrt(ds) RX.
    assert values("mwigo.lem2", **{**SMALL, "RX": 3.0}) == base
    assert values("mwigo.lem2", **{**SMALL, "B": None, "RX": 0.25}) == base
    # A spectral norm that is not given is at most the Frobenius norm.
    without = values("mwigo.lem2", **{**SMALL, "WQ2": None, "WK2": None, "WV2": None})
    assert without == values("mwigo.lem2", **{**SMALL, **dict.fromkeys(("WQ2", "WK2", "WV2"), math.sqrt(8))})
    assert all(without[name] >= base[name] for name in base)


def test_nobody_vouches_for_typical_initial_norms():
    assert find("mwigo.lem2").evaluate(SMALL).best == "chain_init"
    assert find("mwigo.lem2").evaluate(SIZES).best is None
    typical = find("mwigo.lem2").evaluate(SIZES).sound["chain_init"].hypotheses[0]
    assert (typical.state, typical.statable) == ("open", True)
    assert "WQF" in typical.why


def test_small_tokens_do_not_underflow_to_a_bound_of_zero():
    tiny = {"n": 100, "ds": 1, "d": 1, "dm": 1, "RX": 1e-165, "RQ": 1, "RK": 1, "RV": 1, "RO": 1}
    evaluation = find("mwigo.lem2").evaluate(
        {**tiny, **dict.fromkeys(("WV2", "WVF", "WQ2", "WK2", "WQF", "WKF", "wOF"), 1)}
    )
    assert all(b.value > 1e-166 for b in evaluation.sound.values() if b.bounds is None)


@pytest.mark.property_of("mwigo.thm5")
def test_theorem_5_adds_up():
    evaluation = find("mwigo.thm5").evaluate({**SMALL, **TRAINED})
    bound = evaluation.sound["value"]
    assert math.fsum(bound.terms.values()) == pytest.approx(bound.value)
    assert bound.trivial == pytest.approx(2.155)
    assert evaluation.best == "chain"
    more = find("mwigo.thm5").evaluate({**SMALL, **TRAINED, "LS": 0.11}).sound
    assert more["value"].value == pytest.approx(bound.value + 0.1, rel=1e-9)
    clipped = find("mwigo.thm5").evaluate({**SMALL, **TRAINED, "clip": 0.5}).sound
    assert clipped["c"].value == 0.5
    assert clipped["value"].value < bound.value
    paid = find("mwigo.thm5").evaluate({**SMALL, **TRAINED, "paid": 10.0}).sound
    root = math.sqrt((math.log(20) + 10) / (2 * 10**8)) - math.sqrt(math.log(20) / (2 * 10**8))
    assert paid["value"].value - bound.value == pytest.approx(2.155 * root, rel=1e-6)
    # vacuous: the chain variant stops at the range of the loss
    mnist = {"n": 400, "ds": 13, "d": 64, "dm": 64, "RX": 1, "RQ": 1, "RK": 1, "RV": 1, "RO": 1, "B": 1, **NORMS}
    assert find("mwigo.thm5").evaluate({**mnist, **TRAINED}).sound["chain"].value == 7.0
    assert any("support" in check.requires for check in bound.hypotheses)
    in_range, wide = evaluation.printed["value"].hypotheses[:2]
    assert in_range.state == "verified"
    assert wide.state == "fails"
    assert find("mwigo.thm5").evaluate({**SMALL, **TRAINED, "n": 8}).printed["value"].hypotheses[1].state == "verified"
    # networks that move further than twice their size: around f_0 the radius is 2 eta_O xi_V B
    far = find("mwigo.thm5").evaluate({**SMALL, **TRAINED, "n": 10, "B": 20.0}).sound["value"]
    assert far.terms["complexity"] == pytest.approx(2 * 2 * 1.1 * 2.1 * 20.0)


def test_printed_quantities_without_data():
    lone = find("mwigo.lem2").evaluate({**SMALL, "n": 1, "ds": 1})
    assert lone.printed["P"].value == 0.0
    assert lone.printed["value"].value == 0.0
    assert not lone.printed["value"].applies
    pair = find("mwigo.lem2").evaluate({**SMALL, "n": 1, "ds": 2}).printed["P"].value
    many = find("mwigo.lem2").evaluate({**SMALL, "n": 8, "ds": 2}).printed["P"].value
    assert many == pytest.approx(4 * pair)  # log(N ds)
    assert math.isinf(_shallow.exp(750.0))
    huge = find("mwigo.lem2").evaluate({**SMALL, "RQ": 1e200, "RK": 1e200, "RV": 1e100})
    assert math.isinf(huge.printed["P"].value)
    assert not math.isnan(huge.sound["chain_init"].value)


class TestLemma6:
    BASE = {"BX": 1, "V21": 2, "V2": 1, "A21": 3, "eps": 0.5, "n": 100, "ds": 10, "d": 8, "dm": 8}  # noqa: RUF012

    @pytest.mark.independent("mwigo.lem6")
    @pytest.mark.parametrize("seed", range(15))
    def test_perturbation_of_head_and_scalar(self, seed):
        rng = np.random.default_rng(seed)
        ds, d, dm = 4, 3, 5
        X = rng.normal(size=(ds, d))
        rho, B = half_diameter([X]), np.linalg.norm(X, axis=1).max()
        V, A, w = rng.normal(size=(dm, d)), rng.normal(size=(d, d)), rng.normal(size=dm)
        size = rng.choice([1e-2, 0.5])
        Vh, Ah = V + size * rng.normal(size=(dm, d)), A + size * rng.normal(size=(d, d))
        wh = w * rng.uniform(0.5, 1)  # members of a ball around zero

        def attend(V, A):
            return np.array([np.maximum(V @ (X.T @ encoder.softmax(X @ (A @ x))), 0) for x in X])

        h, hh = attend(V, A), attend(Vh, Ah)
        change = np.linalg.norm(h - hh, axis=1).max()
        value = np.linalg.norm((V - Vh) @ X.T, axis=0).max()
        scores = np.linalg.norm((A - Ah) @ X.T, axis=0).max()
        right = value + np.linalg.norm(V, 2) * rho**2 * scores
        assert change <= right + 1e-12
        scalar = np.abs(h @ w - hh @ wh).max()
        assert scalar <= np.abs(h @ (w - wh)).max() + np.linalg.norm(wh) * right + 1e-12
        assert np.linalg.norm(h, axis=1).max() <= np.linalg.norm(V, 2) * B + 1e-12

    @pytest.mark.counterexample("mwigo.lem6")
    @pytest.mark.parametrize("M", [1000, 20000])
    def test_shattering(self, M):
        """Tokens (b/sqrt 3)(+-e_j +- e_z + e_c), A = s e_c^T, W_V = (sqrt 3/b) e_z^T: outputs 0 or 1 as s_j pleases."""
        rng = np.random.default_rng(M)
        size = 0.1 / math.sqrt(M)  # ||s||_2 = 0.1
        b = math.sqrt(3 * 10 / size)
        signs = rng.choice([-1.0, 1.0], M)
        margins = []
        for j in range(0, M, max(1, M // 200)):
            # only coordinates j, z, c are not zero
            plus, minus = b / math.sqrt(3) * np.array([1.0, 1.0, 1.0]), b / math.sqrt(3) * np.array([-1.0, -1.0, 1.0])
            X = np.array([plus, minus])
            A = np.zeros((3, 3))
            A[0, 2] = size * signs[j]
            a = X.T @ encoder.softmax(X @ A @ X[0])
            margins.append((max(0.0, math.sqrt(3) / b * a[1]) - 0.5) * signs[j])
            assert np.linalg.norm(X, axis=1).max() == pytest.approx(b)
        assert min(margins) > 0.49
        v = math.sqrt(3) / b
        inputs = {"BX": b, "V21": v, "V2": v, "A21": 0.1, "eps": 0.49, "n": M, "ds": 2, "d": M + 2, "dm": 1}
        evaluation = find("mwigo.lem6").evaluate(inputs)
        assert evaluation.printed["value"].value < M * math.log(2)
        # the sum of the row norms of s e_c^T is the l1 norm of s
        rows = find("mwigo.lem6").evaluate({**inputs, "A21": size * M})
        assert all(bound.value >= M * math.log(2) for bound in rows.sound.values())

    @pytest.mark.property_of("mwigo.lem6")
    def test_scaling_and_variants(self):
        base = values("mwigo.lem6", **self.BASE)
        assert values("mwigo.lem6", **{**self.BASE, "eps": 0.25})["head"] == pytest.approx(4 * base["head"])
        assert base["exact"] <= base["head"]
        assert values("mwigo.lem6", **self.BASE, rho=0.1)["head"] < base["head"]
        assert values("mwigo.lem6", **self.BASE, rho=0.0)["exact"] < base["exact"]
        evaluation = find("mwigo.lem6").evaluate({**self.BASE, "eta_O": 2.0})
        assert evaluation.best in ("exact", "engine")
        assert evaluation.sound["head"].bounds.value == "constant"
        assert evaluation.sound["scalar"].value > base["head"]

        def t(k, n):
            return min(math.log(k + 1) + h * math.log(2) + (1 + 1 / h) * math.log(2 * n + 1) for h in range(1, 40))

        def kappa(k, d):
            grid = (i / 100 for i in range(1, 600))
            return min(2 * (math.sqrt(k) + math.sqrt(d) + u) ** 2 - math.log(1 - math.exp(-u * u / 2)) for u in grid)

        terms = [(4 * t(8, 1000), 2.0), (9 * t(8, 1000), 2.0), (4 * kappa(1, 8), 1.0)]
        expected = sum(C ** (1 / 3) * beta ** (2 / 3) for C, beta in terms) ** 3 / 0.25
        assert evaluation.sound["scalar"].value == pytest.approx(expected, rel=1e-9)
        alone = find("mwigo.lem6").evaluate(self.BASE)
        assert alone.sound["head"].bounds is None
        assert "scalar" not in alone.sound
        # one ball suffices from 2 V2 BX = 2 on, around zero from eta_O V2 BX = 2 on
        for readout in ({}, {"eta_O": 2.0}):
            assert values("mwigo.lem6", **{**self.BASE, **readout, "eps": 1.99})["exact"] > 0
            assert values("mwigo.lem6", **{**self.BASE, **readout, "eps": 2.01})["exact"] == 0

    @pytest.mark.property_of("mwigo.lem6")
    @pytest.mark.parametrize("seed", range(8))
    def test_the_engine_has_the_same_coefficients_with_and_without_the_readout(self, seed):
        rng = np.random.default_rng(seed)
        norms = dict(zip(("BX", "V21", "V2", "A21", "rho", "eta_O"), rng.uniform(0.3, 3.0, 6), strict=True))
        at = find("mwigo.lem6")(**{**self.BASE, **norms, "n": 100, "ds": 3})
        engine, alone = at.network(at.eta_O), at.head().coefficients
        for name in alone:
            assert engine.coefficients[name].value == pytest.approx(at.eta_O * alone[name].value)
        assert engine.coefficients["w_O"].value == pytest.approx(min(at.V2, at.V21) * at.BX)
        # with many examples the readout's points cost more than its dimension: half radii are all that is left
        many = at.at(n=10**9).sound()
        assert many["exact"].value <= many["engine"].value * (1.0 + 1e-9)
        with pytest.raises(InputError, match="external"):
            networks.analyse(engine.output, proper=False, samples=at.n)
