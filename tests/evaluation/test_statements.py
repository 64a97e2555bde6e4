"""Properties of the statements: monotone capital, orders, ranges, units, restarts, refusals."""

import numpy as np
import pytest

import certiformer
from certiformer.evaluation import (
    ConfidenceSequence,
    Monitor,
    choose_threshold,
    mean_limits,
    paired_limits,
    plan_errors,
    plan_pairs,
    rate_limits,
    sign_test,
    success_curve,
    units_of,
)
from certiformer.theory.calculus.target_betting import _capital, _Paths, fixed_orders
from certiformer.theory.core.errors import InputError

RANDOM = np.random.default_rng(0)
LOSSES = RANDOM.beta(0.5, 2, size=60)


@pytest.mark.parametrize("several", [False, True])
def test_the_capital_rises_with_the_mean(several):
    for _ in range(10):
        n = int(RANDOM.integers(2, 30))
        w = RANDOM.random(n) if RANDOM.random() < 0.5 else np.ones(n)
        y = w * RANDOM.choice([RANDOM.random(n), RANDOM.integers(2, size=n).astype(float)])
        paths = _Paths(w, y, fixed_orders(n) if several else None)
        capital = _capital(paths, np.linspace(0.005, 0.995, 200), 0.05 / 1.5, final=several)
        assert np.all(np.diff(capital) >= -1e-13)
        assert np.all((capital >= 0) & (capital <= 1))


@pytest.mark.parametrize("order", ["average", "hash", "given"])
def test_limits_scale_with_the_range_and_mirror(order):
    one = mean_limits(LOSSES, 0.05, order=order)
    other = mean_limits(10 - 4 * LOSSES, 0.05, 6, 10, order=order)
    assert other.upper == pytest.approx(10 - 4 * one.lower, abs=1e-9)
    assert other.lower == pytest.approx(10 - 4 * one.upper, abs=1e-9)
    both = mean_limits(LOSSES, 0.1, order=order, two_sided=True)
    assert (both.lower, both.upper) == (one.lower, one.upper)
    assert one.lower < one.mean < one.upper


def test_ids_make_the_order_of_the_file_irrelevant():
    ids = [f"example {k}" for k in range(60)]
    shuffled = RANDOM.permutation(60)
    for order in ("average", "hash"):
        one = mean_limits(LOSSES, 0.05, order=order, ids=ids)
        two = mean_limits(LOSSES[shuffled], 0.05, order=order, ids=[ids[k] for k in shuffled])
        assert one.upper == two.upper


def test_a_file_sorted_by_its_losses_is_refused():
    with pytest.raises(InputError, match="sorted by its own values"):
        mean_limits(np.sort(LOSSES), 0.05)
    with pytest.raises(InputError, match="sorted"):
        mean_limits([1.0] * 30 + [0.0] * 30, 0.05, order="hash")
    ids = [str(k) for k in range(60)]
    assert mean_limits(np.sort(LOSSES), 0.05, ids=ids).upper > LOSSES.mean()


def test_above_twenty_thousand_units_one_order_is_used():
    few = mean_limits(LOSSES, 0.05)
    assert few.method == "average of 16 orders"
    assert mean_limits(LOSSES, 0.05, order="hash").method == "one order: hash"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mean_limits([0.1, 1.2], 0.05), "numbers in"),
        (lambda: mean_limits([], 0.05), "at least one number"),
        (lambda: mean_limits([0.1, np.nan], 0.05), "Entry 1"),
        (lambda: mean_limits([0.1], 0.0), "delta"),
        (lambda: mean_limits([0.1], 0.05, 1.0, 0.0), "low below high"),
        (lambda: mean_limits([0.1, 0.2], 0.05, weights=[1.0]), "one for each"),
        (lambda: mean_limits([0.1, 0.2], 0.05, weights=[1.0, 2.0]), "largest weight that can occur"),
        (lambda: mean_limits([0.1, 0.2], 0.05, order="best"), "order"),
        (lambda: mean_limits([0.1, 0.2], 0.05, ids=["a"]), "one for each of 2"),
        (lambda: rate_limits(3, 2, 0.05), "between 0 and n"),
        (lambda: paired_limits([0, 1], [0], 0.05), "as A has"),
        (lambda: sign_test(-1, 0), "at least 0"),
        (lambda: plan_errors(0.02, 0.05, 0.03), "below 0.02"),
        (lambda: plan_pairs(0.1, 0.1), "two different fractions"),
        (lambda: Monitor(1.5), "strictly between"),
        (lambda: ConfidenceSequence(0.05, binary=True).update(0.5), "0 or 1"),
        (lambda: choose_threshold([0.5, np.nan], [0, 1], 0.1, 0.05), "nan"),
        (lambda: choose_threshold([0.5], [0.5], 0.1, 0.05), "0 or 1"),
        (lambda: units_of([0, 1], ["a", "a"]), "at least 2 groups"),
        (lambda: units_of([0, 1], ["a", None]), "no group in row 1"),
        (lambda: units_of([0, 1], ["a", "b"], estimand="rows"), "declared beforehand"),
    ],
)
def test_what_cannot_be_used_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.parametrize("n", [300, 5000])
def test_a_limit_at_a_tiny_failure_probability_is_near_the_binomial_one(n):
    """A guard against rounding made it 1."""
    found = certiformer.certify(predictions={"heldout_losses": np.zeros(n)}, delta=1e-12)
    exact = 1 - 1e-12 ** (1 / n)
    assert exact <= found.value <= 1.05 * exact


def test_a_stream_of_losses_gets_below_a_thousandth():
    """The limits were multiples of a thousandth of the range."""
    *_, last = certiformer.watch(["0.0001", "0.0003"] * 6000, every=12_000, declaration={"range": (0, 1)})
    assert 0.0 < last.lower < 0.0002 < last.upper < 0.001


def test_units_of_groups():
    units = units_of([0, 1, 1, 0.5], ["a", "a", "b", "c"])
    np.testing.assert_array_equal(units.losses, [0.5, 1, 0.5])
    assert units.weights is None
    assert any("only 3 groups" in text for text in units.warnings)
    rows = units_of([0, 1, 1, 0.5], ["a", "a", "b", "c"], estimand="rows", max_size=4)
    np.testing.assert_array_equal(rows.weights, [0.5, 0.25, 0.25])
    with pytest.raises(InputError, match="at least 9, the size of unit 0"):
        units_of([0.0] * 9 + [1.0], ["a"] * 9 + ["b"], estimand="rows", max_size=3)


def test_equal_groups_have_one_mean():
    x = RANDOM.random(60)
    groups = np.repeat(np.arange(20), 3).tolist()
    over_groups = units_of(x, groups)
    over_rows = units_of(x, groups, estimand="rows", max_size=3)
    one = mean_limits(over_groups.losses, 0.05)
    two = mean_limits(over_rows.losses, 0.05, weights=over_rows.weights)
    assert one.upper == pytest.approx(two.upper, rel=1e-9)


def test_a_monitor_goes_on_after_a_restart():
    x = RANDOM.random(1730) < 0.06
    whole, parts = Monitor(0.05), Monitor(0.05)
    whole.update(x)
    for part in np.array_split(x, 37):
        parts.update(part)
        parts = Monitor.resume(parts.state())
    assert parts.n == 1730
    assert parts.alarm == whole.alarm
    assert parts.evidence == pytest.approx(whole.evidence, rel=1e-9)


@pytest.mark.parametrize("binary", [True, False])
def test_a_sequence_goes_on_after_a_restart(binary):
    x = (RANDOM.random(200) < 0.3).astype(float) * (1 if binary else 0.5)
    whole, parts = ConfidenceSequence(0.05, binary=binary), ConfidenceSequence(0.05, binary=binary)
    whole.update(x)
    for part in np.array_split(x, 7):
        parts.update(part)
        parts = ConfidenceSequence.resume(parts.state())
    assert parts.upper <= whole.upper
    assert parts.n == 200
    assert whole.lower <= whole.mean <= whole.upper
    if not binary:
        assert (parts.lower, parts.upper) == (whole.lower, whole.upper)


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize(("first", "then"), [(0.0, 1.0), (1.0, 0.0)])
def test_a_mean_that_changed_is_noticed(binary, first, then):
    scale = 1.0 if binary else 0.9
    sequence = ConfidenceSequence(0.05, binary=binary)
    sequence.update(np.full(500, scale * first))
    assert not sequence.changed
    sequence = ConfidenceSequence.resume(sequence.state())
    sequence.update(np.full(500, scale * then))
    assert sequence.changed


def test_plans_agree_with_the_curve():
    plan = plan_errors(0.02, 0.05, 0.01)
    curve = success_curve(0.02, 0.05, 0.01, [plan.n - 1, plan.n])
    assert curve[0] < 0.8 <= curve[1]
    assert plan_errors(0.02, 0.05, 0.01, models=5).n > plan.n
    assert rate_limits(plan.errors, plan.n, 0.05).upper <= 0.02 < rate_limits(plan.errors + 1, plan.n, 0.05).upper


def test_plans_for_pairs():
    assert [plan_pairs(a, b).n for a, b in ((0.03, 0.01), (0.06, 0.03), (0.1, 0.05))] == [843, 830, 498]


def test_thresholds_fixed_beforehand_claim_alpha_and_no_less():
    conf, wrong = RANDOM.random(400), np.zeros(400)
    by_counts = choose_threshold(conf, wrong, 0.1, 0.05)
    assert by_counts.answered == 400
    assert by_counts.error_upper < 0.1
    assert choose_threshold(conf, wrong, 0.1, 0.05, [0.5, 0.0]).error_upper == 0.1
    nothing = choose_threshold(conf, np.ones(400), 0.1, 0.05)
    assert nothing.threshold is None
    assert nothing.answered == 0
