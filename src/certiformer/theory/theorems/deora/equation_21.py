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
from certiformer.theory.theorems.deora._attention import Attention, printed_beta1, printed_beta3
from certiformer.theory.theorems.deora._setting import Parameters


class Equation21(Parameters):
    r"""Leave-one-out distance, one step on.

    The recursion of the leave-one-out distance; the loss belongs inside the bracket.

    Printed: next distance <= (1 + eta beta3/sqrt(H)) max L^{-i} distance + (eta beta1/n) l_i
    .. math:: \|\theta_{k+1}-\theta_{k+1}^{-i}\|\le\bigl(1+\tfrac{\eta\tilde\beta_3}{\sqrt H}\bigr)\max_\alpha\hat
       L^{-i}\|\theta_k-\theta_k^{-i}\|+\tfrac{\eta\beta_1}{n}\ell_i(\theta_k)
    Quoted: \left(1 + \frac{\eta\tilde{\beta}_3(\theta)}{\sqrt{H}}\right) \max_{\alpha \in [0,1]}
    \widehat{L}^{-i}(\theta_{k\alpha}^{-i}) \|\theta_k - \theta_k^{-i}\|
    Sound: next distance <= (1 + (eta beta3/sqrt(H)) max L^{-i}) distance + (eta beta1/n) l_i, if eta beta2 <= 2
    .. math:: \Bigl(1+\frac{\eta\beta_3}{\sqrt H}\max\hat L^{-i}\Bigr)\|\theta_k-\theta_k^{-i}\|
       +\frac{\eta\beta_1}{n}\ell_i(\theta_k),\qquad \eta\beta_2\le2.
    Because: a bracket is misplaced: with a small loss the printed value contracts distances that do not contract
    Defects:
    - (21) multiplies the whole bracket by the loss; as the loss tends to 0 it claims that the two runs merge in one
      step.
    - (22) is right with its factor 4/3 when sqrt(H) >= 72 beta3(b + 3D) D^2 for the pair of runs.
    """

    id = "deora.eq21"
    place = "(20), (21)"
    bounds, status = Quantity.STABILITY, Status.FALSE
    monotone = "+distance +Lmax +li -n +b +T +R -H"

    distance: float = real("||theta_k - theta_k^{-i}||", low_open=False, example=0.1)
    Lmax: float = real("largest leave-one-out loss on the segment", low_open=False, example=0.3)
    li: float = real("loss of sample i at theta_k", low_open=False, example=0.3)
    eta: float = real("step size", example=0.5, symbol="η")
    n: int = count("sample size", example=100, aliases=("m", "N"))

    def printed(self) -> Variants:
        spread = (
            (1.0 + self.eta * printed_beta3(self.b, self.T, self.R, self.d) / math.sqrt(self.H))
            * self.Lmax
            * self.distance
        )
        return {"value": printed_value(spread + self.eta * printed_beta1(self.b, self.T, self.R) / self.n * self.li)}

    def sound(self) -> Variants:
        model = Attention(self.T, self.R, self.H)
        spread = (1.0 + self.eta * float(model.beta3(self.b)) / math.sqrt(self.H) * self.Lmax) * self.distance
        kick = self.eta * float(model.beta1(self.b)) / self.n * self.li
        step = self.eta * float(model.beta2(self.b))
        hypotheses = (
            verified("eta beta2 <= 2", step <= 2.0, step),
            assumed(
                "b and Lmax bound max_h ||U_h||_F and the leave-one-out loss between the two iterates; tokens at most R"
            ),
        )
        return {
            "value": upper_bound(
                spread + kick, terms={"spread": spread, "kick": kick}, additive=True, hypotheses=hypotheses
            )
        }
