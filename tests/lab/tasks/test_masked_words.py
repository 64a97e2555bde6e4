"""Masked words: Trauger and Tewari's section 5 on generated text."""

import jax
import jax.numpy as jnp
import numpy as np

from certiformer.lab import models, tasks


def small(**settings):
    return tasks.build("masked_words", jax.random.key(3), n=400, n_test=300, vocabulary=50, d=8, tokens=8, **settings)


def test_the_predicted_word_and_its_share_are_masked():
    task = small(share=0.25)
    words, labels = np.asarray(task.train.meta["words"]), np.asarray(task.train.labels)
    assert task.source.masked == 2
    assert np.all(words[:, :2] == 50)
    assert np.all(words[:, 2:] < 50)
    assert set(labels.tolist()) <= set(range(50))
    assert float(jnp.max(jnp.linalg.norm(task.train.inputs, axis=-1))) <= 1.0 + 1e-6


def test_no_predictor_is_right_more_often_than_the_best():
    task = small()
    counts = np.bincount(np.asarray(task.test.labels), minlength=50)
    # The most frequent word on the sample itself is an optimistic reading of the unigram baseline.
    assert counts.max() / 300 < task.meta["best_possible_accuracy"]
    assert abs(counts.max() / 300 - task.meta["unigram_accuracy"]) < 0.1
    alone = small(topics=1)
    assert np.all(np.asarray(alone.source.best(alone.test.meta["words"])) == np.argmax(alone.source.likely[0]))


def test_reading_row_zero_is_reading_the_masked_row():
    """The paper reads the masked row where it stands; here it stands first, and attention does not see the order."""
    task = small()
    model = models.build("cls_transformer", jax.random.key(0), d=8, k=8, readout="classes", classes=50)
    asked = models.build("cls_transformer", jax.random.key(0), d=8, k=8, readout="masked", classes=50)
    x = task.train.inputs[0]
    order = np.random.default_rng(0).permutation(8)
    where = int(np.flatnonzero(order == 0)[0])
    np.testing.assert_allclose(model(x), asked(x[order], where), rtol=1e-5, atol=1e-6)
