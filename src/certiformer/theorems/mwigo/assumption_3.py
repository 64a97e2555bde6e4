r"""Assumption 3: inner products of different inputs are rarely large.

Printed as an assumption, for some exponent c > 0 and every t:

.. math:: P\bigl(|\langle X_n^\top X_n,X_{n'}^\top X_{n'}\rangle|\ge t\bigr)\le\exp(-t^c)

For t >= 1 the right side is at most 1/e whatever c is, so data can refute it: among independent pairs, the number
with inner product ||X_n X_n'^T||_F^2 >= 1 would be at most binomial with success probability 1/e.
The sound value bounds the probability of so many large products (or more) if the assumption holds.
"""

from __future__ import annotations

import math

from certiformer.calculus.tails import binomial_upper, log_binomial_cdf
from certiformer.core import (
    InputError,
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
from certiformer.theorems.mwigo import MWIGO

_CEILING = math.exp(-1.0)
_SMALLEST_LN = -740.0  # below it a probability would round down to zero


def printed(pairs: int, large: int, delta: float) -> Variants:
    return {"value": printed_value(_CEILING, note="P(inner product >= 1) is at most 1/e for every exponent")}


def sound(pairs: int, large: int, delta: float) -> Variants:
    if large > pairs:
        raise InputError("large", large, f"at most the number of pairs, {pairs}")
    # P(Bin(pairs, 1/e) >= large) = P(Bin(pairs, 1 - 1/e) <= pairs - large); widened by its rounding error.
    slack = 4e-16 * math.lgamma(pairs + 1.0) + 1e-13
    ln = log_binomial_cdf(pairs - large, pairs, 1.0 - _CEILING) + slack
    compatible = verified("the data do not refute the assumption at level delta", ln >= math.log(delta), math.exp(ln))
    lowest = 1.0 - binomial_upper(pairs - large, pairs, math.log(delta))
    return {
        "value": upper_bound(math.exp(max(ln, _SMALLEST_LN)), ln=ln, clip=1.0),
        "at_least": side_number(lowest, "lower confidence limit for P(inner product >= 1), to compare with 1/e"),
        "not_refuted": side_number(float(compatible.holds or False), "1 unless refuted at level delta"),
    }


RESULT = Result(
    id="mwigo.ass3",
    title="Inner products of inputs are rarely large",
    paper=MWIGO,
    place="Assumption 3",
    bounds=Quantity.TAIL_PROBABILITY,
    statement=(
        "P(|<X_n^T X_n, X_n'^T X_n'>| >= t) <= exp(-t^c) for some c > 0; X of full row rank, ||X||_F <= sqrt(ds) RX"
    ),
    latex=r"P(|\langle X_n^\top X_n,X_{n'}^\top X_{n'}\rangle|\ge t)\le\exp(-t^{\hat c})",
    sound_statement=(
        "If it holds, P(at least `large` of `pairs` independent pairs have inner product >= 1) <= P(Bin(pairs, 1/e) >= "
        "large); below delta the assumption is refuted for every exponent."
    ),
    inputs=(
        count("pairs", "number of independent (disjoint) pairs of inputs examined", example=100),
        count("large", "how many of them have ||X_n X_n'^T||_F^2 >= 1", low=0, example=40),
        real("delta", "level of the test", high=1, default=0.05, symbol="δ", example=0.05),
    ),
    status=Status.UNPROVEN,
    reason="an assumption, which data can refute; no sound result here uses it",
    printed=printed,
    sound=sound,
    assumptions=("the pairs are independent: disjoint pairs of an i.i.d. sample",),
    defects=(
        (
            "Unscaled non-negative data (images) have large inner products nearly always, so the assumption "
            "fails for them."
        ),
        "Full row rank needs d_s <= d and fails for blank tokens.",
    ),
    monotone={"large": -1},
    proof="docs/proofs/mwigo.md",
)
