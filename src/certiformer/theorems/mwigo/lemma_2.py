r"""Lemma 2: Rademacher complexity of the shallow encoder near its initial weights, one token position.

Printed, with A = eta_O eta_V sqrt(d_s) R_X and
P = (sqrt(d_s) R_X)^2 ((sqrt(d_m) eta_V)^{2/3} + (sqrt(d_m) eta_K eta_Q eta_V)^{2/3})^3 log(N d_s), at c = 1:

.. math:: R_S \lesssim c\sqrt{P/N}\,\bigl(1+\log(A\sqrt{N/P})\bigr)

Sound, with eta_O, the token norms and the readout in their places (docs/proofs/mwigo.md): Dudley's bound for
log N <= P_zero/eps^2 (covers centred at zero) or P_init/eps^2 (centred at the initial weights),

.. math:: P_{init}=\Bigl(\bigl((R_O\xi_VB)^2\ln(2N+1)\bigr)^{1/3}+\bigl((R_VB)^2\kappa(d_m,d)\bigr)^{1/3}\eta_O^{2/3}
          +\bigl((R_AB)^2\kappa(d,d)\bigr)^{1/3}(\eta_O\xi_V\rho^2)^{2/3}\Bigr)^3 .

Neither d_s nor log(N d_s) appears, and no rank condition.
"""

from __future__ import annotations

from certiformer.core import Quantity, Result, Status, Variants, printed_value, side_number, verified
from certiformer.theorems.mwigo import MWIGO
from certiformer.theorems.mwigo._shallow import (
    ASSUMPTIONS,
    INITIAL,
    SHAPE,
    complexity_variants,
    encoder,
    exp,
    ln_printed_P,
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
    return {
        "value": printed_value(value, checks=(in_range,)),
        "P": side_number(exp(ln_printed_P(net))),
        "A": side_number(printed_A(net)),
    }


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
    id="mwigo.lem2",
    title="Rademacher complexity near the initial weights",
    paper=MWIGO,
    place="Lemma 2",
    bounds=Quantity.RADEMACHER_COMPLEXITY,
    statement=(
        "R_S <~ c sqrt(P/N) (1 + log(A sqrt(N/P))), A = eta_O eta_V sqrt(ds) RX, P = (sqrt(ds) RX)^2 ((sqrt(dm) "
        "eta_V)^(2/3) + (sqrt(dm) eta_K eta_Q eta_V)^(2/3))^3 log(N ds)"
    ),
    latex=r"R_S\lesssim c\sqrt{P/N}\bigl(1+\log(A\sqrt{N/P})\bigr)",
    sound_statement=(
        "Dudley's bound for log N <= P/eps^2. zero: (C, beta) = ((eta_O eta_V B)^2 ln(2N+1), 1), ((eta_V "
        "B)^2 kappa(dm,d), "
        "eta_O), ((eta_K eta_Q B)^2 kappa(d,d)/dm, eta_O eta_V rho^2), D = eta_O eta_V B; init: ((RO xi_V "
        "B)^2 ln(2N+1), 1), "
        "((RV B)^2 kappa(dm,d), eta_O), ((R_A B)^2 kappa(d,d), eta_O xi_V rho^2), R_A = (WK2 RQ + RK WQ2 + "
        "RK RQ)/sqrt(dm), "
        "D = min(eta_O xi_V B, RO xi_V B + eta_O RV B + eta_O xi_V rho^2 B R_A). Chains take the smallest covers."
    ),
    inputs=(*SHAPE, *INITIAL),
    status=Status.FALSE,
    reason="the complexity is proportional to the size of w_O, which P does not contain; negative for large P",
    printed=printed,
    sound=sound,
    assumptions=ASSUMPTIONS,
    defects=(
        (
            "P lacks eta_O: the class is 1-homogeneous in w_O, the printed value grows only with its "
            "logarithm (R_O = 1e7: "
            "3.6 printed, at least 557 true)."
        ),
        "Negative once P > e^2 A^2 N, which is the realistic case (N = 400, dm = 64: -9764).",
        "The second term of P lacks the squared token norm, and nothing covers w_O.",
        "The bound on ||W_K^T W_Q||_{2,1} is crude by sqrt(dm), and d = dm is assumed without need.",
        "The constant c and further logarithms are hidden.",
    ),
    monotone={"n": -1, "d": 1, "RX": 1, "RQ": 1, "RK": 1, "RV": 1, "RO": 1},
    proof="docs/proofs/mwigo.md",
)
