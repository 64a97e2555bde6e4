r"""Real losses of an untouched model through a surrogate: what is counted, from the answers of both.

A loss is a table: for the probabilities of one example, its value at every label. Both losses here are proper scoring
rules, so the mean over labels drawn from p_s of loss(h, y) - loss(s, y) is at least 0, and so is its largest value:
no excess is negative.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax

from certiformer.certificates.surrogate_loss import SurrogateLoss
from certiformer.certification.losses import MOST_UNITS, ORDER_SEED, SMOOTHING, averaged_blocks, in_block
from certiformer.lab.procedures._model import margins
from certiformer.theory.core.errors import InputError, UnknownNameError

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
ANSWERS = ("logits", "probabilities")


@dataclass(frozen=True)
class ProperLoss:
    """The value at every label (n, K) of probabilities (n, K), its range and that of the uniform guess, by K."""

    what: str
    table: Callable[[Array], Array]
    low: Callable[[int], float]
    high: Callable[[int], float]
    guess: Callable[[int], float]


def _cross_entropy(p: Array) -> Array:
    return np.asarray(-np.log((1.0 - SMOOTHING) * p + SMOOTHING / p.shape[1]))


def _brier(p: Array) -> Array:
    return np.asarray(np.sum(p * p, axis=1, keepdims=True) - 2.0 * p + 1.0)


LOSSES = {
    "cross-entropy": ProperLoss(
        "smoothed cross-entropy",
        _cross_entropy,
        low=lambda classes: -math.log(1.0 - SMOOTHING + SMOOTHING / classes),
        high=lambda classes: math.log(classes / SMOOTHING),
        guess=math.log,
    ),
    "brier": ProperLoss(
        "Brier score", _brier, low=lambda _: 0.0, high=lambda _: 2.0, guess=lambda classes: 1.0 - 1.0 / classes
    ),
}
"""By name, as `Surrogate(loss=...)` and a recipe say it."""


def proper_loss(name: str) -> ProperLoss:
    if name not in LOSSES:
        raise UnknownNameError("loss", name, ("error", *LOSSES))
    return LOSSES[name]


def class_probabilities(name: str, answers: Array, outputs: str) -> Array:
    """(n, K) from one logit (the logistic function of it), several (softmax), or probabilities as they are."""
    if outputs == "logits":
        return np.stack([expit(-answers), expit(answers)], axis=1) if answers.ndim == 1 else softmax(answers, axis=1)
    found = np.stack([1.0 - answers, answers], axis=1) if answers.ndim == 1 else answers
    if np.any(found < 0.0) or np.any(np.abs(np.sum(found, axis=1) - 1.0) > 1e-5):
        raise InputError(name, "numbers that are no probabilities", "rows of probabilities that sum to one")
    return np.asarray(found / np.sum(found, axis=1, keepdims=True))


def loss_record(
    loss: str,
    surrogate: Array,
    labels: Labels,
    pool: tuple[Array, Array],
    *,
    picked: Sequence[int] | None,
    outputs: str = "logits",
) -> SurrogateLoss:
    """The record from the answers of s to labelled examples, and of s and of the target to unlabelled ones.

    `picked`: rows that s learnt from in a pick loop; its losses are then those of the others that it gets right. None:
    the labelled examples are a hold-out. `outputs` is what the target answers with; s answers with logits. Orders are
    fixed here; of more than 100,000 consecutive ones are averaged, but not of a pick loop, which counts its losses.
    """
    kind = proper_loss(loss)
    own, theirs = (class_probabilities("target", *each) for each in ((pool[0], "logits"), (pool[1], outputs)))
    classes = own.shape[1]
    rows = np.arange(len(labels))
    at_label = kind.table(class_probabilities("surrogate", surrogate, "logits"))[rows, labels]
    kept = np.ones(len(labels), bool) if picked is None else margins(surrogate, labels) > 0.0  # a tie is wrong
    if picked is not None:
        kept[np.asarray(picked, np.int64)] = False
    excess = np.max(kind.table(theirs) - kind.table(own), axis=1)
    low, high = kind.low(classes), kind.high(classes)
    losses, merged = _ordered(np.clip(at_label[kept], low, high), whole=picked is not None)
    apart, merged_excess = _ordered(np.clip(excess, 0.0, high - low))
    return SurrogateLoss(
        losses=losses,
        merged=merged,
        excess=apart,
        merged_excess=merged_excess,
        low=low,
        high=high,
        k=None if picked is None else int(np.sum(~kept)),
        least=0.0,
        what=kind.what,
        guess=kind.guess(classes),
        loss=loss,
        outputs=outputs,
    )


def _ordered(values: Array, *, whole: bool = False) -> tuple[Array, int]:
    """In a random order fixed beforehand, for a file sorted by class is in none to bet on; how many are averaged."""
    shuffled = np.random.default_rng(ORDER_SEED).permutation(values)
    if whole or len(shuffled) <= MOST_UNITS:
        return shuffled, 1
    return averaged_blocks(shuffled), in_block(len(shuffled))
