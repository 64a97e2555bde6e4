"""Models the package does not know, data in small amounts, and every input that has to be refused."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import certiformer
from certiformer.certification.losses import betting
from certiformer.certification.predictions import decisions
from certiformer.theory.core.errors import InputError


class Tiny(eqx.Module):
    """A user's own module: two logits from a mean of tokens."""

    weight: jax.Array
    name: str = eqx.field(static=True, default="tiny")

    def __call__(self, x):
        return jnp.tanh(jnp.mean(x, axis=0)) @ self.weight


def sample(n, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3, 2)).astype(np.float32)
    return x, (x[:, :, 0].mean(1) > 0).astype(int)


TINY = Tiny(jnp.array([[-5.0, 5.0], [0.1, 0.0]]))


def test_an_equinox_module():
    report = certiformer.certify(TINY, heldout=sample(200), train=sample(100, 1))
    assert report["holdout"].informative
    assert report["holdout"].value < 0.1
    assert report.document["observed"]["train_error"] == 0.0
    assert report.document["observed"]["heldout_error"] <= 0.02
    assert report.document["title"] == "Tiny"
    assert any(entry["name"] == "weight spectral" for entry in report.document["profile"])
    assert "not of this package" in report.document["provenance"]["papers' results"]


def test_a_plain_apply_function():
    def logit(params, x):
        return jnp.mean(x, axis=0) @ params["w"] + params["b"]

    params = {"w": jnp.array([4.0, 0.0]), "b": jnp.array(0.0)}
    report = certiformer.certify((logit, params), heldout=sample(150), train=sample(60, 2))
    assert report["holdout"].informative
    assert report["betting"].bounds == "smoothed_cross_entropy"
    assert report.document["title"] == "logit"


def test_a_function_of_a_batch_from_any_framework():
    def numpy_model(x):
        return np.stack([-x[:, :, 0].mean(1), x[:, :, 0].mean(1)], axis=1)

    report = certiformer.certify(certiformer.Subject(numpy_model, batched=True), heldout=sample(100))
    assert report["holdout"].informative
    assert report.document["profile"] == []


def test_predictions_only_with_three_classes():
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=400)
    logits = rng.normal(size=(400, 3)) + 6 * np.eye(3)[labels]
    report = certiformer.certify(predictions={"heldout_logits": logits, "heldout_labels": labels})
    wrong = int(np.sum(np.argmax(logits, axis=1) != labels))
    assert report["holdout"].terms["observed"] == wrong / 400
    assert report["holdout"].trivial == pytest.approx(2 / 3)
    assert report["betting"].trivial == pytest.approx(np.log(3))
    assert report["betting"].informative
    assert report["occam"].value is None


def test_sixty_examples_are_planned_trained_and_certified():
    def nearest_mean(x, y, seed):
        means = jnp.stack([x[y == label].mean((0, 1)) for label in (0, 1)])
        return lambda example: -jnp.sum((jnp.mean(example, axis=0) - means) ** 2, axis=1)

    report = certiformer.certify(fit=nearest_mean, data=sample(60), declaration={"seed": 5})
    assert report.document["observed"]["heldout_examples"] == 15
    assert report.document["observed"]["train_examples"] == 45
    assert len(report.document["provenance"]["split_data"]) == 64
    again = certiformer.certify(fit=nearest_mean, data=sample(60), declaration={"seed": 5})
    assert again.document["provenance"]["split_data"] == report.document["provenance"]["split_data"]
    with pytest.raises(InputError, match="more than"):
        certiformer.certify(fit=nearest_mean, data=sample(10))


def test_a_certificate_moves_to_the_final_model():
    final = Tiny(TINY.weight * 1.5 + 0.01)
    moved = certiformer.Subject(TINY, final=final, unlabelled=sample(200, 2)[0])
    report = certiformer.certify(moved, heldout=sample(300), train=sample(50, 1))
    row = report["disagreement"]
    assert row.subject == "the final model"
    assert row.value >= report["holdout"].value
    with pytest.raises(InputError, match="unlabelled examples"):
        certiformer.certify(certiformer.Subject(TINY, final=final, unlabelled=sample(300)[0]), heldout=sample(300))
    with pytest.raises(InputError, match="both"):
        certiformer.certify(certiformer.Subject(TINY, final=final), heldout=sample(300))


def test_seen_examples_are_refused():
    x, y = sample(100)
    with pytest.raises(InputError, match=r"20 of 60 that were also used"):
        certiformer.certify(TINY, heldout=(x[:60], y[:60]), train=(x[40:], y[40:]))
    report = certiformer.certify(
        TINY, heldout=(x[:60], y[:60]), train=(x[40:], y[40:]), declaration={"repeats": "natural"}
    )
    assert report.document["provenance"]["heldout_inputs_seen_in_training"] == 20


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"heldout": sample(9)}, "at least 10"),
        ({"heldout": (np.zeros((0, 3, 2)), np.zeros(0))}, "no examples"),
        ({"heldout": (sample(20)[0], sample(19)[1])}, "one for each of 20"),
        ({"heldout": (sample(20)[0], sample(20)[1] + 5)}, "class indices 0 to 1"),
        ({"heldout": (sample(20)[0], sample(20)[1] + 0.5)}, "whole number"),
        ({"heldout": (np.full((20, 3, 2), np.nan), sample(20)[1])}, "finite numbers"),
        ({"heldout": (np.zeros((20, 3, 7), np.float32), sample(20)[1])}, "what the model takes"),
        ({"heldout": sample(20), "delta": 1.5}, "delta"),
        ({"heldout": sample(20), "declaration": {"models": 0}}, "from 1 to"),
        ({}, "held-out examples"),
    ],
)
def test_bad_input_is_refused(changes, message):
    with pytest.raises(InputError, match=message):
        certiformer.certify(TINY, **changes)


def test_weights_that_are_not_finite_are_refused():
    broken = Tiny(jnp.array([[jnp.nan, 1.0], [0.0, 0.0]]))
    with pytest.raises(InputError, match="weight weight: got '1 entries that are nan or infinite'"):
        certiformer.certify(broken, heldout=sample(20))


def test_what_goes_together():
    with pytest.raises(InputError, match="a model, a checkpoint or predictions"):
        certiformer.certify(heldout=sample(20))
    with pytest.raises(InputError, match="one of the two"):
        certiformer.certify(TINY, predictions={})
    with pytest.raises(InputError, match="given beside fit"):
        certiformer.certify(TINY, fit=lambda x, y, seed: TINY, data=sample(40))


def test_ties_are_errors_and_labels_may_be_signs():
    x, y = sample(30)
    zero = certiformer.certify(lambda x: jnp.zeros(()), heldout=(x, 2 * y - 1))
    assert zero.document["observed"]["heldout_error"] == 1.0
    np.testing.assert_array_equal(decisions(np.array([-1.0, 0.0, 2.0])), [0, 0, 1])


def test_a_file_sorted_by_class_does_not_fool_betting():
    # i.i.d. data sorted by label, a model that is worse on one class: the limit must stay above the true loss.
    missed = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        y = np.sort(rng.integers(0, 2, 400))
        probability = np.where(y == 0, 0.95, 0.55)
        bet = betting(probability, 2, 1)
        truth = float(np.mean([np.mean(betting(np.full(1, p), 2, 1).losses) for p in (0.95, 0.55)]))
        limit = certiformer.bound("betting", **bet.inputs(0.05)).sound["value"].value
        missed += limit < truth
    assert missed <= 4


def test_models_are_paid_for_in_every_flow():
    def fit(x, y, seed):
        return TINY

    one = certiformer.certify(fit=fit, data=sample(200))
    many = certiformer.certify(fit=fit, data=sample(200), declaration={"models": 1000})
    assert many["holdout"].value > one["holdout"].value
    with pytest.raises(InputError, match=r"Declaration\(models=...\)"):
        certiformer.certify(models=3)
    with pytest.raises(InputError, match="final, unlabelled"):
        certiformer.certify(certiformer.Subject(None, final=TINY), fit=fit, data=sample(200))


def test_a_regression_with_training_examples_has_no_classes_to_profile():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3)).astype(np.float32)
    y = x.sum(axis=1) + 0.1 * rng.normal(size=200)
    model = (lambda weights, row: row @ weights, np.ones(3, np.float32))
    parts = {"heldout": (x[:100], y[:100]), "train": (x[100:], y[100:])}
    report = certiformer.certify(model, **parts, declaration={"clip": 1.0})
    assert "clipped absolute error" in report.headline
