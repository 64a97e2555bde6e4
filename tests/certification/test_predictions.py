"""Certificates from arrays alone: forms of predictions, optional parts, and what is refused."""

import numpy as np
import pytest

import certiformer
from certiformer.certification import linear_head
from certiformer.certification.predictors import gaussian
from certiformer.certification.predictors import linear_head as heads
from certiformer.theory.core.errors import InputError

RNG = np.random.default_rng(0)
LABELS = RNG.integers(2, size=300)
LOGITS = RNG.normal(size=300) + 4 * (2 * LABELS - 1)


def certify(**arrays):
    return certiformer.certify(predictions=arrays)


def test_all_forms_of_predictions_agree():
    probability = 1 / (1 + np.exp(-LOGITS))
    hard = (LOGITS > 0).astype(int)
    forms = [
        certify(heldout_logits=LOGITS, heldout_labels=LABELS),
        certify(heldout_logits=np.stack([np.zeros(300), LOGITS], axis=1), heldout_labels=LABELS),
        certify(heldout_logits=LOGITS, heldout_labels=2 * LABELS - 1),
        certify(heldout_probabilities=probability, heldout_labels=LABELS),
        certify(heldout_probabilities=np.stack([1 - probability, probability], axis=1), heldout_labels=LABELS),
    ]
    for report in forms:
        assert report["holdout"].value == forms[0]["holdout"].value
        assert report["betting"].value == pytest.approx(forms[0]["betting"].value, rel=1e-9)
    only = certify(heldout_predictions=hard, heldout_labels=LABELS)
    assert only["holdout"].terms["observed"] == forms[0]["holdout"].terms["observed"]
    assert "hard predictions" in only["betting"].reason


def test_the_optional_parts_add_certificates():
    losses = (RNG.random(500) < 0.02).astype(int)
    report = certify(
        heldout_predictions=(LOGITS > 0).astype(int),
        heldout_labels=LABELS,
        heldout_ids=np.arange(300),
        train_ids=np.arange(300, 700),
        train_predictions=np.ones(400, int),
        train_labels=np.ones(400, int),
        progressive_losses=losses,
        unlabelled_predictions=np.zeros(200, int),
        unlabelled_final_predictions=np.concatenate([np.ones(3, int), np.zeros(197, int)]),
    )
    assert report["progressive"].terms["observed"] == losses.mean()
    assert report["progressive"].bounds == "mean_iterate_risk_01"
    assert report["disagreement"].informative
    assert report.document["observed"]["train_error"] == 0.0
    assert report.document["provenance"]["heldout_ids_seen_in_training"] == 0


def test_overlap_by_ids_or_inputs_is_refused():
    base = {"heldout_predictions": LABELS, "heldout_labels": LABELS}
    with pytest.raises(InputError, match="1 of 300"):
        certify(**base, heldout_ids=np.arange(300), train_ids=np.arange(299, 400))
    inputs = RNG.normal(size=(300, 4))
    with pytest.raises(InputError, match="5 of 300"):
        certify(**base, heldout_inputs=inputs, train_inputs=inputs[:5])
    assert "not checked" in certify(**base).document["provenance"]["overlap_with_training"]
    fresh = {"unlabelled_predictions": LABELS, "unlabelled_final_predictions": LABELS, "unlabelled_inputs": inputs}
    with pytest.raises(InputError, match="unlabelled examples"):
        certify(**base, heldout_inputs=inputs, **fresh)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"heldout_labels": LABELS}, "exactly one of"),
        ({"heldout_logits": LOGITS}, "exactly one of"),
        ({"heldout_logits": LOGITS, "heldout_predictions": LABELS, "heldout_labels": LABELS}, "exactly one of"),
        ({"heldout_logits": LOGITS[:9], "heldout_labels": LABELS[:9]}, "at least 10"),
        ({"heldout_logits": LOGITS, "heldout_labels": LABELS[:-1]}, "shape"),
        ({"heldout_logits": np.where(LOGITS > 0, np.nan, LOGITS), "heldout_labels": LABELS}, "finite"),
        ({"heldout_logits": LOGITS, "heldout_labels": LABELS + 2}, "class indices"),
        ({"heldout_logits": LOGITS, "heldout_labels": np.array(["a"] * 300)}, "names of the columns"),
        ({"heldout_probabilities": np.full((300, 2), 0.9), "heldout_labels": LABELS}, "add up to 1"),
        ({"heldout_predictions": LABELS[:-1], "heldout_labels": LABELS}, "one for each of 300"),
        ({"heldout_predictions": LABELS, "heldout_labels": LABELS, "progressive_losses": np.full(20, 0.5)}, "0 or 1"),
        ({"heldout_predictions": LABELS, "heldout_labels": LABELS, "progressive_losses": np.ones(3)}, "at least 10"),
        ({"heldout_predictions": LABELS, "heldout_labels": LABELS, "unlabelled_predictions": LABELS}, "both"),
        (
            {"heldout_predictions": LABELS, "heldout_labels": LABELS}
            | {"unlabelled_predictions": 1e19 + 1e19 * LABELS, "unlabelled_final_predictions": 2e19 - 1e19 * LABELS},
            "one predicted class",
        ),
        ({"heldout_predictions": LABELS, "heldout_labels": LABELS, "head_labels": LABELS}, "both"),
        ({"heldout_predictions": LABELS, "heldout_labels": LABELS, "classes": np.array(1)}, "at least 2"),
        ({"heldout_predictions": LABELS, "heldout_labels": LABELS, "heldout_ids": np.arange(3)}, "one for each"),
    ],
)
def test_bad_arrays_are_refused(arrays, message):
    with pytest.raises(InputError, match=message):
        certify(**arrays)


def blobs(n, classes, width=6, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=n)
    return rng.normal(size=(n, width)) + 4 * np.eye(classes, width)[labels], labels


@pytest.mark.parametrize("classes", [2, 3])
def test_a_head_on_frozen_features_gets_occam_and_pac_bayes(classes):
    features, labels = blobs(600, classes)
    report = certify(heldout_predictions=labels, heldout_labels=labels, head_features=features, head_labels=labels)
    for id in ("occam", "pacbayes.gibbs", "pacbayes.single"):
        assert report[id].informative, id
        assert "head" in report[id].subject
    # Features that an encoder learnt from these labels make coin flips look certain.
    assert report.not_checked[0] == "whether the encoder behind head_features had seen the labels of these examples"


def test_the_linear_head_is_the_minimiser_and_counts_ties():
    features, labels = blobs(200, 3)
    features = heads.prepared(features)
    np.testing.assert_allclose(np.linalg.norm(features[:, :-1], axis=1), 1.0)
    head = linear_head.fit(features, labels, 3, penalty=1.0)

    def objective(w):
        scores = features @ w
        logs = scores - np.log(np.sum(np.exp(scores), axis=1, keepdims=True))
        return -np.mean(logs[np.arange(200), labels]) + 0.5 / 200 * np.sum(w * w)

    rng = np.random.default_rng(1)
    assert all(objective(head) <= objective(head + 0.05 * rng.normal(size=head.shape)) for _ in range(20))
    assert np.sum(gaussian.mistakes(features @ np.zeros_like(head), labels)) == 200


@pytest.mark.independent("pacbayes.gibbs")
def test_the_error_of_a_gaussian_head_is_what_sampling_gives():
    features, labels = blobs(50, 2)
    features = heads.prepared(features)
    mean = linear_head.fit(features, labels, 2)
    rng = np.random.default_rng(0)
    rates = [
        np.mean(gaussian.mistakes(features @ (mean + 1.5 * rng.normal(size=mean.shape)), labels)) for _ in range(4000)
    ]
    assert gaussian.exact_error(mean, 1.5, features, labels) == pytest.approx(
        np.mean(rates), abs=4 * np.std(rates) / 63
    )


def test_the_draw_and_the_subspace_depend_on_the_seed_alone():
    features, labels = blobs(100, 2)
    data = heads.prepared(features), labels, 2
    assert linear_head.pac_bayes(*data, 1) == linear_head.pac_bayes(*data, 1)
    np.testing.assert_array_equal(heads.subspace(7, 4, 3), heads.subspace(7, 4, 3))
    assert not np.array_equal(heads.subspace(7, 4, 3), heads.subspace(7, 4, 4))


def test_a_single_column_of_predictions_is_read_as_one():
    hard = {"heldout_predictions": LABELS, "heldout_labels": LABELS}
    fresh = RNG.integers(2, size=200)[:, None]
    opposite = certify(**hard, unlabelled_predictions=fresh, unlabelled_final_predictions=1 - fresh)
    assert opposite["disagreement"].value == 1.0
    assert "Nobody checked" in opposite["disagreement"].reason


def test_probabilities_need_a_column_per_class():
    three = np.full((300, 3), 1 / 3)
    with pytest.raises(InputError, match="3 columns"):
        certify(heldout_probabilities=three, heldout_labels=LABELS, classes=2)


def test_seeds_of_a_head_that_were_compared_are_paid_for():
    features = np.random.default_rng(3).normal(size=(200, 3))
    arrays = {
        "heldout_predictions": LABELS,
        "heldout_labels": LABELS,
        "head_features": features,
        "head_labels": (features[:, 0] > 0).astype(int),
    }
    one, many = (certiformer.certify(predictions=arrays, declaration={"models": k}) for k in (1, 50))
    for id in ("occam", "pacbayes.gibbs", "pacbayes.single"):
        assert many[id].value > one[id].value
