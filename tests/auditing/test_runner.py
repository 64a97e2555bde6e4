"""The harness: repeatable, honest about effort, and able to notice a bound that is ten per cent too strong."""

from __future__ import annotations

import importlib
import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest

from certiformer.auditing import runner, workers
from certiformer.auditing.attack import LEAST_POINTS, Attack, Bounds, Candidate, Claim, Instance, ratio
from certiformer.auditing.attacks import attacks_of, procedures, reason, topics
from certiformer.auditing.budget import CORES, attacks_on, plan
from certiformer.auditing.search import Search, family
from certiformer.certificates import certificates
from certiformer.theory.core import InputError, find, results
from subprocesses import python_path

QUICK = ["trauger.lem3.1", "trauger.lemE.1", "li.rem6.7", "deora.prop3", "binomial"]


def test_every_result_is_attacked_or_says_why_not():
    for claim in runner.claims_of():
        if not runner.attacks_on(claim):
            assert reason(claim), claim
    assert set(procedures.IDS) == set(certificates())


def test_attacks_are_found_by_the_id_alone_and_all_of_them():
    modules = [importlib.import_module(f"certiformer.auditing.attacks.{topic}") for topic in topics()]
    attacks = [attack for module in modules for attack in getattr(module, "ATTACKS", ())]
    assert {attack.id for attack in attacks} <= set(results())
    assert sorted(map(id, attacks)) == sorted(id(attack) for result in results() for attack in attacks_of(result))
    for name in (name for module in modules for name in getattr(module, "REASONS", {})):
        result, _, version = name.partition(":")
        assert result in results()
        assert reason(Claim(result, version or "sound")), name
    program = (
        "import sys; from certiformer.auditing.attacks import attacks_of; assert attacks_of('trauger.lem3.1');"
        "loaded = [name for name in sys.modules if name.startswith('certiformer.auditing.attacks.')];"
        "assert loaded == ['certiformer.auditing.attacks.linear_covers'], loaded;"
        "assert not any(name.startswith('certiformer.certification') for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "PYTHONPATH": python_path()})


@pytest.mark.parametrize("id", QUICK)
def test_the_same_seed_gives_the_same_verdicts(id):
    first, second = (runner.run([id], seed=3, budget=0.1).as_json() for _ in range(2))
    assert first == second
    assert json.loads(json.dumps(first, allow_nan=False)) == first


def test_another_seed_searches_elsewhere():
    one, two = (runner.run(["trauger.lemE.3"], seed=seed, budget=0.1).verdicts[0].ratio for seed in (0, 1))
    assert one != two


def test_effort_follows_from_the_budget_alone():
    small, large = (runner.run(["li.rem6.7"], budget=budget).verdicts[0].attacks for budget in (0.1, 4.0))
    assert LEAST_POINTS <= small < large


def test_every_attack_has_its_floor_whatever_the_budget():
    claims = runner.claims_of()
    poor, usual, rich = (plan(claims, budget) for budget in (1e-9, runner.BUDGET, 3600.0))
    for claim in claims:
        for attack in attacks_on(claim):
            points = [found.points[claim][attack.name] for found in (poor, usual, rich)]
            assert points[0] == attack.floor
            assert points == sorted(points)
    assert poor.seconds <= usual.seconds < rich.seconds
    assert usual.seconds <= CORES * runner.BUDGET


def test_a_plan_is_made_without_a_clock(monkeypatch):
    def broken():
        raise AssertionError("the plan looked at the clock")

    monkeypatch.setattr("time.perf_counter", broken)
    monkeypatch.setattr("time.process_time", broken)
    assert plan(runner.claims_of(["trauger.lemE.2"]), 60.0) == plan(runner.claims_of(["trauger.lemE.2"]), 60.0)


def test_workers_find_what_one_process_finds():
    ids = ["trauger.lem3.1", "deora.prop3", "binomial", "arda.fact1"]
    seen = []
    alone = runner.run(ids, seed=3, budget=0.1, workers=1)
    together = runner.run(ids, seed=3, budget=0.1, workers=2, progress=lambda *step: seen.append(step))
    assert together.as_json() == alone.as_json()
    assert [done for done, _, _ in seen] == sorted(done for done, _, _ in seen)
    assert seen[-1][0] == seen[-1][1] == len(alone.verdicts)


def test_an_error_in_a_worker_is_an_error_here():
    with pytest.raises(ValueError):
        workers.spread(math.log, [2.0, 0.0], 2, lambda index, result: None)
    assert workers.spread(math.sqrt, [4.0, 9.0, 16.0], 2, lambda index, result: None) == [2.0, 3.0, 4.0]


def test_a_worker_that_ends_is_noticed():
    with pytest.raises(RuntimeError, match="ended unexpectedly"):
        workers.spread(os._exit, [1], 1, lambda index, result: None)


@pytest.mark.parametrize(
    "id",
    [
        "trauger.lem3.6",
        "trauger.thm4.1",
        "deora.prop1",
        "arda.lem6",
        "li.cor4.5",
        "binomial",
        "deora.kappa3",
        "mwigo.lem2",
    ],
)
def test_a_sound_bound_that_is_too_strong_is_refuted(id):
    """Divide by 1.1/r: what was attained is then 1.1 times the claim."""
    claim = Claim(id, "sound")
    standing = runner.attack_claim(claim, seed=0)
    assert standing.outcome == "survived"
    assert standing.ratio is not None
    assert 0 < standing.ratio <= 1 + 1e-9
    broken = runner.attack_claim(claim, seed=0, divisor=1.1 / standing.ratio)
    assert broken.outcome == "refuted"
    assert broken.ratio is not None
    assert broken.ratio >= 1.09
    assert broken.counterexample is not None


def test_a_printed_margin_that_is_too_strong_is_refuted():
    """Identities and lower bounds are weakened in their own direction."""
    claim = Claim("trauger.lemE.1", "printed")
    assert runner.attack_claim(claim, seed=0).outcome == "survived"
    assert runner.attack_claim(claim, seed=0, divisor=1.1).outcome == "refuted"


def test_a_procedure_that_breaks_a_rule_is_refuted(monkeypatch):
    """The split that chose the model is used again, as if that were allowed."""
    broken = {name: law for name, law in certificates()["holdout"].laws().items() if not law.valid}
    monkeypatch.setattr(procedures, "_valid", lambda id: broken)
    only = [attack for attack in attacks_of("holdout") if attack.label == "procedure"]
    monkeypatch.setattr(runner, "attacks_on", lambda claim: only)
    verdict = runner.attack_claim(Claim("holdout", "sound"), seed=0)
    assert verdict.outcome == "refuted"
    assert runner.recheck(runner.recorded({"claims": [verdict.as_json()]})[0]).outcome == "refuted"


def test_run_accepts_divisors():
    found = runner.run(["arda.fact1"], budget=0.1, divisors={Claim("arda.fact1", "sound"): 2.0})
    assert found.of("arda.fact1", "printed").outcome == "survived"
    assert found.of("arda.fact1", "sound").outcome == "refuted"


def test_too_few_points_are_not_an_attack(monkeypatch):
    lazy = Attack("arda.fact1", "too little", lambda search: [], lambda data, version: Instance(0.0, {}), points=10)
    monkeypatch.setattr(runner, "attacks_on", lambda claim: [lazy])
    verdict = runner.attack_claim(Claim("arda.fact1", "sound"), seed=0)
    assert verdict.outcome == "not attacked"
    assert "too few" in verdict.why


def test_a_refutation_needs_both_measurements(monkeypatch):
    """A search that believes in a violation which plain numpy does not see refutes nothing."""

    def search(search: Search):
        search.spent += 2 * LEAST_POINTS
        return [Candidate({"x": 0.0}, 7.0)]

    dreamer = Attack("arda.fact1", "a dream", search, lambda data, version: Instance(0.9, {}), versions=("sound",))
    monkeypatch.setattr(runner, "attacks_on", lambda claim: [dreamer])
    verdict = runner.attack_claim(Claim("arda.fact1", "sound"), seed=0)
    assert verdict.outcome == "survived"


def test_what_cannot_be_attacked_says_why():
    verdict = runner.run(["strata"], budget=0.1).verdicts[0]
    assert verdict.outcome == "not attackable"
    assert verdict.why
    assert verdict.as_json()["counterexample"] is None


@pytest.mark.parametrize(("budget", "seed"), [(0.0, 0), (-1.0, 0), (math.inf, 0), (1.0, -1)])
def test_bad_arguments(budget, seed):
    with pytest.raises(InputError):
        runner.run(["strata"], budget=budget, seed=seed)


def test_bad_number_of_workers():
    with pytest.raises(InputError):
        runner.run(["strata"], workers=0)


def test_json_contract():
    document = runner.run(["trauger.lem3.1"], seed=5, budget=0.1).as_json()
    assert document["seed"] == 5
    assert document["budget"] == 0.1
    keys = {"id", "version", "verdict", "attained", "bound", "ratio", "attacks", "counterexample", "why"}
    printed, sound = document["claims"]
    assert keys <= set(printed)
    assert (printed["version"], sound["version"]) == ("printed", "sound")
    assert printed["verdict"] == "refuted"
    assert printed["attained"] > 0
    assert printed["counterexample"]["seed"] == 5
    assert sound["verdict"] == "survived"


# --- checking again ---------------------------------------------------------------------------------------------------


def counterexample(id):
    verdict = runner.attack_claim(Claim(id, "printed"), seed=0)
    assert verdict.counterexample is not None
    document = {"id": id, "version": "printed", "attack": verdict.counterexample.attack}
    return verdict, {**document, "data": json.loads(json.dumps(verdict.counterexample.data))}


@pytest.mark.parametrize("id", ["trauger.lem3.1", "deora.prop3", "deora.eq21", "li.cor4.5", "mwigo.lem4"])
def test_a_counterexample_can_be_checked_again(id):
    verdict, document = counterexample(id)
    again = runner.recheck(document)
    assert again.outcome == "refuted"
    assert again.attained == verdict.attained
    assert again.bound == verdict.bound


def test_checking_again_needs_no_jax():
    """The second path is plain numpy: a process that only re-checks never imports JAX."""
    _, document = counterexample("deora.eq14")
    program = (
        "import sys, json; from certiformer.auditing import runner; "
        "print(runner.recheck(json.loads(sys.argv[1])).outcome, 'jax' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, json.dumps(document)], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.split() == ["refuted", "False"]


def test_recorded_counterexamples_of_a_whole_audit():
    document = runner.run(["trauger.lem3.1", "arda.fact1"], budget=0.1).as_json()
    entries = runner.recorded(document)
    assert [(entry["id"], entry["version"]) for entry in entries] == [("trauger.lem3.1", "printed")]
    assert runner.recheck(entries[0]).outcome == "refuted"


@pytest.mark.parametrize(
    "document", [{}, {"id": "trauger.lem3.1"}, {"id": "strata", "version": "sound", "attack": "x", "data": {}}]
)
def test_unreadable_counterexamples(document):
    with pytest.raises(InputError):
        runner.recheck(document)


# --- the small parts --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attained", "bound", "sense", "expected"),
    [
        (1.0, 2.0, "upper", 0.5),
        (1.0, 0.0, "upper", math.inf),
        (1.0, -2.0, "upper", math.inf),
        (-1.0, 2.0, "upper", -0.5),
        (4.0, 2.0, "lower", 0.5),
        (-1.0, 2.0, "lower", math.inf),
        (2.0, 1.0, "equal", 2.0),
        (1.0, 2.0, "equal", 2.0),
        (-1.0, 1.0, "equal", math.inf),
        (0.0, 0.0, "equal", 1.0),
        (0.0, 1.0, "equal", math.inf),
    ],
)
def test_ratio(attained, bound, sense, expected):
    assert ratio(attained, bound, sense) == expected


def test_the_claim_is_the_tightest_variant_that_applies():
    attack = attacks_of("trauger.lem3.6")[0]
    inputs = {"Bw": 1.0, "Bx": 1.0, "eps": 0.5, "d": 3, "k": 1}
    sound = find("trauger.lem3.6").evaluate(inputs).sound
    assert Bounds(attack, "sound")(inputs) == min(bound.value for bound in sound.values() if bound.applies)
    assert Bounds(attack, "sound", divisor=2.0)(inputs) == pytest.approx(Bounds(attack, "sound")(inputs) / 2)


def test_families_stay_in_their_space():
    seen = []

    def measure(point, version):
        seen.append(point)
        return Instance(point["x"], {"P": None}, 1.0)

    attack = Attack(
        "arda.fact1", "", family({"x": (0.5, 2.0), "k": (1.0, 9.0), "c": ["a"]}, measure, ["k"]), lambda d, v: None
    )
    search = Search(attack, "sound", np.random.default_rng(0), 300, Bounds(attack, "sound"))
    top = attack.search(search)
    assert search.spent == 300
    assert all(0.5 <= point["x"] <= 2.0 and 1 <= point["k"] <= 9 and point["c"] == "a" for point in seen)
    assert isinstance(seen[0]["k"], int)
    assert top[0].attained == max(point["x"] for point in seen) > 1.95
