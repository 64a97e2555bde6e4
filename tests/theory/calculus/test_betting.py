"""Betting and progressive limits: coverage where they hold, failure where they do not."""

import math

import numpy as np
import pytest

from certiformer.theory.calculus.betting import azuma_upper, betting_upper, progressive_grid, progressive_upper
from certiformer.theory.core.errors import InputError

DELTA = 0.1


def improving(rng, n):
    """A learner that is bad for a while and then good: risks, and the 0-1 losses recorded on the way."""
    risks = np.where(np.arange(n) < n // 10, 0.5, 0.02)
    return risks, (rng.random(n) < risks).astype(float)


def test_betting_covers_independent_losses():
    rng = np.random.default_rng(0)
    missed = 0
    for _ in range(400):
        losses = rng.beta(0.5, 4.5, 200)
        missed += betting_upper(losses, DELTA) < 0.1
    assert missed <= 400 * DELTA + 3 * math.sqrt(400 * DELTA * (1 - DELTA))


def test_betting_is_tighter_than_hoeffding_for_small_losses():
    losses = np.random.default_rng(1).beta(0.5, 9.5, 2000)
    assert np.mean(losses) < betting_upper(losses, 0.05) < azuma_upper(float(np.mean(losses)), 2000, -math.log(0.05))


def test_betting_fails_under_a_learner_that_improves_and_the_grid_does_not():
    rng = np.random.default_rng(2)
    missed = {"betting": 0, "grid": 0, "azuma": 0}
    for _ in range(60):
        risks, losses = improving(rng, 2000)
        truth, seen = risks.mean(), float(losses.mean())
        missed["betting"] += betting_upper(losses, DELTA) < truth
        missed["grid"] += progressive_upper(seen, 2000, -math.log(DELTA), progressive_grid()) < truth
        missed["azuma"] += azuma_upper(seen, 2000, -math.log(DELTA)) < truth
    assert missed["betting"] > 20
    assert missed["grid"] <= 6
    assert missed["azuma"] <= 6


def test_betting_agrees_with_the_definition_on_a_tiny_sample():
    # One loss of zero, bet b = min(sqrt(2 ln(1/d)/0.25), c/(1-m)): the capital 1 + b m reaches 1/d first at the limit.
    delta = 0.6
    limit = betting_upper([0.0], delta)
    bet = min(math.sqrt(2 * math.log(1 / delta) / 0.25), 0.75 / (1 - limit))
    assert 1 + bet * limit == pytest.approx(1 / delta)


def test_bets_know_nothing_of_the_future():
    # Changing the last loss may change the limit only through that loss, not through the earlier bets.
    losses = np.random.default_rng(3).random(50)
    from certiformer.theory.calculus.betting import _plug_in

    changed = losses.copy()
    changed[-1] = 1 - changed[-1]
    np.testing.assert_array_equal(_plug_in(losses, 0.1), _plug_in(changed, 0.1))
    first = _plug_in(losses, 0.1)
    assert first[0] == pytest.approx(math.sqrt(2 * math.log(10) / (50 * 0.25)))
    mean = (0.5 + losses[0]) / 2
    assert first[1] == pytest.approx(math.sqrt(2 * math.log(10) / (50 * (0.25 + (losses[0] - mean) ** 2) / 2)))


def test_nothing_can_be_said_from_one_bad_loss():
    assert betting_upper([1.0], 0.05) == 1.0


def test_progressive_formula_and_grid():
    grid = progressive_grid()
    assert len(grid) == 40
    assert grid[0] == pytest.approx(0.01)
    assert grid[-1] == pytest.approx(10.0)
    value = progressive_upper(0.1, 1000, 3.0, [2.0, 0.5])
    by_hand = [(1 - math.exp(-lam * 0.1 - (3 + math.log(2)) / 1000)) / (1 - math.exp(-lam)) for lam in (2.0, 0.5)]
    assert value == pytest.approx(min(by_hand))
    assert azuma_upper(0.1, 1000, 3.0) == pytest.approx(0.1 + math.sqrt(0.0015))


@pytest.mark.parametrize("bad", [[], [[0.1]], [0.5, 1.2], [1.05], [-0.1], [math.nan]])
def test_losses_that_are_none(bad):
    with pytest.raises(InputError, match="losses"):
        betting_upper(bad, 0.1)
