"""Gates, tries, judges and streams: fixed numbers computed elsewhere, and how often each verdict is wrong."""

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import binom

from certiformer.evaluation import ConfidenceSequence, rate_limits
from certiformer.evaluation.gates import (
    AnytimeGate,
    chance_of_verdict,
    compare_with_baseline,
    gate_mean,
    gate_rate,
    items_to_decide,
    share_of_run,
)
from certiformer.evaluation.judge import Blocks, judge_helps, paired_blocks
from certiformer.evaluation.planning import units_about
from certiformer.evaluation.tries import task_scores
from certiformer.theory.core.errors import InputError

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "gates.json").read_text())


@pytest.mark.parametrize("v", VECTORS["fixed"], ids=str)
def test_a_gate_at_fixed_n(v):
    found = gate_rate(v["errors"], v["n"], v["threshold"], 0.05)
    assert found.verdict == v["verdict"]
    assert math.exp(found.ln_pass) == pytest.approx(v["pass"], rel=1e-9)
    assert math.exp(found.ln_fail) == pytest.approx(v["fail"], rel=1e-9)


@pytest.mark.parametrize("threshold", [0.01, 0.05, 0.2])
def test_a_verdict_is_wrong_with_probability_delta_at_most_at_every_n(threshold):
    for n in [*range(1, 40), 100, 299, 1000]:
        verdicts = [gate_rate(k, n, threshold, 0.05).verdict for k in range(min(n, 90) + 1)]
        chance = binom.pmf(np.arange(len(verdicts)), n, threshold)
        for wrong in ("pass", "fail"):  # at the threshold itself either would be wrong on one of its sides
            at = sum(p for verdict, p in zip(verdicts, chance, strict=True) if verdict == wrong)
            assert at <= 0.05 + 1e-12, (n, wrong)


@pytest.mark.parametrize("v", VECTORS["items"], ids=str)
def test_items_to_decide(v):
    found = [items_to_decide(v["threshold"] * ratio, v["threshold"], 0.05) for ratio in VECTORS["ratios"]]
    assert found == v["n"]
    assert items_to_decide(v["threshold"], v["threshold"], 0.05) is None


def test_what_a_second_look_costs_and_what_a_ledger_asks_for():
    """The numbers of the page on gates: a fixed gate at 200 and again at 400 items; runs of a ledger."""
    false, chance = 0.0, np.array([1.0])
    for n in (200, 400):
        chance = np.convolve(chance, binom.pmf(np.arange(201), 200, 0.05))
        verdicts = np.array([gate_rate(k, n, 0.05, 0.05).verdict for k in range(len(chance))])
        false += float(chance[verdicts == "fail"].sum())
        chance = np.where(verdicts == "undecided", chance, 0.0)
    assert false == pytest.approx(0.0735, abs=5e-5)
    needed = [items_to_decide(0.025, 0.05, share_of_run(run, 0.05)) for run in (1, 10, 100, 1000)]
    assert needed == [465, 1046, 1681, 2322]


@pytest.mark.parametrize("rate", [0.0495, 0.0506])
def test_near_the_threshold_the_number_of_items_is_a_crossing_found_quickly(rate, monkeypatch):
    asked = []

    def counted(sizes, *given):
        asked.append(len(sizes))
        return chance_of_verdict(sizes, *given)

    monkeypatch.setattr("certiformer.evaluation.gates.chance_of_verdict", counted)
    n = items_to_decide.__wrapped__(rate, 0.05, 0.05)
    assert sum(asked) < 70_000
    before, at = chance_of_verdict([n - 1, n], rate, 0.05, 0.05)
    assert before < 0.8 <= at
    assert items_to_decide(0.04995, 0.05, 0.05) is None


def test_the_chance_of_a_verdict_is_that_of_the_gate():
    for n, rate in ((200, 0.02), (200, 0.1), (37, 0.3)):
        verdicts = [gate_rate(k, n, 0.05, 0.05).verdict for k in range(n + 1)]
        right = "pass" if rate < 0.05 else "fail"
        exact = sum(binom.pmf(k, n, rate) for k in range(n + 1) if verdicts[k] == right)
        assert chance_of_verdict([n], rate, 0.05, 0.05)[0] == pytest.approx(exact, abs=1e-12)


def ln_capitals(x, m, delta=0.05):
    """ln of the capital against the mean m from above after every outcome: the sequence, written plainly."""
    t, sums = np.arange(1, len(x) + 1), np.cumsum(x)
    squares = np.cumsum((x - (0.5 + sums) / (t + 1)) ** 2)
    before = np.concatenate([[0.25], (0.25 + squares[:-1]) / t[1:]])
    fixed = [np.cumsum(np.log1p(F / (1 - m) * (m - x))) for F in [0.95] + [2.0**-j for j in range(1, 10)]]
    bets = [np.minimum(np.sqrt(2 * np.log(2 / delta) / (10 * 4.0**j * before)), 0.95 / (1 - m)) for j in range(8)]
    known = [np.cumsum(np.log1p(bet * (m - x))) for bet in bets]

    def mixed(paths):
        weights = 1 / np.arange(2, 2 + len(paths))
        return logsumexp(np.array(paths), axis=0, b=(weights / weights.sum())[:, None])

    return mixed(fixed), mixed(known), np.logaddexp(mixed(fixed), mixed(known)) - np.log(2)


def test_the_sequence_for_losses_bets_as_the_note_says():
    x, v = 0.3 * ((37 * np.arange(1, 401) % 101) / 101), VECTORS["sequence"]
    found = [path[-1] for path in ln_capitals(x, v["m"])]
    assert found == pytest.approx([v["fixed bets"], v["bets that know the spread"], v["both"]], rel=1e-9)
    x = np.random.default_rng(3).beta(0.5, 4.0, 200)
    grid, bar = np.arange(1, 1000) / 1000, np.log(2 / 0.05)
    upper = min(m for m in grid if ln_capitals(x, m)[2].max() >= bar)
    lower = max(m for m in grid if ln_capitals(1 - x, 1 - m)[2].max() >= bar)
    for blocks in (1, 7, 200):
        sequence = ConfidenceSequence(0.05)
        for part in np.array_split(x, blocks):
            sequence.update(part)
        assert (sequence.lower, sequence.upper) == (lower, upper)
        assert not sequence.changed


def test_a_state_with_other_bets_is_refused():
    sequence = ConfidenceSequence(0.05)
    sequence.update([0.1, 0.2])
    state = sequence.state()
    for side in ("above", "below"):
        state["bets"][side] = state["bets"][side][:9]
    with pytest.raises(InputError, match="those of this version"):
        ConfidenceSequence.resume(state)


def test_an_anytime_gate_is_rarely_wrong_and_goes_on_after_a_restart():
    wrong = {"pass": 0, "fail": 0}
    for seed in range(200):
        outcomes = (np.random.default_rng(seed).random(1500) < 0.05).astype(float)
        gate = AnytimeGate(0.05, 0.2)
        for part in np.split(outcomes, 30):
            gate = AnytimeGate.resume(json.loads(json.dumps(gate.state())))
            gate.update(part)
        if gate.decided != "undecided":
            wrong[gate.decided] += 1
    assert max(wrong.values()) <= 58  # P(Bin(200, 0.2) > 58) < 0.001
    gate = AnytimeGate(0.05)
    assert gate.update(np.zeros(74)) == "undecided"
    assert gate.update([0.0]) == "pass"
    assert gate.update(np.ones(500)) == "pass", "the first verdict stands"
    assert gate.decided_at == 75
    losses = AnytimeGate(0.5, binary=False, low=0.0, high=2.0)
    assert losses.update(np.full(200, 0.2)) == "pass"
    with pytest.raises(InputError, match="0 or 1"):
        AnytimeGate(0.05).update([0.5])


def test_a_gate_for_losses_agrees_with_the_limits_of_the_mean():
    from certiformer.evaluation import mean_limits

    for seed in range(6):
        x = 2.0 * np.random.default_rng(seed).beta(1, 12, size=150)
        limits = mean_limits(x, 0.05, 0.0, 2.0)
        assert gate_mean(x, limits.upper * 1.0001, 0.05, 0.0, 2.0).verdict == "pass"
        assert gate_mean(x, limits.upper * 0.9999, 0.05, 0.0, 2.0).verdict == "undecided"
        assert gate_mean(x, limits.lower * 0.9999, 0.05, 0.0, 2.0).verdict == "fail"


@pytest.mark.parametrize(("p10", "p01"), [(0.1, 0.1), (0.13, 0.10), (0.02, 0.02)])
def test_chains_of_claims_about_a_baseline(p10, p01):
    """p10: only the baseline is wrong. Any claim that is false counts; equality at the margin is a true claim."""
    truth, false = p01 - p10, 0
    for seed in range(100):
        u = np.random.default_rng(seed).random(300)
        base, cand = (u < p10).astype(float), ((u >= p10) & (u < p10 + p01)).astype(float)
        found = compare_with_baseline(cand, base, 0.03, 0.05)
        false += (
            (found.superior and truth >= 0)
            or (found.inferior and truth <= 0)
            or (found.better_by_margin and truth > -0.03)
            or (found.worse_by_margin and truth < 0.03)
            or (found.no_better and truth < -0.03 - 1e-9)
        )
    assert false <= 13


def test_two_identical_runs_are_equivalent_from_a_known_n():
    def shown(n):
        return compare_with_baseline(np.zeros(n), np.zeros(n), 0.03, 0.05).equivalent

    assert not shown(138)
    assert shown(139)
    found = compare_with_baseline([1, 0, 0, 1] * 10, [1, 0, 1, 0] * 10, 0.1, 0.05, ids=[str(i) for i in range(40)])
    assert (found.wins, found.losses, found.both_right, found.both_wrong) == (10, 10, 10, 10)
    groups = compare_with_baseline([1, 0] * 40, [0, 0] * 40, 0.1, 0.05, independent_rows=False)
    assert groups.wins is None


@pytest.mark.parametrize(
    ("draw", "mean", "variance", "threshold"),
    [
        (np.zeros, 0.0, 0.0, 0.05),
        (lambda n: np.full(n, 0.1), 0.1, 0.0, 0.08),
        (lambda n: np.random.default_rng(n).beta(1, 19, n), 0.05, 0.00226, 0.07),
        (lambda n: np.random.default_rng(n).random(n), 0.5, 1 / 12, 0.6),
    ],
)
def test_about_as_many_units_decide_as_are_said_to(draw, mean, variance, threshold):
    def decided(n):
        found = (gate_mean(draw(n + k), threshold, 0.05, ids=[str(i) for i in range(n + k)]) for k in range(9))
        return sum(one.verdict == ("pass" if mean < threshold else "fail") for one in found)

    n = units_about(variance, mean, threshold, 0.05)
    assert decided(round(1.5 * n)) >= 7
    assert decided(round(0.5 * n)) <= 6
    assert units_about(variance, threshold, threshold, 0.05) is None


@pytest.mark.parametrize("v", VECTORS["tries"], ids=str)
def test_tries(v):
    for kind, name in (("pass^k", "all"), ("pass@k", "any")):
        assert task_scores([v["c"]], [v["n"]], v["k"], kind)[0] == pytest.approx(v[name], rel=1e-9, abs=1e-15)
    with pytest.raises(InputError, match="at least k = 7"):
        task_scores([3], [6], 7)


def test_a_judge_helps_where_the_rule_says_so():
    i = np.arange(1, 61)
    z, j = (i % 7 == 0).astype(float), (((i % 7 == 0) & (i % 21 != 0)) | (i % 11 == 0)).astype(float)
    means = ((3 * i) % 4) / 9
    assert Blocks(z, j, means, 9).limits(0.05) == pytest.approx((0.0530053941, 0.238335967), abs=1e-9)
    assert Blocks(z, 0 * j, 0 * means, 9).limits(0.05) == pytest.approx((0.0539875144, 0.24743762), abs=1e-9)
    assert rate_limits(8, 60, 0.05).upper == pytest.approx(0.2277399457, abs=1e-9)
    assert not judge_helps(60, 9, 0.14, 0.9)  # 8.4 errors are expected: humans alone
    assert judge_helps(300, 9, 0.14, 0.9)
    assert not judge_helps(300, 9, 0.14, 0.5)


def test_the_gate_of_blocks_is_its_limits():
    draw = np.random.default_rng(4)
    wrong = draw.random(700) < 0.2
    judge = np.where(draw.random(700) < 0.1, ~wrong, wrong).astype(float)
    blocks = paired_blocks(wrong[:100], judge[:100], judge[100:])
    assert blocks.size == 6
    lower, upper = blocks.limits(0.05)
    for shift, verdict in ((upper + 1e-6, "pass"), (upper - 1e-6, "undecided"), (lower - 1e-6, "fail")):
        assert blocks.gate(shift, 0.05).verdict == verdict


def test_bad_input_is_named():
    for call, word in [
        (lambda: gate_rate(5, 4, 0.05, 0.05), "between 0 and n = 4"),
        (lambda: gate_rate(0, 9, 0.05, 0.6), r"\(0, 0.5\)"),
        (lambda: gate_mean([0.1, 0.2], 1.0, 0.05), "strictly between 0 and 1"),
        (lambda: compare_with_baseline([0, 1], [0, 1, 1], 0.1, 0.05), "one for each of 2"),
        (lambda: compare_with_baseline([0, 1], [0, 1], 0.0, 0.05), "margin"),
        (lambda: gate_rate(2.5, 100, 0.05, 0.05), r"errors: got 2\.5, expected a whole number"),
        (lambda: rate_limits(0, 100.5, 0.05), r"n = 100\.5"),
        (lambda: share_of_run(0, 0.05), "at least 1"),
        (lambda: share_of_run(1.5, 0.05), "a whole number"),
        (lambda: AnytimeGate.resume({}), "state"),
        (lambda: AnytimeGate.resume({**AnytimeGate(0.05).state(), "n": 5, "total": -9.0}), "sums of 5 outcomes"),
        (lambda: AnytimeGate.resume({**AnytimeGate(0.05).state(), "decided": "passed"}), "sums of 0 outcomes"),
        (lambda: paired_blocks([1, 0], [1, 0], [1]), "at least as many"),
        (lambda: judge_helps(9, 1, 1.5, 0.5), "a rate in"),
    ]:
        with pytest.raises(InputError, match=word):
            call()


def test_a_p_value_far_out_is_an_upper_bound():
    n, k, eps = 151, 117, 0.0018795266640437899
    rate = Fraction(eps)
    exact = sum(math.comb(n, i) * rate**i * (1 - rate) ** (n - i) for i in range(k, n + 1))
    ln_exact = math.log(exact.numerator) - math.log(exact.denominator)
    assert ln_exact <= gate_rate(k, n, eps, 0.05).ln_fail <= ln_exact + 1e-4
