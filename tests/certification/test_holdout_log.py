"""The hold-out ledger: prices, the chain and its replay, and analysts who look and train again."""

import json
import math
import random
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from certiformer.certification.holdout_log import LOG, Book, Ledger, Rules, replay
from certiformer.cli import main
from certiformer.theory.calculus.ladder import bit_nats, round_nats
from certiformer.theory.calculus.tails import binomial_upper
from certiformer.theory.core import find, locks
from certiformer.theory.core.errors import CertiformerError, InputError

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


def test_classes_that_int64_cannot_hold_are_refused(tmp_path):
    """As whole numbers 1e19 and 2e19 would be one: every answer would be right."""
    with pytest.raises(InputError, match="one whole number"):
        Ledger.new(tmp_path / "five", [1e19, 2e19] * 20)
    ledger = Ledger.new(tmp_path / "six", [0, 1] * 20)
    for classes in ([1e19, 2e19], [math.inf, 0.0]):
        with pytest.raises(InputError, match="one whole number"):
            ledger.ask(classes * 20)


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
    (second,) = folder.glob("predictions-2-*.npy")
    np.save(second, model(0.0, 0))
    assert not replay(folder).agrees
    (folder / "holdout.npz").unlink()
    assert replay(folder).unchecked


def test_nobody_starts_again(tmp_path):
    Ledger.new(tmp_path / "four", LABELS)
    with pytest.raises(InputError, match="never started again"):
        Ledger.new(tmp_path / "four", LABELS)


def test_of_several_who_begin_at_once_one_does(tmp_path):
    """Each was told a hash to publish, and the chain was broken by the second."""
    folder, said, errors = tmp_path / "begun", [], []
    folder.mkdir()

    def begin():
        try:
            said.append(Ledger.new(folder, LABELS).head)
        except InputError as refused:
            errors.append(str(refused))

    beginning = [threading.Thread(target=begin) for _ in range(3)]
    with (folder / LOG).open("ab") as log, locks.locked(log, folder / LOG):
        for thread in beginning:
            thread.start()
        time.sleep(0.3)  # all of them have opened the file
    for thread in beginning:
        thread.join(60)
    assert said == [Ledger.open(folder).head]
    assert ["never started again" in error for error in errors] == [True] * 2
    assert replay(folder).agrees


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


ASK = """
import sys, time
from pathlib import Path
import numpy as np
from certiformer.certification.holdout_log import Ledger
folder, seed, start, times = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])
Path(f"{start}-{seed}").touch()
while not start.exists():
    time.sleep(0.001)
for turn in range(times):
    _, answer = Ledger.open(folder).ask(np.random.default_rng([seed, turn]).integers(0, 3, 400))
    print(answer.round, answer.says, flush=True)
"""


def asking(folder, start, seed=0, times=1):
    command = [sys.executable, "-c", ASK, str(folder), str(seed), str(start), str(times)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def until(condition):
    last = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < last
        time.sleep(0.001)


def ask_in_parallel(folder, count, times=1):
    """Processes that ask at the same moment: every answer has a round of its own, and the chain holds."""
    Ledger.new(folder, LABELS, Rules(feedback="count"))
    start = folder.with_name(f"{folder.name}-start")
    askers = [asking(folder, start, seed, times) for seed in range(count)]
    until(lambda: all(start.with_name(f"{start.name}-{seed}").exists() for seed in range(count)))
    start.touch()
    said = [tuple(map(int, line.split())) for asker in askers for line in asker.communicate()[0].splitlines()]
    assert [asker.returncode for asker in askers] == [0] * count
    assert [number for number, _ in sorted(said)] == list(range(1, count * times + 1))
    assert replay(folder).agrees
    assert [(answer.round, answer.says) for answer in Ledger.open(folder).book.answers] == sorted(said)


def kill_while_asking(folder, kills, seed):
    """kill -9 at any moment: the chain is whole, what was answered is in it, and the next question is answered."""
    rng = random.Random(seed)
    Ledger.new(folder, LABELS, Rules(feedback="count"))
    start = folder.with_name(f"{folder.name}-start")
    start.touch()
    for turn in range(kills):
        asker = asking(folder, start, 1000 + turn, 1000)
        first = asker.stdout.readline()
        time.sleep(rng.random() * 0.03)
        asker.send_signal(signal.SIGKILL)
        said = [first, *asker.communicate()[0].splitlines(keepends=True)]
        answered = [tuple(map(int, line.split())) for line in said if line.endswith("\n")]
        opened = Ledger.open(folder)
        assert set(answered) <= {(answer.round, answer.says) for answer in opened.book.answers}
        assert replay(folder).agrees
        opened.ask(model(0.5, turn))


def test_processes_that_ask_at_once_get_rounds_of_their_own(tmp_path):
    ask_in_parallel(tmp_path / "many", 3, 6)


def test_a_killed_question_leaves_an_intact_chain(tmp_path):
    kill_while_asking(tmp_path / "killed", 3, 0)


@pytest.mark.deep
@pytest.mark.timeout(3600)
def test_ten_at_once_fifty_times(tmp_path):
    for trial in range(50):
        ask_in_parallel(tmp_path / str(trial), 10)


@pytest.mark.deep
@pytest.mark.timeout(3600)
def test_a_hundred_kills(tmp_path):
    for seed in range(10):
        kill_while_asking(tmp_path / str(seed), 10, seed)


@pytest.fixture
def asked(tmp_path):
    """A ledger with three questions, and the lines of its log."""
    folder = tmp_path / "asked"
    ledger = Ledger.new(folder, LABELS)
    for seed in range(3):
        ledger, _ = ledger.ask(model(0.4, seed))
    return folder, (folder / LOG).read_bytes().splitlines(keepends=True)


@pytest.fixture
def shell(monkeypatch, capsys):
    """Runs `certiformer WORDS`: exit code and what was printed."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["certiformer", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        return end.value.code or 0, " ".join((said.out + said.err).split())

    return run


def test_a_log_that_was_cut_back_is_refused(asked, shell):
    folder, lines = asked
    code, head = shell("holdout", "log", folder, "--head")
    assert code == 0
    assert shell("verify", folder, "--head", head)[0] == 0
    (folder / LOG).write_bytes(b"".join(lines[:2]))
    with pytest.raises(InputError, match="no entry for predictions-2-"):
        Ledger.open(folder).ask(model(0.1, 7))
    assert not replay(folder).agrees
    for path in folder.glob("predictions-[23]-*"):
        path.unlink()
    assert replay(folder).agrees
    code, said = shell("verify", folder, "--head", head)
    assert code == 1
    assert "no entry with the hash" in said


def test_a_torn_line_is_removed_and_shown(asked, shell):
    folder, lines = asked
    (settled,) = folder.glob("predictions-3-*")
    (folder / LOG).write_bytes(b"".join(lines[:3]) + lines[3][:50])
    with pytest.raises(InputError, match="holdout repair"):
        Ledger.open(folder)
    code, said = shell("holdout", "repair", folder)  # it was answered: its predictions have their name
    assert code == 2
    assert "take it from a copy" in said
    settled.rename(settled.with_name(settled.name.replace("predictions", "pending")))
    code, said = shell("holdout", "repair", folder)
    assert code == 0
    assert lines[3][:50].decode() in said
    _, answer = Ledger.open(folder).ask(model(0.2, 8))
    assert answer.round == 3
    assert "nothing was removed" in shell("holdout", "repair", folder)[1]


def test_an_answer_whose_predictions_kept_their_pending_name(asked):
    folder, _ = asked
    (settled,) = folder.glob("predictions-3-*")
    settled.rename(settled.with_name(settled.name.replace("predictions", "pending")))
    assert replay(folder).agrees
    Ledger.open(folder).ask(model(0.2, 8))
    assert settled.exists()


def test_without_locks_nothing_is_written(asked, monkeypatch):
    folder, lines = asked
    monkeypatch.setitem(sys.modules, "fcntl", None)
    assert replay(folder).agrees
    with pytest.raises(locks.NoLocking, match="this platform has no flock"):
        Ledger.open(folder).ask(model(0.1, 1))
    assert (folder / LOG).read_bytes() == b"".join(lines)


def test_waiting_for_a_lock_ends(asked, monkeypatch):
    folder, _ = asked
    monkeypatch.setattr(locks, "WAIT_SECONDS", 0.05)
    with (
        (folder / LOG).open("rb") as log,
        locks.locked(log, folder / LOG),
        pytest.raises(CertiformerError, match="another process has held"),
    ):
        Ledger.open(folder)


@pytest.mark.parametrize("line", [b"[" * 3000, b"1" * 5000, b"[]", b'{"previous": ""}', b"\xff", b'{"a": "\\ud800"}'])
def test_a_log_of_another_shape_is_one_line(asked, line, shell):
    folder, lines = asked
    for text in (line + b"\n", b"".join(lines) + line + b"\n"):
        (folder / LOG).write_bytes(text)
        code, said = shell("verify", folder)
        assert (code, said[:6]) == (2, "error:")
