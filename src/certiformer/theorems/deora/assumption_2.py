r"""Assumption 2: realizability, and how Definition 1 provides it.

For every eps there is a target of training loss at most eps within distance g0(eps) of the start and with heads of
norm at most g(eps).

Printed (Corollary 2):  .. math:: g_0(\epsilon)=\frac{2B_\Phi+\log(1/\epsilon)}\gamma

Sound: theta_0 + lambda theta_* with the least lambda >= 0 such that

.. math:: -B_\Phi+\lambda\gamma-\lambda^2\beta_3(B_2+\lambda n_\infty)/\sqrt H\ge-\log(e^\epsilon-1),

so g0 = sqrt2 lambda (theta_* has norm sqrt 2) and g = B2 + lambda ninf.
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
    verified,
)
from certiformer.theorems.deora import DEORA
from certiformer.theorems.deora._attention import RADIUS, TOKENS, Attention
from certiformer.theorems.deora._realizability import EVEN, GOOD_START, NINF, least_multiple, spread


def printed(
    eps: float, gamma: float, BPhi: float, B2: float, T: int, R: float, H: int, ninf: float | None, even: bool
) -> Variants:
    checks = (verified("B2, BPhi >= 1 (P1, P2)", min(B2, BPhi) >= 1.0, min(B2, BPhi)),)
    return {"g0": printed_value((2.0 * BPhi - math.log(eps)) / gamma, checks=checks, bounds=Quantity.CONSTANT)}


def sound(
    eps: float, gamma: float, BPhi: float, B2: float, T: int, R: float, H: int, ninf: float | None, even: bool
) -> Variants:
    width = spread(ninf, even, H)
    multiple = least_multiple(Attention(T, R, H), gamma, BPhi, B2, width, eps)
    checks = (
        verified("some lambda >= 0 reaches the loss: enough heads for this margin", multiple is not None),
        assumed("P1-P3 of Definition 1 hold with these numbers; every token has norm at most R"),
    )
    multiple = math.inf if multiple is None else multiple
    norm = B2 + multiple * width if multiple < math.inf else math.inf
    return {
        "g0": upper_bound(
            math.sqrt(2.0) * multiple, checks=checks, bounds=Quantity.CONSTANT, note="distance of the target"
        ),
        "g": upper_bound(norm, checks=checks, bounds=Quantity.CONSTANT, note="norm of its largest head"),
        "lambda": side_number(multiple, "multiple of theta_*"),
    }


RESULT = Result(
    id="deora.ass2",
    title="Realizability from a good initialization",
    paper=DEORA,
    place="Assumption 2, with Definition 1 and Corollary 2",
    bounds=Quantity.CONSTANT,
    statement=(
        "a target of loss at most eps exists within g0(eps) = (2 BPhi + log(1/eps))/gamma of a good initialization"
    ),
    latex=r"g_0(\epsilon)=\frac{2B_\Phi+\log(1/\epsilon)}{\gamma}",
    sound_statement=(
        "lambda = least solution >= 0 of -BPhi + lambda gamma - lambda^2 "
        "beta3(B2 + lambda ninf)/sqrt(H) >= -log(expm1(eps)); "
        "g0 = sqrt(2) lambda, g = B2 + lambda ninf; none if there is no solution"
    ),
    inputs=(
        real("eps", "loss of the target", symbol="ε", high=1e6, example=0.01),
        *GOOD_START,
        TOKENS,
        RADIUS,
        count("H", "heads", example=1_000_000),
        NINF,
        EVEN,
    ),
    status=Status.FALSE,
    reason="a factor sqrt 2 is missing: theta_* has norm sqrt 2",
    printed=printed,
    sound=sound,
    assumptions=("logistic loss, full projection",),
    defects=(
        (
            "theta_0 + lambda theta_* lies at distance sqrt(2) lambda. Zero "
            "start, M = 1, no noise, BPhi = 1, eps = 1e-4, H -> inf: "
            "every point within the printed g0 has loss at least 3.6e-4."
        ),
    ),
    proof="docs/proofs/deora.md",
)
