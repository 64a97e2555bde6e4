r"""(14): the second-order expansion of the loss at a target theta.

Printed:  .. math:: \hat L(\theta)\le\hat L(\theta_k)+\langle\nabla\hat L(\theta_k),\theta-\theta_k\rangle
          +\tfrac12\min_\alpha\lambda_{\min}\|\theta-\theta_k\|^2

The inequality points the wrong way. Sound: that number is a lower bound of L(theta), and the upper bound has the
largest eigenvalue, at most beta2, in its place.
"""

from __future__ import annotations

import math

from certiformer.core import Quantity, Result, Status, Variants, assumed, lower_bound, printed_value, real, upper_bound
from certiformer.theorems.deora import DEORA
from certiformer.theorems.deora._attention import B_NORM, HEADS, RADIUS, TOKENS, Attention


def printed(L: float, inner: float, distance: float, lambda_min: float, b: float, T: int, R: float, H: int) -> Variants:
    return {"value": printed_value(L + inner + 0.5 * lambda_min * distance * distance)}


def sound(L: float, inner: float, distance: float, lambda_min: float, b: float, T: int, R: float, H: int) -> Variants:
    checks = (assumed("b bounds max_h ||U_h||_F at both ends; every token of the training data has norm at most R"),)
    spectrum = (assumed("lambda_min is at most the least eigenvalue of the Hessian anywhere on the segment"),)
    beta2 = float(Attention(T, R, H).beta2(b))
    return {
        "value": upper_bound(L + inner + 0.5 * beta2 * distance * distance, checks=checks),
        "lower": lower_bound(
            L + inner + 0.5 * lambda_min * distance * distance,
            checks=spectrum,
            bounds=Quantity.CONSTANT,
            note="L(theta) is at least this",
        ),
    }


RESULT = Result(
    id="deora.eq14",
    title="Second-order expansion at a target",
    paper=DEORA,
    place="(14)",
    bounds=Quantity.TRAINING_LOSS,
    statement="L(theta) <= L(theta_k) + <grad, theta - theta_k> + (1/2) min lambda_min ||theta - theta_k||^2",
    latex=(
        r"\hat L(\theta)\le\hat L(\theta_k)+\langle\nabla\hat L(\theta_k),\theta-\theta_k\rangle"
        r"+\tfrac12\min_\alpha\lambda_{\min}(\nabla^2\hat L(\theta_{k_\alpha}))\|\theta-\theta_k\|^2"
    ),
    sound_statement=(
        "L(theta) >= that number (lower); L(theta) <= L(theta_k) + <grad, "
        "theta - theta_k> + (beta2/2) ||theta - theta_k||^2"
    ),
    inputs=(
        real("L", "training loss at theta_k", low_open=False, example=0.6),
        real("inner", "<grad L(theta_k), theta - theta_k>", low=-math.inf, example=-0.1),
        real("distance", "||theta - theta_k||", low_open=False, example=1),
        real("lambda_min", "least eigenvalue of the Hessian on the segment", low=-math.inf, example=-0.2),
        B_NORM,
        TOKENS,
        RADIUS,
        HEADS,
    ),
    status=Status.FALSE,
    reason="the inequality is reversed: a strictly convex loss exceeds it",
    printed=printed,
    sound=sound,
    defects=("The direction is reversed: with the least eigenvalue in the remainder the expansion is a lower bound.",),
    monotone={"L": 1, "inner": 1, "distance": 1, "b": 1, "T": 1, "R": 1, "H": -1},
    proof="docs/proofs/deora.md",
)
