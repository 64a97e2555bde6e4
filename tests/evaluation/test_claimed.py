"""The page "claimed and actual" is what was measured, and what was measured is so."""

import json

import pytest
from scipy.stats import binom

import generate_claimed as claimed

MEASURED = json.loads(claimed.DATA.read_text(encoding="utf-8"))


def test_the_page_is_drawn_from_what_was_measured():
    assert claimed.PAGE.read_text(encoding="utf-8") == claimed.page(MEASURED), (
        "python tools/generate_claimed.py --redraw"
    )


def test_the_exact_table_is_found_again():
    again = claimed.counts((30,))
    for fresh, kept in zip(again, MEASURED["counts"][: len(again)], strict=True):
        assert (fresh["case"], fresh["method"]) == (kept["case"], kept["method"])
        for name in ("missed", "dangerous", "width"):
            assert fresh[name] == pytest.approx(kept[name], abs=1e-9)


def test_an_interval_of_width_0_misses_whenever_nothing_was_seen():
    row = next(row for row in MEASURED["counts"] if row["case"] == "rate 1 %, n = 30")
    assert row["method"] == claimed.ERROR
    assert row["dangerous"] >= binom.pmf(0, 30, 0.01)


@pytest.mark.parametrize("part", ["counts", "losses", "judges"])
def test_ours_is_never_above_what_it_claims(part):
    # Simulated ones may be by chance: four standard errors.
    slack = {"counts": 0.0, "losses": claimed.REPETITIONS, "judges": claimed.WITH_A_JUDGE}[part]
    for row in MEASURED[part]:
        if row["method"].startswith("ours"):
            allowed = 0.0 if not slack else 4.0 * (0.025 / slack) ** 0.5
            assert row["dangerous"] <= 0.025 + allowed, row
            assert row["missed"] <= 0.05 + 1.5 * allowed, row


def test_formulas_by_hand():
    low, high = claimed.wilson(5, 100)
    assert (low, high) == pytest.approx((0.021543, 0.111750), abs=1e-5)  # the roots of (m - p)^2 = z^2 p(1-p)/n
    for p in (low, high):
        assert (0.05 - p) ** 2 == pytest.approx(claimed.Z**2 * p * (1 - p) / 100, rel=1e-9)
    assert claimed.bootstrap_of_counts(0, 50) == (0.0, 0.0)
