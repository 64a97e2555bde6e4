r"""B, betting: the mean of a bounded loss from i.i.d. hold-out losses.

The capital of a gambler who bets against the mean m, K_t(m) = prod (1 + b_i (m - x_i)), is a martingale if m is right;
means at which it reaches 1/delta are rejected. For cross-entropy the predictor is smoothed,
p' = (1-a) p + a/K, so that the loss lies in [-ln(1-a+a/K), ln(K/a)]; the smoothed predictor is what is certified.
"""

from __future__ import annotations

import math

import numpy as np

from certiformer.calculus.betting import betting_upper
from certiformer.core import Quantity, Result, Status, Variants, assumed, flag, real, reals, upper_bound
from certiformer.core.errors import InputError
from certiformer.theorems.certificates import CERTIFICATES


def sound(losses: tuple[float, ...], delta: float, low: float, high: float, progressive: bool) -> Variants:
    if progressive:
        raise InputError(
            "progressive",
            True,
            "independent losses of one fixed model",
            "The mean changes while it learns: use `progressive`",
        )
    if not low < high:
        raise InputError("high", high, f"a number above low = {low}")
    width = high - low
    scaled = [(loss - low) / width for loss in losses]
    checks = (
        assumed("the losses are independent, of one model fixed before they were computed, in a fixed order"),
        assumed("the loss lies in [low, high] for every example, not only for these"),
    )
    value = low + width * betting_upper(scaled, delta)
    return {"value": upper_bound(value, clip=high, checks=checks, terms={"observed": float(np.mean(losses))})}


RESULT = Result(
    id="betting",
    title="Betting certificate for a bounded loss",
    paper=CERTIFICATES,
    place="certificate B",
    bounds=Quantity.RISK,
    statement="nothing printed",
    latex=r"\sup\{m : \max_t \prod_{i\le t}(1+b_i(m-x_i)) < 1/\delta\}",
    sound_statement="mean loss <= the smallest m at which prod (1 + b_i (m - x_i)) reaches 1/delta, bets predictable",
    inputs=(
        reals(
            "losses",
            "hold-out losses, in the order they came",
            low_open=False,
            low=-math.inf,
            example=(0.1, 0.0, 0.3, 0.05),
        ),
        real("delta", "failure probability", high=1.0, example=0.05),
        real("low", "least possible loss", low=-math.inf, default=0.0, example=0.0),
        real("high", "largest possible loss", low=-math.inf, default=1.0, example=1.0),
        flag("progressive", "the model was learning while these losses were recorded"),
    ),
    status=Status.NONE,
    reason="for losses that are not 0 or 1; for the smoothed cross-entropy above all",
    printed=None,
    sound=sound,
    assumptions=("examples (documents, not tokens of one text) are independent", "smoothing level fixed beforehand"),
    monotone={"delta": -1},
    proof="docs/proofs/certificates.md",
)
