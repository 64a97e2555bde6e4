r"""Theorem 2: expected generalization gap of gradient descent, by stability.

Printed:  .. math:: E[L(\theta_K)-\hat L(\theta_K)]\le\frac4n\,E\Bigl[2K\hat L(\theta)+\frac{9D^2}{4\eta}\Bigr]

Sound: under a certificate of Theorem 1 (angle s, norm B, total loss S),

.. math:: \mathrm{stability}\le\frac{\eta\beta_1(B)}{n}e^A(L_0+S),\quad A=\frac{2\eta\beta_3(B)(L_0+S)}{\sqrt H\cos s},
          \qquad \mathrm{gap}\le 2\beta_1(B)\,\mathrm{stability}.

It is a statement in expectation. Two hypotheses that no program can see must be claimed: the start does not depend on
the sample, and R (with the other inputs) holds almost surely. Without the first the gap can be 0.69 at a value of 3e-4.
"""

from __future__ import annotations

from certiformer.calculus.descent import Run
from certiformer.core import Quantity, Result, Status, Variants, count, printed_value, side_number, verified
from certiformer.theorems.deora import DEORA
from certiformer.theorems.deora._attention import (
    ALMOST_SURE,
    DIMENSION,
    INDEPENDENT,
    LOSS,
    RADIUS,
    READOUT,
    TOKENS,
    Attention,
    printed_beta1,
    stability_checks,
)
from certiformer.theorems.deora._training import (
    RUN,
    printed_checks,
    printed_heads,
    printed_rho,
    printed_step,
    stability_bounds,
    training_bound,
)


def printed(
    n: int,
    D: float,
    b: float,
    b0: float,
    Lt: float,
    L0: float,
    H: int,
    K: int,
    eta: float,
    T: int,
    R: float,
    d: int,
    readout: str,
    G: float,
    C: float,
    Q: float,
    independent: bool,
    almost_sure: bool,
) -> Variants:
    run = Run(D, b, b0, Lt, L0, K, eta)
    heads = printed_heads(72.0, D, b, T, R, d)
    gradient = printed_beta1(b + 3.0 * D, T, R)
    checks = (
        *printed_checks(run, heads, H, R, printed_step(run, printed_rho(D, b, H, T, R, d))),
        verified("eta <= 1/beta1(b + 3D)^2", eta * gradient * gradient <= 1.0, 1.0 / (gradient * gradient)),
        verified("logistic loss, not pooled", readout != "pooling" and (G, C, Q) == (1.0, 1.0, 0.25)),
        *stability_checks(independent, almost_sure),
    )
    losses = 2.0 * K * Lt + 9.0 * D * D / (4.0 * eta)
    return {
        "value": printed_value(4.0 / n * losses, checks=checks),
        "stability": printed_value(2.0 * eta * gradient / n * losses, checks=checks, bounds=Quantity.STABILITY),
        "H_needed": printed_value(heads, bounds=Quantity.WIDTH, note="(72 beta3(b + 3D) D^2)^2"),
    }


def sound(
    n: int,
    D: float,
    b: float,
    b0: float,
    Lt: float,
    L0: float,
    H: int,
    K: int,
    eta: float,
    T: int,
    R: float,
    d: int,
    readout: str,
    G: float,
    C: float,
    Q: float,
    independent: bool,
    almost_sure: bool,
) -> Variants:
    run = Run(D, b, b0, Lt, L0, K, eta)
    model = Attention(T, R, H, readout, G, C, Q)
    train, certificate, checks = training_bound(model, run)
    bounds = stability_bounds(model, run, certificate, n, (*checks, *stability_checks(independent, almost_sure)))
    return {**bounds, "train": side_number(train.value, "the bound of deora.thm1 on the training loss")}


RESULT = Result(
    id="deora.thm2",
    title="Expected generalization gap of gradient descent",
    paper=DEORA,
    place="Theorem 2",
    bounds=Quantity.GAP,
    statement="E[gap] <= (4/n) E[2 K Lt + 9 D^2/(4 eta)] under the conditions of Theorem 1 (up to constants)",
    latex=(
        r"E[L(\theta_K)-\hat L(\theta_K)]\le\frac4nE\bigl[2K\hat "
        r"L(\theta)+\tfrac{9\|\theta-\theta_0\|^2}{4\eta}\bigr]"
    ),
    sound_statement=(
        "With s, B, S of deora.thm1: stability <= (eta beta1(B)/n) e^A "
        "(L0+S), A = 2 eta beta3(B)(L0+S)/(sqrt(H) cos s), "
        "E[gap] <= 2 beta1(B) stability; theta_0, eta, K, H independent of the sample, R and the inputs almost sure."
    ),
    inputs=(
        count("n", "sample size", aliases=("m", "N"), example=1000),
        *RUN,
        TOKENS,
        RADIUS,
        DIMENSION,
        READOUT,
        *LOSS,
        INDEPENDENT,
        ALMOST_SURE,
    ),
    status=Status.CONSTANT,
    reason="true with sqrt(H) >= 72 beta3(b + 3D) D^2, eta <= 1/beta1(b + 3D)^2 and a start independent of the sample",
    printed=printed,
    sound=sound,
    assumptions=(
        "the n samples are i.i.d.; theta_0, eta, K, H do not depend on them",
        "R bounds every token of the population; D, b, b0, Lt, L0 bound their values for almost every training set",
        "K is fixed in advance, not chosen from the training or validation curve",
    ),
    defects=(
        "The condition on H hides its constant: 72 beta3(b + 3D) D^2 (1872 in the form of (3)).",
        (
            "The proof uses eta beta1^2 <= 1, which the huge rho implies; "
            "at any sharper step size that factor has to stay."
        ),
        (
            "That theta_0 must not depend on the sample is not said: a start "
            "fitted to the sample has gap 0.69 at value 3e-4."
        ),
        "(21) in its proof misplaces a bracket (deora.eq21).",
    ),
    monotone={"n": -1, "D": 1, "b": 1, "b0": 1, "Lt": 1, "L0": 1, "T": 1, "R": 1, "H": -1},
    proof="docs/proofs/deora.md",
)
