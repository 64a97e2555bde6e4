"""The lowest of many values found by looking at few of them."""

import math

import numpy as np
import pytest

from certiformer.reproduction._screening import lowest


def curve(seed, windows=200, length=100, every=20):
    """A falling, noisy curve with spikes; the windows' values, and the lowest of those looked at."""
    rng = np.random.default_rng(seed)
    places = np.arange(windows * length)
    values = 0.2 + np.exp(-places / 4000) + 0.002 * rng.standard_normal(len(places)) + (rng.random(len(places)) < 0.01)
    table = values.reshape(windows, length)
    return table, table[:, every - 1 :: every].min(axis=1)


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_lowest_of_all_if_no_window_left_out_hides_more(seed):
    table, screened = curve(seed)
    found = lowest(screened, lambda k: table[k].min(), most=200)
    assert found.by_rule
    assert found.below == 0.0
    assert found.windows < 200
    assert found.lowest == table.min()


def test_where_the_windows_run_out_it_says_how_much_lower_it_may_be():
    table, screened = curve(0)
    seen = []

    def through(window):
        seen.append(window)
        return table[window].min()

    found = lowest(screened, through, most=25)
    assert found.windows == len(seen) == 25
    assert seen == np.argsort(screened, kind="stable")[:25].tolist()
    assert not found.by_rule
    assert found.excess == max(screened[k] - table[k].min() for k in seen)
    left = np.sort(screened)[25]
    assert found.below == pytest.approx(found.lowest + 2 * found.excess - left)
    assert found.lowest >= table.min() >= found.lowest - max(found.below, found.excess)


def test_few_windows_are_all_gone_through():
    found = lowest([3.0, 1.0, 2.0], lambda k: [0.5, 1.0, 2.0][k])
    assert (found.lowest, found.windows, found.excess, found.by_rule) == (0.5, 3, 2.5, True)
    assert math.isfinite(found.below)
