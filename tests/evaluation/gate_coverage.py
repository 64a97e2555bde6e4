"""Every statement of a gate on populations whose truth is known, through `certiformer.gate`: is the verdict wrong?

`VALID` ones may be wrong in at most a fraction DELTA of repetitions, at the rates where it is hardest; `BROKEN` ones
break a rule in the way people break it, through the same door.
"""

import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np

import certiformer
from certiformer.inspect_plugin import EarlyGate, limits
from evaluation.coverage import DELTA, ids_of

EPS = 0.2
METRICS = {"acc": (EPS, "fail"), "exact_match": (EPS + 1e-6, "pass"), "correct": (0.05, "fail")}
"""Rates, and the verdict that is false at each."""


def verdict(arrays, error=EPS, **given):
    return certiformer.gate(arrays, error=error, delta=DELTA, **given).verdict


def wrong(random, n, rate):
    return (random.random(n) < rate).astype(float)


def right(random, n, rate):
    return {"heldout_correct": wrong(random, n, rate) == 0.0}


def rate_at_the_threshold(random):
    return verdict(right(random, 100, EPS)) == "fail"


def rate_above(random):
    return verdict(right(random, 100, EPS + 1e-6)) == "pass"


def levels(random, n):
    return random.choice([0.0, 0.25, 0.5, 1.0], p=[0.6, 0.2, 0.1, 0.1], size=n)  # the mean is 0.2


def losses_at_the_threshold(random):
    return verdict({"heldout_losses": levels(random, 25)}, declaration={"order": "hash"}) == "fail"


def losses_above(random):
    return verdict({"heldout_losses": levels(random, 25)}, EPS - 1e-6, declaration={"order": "hash"}) == "pass"


def grouped(random, false, error=EPS):
    """Rows of a group are right or wrong together; the mean over groups is 0.2."""
    sizes = random.integers(1, 6, size=25)
    given = {"heldout_correct": np.repeat(wrong(random, 25, EPS) == 0.0, sizes)}
    given["heldout_groups"] = np.repeat(np.arange(25), sizes)
    return verdict(given, error, declaration={"order": "hash"}) == false


def groups(random):
    return grouped(random, "fail")


def groups_above(random):
    return grouped(random, "pass", EPS - 1e-6)


def rows_of(random, false, error):
    """Rows of a group are right or wrong together, in large groups more often wrong; the mean over rows is 11/45."""
    sizes = random.integers(1, 6, size=25)
    given = {"heldout_correct": np.repeat(random.random(25) >= sizes / 15, sizes)}
    given["heldout_groups"] = np.repeat(np.arange(25), sizes)
    return verdict(given, error, declaration={"order": "hash", "estimand": "rows", "max_size": 5}) == false


def rows_of_groups(random):
    return rows_of(random, "fail", 11 / 45 + 1e-9)


def rows_of_groups_above(random):
    return rows_of(random, "pass", 11 / 45 - 1e-6)


def limits_beside(random):
    """The limits that stand beside a verdict."""
    (found,) = certiformer.gate(right(random, 60, EPS), error=EPS, delta=DELTA).statements
    return not found.lower <= EPS <= found.value


def metrics(random):
    """One metric at the threshold, one a hair above, one far below: one false verdict is one too many."""
    given = {name: wrong(random, 60, rate) == 0.0 for name, (rate, _) in METRICS.items()}
    found = certiformer.gate(given, error=EPS, delta=DELTA, declaration={"metric": tuple(METRICS)})
    return any(one.verdict == false for one, (_, false) in zip(found.statements, METRICS.values(), strict=True))


def slices(random):
    """A slice at the threshold, two a hair above, and so is the whole: one false verdict is one too many."""
    part = np.arange(100) % 3
    given = {"heldout_correct": random.random(100) >= EPS + 1e-6 * (part > 0), "heldout_slices": part}
    found = certiformer.gate(given, error=EPS, delta=DELTA)
    false = ("pass", "fail", "pass", "pass")
    return any(one.verdict == kind for one, kind in zip(found.statements, false, strict=True))


def tried(random, false, error=0.375):
    """pass^2 of a task that succeeds with a chance of 1/2 or 1: its mean is 5/8, so 1 - pass^2 is 3/8."""
    chances = random.choice([0.5, 1.0], size=25)
    done = random.random((25, 3)) < chances[:, None]
    given = {"heldout_correct": done.ravel(), "heldout_groups": np.repeat(np.arange(25), 3)}
    return verdict(given, error, pass_all=2, declaration={"order": "hash"}) == false


def tries(random):
    return tried(random, "fail")


def tries_above(random):
    return tried(random, "pass", 0.375 - 1e-6)


def apart(random, *false, swapped=False, n=100, rows=1, grouped=False):
    """One is a hair more than the margin worse than the other: 10 % of the items lost, 5 % won."""
    draw = random.random(n)
    base, ids = wrong(random, n, 0.1) == 1.0, ids_of(random, n * rows)
    lost, won = (draw < 0.1 + 1e-6), (draw > 0.95)
    base = np.where(lost, False, np.where(won, True, base))
    worse = np.where(lost, True, np.where(won, False, base))
    together = {"heldout_groups": np.repeat(np.arange(n), rows)} if grouped else {}
    a, b = ({"heldout_correct": ~np.repeat(one, rows), "heldout_ids": ids, **together} for one in (worse, base))
    return claimed(*((b, a) if swapped else (a, b)), false)


def claimed(given, other, false):
    found = certiformer.gate(given, against=other, margin=0.05, delta=DELTA)
    return any(one.id in false and one.verdict == "shown" for one in found.statements)


NOT_WORSE = ("non-inferior", "superior", "better by the margin")


def against(random):
    return apart(random, *NOT_WORSE)


def against_in_groups(random):
    return apart(random, *NOT_WORSE, n=40, rows=2, grouped=True)


def against_losses(random):
    """Losses of a baseline are 1/2; those of the candidate 0.4 more or less, by 0.05 and a hair more on average."""
    ids, more = ids_of(random, 60), random.random(60) < 0.5625 + 1e-6
    a, b = ({"heldout_losses": x, "heldout_ids": ids} for x in (np.where(more, 0.9, 0.1), np.full(60, 0.5)))
    return claimed(a, b, NOT_WORSE)


def against_a_worse_one(random):
    return apart(random, "no better than the margin", "inferior", "worse by the margin", swapped=True)


def looks(outcomes, ids, **given):
    """The verdict after two looks at a growing set, one state."""
    (name, values), found = outcomes, ""
    with tempfile.TemporaryDirectory() as folder:
        for n in (100, 250):
            arrays = {name: values[:n], "heldout_ids": ids[:n]}
            found = verdict(arrays, anytime=Path(folder) / "state.json", **given)
    return found


def anytime(random):
    return looks(*right(random, 250, EPS).items(), ids_of(random, 250)) == "fail"


def anytime_above(random):
    return looks(*right(random, 250, EPS + 1e-6).items(), ids_of(random, 250)) == "pass"


def anytime_losses(random):
    return looks(("heldout_losses", levels(random, 250)), ids_of(random, 250)) == "fail"


def anytime_losses_above(random):
    return looks(("heldout_losses", levels(random, 250)), ids_of(random, 250), error=EPS - 1e-6) == "pass"


def anytime_of_unlike_items(random):
    """Half of the items are wrong with a chance of 0.1, half of 0.3 and a hair more: the average counts."""
    right = random.random(250) >= np.tile([0.1, 0.3 + 2e-6], 125)
    return looks(("heldout_correct", right), ids_of(random, 250)) == "pass"


def ledger(random):
    """Four models at the threshold, fresh items each."""
    with tempfile.TemporaryDirectory() as folder:
        runs = ({**right(random, 50, EPS), "heldout_ids": ids_of(random, 50)} for _ in range(4))
        return any(verdict(one, ledger=Path(folder) / "ledger.json") == "fail" for one in runs)


ASKED = {"human": "human", "judge": "judge", "labelled": "random", "expect": 0.95, "correlation": 0.9}
SAID = {"better": "lower", "judging": ASKED}


def opinions(random, n, rate, chosen):
    truth = wrong(random, n, rate) == 1.0
    judge = np.where(truth, random.random(n) < 0.85, random.random(n) < 0.05)
    known = chosen(judge)
    human = [("wrong" if one else "right") if told else "" for one, told in zip(truth, known, strict=True)]
    return {"id": ids_of(random, n), "human": human, "judge": judge.astype(float)}


def judged(random):
    given = opinions(random, 48, EPS + 1e-6, lambda judge: np.arange(48) < 16)
    return verdict(given, declaration=SAID) == "pass"


def judged_at_the_threshold(random):
    given = opinions(random, 48, EPS, lambda judge: np.arange(48) < 16)
    return verdict(given, declaration=SAID) == "fail"


def now(coroutine):
    """What a coroutine that waits for nothing returns."""
    try:
        coroutine.send(None)
    except StopIteration as found:
        return found.value


def evaluated(random, gate, *, begin_late=False, rate=EPS + 1e-6):
    """An evaluation with ten samples at a time, in which wrong answers take long; 200 at most, or until a verdict."""
    running, clock = [], 0.0
    for id in range(200):
        while len(running) == 10:
            running.sort(reverse=True)
            clock, *done = running.pop()
            if begin_late:
                now(gate.schedule_sample(done[0], 1))
            now(gate.complete_sample(done[0], 1, {"match": SimpleNamespace(score=SimpleNamespace(value=done[1]))}))
        if gate.gate.decided != "undecided":
            break
        if not begin_late:
            now(gate.schedule_sample(id, 1))
        bad = random.random() < rate
        running.append((clock + (100.0 if bad else 1.0) * random.random(), id, "I" if bad else "C"))
    return now(gate.complete_task())["verdict"]


def early_stopping(random):
    return evaluated(random, EarlyGate(EPS, DELTA)) == "pass"


def early_stopping_at_the_threshold(random):
    return evaluated(random, EarlyGate(EPS, DELTA), rate=EPS) == "fail"


def limits_of_inspect(random):
    """Scores 0, 0.5 and 1, of which the exact limits know only the ends."""
    values = random.choice([0.0, 0.5, 1.0], p=[0.1, 0.05, 0.85], size=60)
    scores = [SimpleNamespace(score=SimpleNamespace(value=float(v)), sample_id=k) for k, v in enumerate(values)]
    found = limits(delta=DELTA)(scores)
    return not found["lower"] <= 0.875 <= found["upper"]


def any_of(random, false, error=0.625):
    """pass@2 of a task that succeeds with a chance of 0 or 1/2: its mean is 3/8; 1 - pass@2 is 5/8."""
    chances = random.choice([0.0, 0.5], size=25)
    done = random.random((25, 3)) < chances[:, None]
    given = {"heldout_correct": done.ravel(), "heldout_groups": np.repeat(np.arange(25), 3)}
    return verdict(given, error, pass_any=2, declaration={"order": "hash"}) == false


def any_try(random):
    return any_of(random, "fail")


def any_try_above(random):
    return any_of(random, "pass", 0.625 - 1e-6)


def alike(random):
    """Two models as good as each other: neither is shown to be better."""
    draw, ids = random.random(200), ids_of(random, 200)
    a, b = ({"heldout_correct": ~wrong, "heldout_ids": ids} for wrong in (draw < 0.2, draw > 0.8))
    found = certiformer.gate(a, against=b, margin=0.05, delta=DELTA)
    shown = {one.id for one in found.statements if one.verdict == "shown"}
    return bool(shown & {"superior", "inferior", "better by the margin", "worse by the margin"})


VALID = {
    "rate at the threshold": rate_at_the_threshold,
    "rate a hair above": rate_above,
    "losses at the threshold": losses_at_the_threshold,
    "losses a hair above": losses_above,
    "groups": groups,
    "groups, a hair above": groups_above,
    "rows of groups": rows_of_groups,
    "rows of groups, a hair above": rows_of_groups_above,
    "limits beside a verdict": limits_beside,
    "metrics": metrics,
    "slices": slices,
    "tries of tasks": tries,
    "tries of tasks, a hair above": tries_above,
    "against a baseline": against,
    "against a baseline, in groups": against_in_groups,
    "against a baseline, losses": against_losses,
    "against a baseline that is worse": against_a_worse_one,
    "anytime, two looks": anytime,
    "anytime, two looks, a hair above": anytime_above,
    "anytime, losses": anytime_losses,
    "anytime, losses, a hair above": anytime_losses_above,
    "anytime, items of unlike rates": anytime_of_unlike_items,
    "a ledger of four runs": ledger,
    "inspect_ai: wrong answers take long": early_stopping,
    "inspect_ai: at the threshold": early_stopping_at_the_threshold,
    "inspect_ai: limits": limits_of_inspect,
    "any of several tries": any_try,
    "any of several tries, a hair above": any_try_above,
    "against a baseline that is as good": alike,
    "human labels and a judge": judged,
    "human labels and a judge, at the threshold": judged_at_the_threshold,
}


def looked_again(random):
    """Broken: five fixed gates on one growing set, until one decides."""
    outcomes = right(random, 160, EPS)["heldout_correct"]
    return any(verdict({"heldout_correct": outcomes[:n]}) == "fail" for n in (20, 40, 60, 80, 160))


def groups_as_rows(random):
    """Broken: rows of a group, right or wrong together, taken for independent ones."""
    given = np.repeat(wrong(random, 30, EPS) == 0.0, 5)
    return verdict({"heldout_correct": given}) == "fail"


def pairs_as_items(random):
    """Broken: pairs of one group, won or lost together, taken for independent ones."""
    return apart(random, *NOT_WORSE, n=20, rows=25)


def runs_without_a_ledger(random):
    """Broken: no run of four may be wrong, and each spends the whole of delta."""
    return any(verdict(right(random, 50, EPS)) == "fail" for _ in range(4))


def chosen_labels(random):
    """Broken: humans look where the judge says fine."""
    given = opinions(random, 120, EPS + 1e-6, lambda judge: np.argsort(np.argsort(judge, kind="stable")) < 30)
    return verdict(given, declaration=SAID) == "pass"


def tries_until_a_success(random):
    """Broken: tries stop at the first success, and pass@1 is asked: the last try of each task is a success."""
    tried = np.minimum(random.geometric(0.5, 60), 8)
    groups = np.repeat(np.arange(60), tried)
    last = np.repeat(np.cumsum(tried) - 1, tried) == np.arange(len(groups))
    given = {"heldout_correct": last, "heldout_groups": groups}
    return verdict(given, 0.49, pass_any=1, declaration={"order": "hash"}) == "pass"


def those_that_end_first(random):
    """Broken: samples are counted when they end, and right answers end first."""
    return evaluated(random, EarlyGate(EPS, DELTA), begin_late=True) == "pass"


BROKEN = {
    "five looks of a fixed gate": looked_again,
    "rows of groups": groups_as_rows,
    "pairs of groups": pairs_as_items,
    "four runs without a ledger": runs_without_a_ledger,
    "labels where the judge says fine": chosen_labels,
    "tries until a success": tries_until_a_success,
    "samples that end first": those_that_end_first,
}
