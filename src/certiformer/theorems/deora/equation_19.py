r"""(19): how much one gradient step can spread two points.

Printed:  .. math:: \|\theta^+-\theta'^+\|\le\max\Bigl(1+\frac{\eta\beta_3}{\sqrt H}\hat L,\ \eta\beta_2\Bigr)
          \|\theta-\theta'\|

Sound: the second term is eta beta2 - 1 (the eigenvalues of I - eta Hess lie between 1 - eta beta2 and
1 + eta beta3 L/sqrt(H)); beta2, beta3 are the sharp ones.
"""

from __future__ import annotations

import math

from certiformer.core import Quantity, Result, Status, Variants, assumed, printed_value, real, upper_bound
from certiformer.theorems.deora import DEORA
from certiformer.theorems.deora._attention import (
    B_NORM,
    DIMENSION,
    HEADS,
    RADIUS,
    TOKENS,
    Attention,
    printed_beta2,
    printed_beta3,
)


def printed(distance: float, Lmax: float, eta: float, b: float, T: int, R: float, d: int, H: int) -> Variants:
    expansion = max(1.0 + eta * printed_beta3(b, T, R, d) / math.sqrt(H) * Lmax, eta * printed_beta2(b, T, R, d, H))
    return {"value": printed_value(expansion * distance)}


def sound(distance: float, Lmax: float, eta: float, b: float, T: int, R: float, d: int, H: int) -> Variants:
    model = Attention(T, R, H)
    expansion = max(1.0 + eta * float(model.beta3(b)) / math.sqrt(H) * Lmax, eta * float(model.beta2(b)) - 1.0)
    checks = (assumed("b and Lmax bound max_h ||U_h||_F and the loss on the segment; every token has norm at most R"),)
    return {"value": upper_bound(expansion * distance, checks=checks)}


RESULT = Result(
    id="deora.eq19",
    title="Expansiveness of one gradient step",
    paper=DEORA,
    place="(19)",
    bounds=Quantity.STABILITY,
    statement="distance after a step <= max((1 + eta beta3 L/sqrt(H)), eta beta2) times the distance before",
    latex=(
        r"\|(\theta-\eta\nabla\hat L(\theta))-(\theta'-\eta\nabla\hat L(\theta'))\|\le"
        r"\max_\alpha\bigl\{(1+\tfrac{\eta\beta_3}{\sqrt H}\hat "
        r"L(\theta_\alpha))\vee\eta\beta_2\bigr\}\|\theta-\theta'\|"
    ),
    sound_statement="the factor is max(1 + eta beta3 Lmax/sqrt(H), eta beta2 - 1), with the sharp beta2 and beta3",
    inputs=(
        real("distance", "||theta - theta'|| before the step", low_open=False, example=1),
        real("Lmax", "largest loss on the segment", low_open=False, example=0.7),
        real("eta", "step size", symbol="η", example=0.5),
        B_NORM,
        TOKENS,
        RADIUS,
        DIMENSION,
        HEADS,
    ),
    status=Status.TRUE,
    reason="true, with eta beta2 where eta beta2 - 1 is enough",
    printed=printed,
    sound=sound,
    monotone={"distance": 1, "Lmax": 1, "eta": 1, "b": 1, "T": 1, "R": 1, "H": -1},
    proof="docs/proofs/deora.md",
)
