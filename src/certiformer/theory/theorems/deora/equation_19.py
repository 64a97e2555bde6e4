import math

from certiformer.theory.core import Quantity, Status, Variants, assumed, printed_value, real, upper_bound
from certiformer.theory.theorems.deora._attention import Attention, printed_beta2, printed_beta3
from certiformer.theory.theorems.deora._setting import Parameters


class Equation19(Parameters):
    r"""Expansiveness of one gradient step.

    The expansion of one step: the eigenvalues of I - eta Hess lie between 1 - eta beta2 and 1 + eta beta3 L/sqrt(H).

    Printed: distance after a step <= max((1 + eta beta3 L/sqrt(H)), eta beta2) times the distance before
    .. math:: \|(\theta-\eta\nabla\hat L(\theta))-(\theta'-\eta\nabla\hat
       L(\theta'))\|\le\max_\alpha\bigl\{(1+\tfrac{\eta\beta_3}{\sqrt H}\hat
       L(\theta_\alpha))\vee\eta\beta_2\bigr\}\|\theta-\theta'\|
    Sound: the factor is max(1 + eta beta3 Lmax/sqrt(H), eta beta2 - 1), with the sharp beta2 and beta3
    .. math:: \|(\theta-\eta\nabla\hat L(\theta))-(\theta'-\eta\nabla\hat
       L(\theta'))\|\le\max\Bigl\{1+\frac{\eta\beta_3L_{\max}}{\sqrt H},\ \eta\beta_2-1\Bigr\}\|\theta-\theta'\|
    Because: true, with eta beta2 where eta beta2 - 1 is enough
    """

    id = "deora.eq19"
    place = "(19)"
    bounds, status = Quantity.STABILITY, Status.TRUE
    monotone = "+distance +Lmax +eta +b +T +R -H"

    distance: float = real("||theta - theta'|| before the step", low_open=False)
    Lmax: float = real("largest loss on the segment", low_open=False, example=0.7)
    eta: float = real("step size", example=0.5, symbol="η")

    def printed(self) -> Variants:
        expansion = max(
            1.0 + self.eta * printed_beta3(self.b, self.T, self.R, self.d) / math.sqrt(self.H) * self.Lmax,
            self.eta * printed_beta2(self.b, self.T, self.R, self.d, self.H),
        )
        return {"value": printed_value(expansion * self.distance)}

    def sound(self) -> Variants:
        model = Attention(self.T, self.R, self.H)
        expansion = max(
            1.0 + self.eta * float(model.beta3(self.b)) / math.sqrt(self.H) * self.Lmax,
            self.eta * float(model.beta2(self.b)) - 1.0,
        )
        hypotheses = (
            assumed("b and Lmax bound max_h ||U_h||_F and the loss on the segment; every token has norm at most R"),
        )
        return {"value": upper_bound(expansion * self.distance, hypotheses=hypotheses)}
