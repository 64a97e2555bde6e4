"""Certificates fail no more often than they may, and the same simulation catches procedures that break a rule."""

import pytest

from certiformer.auditing.coverage import Coverage, as_expected, fails, laws, simulate
from certiformer.certificates import Law, Trial, certificates
from certiformer.certificates.holdout import HoldOut

LAWS = {f"{id}: {name}": (id, law) for id, name, law in laws()}


def repetitions(id, law, total):
    """Each certificate has `total` repetitions, shared among its valid laws; a broken rule shows much sooner."""
    valid = sum(one.valid for one in certificates()[id].laws().values())
    return -(-total // valid) if law.valid else 60


@pytest.mark.independent(*certificates())
@pytest.mark.parametrize("name", LAWS)
def test_a_certificate_covers_and_a_broken_rule_is_caught(name):
    id, law = LAWS[name]
    found = simulate(id, law, repetitions(id, law, 1000), seed=0)
    assert as_expected(law, found), f"{found.failures} failures in {found.repetitions}"


@pytest.mark.deep
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", LAWS)
def test_ten_thousand_repetitions(name):
    id, law = LAWS[name]
    found = simulate(id, law, repetitions(id, law, 10_000), seed=1)
    assert as_expected(law, found), f"{found.failures} failures in {found.repetitions}"


def test_every_certificate_has_a_law_and_a_broken_one():
    for kind in certificates().values():
        assert {law.valid for law in kind.laws().values()} == {True, False}


def test_the_binomial_test_is_exact():
    always = Law(lambda random: Trial(HoldOut(errors=0, n=20), 1.1))
    never = Law(lambda random: Trial(HoldOut(errors=0, n=20), 0.0))
    assert simulate("holdout", always, 3, seed=0, delta=0.1) == Coverage(3, 3, pytest.approx(0.001))
    assert simulate("holdout", never, 5, seed=0).p_value == 1.0
    assert not fails("holdout", never.draw(None))
