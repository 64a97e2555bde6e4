r"""L, mean loss: the mean of any loss in a known range, of examples or of groups, by betting towards a target.

.. math:: E[w\ell]/E[w] \le \sup\{m : \text{the capital against } m \text{ stays below } 1/\delta\}

with probability at least 1 - delta, for independent units with losses in [low, high] and weights in (0, 1].
"""

from __future__ import annotations

import math

import numpy as np

from certiformer.calculus.target_betting import fixed_orders, target_upper
from certiformer.core import Quantity, Result, Status, Variants, assumed, choice, real, reals, upper_bound
from certiformer.core.errors import InputError
from certiformer.theorems.certificates import CERTIFICATES


def sound(
    losses: tuple[float, ...], delta: float, low: float, high: float, weights: tuple[float, ...], order: str
) -> Variants:
    if not low < high:
        raise InputError("high", high, f"a number above low = {low}")
    x = (np.asarray(losses, dtype=np.float64) - low) / (high - low)
    if np.any((x < 0.0) | (x > 1.0)):
        raise InputError("losses", float(np.asarray(losses)[(x < 0.0) | (x > 1.0)][0]), f"numbers in [{low}, {high}]")
    w = np.asarray(weights, dtype=np.float64)
    if w.size not in (1, len(x)) or np.any((w <= 0.0) | (w > 1.0)):
        raise InputError("weights", w.tolist()[:5], f"one number in (0, 1], or one for each of {len(x)} losses")
    w = np.broadcast_to(w, x.shape)
    value = target_upper(w, w * x, delta, fixed_orders(len(x)) if order == "average" else None)
    checks = (
        assumed(
            "the units (examples or groups) are independent draws, and the model was fixed before they were scored"
        ),
        assumed("the loss lies in [low, high] for every example, not only for these: the range was declared before"),
        assumed("the order of the units was made without looking at their losses"),
    )
    mean = low + (high - low) * float(np.sum(w * x) / np.sum(w))
    return {"value": upper_bound(low + (high - low) * value, clip=high, checks=checks, terms={"observed": mean})}


RESULT = Result(
    id="mean_loss",
    title="Mean of a bounded loss (target betting)",
    paper=CERTIFICATES,
    place="certificate L",
    bounds=Quantity.RISK,
    statement="nothing printed",
    latex=r"\sup\{m : \max_t K_t(m) < 1/\delta\},\ K_t = K_{t-1} + G_t (m w_t - y_t)",
    sound_statement=(
        "E[w loss]/E[w] <= the smallest m against which a gambler with a target of 1.3/delta (1.5/delta on the average "
        "of 16 orders) reaches 1/delta"
    ),
    inputs=(
        reals(
            "losses",
            "losses of independent units, in an order made before they were scored",
            low=-math.inf,
            low_open=False,
            example=(0.1, 0.0, 0.3, 0.05, 0.2, 0.0, 0.1, 0.0),
        ),
        real("delta", "failure probability", high=1.0, example=0.05),
        real("low", "least possible loss", low=-math.inf, default=0.0, example=0.0),
        real("high", "largest possible loss", low=-math.inf, default=1.0, example=1.0),
        reals("weights", "weights in (0, 1] of the units; one number for all", default=(1.0,), example=(1.0,)),
        choice("order", "average of 16 fixed orders, or the order given", ("average", "given"), default="average"),
    ),
    status=Status.NONE,
    reason="any loss in a known range: regression, scores, cross-entropy per document, error rates of groups",
    printed=None,
    sound=sound,
    assumptions=("units are drawn independently from the population the claim is about",),
    monotone={"delta": -1},
    proof="docs/proofs/evaluation.md",
)
