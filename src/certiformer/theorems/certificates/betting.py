from __future__ import annotations

import math

import numpy as np

from certiformer.calculus.betting import betting_upper
from certiformer.core import (
    Quantity,
    Result,
    Status,
    Variants,
    assumed,
    flag,
    real,
    reals,
    upper_bound,
)
from certiformer.core.errors import InputError
from certiformer.theorems.certificates import CERTIFICATES


class Betting(Result):
    r"""Betting certificate for a bounded loss.

    The capital of a gambler who bets against the mean m, K_t(m) = prod (1 + b_i (m - x_i)), is a martingale if m is
    right;
    means at which it reaches 1/delta are rejected. For cross-entropy the predictor is smoothed,
    p' = (1-a) p + a/K, so that the loss lies in [-ln(1-a+a/K), ln(K/a)]; the smoothed predictor is what is certified.

    Sound: mean loss <= the smallest m at which prod (1 + b_i (m - x_i)) reaches 1/delta, bets predictable
    .. math:: \sup\{m : \max_t \prod_{i\le t}(1+b_i(m-x_i)) < 1/\delta\}
    Because: for losses that are not 0 or 1; for the smoothed cross-entropy above all
    Assumes:
    - examples (documents, not tokens of one text) are independent
    - smoothing level fixed beforehand
    """

    id = "betting"
    paper, place = CERTIFICATES, "certificate B"
    bounds, status = Quantity.RISK, Status.NONE
    monotone = "-delta"

    losses: tuple[float, ...] = reals(
        "hold-out losses, in the order they came", low=-math.inf, low_open=False, example=(0.1, 0.0, 0.3, 0.05)
    )
    delta: float = real("failure probability", high=1.0, example=0.05)
    low: float = real("least possible loss", low=-math.inf, example=0.0, default=0.0)
    high: float = real("largest possible loss", low=-math.inf, default=1.0)
    progressive: bool | None = flag("the model was learning while these losses were recorded")

    def sound(self) -> Variants:
        if self.progressive:
            raise InputError(
                "progressive",
                True,
                "independent losses of one fixed model",
                "The mean changes while it learns: use `progressive`",
            )
        if not self.low < self.high:
            raise InputError("high", self.high, f"a number above low = {self.low}")
        width = self.high - self.low
        scaled = [(loss - self.low) / width for loss in self.losses]
        hypotheses = (
            assumed("the losses are independent, of one model fixed before they were computed, in a fixed order"),
            assumed("the loss lies in [low, high] for every example, not only for these"),
        )
        value = self.low + width * betting_upper(scaled, self.delta)
        return {
            "value": upper_bound(
                value, clip=self.high, hypotheses=hypotheses, terms={"observed": float(np.mean(self.losses))}
            )
        }
