"""`look` as a user types it: every command that it offers runs."""

import json
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

from certiformer.cli import main

LOGS = Path(__file__).parent / "sources" / "logs"


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)

    def command(*words):
        monkeypatch.setattr(sys, "argv", ["certiformer", *map(str, words)])
        with pytest.raises(SystemExit) as left:
            main()
        return left.value.code or 0, capsys.readouterr().out

    return command


def test_every_command_that_is_offered_runs(run, tmp_path):
    rows = [f"{k},{int(k % 40 > 0)},{'ab'[k % 2]},t{k // 4},{0.5 + k / 1000}" for k in range(400)]
    (tmp_path / "my results.csv").write_text("\n".join(["id,correct,lang,task,confidence", *rows]) + "\n")
    for words in ((), ("--group", "task")):
        code, out = run("look", "my results.csv", "--json", *words)
        assert code == 0
        found = json.loads(out)
        assert found["columns"]["lang"] == "2 different values (a, b)"
        commands = [one["command"] for one in found["questions"] if one["command"]]
        assert len(commands) >= 5
        assert any("--slice lang" in one for one in commands)
        (tmp_path / "state.json").unlink(missing_ok=True)  # it belongs to other settings
        for one in commands:
            assert run(*shlex.split(one)[1:])[0] in (0, 1, 3), one
        assert all(one["command"] or one["missing"] for one in found["questions"])
    assert "certiformer gate 'my results.csv' --error 0.05" in run("look", "my results.csv")[1]


def offered(run, *words):
    code, out = run("look", "--json", *words)
    assert code == 0
    return {one["asks"]: one for one in json.loads(out)["questions"]}


def test_only_what_the_verbs_take_is_offered(run, tmp_path):
    rows = [f"t{k // 4},{k % 5},{int(k % 9 > 0)}" for k in range(400)]
    (tmp_path / "-tries.csv").write_text("\n".join(["task,part,correct", *rows]) + "\n")
    np.savez(tmp_path / "log.npz", heldout_log_losses=np.random.default_rng(0).exponential(size=200))
    looked = "the same, looked at while items come in?"
    by_group = offered(run, "--group", "task", "./-tries.csv")
    assert by_group[looked]["command"] == "certiformer gate ./-tries.csv --group task --error 0.05 --anytime state.json"
    by_rows = offered(run, "--group", "task", "--estimand", "rows", "--max-size", 4, "./-tries.csv")
    assert "a mean over rows" in by_rows[looked]["missing"]
    stopped = offered(run, LOGS / "inspect-stopped.eval")
    whole = offered(run, "log.npz", "--classes", 50)
    assert "--clip C" in whole["is it at most a threshold, fixed beforehand (here 0.05)?"]["missing"]
    commands = [one["command"] for some in (by_group, by_rows, stopped, whole) for one in some.values()]
    for number, command in enumerate(filter(None, commands)):
        words = shlex.split(command.replace("state.json", f"state{number}.json"))
        assert run(*words[1:])[0] in (0, 1, 3), command
    assert [one["command"].split()[-1] for one in stopped.values()] == ["state.json"]


def test_what_a_verb_would_refuse_is_not_offered(run, tmp_path):
    """Slices with gaps or fields, too few rows to certify, a comparison with slices or of several metrics."""
    rows = [
        {"id": k, "metrics": {"acc": k % 9 > 0, "f1": 0.5}, "part": "ab"[k % 2], "gaps": "a" * (k % 2)}
        for k in range(60)
    ]
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "few.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[:8]))
    acc, both = ("--metric", "metrics.acc"), ("--metric", "metrics.acc", "--metric", "metrics.f1")
    found = offered(run, "r.jsonl", *acc)
    assert [asks for asks in found if asks.startswith("and for each")] == ["and for each part?"]
    assert offered(run, "few.jsonl", *acc)["what is guaranteed on new examples?"]["missing"] == "at least 10 examples"
    names = "is another model better?", "is it at most a margin worse than another (here 0.02)?"
    for words in ((*acc, "--slice", "part"), (*acc, "--group", "part", "--order", "hash")):
        for name in names:
            command = offered(run, "r.jsonl", *words)[name]["missing"].partition(": ")[2].replace("OTHER", "r.jsonl")
            assert run(*shlex.split(command)[1:])[0] in (0, 1, 3), command
    assert {offered(run, "r.jsonl", *both)[name]["missing"] for name in names} == {"one outcome: --metric NAME"}


def test_what_is_ambiguous_is_said(run, tmp_path):
    (tmp_path / "r.csv").write_text("id,quality\n" + "".join(f"{k},{k % 7}\n" for k in range(50)))
    code, out = run("look", "r.csv")
    assert code == 0
    assert "It cannot be read yet." in out
    assert run("look", "none.csv")[0] == 2


def test_human_labels_beside_a_judge_are_seen(run, tmp_path):
    rows = [f"{k},{'wrong' if k < 20 else '' if k >= 100 else 'right'},{int(k % 5 == 0)}" for k in range(400)]
    (tmp_path / "j.csv").write_text("\n".join(["id,human,judge", *rows]) + "\n")
    code, out = run("look", "j.csv")
    assert code == 0
    said = "certiformer certify j.csv --human human --judge judge --labelled random --expect RATE --correlation R"
    assert said in out
    words = said.replace("RATE", "0.2").replace(" R", " 0.9")
    assert run(*shlex.split(words)[1:], "--lower-is-better")[0] == 0
