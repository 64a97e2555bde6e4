"""What the audit must find: every printed claim called false falls, no sound claim does."""

from __future__ import annotations

import pytest

from certiformer.auditing import runner
from certiformer.auditing.attack import Claim
from certiformer.theory.core import Status, results

ATTACKED = [claim for claim in runner.claims_of() if runner.attacks_on(claim)]
FALSE = [result.id for result in results().values() if result.status is Status.FALSE]


@pytest.fixture(scope="module")
def verdicts():
    """One audit at the least effort, both versions of a result after one another so that shared searches are shared."""
    return {verdict.claim: verdict for verdict in runner.run(seed=0, budget=1e-9, workers=1).verdicts}


def test_false_claims_are_attacked():
    assert [id for id in FALSE if Claim(id, "printed") not in ATTACKED] == []


def test_every_false_printed_claim_is_refuted(verdicts):
    standing = [id for id in FALSE if verdicts[id, "printed"].outcome != "refuted"]
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
    idle = []
    for claim in ATTACKED:
        verdict = verdicts[claim]
        assert verdict.outcome in ("refuted", "survived"), claim
        mine = runner.attacks_on(claim)
        assert verdict.attacks >= max(attack.floor for attack in mine), claim
        # A procedure that never failed attains nothing; a formula that attains nothing was not attacked.
        if not verdict.ratio and not all(attack.label == "procedure" for attack in mine):
            idle.append((claim, verdict.why))
    assert idle == []


def test_every_counterexample_can_be_checked_again(verdicts):
    """By data alone, as a reader would have them."""
    import json

    for claim, verdict in verdicts.items():
        if verdict.counterexample is not None:
            data = json.loads(json.dumps(verdict.counterexample.data))
            document = {"id": claim.id, "version": claim.version, "attack": verdict.counterexample.attack, "data": data}
            assert runner.recheck(document).outcome == "refuted", claim


KNOWN = [
    ("trauger.lem3.1", "trauger.lem3.1", {"atoms": [[1.0]], "weights": [0.5], "k": 1}),
    ("trauger.lem3.4", "trauger.lem3.4", {"B": 1.0, "Bx": 1.0, "eps": 0.5, "k": 4096}),
    ("trauger.cor4.2.1", "trauger.cor4.2.1", {"M": 498, "b": 100.0}),
    ("trauger.corF.0.1", "trauger.corF.0.1", {"M": 500, "Q": 500, "b": 300.0}),
    ("trauger.thm4.1", "trauger.thm4.1/transposed", {"d": 65_536, "n": 32}),
    ("mwigo.lem6", "mwigo.lem6", {"M": 20_000, "b": 400.0, "score": 3.0}),
    ("li.lemB.6", "li.lemB.6", {"B": 1.0, "Bx": 1.0, "eps": 0.1, "d": 2}),
    ("li.thmB.1", "li.thmB.1/basis", {"d": 5000, "c": 8.0, "radius": 1e-12}),
    ("li.thmB.4", "li.thmB.4/basis", {"d": 20_000, "c": 10.0, "radius": 1e-9}),
    ("deora.sec5.3", "deora.sec5.3", {"share": [8, 4], "S": 4.0, "M": 1}),
    ("deora.prop3", "deora.prop3", {"share": [10, 9], "S": 1.0, "mu": 0.0, "nu": 0.0, "M": 1, "eps": 0.5}),
    ("deora.ass2", "deora.ass2", {"share": [8, 4], "M": 1, "eps": 1e-4}),
]


@pytest.mark.parametrize(("id", "attack", "data"), KNOWN)
def test_known_counterexamples_are_recognised(id, attack, data):
    """Examples found by hand are measured the same way; the sound side of the same result stands there."""
    assert runner.recheck({"id": id, "version": "printed", "attack": attack, "data": data}).outcome == "refuted"


def test_some_sound_bounds_are_attained(verdicts):
    """Where a constant is sharp the attacks come within a tenth of it: they are not blunt."""
    for id in ("trauger.lemC.1", "trauger.lemE.2", "deora.prop1", "deora.kappa3", "arda.lem2", "binomial", "deora.eq8"):
        ratio = verdicts[id, "sound"].ratio
        assert ratio is not None
        assert ratio > (0.99 if id == "deora.kappa3" else 0.9), id
