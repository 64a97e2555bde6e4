from __future__ import annotations

import math

from certiformer.core import (
    Quantity,
    Result,
    Status,
    Variants,
    count,
    derived,
    printed_value,
    real,
    verified,
)
from certiformer.theorems.mwigo import MWIGO
from certiformer.theorems.mwigo._shallow import (
    complexity_variants,
    encoder,
    printed_A,
    printed_complexity,
)


class Lemma1(Result):
    r"""Rademacher complexity of the pooled encoder.

    [[Printed, with P and A as in Lemma 2 and an additional 1/N that the proof does not have:]]

    [[Sound -- the bounds of Lemma 2 (sound). The mean over token positions is covered directly, since a mean of errors is at
    most the largest; no rank condition is needed.]]

    Printed: R_S <~ O((1/N) sqrt(P/N) (1 + log(A sqrt(N/P)))), P and A as in Lemma 2
    .. math:: R_S\lesssim O\Bigl(\tfrac1N\sqrt{P/N}\bigl(1+\log(A\sqrt{N/P})\bigr)\Bigr)
    Sound: The sound bounds of Lemma 2: pooling is a mean, and a mean of errors is at most the largest.
    Because: the factor 1/N is wrong: the complexity decays like N^(-1/2)
    Assumes:
    - the initial weights are independent of the sample, and the radii fixed before it is seen (or paid for:
      `strata`)
    - every token has l2 norm at most B
    Defects:
    - The extra 1/N: with constant inputs and everything but w_O fixed, R_S is of order N^(-1/2); at N = 1e8 the
      printed value is 1.0e-8, the true one at least 5.6e-5.
    - The step 'rows are independent because of full rank, so every position has the same supremum' is wrong; only a
      sum of suprema bounds a supremum of sums.
    - The class is defined through training steps that have not been taken yet.
    - d = dm is not without loss of generality.
    """

    paper, place = MWIGO, "Lemma 1"
    bounds, status = Quantity.RADEMACHER_COMPLEXITY, Status.FALSE
    monotone = "-n +RX"

    n: int = count("sample size", example=100_000_000, aliases=("N", "m"))
    ds: int = count("sequence length", example=4, symbol="d_s")
    d: int = count("token dimension", example=8)
    dm: int = count("model dimension", example=8, symbol="d_m")
    RX: float = real("bound on the l2 norm of every token", example=0.5, symbol="R_X")
    RQ: float = real("Frobenius radius of W_Q around its initial value", example=0.1, symbol="R_Q")
    RK: float = real("Frobenius radius of W_K around its initial value", example=0.1, symbol="R_K")
    RV: float = real("Frobenius radius of W_V around its initial value", example=0.1, symbol="R_V")
    RO: float = real("l2 radius of w_O around its initial value", example=0.1, symbol="R_O")
    WQF: float = real(
        "Frobenius norm of the initial W_Q", low_open=False, factory=derived("sqrt(dm)", lambda x: math.sqrt(x.dm))
    )
    WKF: float = real(
        "Frobenius norm of the initial W_K", low_open=False, factory=derived("sqrt(dm)", lambda x: math.sqrt(x.dm))
    )
    WVF: float = real(
        "Frobenius norm of the initial W_V", low_open=False, factory=derived("sqrt(dm)", lambda x: math.sqrt(x.dm))
    )
    wOF: float = real("l2 norm of the initial w_O", low_open=False, default=1.0)
    WQ2: float = real("spectral norm of the initial W_Q", low_open=False, example=2, default=2.0)
    WK2: float = real("spectral norm of the initial W_K", low_open=False, example=2, default=2.0)
    WV2: float = real("spectral norm of the initial W_V", low_open=False, example=2, default=2.0)
    B: float = real(
        "bound on the l2 norm of every token, for the sound side", example=0.5, factory=derived("RX", lambda x: x.RX)
    )
    rho: float = real(
        "half the diameter of the token set", low_open=False, example=0.5, factory=derived("B", lambda x: x.B)
    )

    def printed(self) -> Variants:
        net = encoder(
            self.n,
            self.ds,
            self.d,
            self.dm,
            self.RX,
            self.RQ,
            self.RK,
            self.RV,
            self.RO,
            self.WQF,
            self.WKF,
            self.WVF,
            self.wOF,
            self.WQ2,
            self.WK2,
            self.WV2,
            self.B,
            self.rho,
        )
        value, s = printed_complexity(net)
        in_range = verified("sqrt(P/N) <= A (beyond that the formula falls)", 0.0 < s <= printed_A(net), s)
        return {"value": printed_value(value / self.n, hypotheses=(in_range,))}

    def sound(self) -> Variants:
        return complexity_variants(
            encoder(
                self.n,
                self.ds,
                self.d,
                self.dm,
                self.RX,
                self.RQ,
                self.RK,
                self.RV,
                self.RO,
                self.WQF,
                self.WKF,
                self.WVF,
                self.wOF,
                self.WQ2,
                self.WK2,
                self.WV2,
                self.B,
                self.rho,
            )
        )
