"""The gate for inspect_ai by its protocol, without the package: what counts, in which order, and what holds it up."""

import asyncio
import sys
from types import ModuleType, SimpleNamespace

import pytest

from certiformer.inspect_plugin import EarlyGate, limits
from certiformer.theory.core.errors import CertiformerError


@pytest.fixture(autouse=True)
def _package(monkeypatch):
    """Only the one class that the protocol hands back."""
    package, util = ModuleType("inspect_ai"), ModuleType("inspect_ai.util")
    util.EarlyStop = SimpleNamespace
    monkeypatch.setitem(sys.modules, "inspect_ai", package)
    monkeypatch.setitem(sys.modules, "inspect_ai.util", util)


def scored(value):
    return {"match": SimpleNamespace(score=SimpleNamespace(value=value))}


def begin(gate, *ids, epoch=1):
    return [asyncio.run(gate.schedule_sample(id, epoch)) for id in ids]


def end(gate, id, value="C", epoch=1):
    asyncio.run(gate.complete_sample(id, epoch, scored(value)))


def told(gate):
    return asyncio.run(gate.complete_task())


def test_it_stops_when_the_gate_is_decided_and_says_why():
    gate = EarlyGate(0.05)
    for id in range(75):
        assert begin(gate, id) == [None]
        end(gate, id)
    (stop,) = begin(gate, 75)
    assert (stop.id, stop.epoch) == (75, 1)
    assert stop.reason == "PASS: the error rate is at most 5 % (confidence 95 %)"
    found = told(gate)
    assert (found["verdict"], found["decided_at"], found["samples"], found["held_up"]) == ("pass", 75, 75, "")


def test_outcomes_count_in_the_order_in_which_samples_were_begun():
    gate = EarlyGate(0.05)
    begin(gate, "slow", *range(200))
    for id in range(200):
        end(gate, id)
    assert begin(gate, "next") == [None]  # 200 right ones, but the first is not known
    assert told(gate)["samples"] == 0
    end(gate, "slow", "I")
    assert told(gate)["samples"] == 201


def test_epochs_and_second_tries_are_no_new_samples():
    gate = EarlyGate(0.05)
    for _ in range(3):
        begin(gate, "a")
        end(gate, "a")
    begin(gate, "a", epoch=2)
    end(gate, "a", "I", epoch=2)
    assert told(gate)["samples"] == 1


@pytest.mark.parametrize("value", ["P", float("nan"), {"a": 1}, 2.0])
def test_a_score_that_is_not_what_was_declared_ends_the_counting_not_the_evaluation(value):
    gate = EarlyGate(0.05)
    begin(gate, 0, 1, 2)
    end(gate, 0)
    end(gate, 1, value)
    end(gate, 2)
    assert told(gate)["samples"] == 1
    assert "sample 1 is not right or wrong" in told(gate)["held_up"]


def test_scores_between_0_and_1_are_declared():
    gate = EarlyGate(0.5, binary=False)
    begin(gate, *range(400))
    for id in range(400):
        end(gate, id, 0.75)
    assert told(gate)["verdict"] == "pass"


def test_one_gate_belongs_to_one_evaluation():
    gate = EarlyGate(0.05)
    task = SimpleNamespace(scorers=[SimpleNamespace(name="match")])
    assert asyncio.run(gate.start_task(task, [], 1)) == "certiformer"
    begin(gate, 0)
    with pytest.raises(CertiformerError, match="gate of its own"):
        asyncio.run(gate.start_task(task, [], 1))
    both = SimpleNamespace(scorers=[SimpleNamespace(name="match"), SimpleNamespace(name="f1")])
    with pytest.raises(CertiformerError, match="scorer='match'"):
        asyncio.run(EarlyGate(0.05).start_task(both, [], 1))


def test_limits_are_exact_for_right_and_wrong_and_hold_for_scores_in_between():
    from scipy.stats import beta

    def of(values, **given):
        return limits(**given)([SimpleNamespace(score=scored(v)["match"].score, sample_id=k) for k, v in values])

    found = of(enumerate(["C"] * 45 + ["I"] * 5))
    assert found["lower"] == pytest.approx(beta.ppf(0.025, 45, 6), abs=1e-9)
    assert found["upper"] == pytest.approx(beta.ppf(0.975, 46, 5), abs=1e-9)
    between = of(enumerate([1.0] * 45 + [0.5] * 5))
    assert between["lower"] == found["lower"]
    assert between["upper"] == 1.0
    mean = of(enumerate([0.9, 0.8, 1.0, 0.7] * 50), binary=False)
    assert 0.75 < mean["lower"] < 0.85 < mean["upper"] < 0.92
    assert of([]) == {"lower": 0.0, "upper": 1.0}
    with pytest.raises(CertiformerError, match="score of sample 0"):
        of([(0, "maybe")])
