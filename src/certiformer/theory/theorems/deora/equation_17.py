import math

from certiformer.theory.calculus.descent import Run, regret
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
from certiformer.theory.theorems.deora._attention import Attention, printed_beta2, printed_beta3
from certiformer.theory.theorems.deora._setting import Parameters


class Equation17(Parameters):
    r"""Regret of gradient descent along a run.

    The average loss of a run. `distance` and `b` bound ||theta_k - theta|| and max_h ||U_h|| at every iterate: measured
    after a run, or certified before it (deora.thm1).

    Printed: avg L <= Lt + D^2/(2 eta K) + (1/2K) sum_k beta3/sqrt(H) max L ||theta - theta_k||^2 (here with one
    bound for all k)
    .. math:: \tfrac1K\sum_{k=1}^K\hat L(\theta_k)\le\hat L(\theta)+\tfrac{\|\theta-\theta_0\|^2}{2\eta
       K}+\tfrac1{2K}\sum_{k<K}\tfrac{\beta_3}{\sqrt H}\max_\alpha\hat L(\theta_{k_\alpha})\|\theta-\theta_k\|^2
    Sound: s = sqrt(beta3(b)/sqrt(H)) distance < pi/2, c0 = s cot s, c1 = s/sin s, eta beta2(b) <= 1: avg L <= [c1
    Lt + D^2/(2 eta K) + (1 - c0) L0/K]/c0; taylor: the printed form with the sharp beta3
    .. math:: \frac1K\sum_{k=1}^K\hat L(\theta_k)\le\frac1{c_0}\Bigl[c_1\hat L(\theta)+\frac{D^2}{2\eta K}
       +\frac{(1-c_0)\hat L(\theta_0)}K\Bigr].
    Because: true given (13) and (16)
    Assumes:
    - full-batch gradient descent with a constant step size
    Defects:
    - The last term needs the loss between iterates and target; Sturm's comparison needs only the two ends.
    """

    id = "deora.eq17"
    place = "(17)"
    bounds, status = Quantity.TRAINING_LOSS, Status.TRUE
    monotone = "+D +Lt +L0 +distance +b +T +R -H"

    D: float = real("||theta - theta_0||", low_open=False, example=2)
    Lt: float = real("training loss at the target", low_open=False, example=0.1)
    L0: float = real("training loss at the start", low_open=False, example=0.7)
    distance: float = real("bound on ||theta - theta_k|| at every iterate", low_open=False, example=2.2)
    Lmax: float = real(
        "largest loss between the iterates and the target (Taylor forms only)", low_open=False, example=0.7
    )
    K: int = count("gradient steps", example=200)
    eta: float = real("step size", example=0.5, symbol="η")
    H: int = count("heads", example=10_000)

    def printed(self) -> Variants:
        curvature = printed_beta3(self.b, self.T, self.R, self.d) / math.sqrt(self.H)
        beta2 = printed_beta2(self.b, self.T, self.R, self.d, self.H)
        check = verified("eta beta2 <= 1 at every iterate", self.eta * beta2 <= 1.0, self.eta * beta2)
        value = (
            self.Lt
            + self.D * self.D / (2.0 * self.eta * self.K)
            + 0.5 * curvature * self.Lmax * self.distance * self.distance
        )
        return {"value": printed_value(value, hypotheses=(check,))}

    def sound(self) -> Variants:
        model = Attention(self.T, self.R, self.H)
        curvature = float(model.beta3(self.b)) / math.sqrt(self.H)
        step = self.eta * float(model.beta2(self.b))
        angle = math.sqrt(curvature) * self.distance
        hypotheses = (
            verified("eta beta2(b) <= 1 at every iterate", step <= 1.0, step),
            assumed(
                "distance and b hold at theta, at theta_0 and at every iterate "
                "up to K; every training token has norm at most R"
            ),
        )
        run = Run(self.D, self.b, self.b, self.Lt, self.L0, self.K, self.eta)
        return {
            "sturm": upper_bound(
                regret(angle, run) / self.K,
                clip=self.L0,
                hypotheses=(verified("s < pi/2", angle < math.pi / 2, angle), *hypotheses),
            ),
            "taylor": upper_bound(
                self.Lt
                + self.D * self.D / (2.0 * self.eta * self.K)
                + 0.5 * curvature * self.Lmax * self.distance * self.distance,
                clip=self.L0,
                hypotheses=(*hypotheses, assumed("Lmax bounds the loss between every iterate and the target")),
            ),
        }
