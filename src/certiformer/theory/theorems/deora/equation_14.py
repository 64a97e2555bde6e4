import math

from certiformer.theory.core import (
    Quantity,
    Status,
    Variants,
    assumed,
    count,
    lower_bound,
    printed_value,
    real,
    upper_bound,
)
from certiformer.theory.theorems.deora._attention import Attention
from certiformer.theory.theorems.deora._setting import Tokens


class Equation14(Tokens):
    r"""Second-order expansion at a target.

    Printed: L(theta) <= L(theta_k) + <grad, theta - theta_k> + (1/2) min lambda_min ||theta - theta_k||^2
    .. math:: \hat L(\theta)\le\hat L(\theta_k)+\langle\nabla\hat
       L(\theta_k),\theta-\theta_k\rangle+\tfrac12\min_\alpha\lambda_{\min}(\nabla^2\hat
       L(\theta_{k_\alpha}))\|\theta-\theta_k\|^2
    Quoted: \widehat{L}(\theta) \leq \widehat{L}(\theta_k) + \langle \nabla \widehat{L}(\theta_k), \theta - \theta_k
    \rangle + \frac{1}{2} \min_{\theta_{k_\alpha}} \lambda_{\min}(\nabla^2 \widehat{L}(\theta_{k_\alpha}))
    Sound: L(theta) >= that number (lower); L(theta) <= L(theta_k) + <grad, theta - theta_k> + (beta2/2) ||theta -
    theta_k||^2
    .. math:: \hat L(\theta)\le\hat L(\theta_k)+\langle\nabla\hat
       L(\theta_k),\theta-\theta_k\rangle+\tfrac{\beta_2}{2}\|\theta-\theta_k\|^2
    Because: the inequality is reversed: a strictly convex loss exceeds it
    Defects:
    - The direction is reversed: with the least eigenvalue in the remainder the expansion is a lower bound.
    """

    id = "deora.eq14"
    place = "(14)"
    bounds, status = Quantity.TRAINING_LOSS, Status.FALSE
    monotone = "+L +inner +distance +b +T +R -H"

    L: float = real("training loss at theta_k", low_open=False, example=0.6)
    inner: float = real("<grad L(theta_k), theta - theta_k>", low=-math.inf, example=-0.1)
    distance: float = real("||theta - theta_k||", low_open=False)
    lambda_min: float = real("least eigenvalue of the Hessian on the segment", low=-math.inf, example=-0.2)
    b: float = real("max_h ||U_h||_F of the parameters", low_open=False, symbol="||θ||_{2,∞}")
    H: int = count("heads", example=16)

    def printed(self) -> Variants:
        return {"value": printed_value(self.L + self.inner + 0.5 * self.lambda_min * self.distance * self.distance)}

    def sound(self) -> Variants:
        hypotheses = (
            assumed("b bounds max_h ||U_h||_F at both ends; every token of the training data has norm at most R"),
        )
        spectrum = (assumed("lambda_min is at most the least eigenvalue of the Hessian anywhere on the segment"),)
        beta2 = float(Attention(self.T, self.R, self.H).beta2(self.b))
        return {
            "value": upper_bound(
                self.L + self.inner + 0.5 * beta2 * self.distance * self.distance, hypotheses=hypotheses
            ),
            "lower": lower_bound(
                self.L + self.inner + 0.5 * self.lambda_min * self.distance * self.distance,
                hypotheses=spectrum,
                bounds=Quantity.CONSTANT,
                note="L(theta) is at least this",
            ),
        }
