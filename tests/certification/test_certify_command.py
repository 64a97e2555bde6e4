"""`certiformer certify` as a user meets it: files in, a report out, and errors that say what is wrong."""

import json
import pickle
import sys
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import save_file

from certiformer.cli import main
from certiformer.lab import models


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)

    def command(*words):
        monkeypatch.setattr(sys, "argv", ["certiformer", "certify", *map(str, words)])
        with pytest.raises(SystemExit) as left:
            main()
        captured = capsys.readouterr()
        return SimpleNamespace(code=left.value.code or 0, out=captured.out, err=" ".join(captured.err.split()))

    return command


def examples(n, seed):
    x = np.random.default_rng(seed).normal(size=(n, 3, 4)).astype(np.float32)
    return x, (x[:, :, 0].sum(1) > 0).astype(int)


def overlapping(path):
    """Five of the forty held-out examples are in the training set."""
    (x, y), (xh, yh) = examples(50, 0), examples(40, 1)
    seen = {"train_inputs": np.concatenate([x, xh[:5]]), "train_labels": np.concatenate([y, yh[:5]])}
    np.savez(path, heldout_inputs=xh, heldout_labels=yh, **seen)


@pytest.fixture
def files(tmp_path):
    """A checkpoint, its data, bare weights with a config, and predictions."""
    model = models.build("shallow_encoder", jax.random.key(0), d=4, d_m=6)
    models.save(tmp_path / "model.safetensors", model)
    (x, y), (xh, yh) = examples(50, 0), examples(40, 1)
    np.savez(tmp_path / "data.npz", train_inputs=x, train_labels=y, heldout_inputs=xh, heldout_labels=yh)
    np.savez(tmp_path / "heldout.npz", inputs=xh, labels=yh)
    save_file({name: np.asarray(w) for name, w in models.weights(model).items()}, tmp_path / "bare.safetensors")
    (tmp_path / "config.json").write_text(json.dumps({"model": "shallow_encoder", "d": 4, "d_m": 6}))
    labels = np.random.default_rng(2).integers(3, size=200)
    np.savez(tmp_path / "preds.npz", heldout_logits=5 * np.eye(3)[labels], heldout_labels=labels)
    return tmp_path


def test_a_checkpoint_and_its_data(run, files):
    done = run("model.safetensors", "--data", "data.npz", "--out", "report")
    assert done.code == 0
    assert "held-out examples" in done.out
    assert "Next:" in done.out
    document = json.loads((files / "report" / "report.json").read_text())
    assert document["title"] == "shallow_encoder from model.safetensors"
    assert sum(document["shares"].values()) <= document["delta"]
    assert document["machine"]["command"].startswith("certiformer certify model.safetensors")
    assert len(document["provenance"]["heldout_data"]) == 64
    page = (files / "report" / "report.html").read_text()
    assert "<svg" in page
    assert "http" not in page.replace("http-equiv", "")


def test_bare_weights_with_a_config_say_the_same(run, files):
    words = ("--data", "heldout.npz", "--json")
    with_config = run("bare.safetensors", "--config", "config.json", *words)
    assert with_config.code == 0
    one = json.loads(with_config.out)
    two = json.loads(run("model.safetensors", *words).out)
    assert one["observed"] == two["observed"]
    assert "no training sample" in one["provenance"]["papers' results"]


def test_predictions_of_any_model(run, files):
    document = json.loads(run("--predictions", "preds.npz", "--delta", "0.1", "--json").out)
    assert document["delta"] == 0.1
    assert document["classes"] == 3
    assert document["headline"].startswith("The model errs on at most")
    assert "90 %" in document["headline"]


def test_models_compared_are_paid_for(run, files):
    one = json.loads(run("--predictions", "preds.npz", "--json").out)["statements"][0]["value"]
    many = json.loads(run("--predictions", "preds.npz", "--models", "100", "--json").out)["statements"][0]["value"]
    assert many > one


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("model.safetensors",), "--data: got None"),
        (("--data", "data.npz"), "a model, a checkpoint or predictions to go with the data"),
        (("preds.npz", "--fit", "data.npz"), "predictions: got 'given beside fit'"),
        (("--fit", "data.npz", "--seed", "3"), "a recipe alone"),
        (("absent.safetensors", "--data", "data.npz"), "an existing file"),
        (("torn.safetensors", "--data", "data.npz"), "safetensors file"),
        (("model.safetensors", "--data", "absent.npz"), "an existing file"),
        (("model.safetensors", "--data", "torn.npz"), "cannot be read"),
        (("model.safetensors", "--data", "objects.npz"), "pickled objects, which are never loaded"),
        (("model.safetensors", "--data", "plain.pkl"), "pickled objects, which are never loaded"),
        (("model.safetensors", "--data", "one.npy"), "an .npz archive"),
        (("model.safetensors", "--data", "odd.npz"), "did you mean heldout_inputs"),
        (("model.safetensors", "--data", "half.npz"), "heldout_inputs and heldout_labels"),
        (("model.safetensors", "--data", "overlap.npz"), "5 of 40 that were also used for training or selection"),
        (("model.safetensors", "--data", "labels.npz"), "class indices 0 to 1"),
        (("model.safetensors", "--data", "shape.npz"), "4 columns"),
        (("model.safetensors", "--data", "tiny.npz"), "at least 10"),
        (("model.safetensors", "--data", "empty.npz"), "no examples"),
        (("model.safetensors", "--data", "nan.npz"), "nan or infinity in example 3"),
        (("broken.safetensors", "--data", "data.npz"), "weight W_V: got '1 entries that are nan or infinite'"),
        (("bare.safetensors", "--data", "data.npz"), "a file written by certiformer"),
        (("bare.safetensors", "--data", "data.npz", "--config", "absent.json"), "no file or folder"),
        (("bare.safetensors", "--data", "data.npz", "--config", "list.json"), "a JSON object"),
        (("bare.safetensors", "--data", "data.npz", "--config", "nameless.json"), "name of an architecture"),
        (("bare.safetensors", "--data", "data.npz", "--config", "other.json"), "the tensors of"),
        (("--predictions", "preds.npz", "--delta", "0"), "delta: got 0.0, expected a number in (0, 1)"),
        (("--predictions", "preds.npz", "--delta", "1.0"), "delta"),
        (("--predictions", "preds.npz", "--models", "0"), "from 1 to"),
        ((), "the demo is certiformer demo"),
    ],
)
def test_bad_input_is_a_clear_error_and_an_old_report_survives(run, files, words, message):
    xh, yh = examples(40, 1)
    (files / "torn.safetensors").write_bytes((files / "model.safetensors").read_bytes()[:100])
    (files / "torn.npz").write_bytes((files / "data.npz").read_bytes()[:300])
    np.savez(files / "objects.npz", inputs=np.array([{"a": 1}], dtype=object), labels=yh)
    (files / "plain.pkl").write_bytes(pickle.dumps({"inputs": [1.0]}))
    np.save(files / "one.npy", xh)
    np.savez(files / "odd.npz", heldout_imputs=xh, heldout_labels=yh)
    np.savez(files / "half.npz", heldout_inputs=xh)
    overlapping(files / "overlap.npz")
    np.savez(files / "labels.npz", inputs=xh, labels=yh + 3)
    np.savez(files / "shape.npz", inputs=xh[:, :, :3], labels=yh)
    np.savez(files / "tiny.npz", inputs=xh[:5], labels=yh[:5])
    np.savez(files / "empty.npz", inputs=xh[:0], labels=yh[:0])
    bad = xh.copy()
    bad[3, 0, 0] = np.inf
    np.savez(files / "nan.npz", inputs=bad, labels=yh)
    model = models.load(files / "model.safetensors").model
    broken = type(model)(model.config, W_Q=model.W_Q, W_K=model.W_K, W_V=model.W_V.at[0, 0].set(jnp.nan), w_O=model.w_O)
    models.save(files / "broken.safetensors", broken)
    (files / "list.json").write_text("[1]")
    (files / "nameless.json").write_text('{"d": 4}')
    (files / "other.json").write_text('{"model": "cls_transformer", "d": 4, "k": 4}')
    (files / "out").mkdir()
    (files / "out" / "report.html").write_text("the old report")
    done = run(*words)
    assert done.code == 2
    assert message in done.err
    assert done.err.startswith("error: ")
    assert "Traceback" not in done.err
    assert (files / "out" / "report.html").read_text() == "the old report"
    assert not (files / "out" / "report.json").exists()


def test_twins_are_counted_when_allowed(run, files):
    overlapping(files / "twins.npz")
    document = json.loads(run("model.safetensors", "--data", "twins.npz", "--repeats", "natural", "--json").out)
    assert document["provenance"]["heldout_inputs_seen_in_training"] == 5


def test_a_folder_that_cannot_be_written(run, files):
    (files / "blocked").write_text("a file, not a folder")
    done = run("--predictions", "preds.npz", "--out", "blocked")
    assert done.code == 2
    assert "cannot write" in done.err
