"""Boosters, Keras, skorch and frames as their libraries make them: the errors counted are those counted by hand."""

import os

os.environ.setdefault("KERAS_BACKEND", "torch")

import numpy as np
import pytest

import certiformer
from certiformer.theory.core.errors import InputError

pytestmark = [pytest.mark.real, pytest.mark.timeout(300), pytest.mark.filterwarnings("ignore")]

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(500, 5)).astype(np.float32)
Y = (X[:, 0] + 0.4 * RANDOM.normal(size=500) > 0).astype(int)
THREE = np.digitize(X[:, 0] + 0.3 * RANDOM.normal(size=500), [-0.5, 0.5])
NUMBERS = X[:, 1] + 0.1 * RANDOM.normal(size=500)
TRAIN, TEST = slice(0, 300), slice(300, 500)


def of(model, labels, inputs=X, **declared):
    return certiformer.certify(model, heldout=(inputs[TEST], labels[TEST]), declaration=declared)


def errors(model, labels, inputs=X, **declared):
    return of(model, labels, inputs, **declared)["holdout"].evidence.errors


def wrong(answers, labels):
    return int(np.sum(np.asarray(answers).reshape(-1) != labels[TEST]))


@pytest.mark.parametrize(
    ("objective", "labels", "decided"),
    [
        ("binary:logistic", Y, lambda p: p > 0.5),
        ("binary:logitraw", Y, lambda p: p > 0),
        ("binary:hinge", Y, lambda p: p),
        ("multi:softprob", THREE, lambda p: p.argmax(1)),
        ("multi:softmax", THREE, lambda p: p),
    ],
)
def test_boosters_of_xgboost(objective, labels, decided):
    xgboost = pytest.importorskip("xgboost")
    settings = {"objective": objective, "verbosity": 0, "nthread": 1} | (
        {"num_class": 3} if "multi" in objective else {}
    )
    booster = xgboost.train(settings, xgboost.DMatrix(X[TRAIN], label=labels[TRAIN]), 5)
    held = xgboost.DMatrix(X[TEST], label=labels[TEST])
    expected = wrong(decided(booster.predict(held)), labels)
    assert errors(booster, labels) == expected
    assert certiformer.certify(booster, heldout=held)["holdout"].evidence.errors == expected
    with pytest.raises(InputError, match="200 of 200 that were also used"):
        certiformer.certify(booster, heldout=held, train=xgboost.DMatrix(X, label=labels))
    if objective == "binary:logistic":
        with pytest.raises(InputError, match="that is what predict, objective binary:logistic gives"):
            of(booster, labels, outputs="logits")


def test_learners_of_other_libraries():
    xgboost, lightgbm = pytest.importorskip("xgboost"), pytest.importorskip("lightgbm")
    catboost, skorch = pytest.importorskip("catboost"), pytest.importorskip("skorch")
    torch = pytest.importorskip("torch")

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(5, 3)

        def forward(self, x):
            return self.linear(x)

    quiet = {"verbose": 0, "max_epochs": 3, "criterion": torch.nn.CrossEntropyLoss}
    for made in (
        xgboost.XGBClassifier(n_estimators=5, n_jobs=1),
        lightgbm.LGBMClassifier(n_estimators=5, n_jobs=1, verbosity=-1),
        catboost.CatBoostClassifier(iterations=5, verbose=0, thread_count=1, allow_writing_files=False),
        skorch.NeuralNetClassifier(Network, **quiet),
    ):
        assert certiformer.certify(fit=made, data=(X, THREE))["holdout"].evidence.n == 125
        made.fit(X[TRAIN], THREE[TRAIN])
        assert errors(made, THREE) == wrong(made.predict(X[TEST]), THREE)
        with pytest.raises(InputError, match="fitted already"):
            certiformer.certify(fit=made, data=(X, THREE))
    with pytest.raises(InputError, match="the networks among the settings"):
        certiformer.certify(fit=skorch.NeuralNetClassifier(Network(), **quiet), data=(X, THREE))
    raw = catboost.CatBoost({"loss_function": "Logloss", "iterations": 5, "verbose": 0, "allow_writing_files": False})
    raw.fit(X[TRAIN], Y[TRAIN])
    with pytest.raises(InputError, match="what it is"):
        of(raw, Y)
    assert errors(raw, Y, outputs="logits") == wrong(raw.predict(X[TEST]) > 0, Y)
    with pytest.raises(InputError, match="Give what it was made of"):
        certiformer.certify(raw, heldout=catboost.Pool(X[TEST], Y[TEST]))
    booster = lightgbm.train({"objective": "binary", "verbosity": -1}, lightgbm.Dataset(X[TRAIN], label=Y[TRAIN]), 5)
    with pytest.raises(InputError, match='outputs="probabilities"'):
        of(booster, Y)
    assert errors(booster, Y, outputs="probabilities") == wrong(booster.predict(X[TEST]) > 0.5, Y)
    number = xgboost.XGBRegressor(n_estimators=5).fit(X[TRAIN], NUMBERS[TRAIN])
    off = np.abs(number.predict(X[TEST]).astype(float) - NUMBERS[TEST])
    assert of(number, NUMBERS, range=(0, 9))["mean_loss"].evidence.observed == pytest.approx(off.mean())


def test_models_of_keras():
    keras = pytest.importorskip("keras")
    given = keras.Input((5,))
    hidden = keras.layers.Dropout(0.5)(keras.layers.BatchNormalization()(keras.layers.Dense(8)(given)))
    several = keras.Model(given, keras.layers.Dense(3, activation="softmax")(hidden))
    expected = wrong(several.predict(X[TEST], verbose=0).argmax(1), THREE)
    assert errors(several, THREE) == errors(several, np.eye(3)[THREE]) == expected
    one = keras.Sequential([given, keras.layers.Dense(1, activation="sigmoid")])
    with pytest.raises(InputError, match='outputs="probabilities"'):
        of(one, Y)
    assert errors(one, Y, outputs="probabilities") == wrong(one.predict(X[TEST], verbose=0) > 0.5, Y)
    halves = [keras.Input((3,), name="a"), keras.Input((2,), name="b")]
    both = keras.Model(halves, keras.layers.Dense(2, activation="softmax")(keras.layers.Concatenate()(halves)))
    parts = {"a": X[TEST, :3], "b": X[TEST, 3:]}
    found = certiformer.certify(both, heldout=(parts, Y[TEST]))["holdout"].evidence.errors
    assert found == wrong(both.predict(parts, verbose=0).argmax(1), Y)
    with pytest.raises(InputError, match="also used for training"):
        certiformer.certify(both, heldout=(parts, Y[TEST]), train=(parts, Y[TEST]))


def test_frames_of_pandas_and_polars():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    names, answers = np.array(["ham", "spam"])[Y], np.array(["ham", "spam"])[(X[:, 0] > 0).astype(int)]
    frame = pandas.DataFrame({"label": names, "prediction": answers})
    lazy = polars.DataFrame({"label": names.tolist(), "prediction": answers.tolist()}).lazy()
    for given in (frame, frame.astype("category"), frame.astype("string"), lazy, lazy.collect()):
        assert certiformer.certify(predictions=given)["holdout"].evidence.errors == int(np.sum(names != answers))
    copies = frame.set_index(pandas.Index(np.arange(500) // 2, name="id"))
    with pytest.raises(InputError, match="250 of 500 rows repeat"):
        certiformer.certify(predictions=copies)
    missing = frame.astype("string")
    missing.loc[3, "prediction"] = pandas.NA
    with pytest.raises(InputError, match="Row 4"):
        certiformer.certify(predictions=missing)
    shuffled = frame["prediction"].sample(frac=1, random_state=0)
    with pytest.raises(InputError, match="the same index in another order"):
        certiformer.certify(predictions=(frame["label"], shuffled))
    rule = lambda rows: (rows["a"] > 0).to_numpy().astype(int)  # noqa: E731
    for kind in (pandas.DataFrame, polars.DataFrame):
        told = certiformer.certify(rule, heldout=(kind({"a": X[:, 0], "text": names}), Y))
        assert told["holdout"].evidence.errors == int(np.sum((X[:, 0] > 0) != Y))
