"""plan, watch, select and compare as a user types them."""

import csv
import html
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import certiformer
from certiformer.certification.verify import schema
from certiformer.cli import main
from certiformer.theory.core import locks
from certiformer.theory.core.errors import CertiformerError
from certiformer.theory.core.schema import violations
from subprocesses import python_path

RANDOM = np.random.default_rng(0)
LABELS = RANDOM.integers(3, size=300)
MODELS = {
    name: np.where(RANDOM.random(300) < rate, (LABELS + 1) % 3, LABELS) for name, rate in (("A", 0.2), ("B", 0.05))
}


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)

    def command(*words, stdin=None):
        monkeypatch.setattr(sys, "argv", ["certiformer", *map(str, words)])
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", stdin)
        with pytest.raises(SystemExit) as left:
            main()
        captured = capsys.readouterr()
        return SimpleNamespace(code=left.value.code or 0, out=captured.out, err=" ".join(captured.err.split()))

    for name, predicted in MODELS.items():
        order = RANDOM.permutation(300)
        rows = ["id,label,pred,confidence,doc"]
        rows += [f"{k},{LABELS[k]},{predicted[k]},{0.5 + k / 600},{k // 3}" for k in order]
        (tmp_path / f"{name}.csv").write_text("\n".join(rows) + "\n")
    return command


def test_plan(run, tmp_path):
    found = json.loads(run("plan", "--error", 0.02, "--confidence", 0.95, "--expect", 0.01, "--json").out)
    assert (found["n"], found["certificate"], found["errors"], found["stable"]) == (969, "holdout", 12, 1091)
    assert 0.8 <= found["power"] < 0.85
    assert "Label 149" in run("plan", "--error", 0.02, "--expect", 0).out
    three = json.loads(run("plan", "--error", 0.02, "--json").out)["plans"]
    assert [(one["expect"], one["n"]) for one in three] == [(0.0, 149), (0.005, 386), (0.01, 969)]
    assert "969 labels if the true rate is 1 %" in run("plan", "--error", 0.02).out
    for expect, n, verdict in ((0.025, 361, "PASS"), (0.1, 169, "FAIL"), (0, 59, "PASS")):
        words = ("plan", "--gate", "--error", 0.05, "--expect", expect)
        assert json.loads(run(*words, "--json").out)["n"] == n
        assert f"says {verdict}" in run(*words).out
    assert json.loads(run("plan", "--gate", "--error", 0.05, "--expect", 0.025, "--json").out)["stable"] == 434
    assert run("plan", "--gate", "--error", 0.05, "--expect", 0.05).code == 2
    pairs = json.loads(run("plan", "--difference", 0.02, "--discordance", 0.04, "--json").out)
    assert pairs["n"] == 843
    assert run("plan", "--error", 0.02, "--expect", 0.01, "--plot", "curve.svg").code == 0
    assert (tmp_path / "curve.svg").stat().st_size > 1000
    for words in ((), ("--error", 0.02, "--expect", 0.05), ("--difference", 0.2, "--discordance", 0.1)):
        assert run("plan", *words).code == 2


def stream(tmp_path, n=1200):
    t = np.arange(1, n + 1)
    values = np.where(t <= 1000, t % 50 == 0, t % 10 == 0).astype(int)
    (tmp_path / "s.txt").write_text("\n".join(map(str, values)) + "\n")
    return values


def test_watch_survives_a_restart(run, tmp_path):
    values = stream(tmp_path)
    whole = [json.loads(line) for line in run("watch", "s.txt", "--certified", 0.03, "--json").out.splitlines()]
    assert [line["n"] for line in whole] == list(range(100, 1201, 100))
    assert set(whole[0]) >= {"n", "mean", "lower", "upper", "alarm"}
    assert [line["alarm"] for line in whole] == [False] * 11 + [True]
    assert whole[-1]["alarm_at"] == 1200
    (tmp_path / "first.txt").write_text("\n".join(map(str, values[:430])) + "\n")
    words = ("--certified", 0.03, "--state", "state.json", "--json")
    run("watch", "first.txt", *words)
    resumed = [json.loads(line) for line in run("watch", "s.txt", *words).out.splitlines()]
    assert resumed[0]["n"] == 530
    assert resumed[-1]["alarm_at"] == 1200
    assert run("watch", "s.txt", "--certified", 0.05, "--state", "state.json").code == 2


def test_a_state_has_one_watcher_at_a_time(tmp_path, monkeypatch):
    """The later one would write its state over what the first had counted, an alarm among it."""
    state = tmp_path / "s.json"
    monkeypatch.setattr(locks, "WAIT_SECONDS", 0.05)
    first = certiformer.watch(["0"] * 200, state=state)
    assert next(first).n == 100
    with pytest.raises(CertiformerError, match="another process has held"):
        certiformer.watch(["1"], state=state)
    assert [now.n for now in first] == [200]
    assert [now.n for now in certiformer.watch(["1"], state=state)] == [201]
    begun = certiformer.watch(["1"], state=state)
    del begun  # never asked for a report
    assert [now.n for now in certiformer.watch(["1"], state=state)] == [202]


def test_a_restart_never_passes_over_other_outcomes(run, tmp_path):
    words = ("--state", "s.json", "--certified", 0.05, "--fail-on-alarm")
    (tmp_path / "monday.txt").write_text("0\n" * 40 + "1\n" * 60)
    (tmp_path / "tuesday.txt").write_text("0\n" * 200)
    (tmp_path / "short.txt").write_text("0\n" * 40)
    assert run("watch", "monday.txt", *words).code == 1
    again = run("watch", "monday.txt", *words)
    assert again.code == 1, "nothing is new, and the alarm has sounded"
    assert "100" in again.out
    assert "ALARM" in again.out
    assert "No alarm" not in again.out
    for other in ("tuesday.txt", "short.txt"):
        refused = run("watch", other, *words)
        assert refused.code == 2
        assert "the 100 outcomes that s.json has counted" in refused.err
    found = run("watch", "-", *words, "--json", stdin=_lines(["0"] * 200))
    assert json.loads(found.out.splitlines()[-1])["n"] == 300
    assert found.code == 1


def test_watch_reads_what_people_log(run, tmp_path):
    lines = ['{"loss": 0.25}', "0.75", "", '{"loss": 0.5, "id": 3}', "0"] * 20
    (tmp_path / "s.jsonl").write_text("\n".join(lines))
    found = json.loads(run("watch", "s.jsonl", "--range", 0, 1, "--json").out.splitlines()[-1])
    assert found["n"] == 80
    assert found["mean"] == pytest.approx(0.375)
    assert "declare their range" in run("watch", "s.jsonl").err
    assert "line 1" in run("watch", "-", stdin=_lines(["nonsense"])).err
    right = json.loads(run("watch", "-", "--higher-is-better", "--json", stdin=_lines(["1"] * 50)).out)
    assert right["mean"] == 0.0
    assert run("watch", "absent.txt").code == 2


def test_watch_keeps_what_came_before_a_line_it_cannot_read(run, tmp_path):
    words = ("watch", "-", "--state", "s.json", "--json")
    found = run(*words, stdin=_lines(["0"] * 30 + ["\ufffd"]))
    assert found.code == 2
    assert "line 31" in found.err
    assert json.loads(found.out)["n"] == 30
    assert json.loads(run(*words, stdin=_lines(["0"] * 20)).out)["n"] == 50
    (tmp_path / "bytes.txt").write_bytes(b"0\n1\n\xff\xfe\n")
    assert "line 3" in run("watch", "bytes.txt").err


def test_watch_never_guesses(run):
    assert "--higher-is-better" in run("watch", "-", stdin=_lines(["true"])).err
    for word, wrong in (("true", 0.0), ("right", 0.0), ("wrong", 1.0), ("0", 1.0)):
        found = json.loads(run("watch", "-", "--higher-is-better", "--json", stdin=_lines([word] * 10)).out)
        assert found["mean"] == wrong, word
    scores = _lines(['{"score": 8}'] * 10)
    assert json.loads(run("watch", "-", "--range", 0, 10, "--json", stdin=scores).out)["mean"] == 2.0
    for line in ("nan", '{"loss": null}', '{"loss": "x"}', "{", "[1]", '{"other": 1}', "1e400"):
        assert run("watch", "-", "--range", 0, 1, stdin=_lines([line])).code == 2, line


@pytest.mark.parametrize("words", [(), ("--range", 0, 1)])
def test_limits_are_of_the_average_whatever_the_stream_did(run, tmp_path, words):
    (tmp_path / "s.txt").write_text("0\n" * 400 + "1\n" * 400)
    found = [json.loads(line) for line in run("watch", "s.txt", "--json", "--every", 50, *words).out.splitlines()]
    for one in found:
        average = max(0, one["n"] - 400) / one["n"]  # of the means, which are 0 and then 1
        assert one["lower"] <= average <= one["upper"]
        assert one["mean"] == average
    changed = next(one for one in found if one["changed_at"])
    assert 400 < changed["changed_at"] == changed["n"]
    assert found[-1]["upper"] - found[-1]["lower"] < 0.2


def test_a_changed_setting_is_refused_by_its_name(run, tmp_path):
    (tmp_path / "s.txt").write_text("0\n" * 50)
    words = ("watch", "s.txt", "--state", "s.json")
    assert run(*words, "--certified", 0.1).code == 0
    for more, name in (
        (("--certified", 0.2), "certified"),
        (("--certified", 0.1, "--delta", 0.01), "delta"),
        (("--certified", 0.1, "--higher-is-better"), "better"),
        (("--certified", 0.1, "--range", 0, 2), "high"),
    ):
        found = run(*words, *more)
        assert found.code == 2
        assert found.err.startswith(f"error: {name}: got "), found.err


def test_verdicts_of_other_verbs_are_exit_codes(run, tmp_path):
    (tmp_path / "s.txt").write_text("1\n" * 50)
    assert run("watch", "s.txt", "--certified", 0.1).code == 0
    assert run("watch", "s.txt", "--certified", 0.1, "--fail-on-alarm").code == 1
    assert run("watch", "s.txt", "--certified", 0.1, "--fail-on-alarm", "--json").code == 1
    assert run("watch", "s.txt", "--fail-on-alarm").code == 2
    assert run("compare", "A.csv", "B.csv", "--require", "better").code == 0
    assert run("compare", "B.csv", "A.csv", "--require", "better").code == 1
    assert run("compare", "A.csv", "A.csv", "--require", "better").code == 3
    assert run("compare", "B.csv", "A.csv", "--margin", 0.05, "--require", "noninferior").code == 1
    assert run("compare", "A.csv", "B.csv", "--margin", 0.05, "--require", "noninferior").code == 0
    assert run("compare", "A.csv", "B.csv", "--require", "noninferior").code == 2
    assert run("compare", "A.csv", "B.csv", "--require", "best").code == 2
    assert "PASS" in run("certify", "B.csv", "--require", 0.2).out
    for most, more, code in ((0.2, (), 0), (0.01, (), 3), (0.01, ("--two-sided",), 1)):
        found = run("certify", "B.csv", "--require", most, "--json", *more)
        assert found.code == code
        json.loads(found.out)
    for most in (5, 0):
        assert "strictly between 0 and 1" in run("certify", "B.csv", "--require", most).err
    rows = [f"{k},{int(k % 4 > 0 or k % 2 > 0)},0.9,{'ab'[k % 2]}" for k in range(400)]
    (tmp_path / "parts.csv").write_text("\n".join(["id,acc,f1,part", *rows]) + "\n")
    for words in (("--metric", "acc", "--slice", "part"), ("--metric", "acc", "--metric", "f1")):
        several = run("certify", "parts.csv", *words, "--require", 0.35)
        assert several.code == 2, "one slice is above it, or one metric may be"
        assert "certiformer gate FILE" in several.err


@pytest.mark.parametrize("content", ["", "{", "[]", '{"settings": {}}', "\x00"])
def test_a_state_of_something_else_is_refused(run, tmp_path, content):
    (tmp_path / "s.json").write_text(content)
    found = run("watch", "-", "--state", "s.json", stdin=_lines(["0"]))
    assert found.code == 2
    assert "--state" in found.err


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        (None, "n", 31), (None, "total", -1.0), (None, "changes", 3), (None, "settings", []),
        ("sequence", "limits", []), ("sequence", "delta", 0.5), ("sequence", "low", 10**40), ("sequence", "bets", {}),
        ("monitor", "capital", [1.0]), ("monitor", "alarm", "x"), ("monitor", "p0", 0.4),
        ("monitor", "high", float("inf")),
    ],
)  # fmt: skip
def test_a_state_that_was_changed_is_one_line(run, tmp_path, part, name, value):
    (tmp_path / "s.txt").write_text("0\n" * 30)
    words = ("watch", "s.txt", "--state", "s.json", "--certified", 0.1, "--range", 0, 1)
    assert run(*words).code == 0
    state = json.loads((tmp_path / "s.json").read_text())
    (state if part is None else state[part])[name] = value
    (tmp_path / "s.json").write_text(json.dumps(state))
    found = run(*words)
    assert found.code == 2
    assert found.err.startswith("error: ")


def test_a_state_can_hold_whatever_was_won(run, tmp_path):
    """A thousand errors in a row win more than the largest float."""
    (tmp_path / "s.txt").write_text("1\n" * 1_000)
    words = ("watch", "s.txt", "--state", "s.json", "--certified", 0.001)
    assert run(*words).code == 0
    state = (tmp_path / "s.json").read_text()
    assert "Infinity" not in state
    assert run(*words).code == 0
    assert (tmp_path / "s.json").read_text() == state


def test_a_killed_watch_leaves_a_whole_state(tmp_path):
    """kill -9 at random moments: the state is there, can be read, and going on ends where an undisturbed run ends."""
    rows = RANDOM.integers(2, size=6000)
    (tmp_path / "s.txt").write_text("\n".join(map(str, rows)) + "\n")
    slow = (
        "import os, sys, time; from certiformer.cli import main; from certiformer.certification import watching;"
        "watching.SAVED_EVERY = 0.0;"
        "replace = os.replace; os.replace = lambda a, b: (time.sleep(0.01), replace(a, b));"
        "sys.argv = ['certiformer', *sys.argv[1:]]; main()"
    )
    words = ["watch", "s.txt", "--certified", "0.5", "--state", "s.json", "--every", "20", "--json"]
    environment = {**os.environ, "PYTHONPATH": python_path()}
    for lines in (1, 3):
        with subprocess.Popen(
            [sys.executable, "-c", slow, *words], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
        ) as running:
            for _ in range(lines):
                running.stdout.readline()
            running.kill()
        assert json.loads((tmp_path / "s.json").read_text())["sequence"]["n"] >= 20
    rest = subprocess.run(
        [sys.executable, "-m", "certiformer", *words], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    last = json.loads(rest.stdout.splitlines()[-1])
    assert (last["n"], last["mean"]) == (6000, pytest.approx(rows.mean()))


def _lines(lines):
    """Standard input with the given lines."""
    return io.StringIO("".join(f"{line}\n" for line in lines))


def test_compare_and_select_carry_a_report(run):
    Path("C.csv").write_text(Path("B.csv").read_text())
    found = certiformer.compare("A.csv", "B.csv", "C.csv")
    first = found[0]
    assert (found.report["compare (B.csv)"].lower, found.value) == first.interval
    assert found.confidence == pytest.approx(0.95)
    assert first.verdict in found.headline
    low, high = re.search(r"is between (\S+) and (\S+), with", found.headline).groups()
    assert float(low) <= first.interval[0] <= first.interval[1] <= float(high)
    screen = " ".join(run("compare", "A.csv", "B.csv", "C.csv").out.split())
    assert all(text in screen for text in (found.headline, *(one.seen for one in found.report.statements)))
    chosen = certiformer.select("B.csv", error=0.1)
    assert (chosen.value, chosen.report["select"].value) == (chosen.selection.error_upper,) * 2
    assert chosen.headline in " ".join(run("select", "B.csv", "--error", 0.1).out.split())
    nothing = certiformer.select("A.csv", error=0.01)
    assert nothing.value is None
    for one in (found, chosen, nothing):
        assert str(one).startswith(one.headline)
        assert len(str(one).splitlines()) <= 12
        assert one.conditions
        assert one.conditions == one.report.conditions
        assert list(violations(json.loads(json.dumps(one.report.document, allow_nan=False)), schema())) == []
        assert one.headline in html.unescape(one._repr_html_())
    assert [row["id"] for row in found.report.rows()] == ["compare (B.csv)", "compare (C.csv)"]


def test_select(run, tmp_path):
    found = json.loads(run("select", "B.csv", "--error", 0.1, "--json").out)
    assert found["answered"] > 0
    assert found["error_upper"] <= 0.1
    fixed = json.loads(run("select", "B.csv", "--error", 0.1, "--thresholds", "0.7,0.6", "--json").out)
    assert fixed["error_upper"] == 0.1
    assert "Answer nothing" in run("select", "A.csv", "--error", 0.01).out
    np.savez(tmp_path / "p.npz", heldout_labels=LABELS, heldout_logits=4.0 * np.eye(3)[MODELS["B"]])
    assert run("select", "p.npz", "--error", 0.2).code == 0
    (tmp_path / "bare.csv").write_text("label,pred\n" + "1,1\n" * 20)
    assert "confidences" in run("select", "bare.csv", "--error", 0.2).err


def test_compare_models(run):
    found = json.loads(run("compare", "A.csv", "B.csv", "--json").out)["comparison"]
    wrong = {name: predicted != LABELS for name, predicted in MODELS.items()}
    assert found["discordant"] == [int(np.sum(wrong["A"] & ~wrong["B"])), int(np.sum(wrong["B"] & ~wrong["A"]))]
    assert found["difference"] == pytest.approx(wrong["A"].mean() - wrong["B"].mean())
    assert found["interval"][0] > 0
    assert found["verdict"] == "B.csv is better"
    back = json.loads(run("compare", "B.csv", "A.csv", "--json").out)["comparison"]
    assert back["interval"] == pytest.approx([-found["interval"][1], -found["interval"][0]], abs=1e-9)
    grouped = json.loads(run("compare", "A.csv", "B.csv", "--group", "doc", "--json").out)["comparison"]
    assert grouped["unit"] == "group"
    assert grouped["p"] is None
    inferior = run("compare", "A.csv", "B.csv", "--margin", 0.05).out
    assert "B.csv is at most 0.05 worse than A.csv" in " ".join(inferior.split())


def test_several_models_divide_the_sign_test_and_the_confidence(run, tmp_path):
    (tmp_path / "C.csv").write_text((tmp_path / "B.csv").read_text())
    alone = json.loads(run("compare", "A.csv", "B.csv", "--json").out)["comparison"]
    both = json.loads(run("compare", "A.csv", "B.csv", "C.csv", "--json").out)["comparisons"]
    assert [one["p_adjusted"] for one in both] == [2 * alone["p"]] * 2
    assert [one["delta"] for one in both] == [0.025] * 2
    assert f"sign test p = {2 * alone['p']:.3g}" in " ".join(run("compare", "A.csv", "B.csv", "C.csv").out.split())
    rows = [f"{k},{int(k % 5 > 0)},{int(k % 7 > 0)}" for k in range(300)]
    for place, name in ((1, "d"), (2, "e")):
        lines = ["id,correct", *(f"{row.split(',')[0]},{row.split(',')[place]}" for row in rows)]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines))
    undecided = " ".join(run("compare", "d.csv", "e.csv").out.split())
    assert re.search(r"Not decided.* About [\d,]+ new items would decide", undecided)


def test_compare_needs_the_same_items(run, tmp_path):
    lines = (tmp_path / "B.csv").read_text().splitlines()
    (tmp_path / "C.csv").write_text("\n".join(lines[:200]) + "\n")
    refused = run("compare", "A.csv", "C.csv").err
    assert "Leaving items out is a selection" in refused
    fewer = len(lines) - 200
    assert f"{fewer} items of A.csv that C.csv lacks, and 0 the other way round" in refused
    assert f"0 items of C.csv that A.csv lacks, and {fewer} the other way round" in run("compare", "C.csv", "A.csv").err
    assert "files, or ids" in run("compare", "A.csv", "trauger.thm4.1").err
    assert "at least two" in run("compare", "A.csv").err


def test_compare_results(run, tmp_path):
    words = ("holdout", "mean_loss", "errors=5", "n=1000", "delta=0.05", "losses=0.1,0.2,0.0,0.3,0.1,0.0,0.0,0.0")
    found = json.loads(run("compare", *words, "--json").out)
    assert found["smallest"]["risk"] == "holdout"
    words = ("compare", "holdout", "occam", "errors=5", "code_length=10", "delta=0.05", "--sweep", "n=100:10000:5")
    told = run(*words, "--plot", "c.svg")
    assert told.code == 0
    assert "n from 100 to 1e+04: holdout is smallest" in told.out
    rows = list(csv.DictReader(io.StringIO(run(*words, "--csv").out)))
    assert [(row["n"], row["id"]) for row in rows[1:3]] == [("100.0", "occam"), ("316.0", "holdout")]
    assert len(rows) == 10
    (stretch,) = json.loads(run(*words, "--json").out)["smallest_along"]["risk"]
    assert stretch == {"low": 100.0, "high": 10000.0, "id": "holdout"}
    assert (tmp_path / "c.svg").stat().st_size > 1000
    assert "did you mean delta" in run("compare", "holdout", "occam", "dleta=0.05").err
    assert "at least two ids" in run("compare", "holdout").err


def test_what_train_writes_is_what_certify_takes(run, tmp_path):
    """The two lines of the README, as they stand."""
    trained = run("train", "shallow_encoder", "--task", "mnist", "--task-set", "n=60", "--steps", 2, "--json")
    assert trained.code == 0
    assert json.loads(trained.out)["examples"] == "data.npz"
    report = json.loads(run("certify", "model.safetensors", "--data", "data.npz", "--json").out)
    assert report["observed"]["train_examples"] == 60
    assert report["provenance"]["heldout_inputs_seen_in_training"] == 0
    np.savez(tmp_path / "data.npz", mine=np.zeros(3))
    assert "that `certiformer train` wrote" in run("train", "shallow_encoder", "--task", "mnist", "--steps", 2).err
