r"""(13): one gradient step decreases the loss.

Printed:  .. math:: \eta\le\frac{1}{\beta_2(\theta_k)\vee\beta_2(\theta_{k+1})}\Rightarrow
          \hat L(\theta_{k+1})\le\hat L(\theta_k)-\tfrac\eta2\|\nabla\hat L(\theta_k)\|^2

Sound: the same with the beta2 of Corollary 1 made sharp, and theta_{k+1} need not be known, because
b(theta_{k+1}) <= b(theta_k) + eta sqrt(T) R min(1, L)/sqrt(H). Without any condition on eta,
L(theta_{k+1}) <= L - eta (1 - eta beta2/2) ||grad||^2.
"""

from __future__ import annotations

from certiformer.core import Quantity, Result, Status, Variants, assumed, printed_value, real, upper_bound, verified
from certiformer.core.rounding import up
from certiformer.theorems.deora import DEORA
from certiformer.theorems.deora._attention import B_NORM, DIMENSION, HEADS, RADIUS, TOKENS, Attention, printed_beta2


def printed(
    L: float, gradient: float, eta: float, b: float, b_next: float | None, T: int, R: float, d: int, H: int
) -> Variants:
    beta2 = printed_beta2(max(b, _next(L, eta, b, b_next, T, R, H)), T, R, d, H)
    check = verified("eta max(beta2(theta_k), beta2(theta_{k+1})) <= 1", eta * beta2 <= 1.0, eta * beta2)
    return {"value": printed_value(L - eta / 2.0 * gradient * gradient, checks=(check,))}


def sound(
    L: float, gradient: float, eta: float, b: float, b_next: float | None, T: int, R: float, d: int, H: int
) -> Variants:
    model = Attention(T, R, H)
    beta2 = float(model.beta2(max(b, _next(L, eta, b, b_next, T, R, H))))
    beta1 = float(model.beta1(b))
    data = (
        assumed("every token of the training data has norm at most R"),
        verified("gradient <= beta1(b) L, as for every such loss", gradient <= up(beta1 * L), beta1 * L),
    )
    square = gradient * gradient
    return {
        "value": upper_bound(
            L - eta / 2.0 * square,
            checks=(verified("eta beta2 <= 1 on the step", eta * beta2 <= 1.0, eta * beta2), *data),
        ),
        "any_step": upper_bound(L - eta * (1.0 - eta * beta2 / 2.0) * square, checks=data),
    }


def _next(L: float, eta: float, b: float, b_next: float | None, T: int, R: float, H: int) -> float:
    return b + eta * Attention(T, R, H).step * min(1.0, L) if b_next is None else b_next


RESULT = Result(
    id="deora.eq13",
    title="Descent of one gradient step",
    paper=DEORA,
    place="(13)",
    bounds=Quantity.TRAINING_LOSS,
    statement=(
        "eta <= 1/max(beta2(theta_k), beta2(theta_{k+1})) implies L(theta_{k+1}) <= L(theta_k) - (eta/2) ||grad||^2"
    ),
    latex=r"\hat L(\theta_{k+1})\le\hat L(\theta_k)-\tfrac{\eta}{2}\|\nabla\hat L(\theta_k)\|^2",
    sound_statement=(
        "the same with the sharp beta2 at b + eta sqrt(T) R min(1, L)/sqrt(H); for every eta: "
        "L(theta_{k+1}) <= L - eta (1 - eta beta2/2) ||grad||^2"
    ),
    inputs=(
        real("L", "training loss at theta_k", low_open=False, example=0.6),
        real("gradient", "norm of the gradient of the training loss at theta_k", low_open=False, example=0.5),
        real("eta", "step size", symbol="η", example=0.5),
        B_NORM,
        real(
            "b_next",
            "max_h ||U_h||_F at theta_{k+1}",
            low_open=False,
            optional=True,
            derived="b + eta sqrt(T) R min(1, L)/sqrt(H)",
        ),
        TOKENS,
        RADIUS,
        DIMENSION,
        HEADS,
    ),
    status=Status.TRUE,
    reason="true; beta2 depends on b only, and b is convex along the step",
    printed=printed,
    sound=sound,
    assumptions=("a full gradient step on the training loss",),
    defects=(
        "The condition mentions theta_{k+1}, which is not known before the step; one step moves b by a known amount.",
    ),
    monotone={"L": 1},
    proof="docs/proofs/deora.md",
)
