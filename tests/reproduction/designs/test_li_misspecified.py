"""Exact-in-law simulations against real samples and brute force; the analysis on rows with known answers."""

import json
import math

import numpy as np
import pytest

from certiformer.reproduction.designs import li_misspecified
from certiformer.reproduction.study import strict
from certiformer.reproduction.sweep import Row


def row(config, values):
    return Row(key="", experiment="", version="", config=config, state="done", values=values)


def test_cross_against_brute_force():
    """ERM and the star estimator on real samples, by search over a fine grid of the class and of its segments."""
    n, h, draws = 31, 0.1, 200
    rng = np.random.default_rng(0)
    eta = np.array([0.5 + h, 0.5 - h])
    grid = np.linspace(-1.0, 1.0, 41)
    zero = np.zeros_like(grid)
    members = np.concatenate([np.stack([grid, zero], 1), np.stack([zero, grid], 1)])
    mixes = np.linspace(0.0, 1.0, 41)[:, None, None]
    found = {"erm": [], "star": []}
    for _ in range(draws):
        cell = rng.integers(0, 2, n)
        y = (rng.random(n) < eta[cell]).astype(float)
        risk = lambda f: np.mean((y - f[..., cell]) ** 2, axis=-1)  # noqa: E731, B023
        erm = members[np.argmin(risk(members))]
        hull = ((1.0 - mixes) * erm + mixes * members).reshape(-1, 2)
        star = hull[np.argmin(risk(hull))]
        for name, f in (("erm", erm), ("star", star)):
            found[name].append(0.5 * np.sum((f - eta) ** 2) - 0.5 * eta[1] ** 2)
    exact = li_misspecified.cross(np.random.default_rng(1), n, h, 20_000)
    for name, values in found.items():
        error = 4.0 * np.std(values) / math.sqrt(draws)
        assert np.mean(exact[name]) == pytest.approx(np.mean(values), abs=error + 3e-3)


def test_median_against_sorting():
    n, s, draws = 101, 3.0, 4000
    rng = np.random.default_rng(0)
    t = np.clip(np.median(s * rng.standard_normal((draws, n)), axis=1), -1.0, 1.0)
    exact = li_misspecified.absolute(np.random.default_rng(1), n, s, 50_000)
    assert exact.mean() == pytest.approx(np.mean(t**2) / (s * math.sqrt(2 * math.pi)), rel=0.1)


def test_absolute_excess_in_closed_form():
    """A sample of one: the median is the label itself."""
    exact = li_misspecified.absolute(np.random.default_rng(2), 1, 0.1, 200_000)
    # E|Y - Y'| - E|Y| for independent N(0, s^2): s (2/sqrt(pi) - sqrt(2/pi)); clipping at 1 = 10 s does not matter.
    assert exact.mean() == pytest.approx(0.1 * (2.0 / math.sqrt(math.pi) - math.sqrt(2.0 / math.pi)), rel=0.01)


def test_run_is_determined_by_its_seed():
    config = {"problem": "cross", "moving": True, "constant": 0.5, "n": 1001, "draws": 50, "seed": 1}
    assert li_misspecified.run(config) == li_misspecified.run(config)
    assert li_misspecified.run(config) != li_misspecified.run({**config, "seed": 2})


@pytest.mark.counterexample("li.cor4.5")
def test_printed_bound_is_violated_and_the_sound_one_is_not():
    for problem, constant in (("cross", 0.5), ("absolute", 1.0)):
        config = {"problem": problem, "moving": True, "constant": constant, "n": 10**10 + 1, "draws": 4000, "seed": 0}
        printed, sound = li_misspecified.bounds(problem, config["n"])
        assert printed < li_misspecified.run(config).values["erm"] < sound


def synthetic(power):
    rng = np.random.default_rng(0)
    found = []
    for one in li_misspecified.experiment("quick").runs:
        c = one.config
        erm = 0.1 * c["n"] ** (power if c["moving"] else -1.0) * (1.0 + 0.05 * rng.standard_normal())
        found.append(row(c, {"erm": erm, "star": -0.1 + 1e-3 * rng.standard_normal()}))
    return found


def test_scales():
    quick = li_misspecified.experiment("quick").configs
    assert len({c["n"] for c in quick}) >= 5
    assert len({c["seed"] for c in quick}) >= 5


def words(analysis, *parts):
    """The verdicts of the findings whose setting has these parts."""
    return {f.verdict.word for f in analysis.findings if all(part in f.setting for part in parts)}


@pytest.mark.parametrize(("power", "printed", "limit"), [(-0.5, "violated", "agrees"), (-1.05, "holds", "differs")])
def test_planted_exponent(power, printed, limit):
    analysis = li_misspecified.analyse(synthetic(power))
    for problem in ("/√n", "N(0, n)"):
        assert words(analysis, problem, "exponent", "printed") == {printed}
        assert words(analysis, problem, "exponent", "limit") == {limit}
    assert words(analysis, "over the printed bound") == {"violated" if power == -0.5 else "holds"}
    assert words(analysis, "over the sound bound") == {"holds"}
    json.dumps(strict(analysis.fits), allow_nan=False)


@pytest.mark.parametrize("keep", [1, 5])
def test_missing_runs_are_no_obstacle(keep):
    analysis = li_misspecified.analyse(synthetic(-0.5)[:keep])
    json.dumps([finding.as_json() for finding in analysis.findings], allow_nan=False)
    assert keep != 1 or not {"holds", "violated", "agrees", "differs"} & set(analysis.tally)
