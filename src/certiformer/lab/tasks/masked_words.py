"""Masked words: the objective of Trauger and Tewari's section 5, on text that is generated."""

from __future__ import annotations

from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from certiformer.lab.models._base import check_count
from certiformer.lab.models._draws import array, generators, unit_directions
from certiformer.lab.tasks._task import Dataset, Task, check_number
from certiformer.lab.tasks.sparse_majority import positional_encoding


class MaskedWords(eqx.Module):
    """Sentences of T words from V; some are masked, and the label is the word behind one of the masks.

    A sentence has one of several topics, equally likely; its words are independent given the topic, each from Zipf's
    law P(rank r) ~ r^-a over the common order of the words (with probability `common`) or over the topic's own.
    A word is a vector of length 1/2 plus an encoding of its position of length at most 1/2; row V of `words` is the
    mask. The row to be predicted stands first: attention does not see the order of its rows (positions are part of
    the tokens), so reading row 0 is the paper's reading of the masked row.
    """

    likely: Float[Array, "topics V"]
    words: Float[Array, "V+1 d"]
    positions: Float[Array, "T d"]
    masked: int = eqx.field(static=True)

    @classmethod
    def draw(
        cls,
        key: PRNGKeyArray,
        *,
        vocabulary: int = 1000,
        tokens: int = 20,
        topics: int = 10,
        d: int = 64,
        exponent: float = 1.2,
        common: float = 0.3,
        share: float = 0.15,
        dtype: Any = jnp.float32,
    ) -> Self:
        """Draw the topics and the vectors; `share` of the tokens, at least one, are masked."""
        for name, value, least in (("vocabulary", vocabulary, 2), ("tokens", tokens, 2), ("topics", topics, 1)):
            check_count(name, value, least)
        check_count("d", d)
        check_number("exponent", exponent)
        check_number("common", common, 0.0, 1.0)
        check_number("share", share, 0.0, 1.0, strict=True)
        rng_topic, rng_word = generators(key, 2)
        zipf = np.arange(1, vocabulary + 1) ** -float(exponent)
        zipf /= zipf.sum()
        own = np.stack([zipf[rng_topic.permutation(vocabulary)] for _ in range(topics)])
        return cls(
            array(common * zipf + (1.0 - common) * own, dtype),
            array(0.5 * unit_directions(rng_word, (vocabulary + 1, d)), dtype),
            array(0.5 * positional_encoding(tokens, d, paired=True) / np.sqrt((d + 1) // 2), dtype),
            max(1, round(share * tokens)),
        )

    def sample(self, key: PRNGKeyArray, n: int) -> Dataset:
        """n independent sentences; `meta` has the words in the order of the rows, V for a mask, and the topic."""
        rng = generators(key, 1)[0]
        topics, vocabulary = self.likely.shape
        tokens = self.positions.shape[0]
        ladder = np.cumsum(np.asarray(self.likely, np.float64), axis=1)
        topic = rng.integers(0, topics, n)
        drawn = rng.random((n, tokens))
        words = np.empty((n, tokens), np.int32)
        for each in range(topics):
            rows = topic == each
            words[rows] = np.minimum(np.searchsorted(ladder[each], drawn[rows] * ladder[each, -1]), vocabulary - 1)
        # A random order of the positions: the first is predicted, it and the next ones are masked.
        order = rng.permuted(np.tile(np.arange(tokens), (n, 1)), axis=1)
        shown = np.take_along_axis(words, order, axis=1)
        labels = shown[:, 0].copy()
        shown[:, : self.masked] = vocabulary
        inputs = self.words[jnp.asarray(shown)] + self.positions[jnp.asarray(order)]
        meta = {"words": jnp.asarray(shown), "topic": jnp.asarray(topic)}
        return Dataset(inputs, jnp.asarray(labels, jnp.int32), meta)

    def best(self, shown: Int[Array, "n T"]) -> Int[Array, " n"]:
        """The most likely word behind the mask given all words that are shown: no predictor is right more often."""
        likely = np.asarray(self.likely, np.float64)
        visible = np.asarray(shown)[:, self.masked :]
        logs = np.sum(np.log(likely)[:, visible], axis=2).T
        posterior = np.exp(logs - logs.max(axis=1, keepdims=True))
        return jnp.asarray(np.argmax(posterior @ likely, axis=1))

    def unigram_accuracy(self) -> float:
        """The accuracy of always naming the most frequent word."""
        return float(np.max(np.mean(np.asarray(self.likely, np.float64), axis=0)))


def masked_words(key: PRNGKeyArray, *, n: int = 5000, n_test: int = 2000, **settings: Any) -> Task:
    """n training and n_test test sentences; `settings` as in `MaskedWords.draw`.

    `meta` has the accuracies to compare with: of the most frequent word, and of the best predictor on the test part.
    """
    check_count("n", n)
    check_count("n_test", n_test)
    key_source, key_train, key_test = jax.random.split(key, 3)
    source = MaskedWords.draw(key_source, **settings)
    train, test = source.sample(key_train, n), source.sample(key_test, n_test)
    best = float(np.mean(np.asarray(source.best(test.meta["words"])) == np.asarray(test.labels)))
    known = {"unigram_accuracy": source.unigram_accuracy(), "best_possible_accuracy": best}
    return Task("masked_words", train, test, "classes", "zero-one", None, source, known)
