"""Any predictor without extras: JAX, scikit-learn, torch and the rest cannot be imported in this process."""

import subprocess
import sys

import pytest

from test_light_installation import EXTRAS

SCRIPT = f"""
import functools, importlib.abc, json, sys, types

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {EXTRAS.split()!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
import numpy as np
import certiformer

random = np.random.default_rng(0)
X = random.normal(size=(200, 3))
Y = (X[:, 0] + 0.3 * random.normal(size=200) > 0).astype(int)
NAMED = np.array(["ham", "spam"])[Y]


class Predicts:
    def predict(self, x):
        return (x[:, 0] > 0).astype(int)


class Probable:
    def predict_proba(self, x):
        p = 1 / (1 + np.exp(-4 * x[:, 0]))
        return np.stack([1 - p, p], axis=1)


class NamedProbable(Probable):
    classes_ = np.array(["ham", "spam"])


class Decides:
    def decision_function(self, x):
        return 4 * x[:, 0]


class Keras:
    "predict gives probabilities of all classes; it can be called as well."

    def predict(self, x, batch_size=None):
        return Probable().predict_proba(x).astype(np.float32)

    def __call__(self, x):
        raise RuntimeError("predict is there")


class Names:
    def predict(self, x):
        return np.where(x[:, 0] > 0, "spam", "ham")


class Booleans:
    classes_ = np.array([False, True])

    def predict(self, x):
        return x[:, 0] > 0


xgboost = types.ModuleType("xgboost")

class DMatrix:
    def __init__(self, data, label=None, feature_names=None):
        self.data, self.label = np.asarray(data), label

    def num_row(self):
        return len(self.data)

    def get_data(self):
        return self.data

    def get_label(self):
        return np.zeros(0) if self.label is None else self.label

class Booster:
    feature_names = None

    def save_config(self):
        return json.dumps({{"learner": {{"objective": {{"name": "binary:logistic"}}}}}})

    def predict(self, data):
        assert isinstance(data, DMatrix)
        return Probable().predict_proba(data.data)[:, 1].astype(np.float32)

Booster.__module__ = DMatrix.__module__ = "xgboost"
xgboost.DMatrix, xgboost.Booster = DMatrix, Booster
sys.modules["xgboost"] = xgboost


def batch(x):
    return np.stack([-x[:, 0], x[:, 0]], axis=1)


def row(x):
    assert x.ndim == 1
    return [-x[0], x[0]]


def shifted(sign, x):
    return sign * x[:, 0]


class Own:
    def score(self, x):
        return np.where(x[:, 0] > 0, 1, 0)


CASES = {{
    "predict": (Predicts(), Y),
    "predict_proba": (Probable(), Y),
    "predict_proba with classes_": (NamedProbable(), NAMED),
    "decision_function": (Decides(), Y),
    "decision_function, signs": (Decides(), 2 * Y - 1),
    "a batch function": (batch, Y),
    "a row function": (row, Y),
    "a partial": (functools.partial(shifted, 1.0), Y),
    "list outputs": (lambda x: [int(one[0] > 0) for one in x], Y),
    "string labels": (Names(), NAMED),
    "a function that names": (lambda x: ["spam" if one[0] > 0 else "ham" for one in x], NAMED),
    "a row function that names": (lambda x: "spam" if float(x[0]) > 0 else "ham", NAMED),
    "boolean labels": (Booleans(), Y.astype(bool)),
    "boolean answers": (lambda x: x[:, 0] > 0, Y.astype(bool)),
    "Keras-like": (Keras(), Y),
    "Keras-like, one-hot labels": (Keras(), np.eye(2)[Y]),
    "a booster": (Booster(), Y),
    "a bound method": (Own().score, Y),
    "a bound predict_proba": (NamedProbable().predict_proba, NAMED),
    "a dictionary": (lambda x: {{"logits": batch(x), "hidden": x}}, Y),
    "a tuple": (lambda x: (batch(x), x), Y),
    "pipeline dictionaries": (lambda x: [{{"label": name, "score": 0.9}} for name in Names().predict(x)], NAMED),
}}
expected = int(np.sum((X[:, 0] > 0) != Y))
found = {{}}
for name, (model, labels) in CASES.items():
    try:
        report = certiformer.certify(model, heldout=(X, labels))
        found[name] = [report["holdout"].evidence.errors, report.document["provenance"]["asked"]]
    except Exception as error:
        found[name] = [f"{{type(error).__name__}}: {{error}}", ""]
matrix = certiformer.certify(Booster(), heldout=DMatrix(X, label=Y.astype(float)))
found["a DMatrix"] = [matrix["holdout"].evidence.errors, ""]
texts = [f"text {{n}} {{'buy' if y else 'hello'}}" for n, y in enumerate(Y)]
for name, model in {{
    "a list of texts": lambda batch: ["buy" in one for one in batch],
    "one text": lambda text: int("buy" in text.split()),
}}.items():
    found[name] = [certiformer.certify(model, heldout=(texts, Y))["holdout"].evidence.errors + expected, ""]
print(json.dumps({{"expected": expected, "found": found, "jax": "jax" in sys.modules}}))
"""


@pytest.fixture(scope="module")
def outcome():
    import json

    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_predictor_is_counted_right_without_extras(outcome):
    wrong = {name: said for name, said in outcome["found"].items() if said[0] != outcome["expected"]}
    assert wrong == {}
    assert not outcome["jax"]


def test_the_report_says_how_the_model_was_asked(outcome):
    asked = {name: said[1] for name, said in outcome["found"].items()}
    assert asked["a batch function"] == "a function of a batch"
    assert asked["a row function"] == "a function of one example"
    assert asked["Keras-like"] == asked["predict"] == "predict"
    assert asked["a booster"] == "predict, objective binary:logistic"
