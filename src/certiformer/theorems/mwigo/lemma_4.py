r"""Lemma 4: the training loss stays small.

Phi = ||f - y||^2/2, alpha the smallest (N-th) singular value of the initial features F_pre, rho = sqrt(N) d_s^{3/2}
R_X. Printed, under alpha^2 >= 8 rho M sqrt(2 Phi_0) and alpha^3 >= 32 rho^2 z sqrt(2 Phi_0)/eta_O, for gradient
descent:

.. math:: L_S(\theta^t) \le \min\Bigl(\frac{\alpha^2}{8\rho\hat M\sqrt N},
          \frac{\alpha^3\eta_O}{32\rho^4\hat z\sqrt N}\Bigr)

False: M-hat >= M and z-hat >= z in the denominators reverse the inequality, and rho^4 should be rho^2. Sound
(docs/proofs/mwigo.md), for a loss that is 1-Lipschitz in the prediction:

* lipschitz: mean l(y, y) + ||f - y||/sqrt(N), with the residual of the weights in question;
* flow: under alpha^2 >= 4 sqrt(N) B M' sqrt(2 Phi_0) and alpha^3 >= 8 N B^2 (z'/eta_O) sqrt(2 Phi_0), for gradient flow
  on Phi, mean l(y, y) + sqrt(2 Phi_0/N) exp(-alpha^2 t/4), and the weights stay within their radii;
* proof_consistent: the printed proof's own constants, which the flow version confirms.
"""

from __future__ import annotations

import math

from certiformer.core import (
    Quantity,
    Result,
    Status,
    Variants,
    assumed,
    flag,
    printed_value,
    real,
    side_number,
    upper_bound,
    verified,
)
from certiformer.theorems.mwigo import MWIGO
from certiformer.theorems.mwigo._shallow import ASSUMPTIONS, INITIAL, SHAPE, encoder, exp
from certiformer.theorems.mwigo._training import (
    flow_quantities,
    ln_consistent_loss,
    ln_printed_loss,
    printed_quantities,
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
    alpha: float,
    residual0: float,
    residual: float | None,
    t: float,
    lyy: float,
    flow: bool,
) -> Variants:
    net = encoder(n, ds, d, dm, RX, RQ, RK, RV, RO, WQF, WKF, WVF, wOF, WQ2, WK2, WV2, B, rho)
    made = printed_quantities(net)
    ln_alpha, ln_residual = math.log(alpha), math.log(residual0)
    first = 2.0 * ln_alpha - math.log(8.0) - made.rho - made.M
    second = 3.0 * ln_alpha + math.log(net.eta_O) - math.log(32.0) - 2.0 * made.rho - made.z
    ln = ln_printed_loss(net, alpha)
    checks = (
        verified("alpha^2 >= 8 rho M sqrt(2 Phi_0)", ln_residual <= first, residual0),
        verified("alpha^3 >= 32 rho^2 z sqrt(2 Phi_0)/eta_O", ln_residual <= second, residual0),
        verified("d_m >= N (else alpha, the N-th singular value, is 0)", dm >= n, dm),
        assumed("d_m is at least of order N^3, up to logarithms"),
    )
    return {
        "value": printed_value(exp(ln), checks=checks, ln=ln),
        "rho": side_number(exp(made.rho)),
        "M": side_number(exp(made.M)),
        "M_hat": side_number(exp(made.M_hat)),
        "z": side_number(exp(made.z)),
        "z_hat": side_number(exp(made.z_hat)),
        "hypothesis_1": side_number(float(ln_residual <= first), "1 if alpha^2 >= 8 rho M sqrt(2 Phi_0)"),
        "hypothesis_2": side_number(float(ln_residual <= second), "1 if alpha^3 >= 32 rho^2 z sqrt(2 Phi_0)/eta_O"),
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
    alpha: float,
    residual0: float,
    residual: float | None,
    t: float,
    lyy: float,
    flow: bool,
) -> Variants:
    net = encoder(n, ds, d, dm, RX, RQ, RK, RV, RO, WQF, WKF, WVF, wOF, WQ2, WK2, WV2, B, rho)
    made = printed_quantities(net)
    ln_M, ln_z = flow_quantities(net)
    ln_alpha, ln_residual, ln_n, ln_B = math.log(alpha), math.log(residual0), math.log(n), math.log(net.B)
    wide = verified("d_m >= N (else alpha, the N-th singular value, is 0)", dm >= n, dm)
    flowing = assumed("training is gradient flow on Phi from the initial weights", flow)
    # Conditions as upper limits on sqrt(2 Phi_0); a hair of slack on the safe side.
    limit_1 = 2.0 * ln_alpha - math.log(4.0) - 0.5 * ln_n - ln_B - ln_M - 1e-12
    limit_2 = 3.0 * ln_alpha - math.log(8.0) - ln_n - 2.0 * ln_B - ln_z + math.log(net.eta_O) - 1e-12
    strict_1 = 2.0 * ln_alpha - math.log(8.0) - made.rho - made.M - 1e-12
    strict_2 = 3.0 * ln_alpha + math.log(net.eta_O) - math.log(32.0) - 2.0 * made.rho - made.z - 1e-12
    reached = residual0 if residual is None else residual
    seen = assumed("residual is ||f - y|| of the weights in question" if residual is not None else "Phi has not grown")
    return {
        "lipschitz": upper_bound(lyy + reached / math.sqrt(n), checks=(seen,)),
        "flow": upper_bound(
            lyy + residual0 / math.sqrt(n) * math.exp(-alpha * alpha * t / 4.0),
            checks=(
                flowing,
                wide,
                verified("alpha^2 >= 4 sqrt(N) B M' sqrt(2 Phi_0)", ln_residual <= limit_1, residual0),
                verified("alpha^3 >= 8 N B^2 (z'/eta_O) sqrt(2 Phi_0)", ln_residual <= limit_2, residual0),
            ),
        ),
        "proof_consistent": upper_bound(
            lyy + exp(ln_consistent_loss(net, alpha)),
            checks=(
                flowing,
                wide,
                verified(
                    "B <= sqrt(ds) RX, so that the printed hypotheses suffice", math.sqrt(ds) * RX >= net.B, net.B
                ),
                verified("alpha^2 >= 8 rho M sqrt(2 Phi_0)", ln_residual <= strict_1, residual0),
                verified("alpha^3 >= 32 rho^2 z sqrt(2 Phi_0)/eta_O", ln_residual <= strict_2, residual0),
            ),
        ),
        "M_flow": side_number(exp(ln_M), "M'"),
        "z_flow": side_number(exp(ln_z), "z'"),
    }


RESULT = Result(
    id="mwigo.lem4",
    title="The training loss stays small",
    paper=MWIGO,
    place="Lemma 4",
    bounds=Quantity.TRAINING_LOSS,
    statement=(
        "L_S <= min(alpha^2/(8 rho M^ sqrt(N)), alpha^3 eta_O/(32 rho^4 z^ sqrt(N))) for all t, if alpha^2 >= 8 rho M "
        "sqrt(2 Phi_0), alpha^3 >= 32 rho^2 z sqrt(2 Phi_0)/eta_O, dm >= Omega~(N^3)"
    ),
    latex=(
        r"L_S(f_{\theta^t})\le\min\Bigl(\frac{\alpha^2}{8\rho\hat M\sqrt N},"
        r"\frac{\alpha^3\eta_O}{32\rho^4\hat z\sqrt N}\Bigr)"
    ),
    sound_statement=(
        "lipschitz: mean l(y,y) + ||f - y||/sqrt(N); flow: mean l(y,y) + sqrt(2 Phi_0/N) exp(-alpha^2 t/4) "
        "for gradient "
        "flow if alpha^2 >= 4 sqrt(N) B M' sqrt(2 Phi_0) and alpha^3 >= 8 N B^2 (z'/eta_O) sqrt(2 Phi_0); M' = "
        "max(xi_V/RO, eta_O/RV, B^2 xi_K xi_V eta_O/(sqrt(dm) RQ), B^2 xi_Q xi_V eta_O/(sqrt(dm) RK)), z' = "
        "eta_O^2 (1 + "
        "(B^4/dm) xi_V^2 (xi_Q^2 + xi_K^2))."
    ),
    inputs=(
        *SHAPE,
        real("alpha", "smallest (N-th) singular value of the initial features", symbol="α", example=0.5),
        real("residual0", "||f - y|| at the initial weights, sqrt(2 Phi_0)", example=1e-12),
        real("residual", "||f - y|| at the weights in question", low_open=False, optional=True, derived="residual0"),
        real("t", "time of the gradient flow", low_open=False, default=0.0, example=0),
        real("lyy", "mean of l(y, y), the loss at a perfect fit", low_open=False, default=0.0, example=0),
        flag("flow", "training is gradient flow on Phi"),
        *INITIAL,
    ),
    status=Status.FALSE,
    reason="M^ and z^ in the denominators and rho^4 make the bound too small; l(y,y) is lost; another loss is trained",
    printed=printed,
    sound=sound,
    assumptions=(*ASSUMPTIONS, "the loss is 1-Lipschitz in the prediction"),
    defects=(
        "Replacing M by M^ >= M and z by z^ >= z in a denominator reverses the inequality.",
        "sqrt(2 alpha^6 eta_O^2/(2048 rho^4 z^2)) is alpha^3 eta_O/(32 rho^2 z): rho^4 is wrong.",
        "L_S <= mean (l(f,y) - l(y,y)) needs l(y,y) <= 0; the logistic loss has l(1,1) = 0.313.",
        "The algorithm descends the 1-Lipschitz loss, the convergence theorem is about Phi.",
        "alpha is 0 when d_m < N: six of the nine experiments violate the hypotheses, d_m >= N^3 excludes the others.",
        "The corrected bound follows from its own hypotheses: it is never better than sqrt(2 Phi_0/N).",
        "d_s^{3/2} belongs to sum pooling; with a mean sqrt(d_s) is enough.",
    ),
    monotone={"residual0": 1, "lyy": 1},
    proof="docs/proofs/mwigo.md",
)
