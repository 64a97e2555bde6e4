"""Procedures for any model, and recipes from a file."""

import json

import jax.numpy as jnp
import numpy as np
import pytest

from certiformer import certify, verify
from certiformer.lab.procedures import Code, HeadPosterior, Occam, OnePass, PickToLearn, Surrogate
from certiformer.theory.core.errors import InputError, UnknownNameError

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((120, 3)).astype(np.float32)
Y = (X[:, 0] > 0).astype(np.int64)
PARAMS = {"w": jnp.zeros(3), "b": jnp.zeros(())}


def apply(params, x):
    return params["w"] @ x + params["b"]


def test_procedures_for_a_function_with_parameters():
    by = [Occam(2, Code(steps=60)), OnePass(steps=20), HeadPosterior(features=lambda batch: batch)]
    report = certify((apply, PARAMS), train=(X, 2 * Y - 1), by=by)
    shares = report.document["shares"]
    assert set(shares) == {"occam", "progressive", "pacbayes.gibbs", "pacbayes.single"}
    assert report["progressive"].value < 0.6
    assert report["pacbayes.single"].value < 0.4


def nearest_mean(inputs, labels):
    apart = inputs[labels == 1].mean(axis=0) - inputs[labels == 0].mean(axis=0)
    middle = (inputs[labels == 1].mean(axis=0) + inputs[labels == 0].mean(axis=0)) / 2
    return lambda batch: (batch - middle) @ apart


def test_a_surrogate_for_an_untouched_model():
    pool = RANDOM.standard_normal((300, 3)).astype(np.float32)
    by = [Surrogate(lambda batch: batch[:, 0], pool, PickToLearn(nearest_mean, most=30))]
    found = certify(train=(X, Y), by=by)["surrogate"]
    assert 0.0 < found.value < 0.7
    with pytest.raises(InputError, match="unlabelled examples"):
        certify(train=(X, Y), by=[Surrogate(lambda batch: batch[:, 0], X, PickToLearn(nearest_mean))])
    with pytest.raises(InputError, match="without a grid"):
        certify(train=(X, Y), by=[Surrogate(lambda batch: batch[:, 0], pool, PickToLearn(nearest_mean, stages=(2,)))])


def softmax(scores):
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("outputs", ["logits", "probabilities"])
def test_real_losses_of_an_untouched_model(outputs):
    """Three classes; what was counted is counted here by hand, from the picks and the answers of both."""
    random = np.random.default_rng(4)
    y = np.arange(150) % 3
    x = np.eye(3)[y] + 0.2 * random.standard_normal((150, 3))
    pool = np.eye(3)[np.arange(200) % 3] + 0.2 * random.standard_normal((200, 3))

    def target(batch):
        return 4 * batch if outputs == "logits" else softmax(4 * batch)

    def nearest(inputs, labels):
        known = {label: inputs[labels == label].mean(axis=0) for label in np.unique(labels)}
        centres = np.stack([known.get(label, np.full(3, 9.0)) for label in range(3)])
        return lambda batch: -3 * np.sum((batch[:, None] - centres) ** 2, axis=2)

    by = Surrogate(target, pool, PickToLearn(nearest), loss=("error", "cross-entropy", "brier"), outputs=outputs)
    report = certify(train=(x, y), by=[by])
    assert set(report.document["shares"]) == {
        "surrogate",
        "surrogate.loss (cross-entropy)",
        "surrogate.loss (brier)",
    }
    found, learner, _ = by.by.run(None, x, y, 3)
    state = found.stages[-1].state
    kept = np.setdiff1d(np.arange(150), found.rows)
    own, mine = (softmax(learner.outputs(state, each)) for each in (x[kept], pool))
    theirs = softmax(4 * pool)
    smooth = lambda p: -np.log(0.99 * p + 0.01 / 3)  # noqa: E731
    brier = lambda p: np.stack([np.sum((p - np.eye(3)[k]) ** 2, axis=1) for k in range(3)], axis=1)  # noqa: E731
    for loss, table in (("cross-entropy", smooth), ("brier", brier)):
        record = report[f"surrogate.loss ({loss})"].evidence
        assert record.k == len(found.rows)
        at_labels = table(own)[np.arange(len(kept)), y[kept]]
        np.testing.assert_allclose(np.sort(record.losses), np.sort(at_labels), rtol=1e-9)
        excess = np.max(table(theirs) - table(mine), axis=1)
        np.testing.assert_allclose(np.sort(record.excess), np.sort(excess), rtol=1e-9, atol=1e-12)
        assert np.all(record.excess >= 0.0)
    value = report["surrogate.loss (brier)"].value
    assert 0.0 < value < 2.0
    alone = Surrogate(target, pool, PickToLearn(nearest), loss="brier", outputs=outputs)
    headline = certify(train=(x, y), by=[alone], delta=0.2).headline
    assert headline.startswith("The mean Brier score of the target, as it is, over new examples is at most")


def test_examples_of_a_large_pool_are_counted_one_by_one():
    """Beyond 100,000 several losses are averaged into one, and were counted as one example."""
    pool = RANDOM.standard_normal((100_002, 3)).astype(np.float32)
    by = Surrogate(lambda batch: batch[:, 0], pool, PickToLearn(nearest_mean, most=30), loss="brier")
    found = certify(train=(X, Y), by=[by])["surrogate.loss"]
    assert len(found.evidence.excess) == 33_334
    assert found.seen.endswith("and 100,002 unlabelled examples")
    assert found.terms["unlabelled examples"] == 100_002


def test_losses_that_nobody_knows():
    with pytest.raises(UnknownNameError, match="brier"):
        Surrogate(lambda batch: batch[:, 0], X, loss="brie")
    with pytest.raises(InputError, match="different"):
        Surrogate(lambda batch: batch[:, 0], X, loss=("brier", "brier"))
    with pytest.raises(InputError, match="logits"):
        Surrogate(lambda batch: batch[:, 0], X, loss="brier", outputs="scores")
    pool = RANDOM.standard_normal((30, 3)).astype(np.float32)
    wrong = Surrogate(lambda batch: batch[:, 0], pool, PickToLearn(nearest_mean), loss="brier", outputs="probabilities")
    with pytest.raises(InputError, match="sum to one"):
        certify(train=(X, Y), by=[wrong])


RECIPE = """
title = "a small one"
data = "examples.npz"
[model]
architecture = "shallow_encoder"
seed = 1
d = 3
d_m = 4
[[by]]
procedure = "OnePass"
steps = 5
[[by]]
procedure = "PickToLearn"
steps = 20
rate = 0.05
most = 12
stages = [4, 8]
"""


def test_a_recipe_from_a_file(tmp_path):
    np.savez(tmp_path / "examples.npz", train_inputs=X[:, None, :], train_labels=Y)
    (tmp_path / "recipe.toml").write_text(RECIPE)
    report = certify(fit=tmp_path / "recipe.toml")
    assert set(report.document["shares"]) == {"progressive", "compression"}
    assert report.document["title"] == "a small one"
    # The recipe draws the initial weights itself: they have seen nothing.
    assert "the weights that training starts from had seen no data, as the caller says" in report.document["conditions"]
    np.savez(tmp_path / "examples.npz", train_inputs=np.ones((40, 1, 3)), train_labels=Y[:40])
    with pytest.raises(InputError, match="39 of 40 inputs repeat"):
        certify(fit=tmp_path / "recipe.toml")


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("data = 'a.npz'\n[[by]]\nprocedure = 'PickToLean'", UnknownNameError, "PickToLearn"),
        ("data = 'a.npz'", InputError, "at least one"),
        ("dat = 'a.npz'", UnknownNameError, "data"),
        ("data = 'a.npz'\nrepeats = 'drop'\n[[by]]\nprocedure = 'OnePass'", InputError, "natural"),
        ("data = 'a.npz'\n[[by]]\nprocedure = 'OnePass'\nspeed = 3", InputError, "speed"),
    ],
)
def test_a_recipe_that_cannot_be_read(tmp_path, text, error, words):
    np.savez(tmp_path / "a.npz", train_inputs=X[:, None, :], train_labels=Y)
    (tmp_path / "recipe.toml").write_text(text)
    with pytest.raises(error, match=words):
        certify(fit=tmp_path / "recipe.toml")


THREE_CLASSES = """
data = "three.npz"
[[by]]
procedure = "PickToLearn"
estimator = { kind = "sklearn.svm.SVC", C = 100.0, random_state = 0 }
stages = [4, 8]
label = "alone"
[[by]]
procedure = "Surrogate"
target = "target.safetensors"
by = { estimator = { kind = "sklearn.svm.SVC", C = 100.0, random_state = 0 } }
loss = ["error", "cross-entropy"]
"""


def test_three_classes_and_a_surrogate_from_a_recipe_at_the_command_line(tmp_path):
    """Several classes from end to end: TOML, estimator on its picks, a target from a file, verified."""
    from typer.testing import CliRunner

    from certiformer.certification.predictors import content_of
    from certiformer.certification.predictors.linear_head import QuantisedHead
    from certiformer.cli import application

    y = np.arange(90) % 3
    x = np.eye(3)[y] + 0.1 * np.random.default_rng(3).standard_normal((90, 3))
    target = QuantisedHead(np.vstack([2 * np.eye(3, dtype=np.int64), np.zeros((1, 3), np.int64)]), 4, 1.0, 0)
    (tmp_path / "target.safetensors").write_bytes(content_of(target))
    np.savez(tmp_path / "three.npz", train_inputs=x[:60], train_labels=y[:60], unlabelled_inputs=x[60:])
    (tmp_path / "recipe.toml").write_text(THREE_CLASSES)
    words = ["certify", "--fit", str(tmp_path / "recipe.toml"), "--out", str(tmp_path / "out"), "--json"]
    made = CliRunner().invoke(application(), words)
    assert made.exit_code == 0, made.output
    rows = {row["id"]: row for row in json.loads(made.stdout)["statements"]}
    assert rows["compression"]["trivial"] == pytest.approx(2 / 3)
    assert rows["compression"]["verdict"] == rows["surrogate"]["verdict"] == "informative"
    assert rows["surrogate"]["evidence"]["disagreements"] == 0
    found = verify(tmp_path / "out" / "report.json", data=tmp_path / "three.npz", replay=True)
    assert {row.id: (row.agrees, row.counted) for row in found.rows} == dict.fromkeys(
        ("compression", "surrogate", "surrogate.loss"), (True, True)
    )
    assert {one.id for one in found.unchecked} == {"surrogate", "surrogate.loss"}


def test_labels_are_no_logits():
    pool, y = RANDOM.standard_normal((40, 3)), np.arange(120) % 3
    loop = PickToLearn(lambda inputs, labels: lambda batch: np.zeros((len(batch), 3)), most=2)
    with pytest.raises(InputError, match="not predict"):
        certify(train=(X, y), by=[Surrogate(lambda batch: np.ones(len(batch)), pool, loop)])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("procedure = 'Surrogate'\ntarget = 'nobody.safetensors'", "unlabelled_inputs"),
        ("procedure = 'PickToLearn'\naugment = { turn = 3 }", "shift"),
        ("procedure = 'OnePass'\nseed = 1e308", "a whole number"),
        ("procedure = 'PickToLearn'\nestimator = { kind = 'os.system' }", "scikit-learn"),
        ("procedure = 'PickToLearn'\nestimator = { kind = 'sklearn.svm.SVC', C = 1.0 }", "random_state"),
    ],
)
def test_settings_that_a_recipe_may_not_have(tmp_path, text, words):
    np.savez(tmp_path / "a.npz", train_inputs=X, train_labels=Y)
    (tmp_path / "recipe.toml").write_text(f"data = 'a.npz'\n[[by]]\n{text}")
    with pytest.raises(InputError, match=words):
        certify(fit=tmp_path / "recipe.toml")
