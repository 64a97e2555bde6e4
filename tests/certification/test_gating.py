"""Gates as a user calls them: verdicts, exit codes, states, ledgers, baselines."""

import errno
import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import certiformer
from certiformer.certification.verify import schema
from certiformer.cli import main
from certiformer.evaluation.gates import share_of_run
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.schema import violations


def arrays(errors, n, first=0, seed=0):
    right = np.ones(n)
    right[:errors] = 0.0
    return {"id": [f"i{k}" for k in range(first, first + n)], "correct": np.random.default_rng(seed).permutation(right)}


def rows_of(found):
    return [{"id": id, "correct": int(right)} for id, right in zip(found["id"], found["correct"], strict=True)]


def asked(errors, n, *, first=0, seed=0, **options):
    return certiformer.gate(rows_of(arrays(errors, n, first, seed)), **options)


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)

    def command(*words):
        monkeypatch.setattr(sys, "argv", ["certiformer", *map(str, words)])
        with pytest.raises(SystemExit) as left:
            main()
        captured = capsys.readouterr()
        return SimpleNamespace(code=left.value.code or 0, out=captured.out, err=" ".join(captured.err.split()))

    return command


def write(path, errors, n, first=0, seed=0, extra=None):
    found = arrays(errors, n, first, seed)
    head = "id,correct" + (",task" if extra else "")
    lines = [
        f"{id},{int(ok)}" + (f",{extra(k)}" if extra else "")
        for k, (id, ok) in enumerate(zip(*found.values(), strict=True))
    ]
    path.write_text("\n".join([head, *lines]) + "\n")


@pytest.mark.parametrize(
    ("errors", "n", "verdict", "code"),
    [(0, 58, "undecided", 3), (0, 59, "pass", 0), (1, 100, "pass", 0), (2, 100, "undecided", 3),
     (9, 100, "undecided", 3), (10, 100, "fail", 1), (38, 1000, "pass", 0), (63, 1000, "fail", 1)],
)  # fmt: skip
def test_exact_verdicts_and_exit_codes(errors, n, verdict, code):
    report = asked(errors, n, error=0.05)
    assert (report.verdict, report.exit_code) == (verdict, code)
    assert report.headline.startswith(f"{verdict.upper()}: the error rate of the model is ")
    assert report.conditions
    assert any("training" in text for text in report.not_checked)
    assert not list(violations(json.loads(json.dumps(report.document)), schema()))


def test_the_command_line(run, tmp_path):
    write(tmp_path / "r.csv", 0, 59)
    found = run("gate", "r.csv", "--error", 0.05)
    assert found.code == 0
    assert found.out.startswith("PASS: the error rate of the model is at most 5 %, with confidence 95 %.")
    assert "It holds if" in found.out
    assert "NOT CHECKED" in found.out
    assert json.loads(run("gate", "r.csv", "--error", 0.05, "--json").out)["verdict"] == "pass"
    assert run("gate", "r.csv", "--error", 0.05, "--csv").out.splitlines()[1].startswith("gate,gate,sound,")
    assert run("gate", "r.csv", "--error", 0.05, "--markdown").code == 0
    assert run("gate", "r.csv", "--error", 0.04).code == 3
    assert run("gate", "r.csv", "--error", 0.05, "--confidence", 0.99).code == 3
    write(tmp_path / "bad.csv", 20, 59)
    assert run("gate", "bad.csv", "--error", 0.05).code == 1
    for words in ((), ("--error", 0), ("--error", "x"), ("--error", 0.05, "--margin", 0.1), ("--error", "acc=0.1")):
        wrong = run("gate", "r.csv", *words)
        assert (wrong.code, wrong.out) == (2, "")
        assert wrong.err.startswith("error: ")
    assert run("gate", "none.csv", "--error", 0.05).code == 2


def test_a_report_of_a_gate_is_not_taken_for_a_certificate(run, tmp_path):
    write(tmp_path / "r.csv", 0, 59)
    (tmp_path / "g.json").write_text(run("gate", "r.csv", "--error", 0.05, "--json").out)
    found = run("verify", "g.json", "--data", "r.csv")
    assert found.code == 2
    assert "certiformer gate FILE" in found.err


def test_undecided_counts_new_items_only():
    report = asked(5, 200, error=0.05)
    assert report.verdict == "undecided"
    assert "361 new items" in report.advice  # the number for a rate of 2.5 %
    assert "old ones are not counted again" in report.advice
    assert "no number of items" in asked(5, 100, error=0.05).advice


def test_metrics_and_slices_share_delta(run, tmp_path):
    write(tmp_path / "r.csv", 1, 200, extra=lambda k: "ab"[k % 2])
    document = json.loads(run("gate", "r.csv", "--error", 0.05, "--slice", "task", "--json").out)
    assert [one["id"] for one in document["statements"]] == ["gate", "gate (slice a)", "gate (slice b)"]
    assert all(one["confidence"] == pytest.approx(1 - 0.05 / 3) for one in document["statements"])
    few = run("gate", "r.csv", "--error", 0.03, "--slice", "task").out
    assert "new items of slice a would decide this question" in few
    rng = np.random.default_rng(2)
    rows = [
        {"id": str(k), "acc": int(rng.random() < 0.99), "f1": float(rng.uniform(0.5, 0.7))} for k in range(400)
    ]  # 1 - f1 has the mean 0.4
    for thresholds, verdict in (({"acc": 0.05, "f1": 0.5}, "pass"), ({"acc": 0.05, "f1": 0.3}, "fail")):
        report = certiformer.gate(rows, error=thresholds, declaration={"metric": ("acc", "f1")})
        assert report.verdict == verdict
    assert "together 95 %" in report.headline
    assert "mean of 1 - f1" in report.headline
    with pytest.raises(InputError, match="no threshold of f1"):
        certiformer.gate(rows, error={"acc": 0.05}, declaration={"metric": ("acc", "f1")})


def test_groups_are_the_unit():
    rng = np.random.default_rng(3)
    rows = [{"id": str(k), "doc": f"d{k // 4}", "correct": int(rng.random() < 0.99)} for k in range(1200)]
    report = certiformer.gate(rows, error=0.05, declaration={"group": "doc"})
    assert report.verdict == "pass"
    assert "mean over groups" in report.headline
    by_rows = certiformer.gate(rows, error=0.05, declaration={"group": "doc", "estimand": "rows", "max_size": 4})
    assert "the error rate of the model, a mean over rows, is" in by_rows.headline
    assert report.statements[0].terms["items"] == 300
    same = [{**row, "correct": 1} for row in rows[:232]]  # 58 groups: one fewer than rows would need
    few = certiformer.gate(same, error=0.05, declaration={"group": "doc"})
    assert few.verdict == "undecided"
    assert few.advice.startswith("About 59 new groups would decide")


def test_an_order_made_of_ids_may_look_sorted():
    from certiformer.evaluation.order import hash_order

    names = [f"d{k}" for k in range(40)]
    late = {names[place] for place in hash_order(names)[-6:]}
    rows = [{"id": name, "correct": int(name not in late), "doc": name} for name in names]
    for order in ("hash", "average"):
        found = certiformer.gate(rows, error=0.5, declaration={"group": "doc", "order": order})
        assert found.verdict == "pass"


def test_units_of_a_large_table_are_counted_one_by_one():
    """Beyond 100,000 units several are averaged into one: neither what was seen nor what is needed changes."""
    losses = np.random.default_rng(5).permutation(np.repeat([0.0, 1.0], [96_000, 24_000]))
    given = {"heldout_losses": losses, "heldout_ids": np.arange(120_000)}
    report = certiformer.gate(given, error=0.2, delta=1e-3)
    assert report.basis.startswith("a mean loss of 0.2 over 120,000 examples, 3 at a time; between")
    assert report.statements[0].terms["items"] == 120_000
    near = certiformer.gate(given, error=0.2004, delta=1e-3)
    assert 8e6 < near.statements[0].n_needed < 2e7  # (z + z)^2 0.16 / 0.0004^2 with z of a target 1.5 times as far
    said = certiformer.certify(predictions=given)
    assert said["mean_loss"].seen == "a mean loss of 0.2 over 120,000 examples, 3 at a time"
    assert said["mean_loss"].terms["examples"] == 120_000
    right = {"heldout_labels": losses.astype(int), "heldout_probabilities": np.tile([0.8, 0.2], (120_000, 1))}
    bet = certiformer.certify(predictions=right)["betting"]
    assert bet.seen.endswith("over 120,000 held-out examples, 3 at a time")


def test_a_loss_without_an_end_is_asked_for_one():
    rows = [{"id": str(k), "wer": 0.1 + 0.01 * (k * 37 % 11)} for k in range(300)]
    with pytest.raises(InputError, match="clip"):
        certiformer.gate(rows, error=0.3, declaration={"metric": "wer"})
    report = certiformer.gate(rows, error=0.3, declaration={"metric": "wer", "clip": 1.0})
    assert report.verdict == "pass"
    assert "clipped wer" in report.headline


# At any time


def test_anytime_counts_every_item_once(tmp_path):
    state = tmp_path / "state.json"
    first = asked(0, 50, error=0.05, anytime=state)
    assert first.verdict == "undecided"
    assert "more items" in first.advice
    assert asked(0, 50, error=0.05, anytime=state).statements[0].terms["items"] == 50
    grown = asked(0, 75, error=0.05, anytime=state)  # the fifty of before and 25 new ones
    assert grown.statements[0].terms["items"] == 75
    assert grown.verdict == "pass"
    after = asked(30, 60, first=75, error=0.05, anytime=state)
    assert after.verdict == "pass", "the first verdict stands"
    assert "speaks against it" in after.warnings[-1]
    assert not grown.warnings
    once = asked(0, 75, error=0.05, anytime=tmp_path / "other.json")
    assert once.statements[0].terms["ln p (pass)"] == grown.statements[0].terms["ln p (pass)"]


@pytest.mark.parametrize("other", ["{}.0", " {} ", '"{}"', "e\u0301{}"])
def test_items_are_known_by_names_that_are_written_otherwise(tmp_path, other):
    """A table saved by another program: 3 becomes 3.0, an accent becomes a letter of its own."""
    for written in ("\u00e9{}" if "\u0301" in other else "{}", other):
        lines = [f"{written.format(k)},{int(k % 40 > 0)}" for k in range(50)]
        (tmp_path / "r.csv").write_text("\n".join(["id,correct", *lines]) + "\n", encoding="utf-8")
        report = certiformer.gate(tmp_path / "r.csv", error=0.05, anytime=tmp_path / "s.json")
        assert report.statements[0].terms["items"] == 50


def test_a_state_is_made_again_from_the_outcomes_it_keeps(tmp_path):
    """A verdict that its outcomes never gave, another spread, or another order of what was counted is refused."""
    state = tmp_path / "s.json"

    def told(n):
        losses = [0.1 * (k % 7) / 7 for k in range(n)]
        table = {"id": [f"q{k}" for k in range(n)], "loss": losses}
        said = {"metric": "loss", "range": (0.0, 1.0), "id": "id"}
        return certiformer.gate(table, error=0.2, anytime=state, declaration=said)

    assert told(10).verdict == "undecided"
    kept = json.loads(state.read_text())
    ((label, gate),) = kept["gates"].items()
    for change in ({"decided": "pass", "decided_at": 10}, {"squares": gate["squares"] / 2}, {"decided_at": 4}):
        state.write_text(json.dumps({**kept, "gates": {label: {**gate, **change}}}))
        with pytest.raises(InputError, match="It was changed"):
            told(60)
    back = dict(reversed(kept["seen"][label].items()))
    state.write_text(json.dumps({**kept, "seen": {label: back}}))
    with pytest.raises(InputError, match="It was changed"):
        told(60)
    state.write_text(json.dumps(kept))
    assert told(12).verdict == "undecided"
    assert told(60).verdict == "pass"
    assert told(70).verdict == "pass"


def test_anytime_settings_belong_to_the_state(tmp_path, run):
    state = tmp_path / "state.json"
    asked(1, 40, error=0.05, anytime=state)
    with pytest.raises(InputError, match=r"error: got 0\.06"):
        asked(1, 40, error=0.06, anytime=state)
    with pytest.raises(InputError, match=r"delta: got 0\.01"):
        asked(1, 40, error=0.05, delta=0.01, anytime=state)
    with pytest.raises(InputError, match=r"metric: got \['correct'\], expected what .* was begun with: None"):
        asked(1, 40, error=0.05, anytime=state, declaration={"metric": "correct"})
    with pytest.raises(InputError, match="title: got 'another model'"):
        asked(1, 40, error=0.05, anytime=state, declaration={"title": "another model"})
    with pytest.raises(InputError, match="the outcome that was counted"):
        asked(20, 40, error=0.05, anytime=state)
    write(tmp_path / "r.csv", 0, 80)
    assert run("gate", "r.csv", "--error", 0.05, "--anytime", "s.json").code == 0
    assert run("gate", "r.csv", "--error", 0.07, "--anytime", "s.json").code == 2
    (tmp_path / "no.json").write_text("[]")
    assert "gate state" in run("gate", "r.csv", "--error", 0.05, "--anytime", "no.json").err
    with pytest.raises(InputError, match="ids"):
        certiformer.gate({"correct": np.ones(80)}, error=0.05, anytime=tmp_path / "t.json")
    with pytest.raises(InputError, match="a state alone"):
        asked(0, 80, error=0.05, anytime=state, ledger=tmp_path / "l.json")


def test_every_look_has_the_same_slices(tmp_path):
    right = np.ones(90)
    first = sliced(tmp_path / "a.csv", right[:60], ["abc"[k % 3] for k in range(60)])
    for names in ("ab", "abcd"):
        later = sliced(
            tmp_path / "b.csv", right, [names[k % len(names)] if k >= 60 else "abc"[k % 3] for k in range(90)]
        )
        new = tmp_path / "c.csv"
        new.write_text("\n".join([later.read_text().splitlines()[0], *later.read_text().splitlines()[61:]]) + "\n")
        said = {"error": 0.05, "anytime": tmp_path / "s.json", "declaration": {"slices": "part"}}
        certiformer.gate(first, **said)
        with pytest.raises(InputError, match="give the whole file so far"):
            certiformer.gate(new, **said)
    with pytest.raises(InputError, match="slices: got None"):
        certiformer.gate(first, error=0.05, anytime=tmp_path / "s.json")


def test_only_of_real_losses_the_number_of_items_at_a_look_matters(tmp_path):
    said = "how many items came between two looks was not decided by their losses"
    assert said not in asked(0, 50, error=0.05, anytime=tmp_path / "a.json").conditions
    losses = {"id": list(range(50)), "loss": [0.01 * (k % 7) for k in range(50)]}
    assert said in certiformer.gate(losses, error=0.3, anytime=tmp_path / "b.json").conditions
    assert said not in certiformer.gate(losses, error=0.3).conditions


def test_a_state_is_about_one_kind_of_outcome(tmp_path):
    def given(name, first):
        return [{"id": str(k), name: 1.0} for k in range(first, first + 20)]

    certiformer.gate(given("acc", 0), error=0.05, anytime=tmp_path / "s.json")
    for other in ("exact_match", "score"):
        with pytest.raises(InputError, match=rf"outcomes: got .*{other}.* was begun with: .*acc \(rate"):
            certiformer.gate(given(other, 20), error=0.05, anytime=tmp_path / "s.json")


# Runs of a pipeline


def test_a_ledger_spends_delta_over_runs(tmp_path):
    book = tmp_path / "ledger.json"
    for number in (1, 2, 3):
        report = asked(0, 200, first=1000 * number, error=0.05, ledger=book)
        assert report.delta == share_of_run(number, 0.05)
        assert f"Run {number} of the ledger" in report.summary
    again = asked(0, 200, first=2000, error=0.05, ledger=book)
    assert (again.delta, again.verdict) == (share_of_run(2, 0.05), "pass")
    assert "nothing is spent" in again.summary
    assert len(json.loads(book.read_text())["runs"]) == 3


def test_the_runs_of_a_ledger_may_have_titles(tmp_path):
    ledger = tmp_path / "ledger.json"
    for first, title in ((0, "one"), (100, "two")):
        asked(0, 100, first=first, error=0.05, ledger=ledger, declaration={"title": title})
    with pytest.raises(InputError, match="metric: got"):
        asked(0, 100, first=200, error=0.05, ledger=ledger, declaration={"metric": "correct"})
    assert len(json.loads(ledger.read_text())["runs"]) == 2


def test_a_second_gate_on_overlapping_items_is_refused(tmp_path):
    book = tmp_path / "ledger.json"
    asked(5, 100, error=0.05, ledger=book)
    with pytest.raises(InputError, match="100 of run 1"):  # the same hundred with more beside them
        asked(5, 200, error=0.05, ledger=book)
    with pytest.raises(InputError, match="new items"):  # another model on the same items
        asked(1, 100, error=0.05, ledger=book)
    with pytest.raises(InputError, match="error: got"):
        asked(0, 100, first=500, error=0.1, ledger=book)
    assert asked(0, 100, first=500, error=0.05, ledger=book).delta == share_of_run(2, 0.05)


def test_a_run_that_crashes_is_counted(tmp_path, monkeypatch):
    from certiformer.certification import gating

    book = tmp_path / "ledger.json"
    with monkeypatch.context() as broken:
        broken.setattr(gating, "gate_rate", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            asked(0, 100, error=0.05, ledger=book)
    assert asked(0, 100, first=500, error=0.05, ledger=book).delta == share_of_run(2, 0.05)


# Against a baseline


def pair(wins, losses, both_right, both_wrong):
    mine = [1] * wins + [0] * losses + [1] * both_right + [0] * both_wrong
    other = [0] * wins + [1] * losses + [1] * both_right + [0] * both_wrong
    order = np.random.default_rng(0).permutation(len(mine))
    return [[{"id": str(k), "correct": found[k]} for k in order] for found in (mine, other)]


@pytest.mark.parametrize(
    ("counts", "margin", "verdict", "says"),
    [
        ((0, 0, 138, 0), 0.03, "undecided", "Non-inferior by 0.03: not shown"),
        ((0, 0, 139, 0), 0.03, "pass", "Equivalent within 0.03: yes"),
        ((40, 5, 250, 5), 0.03, "pass", "Superior: yes"),
        ((5, 90, 200, 5), 0.03, "fail", "Worse by more than 0.03: yes"),
    ],
)
def test_against_a_baseline(counts, margin, verdict, says):
    mine, other = pair(*counts)
    report = certiformer.gate(mine, against=other, margin=margin)
    assert report.verdict == verdict
    assert says in report.summary
    assert "All of this together: 95 %" in report.summary
    assert report.basis == f"{counts[0]} wins, {counts[1]} losses, {counts[2]} both right, {counts[3]} both wrong"
    assert not list(violations(json.loads(json.dumps(report.document)), schema()))


def test_against_needs_a_margin_and_the_same_items(tmp_path):
    mine, other = pair(0, 0, 50, 0)
    with pytest.raises(InputError, match="margin"):
        certiformer.gate(mine, against=other)
    with pytest.raises(InputError, match="one of the two"):
        certiformer.gate(mine, against=other, margin=0.1, error=0.1)
    with pytest.raises(InputError, match="same items"):
        certiformer.gate(mine[:40], against=other, margin=0.1)
    book = tmp_path / "l.json"
    assert certiformer.gate(mine, against=other, margin=0.1, ledger=book).delta == 0.025
    with pytest.raises(InputError, match="margin: got"):
        certiformer.gate(mine, against=other, margin=0.2, ledger=book)


# Several tries per task


def tries(counts, n=5):
    return [{"task": f"t{k}", "correct": int(j < c)} for k, c in enumerate(counts) for j in range(n)]


def test_tries_of_a_task(run, tmp_path):
    rows, task = tries([5, 5, 5, 4] * 30), {"group": "task"}
    three = certiformer.gate(rows, error=0.3, pass_all=3, declaration=task)
    assert three.verdict == "pass"
    assert three.statements[0].terms["observed"] == pytest.approx(0.15)  # 1/4 (1 - C(4,3)/C(5,3))
    assert three.statements[0].terms["items"] == 120
    assert "the probability that 3 fresh tries of a new task do not all succeed is at most 0.3" in three.headline
    assert "3 fresh tries of a new task all succeed" in three.conditions[0]
    assert three.conditions[0] in [one.requires for one in three.statements[0].conditions]
    one = certiformer.gate(rows, error=0.1, pass_any=3, declaration=task)
    assert one.statements[0].terms["observed"] == 0.0
    assert "the probability that 3 fresh tries of a new task all fail is at most 0.1" in one.headline
    single = certiformer.gate(rows, error=0.1, pass_all=1, declaration=task)
    assert "the probability that a fresh try of a new task fails is at most 0.1" in single.headline
    lines = ["task,correct", *(f"{row['task']},{row['correct']}" for row in rows)]
    (tmp_path / "r.csv").write_text("\n".join(lines) + "\n")
    words = ("gate", "r.csv", "--group", "task", "--error", 0.3)
    assert run(*words, "--pass-all", 3).code == 0
    near = run("gate", "r.csv", "--group", "task", "--pass-all", 3, "--error", 0.14).out
    assert "over 120 tasks" in near
    assert "new tasks would decide" in near
    assert "at least k = 6 tries" in run(*words, "--pass-all", 6).err
    assert run(*words, "--pass-all", 3, "--pass-any", 3).code == 2
    assert run(*words, "--pass-all", 0).code == 2
    with pytest.raises(InputError, match="--group COLUMN"):
        asked(0, 100, error=0.1, pass_all=2)


@pytest.mark.parametrize(("delta", "most"), [(1e-17, 0.11), (1e-290, 0.3)])
def test_a_tiny_delta_is_said_as_it_is(run, tmp_path, delta, most):
    write(tmp_path / "right.csv", 20, 400)
    write(tmp_path / "other.csv", 25, 400, seed=1)
    (tmp_path / "loss.csv").write_text("id,loss\n" + "".join(f"{k},{(k * 37 % 101) / 500}\n" for k in range(400)))
    for words in (("right.csv", "--error", most), ("right.csv", "--against", "other.csv", "--margin", 0.02),
                  ("loss.csv", "--error", most), ("right.csv", "--error", most, "--anytime", "state")):  # fmt: skip
        found = run("gate", *words, "--delta", delta)
        assert found.code == 3, found.err
        assert f"1 - {delta:g}" in found.out
    shares = asked(0, 100, error=0.5, delta=delta).shares
    assert list(shares.values()) == [delta]


def test_a_defect_and_a_reader_who_has_gone_are_no_verdicts(run, tmp_path, monkeypatch):
    write(tmp_path / "right.csv", 0, 100)

    def ends(with_error):
        def broken(*_, **__):
            raise with_error

        monkeypatch.setattr("certiformer.report.screen.first_screen", broken)
        return run("gate", "right.csv", "--error", 0.05).code

    assert ends(ZeroDivisionError("a defect")) == 70
    monkeypatch.setattr("certiformer.cli.os.dup2", lambda *_: None)
    monkeypatch.setattr("certiformer.cli.sys.stdout.fileno", lambda: 1, raising=False)
    assert ends(BrokenPipeError(errno.EPIPE, "gone")) == 141


def test_the_headline_names_metric_and_slice():
    rows = [
        {"id": str(k), "acc": int(k % 20 > 0 or k % 4 > 1), "f1": 0.5, "doc": f"d{k // 2}", "lang": "ab"[k % 4 // 2]}
        for k in range(800)
    ]
    for more in ({}, {"group": "doc"}):
        said = {"metric": ("acc", "f1"), "slices": "lang", **more}
        found = certiformer.gate(rows, error={"acc": 0.08, "f1": 0.6}, declaration=said)
        assert found.verdict == "undecided"
        assert "the error rate on slice a, judged by acc," in found.headline


def test_the_headline_names_the_slice(run, tmp_path):
    write(tmp_path / "right.csv", 8, 400, extra=lambda k: "abbb"[k % 4])
    found = run("gate", "right.csv", "--slice", "task", "--error", 0.05)
    assert found.code == 3
    said = " ".join(found.out.split())  # lines are broken at the width of the terminal
    assert "the error rate on slice a is not shown to be at most 5 %, nor above." in said


def test_no_number_of_items_decides_at_the_threshold():
    rows = [{"id": k, "loss": (k * 37 % 50) / 50} for k in range(50)]
    assert "no number of items" in certiformer.gate(rows, error=0.49).advice
    other = [{**row, "loss": 0.0} for row in rows]
    assert "no number of items" in certiformer.gate(rows, against=other, margin=0.49).advice
    assert certiformer.gate(other, error=1e-170).verdict == "undecided"
    assert asked(200, 200, error=1e-9).basis.endswith("p < 1e-299"), "no p-value is 0"


def sliced(path, right, slices):
    lines = [f"i{k},{int(ok)},{name}" for k, (ok, name) in enumerate(zip(right, slices, strict=True))]
    path.write_text("\n".join(["id,correct,part", *lines]) + "\n")
    return path


def test_slices_cannot_be_cut_anew_after_a_verdict(tmp_path):
    right = np.random.default_rng(1).random(400) > 0.03
    first = sliced(tmp_path / "a.csv", right, ["ab"[k % 2] for k in range(400)])
    anew = sliced(tmp_path / "b.csv", right, ["a" if ok else "b" for ok in right])
    for file in ("ledger", "anytime"):
        said = {"error": 0.07, file: tmp_path / file, "declaration": {"slices": "part"}}
        before = certiformer.gate(first, **said)
        assert certiformer.gate(first, **said).verdict == before.verdict
        with pytest.raises(InputError, match="item"):
            certiformer.gate(anew, **said)


def test_a_declaration_beside_a_sample_is_not_passed_over():
    rows = rows_of(arrays(10, 400))
    for verb in (lambda found, said: certiformer.gate(found, error=0.07, declaration=said),
                 lambda found, said: certiformer.compare(found, found, declaration=said)):  # fmt: skip
        with pytest.raises(InputError, match="declaration"):
            verb(certiformer.Sample.of(rows), {"models": 1000})
        with pytest.raises(InputError, match="declaration"):
            verb(certiformer.Sample.of(rows, {"models": 1000}), {"group": "id"})
    sample = certiformer.Sample.of(rows, {"models": 1000})
    assert certiformer.gate(sample, error=0.07).verdict == "undecided"
    assert certiformer.gate(sample, error=0.07, declaration={"models": 1000}).verdict == "undecided"


def test_equal_inputs_of_a_stream_are_not_dropped_by_a_state(tmp_path):
    rows = [{"input": f"question {k % 10}", "correct": 1} for k in range(40)]
    said = {"error": 0.05, "anytime": tmp_path / "state"}
    with pytest.raises(InputError, match="--id"):
        certiformer.gate(rows, **said, declaration={"repeats": "natural"})
    named = [{**row, "id": k} for k, row in enumerate(rows)]
    found = certiformer.gate(named, **said, declaration={"repeats": "natural"})
    assert "40 outcomes were new" in found.summary


@pytest.mark.parametrize(
    "change",
    [lambda kept: kept.pop("seen"), lambda kept: kept.pop("gates"), lambda kept: kept.update(gates=5),
     lambda kept: kept["gates"][""].update(n=5), lambda kept: kept["gates"][""].update(total=1.0),
     lambda kept: kept["gates"][""].update(threshold=0.5), lambda kept: kept["gates"][""].update(delta=0.4),
     lambda kept: kept["seen"][""].clear(), lambda kept: kept["gates"][""].update(decided="yes")],
)  # fmt: skip
def test_a_state_that_does_not_agree_with_itself_is_refused(tmp_path, change):
    state = tmp_path / "state"
    asked(3, 60, error=0.05, anytime=state)
    kept = json.loads(state.read_text())
    change(kept)
    state.write_text(json.dumps(kept))
    with pytest.raises(InputError, match="--anytime"):
        asked(3, 60, error=0.05, anytime=state)


@pytest.mark.parametrize(
    "change",
    [lambda kept: kept.pop("runs"), lambda kept: kept.update(runs=4), lambda kept: kept["runs"].clear(),
     lambda kept: kept["runs"][0].update(share=0.4), lambda kept: kept["runs"][0].update(share="x"),
     lambda kept: kept["runs"][0].update(items=3), lambda kept: kept["runs"][0].update(number=2)],
)  # fmt: skip
def test_a_ledger_whose_runs_were_changed_is_refused(tmp_path, change):
    ledger = tmp_path / "ledger"
    asked(3, 60, error=0.05, ledger=ledger)
    kept = json.loads(ledger.read_text())
    change(kept)
    ledger.write_text(json.dumps(kept))
    with pytest.raises(InputError, match="--ledger"):
        asked(3, 60, error=0.05, ledger=ledger)


def test_a_comparison_and_a_gate_weigh_the_tokens_of_a_group_alike() -> None:
    """A group's loss is the mean over its tokens, whichever verb asks, and both say how few groups there are."""
    n = 12
    shared = {"heldout_groups": np.repeat(np.arange(n), 2), "heldout_sizes": np.tile([9.0, 1.0], n)}
    one, two = ({"heldout_losses": np.tile(losses, n), **shared} for losses in ([0.5, 0.0], [0.0, 0.5]))
    (found,) = certiformer.compare(one, two)
    assert found.difference == pytest.approx(0.4)
    gated = certiformer.gate(one, against=two, margin=0.1)
    assert gated.observed["difference"] == pytest.approx(found.difference)
    for warnings in (found.warnings, gated.warnings):
        assert f"only {n} groups: the limit is wide" in warnings
