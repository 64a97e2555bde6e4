"""`certiformer holdout`, as a user types it, and `certiformer verify` on its folder."""

import json

import numpy as np
from typer.testing import CliRunner

from certiformer.cli import application

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
