"""Probabilities of true labels as the record of the betting certificate."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from certiformer.certificates.betting import Betting
from certiformer.certification.losses import MOST_UNITS, SMOOTHING, averaged_blocks
from certiformer.theory.core.errors import InputError

Array = npt.NDArray[np.float64]

LEAST_EXAMPLES = 10
ORDER_SEED = 20_000


def enough(name: str, n: int) -> None:
    """Refuse a held-out set from which nothing can follow."""
    if n < LEAST_EXAMPLES:
        raise InputError(name, f"{n} examples", f"at least {LEAST_EXAMPLES}", "Certify on more examples")


def betting(probabilities: Array, classes: int, models: int) -> Betting:
    """Smoothed cross-entropies -ln((1-a) p + a/K), in a random order fixed beforehand.

    Betting needs exchangeable losses. A file sorted by class is not, until it is shuffled without looking at it. Of
    more than 100,000 losses consecutive ones are averaged: their means are independent and have the same mean.
    """
    low, high = float(-np.log(1.0 - SMOOTHING + SMOOTHING / classes)), float(np.log(classes / SMOOTHING))
    losses = np.multiply(probabilities, 1.0 - SMOOTHING)
    losses += SMOOTHING / classes
    np.log(losses, out=losses)
    np.negative(losses, out=losses)
    # Rounding may leave the interval by one unit in the last place.
    np.clip(losses, low, high, out=losses)
    np.random.default_rng(ORDER_SEED).shuffle(losses)
    if len(losses) > MOST_UNITS:
        losses = averaged_blocks(losses)
    return Betting(
        losses=tuple(losses.tolist()), low=low, high=high, smoothing=SMOOTHING, classes=classes, models=models
    )
