r"""Theorem 1: training loss of gradient descent on multi-head attention.

For any target theta at distance D from theta_0, after K steps of size eta,

Printed:  .. math:: \hat L(\theta_K)\le\frac1K\sum_{k=1}^K\hat L(\theta_k)\le 2\hat L(\theta)+\frac{5D^2}{4\eta K}
          \quad\text{if}\ \sqrt H\gtrsim d\sqrt T R^5\|\theta\|_{2,\infty}D^3,\ \eta\le 1\wedge\tfrac1\rho\wedge\dots

with the explicit conditions of section 6.1: sqrt(H) >= 18 beta3(b + 3D) D^2 and the rho given there.

Sound: for any s < pi/2 that closes the induction (q(s) <= s^2, eta beta2 <= 1),

.. math:: \frac1K\sum_{k=1}^K\hat L(\theta_k)\le\frac{1}{c_0}\Bigl[c_1\hat L(\theta)+\frac{D^2}{2\eta K}
          +\frac{(1-c_0)\hat L(\theta_0)}{K}\Bigr],\quad c_0=s\cot s,\ c_1=s/\sin s.

No certificate is an answer: the value is then inf and the check says what is missing.
"""

from __future__ import annotations

import math

from certiformer.calculus.descent import Run
from certiformer.core import Quantity, Result, Status, Variants, printed_value, side_number, upper_bound, verified
from certiformer.theorems.deora import DEORA
from certiformer.theorems.deora._attention import DIMENSION, LOSS, RADIUS, READOUT, TOKENS, Attention
from certiformer.theorems.deora._training import (
    RUN,
    heads_needed,
    printed_checks,
    printed_heads,
    printed_rho,
    printed_step,
    training_bound,
)


def printed(
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
) -> Variants:
    run = Run(D, b, b0, Lt, L0, K, eta)
    heads = printed_heads(18.0, D, b, T, R, d)
    rho = printed_rho(D, b, H, T, R, d)
    eta_max = printed_step(run, rho)
    checks = (
        *printed_checks(run, heads, H, R, eta_max),
        verified("logistic loss, not pooled", readout != "pooling" and (G, C, Q) == (1.0, 1.0, 0.25)),
    )
    return {
        "value": printed_value(2.0 * Lt + 5.0 * D * D / (4.0 * eta * K), checks=checks),
        "travel": printed_value(4.0 * D, checks=checks, bounds=Quantity.CONSTANT, note="||theta_K - theta_0||"),
        "H_needed": printed_value(
            heads,
            bounds=Quantity.WIDTH,
            note="(18 beta3(b + 3D) D^2)^2, section 6.1; grows like d^3 T R^10 D^6",
        ),
        "rho": side_number(rho, "the step size must be at most 1/rho"),
        "eta_max": side_number(eta_max, "largest step size the theorem allows"),
    }


def sound(
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
) -> Variants:
    run = Run(D, b, b0, Lt, L0, K, eta)
    model = Attention(T, R, H, readout, G, C, Q)
    value, certificate, checks = training_bound(model, run)
    distance, B, q = (certificate.distance, certificate.B, certificate.q) if certificate else (math.inf,) * 3
    ratio = distance / D if D > 0.0 else (math.inf if distance > 0.0 else 1.0)
    return {
        "value": value,
        "travel": upper_bound(
            D + distance, checks=checks, bounds=Quantity.CONSTANT, note="||theta_k - theta_0||, k <= K"
        ),
        "distance": upper_bound(distance, checks=checks, bounds=Quantity.CONSTANT, note="||theta_k - theta||, k <= K"),
        "r": side_number(ratio, "||theta_k - theta|| <= r D for every k <= K"),
        "B": side_number(B, "max_h ||U_h|| <= B at every iterate"),
        "q": side_number(q, "beta3(B) (r D)^2 / sqrt(H), below (pi/2)^2"),
        "H_needed": heads_needed(model, run),
    }


RESULT = Result(
    id="deora.thm1",
    title="Training loss of gradient descent, and the heads it needs",
    paper=DEORA,
    place="Theorem 1",
    bounds=Quantity.TRAINING_LOSS,
    statement=(
        "L(theta_K) <= avg <= 2 Lt + 5 D^2/(4 eta K) and ||theta_K - theta_0|| <= 4D if sqrt(H) >~ d sqrt(T) R^5 b D^3 "
        "(section 6.1: sqrt(H) >= 18 beta3(b + 3D) D^2) and eta <= 1 ^ 1/rho ^ D^2/(K Lt) ^ D^2/L0"
    ),
    latex=(
        r"\hat L(\theta_K)\le\tfrac1K\sum_{k\le K}\hat L(\theta_k)\le "
        r"2\hat L(\theta)+\frac{5\|\theta-\theta_0\|^2}{4\eta K},"
        r"\quad \sqrt H\gtrsim d\sqrt TR^5\|\theta\|_{2,\infty}\|\theta-\theta_0\|^3"
    ),
    sound_statement=(
        "For the least s < pi/2 with beta3(B) (rD)^2/sqrt(H) <= s^2, c0 = "
        "s cot s, c1 = s/sin s, S = [K c1 Lt + (1-c0) L0 + "
        "D^2/(2 eta)]/c0, (rD)^2 = D^2 + 2 eta (K c1 Lt + (1-c0) L0), B "
        "= max(b, b0, min(b + rD, b0 + eta sqrt(T) R (L0+S)"
        "/sqrt(H))), and if eta beta2(B + eta sqrt(T) R min(1, L0)/sqrt(H)) <= 1: L(theta_K) <= avg <= min(S/K, L0), "
        "||theta_k - theta|| <= rD, b(theta_k) <= B. H_needed: the least H for which such an s exists."
    ),
    inputs=(*RUN, TOKENS, RADIUS, DIMENSION, READOUT, *LOSS),
    status=Status.CONSTANT,
    reason=(
        "true with the explicit conditions of section 6.1; the heads condition hides 468, and the order of rho is wrong"
    ),
    printed=printed,
    sound=sound,
    assumptions=(
        "full-batch gradient descent with a constant step size",
        "the target theta is free: any point whose distance, norm and loss are known",
        "labels are +1 or -1, every training token has norm at most R",
    ),
    defects=(
        (
            "The heads condition hides its constant and needs b, D, R >= 1: "
            "then 468 suffices (with the sqrt(Td) reading of beta3)."
        ),
        (
            "rho is said to be of order d^{3/2} T^{3/2} R^13 b^2 D^2; the "
            "explicit rho has a term d T^2 R^12, so the ratio grows "
            "like sqrt(T)."
        ),
        "Heads of order d^3 T R^10 D^6: the sound condition has no d and grows like D^4 when b0 is O(1).",
        "The step size must be below 1/rho, about 1e-5 on small problems where 1 is safe.",
    ),
    monotone={"D": 1, "b": 1, "b0": 1, "Lt": 1, "L0": 1, "T": 1, "R": 1, "H": -1},
    proof="docs/proofs/deora.md",
)
