"""The words, and the rules by which they are said."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import special

from certiformer.reproduction import verdicts
from certiformer.reproduction.runs_table import Table
from certiformer.reproduction.statistics import Interval, mean_interval
from certiformer.reproduction.sweep import Row
from certiformer.reproduction.trend import Theory, Trend
from certiformer.reproduction.verdicts import Claim, Verdict

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "verdicts.json").read_text())


def student(value, deviation, n):
    half = special.stdtrit(n - 1, 0.975) * deviation / math.sqrt(n)
    return Interval(value, value - half, value + half, n)


@pytest.mark.parametrize(("gap", "deviation", "n", "margin", "word", "seeds"), VECTORS["number"])
def test_a_number(gap, deviation, n, margin, word, seeds):
    said = verdicts.number(student(0.3 + gap, deviation, n), 0.3, margin)
    assert said.word == word
    small = f"{gap:+.2g}, our margin is {margin:g}" if word == "small effect" else ""
    assert said.detail == (small if seeds is None else f"needs {seeds} seeds")


@pytest.mark.parametrize(("k", "n", "delta", "word", "low", "high"), VECTORS["bound"])
def test_a_bound(k, n, delta, word, low, high):
    assert verdicts.bound_frequency(k, n, delta) == Verdict(word, f"{k} of {n} runs above it")
    assert verdicts.clopper_pearson(k, n) == pytest.approx((low, high), abs=1e-10)


def said_of(truth, draws=1500, margin=1.0, n=10):
    generator = np.random.default_rng(0)
    words = [verdicts.number(mean_interval(generator.normal(truth, margin, n)), 0.0, margin).word for _ in range(draws)]
    return {word: words.count(word) / draws for word in verdicts.WORDS}


def test_errors_are_rare_and_power_is_high():
    at_the_margin, at_zero, far = said_of(1.0), said_of(0.0), said_of(2.0)
    assert at_the_margin["agrees"] <= 0.065
    assert at_the_margin["differs"] <= 0.04
    assert at_zero["agrees"] == pytest.approx(0.80, abs=0.05)
    assert far["differs"] == pytest.approx(0.79, abs=0.05)


def test_no_number_of_seeds_helps_on_the_margin_itself():
    assert verdicts.number(student(1.0, 2.0, 5), 0.0, 1.0).detail == "needs more than 200 seeds"
    assert verdicts.number(mean_interval([1.0]), 0.0, 1.0).word == "cannot tell"


def test_an_effect_near_the_margin_is_small_and_told_in_the_units_of_a_reader():
    found = student(0.05, 0.01, 5)
    assert verdicts.number(found, 0.0, 0.05) == Verdict("small effect", "+0.05, our margin is 0.05", 0.05, 1.0)
    assert verdicts.no_more_than(found, 0.05).word == "small effect"
    assert verdicts.no_more_than(student(0.05, 0.2, 5), 0.05).word == "cannot tell"
    assert verdicts.number(student(0.4, 0.3, 5), 0.0, 0.05).word == "cannot tell"
    rows = [
        Row("", "", "", {"n": n, "seed": seed}, "done", values={"risk": n**0.05 * (1 + 0.02 * seed * (n > 10))})
        for n in (10, 100, 1000)
        for seed in range(-2, 3)
    ]
    (said,) = Trend("risk", Table(rows), "n", "risk", Theory("flat", exponent=0.0)).findings()
    assert (said.verdict.word, said.verdict.detail) == ("small effect", "a factor 1.26 from 10 to 1000")


def test_a_sign():
    assert verdicts.sign(student(-1.0, 0.1, 5), 0.0).word == "agrees"
    assert verdicts.sign(student(1.0, 0.1, 5), 0.0).word == "differs"
    assert verdicts.sign(student(1.0, 0.1, 5), 0.0, below=False).word == "agrees"
    assert verdicts.sign(student(-0.1, 0.3, 5), 0.0).detail == "needs 38 seeds"


def test_seeds_that_have_not_told_are_too_few():
    """A skewed interval reaches out of the margin where a symmetric one of its width would not."""
    skewed = Interval(-0.5, -0.58, -0.47, 10, -0.56, -0.48)
    assert verdicts.number(skewed, -0.5, 0.05) == Verdict("cannot tell", "needs 11 seeds", 0.05, 1.0)
    assert verdicts.sign(Interval(1.0, -math.inf, math.inf, 3), 0.0).detail.endswith("needs 4 seeds")
    assert verdicts.sign(Interval(1.0, -math.inf, math.inf), 0.0).detail == "too few points for an interval"


def test_an_interval_of_an_unknown_number_of_seeds_can_differ():
    found = verdicts.sign(Interval(0.5, 0.3, 0.7), 1.0, below=False)
    assert (found.word, found.p) == ("differs", pytest.approx(2 * special.ndtr(-0.5 * 1.959964 / 0.2)))
    assert verdicts.holm([found]) == [found]


def test_a_decrease_is_an_increase_of_the_opposite():
    found = Interval(-0.2, -0.3, -0.1, 5, -0.27, -0.13)
    assert -found == Interval(0.2, 0.1, 0.3, 5, 0.13, 0.27)
    assert -Interval(1.0, 0.0, 3.0) == Interval(-1.0, -3.0, -0.0)


def test_one_run_of_the_paper():
    runs = [0.100, 0.105, 0.110, 0.095, 0.102]
    assert verdicts.one_run(runs, 0.1048).word == "compatible"
    assert verdicts.one_run(runs, 0.2).word == "incompatible"
    between = verdicts.one_run(runs, float(np.exp(np.mean(np.log(runs)) + 3.6 * np.std(np.log(runs), ddof=1))))
    assert between == Verdict("cannot tell", "between the 95 % and the 99 % interval")
    assert "no number of seeds" in verdicts.one_run([0.01, 0.1, 1.0], 0.1).detail
    assert verdicts.one_run([0.08, 0.12], 0.1).detail == "the interval is too wide: needs 10 seeds"
    assert verdicts.one_run([0.1], 0.11, 0.3, 3).detail == "the interval is too wide: needs 10 seeds"
    assert verdicts.one_run([0.08], 0.1).word == "cannot tell"
    assert verdicts.one_run([0.1], 0.11, 0.1, 14).word == "compatible"
    assert verdicts.one_run([0.1], 0.2, 0.1, 14).word == "incompatible"


def test_deterministic_bounds_and_rates():
    assert verdicts.bound_always([0.5, 1.0, 1.0 + 1e-12]).word == "not violated"
    assert verdicts.bound_always([0.5, 1.1]) == Verdict("violated", "1 of 2 above it")
    assert verdicts.rate_allowed(student(-0.7, 0.01, 5), -0.5).word == "holds"
    assert verdicts.rate_allowed(student(-0.4, 0.01, 5), -0.5).word == "violated"
    assert verdicts.rate_allowed(student(-0.5, 0.1, 5), -0.5).word == "not violated"


def test_a_claim_is_judged_by_its_relation():
    found = student(-0.52, 0.01, 5)
    assert Claim(-0.5).judge(found, 0.05).word == "agrees"
    assert Claim(-0.5, "<=").judge(found, 0.05).word == "holds"
    assert Claim(0.0, "<").judge(found, 0.05).word == "agrees"
    assert Claim(0.0, ">").judge(found, 0.05).word == "differs"
    assert [str(Claim(-0.5, r)) for r in ("=", "<=", "<", ">")] == ["-0.5", "≤ -0.5", "< -0.5", "> -0.5"]


def test_differences_pay_for_their_number():
    few = [Verdict("differs", p=0.04), Verdict("agrees", p=0.9)]
    assert [v.word for v in verdicts.holm(few)] == ["cannot tell", "agrees"]
    sure = [Verdict("differs", p=0.001), Verdict("differs", p=0.02), Verdict("measured")]
    assert [v.word for v in verdicts.holm(sure)] == ["differs", "differs", "measured"]


def test_there_are_no_other_words():
    with pytest.raises(ValueError, match="inconclusive"):
        Verdict("inconclusive")


def test_no_increase_needs_seeds_by_its_distance_from_the_margin():
    """A fall is further away from an increase of 75 than a rise of the same size."""
    falls, rises = (
        verdicts.no_more_than(Interval(value, value - 285.0, value + 285.0, 5), 75.0) for value in (-126.0, 40.0)
    )
    assert falls.word == rises.word == "cannot tell"
    needed = [int(found.detail.split()[1].replace(",", "")) for found in (falls, rises)]
    assert needed[0] < 10 < needed[1]


def test_the_slope_of_a_bound_with_its_constants_is_no_claim():
    """What stays below a bound may fall more slowly than it: only a rate that is claimed can be violated."""
    rows = [
        Row("", "", "", {"n": n, "seed": seed}, "done", values={"risk": n**-0.3 * (1 + 0.001 * seed)})
        for n in (10, 100, 1000)
        for seed in range(5)
    ]
    words = []
    for claimed in (True, False):
        bound = Theory("bound", exponent=-0.5, relation="<=", claimed=claimed)
        words += [finding.verdict.word for finding in Trend("risk", Table(rows), "n", "risk", sound=bound).findings()]
    assert words == ["violated", "measured"]
