r"""Lemma 1: Rademacher complexity of the pooled encoder near its initial weights.

Printed, with P and A as in Lemma 2 and an additional 1/N that the proof does not have:

.. math:: R_S \lesssim O\Bigl(\tfrac1N\sqrt{P/N}\,\bigl(1+\log(A\sqrt{N/P})\bigr)\Bigr)

Sound: the bounds of Lemma 2 (sound). The mean over token positions is covered directly, since a mean of errors is at
most the largest; no rank condition is needed.
"""

from __future__ import annotations

from certiformer.core import Quantity, Result, Status, Variants, printed_value, verified
from certiformer.theorems.mwigo import MWIGO
from certiformer.theorems.mwigo._shallow import (
    ASSUMPTIONS,
    INITIAL,
    SHAPE,
    complexity_variants,
    encoder,
    printed_A,
    printed_complexity,
)


def printed(
    n: int,
    ds: int,
    d: int,
    dm: int,
    RX: float,
    RQ: float,
    RK: float,
    RV: float,
    RO: float,
    WQF: float | None,
    WKF: float | None,
    WVF: float | None,
    wOF: float,
    WQ2: float,
    WK2: float,
    WV2: float,
    B: float | None,
    rho: float | None,
) -> Variants:
    net = encoder(n, ds, d, dm, RX, RQ, RK, RV, RO, WQF, WKF, WVF, wOF, WQ2, WK2, WV2, B, rho)
    value, s = printed_complexity(net)
    in_range = verified("sqrt(P/N) <= A (beyond that the formula falls)", 0.0 < s <= printed_A(net), s)
    return {"value": printed_value(value / n, checks=(in_range,))}


def sound(
    n: int,
    ds: int,
    d: int,
    dm: int,
    RX: float,
    RQ: float,
    RK: float,
    RV: float,
    RO: float,
    WQF: float | None,
    WKF: float | None,
    WVF: float | None,
    wOF: float,
    WQ2: float,
    WK2: float,
    WV2: float,
    B: float | None,
    rho: float | None,
) -> Variants:
    return complexity_variants(encoder(n, ds, d, dm, RX, RQ, RK, RV, RO, WQF, WKF, WVF, wOF, WQ2, WK2, WV2, B, rho))


RESULT = Result(
    id="mwigo.lem1",
    title="Rademacher complexity of the pooled encoder",
    paper=MWIGO,
    place="Lemma 1",
    bounds=Quantity.RADEMACHER_COMPLEXITY,
    statement="R_S <~ O((1/N) sqrt(P/N) (1 + log(A sqrt(N/P)))), P and A as in Lemma 2",
    latex=r"R_S\lesssim O\Bigl(\tfrac1N\sqrt{P/N}\bigl(1+\log(A\sqrt{N/P})\bigr)\Bigr)",
    sound_statement="The sound bounds of Lemma 2: pooling is a mean, and a mean of errors is at most the largest.",
    inputs=(*SHAPE, *INITIAL),
    status=Status.FALSE,
    reason="the factor 1/N is wrong: the complexity decays like N^(-1/2)",
    printed=printed,
    sound=sound,
    assumptions=ASSUMPTIONS,
    defects=(
        (
            "The extra 1/N: with constant inputs and everything but w_O fixed, R_S is of order N^(-1/2); at "
            "N = 1e8 the "
            "printed value is 1.0e-8, the true one at least 5.6e-5."
        ),
        (
            "The step 'rows are independent because of full rank, so every position has the same supremum' "
            "is wrong; only "
            "a sum of suprema bounds a supremum of sums."
        ),
        "The class is defined through training steps that have not been taken yet.",
        "d = dm is not without loss of generality.",
    ),
    monotone={"n": -1, "RX": 1},
    proof="docs/proofs/mwigo.md",
)
