import math

from certiformer.theory.core import Quantity, Status, Variants, assumed, real, upper_bound
from certiformer.theory.theorems.deora._attention import KAPPA_3
from certiformer.theory.theorems.deora._setting import Tokens


def blocks(T: int, R: float, Y: float) -> tuple[float, float, float, float]:
    """Bounds on the norms of grad_U, grad_W, Hess_UW, Hess_WW."""
    return math.sqrt(T) * R, R**2 * Y, math.sqrt(T) * R**3, KAPPA_3 * R**4 * Y


class Lemma1(Tokens):
    r"""Blocks of the gradient and Hessian of one head.

    The lemma gives formulas, along a direction (A, B) of (U, W), with p_t the attention of row t and s_t = X B^T x_t;
    the block bounds follow with Y = sum_t ||X u_t||_inf:

    .. math:: D^2\Phi = 2\sum_t \mathrm{Cov}_{p_t}(X a_t, s_t) + \sum_t \kappa_{3,p_t}(Xu_t, s_t, s_t),

    .. math:: \|\nabla_U\Phi\|\le\sqrt T R,\ \|\nabla_W\Phi\|\le R^2Y,\ \|\nabla^2_{UW}\Phi\|\le\sqrt T R^3,\
       \|\nabla^2_{WW}\Phi\|\le C_3R^4Y,\ \nabla^2_{UU}\Phi=0.

    Sound: ||grad_U|| <= sqrt(T) R, ||grad_W|| <= R^2 Y, ||Hess_UW|| <= sqrt(T) R^3, ||Hess_WW|| <= 4/(3 sqrt 3) R^4
    Y, Hess_UU = 0
    .. math:: \nabla_W\Phi=\sum_t x_tu_t^\top X^\top\varphi'(XW^\top x_t)X
    Because: true with the Jacobian of softmax repaired (deora.softmax); it states no bound
    Assumes:
    - single head, full projection
    Defects:
    - phi' is defined in the notation as diag(phi(v)) - v v^T; with that definition the formulas for grad_W are
      wrong.
    - a_t^T is written for the scalar a_t, and that the UU block vanishes is not said.
    """

    place = "Lemma 1"
    bounds, status = Quantity.SMOOTHNESS, Status.TRUE
    monotone = "+R +Y"

    Y: float = real("sum over rows t of max_s |x_s . u_t|", low_open=False, example=2, symbol="Σ_t ||Xu_t||_∞")

    def sound(self) -> Variants:
        gradient_U, gradient_W, mixed, attention = blocks(self.T, self.R, self.Y)
        tokens = (assumed("every token has norm at most R"),)
        lipschitz = Quantity.LIPSCHITZ_CONSTANT
        return {
            "gradient_U": upper_bound(gradient_U, hypotheses=tokens, bounds=lipschitz),
            "gradient_W": upper_bound(gradient_W, hypotheses=tokens, bounds=lipschitz),
            "hessian_UW": upper_bound(mixed, hypotheses=tokens, bounds=Quantity.CONSTANT),
            "hessian_WW": upper_bound(attention, hypotheses=tokens),
        }
