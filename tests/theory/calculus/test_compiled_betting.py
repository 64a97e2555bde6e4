"""The compiled loop of target betting against the plain one, and against arithmetic of 60 digits."""

import importlib.util
import random
import sys

import mpmath
import numpy as np
import pytest

from certiformer.theory.calculus import _compiled, target_betting
from certiformer.theory.calculus.compiled_betting import TABLE, _loop, _table, capital
from certiformer.theory.calculus.target_betting import _capital, _Paths, evidence_against, fixed_orders, target_upper

LAWS = {
    "right or wrong": lambda rng, n: (np.ones(n), (rng.random(n) < 0.1).astype(float)),
    "differences": lambda rng, n: (np.ones(n), rng.choice([0.0, 0.5, 1.0], n, p=[0.08, 0.8, 0.12])),
    "losses": lambda rng, n: (np.ones(n), rng.random(n) ** 3),
    "weights": lambda rng, n: (w := rng.uniform(0.01, 1.0, n), w * rng.random(n)),
    "no errors": lambda rng, n: (np.ones(n), np.zeros(n)),
    "all wrong": lambda rng, n: (np.ones(n), np.ones(n)),
}
STARTS = (0.05 / 1.3, 0.9, 1e-12, 5e-291)


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("law", LAWS)
def test_both_loops_agree(law, several):
    w, y = LAWS[law](np.random.default_rng(3), 400)
    paths = _Paths(w, y, fixed_orders(400) if several else None)
    means = np.concatenate([[1e-9], np.linspace(0.01, 0.99, 60), [1 - 1e-9, np.nextafter(1.0, 0.0)]])
    for start in STARTS:
        plain = _capital(paths, means, start, final=several)
        quick = capital(paths.w, paths.y, paths.factor, means, start, final=several)
        assert np.allclose(quick, plain, rtol=1e-9, atol=1e-270)
        assert np.all((quick >= 0.0) & (quick <= 1.0))


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("law", LAWS)
def test_the_loop_says_the_same_before_it_is_compiled(law, several):
    w, y = LAWS[law](np.random.default_rng(4), 60)
    paths = _Paths(w, y, fixed_orders(60)[:2] if several else None)
    means = np.array([1e-9, 0.01, 0.2, 0.5, 0.9, 1 - 1e-9])
    table = _table()
    for start in STARTS:
        plain = _capital(paths, means, start, final=several)
        quick = _loop(table, paths.w, paths.y, paths.factor, means, start, several)
        assert np.allclose(quick, plain, rtol=1e-9, atol=1e-290)


@pytest.mark.parametrize("several", [False, True])
def test_limits_are_the_same_with_and_without_numba(several, monkeypatch):
    rng = np.random.default_rng(5)
    monkeypatch.setattr(target_betting, "_WORTH_COMPILING", 1)
    for law in ("differences", "weights"):
        w, y = LAWS[law](rng, 700)
        orders = fixed_orders(len(w)) if several else None
        for delta in (0.05, 1e-9):
            quick = target_upper(w, y, delta, orders), evidence_against(0.6, w, y, delta, orders)
            with monkeypatch.context() as without:
                without.setattr(importlib.util, "find_spec", lambda name: None)
                plain = target_upper(w, y, delta, orders), evidence_against(0.6, w, y, delta, orders)
            assert quick == pytest.approx(plain, rel=3e-10)


def test_polynomials_have_the_normal_profile_to_more_than_is_taken_off():
    rng = random.Random(1)
    with mpmath.workdps(60):
        for _ in range(300):
            k = 2.0 ** rng.uniform(-966, -1)
            inverse = mpmath.findroot(lambda z, k=k: mpmath.log(mpmath.ncdf(z)) - mpmath.log(mpmath.mpf(k)), _near(k))
            exact = mpmath.exp(-inverse * inverse / 2)
            assert abs(_profile(k) / exact - 1) < 2.0**-41.5


def _near(k):
    from scipy.special import ndtri

    return float(ndtri(k))


def _profile(k):
    bits = np.float64(k).view(np.int64)
    part = (int(bits) >> 48) - (1023 - 975) * 16
    u = (k / 2.0 ** np.floor(np.log2(k)) - 1.0) * 16
    return float(np.polyval(TABLE[part], (u - np.floor(u)) * 2 - 1)) * k


def test_the_computed_capital_stays_below_the_exact_one():
    rng = np.random.default_rng(7)
    w, y = LAWS["weights"](rng, 40)
    paths = _Paths(w, y, None)
    means, start = np.array([0.2, 0.5, 0.8]), 0.04
    found = capital(paths.w, paths.y, paths.factor, means, start, final=True)
    with mpmath.workdps(40):
        for m, computed in zip(means, found, strict=True):
            k, mean = mpmath.mpf(start), mpmath.mpf(float(m))
            for one, loss, factor in zip(w, y, paths.factor[:, 0], strict=True):
                z = mpmath.sqrt(2) * mpmath.erfinv(2 * k - 1) if 0 < k < 1 else mpmath.inf
                stake = min(factor * mpmath.exp(-z * z / 2), k / (1 - mean), (1 - k) / mean)
                k = min(k + stake * (mean * mpmath.mpf(float(one)) - mpmath.mpf(float(loss))), mpmath.mpf(1))
            assert computed <= k
            assert computed == pytest.approx(float(k), rel=1e-9)


def test_one_step_is_exact_to_what_is_taken_off():
    rng = random.Random(2)
    one, loss, factor = np.ones((1, 1)), np.zeros((1, 1)), np.full((1, 1), 0.01)
    with mpmath.workdps(60):
        for _ in range(60):
            k = 2.0 ** rng.uniform(-60, -0.01)
            at = mpmath.findroot(lambda z, k=k: mpmath.log(mpmath.ncdf(z)) - mpmath.log(mpmath.mpf(k)), _near(k))
            won = mpmath.mpf(0.01) * mpmath.exp(-at * at / 2) / 4
            found = mpmath.mpf(float(_loop(TABLE, one, loss, factor, np.array([0.25]), k, True)[0]))
            assert -(2.0**-50) * k - 2.0**-38 * won < found - (k + won) <= 0


def test_short_paths_do_without_the_import(monkeypatch):
    monkeypatch.setitem(sys.modules, "certiformer.theory.calculus.compiled_betting", None)
    assert target_upper(np.ones(300), np.zeros(300), 0.05) < 0.02
    with pytest.raises(ImportError):
        target_upper(np.ones(target_betting._WORTH_COMPILING), np.zeros(target_betting._WORTH_COMPILING), 0.05)


def test_where_nothing_can_be_kept_it_is_compiled_all_the_same(monkeypatch):
    asked = []

    def njit(function, **options):
        asked.append(options.get("cache", False))
        if options.get("cache"):
            raise RuntimeError("no locator available")
        return function

    monkeypatch.setattr(_compiled.numba, "njit", njit)
    assert _compiled.compiled(abs) is abs
    assert asked == [True, False]
