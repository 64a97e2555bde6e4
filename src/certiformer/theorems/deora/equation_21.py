r"""(20), (21): the distance between a run and its leave-one-out run, one step on.

Printed (21):  .. math:: \Bigl(1+\frac{\eta\beta_3}{\sqrt H}\Bigr)\max\hat L^{-i}\ \|\theta_k-\theta_k^{-i}\|
          +\frac{\eta\beta_1}{n}\ell_i(\theta_k)

Sound: the loss belongs inside the bracket,

.. math:: \Bigl(1+\frac{\eta\beta_3}{\sqrt H}\max\hat L^{-i}\Bigr)\|\theta_k-\theta_k^{-i}\|
          +\frac{\eta\beta_1}{n}\ell_i(\theta_k),\qquad \eta\beta_2\le2.
"""

from __future__ import annotations

import math

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
    HEADS,
    RADIUS,
    TOKENS,
    Attention,
    printed_beta1,
    printed_beta3,
)


def printed(
    distance: float, Lmax: float, li: float, eta: float, n: int, b: float, T: int, R: float, d: int, H: int
) -> Variants:
    spread = (1.0 + eta * printed_beta3(b, T, R, d) / math.sqrt(H)) * Lmax * distance
    return {"value": printed_value(spread + eta * printed_beta1(b, T, R) / n * li)}


def sound(
    distance: float, Lmax: float, li: float, eta: float, n: int, b: float, T: int, R: float, d: int, H: int
) -> Variants:
    model = Attention(T, R, H)
    spread = (1.0 + eta * float(model.beta3(b)) / math.sqrt(H) * Lmax) * distance
    kick = eta * float(model.beta1(b)) / n * li
    step = eta * float(model.beta2(b))
    checks = (
        verified("eta beta2 <= 2", step <= 2.0, step),
        assumed(
            "b and Lmax bound max_h ||U_h||_F and the leave-one-out loss between the two iterates; tokens at most R"
        ),
    )
    return {"value": upper_bound(spread + kick, terms={"spread": spread, "kick": kick}, additive=True, checks=checks)}


RESULT = Result(
    id="deora.eq21",
    title="Leave-one-out distance, one step on",
    paper=DEORA,
    place="(20), (21)",
    bounds=Quantity.STABILITY,
    statement="next distance <= (1 + eta beta3/sqrt(H)) max L^{-i} distance + (eta beta1/n) l_i",
    latex=(
        r"\|\theta_{k+1}-\theta_{k+1}^{-i}\|\le\bigl(1+\tfrac{\eta\tilde\beta_3}{\sqrt H}\bigr)\max_\alpha\hat L^{-i}"
        r"\|\theta_k-\theta_k^{-i}\|+\tfrac{\eta\beta_1}{n}\ell_i(\theta_k)"
    ),
    sound_statement=(
        "next distance <= (1 + (eta beta3/sqrt(H)) max L^{-i}) distance + (eta beta1/n) l_i, if eta beta2 <= 2"
    ),
    inputs=(
        real("distance", "||theta_k - theta_k^{-i}||", low_open=False, example=0.1),
        real("Lmax", "largest leave-one-out loss on the segment", low_open=False, example=0.3),
        real("li", "loss of sample i at theta_k", low_open=False, example=0.3),
        real("eta", "step size", symbol="η", example=0.5),
        count("n", "sample size", aliases=("m", "N"), example=100),
        B_NORM,
        TOKENS,
        RADIUS,
        DIMENSION,
        HEADS,
    ),
    status=Status.FALSE,
    reason="a bracket is misplaced: with a small loss the printed value contracts distances that do not contract",
    printed=printed,
    sound=sound,
    defects=(
        (
            "(21) multiplies the whole bracket by the loss; as the loss tends "
            "to 0 it claims that the two runs merge in one step."
        ),
        "(22) is right with its factor 4/3 when sqrt(H) >= 72 beta3(b + 3D) D^2 for the pair of runs.",
    ),
    monotone={"distance": 1, "Lmax": 1, "li": 1, "n": -1, "b": 1, "T": 1, "R": 1, "H": -1},
    proof="docs/proofs/deora.md",
)
