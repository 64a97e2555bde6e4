r"""Lemma 1: the blocks of the gradient and of the Hessian of one attention head.

The lemma gives formulas; along a direction (A, B) of (U, W), with p_t the attention of row t and s_t = X B^T x_t,

.. math:: D^2\Phi = 2\sum_t \mathrm{Cov}_{p_t}(X a_t, s_t) + \sum_t \kappa_{3,p_t}(Xu_t, s_t, s_t),

and the block bounds below follow with Y = sum_t ||X u_t||_inf:

.. math:: \|\nabla_U\Phi\|\le\sqrt T R,\ \|\nabla_W\Phi\|\le R^2Y,\ \|\nabla^2_{UW}\Phi\|\le\sqrt T R^3,\
          \|\nabla^2_{WW}\Phi\|\le C_3R^4Y,\ \nabla^2_{UU}\Phi=0.
"""

from __future__ import annotations

import math

from certiformer.core import Quantity, Result, Status, Variants, assumed, real, upper_bound
from certiformer.theorems.deora import DEORA
from certiformer.theorems.deora._attention import KAPPA_3, RADIUS, TOKENS


def blocks(T: int, R: float, Y: float) -> tuple[float, float, float, float]:
    """Bounds on the norms of grad_U, grad_W, Hess_UW, Hess_WW."""
    return math.sqrt(T) * R, R**2 * Y, math.sqrt(T) * R**3, KAPPA_3 * R**4 * Y


def sound(T: int, R: float, Y: float) -> Variants:
    gradient_U, gradient_W, mixed, attention = blocks(T, R, Y)
    tokens = (assumed("every token has norm at most R"),)
    lipschitz = Quantity.LIPSCHITZ_CONSTANT
    return {
        "gradient_U": upper_bound(gradient_U, checks=tokens, bounds=lipschitz),
        "gradient_W": upper_bound(gradient_W, checks=tokens, bounds=lipschitz),
        "hessian_UW": upper_bound(mixed, checks=tokens, bounds=Quantity.CONSTANT),
        "hessian_WW": upper_bound(attention, checks=tokens),
    }


Y = real("Y", "sum over rows t of max_s |x_s . u_t|", symbol="Σ_t ||Xu_t||_∞", low_open=False, example=2)

RESULT = Result(
    id="deora.lem1",
    title="Blocks of the gradient and Hessian of one head",
    paper=DEORA,
    place="Lemma 1",
    bounds=Quantity.SMOOTHNESS,
    statement=(
        "grad_U = softmax(X W X^T) X; grad_W = sum_t x_t u_t^T X^T phi'(X W^T x_t) X; and the two Hessian blocks "
        "(formulas; no number is printed)"
    ),
    latex=r"\nabla_W\Phi=\sum_t x_tu_t^\top X^\top\varphi'(XW^\top x_t)X",
    sound_statement=(
        "||grad_U|| <= sqrt(T) R, ||grad_W|| <= R^2 Y, ||Hess_UW|| <= sqrt(T) R^3, ||Hess_WW|| <= 4/(3 sqrt 3) R^4 Y, "
        "Hess_UU = 0"
    ),
    inputs=(TOKENS, RADIUS, Y),
    status=Status.TRUE,
    reason="true with the Jacobian of softmax repaired (deora.softmax); it states no bound",
    printed=None,
    sound=sound,
    assumptions=("single head, full projection",),
    defects=(
        (
            "phi' is defined in the notation as diag(phi(v)) - v v^T; with "
            "that definition the formulas for grad_W are wrong."
        ),
        "a_t^T is written for the scalar a_t, and that the UU block vanishes is not said.",
    ),
    monotone={"R": 1, "Y": 1},
    proof="docs/proofs/deora.md",
)
