"""The pick loop: picks by value, replayed bit by bit; what the program can see is refused."""

import hashlib
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import RidgeClassifier

from certiformer import certify, verify
from certiformer.certification.predictors import content_of, load_predictor
from certiformer.lab.procedures import Learner, PickToLearn
from certiformer.lab.procedures._picking import compress, replay
from certiformer.theory.calculus.compression import compression_upper
from certiformer.theory.core.errors import InputError

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((150, 4)).astype(np.float32)
Y = (X @ np.array([1.0, -2.0, 0.5, 0.0]) > 0).astype(np.int64)
THREE = np.digitize(X[:, 0], [-0.4, 0.4])


class Box(Learner):
    """Right inside the bounding box of the picks; cold start, plain numpy."""

    def begin(self):
        return np.zeros((2, 4))

    def learn(self, state, inputs, labels):
        return np.stack([np.minimum(0, inputs.min(axis=0)), np.maximum(0, inputs.max(axis=0))])

    def outputs(self, state, inputs):
        beyond = np.max(np.maximum(state[0] - inputs, inputs - state[1]), axis=1)
        return np.where(beyond > 0, -beyond, 1.0)

    def fingerprint(self, state):
        return state.tobytes().hex()


ONES = np.ones(len(X), np.int64)


def test_the_box_is_learnt_from_few_and_the_order_of_the_file_does_not_matter():
    found = compress(Box(), X, ONES)
    replay(Box(), X, ONES, found, 1)
    assert len(found.rows) <= 20
    assert found.best.left == 0
    order = np.random.default_rng(1).permutation(len(X))
    again = compress(Box(), X[order], ONES)
    assert [int(order[row]) for row in again.rows] == list(found.rows)


def test_a_declared_grid_is_paid_and_leftovers_count():
    report = certify(train=(X, ONES), by=[PickToLearn(Box(), most=6, stages=(2, 4))])
    row = report["compression"]
    found = compress(Box(), X, ONES, most=6, grid=(2, 4))
    assert [stage.picks for stage in found.stages] == [2, 4, 6]
    counted = min(stage.picks + stage.left for stage in found.stages)
    share = report.document["shares"]["compression"]
    assert row.value == pytest.approx(compression_upper(counted, len(X), float(np.log(share / 3))), rel=1e-9)


class Unseeded(Box):
    """Depends on how often it was called: chance that nobody fixed."""

    def __init__(self):
        self.calls = itertools.count()

    def learn(self, state, inputs, labels):
        return super().learn(state, inputs, labels) * (1 + 1e-3 * next(self.calls))


def test_a_learner_that_cannot_be_replayed_is_refused():
    with pytest.raises(InputError, match="from the picked examples alone"):
        certify(train=(X, ONES), by=[PickToLearn(Unseeded())])


def test_an_initial_model_that_saw_the_examples_is_refused():
    with pytest.raises(InputError, match="initial model of the learner"):
        certify(train=(X, ONES), by=[PickToLearn(Box(), pretrained_on=X[:10])])


def test_ties_go_by_the_bytes_of_the_example():
    class Constant(Box):
        def outputs(self, state, inputs):
            return np.where(np.abs(state).sum() > 0, 1.0, -1.0) * np.ones(len(inputs))

    first = compress(Constant(), X, ONES).rows
    second = compress(Constant(), X[::-1], ONES).rows
    assert len(first) == len(second) == 1
    np.testing.assert_array_equal(X[first[0]], X[::-1][second[0]])


class Linear(eqx.Module):
    weight: jax.Array
    bias: jax.Array

    def __call__(self, x):
        return self.weight @ x + self.bias


def test_several_classes_with_an_equinox_module_by_descent():
    start = Linear(jnp.zeros((3, 4)), jnp.zeros(3))
    report = certify(start, train=(X, THREE), by=[PickToLearn(steps=150, rate=0.05, most=60)])
    assert report["compression"].value < 0.6
    assert report["compression"].subject.startswith("the model trained on")


def test_an_estimator_must_fix_its_seed():
    linear = pytest.importorskip("sklearn.linear_model")
    with pytest.raises(InputError, match="random_state"):
        certify(train=(X, Y), by=[PickToLearn(linear.SGDClassifier())])
    report = certify(train=(X, Y), by=[PickToLearn(linear.LogisticRegression(C=1e4, random_state=0))])
    assert report["compression"].value < 0.35


class TwoOfThree:
    """An estimator that has picked classes 0 and 2 only."""

    classes_ = np.array([0, 2])

    def get_params(self, deep=True):
        return {}

    def fit(self, inputs, labels):
        return self

    def decision_function(self, inputs):
        return inputs[:, 0]


def test_scores_of_an_estimator_do_not_depend_on_other_rows():
    """A class that was never picked is scored by the row alone: else the preference would look at the whole sample."""
    from certiformer.lab.procedures import Refit

    learner, rows = Refit(TwoOfThree(), 3), np.array([[3.0], [-1.0], [100.0]])
    whole = learner.outputs(TwoOfThree(), rows)
    alone = np.concatenate([learner.outputs(TwoOfThree(), rows[i : i + 1]) for i in range(3)])
    np.testing.assert_array_equal(whole, alone)
    assert np.all(whole[:, 1] < whole[:, [0, 2]].min(axis=1))


def test_a_function_that_changes_from_call_to_call_is_refused():
    """It shows no weights, so its answers are compared."""
    calls = itertools.count()

    def fit(inputs, labels):
        shift = 1e-6 * next(calls)
        return lambda batch: batch[:, 0] - 0.1 + shift

    with pytest.raises(InputError, match="from the picked examples alone"):
        certify(train=(X, (X[:, 0] > 0.1).astype(int)), by=[PickToLearn(fit, most=4)])


def test_copies_among_the_examples_are_named_and_all_of_them_count():
    twice = np.concatenate([X, X])
    examples = (twice, np.ones(len(twice), np.int64))
    with pytest.raises(InputError, match="150 of 300 inputs repeat"):
        certify(train=examples, by=[PickToLearn(Box())])
    report = certify(train=examples, by=[PickToLearn(Box())], declaration={"repeats": "natural"})
    assert report["compression"].evidence.n == len(twice)
    assert any("150 examples that repeat" in said for said in report.document["conditions"])
    single = certify(train=(X, ONES), by=[PickToLearn(Box())])
    assert single["compression"].evidence.k == report["compression"].evidence.k
    assert not any("repeat" in said for said in single.document["conditions"])


def test_one_class_and_nobody_right():
    """All examples of one class; a learner that is always wrong picks them all, and the certificate says 1."""
    report = certify(
        train=(X[:20], np.zeros(20, int)), by=[PickToLearn(lambda x, y: lambda batch: np.ones(len(batch)))]
    )
    assert report["compression"].evidence.k + report["compression"].evidence.left == 1
    wrong = certify(
        train=(X[:20], np.arange(20) % 2), by=[PickToLearn(lambda x, y: lambda batch: np.zeros(len(batch)))]
    )
    assert wrong["compression"].evidence.k == 20
    assert wrong["compression"].value == 1.0


class Nowhere(Box):
    def outputs(self, state, inputs):
        return np.full(len(inputs), np.nan)


class NanScores(ClassifierMixin, BaseEstimator):
    def fit(self, x, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, x):
        return np.full(len(x), np.nan)


@pytest.mark.parametrize("learner", [Nowhere(), NanScores()], ids=["learner", "estimator"])
def test_an_answer_that_is_no_number_is_refused(learner):
    """It was wrong nowhere, so that coins were certified at 2 %."""
    coins = np.random.default_rng(2).integers(2, size=len(X))
    with pytest.raises(InputError, match="the learner's outputs: got 'nan or infinity at example 0'"):
        certify(train=(X, coins), by=[PickToLearn(learner)])


def test_an_estimator_whose_numbers_were_taken_out_is_wrong_everywhere(tmp_path):
    report = certify(RidgeClassifier(random_state=0), train=(X, Y), by=[PickToLearn(pretrained_on="nothing")])
    report.write(tmp_path)
    np.savez(tmp_path / "data.npz", train_inputs=X, train_labels=Y)
    (file,) = tmp_path.glob("*.safetensors")
    before, predictor = file.read_bytes(), load_predictor(file)
    for numbers in predictor.fitted.tensors().values():
        numbers[...] = np.nan
    file.write_bytes(content_of(predictor))
    name = tmp_path / "report.json"
    hashes = (hashlib.sha256(content).hexdigest() for content in (before, file.read_bytes()))
    name.write_text(name.read_text().replace(*hashes))
    assert any(
        "other examples are wrong" in one.rebuilt for one in verify(name, data=tmp_path / "data.npz").differences
    )
