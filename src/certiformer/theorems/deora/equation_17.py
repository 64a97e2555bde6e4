r"""(17): the regret of gradient descent against a target, given bounds that hold along the run.

Printed:  .. math:: \frac1K\sum_{k=1}^K\hat L(\theta_k)\le\hat L(\theta)+\frac{D^2}{2\eta K}
          +\frac1{2K}\sum_{k<K}\frac{\beta_3}{\sqrt H}\max_{[\theta_k,\theta]}\hat L\ \|\theta-\theta_k\|^2

Sound: with s^2 = beta3(b) distance^2/sqrt(H) < (pi/2)^2, c0 = s cot s and c1 = s/sin s,

.. math:: \frac1K\sum_{k=1}^K\hat L(\theta_k)\le\frac1{c_0}\Bigl[c_1\hat L(\theta)+\frac{D^2}{2\eta K}
          +\frac{(1-c_0)\hat L(\theta_0)}K\Bigr].

`distance` and `b` bound ||theta_k - theta|| and max_h ||U_h|| at every iterate: measured after a run, or certified
before it (deora.thm1).
"""

from __future__ import annotations

import math

from certiformer.calculus.descent import Run, regret
from certiformer.core import (
    Quantity,
    Result,
    Status,
    Variants,
    assumed,
    count,
    printed_value,
    real,
    upper_bound,
    verified,
)
from certiformer.theorems.deora import DEORA
from certiformer.theorems.deora._attention import (
    B_NORM,
    DIMENSION,
    RADIUS,
    TOKENS,
    Attention,
    printed_beta2,
    printed_beta3,
)


def printed(
    D: float,
    Lt: float,
    L0: float,
    distance: float,
    Lmax: float,
    K: int,
    eta: float,
    b: float,
    T: int,
    R: float,
    d: int,
    H: int,
) -> Variants:
    curvature = printed_beta3(b, T, R, d) / math.sqrt(H)
    beta2 = printed_beta2(b, T, R, d, H)
    check = verified("eta beta2 <= 1 at every iterate", eta * beta2 <= 1.0, eta * beta2)
    value = Lt + D * D / (2.0 * eta * K) + 0.5 * curvature * Lmax * distance * distance
    return {"value": printed_value(value, checks=(check,))}


def sound(
    D: float,
    Lt: float,
    L0: float,
    distance: float,
    Lmax: float,
    K: int,
    eta: float,
    b: float,
    T: int,
    R: float,
    d: int,
    H: int,
) -> Variants:
    model = Attention(T, R, H)
    curvature = float(model.beta3(b)) / math.sqrt(H)
    step = eta * float(model.beta2(b))
    angle = math.sqrt(curvature) * distance
    checks = (
        verified("eta beta2(b) <= 1 at every iterate", step <= 1.0, step),
        assumed(
            "distance and b hold at theta, at theta_0 and at every iterate "
            "up to K; every training token has norm at most R"
        ),
    )
    run = Run(D, b, b, Lt, L0, K, eta)
    return {
        "sturm": upper_bound(
            regret(angle, run) / K, clip=L0, checks=(verified("s < pi/2", angle < math.pi / 2, angle), *checks)
        ),
        "taylor": upper_bound(
            Lt + D * D / (2.0 * eta * K) + 0.5 * curvature * Lmax * distance * distance,
            clip=L0,
            checks=(*checks, assumed("Lmax bounds the loss between every iterate and the target")),
        ),
    }


RESULT = Result(
    id="deora.eq17",
    title="Regret of gradient descent along a run",
    paper=DEORA,
    place="(17)",
    bounds=Quantity.TRAINING_LOSS,
    statement=(
        "avg L <= Lt + D^2/(2 eta K) + (1/2K) sum_k beta3/sqrt(H) max L "
        "||theta - theta_k||^2 (here with one bound for all k)"
    ),
    latex=(
        r"\tfrac1K\sum_{k=1}^K\hat L(\theta_k)\le\hat L(\theta)+\tfrac{\|\theta-\theta_0\|^2}{2\eta K}"
        r"+\tfrac1{2K}\sum_{k<K}\tfrac{\beta_3}{\sqrt H}\max_\alpha\hat L(\theta_{k_\alpha})\|\theta-\theta_k\|^2"
    ),
    sound_statement=(
        "s = sqrt(beta3(b)/sqrt(H)) distance < pi/2, c0 = s cot s, c1 = s/sin s, eta beta2(b) <= 1: "
        "avg L <= [c1 Lt + D^2/(2 eta K) + (1 - c0) L0/K]/c0; taylor: the printed form with the sharp beta3"
    ),
    inputs=(
        real("D", "||theta - theta_0||", low_open=False, example=2),
        real("Lt", "training loss at the target", low_open=False, example=0.1),
        real("L0", "training loss at the start", low_open=False, example=0.7),
        real("distance", "bound on ||theta - theta_k|| at every iterate", low_open=False, example=2.2),
        real(
            "Lmax", "largest loss between the iterates and the target (Taylor forms only)", low_open=False, example=0.7
        ),
        count("K", "gradient steps", example=200),
        real("eta", "step size", symbol="η", example=0.5),
        B_NORM,
        TOKENS,
        RADIUS,
        DIMENSION,
        count("H", "heads", example=10_000),
    ),
    status=Status.TRUE,
    reason="true given (13) and (16)",
    printed=printed,
    sound=sound,
    assumptions=("full-batch gradient descent with a constant step size",),
    defects=("The last term needs the loss between iterates and target; Sturm's comparison needs only the two ends.",),
    monotone={"D": 1, "Lt": 1, "L0": 1, "distance": 1, "b": 1, "T": 1, "R": 1, "H": -1},
    proof="docs/proofs/deora.md",
)
