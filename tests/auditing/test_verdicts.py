"""What the audit must find: every printed claim called false falls, no sound claim does."""

from __future__ import annotations

import pytest

from certiformer.auditing import runner
from certiformer.auditing.attack import LEAST_POINTS, Claim
from certiformer.core import Status, results

SCALE = 0.25
# Statements whose falsity is not a number that an instance could contradict.
WITHOUT_COUNTEREXAMPLE = {"mwigo.thm5"}
ATTACKED = [claim for claim in runner.claims_of() if runner.attacks_on(claim)]
FALSE = [result.id for result in results().values() if result.status is Status.FALSE]


@pytest.fixture(scope="module")
def verdicts():
    """One audit at the least effort, both versions of a result after one another so that shared searches are shared."""
    memory: runner.Memory = {}
    return {claim: runner.attack_claim(claim, seed=0, scale=SCALE, memory=memory) for claim in ATTACKED}


def test_false_claims_are_attacked():
    assert {id for id in FALSE if Claim(id, "printed") not in ATTACKED} == WITHOUT_COUNTEREXAMPLE


def test_every_false_printed_claim_is_refuted(verdicts):
    standing = [id for id in FALSE if id not in WITHOUT_COUNTEREXAMPLE and verdicts[id, "printed"].outcome != "refuted"]
    assert standing == []


def test_only_false_printed_claims_are_refuted(verdicts):
    status = {id: result.status for id, result in results().items()}
    fallen = {
        claim.id for claim, verdict in verdicts.items() if claim.version == "printed" and verdict.outcome == "refuted"
    }
    assert {id for id in fallen if status[id] is not Status.FALSE} == set()


def test_no_sound_claim_is_refuted(verdicts):
    assert [
        claim for claim, verdict in verdicts.items() if claim.version == "sound" and verdict.outcome == "refuted"
    ] == []


def test_every_attack_is_an_attack(verdicts):
    for claim, verdict in verdicts.items():
        assert verdict.outcome in ("refuted", "survived"), claim
        assert verdict.attacks >= LEAST_POINTS, claim
        assert verdict.ratio is not None, claim
        assert verdict.ratio > 0, claim


def test_every_counterexample_can_be_checked_again(verdicts):
    """By data alone, as a reader would have them."""
    import json

    for claim, verdict in verdicts.items():
        if verdict.counterexample is not None:
            data = json.loads(json.dumps(verdict.counterexample.data))
            document = {"id": claim.id, "version": claim.version, "attack": verdict.counterexample.attack, "data": data}
            assert runner.recheck(document).outcome == "refuted", claim


def test_some_sound_bounds_are_attained(verdicts):
    """Where a constant is sharp the attacks come within a percent of it: they are not blunt."""
    for id in ("trauger.lemC.1", "trauger.lemE.2", "deora.prop1", "deora.kappa3", "arda.lem2", "binomial", "deora.eq8"):
        ratio = verdicts[id, "sound"].ratio
        assert ratio is not None
        assert ratio > 0.97, id
