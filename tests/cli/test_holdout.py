"""`certiformer holdout`, as a user types it, and `certiformer verify` on its folder."""

import json

import numpy as np
from typer.testing import CliRunner

from certiformer.cli import application
from certiformer.theory.core.errors import InputError

RUNNER = CliRunner()


def run(*words):
    found = RUNNER.invoke(application(), [str(word) for word in words])
    assert found.exit_code == 0, found.output
    return found.stdout


def test_a_ledger_from_new_to_verify(tmp_path):
    labels = np.arange(200) % 2
    np.savez(tmp_path / "labels.npz", heldout_labels=labels)
    for name, errors in (("bad", 60), ("good", 5)):
        np.savez(tmp_path / f"{name}.npz", heldout_predictions=np.where(np.arange(200) < errors, 1 - labels, labels))
    ledger = tmp_path / "ledger"
    made = json.loads(run("holdout", "new", ledger, "--data", tmp_path / "labels.npz", "--step", 5, "--json"))
    assert (made["m"], len(made["head"])) == (200, 64)
    assert "better" in run("holdout", "ask", ledger, "--predictions", tmp_path / "bad.npz")
    answer = json.loads(run("holdout", "ask", ledger, "--predictions", tmp_path / "good.npz", "--json"))
    assert (answer["round"], answer["answer"]) == (2, True)
    claim = json.loads(run("holdout", "claim", ledger, "--json"))
    assert (claim["errors"], claim["n"]) == (5, 200)
    assert 0.025 < claim["value"] < 0.12
    assert "claim of round 2" in run("holdout", "log", ledger)
    checked = json.loads(run("verify", ledger, "--json"))
    assert checked["rows"] == [
        {"id": "holdout.ladder", "reported": claim["value"], "recomputed": claim["value"], "agrees": True}
    ]
    assert "agrees" in run("verify", ledger)


def test_a_ledger_names_its_order_and_refuses_another_coding(tmp_path):
    labels = np.arange(200) % 2
    np.savez(tmp_path / "labels.npz", heldout_labels=labels)
    np.savez(tmp_path / "signs.npz", heldout_predictions=2 * labels - 1)
    ledger = tmp_path / "ledger"
    assert "matched by their place" in run("holdout", "new", ledger, "--data", tmp_path / "labels.npz")
    found = RUNNER.invoke(application(), ["holdout", "ask", str(ledger), "--predictions", str(tmp_path / "signs.npz")])
    assert "one coding" in str(found.exception)
    assert "better" not in run("holdout", "log", ledger)  # nothing was asked


def test_predictions_are_matched_by_id_where_the_labels_have_ids(tmp_path):
    """Another order is the same answer; other ids, some twice or none are refused before anything is counted."""
    labels, order = np.arange(200) % 2, np.random.default_rng(0).permutation(200)
    answers = np.where(np.arange(200) < 30, 1 - labels, labels)
    (tmp_path / "labels.csv").write_text("id,label\n" + "".join(f"q{k},{one}\n" for k, one in enumerate(labels)))
    files = {
        "moved": "".join(f"q{k},{answers[k]}\n" for k in order),
        "other": "".join(f"x{k},{answers[k]}\n" for k in order),
        "twice": "".join(f"q{max(k, 1)},{answers[k]}\n" for k in order),
        "fewer": "".join(f"q{k},{answers[k]}\n" for k in order[1:]),
    }
    for name, rows in files.items():
        (tmp_path / f"{name}.csv").write_text("id,prediction\n" + rows)
    np.savez(tmp_path / "bare.npz", heldout_predictions=answers)
    ledger = tmp_path / "ledger"
    begun = run("holdout", "new", ledger, "--data", tmp_path / "labels.csv", "--feedback", "count")
    assert "matched by id" in begun.replace("\n", " ")
    for name in ("other.csv", "twice.csv", "fewer.csv", "bare.npz"):
        words = ["holdout", "ask", str(ledger), "--predictions", str(tmp_path / name)]
        assert isinstance(RUNNER.invoke(application(), words).exception, InputError), name
    asked = json.loads(run("holdout", "ask", ledger, "--predictions", tmp_path / "moved.csv", "--json"))
    assert (asked["round"], asked["answer"]) == (1, 30)
    claim = json.loads(run("holdout", "claim", ledger, "--json"))
    assert (claim["errors"], any("place" in text for text in claim["not_checked"])) == (30, False)
    assert json.loads(run("verify", ledger, "--json"))["wrong"] == []
    with np.load(ledger / "holdout.npz") as kept:
        changed = {name: kept[name] for name in kept} | {"ids": kept["ids"][::-1]}
    np.savez(ledger / "holdout.npz", **changed)
    assert "not those that the ledger began with" in RUNNER.invoke(application(), ["verify", str(ledger)]).output


def test_a_ledger_asks_where_predictions_may_be_two_columns_or_count_from_one(tmp_path):
    """A round that was asked is spent: a guess here cannot be taken back."""
    labels = np.arange(60) % 3
    rows = "\n".join(f"{row},{label}" for row, label in enumerate(labels))
    (tmp_path / "labels.csv").write_text(f"id,label\n{rows}\n")
    ledger = tmp_path / "ledger"
    run("holdout", "new", ledger, "--data", tmp_path / "labels.csv")
    two = "\n".join(f"{row},{label},{label}" for row, label in enumerate(labels))
    (tmp_path / "two.csv").write_text(f"id,pred,output\n{two}\n")
    one = "\n".join(f"{row},{label + 1}" for row, label in enumerate(labels))
    (tmp_path / "one.csv").write_text(f"id,prediction\n{one}\n")
    for name, words in (("two", "--prediction pred or --prediction output"), ("one", "counts from 0")):
        said = ["holdout", "ask", str(ledger), "--predictions", str(tmp_path / f"{name}.csv")]
        found = RUNNER.invoke(application(), said)
        assert isinstance(found.exception, InputError)
        assert words in str(found.exception)
    asked = json.loads(
        run("holdout", "ask", ledger, "--predictions", tmp_path / "two.csv", "--prediction", "pred", "--json")
    )
    assert asked["round"] == 1


def test_classes_may_be_names_in_one_spelling(tmp_path):
    """Counted as numbers are; another spelling, other names, or numbers beside names are refused and cost nothing."""
    names, numbers = np.array(["cat", "dog", "owl"]), np.arange(90) % 3
    answers = np.where(np.arange(90) < 12, (numbers + 1) % 3, numbers)
    files = {
        "labels": ("label", names[numbers]), "good": ("prediction", names[answers]), "numbers": ("prediction", answers),
        "spelt": ("prediction", np.char.title(names[answers])), "other": ("prediction", np.repeat("emu", 90)),
    }  # fmt: skip
    for name, (column, values) in files.items():
        (tmp_path / f"{name}.csv").write_text(
            f"id,{column}\n" + "".join(f"q{k},{one}\n" for k, one in enumerate(values))
        )
    np.savez(tmp_path / "logits.npz", heldout_logits=np.eye(3)[answers], heldout_ids=[f"q{k}" for k in range(90)])
    ledger = tmp_path / "ledger"
    run("holdout", "new", ledger, "--data", tmp_path / "labels.csv", "--feedback", "count")
    for name in ("numbers.csv", "spelt.csv", "other.csv", "logits.npz"):
        words = ["holdout", "ask", str(ledger), "--predictions", str(tmp_path / name)]
        assert isinstance(RUNNER.invoke(application(), words).exception, InputError), name
    asked = json.loads(run("holdout", "ask", ledger, "--predictions", tmp_path / "good.csv", "--json"))
    assert (asked["round"], asked["answer"]) == (1, 12)
    assert json.loads(run("holdout", "claim", ledger, "--json"))["errors"] == 12
    assert "agrees" in run("verify", ledger)


def test_a_claim_is_compared_in_every_field(tmp_path):
    """The last line of a log is in no chain: whoever changes what the claim says is found out."""
    np.savez(tmp_path / "labels.npz", heldout_labels=np.arange(50) % 2)
    np.savez(tmp_path / "same.npz", heldout_predictions=np.arange(50) % 2)
    ledger = tmp_path / "ledger"
    run("holdout", "new", ledger, "--data", tmp_path / "labels.npz")
    run("holdout", "ask", ledger, "--predictions", tmp_path / "same.npz")
    claim = json.loads(run("holdout", "claim", ledger, "--json"))
    log = (ledger / "log.jsonl").read_text().splitlines()
    forged = {"confidence": 0.99999, "n": 5000, "nats": 0.0, "conditions": [], "not_checked": [], "models": 1}
    for name, value in forged.items():
        last = {**json.loads(log[-1]), "claim": {**claim, name: value}}
        (ledger / "log.jsonl").write_text("\n".join([*log[:-1], json.dumps(last)]) + "\n")
        found = RUNNER.invoke(application(), ["verify", str(ledger)])
        assert (found.exit_code, name in found.output) == (1, True), name
    (ledger / "log.jsonl").write_text("\n".join(log) + "\n")
    assert "agrees" in run("verify", ledger)
