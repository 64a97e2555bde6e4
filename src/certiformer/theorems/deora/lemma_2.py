r"""Lemma 2: the first gradient step from zero on the tokenized mixture.

Printed:  .. math:: U_h^{(1)}=\alpha_h 1_T\bigl(\tfrac\zeta2u_\star+p\bigr)^\top,\quad
          \|p\|\le C(2S+Z)\Bigl(\sqrt{d/n_1}+\sqrt{\log(1/\delta)/n_1}\Bigr)

Sound: the coefficient is zeta/4 (the logistic loss has l'(0) = -1/2), W^(1) = 0 exactly, and with probability
1 - delta

.. math:: \|p\|\le\frac{R}{2\sqrt{n_1}}\bigl(1+\sqrt{2\log(1/\delta)}\bigr),\quad R=\sqrt{S^2+Z^2+2Z_\nu/M}.
"""

from __future__ import annotations

import math

from certiformer.core import (
    Quantity,
    Result,
    Status,
    Variants,
    assumed,
    count,
    printed_value,
    real,
    side_number,
    upper_bound,
)
from certiformer.theorems.deora import DEORA
from certiformer.theorems.deora._mixture import NOISE, NOISE_NU, PATTERNS, SIGNAL, SPARSITY, token_radius


def printed(n1: int, delta: float, S: float, Z: float, Znu: float, M: int, zeta: float, d: int) -> Variants:
    rate = math.sqrt(d / n1) + math.sqrt(-math.log(delta) / n1)
    return {
        "P": printed_value((2.0 * S + Z) * rate, note="the universal constant C is not given; 1 here"),
        "coefficient": side_number(zeta / 2.0, "of u_* in U^(1)"),
    }


def sound(n1: int, delta: float, S: float, Z: float, Znu: float, M: int, zeta: float, d: int) -> Variants:
    R = token_radius(S, Z, Znu, M)
    checks = (
        assumed("the n1 first-phase samples are independent draws of the mixture, not used again in the second phase"),
        assumed("the noise bounds hold almost surely"),
    )
    value = R / (2.0 * math.sqrt(n1)) * (1.0 + math.sqrt(-2.0 * math.log(delta)))
    return {"P": upper_bound(value, checks=checks), "coefficient": side_number(zeta / 4.0, "of u_* in U^(1)")}


RESULT = Result(
    id="deora.lem2",
    title="First phase: one gradient step from zero",
    paper=DEORA,
    place="Lemma 2",
    bounds=Quantity.MEAN_ESTIMATION_ERROR,
    statement="U^(1) = alpha 1 (zeta/2 u_* + p)^T, ||p|| <= C (2S + Z)(sqrt(d/n1) + sqrt(log(1/delta)/n1))",
    latex=r"\|p\|\le C(2S+Z)\bigl(\sqrt{d/n_1}+\sqrt{\log(1/\delta)/n_1}\bigr)=:P",
    sound_statement=(
        "U^(1) = alpha 1 (zeta/4 u_* + p)^T, W^(1) = 0, ||p|| <= (R/(2 sqrt(n1)))(1 + sqrt(2 log(1/delta))) with "
        "probability 1 - delta over the first-phase samples; no dimension"
    ),
    inputs=(
        count("n1", "first-phase samples", symbol="n_1", example=400),
        real("delta", "failure probability", symbol="δ", high=1.0, example=0.05),
        SIGNAL,
        NOISE,
        NOISE_NU,
        PATTERNS,
        SPARSITY,
        count("d", "token dimension (printed formula only)", example=8),
    ),
    status=Status.FALSE,
    reason="the coefficient of u_* is zeta/4: with zeta/2 the remainder p does not shrink",
    printed=printed,
    sound=sound,
    assumptions=("logistic loss, zero start, step alpha_h sqrt(H) in head h", "samples of the tokenized mixture"),
    defects=(
        "With zeta/2 u_* the remainder tends to zeta S/(2 sqrt 2), not to 0: l'(0) = -1/2 and E[y xbar] = zeta u_*/2.",
        "The constant C is not given, and the failure event is over labels and tokens, not labels alone.",
        "The dimension is not needed.",
    ),
    monotone={"n1": -1, "delta": -1, "S": 1, "Z": 1, "Znu": 1, "M": -1},
    proof="docs/proofs/deora.md",
)
