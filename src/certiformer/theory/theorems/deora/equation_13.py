from certiformer.theory.core import Quantity, Status, Variants, assumed, printed_value, real, upper_bound, verified
from certiformer.theory.core.rounding import up
from certiformer.theory.theorems.deora._attention import Attention, printed_beta2
from certiformer.theory.theorems.deora._setting import Parameters


def _next(L: float, eta: float, b: float, b_next: float | None, T: int, R: float, H: int) -> float:
    return b + eta * Attention(T, R, H).step * min(1.0, L) if b_next is None else b_next


class Equation13(Parameters):
    r"""Descent of one gradient step.

    One step of descent. theta_{k+1} need not be known, because b(theta_{k+1}) <= b(theta_k) + eta sqrt(T) R min(1,
    L)/sqrt(H).

    Printed: eta <= 1/max(beta2(theta_k), beta2(theta_{k+1})) implies L(theta_{k+1}) <= L(theta_k) - (eta/2)
    ||grad||^2
    .. math:: \hat L(\theta_{k+1})\le\hat L(\theta_k)-\tfrac{\eta}{2}\|\nabla\hat L(\theta_k)\|^2
    Sound: the same with the sharp beta2 at b + eta sqrt(T) R min(1, L)/sqrt(H); for every eta: L(theta_{k+1}) <= L
    - eta (1 - eta beta2/2) ||grad||^2
    .. math:: \hat L(\theta_{k+1})\le \hat L(\theta_k)-\eta\bigl(1-\tfrac{\eta\beta_2}{2}\bigr)\|\nabla\hat
       L(\theta_k)\|^2
    Because: true; beta2 depends on b only, and b is convex along the step
    Assumes:
    - a full gradient step on the training loss
    Defects:
    - The condition mentions theta_{k+1}, which is not known before the step; one step moves b by a known amount.
    """

    id = "deora.eq13"
    place = "(13)"
    bounds, status = Quantity.TRAINING_LOSS, Status.TRUE
    monotone = "+L"

    L: float = real("training loss at theta_k", low_open=False, example=0.6)
    gradient: float = real("norm of the gradient of the training loss at theta_k", low_open=False, example=0.5)
    eta: float = real("step size", example=0.5, symbol="η")
    b_next: float | None = real(
        "max_h ||U_h||_F at theta_{k+1}", low_open=False, default=None, otherwise="b + eta sqrt(T) R min(1, L)/sqrt(H)"
    )

    def printed(self) -> Variants:
        beta2 = printed_beta2(
            max(self.b, _next(self.L, self.eta, self.b, self.b_next, self.T, self.R, self.H)),
            self.T,
            self.R,
            self.d,
            self.H,
        )
        check = verified("eta max(beta2(theta_k), beta2(theta_{k+1})) <= 1", self.eta * beta2 <= 1.0, self.eta * beta2)
        return {"value": printed_value(self.L - self.eta / 2.0 * self.gradient * self.gradient, hypotheses=(check,))}

    def sound(self) -> Variants:
        model = Attention(self.T, self.R, self.H)
        beta2 = float(model.beta2(max(self.b, _next(self.L, self.eta, self.b, self.b_next, self.T, self.R, self.H))))
        beta1 = float(model.beta1(self.b))
        data = (
            assumed("every token of the training data has norm at most R"),
            verified(
                "gradient <= beta1(b) L, as for every such loss", self.gradient <= up(beta1 * self.L), beta1 * self.L
            ),
        )
        square = self.gradient * self.gradient
        return {
            "value": upper_bound(
                self.L - self.eta / 2.0 * square,
                hypotheses=(verified("eta beta2 <= 1 on the step", self.eta * beta2 <= 1.0, self.eta * beta2), *data),
            ),
            "any_step": upper_bound(self.L - self.eta * (1.0 - self.eta * beta2 / 2.0) * square, hypotheses=data),
        }
