"""What numbers mean: one coding for labels and predictions, forms of outputs, repeats, groups, ids."""

import numpy as np
import pytest

import certiformer
from certiformer.theory.core.errors import CertiformerError, InputError, UnknownNameError
from declaring import certified

RANDOM = np.random.default_rng(1)
N = 200


def certify(options=None, **arrays):
    return certified(arrays, **(options or {}))


def errors(report):
    return report["holdout"].evidence.errors


HALVES = np.repeat([0, 1], N // 2)


def test_abstentions_are_not_right_answers():
    """Labels 0/1 with predictions -1/+1 once counted a hundred abstentions as right."""
    mixed = {"heldout_labels": HALVES, "heldout_predictions": np.repeat([-1, 1], N // 2)}
    with pytest.raises(InputError, match="abstain=-1"):
        certify(**mixed)
    report = certify({"abstain": -1}, **mixed)
    assert errors(report) == N // 2
    assert any("abstentions" in text for text in report.warnings)


@pytest.mark.parametrize(
    ("labels", "predictions"),
    [
        (HALVES, HALVES),
        (HALVES + 1, HALVES + 1),
        (2 * HALVES - 1, 2 * HALVES - 1),
        (np.array(["no", "yes"])[HALVES], np.array(["no", "yes"])[HALVES]),
        (HALVES.astype(float), HALVES.astype(bool)),
        (HALVES, HALVES[:, None]),
    ],
)
def test_codings_of_two_classes(labels, predictions):
    report = certify(heldout_labels=labels, heldout_predictions=predictions)
    assert errors(report) == 0
    assert report["holdout"].trivial == 0.5


def test_labels_from_one_beside_columns():
    labels = RANDOM.integers(3, size=N)
    logits = RANDOM.normal(size=(N, 3)) + 4 * np.eye(3)[labels]
    zero, one = (certify(heldout_labels=labels + shift, heldout_logits=logits) for shift in (0, 1))
    assert errors(zero) == errors(one)
    assert one.document["provenance"]["coding"] == "classes 1 to 3"
    named = np.array(["a", "b", "c"])[labels]
    assert errors(certify({"classes": ["a", "b", "c"]}, heldout_labels=named, heldout_logits=logits)) == errors(zero)
    with pytest.raises(InputError, match="names of the columns in order"):
        certify(heldout_labels=named, heldout_logits=logits)
    with pytest.raises(InputError, match="one of the classes"):
        certify({"classes": ["a", "b", "x"]}, heldout_labels=named, heldout_logits=logits)


def test_the_number_of_classes_is_what_was_seen():
    assert certify(heldout_labels=HALVES + 1, heldout_predictions=HALVES + 1)["holdout"].trivial == 0.5
    assert certify({"classes": 10}, heldout_labels=HALVES, heldout_predictions=HALVES)["holdout"].trivial == 0.9


def test_names_beside_numbers_are_refused():
    with pytest.raises(InputError, match="one coding for both"):
        certify(heldout_labels=HALVES, heldout_predictions=np.array(["0", "1"])[HALVES])
    with pytest.raises(InputError, match="some of the labels"):
        certify(heldout_labels=np.array(["a", "b"])[HALVES], heldout_predictions=np.array(["x", "y"])[HALVES])


def test_outputs_are_asked_about():
    probability = np.clip(RANDOM.random(N), 0.01, 0.99)
    with pytest.raises(InputError, match="give them as heldout_probabilities"):
        certify(heldout_labels=HALVES, heldout_logits=probability)
    with pytest.raises(InputError, match="give them as heldout_predictions"):
        certify(heldout_labels=HALVES, heldout_logits=3 * HALVES)
    with pytest.raises(InputError, match="heldout_probabilities"):
        certiformer.certify(certiformer.Subject(lambda x: x, batched=True), heldout=(probability, HALVES))
    declared = certify({"outputs": "logits"}, heldout_labels=HALVES, heldout_logits=probability)
    assert errors(declared) == N // 2
    by_labels = certiformer.certify(
        certiformer.Subject(lambda x: HALVES, batched=True),
        heldout=(RANDOM.normal(size=N), HALVES),
        declaration={"outputs": "labels"},
    )
    assert errors(by_labels) == 0


def test_masked_classes_and_probabilities_that_nearly_add_up():
    logits = RANDOM.normal(size=(N, 3)) + 4 * np.eye(3)[HALVES]
    logits[:, 2] = -np.inf
    assert errors(certify(heldout_labels=HALVES, heldout_logits=logits)) < N // 4
    logits[5] = -np.inf
    with pytest.raises(InputError, match="example 5"):
        certify(heldout_labels=HALVES, heldout_logits=logits)
    off = np.stack([1.0 - 0.9 * HALVES, 0.9 * HALVES + 5e-4], axis=1)
    report = certify(heldout_labels=HALVES, heldout_probabilities=off)
    assert "normalised" in " ".join(report.warnings)


def test_right_or_wrong_and_probabilities_of_labels_are_enough():
    correct = RANDOM.random(N) < 0.9
    report = certify(
        {"classes": 50_000}, heldout_correct=correct, heldout_label_probabilities=np.where(correct, 0.8, 0.01)
    )
    assert errors(report) == int(np.sum(~correct))
    assert report["betting"].evidence.classes == 50_000
    with pytest.raises(InputError, match="size of the vocabulary"):
        certify(heldout_label_probabilities=np.full(N, 0.5))
    with pytest.raises(InputError, match="true or false"):
        certify(heldout_correct=np.full(N, 0.5))


def test_repeats_are_refused_grouped_or_declared():
    inputs = np.repeat(RANDOM.normal(size=(25, 3)), 8, axis=0)
    wrong = np.repeat(np.arange(25) < 5, 8)
    with pytest.raises(InputError, match=r"175 of 200 inputs repeat another one \(25 distinct\)"):
        certify(heldout_correct=~wrong, heldout_inputs=inputs)
    grouped = certify({"repeats": "group"}, heldout_correct=~wrong, heldout_inputs=inputs)
    assert grouped["mean_loss"].evidence.size == 25
    assert grouped["mean_loss"].value > 0.3
    assert grouped["holdout"].value is None
    natural = certify({"repeats": "natural"}, heldout_correct=~wrong, heldout_inputs=inputs)
    assert natural["holdout"].value < 0.3
    assert any("really repeats" in text for text in natural.document["conditions"])
    with pytest.raises(InputError, match="rows repeat"):
        certify(heldout_correct=~wrong, heldout_ids=np.repeat(np.arange(25), 8))


def test_near_repeats_are_warned_of():
    texts = np.array(
        [f"What is the sum of {k} and {k + 1} in base ten?" for k in range(20)] + [f"Q{k}" for k in range(20)]
    )
    report = certify(heldout_correct=np.ones(40, bool), heldout_inputs=texts)
    assert any("19 inputs nearly repeat" in text for text in report.document["warnings"])


def test_groups_are_units_and_must_share_nothing():
    groups = np.repeat(np.arange(50), 4)
    correct = np.repeat(RANDOM.random(50) < 0.9, 4)
    report = certify(heldout_correct=correct, heldout_groups=groups)
    assert "over new groups" in report.headline
    assert report["holdout"].value is None
    with pytest.raises(InputError, match="rows of groups"):
        certify(heldout_correct=correct, heldout_groups=groups, train_groups=np.arange(49, 60))
    ids = np.arange(200)
    ids[7] = 100
    with pytest.raises(InputError, match="more than one group"):
        certify(heldout_correct=correct, heldout_groups=groups, heldout_ids=ids)
    with pytest.raises(InputError, match="declared beforehand"):
        certify({"estimand": "rows"}, heldout_correct=correct, heldout_groups=groups)


def test_ids_of_different_types_are_the_same_examples():
    with pytest.raises(InputError, match="10 of 200"):
        certify(
            heldout_correct=np.ones(N, bool), heldout_ids=np.arange(N), train_ids=np.array([str(k) for k in range(10)])
        )


def test_what_was_not_checked_stands_beside_the_headline():
    bare = certify(heldout_correct=np.ones(N, bool))
    assert len(bare.document["not_checked"]) == 3
    full = certify(
        heldout_correct=np.ones(N, bool),
        heldout_ids=np.arange(N),
        train_ids=np.arange(N, 2 * N),
        heldout_inputs=np.arange(N)[:, None],
        train_inputs=np.arange(N, 2 * N)[:, None],
        heldout_groups=np.arange(N) // 2,
    )
    assert full.document["not_checked"] == []
    assert bare.document["basis"] == "0 errors among 200 held-out examples"


def test_one_certificate_has_the_whole_of_delta():
    given = {"heldout_labels": HALVES, "heldout_probabilities": np.where(HALVES, 0.9, 0.1)}
    shared, alone = certify(**given), certify({"only": "holdout"}, **given)
    assert alone["holdout"].value < shared["holdout"].value
    assert alone["holdout"].value == pytest.approx(1 - 0.05 ** (1 / N), rel=1e-9)
    assert alone["betting"].reason == "not asked for: only holdout was"
    with pytest.raises(UnknownNameError, match="did you mean holdout"):
        certify({"only": "hold-out"}, **given)
    with pytest.raises(InputError, match="something was counted"):
        certify({"only": "occam"}, **given)


def test_a_clipped_loss_comes_with_the_rate_beyond():
    losses = RANDOM.exponential(size=N)
    report = certify({"clip": 2.0}, heldout_losses=losses)
    assert report["mean_loss"].evidence.high == 2.0
    assert report["holdout (loss beyond 2)"].evidence.errors == int(np.sum(losses > 2))
    assert "clipped loss" in report.headline


def test_slices_share_delta():
    labels = RANDOM.integers(3, size=N)
    report = certify({"slices": "label"}, heldout_labels=labels, heldout_predictions=labels)
    assert {row.evidence.key for row in report.statements if row.evidence} == {
        "holdout",
        *(f"holdout (label {k})" for k in range(3)),
    }
    assert report["holdout"].evidence.n == N
    assert report["holdout (label 1)"].subject == "the model on label 1"
    assert "The model errs" in report.headline


@pytest.mark.parametrize(
    ("arrays", "options", "message"),
    [
        ({"heldout_losses": [0.5] * 20, "heldout_lables": [1] * 20}, {}, "did you mean heldout_labels"),
        ({"heldout_losses": np.arange(20) / 20}, {}, "sorted by its own values"),
        ({"heldout_losses": [np.nan] * 20}, {}, "nan or infinity"),
        ({"heldout_losses": [2.0] * 20}, {}, "--range A B"),
        ({"heldout_losses": [0.5] * 20, "heldout_groups": [1] * 19}, {}, "one for each of 20"),
        ({"heldout_losses": [0.5] * 20}, {"order": "best"}, "order"),
        ({"heldout_losses": [0.5] * 20}, {"clip": 1.0, "range": (0, 2.0)}, "not both"),
        ({"heldout_losses": [0.5] * 20}, {"repeats": "drop"}, "repeats"),
        ({"heldout_correct": [1] * 20}, {"slices": "label"}, "labels for slices"),
    ],
)
def test_what_cannot_be_meant_is_refused(arrays, options, message):
    with pytest.raises(CertiformerError, match=message):
        certify(options, **{name: np.asarray(value) for name, value in arrays.items()})


def test_labels_from_zero_beside_predictions_from_one():
    """They counted as all wrong."""
    with pytest.raises(InputError, match=r"from 0 and the other from 1.*classes=3"):
        certify(heldout_labels=HALVES, heldout_predictions=HALVES + 1)
    with pytest.raises(InputError, match="one coding"):
        certify(heldout_labels=HALVES + 1, heldout_predictions=HALVES)
    assert errors(certify({"classes": 3}, heldout_labels=HALVES, heldout_predictions=HALVES + 1)) == N


GROUPS = np.arange(N) // 4
SLICES = np.where(np.arange(N) % 4 < 2, "a", "b")
WRONG = (np.arange(N) % 8 == 0) | (np.arange(N) % 12 == 2)


def rows_by_label(report):
    return {row.evidence.label: row for row in report.statements if row.evidence is not None}


def test_slices_of_grouped_rows():
    """The mean over groups of the mean over the group's rows in the slice, as if the file held nothing else."""
    report = certify(heldout_correct=~WRONG, heldout_groups=GROUPS, heldout_slices=SLICES)
    rows = rows_by_label(report)
    assert set(rows) == {"", "slice a", "slice b"}
    assert len(set(report.document["shares"].values())) == 1
    inside = SLICES == "a"
    share = report.document["shares"]["mean_loss (slice a)"]
    alone = certify({"delta": share}, heldout_correct=~WRONG[inside], heldout_groups=GROUPS[inside])
    assert rows["slice a"].value == pytest.approx(alone["mean_loss"].value, rel=1e-9)
    assert rows["slice a"].evidence.observed == WRONG[inside].mean()
    assert report["mean_loss"].subject == "the model"


def test_slices_of_losses_and_slices_in_one_group():
    names = np.where(GROUPS == 7, "odd", SLICES)
    report = certify(heldout_losses=WRONG / 2, heldout_groups=GROUPS, heldout_slices=names)
    assert set(rows_by_label(report)) == {"", "slice a", "slice b"}
    assert any("slice odd has rows in one group" in text for text in report.document["warnings"])
    metrics = certify({"order": "hash"}, heldout_losses_f=WRONG / 2, heldout_losses_g=WRONG / 3, heldout_slices=SLICES)
    assert "f, slice a" in rows_by_label(metrics)
    with pytest.raises(InputError, match="a single draw"):
        certify({"slices": "group"}, heldout_correct=~WRONG, heldout_groups=GROUPS)


TOKENS = 1 + np.arange(60) % 7
NATS = np.abs(np.sin(np.arange(60.0)))


def test_log_losses_of_documents_and_of_their_tokens():
    from certiformer.evaluation import mean_limits

    ids = {"heldout_ids": np.arange(60)}
    clipped = certify({"clip": 2.0, "two_sided": True}, heldout_log_losses=NATS, **ids)
    assert "perplexity" not in clipped.headline  # of a clipped loss exp is none
    assert clipped["mean_loss"].evidence.observed == pytest.approx(NATS.mean())
    corpus = certify(
        {"clip": 2.0, "estimand": "rows", "max_size": 10, "order": "hash", "only": "mean_loss"},
        heldout_log_losses=NATS,
        heldout_sizes=TOKENS,
        **ids,
    )["mean_loss"]
    assert corpus.evidence.observed == pytest.approx(np.average(NATS, weights=TOKENS))
    names = [str(k) for k in range(60)]
    expected = mean_limits(NATS, 0.05, 0, 2, weights=TOKENS / 10, order="hash", ids=names).upper
    assert corpus.value == pytest.approx(expected, rel=1e-12)
    smoothed = certify({"classes": 100, "two_sided": True}, heldout_log_losses=NATS, **ids)
    assert smoothed["mean_loss"].lower is None
    assert smoothed["mean_loss"].trivial == pytest.approx(np.log(100))
    assert smoothed["mean_loss"].evidence.observed == pytest.approx(NATS.mean() - np.log(0.99))


@pytest.mark.parametrize(
    ("options", "arrays", "said"),
    [
        ({}, {}, "classes=V"),
        ({"clip": 2.0, "estimand": "rows"}, {"heldout_sizes": TOKENS}, "declared beforehand"),
        ({"clip": 2.0, "estimand": "rows", "max_size": 5}, {"heldout_sizes": TOKENS}, "at least 7"),
        ({"clip": 2.0, "estimand": "rows", "max_size": 9}, {"heldout_sizes": 0 * TOKENS}, "above 0"),
        ({"clip": 2.0}, {"heldout_log_losses": -NATS - 1}, "at least 0"),
    ],
)
def test_log_losses_that_say_nothing(options, arrays, said):
    with pytest.raises(InputError, match=said):
        certify(options, **{"heldout_log_losses": NATS, **arrays})
