import math

from certiformer.theory.calculus.descent import iterate_loss
from certiformer.theory.core import Quantity, Status, Variants, assumed, printed_value, real, upper_bound, verified
from certiformer.theory.theorems.deora._attention import Attention, printed_beta3
from certiformer.theory.theorems.deora._setting import Parameters


class Equation16(Parameters):
    r"""Loss at an iterate against a target (Sturm's inequality).

    Sturm's comparison along the segment from theta_k to theta; no maximum over the segment is needed.

    Printed: L(theta) >= L(theta_k) + <grad, theta - theta_k> - (1/2)(beta3(theta_1) v beta3(theta_2))/sqrt(H) max L
    ||theta - theta_k||^2
    .. math:: \hat L(\theta)\ge\hat L(\theta_k)+\langle\nabla\hat
       L(\theta_k),\theta-\theta_k\rangle-\tfrac12\tfrac{\beta_3(\theta)\vee\beta_3(\theta_k)}{\sqrt
       H}\max_\alpha\hat L(\theta_{k_\alpha})\|\theta-\theta_k\|^2
    Sound: q = beta3 ||theta - theta_k||^2/sqrt(H), s = sqrt(q) < pi/2: L(theta_k) <= L(theta)/cos s + (tan s / s)
    <grad L(theta_k), theta_k - theta>; taylor: the printed form with the sharp beta3
    .. math:: \hat L(\theta_k)\le\frac{\hat L(\theta)}{\cos s} +\frac{\tan s}{s}\langle\nabla\hat
       L(\theta_k),\theta_k-\theta\rangle.
    Because: true with beta3(theta) v beta3(theta_k), which is what is meant
    Defects:
    - The displayed constant is beta3(theta_1) v beta3(theta_2) for points that do not occur; it must be
      beta3(theta) v beta3(theta_k).
    - The maximum of the loss over the segment is then bounded by Proposition 4; Sturm's comparison does both at
      once.
    """

    id = "deora.eq16"
    place = "(15), (16)"
    bounds, status = Quantity.TRAINING_LOSS, Status.TRUE
    monotone = "+Lt +inner"

    Lt: float = real("training loss at the target theta", low_open=False, example=0.1)
    inner: float = real("<grad L(theta_k), theta_k - theta>", low=-math.inf, example=0.2)
    distance: float = real("||theta - theta_k||", low_open=False)
    Lmax: float = real("largest loss on the segment (Taylor forms only)", low_open=False, example=0.7)

    def printed(self) -> Variants:
        curvature = printed_beta3(self.b, self.T, self.R, self.d) / math.sqrt(self.H)
        return {
            "value": printed_value(self.Lt + self.inner + 0.5 * curvature * self.Lmax * self.distance * self.distance)
        }

    def sound(self) -> Variants:
        curvature = float(Attention(self.T, self.R, self.H).beta3(self.b)) / math.sqrt(self.H)
        q = curvature * self.distance * self.distance
        data = (assumed("b bounds max_h ||U_h||_F at both ends; every token of the training data has norm at most R"),)
        return {
            "sturm": upper_bound(
                iterate_loss(q, self.Lt, self.inner),
                hypotheses=(verified("q < (pi/2)^2", math.sqrt(q) < math.pi / 2, q), *data),
            ),
            "taylor": upper_bound(
                self.Lt + self.inner + 0.5 * curvature * self.Lmax * self.distance * self.distance,
                hypotheses=(*data, assumed("Lmax bounds the loss on the whole segment")),
            ),
        }
