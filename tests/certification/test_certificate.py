"""Verdicts and the sample size that would change them."""

import math

import pytest

from certiformer.certificates.holdout import HoldOut
from certiformer.certification.statements import confidence, does_not_apply, evidence_row, size_needed, verdict
from certiformer.theory.core import find, upper_bound


def test_an_informative_bound():
    found = evidence_row(HoldOut(errors=10, n=1000), 0.05, 2)
    assert found.verdict == "informative"
    assert found.informative
    assert found.confidence == 0.95
    assert found.n_needed is None
    assert found.as_json()["id"] == "holdout"


def test_a_vacuous_bound_says_how_far():
    found = evidence_row(HoldOut(errors=6, n=10), 0.05, 2)
    assert found.verdict.startswith("vacuous by a factor of 1.7")
    assert not found.informative


def test_verdicts_of_extremes():
    assert verdict(upper_bound(math.inf), 1.0) == "vacuous: infinite"
    assert verdict(upper_bound(math.inf, ln=2302.585092994046), 1.0) == "vacuous by a factor of 10^1000.0"
    assert verdict(upper_bound(1.0), 0.01) == "vacuous by a factor of 100"
    assert verdict(upper_bound(1.0), 1.0) == "vacuous by a factor of 1"


def test_a_row_without_a_number_says_why():
    row = does_not_apply(find("dudley"), "gap", "the model has biases").as_json()
    assert row["value"] is None
    assert row["verdict"] == "does not apply"


def test_a_confidence_is_never_one():
    assert confidence(0.05) == 0.95
    assert confidence(1e-30) < 1.0
    assert confidence(None) is None


@pytest.mark.parametrize("clipped", [False, True])
@pytest.mark.parametrize("true", [1e3, 1e9, 1e31])
def test_the_size_that_is_needed_is_found_in_few_evaluations(true, clipped):
    asked = []

    def value(n):
        asked.append(n)
        found = (true / n) ** 0.5
        return min(found, 1.0) if clipped else found

    assert true <= size_needed(value, 60.0, 1.0) <= 1.05 * true
    assert len(asked) < 40


def test_a_bound_with_a_limit_above_the_trivial_value_is_given_up_soon():
    asked = []

    def value(n):
        asked.append(n)
        return 1.01 + n**-0.5

    assert size_needed(value, 60.0, 1.0) is None
    assert len(asked) < 15
