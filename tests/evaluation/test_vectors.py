"""Every statement at fixed numbers, computed independently with tabulated and exact normal quantiles."""

import json
from pathlib import Path

import numpy as np
import pytest

from certiformer.evaluation import (
    Monitor,
    anytime_rate_limits,
    choose_threshold,
    mean_limits,
    paired_limits,
    plan_errors,
    rate_limits,
    sign_test,
)
from certiformer.theory.calculus.target_betting import PRIOR_WEIGHT, TARGET_ONE_ORDER, _capital, _Paths

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "evaluation.json").read_text())
GOLDEN = 0.6180339887498949


def indices(n):
    return np.arange(1, n + 1)


def losses(name, n):
    i = indices(n)
    fixed = {
        "all 0": np.zeros(n),
        "all 1/2": np.full(n, 0.5),
        "all 1": np.ones(n),
        "[i mod 17 = 5]": (i % 17 == 5).astype(float),
        "[i mod 7 = 3]": (i % 7 == 3).astype(float),
    }
    return fixed[name] if name in fixed else ((i * GOLDEN) % 1) ** int(name[2:])


def confidences_and_errors(n):
    conf = losses("f_1", n)
    return conf, ((indices(n) * np.sqrt(2)) % 1) < (1 - conf) ** 2 / 2


def value_of(v):
    f = v["f"]
    if f in ("upper", "lower"):
        found = mean_limits(losses(v["x"], v["n"]), v["delta"], order="given")
        return found.upper if f == "upper" else found.lower
    if f == "TA upper":
        return mean_limits(losses(v["x"], v["n"]), v["delta"]).upper
    if f.startswith("ratio"):
        w = (1 + (7 * indices(v["n"]) % 20)) / 20
        found = mean_limits(losses(v["x"], v["n"]), v["delta"], weights=w, order="given")
        return found.upper if f == "ratio upper" else found.lower
    if f == "paired":
        i = indices(v["n"])
        found = paired_limits(i % 23 == 3, i % 41 == 7, v["delta"], order="given")
        return [found.lower, found.upper]
    if f == "sign":
        return sign_test(v["n10"], v["n01"]).two_sided
    if f == "beta sequence":
        return list(anytime_rate_limits(v["k"], v["n"], v["delta"]))
    if f == "alarm":
        t = indices(2000)
        watch = Monitor(v["p0"], v["delta"])
        watch.update(np.where(t <= 1000, t % 50 == 0, t % 10 == 0))
        return watch.alarm
    if f == "plan":
        plan = plan_errors(v["eps"], v["delta"], v["p"], v["power"])
        return [plan.n, plan.errors]
    conf, wrong = confidences_and_errors(v["n"])
    grid = [k / 10 for k in range(8, -1, -1)] if f == "select thresholds" else None
    found = choose_threshold(conf, wrong, v["alpha"], v["delta"], grid)
    return {"threshold": found.threshold, "answered": found.answered, "errors": found.errors, "p": found.p}


@pytest.mark.parametrize("v", VECTORS, ids=lambda v: " ".join(map(str, v.values()))[:60])
def test_vector(v):
    # The vectors carry ten digits.
    assert value_of(v) == pytest.approx(v["value"], abs=1e-9, rel=2e-9 if v["f"] == "sign" else 0)
    if "CP" in v:
        errors = int(losses(v["x"], v["n"]).sum())
        assert rate_limits(errors, v["n"], v["delta"]).upper == pytest.approx(v["CP"], abs=1e-9)


def test_one_path_of_capital():
    x = np.array([0, 1, 0.5, 0, 0.25])
    paths = _Paths(np.ones(5), x, None)
    factor = 1 / (np.sqrt(2 * np.pi) * np.array([0.5, 0.4330127019, 0.4506939094, 0.4031128874, 0.4025957443]))
    np.testing.assert_allclose(paths.factor[:, 0], factor / np.sqrt(5 - np.arange(5)), rtol=1e-9)
    T = TARGET_ONE_ORDER / 0.05
    tops = [T * _capital(paths_until(x, t), np.array([0.6]), 1 / T, final=True)[0] for t in range(1, 6)]
    np.testing.assert_allclose(tops, [2.164613878, 0.3248093574, 0.4060116968, 1.015029242, 1.903179829], rtol=1e-9)
    assert PRIOR_WEIGHT == 2.0


def paths_until(x, t):
    """The stakes of the whole horizon, followed for t steps only."""
    paths = _Paths(np.ones(len(x)), x, None)
    paths.w, paths.y, paths.factor = paths.w[:t], paths.y[:t], paths.factor[:t]
    return paths


@pytest.mark.parametrize(
    ("expect", "power", "n", "errors"),
    [(0.005, 0.8, 386, 3), (0.01, 0.8, 969, 12), (0.015, 0.8, 4318, 71), (0.01, 0.9, 1271, 17)],
)
def test_plans(expect, power, n, errors):
    plan = plan_errors(0.02, 0.05, expect, power)
    assert (plan.n, plan.errors) == (n, errors)
    assert plan.power >= power
    if (expect, power) == (0.01, 0.8):
        assert plan.stable == 1091
