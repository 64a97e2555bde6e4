"""What a stranger's folder can do to the person who checks it: nothing."""

import hashlib
import json
import os
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import certiformer
from certiformer.certification.predictors import content_of, read_predictor
from certiformer.certification.predictors.estimator import FORMULAS, stored
from certiformer.cli import application
from certiformer.lab.procedures import PickToLearn
from certiformer.lab.procedures._estimators import ESTIMATORS, PIPELINE, built, described_estimator
from certiformer.lab.procedures._learners import Refit
from certiformer.theory.core.errors import CertiformerError, InputError

pytest.importorskip("sklearn")
RANDOM = np.random.default_rng(0)
Y = np.arange(60) % 2
X = np.eye(2)[Y] + 0.1 * RANDOM.normal(size=(60, 2))


class Harm:
    """A pickle that makes a directory when it is read."""

    def __init__(self, place):
        self.place = place

    def __reduce__(self):
        return os.mkdir, (self.place,)


def trap(folder):
    """A pipeline whose cache holds `Harm`: fitting it again, on these examples, unpickles it."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    steps = [("scale", StandardScaler()), ("fit", LogisticRegression(random_state=0))]
    pipeline = Pipeline(steps, memory=str(folder / "cache"))
    pipeline.fit(X[:8], Y[:8])
    (place,) = (folder / "cache").rglob("output.pkl")
    place.write_bytes(pickle.dumps(Harm(str(folder / "harmed"))))
    return pipeline


def old_file(folder, memory):
    """A predictor as certiformer 0.1.0 wrote it: class, settings and examples, to be fitted by whoever loads it."""
    from safetensors.numpy import save

    plain = {"copy": True, "with_mean": True, "with_std": True}
    scale = {"estimator": "sklearn.preprocessing._data.StandardScaler", "settings": plain}
    fit = {"estimator": "sklearn.linear_model._logistic.LogisticRegression", "settings": {"random_state": 0}}
    steps = [{"tuple": ["scale", scale]}, {"tuple": ["fit", fit]}]
    pipeline = {"estimator": "sklearn.pipeline.Pipeline", "settings": {"steps": steps, "memory": memory}}
    loop = {"batch": 1, "most": None, "stages": []}
    settings = json.dumps({"estimator": pipeline, "classes": 2, "loop": loop})
    facts = {"format": "certiformer predictor", "kind": "estimator trained on picks", "settings": settings}
    arrays = {"inputs": X[:8], "labels": Y[:8].astype(np.int64), "picks": np.arange(8)}
    (folder / "predictor-compression.safetensors").write_bytes(save(arrays, facts))
    return folder / "predictor-compression.safetensors"


def report_of(folder, estimator=None):
    from sklearn.linear_model import LogisticRegression

    estimator = LogisticRegression(C=100.0, random_state=0) if estimator is None else estimator
    report = certiformer.certify(estimator, train=(X, Y), by=[PickToLearn()])
    report.write(folder)
    np.savez(folder / "train.npz", train_inputs=X, train_labels=Y)
    return report


def checked(folder, *words):
    data = ("--data", str(folder / "train.npz"))
    return CliRunner().invoke(application(), ["verify", str(folder / "report.json"), *data, *words])


def test_the_attack_is_real_and_nothing_runs(tmp_path):
    pipeline = trap(tmp_path)
    with pytest.raises(Exception, match=r".*"):  # what the cache held is no fitted scaler
        pipeline.fit(X[:8], Y[:8])
    assert (tmp_path / "harmed").is_dir()
    (tmp_path / "harmed").rmdir()

    report_of(tmp_path)
    file = old_file(tmp_path, str(tmp_path / "cache"))
    document = json.loads((tmp_path / "report.json").read_text())
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    for text in [json.dumps(document), json.dumps(document).replace(_handed(document)["sha256"], digest)]:
        (tmp_path / "report.json").write_text(text)
        for words in [(), ("--replay",)]:
            assert checked(tmp_path, *words).exit_code not in (0, None)
    with pytest.raises(InputError, match=r"0\.1\.0"):
        certiformer.load_predictor(file)
    assert not (tmp_path / "harmed").exists()


def _handed(document):
    text = json.dumps(document)
    place = text.index('"sha256"', text.index("predictor-compression.safetensors") - 120)
    return {"sha256": text[place:].split('"')[3]}


@pytest.mark.parametrize("described", ["memory", "function", "other", "setting"])
def test_a_replay_trains_only_what_is_on_the_list(tmp_path, described):
    """The new form of file, its description changed by hand: a replay refuses it before anything is built."""
    scale = {"estimator": "sklearn.preprocessing.StandardScaler", "settings": {}}
    said = {
        "memory": {"estimator": "sklearn.pipeline.Pipeline", "settings": {"memory": "cache"}, "steps": [["a", scale]]},
        "function": {"estimator": "sklearn.preprocessing.FunctionTransformer", "settings": {"func": "os.system"}},
        "other": {"estimator": "os.system", "settings": {}},
        "setting": {"estimator": "sklearn.preprocessing.StandardScaler", "settings": {"with_std": {"estimator": "x"}}},
    }[described]
    if described == "memory":
        assert built(said).memory is None
        return
    with pytest.raises(CertiformerError):
        built(said)


def test_loading_fits_nothing(tmp_path, monkeypatch):
    from sklearn.linear_model import LogisticRegression

    report = report_of(tmp_path)
    monkeypatch.setattr(LogisticRegression, "fit", lambda *_: pytest.fail("fitted on load"))
    monkeypatch.setattr(LogisticRegression, "__init__", lambda *_: pytest.fail("built on load"))
    loaded = certiformer.load_predictor(tmp_path / report["compression"].predictor["file"])
    assert np.array_equal(loaded.predict(X), Y)
    assert checked(tmp_path).exit_code in (0, 3)


def test_an_estimator_off_the_list_gets_no_file_and_the_report_says_so(tmp_path):
    from sklearn.neural_network import MLPClassifier

    report = report_of(tmp_path, MLPClassifier((4,), max_iter=1000, solver="lbfgs", random_state=0))
    assert not list(tmp_path.glob("*.safetensors"))
    assert "No predictor file" in report["compression"].reason


@pytest.mark.parametrize("name", ["../a.safetensors", "/etc/passwd", "a/b.safetensors", "..", "a\\b"])
def test_a_report_names_files_beside_it(tmp_path, name):
    report_of(tmp_path)
    text = (tmp_path / "report.json").read_text()
    (tmp_path / "report.json").write_text(text.replace("predictor-compression.safetensors", json.dumps(name)[1:-1]))
    found = checked(tmp_path)
    assert found.exit_code == 1
    assert "plain name" in " ".join(found.output.split())


def test_a_link_out_of_the_folder_is_not_followed(tmp_path):
    from sklearn.linear_model import LogisticRegression

    folder, elsewhere = tmp_path / "folder", tmp_path / "elsewhere.safetensors"
    certiformer.certify(LogisticRegression().fit(X, Y), heldout=(X[:30], Y[:30])).write(folder)
    (predictor,) = folder.glob("*.safetensors")
    predictor.rename(elsewhere)
    predictor.symlink_to(elsewhere)
    np.savez(tmp_path / "data.npz", heldout_inputs=X[:30], heldout_labels=Y[:30])
    found = certiformer.verify(folder / "report.json", data=tmp_path / "data.npz")
    assert found.exit_code == 1
    assert "not a link" in str(found.differences[0])


def test_a_recipe_that_is_not_on_the_list_is_not_imported(tmp_path):
    from certiformer.certificates.holdout import HoldOut

    certiformer.certify(evidence=HoldOut(errors=1, n=100)).write(tmp_path)
    document = json.loads((tmp_path / "report.json").read_text())
    document["provenance"]["recipe"] = "..procedures.recipe"
    (tmp_path / "report.json").write_text(json.dumps(document))
    found = certiformer.verify(tmp_path / "report.json")
    assert found.exit_code == 1
    assert "one of mnist, sparse_majority" in str(found.differences[0])


def estimators(classes):
    from sklearn import ensemble, linear_model, naive_bayes, neighbors, pipeline, preprocessing, svm, tree
    from sklearn.decomposition import PCA
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    seeded = {"random_state": 0}
    last = linear_model.LogisticRegression(C=10.0, **seeded)
    scalers = [
        *(preprocessing.StandardScaler(), preprocessing.StandardScaler(with_mean=False), PCA(2, whiten=True, **seeded)),
        *(preprocessing.MinMaxScaler(clip=True), preprocessing.MaxAbsScaler(), preprocessing.RobustScaler()),
        preprocessing.Normalizer("l1"),
    ]
    yield from (pipeline.make_pipeline(scaler, last) for scaler in scalers)
    yield from (
        linear_model.RidgeClassifier(**seeded),
        linear_model.SGDClassifier(**seeded),
        linear_model.Perceptron(**seeded),
    )
    yield from (svm.LinearSVC(**seeded), LinearDiscriminantAnalysis())
    yield from (svm.SVC(kernel=kernel, C=10.0, **seeded) for kernel in ("linear", "rbf", "poly", "sigmoid"))
    yield from (naive_bayes.GaussianNB(), naive_bayes.BernoulliNB(binarize=0.5))
    yield pipeline.make_pipeline(preprocessing.MinMaxScaler(), naive_bayes.MultinomialNB())
    yield from (neighbors.KNeighborsClassifier(3), neighbors.KNeighborsClassifier(5, weights="distance"))
    yield tree.DecisionTreeClassifier(max_depth=4, **seeded)
    yield ensemble.RandomForestClassifier(7, max_depth=4, **seeded)
    yield ensemble.ExtraTreesClassifier(7, max_depth=4, **seeded)


@pytest.mark.parametrize("classes", [2, 3])
def test_numbers_say_what_the_estimator_says(classes, tmp_path):
    from sklearn.base import clone

    rng = np.random.default_rng(1)
    labels = rng.integers(classes, size=90)
    inputs = np.eye(classes, 4)[labels] + 0.5 * rng.normal(size=(90, 4))
    new = rng.normal(size=(200, 4))
    seen = set()
    for number, estimator in enumerate(estimators(classes)):
        estimator.fit(inputs, labels)
        found = stored(estimator, classes)
        assert not isinstance(found, str), estimator
        seen |= {step.name for step in found.steps}
        file = tmp_path / f"{number}.safetensors"
        file.write_bytes(content_of(found))
        again, _ = read_predictor(file)
        assert np.allclose(again.outputs(new), Refit(clone(estimator), classes).outputs(estimator, new)), estimator
        assert content_of(again) == file.read_bytes()
        assert repr(built(described_estimator(estimator))) == repr(estimator)
    assert seen == set(FORMULAS) - {"constant"}


def test_the_page_has_the_list():
    page = (Path(__file__).parents[2] / "docs" / "security.md").read_text()
    listed = " ".join(page.split()).partition("The list, of scikit-learn: ")[2].partition(". ")[0]
    assert set(re.findall(r"[A-Z]\w+", listed)) == {name.rpartition(".")[2] for name in (*ESTIMATORS, PIPELINE)}


def test_a_tree_that_goes_round_is_refused(tmp_path):
    from sklearn.tree import DecisionTreeClassifier

    found = stored(DecisionTreeClassifier(random_state=0).fit(X, Y), 2)
    found.steps[0].arrays["left"][0] = 0
    (tmp_path / "loop.safetensors").write_bytes(content_of(found))
    with pytest.raises(InputError, match="behind their parents"):
        certiformer.load_predictor(tmp_path / "loop.safetensors")
