r"""Proposition 1: gradient and Hessian of one attention head.

With R the largest token norm, X_max the largest entry of X and Y = sum_t ||X u_t||_inf,

Printed:  .. math:: \|\nabla\Phi\|\le 2R^2Y+\sqrt T R,\quad
          \|\nabla^2\Phi\|\le 6dR^2X_{\max}^2Y+2\sqrt{Td}R^2X_{\max}

Sound:    .. math:: \|\nabla\Phi\|\le\sqrt{TR^2+R^4Y^2},\quad
          \|\nabla^2\Phi\|\le\tfrac12\bigl(c+\sqrt{c^2+4TR^6}\bigr),\quad c=C_3R^4Y.

The blocks of Lemma 1 are combined as a vector and as a 2 x 2 matrix instead of being added up.
"""

from __future__ import annotations

import math

from certiformer.core import Quantity, Result, Status, Variants, assumed, printed_value, real, upper_bound, verified
from certiformer.core.rounding import up
from certiformer.theorems.deora import DEORA
from certiformer.theorems.deora._attention import DIMENSION, RADIUS, TOKENS
from certiformer.theorems.deora.lemma_1 import Y as ROWS
from certiformer.theorems.deora.lemma_1 import blocks


def printed(T: int, R: float, Y: float, Xmax: float, d: int) -> Variants:
    gradient = 2 * R**2 * Y + math.sqrt(T) * R
    hessian = 6 * d * R**2 * Xmax**2 * Y + 2 * math.sqrt(T * d) * R**2 * Xmax
    fits = Xmax <= up(R) and up(math.sqrt(d) * Xmax) >= R
    consistent = verified("X_max <= R <= sqrt(d) X_max", fits)
    return {
        "gradient": printed_value(gradient, bounds=Quantity.LIPSCHITZ_CONSTANT),
        "hessian": printed_value(hessian, checks=(consistent,)),
    }


def sound(T: int, R: float, Y: float, Xmax: float, d: int) -> Variants:
    gradient_U, gradient_W, mixed, attention = blocks(T, R, Y)
    tokens = (assumed("every token has norm at most R"),)
    hessian = (attention + math.hypot(attention, 2.0 * mixed)) / 2.0
    return {
        "gradient": upper_bound(math.hypot(gradient_U, gradient_W), checks=tokens, bounds=Quantity.LIPSCHITZ_CONSTANT),
        "hessian": upper_bound(hessian, checks=tokens),
    }


RESULT = Result(
    id="deora.prop1",
    title="Gradient and Hessian of one attention head",
    paper=DEORA,
    place="Proposition 1",
    bounds=Quantity.SMOOTHNESS,
    statement="||grad|| <= 2 R^2 Y + sqrt(T) R; ||Hess|| <= 6 d R^2 Xmax^2 Y + 2 sqrt(T d) R^2 Xmax",
    latex=(
        r"\|\nabla\Phi\|\le 2R^2\sum_t\|Xu_t\|_\infty+\sqrt TR,\quad"
        r"\|\nabla^2\Phi\|\le 6dR^2X_{\max}^2\sum_t\|Xu_t\|_\infty+2\sqrt{Td}R^2X_{\max}"
    ),
    sound_statement=(
        "||grad|| <= sqrt(T R^2 + R^4 Y^2); ||Hess|| <= (c + sqrt(c^2 + 4 T R^6))/2 with c = 4/(3 sqrt 3) R^4 Y"
    ),
    inputs=(
        TOKENS,
        RADIUS,
        ROWS,
        real(
            "Xmax", "largest absolute entry of X (printed formula only)", high=1e12, symbol="||X||_{1,∞}", example=0.8
        ),
        DIMENSION,
    ),
    status=Status.TRUE,
    reason="both bounds hold; the factors 2 and 6 d are not needed",
    printed=printed,
    sound=sound,
    assumptions=("single head, full projection",),
    defects=(
        (
            "The factors 2 in the gradient and 6 d in the Hessian come from "
            "adding up terms that a covariance bounds at once."
        ),
    ),
    monotone={"R": 1, "Y": 1, "T": 1},
    proof="docs/proofs/deora.md",
)
