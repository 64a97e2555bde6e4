r"""(15), (16): the loss at an iterate against the loss at a target.

Printed (rearranged):  .. math:: \hat L(\theta_k)\le\hat L(\theta)+\langle\nabla\hat L(\theta_k),\theta_k-\theta\rangle
          +\frac{\beta_3}{2\sqrt H}\max_{[\theta_k,\theta]}\hat L\ \|\theta-\theta_k\|^2

Sound (Sturm's comparison; no maximum over the segment is needed): with s^2 = q = beta3 ||theta - theta_k||^2/sqrt(H)
and s < pi/2,

.. math:: \hat L(\theta_k)\le\frac{\hat L(\theta)}{\cos s}
          +\frac{\tan s}{s}\langle\nabla\hat L(\theta_k),\theta_k-\theta\rangle.
"""

from __future__ import annotations

import math

from certiformer.calculus.descent import iterate_loss
from certiformer.core import Quantity, Result, Status, Variants, assumed, printed_value, real, upper_bound, verified
from certiformer.theorems.deora import DEORA
from certiformer.theorems.deora._attention import B_NORM, DIMENSION, HEADS, RADIUS, TOKENS, Attention, printed_beta3


def printed(
    Lt: float, inner: float, distance: float, Lmax: float, b: float, T: int, R: float, d: int, H: int
) -> Variants:
    curvature = printed_beta3(b, T, R, d) / math.sqrt(H)
    return {"value": printed_value(Lt + inner + 0.5 * curvature * Lmax * distance * distance)}


def sound(
    Lt: float, inner: float, distance: float, Lmax: float, b: float, T: int, R: float, d: int, H: int
) -> Variants:
    curvature = float(Attention(T, R, H).beta3(b)) / math.sqrt(H)
    q = curvature * distance * distance
    data = (assumed("b bounds max_h ||U_h||_F at both ends; every token of the training data has norm at most R"),)
    return {
        "sturm": upper_bound(
            iterate_loss(q, Lt, inner), checks=(verified("q < (pi/2)^2", math.sqrt(q) < math.pi / 2, q), *data)
        ),
        "taylor": upper_bound(
            Lt + inner + 0.5 * curvature * Lmax * distance * distance,
            checks=(*data, assumed("Lmax bounds the loss on the whole segment")),
        ),
    }


RESULT = Result(
    id="deora.eq16",
    title="Loss at an iterate against a target (Sturm's inequality)",
    paper=DEORA,
    place="(15), (16)",
    bounds=Quantity.TRAINING_LOSS,
    statement=(
        "L(theta) >= L(theta_k) + <grad, theta - theta_k> - (1/2)(beta3(theta_1) v beta3(theta_2))/sqrt(H) max L "
        "||theta - theta_k||^2"
    ),
    latex=(
        r"\hat L(\theta)\ge\hat L(\theta_k)+\langle\nabla\hat L(\theta_k),\theta-\theta_k\rangle"
        r"-\tfrac12\tfrac{\beta_3(\theta)\vee\beta_3(\theta_k)}{\sqrt "
        r"H}\max_\alpha\hat L(\theta_{k_\alpha})\|\theta-\theta_k\|^2"
    ),
    sound_statement=(
        "q = beta3 ||theta - theta_k||^2/sqrt(H), s = sqrt(q) < pi/2: L(theta_k) <= L(theta)/cos s + (tan s / s) "
        "<grad L(theta_k), theta_k - theta>; taylor: the printed form with the sharp beta3"
    ),
    inputs=(
        real("Lt", "training loss at the target theta", low_open=False, example=0.1),
        real("inner", "<grad L(theta_k), theta_k - theta>", low=-math.inf, example=0.2),
        real("distance", "||theta - theta_k||", low_open=False, example=1),
        real("Lmax", "largest loss on the segment (Taylor forms only)", low_open=False, example=0.7),
        B_NORM,
        TOKENS,
        RADIUS,
        DIMENSION,
        HEADS,
    ),
    status=Status.TRUE,
    reason="true with beta3(theta) v beta3(theta_k), which is what is meant",
    printed=printed,
    sound=sound,
    defects=(
        (
            "The displayed constant is beta3(theta_1) v beta3(theta_2) for "
            "points that do not occur; it must be beta3(theta) v "
            "beta3(theta_k)."
        ),
        (
            "The maximum of the loss over the segment is then bounded by "
            "Proposition 4; Sturm's comparison does both at once."
        ),
    ),
    monotone={"Lt": 1, "inner": 1},
    proof="docs/proofs/deora.md",
)
