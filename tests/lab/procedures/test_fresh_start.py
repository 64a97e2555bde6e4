"""A learner is fresh or refused; weights that are handed in are the prior, and what they have seen is asked for.

Labels are coins, so that every predictor errs on half of new examples: a limit below one half without a condition that
excludes it would be false.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.sparse import csr_matrix

from certiformer import certify
from certiformer.lab.procedures import (
    Code,
    CoordinateCover,
    HeadPosterior,
    Learner,
    Occam,
    OnePass,
    PickToLearn,
    Surrogate,
)
from certiformer.theory.core.errors import InputError

RANDOM = np.random.default_rng(5)
X = RANDOM.standard_normal((60, 12)).astype(np.float32)
COINS = RANDOM.integers(2, size=60)
ELSEWHERE = RANDOM.standard_normal((20, 12)).astype(np.float32)
POOL = RANDOM.standard_normal((30, 12)).astype(np.float32)
UNSAID = "had never seen these examples (nobody stated this)"


def hidden(x):
    """Fixed features, as many as there are examples: a linear readout can learn any labels."""
    weights = np.random.default_rng(0).standard_normal((12, 80)).astype(np.float32)
    return jnp.tanh(x @ weights)


def apply(params, x):
    return hidden(x) @ params["w"]


def trained_to_zero():
    """Weights that say the coin of every example."""
    features = np.asarray(hidden(X), np.float64)
    w, *_ = np.linalg.lstsq(features, 2.0 * COINS - 1.0, rcond=None)
    assert np.all((features @ w > 0) == (COINS == 1))
    return {"w": jnp.asarray(w, jnp.float32)}


PARAMS = trained_to_zero()
PROCEDURES = {
    "Occam": lambda seen: Occam(2, Code(steps=5), pretrained_on=seen),
    "OnePass": lambda seen: OnePass(steps=1, rate=1e-6, pretrained_on=seen),
    "PickToLearn": lambda seen: PickToLearn(steps=5, pretrained_on=seen),
    "HeadPosterior": lambda seen: HeadPosterior(
        features=lambda batch: np.asarray(hidden(batch)), prior=np.asarray(PARAMS["w"]), pretrained_on=seen
    ),
    "Surrogate": lambda seen: Surrogate(lambda batch: batch[:, 0], POOL, PickToLearn(steps=5, pretrained_on=seen)),
}


@pytest.mark.parametrize("name", PROCEDURES)
def test_weights_that_saw_the_examples_are_never_certified_without_a_condition(name):
    report = certify((apply, PARAMS), train=(X, COINS), by=[PROCEDURES[name](None)])
    document = report.document
    assert UNSAID in str(report)  # on the first screen, not only in the report
    assert "held-out" not in report.basis
    assert any("pretrained_on=" in said for said in document["not_checked"])
    with pytest.raises(InputError, match="60 of 60 that were also used for training"):
        certify((apply, PARAMS), train=(X, COINS), by=[PROCEDURES[name](X)])
    seen = (np.concatenate([ELSEWHERE, X[:1]]), np.zeros(21))
    with pytest.raises(InputError, match="1 of 60 that were also used for training"):
        certify((apply, PARAMS), train=(X, COINS), by=[PROCEDURES[name](seen)])


def test_what_was_said_stands_there():
    fresh = {"w": jnp.zeros(80)}
    by = [OnePass(steps=1, pretrained_on="nothing"), Occam(2, Code(steps=5), pretrained_on=ELSEWHERE)]
    document = certify((apply, fresh), train=(X, COINS), by=by).document
    assert not any(UNSAID in said for said in document["conditions"])
    assert "the weights that training starts from had seen no data, as the caller says" in document["conditions"]
    assert any("saw nothing but the 20 inputs of pretrained_on" in said for said in document["conditions"])
    assert any("only exact copies" in said for said in document["not_checked"])
    with pytest.raises(InputError, match='"nothing", or the inputs'):
        certify((apply, fresh), train=(X, COINS), by=[OnePass(pretrained_on="imagenet")])


@pytest.mark.parametrize("seen", [3, False, np.zeros((0, 12)), [ELSEWHERE], ELSEWHERE[:, :3], csr_matrix(ELSEWHERE)])
def test_what_cannot_be_compared_with_the_examples_is_refused(seen):
    with pytest.raises(InputError, match=r"pretrained_on: got|numbers beside texts"):
        certify((apply, PARAMS), train=(X, COINS), by=[OnePass(steps=1, pretrained_on=seen)])


@pytest.mark.parametrize("by", [OnePass(), [OnePass], ["occam"], []])
def test_procedures_stand_in_a_list(by):
    with pytest.raises(InputError, match="a list of procedures"):
        certify((apply, PARAMS), train=(X, COINS), by=by)


def test_not_checked_is_never_empty():
    x = RANDOM.standard_normal((40, 3))
    fit = lambda inputs, labels: lambda batch: batch[:, 0]  # noqa: E731
    for by in ([PickToLearn(fit, most=5)], [PickToLearn(fit, most=5, pretrained_on="nothing")]):
        document = certify(train=(x, (x[:, 0] > 0).astype(int)), by=by).document
        assert (
            "whether features, settings or seeds were chosen after a look at these examples" in document["not_checked"]
        )
    assert CoordinateCover().start(None) == ""


class Foreign:
    """A procedure that says nothing about where it starts."""

    def certify(self, model, inputs, labels, classes):
        from certiformer.certificates.compression import Compression

        return (Compression(k=len(labels), left=0, n=len(labels)),)


def test_a_procedure_from_elsewhere():
    document = certify(train=(X, COINS), by=[Foreign()]).document
    assert any(f"what Foreign starts from {UNSAID}" in said for said in document["conditions"])


def test_nothing_to_pick():
    """A model without errors picks nobody: a row with no picks, and not an error of the program."""
    report = certify((apply, PARAMS), train=(X, COINS), by=[PickToLearn(steps=5)])
    row = report["compression"].evidence
    assert (row.k, row.left) == (0, 0)

    class Module(eqx.Module):
        w: jax.Array

        def __call__(self, x):
            return hidden(x) @ self.w

    again = certify(Module(PARAMS["w"]), train=(X, COINS), by=[PickToLearn(steps=5)])
    assert again["compression"].value == report["compression"].value

    class Right(Learner):
        def begin(self):
            return None

        def learn(self, state, inputs, labels):
            raise AssertionError("nobody is wrong")

        def outputs(self, state, inputs):
            return np.ones(len(inputs))

        def fingerprint(self, state):
            return ""

    alone = certify(train=(X, np.ones(60, int)), by=[PickToLearn(Right())])
    assert alone["compression"].evidence.k == 0


class TestEstimators:
    """Of scikit-learn."""

    @pytest.fixture(autouse=True)
    def library(self):
        pytest.importorskip("sklearn")

    def warm(self):
        from sklearn.linear_model import SGDClassifier

        return SGDClassifier(warm_start=True, random_state=0)

    def test_a_warm_start_is_refused(self):
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        bare = self.warm().set_params(warm_start=np.True_)
        for estimator in (self.warm().fit(X, COINS), self.warm(), bare, make_pipeline(StandardScaler(), self.warm())):
            with pytest.raises(InputError, match=r"warm_start.*earlier fits"):
                certify(fit=estimator, data=(X, COINS))
            with pytest.raises(InputError, match=r"warm_start.*earlier fits"):
                certify(train=(X, COINS), by=[PickToLearn(estimator)])
            with pytest.raises(InputError, match=r"warm_start.*earlier fits"):
                certify(estimator, train=(X, COINS), by=[PickToLearn()])

    def test_a_fitted_one_is_refused(self):
        from sklearn.ensemble import VotingClassifier
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        fitted = LogisticRegression(random_state=0).fit(X, COINS)
        for estimator in (
            fitted,
            make_pipeline(StandardScaler().fit(X), LogisticRegression(random_state=0)),
            VotingClassifier([("one", fitted)]),
        ):
            with pytest.raises(InputError, match="fitted already"):
                certify(fit=estimator, data=(X, COINS))
            with pytest.raises(InputError, match="fitted already"):
                certify(train=(X, COINS), by=[PickToLearn(estimator)])

    def test_a_frozen_part_is_refused_unless_somebody_says_what_it_saw(self):
        frozen = pytest.importorskip("sklearn.frozen")
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        whole = make_pipeline(
            frozen.FrozenEstimator(StandardScaler().fit(ELSEWHERE)), LogisticRegression(random_state=0)
        )
        for call in ({"fit": whole, "data": (X, COINS)}, {"train": (X, COINS), "by": [PickToLearn(whole)]}):
            with pytest.raises(InputError, match="the frozen parts"):
                certify(**call)
        with pytest.raises(InputError, match="60 of 60"):
            certify(train=(X, COINS), by=[PickToLearn(whole, most=5, pretrained_on=X)])
        report = certify(train=(X, COINS), by=[PickToLearn(whole, most=5, pretrained_on=ELSEWHERE)])
        assert any(
            "the frozen parts of the estimator saw nothing but" in said for said in report.document["conditions"]
        )

    def test_unfitted_ones_are_cloned_and_left_alone(self):
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import FunctionTransformer, StandardScaler

        estimator = make_pipeline(
            FunctionTransformer(), StandardScaler(), LogisticRegression(random_state=0)
        )  # a transformer without state calls itself fitted
        certify(fit=estimator, data=(X, COINS))
        assert not hasattr(estimator[-1], "coef_")
        by = [PickToLearn(estimator, most=5)]
        document = certify(train=(X, COINS), by=by).document
        assert not any(UNSAID in said for said in document["conditions"])
        assert not hasattr(estimator[-1], "coef_")


class Mean:
    """An estimator of nobody's: settings, fit, predict."""

    def __init__(self, shift=0.0):
        self.shift = shift

    def get_params(self, deep=True):
        return {"shift": self.shift}

    def fit(self, x, y):
        self.mean_ = x[y == 1].mean(axis=0) - x[y == 0].mean(axis=0)
        return self

    def predict(self, x):
        return (x @ self.mean_ + self.shift > 0).astype(int)


class Set(Mean):
    """Its constructor sets an attribute that ends in "_"; a clone of it is the same object."""

    def __init__(self, shift=0.0):
        super().__init__(shift)
        self.history_ = []

    def __sklearn_clone__(self):
        return self


class Module:
    def state_dict(self):
        return {}


Module.__module__ = "torch.nn"


def test_what_a_new_one_has_as_well_is_no_sign_of_learning():
    with pytest.raises(InputError, match="fitted already"):
        certify(fit=Set().fit(X, COINS), data=(X, COINS))
    assert certify(fit=Set(), data=(X, (X[:, 0] > 0).astype(int)))["holdout"].evidence.n == 15


def test_a_network_among_the_settings_is_refused_unless_somebody_says_what_it_saw():
    for call in (
        {"fit": Mean(Module()), "data": (X, COINS)},
        {"train": (X, COINS), "by": [PickToLearn(Mean(Module()))]},
    ):
        with pytest.raises(InputError, match="the networks among the settings"):
            certify(**call)


def test_an_estimator_that_cannot_learn_from_few_is_one_line():
    search = pytest.importorskip("sklearn.model_selection").GridSearchCV
    linear = pytest.importorskip("sklearn.linear_model").LogisticRegression
    with pytest.raises(InputError, match="fitted to 2 picks"):
        certify(train=(X, COINS), by=[PickToLearn(search(linear(random_state=0), {"C": [1, 2]}))])


def test_an_estimator_of_nobodys():
    given = Mean(0.1)
    report = certify(fit=given, data=(X, (X[:, 0] > 0).astype(int)))
    assert report["holdout"].evidence.n == 15
    assert not hasattr(given, "mean_")
    with pytest.raises(InputError, match="fitted already"):
        certify(fit=given.fit(X, COINS), data=(X, COINS))

    class Kept:
        def fit(self, x, y):
            return self

        def predict(self, x):
            return COINS[: len(x)]

    with pytest.raises(InputError, match="get_params"):
        certify(fit=Kept(), data=(X, COINS))


class KnowsTheCoins:
    """A function that has seen the examples, or an estimator that remembers them."""

    def __init__(self, k=1):
        self.k = k

    def __call__(self, batch):
        known = {row.tobytes(): coin for row, coin in zip(X, COINS, strict=True)}
        return np.array([[known.get(np.asarray(row, np.float32).tobytes(), 0)] for row in batch])

    def get_params(self, deep=True):
        return {"k": self.k}

    def set_params(self, **given):
        return self

    def fit(self, x, y):
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, batch):
        return self(batch)[:, 0]


def test_code_of_the_callers_in_an_estimator_is_a_condition():
    """A step of a pipeline, or a class, that knows the coins was certified at 14 % without a word about it."""
    pipeline = pytest.importorskip("sklearn.pipeline").make_pipeline
    linear = pytest.importorskip("sklearn.linear_model").LogisticRegression
    step = pytest.importorskip("sklearn.preprocessing").FunctionTransformer
    for learner, said in (
        (pipeline(step(KnowsTheCoins().__call__), linear(random_state=0)), "the functions among the settings"),
        (KnowsTheCoins(), "the class KnowsTheCoins"),
    ):
        report = certify(train=(X, COINS), by=[PickToLearn(learner)])
        assert any(said in one and UNSAID in one for one in report.conditions)
        assert any(said in one for one in report.not_checked)
        with pytest.raises(InputError, match="60 of 60"):
            certify(train=(X, COINS), by=[PickToLearn(learner, pretrained_on=X)])
        unseen = certify(fit=learner, data=(X, COINS)).not_checked
        assert any(said in one and "had seen the certified examples" in one for one in unseen)
    plain = pipeline(step(np.abs), linear(random_state=0))
    assert not any(UNSAID in one for one in certify(train=(X, COINS), by=[PickToLearn(plain)]).conditions)
    with pytest.raises(InputError, match="compared bit by bit"):
        certify(train=(X, COINS), by=[PickToLearn(pipeline(step(lambda x: x), linear(random_state=0)))])


def test_labels_of_any_kind():
    x = RANDOM.standard_normal((60, 3))
    right = x[:, 0] > 0
    fit = lambda inputs, labels: lambda batch: batch[:, 0]  # noqa: E731
    values = {
        certify(train=(x, labels), by=[PickToLearn(fit)])["compression"].value
        for labels in (right, right.astype(int), np.where(right, "yes", "no"), np.where(right, 1.0, -1.0))
    }
    assert len(values) == 1
    with pytest.raises(InputError, match="300000000"):
        certify(train=(x, np.where(right, 300_000_000, 0)), by=[PickToLearn(fit)])


def test_the_target_of_a_surrogate_is_asked_by_what_it_can_do():
    linear = pytest.importorskip("sklearn.linear_model")
    x = RANDOM.standard_normal((60, 3))
    y = (x[:, 0] > 0).astype(int)
    pool = RANDOM.standard_normal((80, 3))
    target = linear.LogisticRegression().fit(x, y)
    fit = lambda inputs, labels: lambda batch: batch[:, 0]  # noqa: E731
    values = {
        certify(train=(x, y), by=[Surrogate(model, pool, PickToLearn(fit), outputs=outputs)])["surrogate"].value
        for model, outputs in (
            (target, "logits"),
            (target, "probabilities"),
            (target.decision_function, "logits"),
            (lambda row: float(target.decision_function(row[None])[0]), "logits"),
        )
    }
    assert len(values) == 1
    with pytest.raises(InputError, match="Labels are no logits"):
        certify(train=(x, y), by=[Surrogate(Mean().fit(x, y), pool, PickToLearn(fit))])


def test_groups_of_repeats_are_no_rows_to_train_on():
    twice = np.concatenate([X, X])
    with pytest.raises(InputError, match="keep one of each group"):
        certify(train=(twice, np.tile(COINS, 2)), by=[Foreign()], declaration={"repeats": "group"})
    with pytest.raises(InputError, match="--repeats natural"):
        certify(train=(twice, np.tile(COINS, 2)), by=[Foreign()])
    report = certify(train=(twice, np.tile(COINS, 2)), by=[Foreign()], declaration={"repeats": "natural"})
    assert any("60 examples that repeat" in said for said in report.document["conditions"])
