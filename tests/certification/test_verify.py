"""What is certified is handed over, loads, predicts; and a report can be checked again."""

import copy
import json
from dataclasses import replace

import jax
import numpy as np
import pytest
from typer.testing import CliRunner

import certiformer
from certiformer.certificates.holdout import HoldOut
from certiformer.certification.predictors.model import Weights
from certiformer.cli import application
from certiformer.lab import models
from certiformer.theory.core.errors import InputError, UnknownNameError


def arrays(classes=2):
    rng = np.random.default_rng(0)
    n, width = 240, 4
    labels = rng.integers(classes, size=n)
    features = np.eye(classes, width)[labels] + 0.4 * rng.normal(size=(n, width))
    logits = np.eye(classes)[labels] + 0.6 * rng.normal(size=(n, classes))
    return {
        "heldout_labels": labels,
        "heldout_logits": logits,
        "head_features": features,
        "head_labels": labels,
        "progressive_losses": (rng.random(100) < 0.1).astype(float),
        "unlabelled_predictions": labels,
        "unlabelled_final_predictions": np.where(np.arange(n) < 3, 0, labels),
    }


@pytest.fixture(scope="module", params=[2, 3])
def written(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    given = arrays(request.param)
    np.savez(folder / "preds.npz", **given)
    report = certiformer.certify(predictions=folder / "preds.npz", declaration={"models": 3})
    report.write(folder)
    return folder, given, report


def command(*words):
    return CliRunner().invoke(application(), ["verify", *map(str, words)])


def test_every_row_is_counted_again_from_data_and_predictors(written):
    folder, _, report = written
    found = certiformer.verify(folder / "report.json", data=folder / "preds.npz")
    sound = {row.id for row in report.statements if row.version == "sound" and row.value is not None}
    assert {row.id for row in found.rows} == sound
    assert found.unchecked == ()
    for row in found.rows:
        assert row.agrees, row
        assert row.counted
        assert row.recomputed == report[row.id].value
    result = command(folder / "report.json", "--data", folder / "preds.npz", "--json")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document["verdict"] == "verified"
    assert document["differences"] == document["unchecked"] == []
    assert all({"id", "reported", "recomputed", "agrees"} <= set(row) for row in document["rows"])


def test_without_data_the_arithmetic_is_checked_and_the_counts_are_named(written):
    folder, _, report = written
    found = certiformer.verify(folder / "report.json")
    assert found.agrees
    assert not any(row.counted for row in found.rows)
    assert "betting" not in {row.id for row in found.rows}  # its losses are not in the report
    sound = {row.id for row in report.statements if row.version == "sound" and row.value is not None}
    assert {one.id for one in found.unchecked} == {"report", *sound}
    shown = command(folder / "report.json")
    assert shown.exit_code == found.exit_code == 3
    assert "not verified: report, holdout" in shown.stdout
    assert "Verified" not in shown.stdout


def test_a_predictor_loads_and_predicts_what_was_certified(written):
    folder, given, report = written
    rows = {row["id"]: row for row in report.document["statements"]}
    assert rows["holdout"]["predictor"] is None
    assert rows["holdout"]["subject"] == "the model"
    occam = certiformer.load_predictor(folder / rows["occam"]["predictor"]["file"])
    assert occam.errors(given["head_features"], given["head_labels"]) == rows["occam"]["evidence"]["errors"]
    assert np.sum(occam.predict(given["head_features"]) != given["head_labels"]) == rows["occam"]["evidence"]["errors"]
    gibbs = certiformer.load_predictor(folder / rows["pacbayes.gibbs"]["predictor"]["file"])
    assert np.mean(gibbs.predict(given["head_features"]) == given["head_labels"]) > 0.5
    with pytest.raises(InputError, match="4, as in training"):
        occam.predict(np.zeros((3, 7)))


@pytest.mark.parametrize(
    ("id", "change"),
    [
        ("holdout", {"value": 0.001}),
        ("holdout", {"evidence": {"key": "holdout", "errors": 0, "n": 240, "models": 3}}),
        ("occam", {"value": 0.001}),
        ("betting", {"value": 0.001}),
        ("betting", {"confidence": 0.9999}),
        ("betting", {"evidence": {"key": "betting", "low": 0.0, "high": 0.5, "smoothing": 0.01, "n": 240}}),
        ("pacbayes.single", {"evidence": {"key": "nobody"}}),
    ],
)
def test_a_number_that_was_changed_is_found(written, tmp_path, id, change):
    folder, _, _ = written
    document = json.loads((folder / "report.json").read_text())
    next(row for row in document["statements"] if row["id"] == id).update(change)
    (folder / "changed.json").write_text(json.dumps(document))
    found = certiformer.verify(folder / "changed.json", data=folder / "preds.npz")
    assert [row.id for row in found.rows if not row.agrees] == [id]
    assert command(folder / "changed.json", "--data", folder / "preds.npz").exit_code == 1


@pytest.mark.parametrize("change", [{"two_sided": None}, {"two_sided": 0}, {"models": True}, {"models": 3.0}])
def test_a_field_of_another_type_is_found_without_data(procedures, tmp_path, change):
    """What only its truth value is read of, such as null for false, is another record than the one that was written."""
    document = json.loads((procedures / "report.json").read_text())
    row = next(row for row in document["statements"] if row["evidence"] and row["id"] == "compression")
    row["evidence"].update(change)
    (tmp_path / "report.json").write_text(json.dumps(document))
    assert certiformer.verify(tmp_path / "report.json").exit_code == 1


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("headline", "The model errs on at most 0.10 % of new examples, with confidence 95 %, by the hold-out bound."),
        ("basis", "1 error among 240 held-out examples"),
    ],
)
def test_a_sentence_that_the_rows_do_not_say_is_found(written, name, change):
    folder, _, report = written
    document = json.loads((folder / "report.json").read_text())
    document[name] = change
    (folder / "said.json").write_text(json.dumps(document))
    found = certiformer.verify(folder / "said.json", data=folder / "preds.npz")
    assert all(row.agrees for row in found.rows)
    assert [(one.field, one.rebuilt) for one in found.differences] == [(name, report.document[name])]
    shown = command(folder / "said.json", "--data", folder / "preds.npz")
    assert shown.exit_code == 1
    assert f"{name}: the report has {change}" in " ".join(shown.stdout.split())
    assert name in {one.field for one in certiformer.verify(folder / "said.json").differences}


def test_a_verdict_that_its_number_does_not_have_is_found(tmp_path):
    """With the verdict the headline changes: both are found."""
    certiformer.certify(evidence=HoldOut(errors=60, n=100)).write(tmp_path)
    document = json.loads((tmp_path / "report.json").read_text())
    document["statements"][0]["verdict"] = "informative"
    (tmp_path / "report.json").write_text(json.dumps(document))
    found = certiformer.verify(tmp_path / "report.json")
    assert [row.agrees for row in found.rows] == [False]
    assert "vacuous" in found.rows[0].why
    assert found.exit_code == 1
    del document["statements"][0]["subject"]
    (tmp_path / "report.json").write_text(json.dumps(document))
    assert [one.field for one in certiformer.verify(tmp_path / "report.json").differences] == ["statements[0].subject"]


def test_slices_and_their_lower_limits(tmp_path):
    """Every row is named, and both of its ends are checked."""
    labels = np.arange(300) % 3
    given = {"heldout_labels": labels, "heldout_predictions": np.where(np.arange(300) % 11 == 0, 0, labels)}
    np.savez(tmp_path / "preds.npz", **given, heldout_slices=np.array(["a", "b"])[np.arange(300) // 150])
    certiformer.certify(predictions=tmp_path / "preds.npz", declaration={"two_sided": True}).write(tmp_path)
    shown = command(tmp_path / "report.json", "--data", tmp_path / "preds.npz")
    assert shown.exit_code == 0
    assert "holdout (slice a)" in shown.stdout
    document = json.loads((tmp_path / "report.json").read_text())
    document["statements"][1]["lower"] *= 1.5
    (tmp_path / "report.json").write_text(json.dumps(document))
    found = certiformer.verify(tmp_path / "report.json", data=tmp_path / "preds.npz")
    assert [one.field for one in found.differences] == ["statements[1].lower"]
    assert [row.agrees for row in found.rows] == [True, False, True]


def test_shares_beyond_delta_are_found(written):
    folder, _, _ = written
    document = json.loads((folder / "report.json").read_text())
    document["delta"] /= 2
    (folder / "overspent.json").write_text(json.dumps(document))
    assert "shares" in {one.field for one in certiformer.verify(folder / "overspent.json").differences}


def test_other_data_and_other_predictors_are_found(written, tmp_path):
    folder, given, report = written
    other = {**given, "heldout_labels": np.roll(given["heldout_labels"], 1)}
    np.savez(tmp_path / "other.npz", **other)
    other = certiformer.verify(folder / "report.json", data=tmp_path / "other.npz")
    found = {row.id: row for row in other.rows}
    assert not found["holdout"].agrees
    assert found["occam"].agrees
    assert "provenance.heldout_labels_sha256" in {one.field for one in other.differences}
    report.write(tmp_path)
    name = report["occam"].predictor["file"]
    (tmp_path / name).write_bytes((folder / report["pacbayes.single"].predictor["file"]).read_bytes())
    exchanged = certiformer.verify(tmp_path / "report.json", data=folder / "preds.npz")
    assert [one.field.rpartition("]")[2] for one in exchanged.differences] == [".predictor.sha256"]
    (tmp_path / name).unlink()
    missing = certiformer.verify(tmp_path / "report.json", data=folder / "preds.npz")
    assert [one.id for one in missing.unchecked] == [name]
    assert missing.exit_code == 3


# Models


def test_a_model_of_this_package_is_handed_over_and_verified(tmp_path):
    rng = np.random.default_rng(0)
    model = models.build("shallow_encoder", jax.random.key(1), d=4, d_m=6)
    x = rng.normal(size=(60, 3, 4)).astype(np.float32)
    y = np.where(x[:, :, 0].sum(1) > 0, 1, -1)
    report = certiformer.certify(certiformer.Subject(model, final=model, unlabelled=x[40:]), heldout=(x[:40], y[:40]))
    report.write(tmp_path)
    np.savez(tmp_path / "data.npz", inputs=x[:40], labels=y[:40], unlabelled_inputs=x[40:])
    found = certiformer.verify(tmp_path / "report.json", data=tmp_path / "data.npz")
    assert {row.id: (row.agrees, row.counted) for row in found.rows} == dict.fromkeys(
        ("holdout", "betting", "disagreement"), (True, True)
    )
    assert found.unchecked == ()
    document = json.loads((tmp_path / "report.json").read_text())
    for index, entry in enumerate(document["statements"]):  # a network's figures too: equal counts, equal limits
        if entry["evidence"] is None:
            continue
        forged = copy.deepcopy(document)
        forged["statements"][index]["value"] *= 1 - 1e-7
        (tmp_path / "forged.json").write_text(json.dumps(forged))
        told = certiformer.verify(tmp_path / "forged.json", data=tmp_path / "data.npz")
        assert [one.field for one in told.differences] == [f"statements[{index}].value"]
    place = next(index for index, entry in enumerate(document["statements"]) if entry["id"] == "betting")
    document["statements"][place]["evidence"]["losses"]["mean"] *= 1 - 1e-6  # as on another machine: not a pass
    (tmp_path / "forged.json").write_text(json.dumps(document))
    drifted = certiformer.verify(tmp_path / "forged.json", data=tmp_path / "data.npz")
    assert drifted.exit_code == 3
    assert [one.id for one in drifted.unchecked] == ["figures of a network"]
    np.savez(tmp_path / "less.npz", inputs=x[:40], labels=y[:40])
    less = certiformer.verify(tmp_path / "report.json", data=tmp_path / "less.npz")
    assert less.exit_code != 0
    loaded = certiformer.load_predictor(tmp_path / report["holdout"].predictor["file"])
    np.testing.assert_allclose(loaded.outputs(x), jax.vmap(model)(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("names", [("0", "1", "2"), ("ham", "spam", "eggs"), None])
@pytest.mark.parametrize("kind", ["LogisticRegression", "RandomForestClassifier", "GaussianNB", "Pipeline"])
def test_a_classifier_on_held_out_examples_is_handed_over_and_verified(tmp_path, kind, names):
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    estimator = {
        "LogisticRegression": LogisticRegression(),
        "RandomForestClassifier": RandomForestClassifier(5, random_state=0),
        "GaussianNB": GaussianNB(),
        "Pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
    }[kind]
    x = np.random.default_rng(0).normal(size=(160, 3))
    codes = (x[:, 0] > 0).astype(int) if names is None else np.digitize(x[:, 0], [-0.5, 0.5])
    y = codes == 1 if names is None else np.array(names)[codes]
    estimator.fit(x[:60], y[:60])
    report = certiformer.certify(estimator, heldout=(x[60:], y[60:]), train=(x[:60], y[:60]))
    _, document = report.write(tmp_path)
    data = tmp_path / "data.npz"
    np.savez(data, heldout_inputs=x[60:], heldout_labels=y[60:], train_inputs=x[:60], train_labels=y[:60])
    found = certiformer.verify(document, data=data)
    assert (found.exit_code, found.differences, found.unchecked) == (0, (), ())
    loaded = certiformer.load_predictor(tmp_path / report["holdout"].predictor["file"])
    np.testing.assert_array_equal(
        estimator.classes_.astype(int if names is None else str)[loaded.predict(x)], estimator.predict(x)
    )
    written = json.loads(document.read_text())
    written["statements"][0]["evidence"]["errors"] -= 1
    document.write_text(json.dumps(written))
    assert certiformer.verify(document, data=data).exit_code == 1


def test_a_fitted_estimator_is_verified_but_for_its_training(tmp_path):
    from sklearn.linear_model import LogisticRegression

    x = np.random.default_rng(0).normal(size=(160, 3))
    y = (x[:, 0] > 0).astype(int)
    certiformer.certify(fit=LogisticRegression(), data=(x, y)).write(tmp_path)
    np.savez(tmp_path / "data.npz", inputs=x, labels=y)
    found = certiformer.verify(tmp_path / "report.json", data=tmp_path / "data.npz")
    assert (found.differences, [one.id for one in found.unchecked]) == ((), ["the training"])


def test_an_estimator_that_is_not_on_the_list_is_said_to_be_missing(tmp_path):
    from sklearn.ensemble import GradientBoostingClassifier

    x = np.random.default_rng(0).normal(size=(160, 3))
    y = (x[:, 0] > 0).astype(int)
    model = GradientBoostingClassifier(n_estimators=3).fit(x[:60], y[:60])
    report = certiformer.certify(model, heldout=(x[60:], y[60:]))
    assert report["holdout"].predictor is None
    assert "No predictor file was written (GradientBoostingClassifier" in report["holdout"].reason
    assert "No predictor file was written" in report.page()
    report.write(tmp_path)
    np.savez(tmp_path / "data.npz", inputs=x[60:], labels=y[60:])
    found = certiformer.verify(tmp_path / "report.json", data=tmp_path / "data.npz")
    assert found.exit_code == 3
    assert "was not handed over" in found.unchecked[0].why


def test_a_final_model_that_is_not_handed_over_is_no_difference(tmp_path):
    from sklearn.linear_model import LogisticRegression

    x = np.random.default_rng(0).normal(size=(200, 3))
    y = (x[:, 0] > 0).astype(int)
    first, final = LogisticRegression().fit(x[:60], y[:60]), lambda rows: (rows[:, 0] > 0).astype(int)
    subject = certiformer.Subject(first, final=final, unlabelled=x[160:])
    certiformer.certify(subject, heldout=(x[60:160], y[60:160])).write(tmp_path)
    np.savez(tmp_path / "data.npz", inputs=x[60:160], labels=y[60:160], unlabelled_inputs=x[160:])
    found = certiformer.verify(tmp_path / "report.json", data=tmp_path / "data.npz")
    assert (found.exit_code, found.differences) == (3, ())


def test_a_trained_model_is_verified_on_its_own_part(tmp_path):
    x = np.random.default_rng(0).normal(size=(80, 3, 4)).astype(np.float32)
    y = np.where(x[:, :, 0].sum(1) > 0, 1, -1)
    model = models.build("shallow_encoder", jax.random.key(1), d=4, d_m=6)
    certiformer.certify(fit=lambda inputs, labels, seed: model, data=(x, y), declaration={"seed": 5}).write(tmp_path)
    np.savez(tmp_path / "data.npz", inputs=x, labels=y)
    whole = certiformer.verify(tmp_path / "report.json", data=tmp_path / "data.npz")
    found = {row.id: row for row in whole.rows}
    assert found["holdout"].agrees
    assert found["holdout"].counted
    assert [one.id for one in whole.unchecked] == ["the training"]
    assert whole.exit_code == 3


def test_other_data_of_a_model_that_is_not_at_hand_are_named(tmp_path):
    """Nothing can be counted again; that the data are other ones can be said all the same."""
    rng = np.random.default_rng(0)
    for name in ("mine", "other"):
        x = rng.normal(size=(100, 3))
        np.savez(tmp_path / f"{name}.npz", heldout_inputs=x, heldout_labels=(x[:, 0] > 0).astype(int))
    with np.load(tmp_path / "mine.npz") as mine:
        pair = mine["heldout_inputs"], mine["heldout_labels"]
    certiformer.certify(lambda x: (x[:, 0] > 0.1).astype(int), heldout=pair, declaration={"outputs": "labels"}).write(
        tmp_path
    )
    named = {
        name: [one.id for one in certiformer.verify(tmp_path / "report.json", data=tmp_path / f"{name}.npz").unchecked]
        for name in ("mine", "other")
    }
    assert named["other"] == ["report", "data", *named["mine"][1:]]
    assert "data" not in named["mine"]


def test_weights_of_another_model_need_their_function(tmp_path):
    from certiformer.certification.predictors import content_of

    (tmp_path / "w.safetensors").write_bytes(content_of(Weights({"w": np.array([1.0, -1.0])})))
    with pytest.raises(InputError, match="apply"):
        certiformer.load_predictor(tmp_path / "w.safetensors").predict(np.eye(2))
    loaded = certiformer.load_predictor(tmp_path / "w.safetensors", apply=lambda weights, x: x @ weights["w"])
    assert loaded.predict(np.eye(2)).tolist() == [1, 0]


# Files that are no reports


def test_what_cannot_be_read_is_refused(tmp_path):
    for name, content in {"text.json": "hello", "list.json": "[]", "other.json": "{}"}.items():
        (tmp_path / name).write_text(content)
        with pytest.raises(InputError, match="report"):
            certiformer.verify(tmp_path / name)
    with pytest.raises(InputError, match="report"):
        certiformer.verify(tmp_path / "nothing.json")
    with pytest.raises(InputError, match="predictor"):
        certiformer.load_predictor(tmp_path / "text.json")
    with pytest.raises(UnknownNameError, match="data"):
        certiformer.verify(tmp_path / "text.json", dta=1)


def test_a_lower_limit_or_a_confidence_that_was_changed_is_found(tmp_path):
    certiformer.certify(evidence=HoldOut(errors=30, n=100, two_sided=True)).write(tmp_path)
    document = json.loads((tmp_path / "report.json").read_text())
    assert certiformer.verify(tmp_path / "report.json").agrees
    for name in ("lower", "confidence"):
        changed = json.loads(json.dumps(document))
        next(row for row in changed["statements"] if row["id"] == "holdout")[name] += 0.01
        (tmp_path / "changed.json").write_text(json.dumps(changed))
        assert not certiformer.verify(tmp_path / "changed.json").agrees, name


def test_counts_from_elsewhere_are_recomputed_but_not_counted(tmp_path):
    certiformer.certify(evidence=HoldOut(errors=3, n=100)).write(tmp_path)
    found = certiformer.verify(tmp_path / "report.json")
    assert found.agrees
    assert [one.id for one in found.unchecked] == ["report", "holdout"]
    assert found.exit_code == 3


# Procedures: every row is counted again from its predictor, its trace and the data


PROCEDURES = ("compression", "occam", "pacbayes.gibbs", "pacbayes.single", "progressive", "surrogate", "surrogate.loss")


@pytest.fixture(scope="module")
def procedures(tmp_path_factory):
    from certiformer.lab.procedures import Code, HeadPosterior, Occam, OnePass, PickToLearn, Surrogate

    folder = tmp_path_factory.mktemp("procedures")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 3, 4)).astype(np.float32)
    y = np.where(x[:, :, 0].sum(1) > 0, 1, -1)
    model = models.build("shallow_encoder", jax.random.key(1), d=4, d_m=6)
    by = [
        Occam(4, Code(steps=20)),
        picks := PickToLearn(steps=20, stages=(4, 8), most=10),
        OnePass(steps=4, first=30, block=30),
        HeadPosterior(prior=model.w_O),
        Surrogate(model, x[60:], replace(picks, stages=()), loss=("error", "cross-entropy")),
    ]
    certiformer.certify(model, train=(x[:60], y[:60]), by=by).write(folder)
    np.savez(folder / "train.npz", train_inputs=x[:60], train_labels=y[:60], unlabelled_inputs=x[60:])
    return folder


def changed_in(folder, id, change):
    """A copy of the report in which one statement was changed."""
    document = json.loads((folder / "report.json").read_text())
    row = next(row for row in document["statements"] if row["id"] == id)
    change(document, row)
    path = folder / f"changed-{id}.json"
    path.write_text(json.dumps(document))
    return path


def test_every_row_of_the_procedures_is_counted_again(procedures):
    found = certiformer.verify(procedures / "report.json", data=procedures / "train.npz", replay=True)
    assert {row.id: (row.agrees, row.counted) for row in found.rows} == dict.fromkeys(PROCEDURES, (True, True))
    assert found.agrees
    # What is trained otherwise than by a pick loop is counted again, and its training is not repeated.
    words = {"conditions", "not_checked", "figures of a network"}  # what they started from, and float32
    assert {one.id for one in found.unchecked} == set(PROCEDURES) - {"compression"} | words
    assert "pass" in next(one.why for one in found.unchecked if one.id == "progressive")


@pytest.mark.parametrize("id", PROCEDURES)
def test_what_was_changed_in_a_row_is_found(procedures, id):
    def another_count(document, row):
        name = next(name for name in ("k", "errors", "KL", "mean_loss") if row["evidence"].get(name) is not None)
        row["evidence"][name] = row["evidence"][name] + 1 if name in ("k", "errors") else row["evidence"][name] * 0.5

    def another_delta(document, row):
        document["shares"][row["evidence"]["key"]] /= 2

    def another_hash(document, row):
        row[next(role for role in ("predictor", "trace") if row[role])]["sha256"] = "0" * 64

    def another_value(document, row):
        row["value"] *= 1.0 - 1e-4

    def another_claim(document, row):
        row["claim"] = row["guarantee"] = "the model never errs"

    changes = (another_delta, another_hash, another_value, another_claim)
    for change in (another_count, *(changes if id == "compression" else ())):
        found = certiformer.verify(changed_in(procedures, id, change), data=procedures / "train.npz")
        assert found.exit_code == 1, change.__name__


@pytest.mark.parametrize("id", PROCEDURES)
def test_one_integer_of_a_predictor_changed_is_found(procedures, id):
    """The file is changed in one number, and its hash in the report as well: the counts do not follow."""
    from safetensors import safe_open
    from safetensors.numpy import save_file

    from certiformer.certification.predictors import read_predictor, read_trace

    def another(document, row):
        role = "trace" if row["trace"] else "through" if row["through"] else "predictor"
        place = procedures / row[role]["file"]
        with safe_open(place, framework="numpy") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            facts = file.metadata()
        name = next(n for n in ("picks", "z", "losses", "head/mean", "head/draw") if n in tensors)
        tensors[name] = tensors[name].copy()
        if name == "picks":
            tensors[name][0] = tensors[name][1]
        else:
            tensors[name].flat[0] = 1 - tensors[name].flat[0] if name == "losses" else tensors[name].flat[0] + 3
        save_file(tensors, procedures / f"changed-{id}.safetensors", facts)
        read = read_trace if role == "trace" else read_predictor
        try:
            digest = read(procedures / f"changed-{id}.safetensors")[1]
        except InputError:  # it does not even load: a draw that its seed does not draw
            digest = ""
        row[role] = {"file": f"changed-{id}.safetensors", "sha256": digest}

    found = certiformer.verify(changed_in(procedures, id, another), data=procedures / "train.npz")
    assert found.exit_code == 1


def test_without_replay_the_loop_is_named_as_trusted(procedures):
    found = certiformer.verify(procedures / "report.json", data=procedures / "train.npz")
    assert found.agrees
    assert found.exit_code == 3
    assert "--replay" in next(one.why for one in found.unchecked if one.id == "compression")


def test_a_surrogate_needs_its_unlabelled_examples(procedures, tmp_path):
    with np.load(procedures / "train.npz") as file:
        np.savez(tmp_path / "less.npz", train_inputs=file["train_inputs"], train_labels=file["train_labels"])
    found = certiformer.verify(procedures / "report.json", data=tmp_path / "less.npz")
    assert {row.id for row in found.rows if not row.counted} == {"surrogate"}
    assert any("unlabelled_inputs" in one.why for one in found.unchecked)


def test_an_estimator_on_its_picks_is_handed_over_and_counted(tmp_path):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    from certiformer.lab.procedures import PickToLearn

    rng = np.random.default_rng(0)
    y = rng.integers(3, size=60)
    x = np.eye(3)[y] + 0.1 * rng.normal(size=(60, 3))
    estimator = make_pipeline(StandardScaler(), SVC(C=100.0, random_state=0))
    report = certiformer.certify(estimator, train=(x, y), by=[PickToLearn()])
    report.write(tmp_path)
    np.savez(tmp_path / "train.npz", train_inputs=x, train_labels=y)
    found = certiformer.verify(tmp_path / "report.json", data=tmp_path / "train.npz", replay=True)
    assert [(row.id, row.agrees, row.counted) for row in found.rows] == [("compression", True, True)]
    assert found.exit_code == 0
    loaded = certiformer.load_predictor(tmp_path / report["compression"].predictor["file"])
    assert np.array_equal(loaded.predict(x), y)
    np.savez(tmp_path / "other.npz", train_inputs=x + 1, train_labels=y)
    other = certiformer.verify(tmp_path / "report.json", data=tmp_path / "other.npz")
    assert other.exit_code == 1
    assert "other examples" in " ".join(row.why for row in other.rows)


def test_a_file_may_name_estimators_of_scikit_learn_only():
    from certiformer.lab.procedures._picked import built

    for name in ("os.system", "sklearn.datasets.fetch_openml", "builtins.eval", None):
        with pytest.raises(InputError, match="scikit-learn"):
            built({"estimator": name, "settings": {}})


def test_weights_from_elsewhere_are_counted_with_their_function(tmp_path):
    import jax.numpy as jnp

    from certiformer.lab.procedures import PickToLearn

    rng = np.random.default_rng(1)
    x = rng.normal(size=(40, 3)).astype(np.float32)
    y = (x[:, 0] > 0).astype(int)

    def apply(params, one):
        return one @ params["w"] + params["b"]

    params = {"w": jnp.zeros(3), "b": jnp.zeros(())}
    report = certiformer.certify((apply, params), train=(x, y), by=[PickToLearn(steps=30)])
    report.write(tmp_path)
    np.savez(tmp_path / "train.npz", train_inputs=x, train_labels=y)
    without = certiformer.verify(tmp_path / "report.json", data=tmp_path / "train.npz")
    assert "apply=function" in without.unchecked[0].why

    def batch(weights, inputs):
        return inputs @ weights["w"] + weights["b"]

    found = certiformer.verify(tmp_path / "report.json", data=tmp_path / "train.npz", apply=batch)
    assert found.rows[0].counted
    assert found.agrees


def test_what_a_report_has_beyond_the_one_made_again_is_a_difference(written, tmp_path):
    folder, _, report = written
    report.write(tmp_path)
    path, data = tmp_path / "report.json", folder / "preds.npz"
    original = path.read_text()
    for change in (
        lambda said: said["conditions"].append("(nothing)"),
        lambda said: said["observed"].update({"certified error 0 %": "(nothing)"}),
        lambda said: said["declaration"].update(certified="(nothing)"),
    ):
        forged = json.loads(original)
        change(forged)
        path.write_text(json.dumps(forged))
        assert certiformer.verify(path, data=data).exit_code == 1
    path.write_text(original.replace('"headline":', '"headline": "The error rate is 0 %.", "headline":', 1))
    with pytest.raises(InputError, match="headline"):
        certiformer.verify(path, data=data)


def test_a_lower_limit_is_never_above_the_one_made_again(tmp_path):
    rows = [{"label": k % 2, "prediction": int(k % 2 != (k % 7 == 0))} for k in range(100)]
    data = tmp_path / "preds.jsonl"
    data.write_text("\n".join(map(json.dumps, rows)))
    report = certiformer.certify(predictions=data, declaration={"two_sided": True})
    report.write(tmp_path)
    path = tmp_path / "report.json"
    assert certiformer.verify(path, data=data).exit_code == 0
    forged = json.loads(path.read_text())
    place = next(place for place, one in enumerate(forged["statements"]) if one["lower"])
    forged["statements"][place]["lower"] *= 1.0 + 5e-10
    path.write_text(json.dumps(forged))
    assert certiformer.verify(path, data=data).exit_code == 1
