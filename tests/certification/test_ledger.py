"""The hold-out ledger: prices, the chain and its replay, and analysts who look and train again."""

import json
import math

import numpy as np
import pytest

from certiformer.calculus.ladder import bit_nats, round_nats
from certiformer.calculus.tails import binomial_upper
from certiformer.certification.ledger import LOG, Book, Ledger, Rules, replay
from certiformer.core import find
from certiformer.core.errors import InputError

LABELS = np.random.default_rng(0).integers(0, 3, 400)


def model(rate, seed):
    random = np.random.default_rng(seed)
    return np.where(random.random(len(LABELS)) < rate, (LABELS + 1) % 3, LABELS)


def test_a_claim_costs_what_the_calculator_says(tmp_path):
    ledger = Ledger.new(tmp_path / "one", LABELS, Rules(step=5))
    for rate, seed in ((0.5, 1), (0.3, 2), (0.4, 3), (0.1, 4)):
        ledger, _ = ledger.ask(model(rate, seed))
    assert [answer.says for answer in ledger.book.answers] == [True, True, False, True]
    closed, claim = Ledger.open(tmp_path / "one").claim()
    assert claim.nats == pytest.approx(bit_nats(3, 2) + round_nats(4))
    given = {"errors": claim.errors, "n": 400, "delta": 0.05, "queries": 3, "improvements": 2, "claim": 4}
    assert claim.value == pytest.approx(find("holdout.ladder").evaluate(given).sound["value"].value, rel=1e-9)
    assert replay(tmp_path / "one").agrees
    with pytest.raises(InputError, match="closed ledger"):
        closed.ask(model(0.1, 5))


@pytest.mark.parametrize(
    ("rules", "says", "nats"),
    [
        (Rules(feedback="count"), 100, math.log(401)),
        (Rules(feedback="levels", levels=4), 0.25, math.log(4)),
        (Rules(feedback="none"), None, 0.0),
    ],
)
def test_other_feedback(rules, says, nats):
    answer = Book(rules, 400).after(100).answers[0]
    assert (answer.says, answer.nats) == (says, pytest.approx(nats))


def test_logits_and_ties(tmp_path):
    ledger = Ledger.new(tmp_path / "two", [0, 1, 1, 0], Rules(feedback="count"))
    _, answer = ledger.ask(np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.0, 1.0]]))
    assert answer.says == 2
    with pytest.raises(InputError, match="held-out examples"):
        ledger.ask(np.zeros(3, int))


def test_what_was_changed_is_found(tmp_path):
    folder = tmp_path / "three"
    ledger = Ledger.new(folder, LABELS, Rules(step=5))
    for seed in range(3):
        ledger, _ = ledger.ask(model(0.4 - 0.1 * seed, seed))
    ledger.claim(2)
    lines = (folder / LOG).read_text().splitlines()
    (folder / LOG).write_text("\n".join([lines[0], *lines[2:]]) + "\n")
    with pytest.raises(InputError, match="The log was changed"):
        replay(folder)
    last = json.loads(lines[-1])
    last["claim"]["value"] /= 2
    (folder / LOG).write_text("\n".join([*lines[:-1], json.dumps(last, sort_keys=True)]) + "\n")
    assert not replay(folder).agrees
    (folder / LOG).write_text("\n".join(lines) + "\n")
    assert replay(folder).agrees
    np.save(folder / "predictions-2.npy", model(0.0, 0))
    assert not replay(folder).agrees
    (folder / "holdout.npz").unlink()
    assert replay(folder).unchecked


def test_nobody_starts_again(tmp_path):
    Ledger.new(tmp_path / "four", LABELS)
    with pytest.raises(InputError, match="never started again"):
        Ledger.new(tmp_path / "four", LABELS)


def majority_vote(random, m, models):
    """Coin labels: the sign-aligned majority of random models, known by bits "error at most one half". Truth: 1/2."""
    labels = random.integers(0, 2, m)
    book = Book(Rules(feedback="levels", levels=2), m)
    votes = np.zeros(m)
    for _ in range(models):
        guess = random.integers(0, 2, m)
        book = book.after(int(np.sum(guess != labels)))
        votes += (2 * guess - 1) * (1 if book.answers[-1].says == 0.5 else -1)
    errors = int(np.sum((votes > 0) != labels))
    book = book.after(errors)
    return book.limit(models + 1, errors), binomial_upper(errors, m, math.log(0.05 / (models + 1)))


def hill_climbing(random, m, queries, step):
    """Coin labels: flip a tenth of the answers, keep if the Ladder says better."""
    labels = random.integers(0, 2, m)
    book = Book(Rules(step=step), m)
    best = random.integers(0, 2, m)
    for _ in range(queries):
        trial = np.where(random.random(m) < 0.1, 1 - best, best)
        book = book.after(int(np.sum(trial != labels)))
        best = trial if book.answers[-1].says else best
    errors = int(np.sum(best != labels))
    book = book.after(errors)
    return book.limit(queries + 1, errors), binomial_upper(errors, m, math.log(0.05 / (queries + 1)))


def failures(attack, repetitions, *given):
    found = [attack(np.random.default_rng([7, index]), *given) for index in range(repetitions)]
    return sum(priced < 0.5 for priced, _ in found), sum(naive < 0.5 for _, naive in found)


def test_the_majority_vote_attack():
    priced, naive = failures(majority_vote, 20, 1000, 100)
    assert priced <= 1
    assert naive >= 15


def test_hill_climbing_against_the_ladder():
    priced, naive = failures(hill_climbing, 10, 1000, 200, 5)
    assert priced == 0
    assert naive >= 8


@pytest.mark.deep
@pytest.mark.timeout(3600)
def test_ten_thousand_majority_votes():
    priced, naive = failures(majority_vote, 10_000, 1000, 50)
    assert priced <= 10_000 * 0.05
    assert naive > 9_000
