r"""Lemma 3.1 (Maurey's sparsification): a convex combination is close to an average of few of its atoms.

f = sum_i alpha_i V_i in a Hilbert space, ||V_i|| <= b, alpha_i >= 0, gamma = ||alpha||_1 <= 1. There are k_i >= 0 with
sum k_i <= k and

Printed:  .. math:: \|f-\tfrac1k\textstyle\sum k_iV_i\|^2 \le (\gamma^2b^2-\|f\|^2)/k,\qquad \#(k_i) \le d^k

Sound:    .. math:: \|f-\tfrac1k\textstyle\sum k_iV_i\|^2 \le (\gamma b^2-\|f\|^2)/k,\qquad \#(k_i)=\tbinom{d+k}{k}

Atoms are drawn with probabilities alpha_i, and nothing with probability 1 - gamma. With gamma^2 the average would have
to carry the weight gamma/k.
"""

from __future__ import annotations

import math

from certiformer.core import (
    Bound,
    Check,
    Quantity,
    Result,
    Status,
    Variants,
    count,
    printed_value,
    real,
    side_number,
    upper_bound,
    verified,
)
from certiformer.core.rounding import up
from certiformer.theorems.trauger import TRAUGER


def printed(gamma: float, b: float, f: float, k: int, d: int | None) -> Variants:
    variants = {"value": printed_value((gamma * gamma * b * b - f * f) / k, checks=(_possible(gamma, b, f),))}
    if d is not None:
        variants["log_count"] = side_number(k * math.log(d), "ln(d^k)")
    return variants


def sound(gamma: float, b: float, f: float, k: int, d: int | None) -> Variants:
    possible = _possible(gamma, b, f)
    variants: dict[str, Bound] = {"value": upper_bound((gamma * b * b - f * f) / k, checks=(possible,))}
    if d is not None:
        # ln C(d+k, k) = sum_i ln(1 + large/i), i up to the smaller of the two.
        small, large = min(d, k), max(d, k)
        choices = math.fsum(math.log1p(large / i) for i in range(1, small + 1)) if small <= 100_000 else math.inf
        choices = min(choices, k * math.log(d + 1))
        variants["log_count"] = upper_bound(choices, bounds=Quantity.UNION_COST, note="ln of the number of (k_i)")
    return variants


def _possible(gamma: float, b: float, f: float) -> Check:
    return verified("||f|| <= gamma b", f <= up(gamma * b), f)


RESULT = Result(
    id="trauger.lem3.1",
    title="Maurey's sparsification",
    paper=TRAUGER,
    place="Lemma 3.1",
    bounds=Quantity.APPROXIMATION_ERROR,
    statement="||f - (1/k) sum k_i V_i||^2 <= (gamma^2 b^2 - ||f||^2)/k, at most d^k choices of (k_i)",
    latex=r"\Bigl\|f-\tfrac1k\sum_i k_iV_i\Bigr\|^2\le\frac{\gamma^2b^2-\|f\|^2}{k}",
    sound_statement="||f - (1/k) sum k_i V_i||^2 <= (gamma b^2 - ||f||^2)/k; C(d+k, k) <= (d+1)^k choices of (k_i)",
    inputs=(
        real("gamma", "sum of the weights, at most 1", high=1, high_open=False, symbol="γ", example=0.8),
        real("b", "bound on the norms of the atoms", example=2),
        real("f", "norm of the combination", low_open=False, symbol="||f||", example=1),
        count("k", "number of draws", example=4),
        count("d", "number of atoms, to count the averages", optional=True, derived="not counted", example=3),
    ),
    status=Status.FALSE,
    reason="gamma^2 b^2 must be gamma b^2, and the count d^k must be C(d+k, k)",
    printed=printed,
    sound=sound,
    assumptions=("the weights are non-negative; signed combinations take 2d atoms",),
    defects=(
        (
            "d = 1, V = 1, gamma = 1/2, k = 1: the left side is 1/4 for every choice, the right side 0. The "
            "weights 1/k need "
            "gamma b^2; gamma^2 b^2 belongs to the weights gamma/k with sum k_i = k."
        ),
        "The number of (k_i) with sum at most k is C(d+k, k), which exceeds d^k (d = 2, k = 1: 3 > 2).",
    ),
    monotone={"gamma": 1, "b": 1, "f": -1, "k": -1},
    proof="docs/proofs/trauger.md",
)
