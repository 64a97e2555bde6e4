"""Certificates fail no more often than they may, and the same simulation catches procedures that break a rule."""

import pytest

from certiformer import certify
from certiformer.auditing.coverage import Coverage, as_expected, fails, laws, repetitions, simulate
from certiformer.auditing.procedure_laws import LAWS as PROCEDURES
from certiformer.certificates import Law, Trial, certificates
from certiformer.certificates.holdout import HoldOut
from certiformer.theory.core.errors import InputError

LAWS = {f"{id}: {name}": (id, name, law) for id, name, law in laws()}


@pytest.mark.independent(*certificates())
@pytest.mark.parametrize("name", LAWS)
def test_a_certificate_covers_and_a_broken_rule_is_caught(name):
    id, law_name, law = LAWS[name]
    trains = law_name in PROCEDURES.get(id, {})
    found = simulate(id, law, 12 if trains and law.valid else repetitions(id, law, 1000, most=60), seed=0)
    assert as_expected(law, found), f"{found.failures} failures in {found.repetitions}"


@pytest.mark.deep
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", LAWS)
def test_ten_thousand_repetitions(name):
    id, _, law = LAWS[name]
    found = simulate(id, law, repetitions(id, law, 10_000), seed=1)
    assert as_expected(law, found), f"{found.failures} failures in {found.repetitions}"


def test_picks_that_depend_on_the_order_of_the_file_are_refused():
    """A broken loop that the program can see: the replay on the picks alone ends elsewhere."""
    import numpy as np

    from certiformer.auditing.procedure_laws import _learner
    from certiformer.lab.procedures import PickToLearn

    class FirstRow(type(_learner())):
        def outputs(self, state, inputs):
            inside = super().outputs(state, inputs) > 0
            return np.where(inside, 1.0, np.arange(len(inputs)) - 1000.0)  # the first row of the file is preferred

    x = np.random.default_rng(0).random((40, 2))
    with pytest.raises(InputError, match="from the picked examples alone"):
        certify(train=(x, np.ones(40, int)), by=[PickToLearn(FirstRow())])


def test_every_certificate_has_a_law_and_a_broken_one():
    for id in certificates():
        assert {law.valid for law in certificates()[id].laws().values()} == {True, False}


def test_the_binomial_test_is_exact():
    always = Law(lambda random: Trial(HoldOut(errors=0, n=20), 1.1))
    never = Law(lambda random: Trial(HoldOut(errors=0, n=20), 0.0))
    assert simulate("holdout", always, 3, seed=0, delta=0.1) == Coverage(3, 3, pytest.approx(0.001))
    assert simulate("holdout", never, 5, seed=0).p_value == 1.0
    assert not fails("holdout", never.draw(None))


def test_the_published_table_is_what_was_measured():
    """coverage.jsonl: ten thousand repetitions of every certificate, each law as it should be; the page too."""
    import importlib.util
    from pathlib import Path

    place = Path(__file__).parents[2] / "tools" / "generate_coverage.py"
    spec = importlib.util.spec_from_file_location("generate_coverage", place)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    found = tool.measured()
    for id in certificates():
        lines = [found[id, name] for owner, name, law in LAWS.values() if owner == id and law.valid]
        assert sum(line["repetitions"] for line in lines) >= 10_000, id
    table = tool.table()
    assert "UNEXPECTED" not in table
    assert "not measured" not in table
    assert table in tool.PAGE.read_text()
