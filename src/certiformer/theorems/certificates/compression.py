r"""P, preferent compression (pick-to-learn): all n examples train and certify; no split, no prior.

.. math:: R(h_T) \le \varepsilon, \qquad n\,\varepsilon\,P(\mathrm{Bin}(n,\varepsilon)=k)
          = \delta\,P(\mathrm{Bin}(n,\varepsilon)\ge k+1)

with probability at least 1 - delta. A loop picks examples its model gets wrong and learns from those it picked; k were
picked when no other was wrong. If the loop was stopped earlier, by a rule that reads the picks only, those still wrong
count as picks.
"""

from __future__ import annotations

import math

from certiformer.calculus.compression import compression_upper, published_with_a_plus
from certiformer.core import Quantity, Result, Status, Variants, assumed, count, printed_value, real, upper_bound
from certiformer.core.errors import InputError
from certiformer.theorems.certificates import CERTIFICATES


def printed(k: int, n: int, delta: float, left: int) -> Variants:
    _check(k, left, n)
    return {"published": printed_value(published_with_a_plus(k + left, n, delta))}


def sound(k: int, n: int, delta: float, left: int) -> Variants:
    _check(k, left, n)
    checks = (
        assumed("the n examples are independent draws; all of them were offered to the loop"),
        assumed("the learner is a deterministic function of the ordered list of picked examples, seeds fixed before"),
        assumed("initial model, features, settings and preference owe nothing to the n examples"),
        assumed("the loop ended because no example was wrong, or by a rule that reads the picks only"),
    )
    value = compression_upper(k + left, n, math.log(delta))
    terms = {"observed": left / n, "examples picked": float(k), "examples left wrong": float(left)}
    return {"value": upper_bound(value, clip=1.0, checks=checks, terms=terms)}


def _check(k: int, left: int, n: int) -> None:
    if k + left > n:
        raise InputError("k, left", (k, left), f"together at most n = {n}", "Picked and left are among the n examples")


RESULT = Result(
    id="compression",
    title="Compression certificate (pick-to-learn)",
    paper=CERTIFICATES,
    place="certificate P",
    bounds=Quantity.RISK,
    statement="public code: eps is the root of n eps P(Bin(n, eps) = k) = delta + P(Bin(n, eps) >= k + 1), 0 at k = 0",
    latex=r"n\varepsilon P(\mathrm{Bin}(n,\varepsilon)=k)=\delta+P(\mathrm{Bin}(n,\varepsilon)\ge k+1)",
    sound_statement="risk <= eps(k + left, n, delta), the root of n eps P(Bin = k) = delta P(Bin >= k + 1)",
    inputs=(
        count("k", "examples that were picked", low=0, example=237),
        count("n", "examples, all of them", aliases=("m", "N"), example=10_612),
        real("delta", "failure probability", high=1.0, example=0.01),
        count("left", "examples still wrong at a stop that depends on the picks only", low=0, default=0, example=0),
    ),
    status=Status.FALSE,
    reason="a sum where the proof has a product: 2.53 % is published where 2.80 % holds (k = 237, n = 10,612)",
    printed=printed,
    sound=sound,
    defects=(
        "delta and the incomplete beta function are added, not multiplied",
        "with k = 0 the published program returns 0: a risk of zero from finitely many examples",
    ),
    assumptions=("the loop is defined for samples of every size; n inside it is a constant",),
    monotone={"k": 1, "left": 1, "delta": -1},
    proof="docs/proofs/compression.md",
)
