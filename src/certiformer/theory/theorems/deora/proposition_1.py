import math

from certiformer.theory.core import (
    Quantity,
    Status,
    Variants,
    assumed,
    count,
    printed_value,
    real,
    upper_bound,
    verified,
)
from certiformer.theory.core.rounding import up
from certiformer.theory.theorems.deora._setting import Tokens
from certiformer.theory.theorems.deora.lemma_1 import blocks


class Proposition1(Tokens):
    r"""Gradient and Hessian of one attention head.

    R is the largest token norm, X_max the largest entry of X and Y = sum_t ||X u_t||_inf. The blocks of Lemma 1 are
    combined as a vector and as a 2 x 2 matrix instead of being added up.

    Printed: ||grad|| <= 2 R^2 Y + sqrt(T) R; ||Hess|| <= 6 d R^2 Xmax^2 Y + 2 sqrt(T d) R^2 Xmax
    .. math:: \|\nabla\Phi\|\le 2R^2\sum_t\|Xu_t\|_\infty+\sqrt TR,\quad\|\nabla^2\Phi\|\le
       6dR^2X_{\max}^2\sum_t\|Xu_t\|_\infty+2\sqrt{Td}R^2X_{\max}
    Sound: ||grad|| <= sqrt(T R^2 + R^4 Y^2); ||Hess|| <= (c + sqrt(c^2 + 4 T R^6))/2 with c = 4/(3 sqrt 3) R^4 Y
    .. math:: \|\nabla\Phi\|\le \sqrt{TR^2+R^4Y^2},\quad \|\nabla^2\Phi\|\le
       \tfrac{1}{2}\Bigl(c+\sqrt{c^2+4TR^6}\Bigr),\quad
       c=\tfrac{4}{3\sqrt 3}R^4Y
    Because: both bounds hold; the factors 2 and 6 d are not needed
    Assumes:
    - single head, full projection
    Defects:
    - The factors 2 in the gradient and 6 d in the Hessian come from adding up terms that a covariance bounds at
      once.
    """

    place = "Proposition 1"
    bounds, status = Quantity.SMOOTHNESS, Status.TRUE
    monotone = "+R +Y +T"

    Y: float = real("sum over rows t of max_s |x_s . u_t|", low_open=False, example=2, symbol="Σ_t ||Xu_t||_∞")
    Xmax: float = real(
        "largest absolute entry of X (printed formula only)", high=1e12, example=0.8, symbol="||X||_{1,∞}"
    )
    d: int = count("token dimension (printed formulas only)", example=3)

    def printed(self) -> Variants:
        gradient = 2 * self.R**2 * self.Y + math.sqrt(self.T) * self.R
        hessian = (
            6 * self.d * self.R**2 * self.Xmax**2 * self.Y + 2 * math.sqrt(self.T * self.d) * self.R**2 * self.Xmax
        )
        fits = self.Xmax <= up(self.R) and up(math.sqrt(self.d) * self.Xmax) >= self.R
        consistent = verified("X_max <= R <= sqrt(d) X_max", fits)
        return {
            "gradient": printed_value(gradient, bounds=Quantity.LIPSCHITZ_CONSTANT),
            "hessian": printed_value(hessian, hypotheses=(consistent,)),
        }

    def sound(self) -> Variants:
        gradient_U, gradient_W, mixed, attention = blocks(self.T, self.R, self.Y)
        tokens = (assumed("every token has norm at most R"),)
        hessian = (attention + math.hypot(attention, 2.0 * mixed)) / 2.0
        return {
            "gradient": upper_bound(
                math.hypot(gradient_U, gradient_W), hypotheses=tokens, bounds=Quantity.LIPSCHITZ_CONSTANT
            ),
            "hessian": upper_bound(hessian, hypotheses=tokens),
        }
