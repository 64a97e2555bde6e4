r"""(12): the heads that a target of norm D, seen from the zero start, would need.

Printed:  .. math:: \sqrt H\gtrsim S^5\|\theta\|^3

Sound: (12) drops ||theta||_{2,inf} and the constant from (3). The heads condition of Theorem 1's own proof, with the
sharp beta3 of Corollary 1, is

.. math:: \sqrt H\ge18\,\beta_3(b+3D)\,D^2.

(deora.thm1 solves for the least H instead; this is the closed form.)
"""

from __future__ import annotations

from certiformer.core import Quantity, Result, Status, Variants, assumed, printed_value, real, upper_bound
from certiformer.theorems.deora import DEORA
from certiformer.theorems.deora._attention import B_NORM, RADIUS, TOKENS, Attention


def printed(D: float, b: float, T: int, R: float) -> Variants:
    root = R**5 * D * D * D
    return {"H_needed": printed_value(root * root, note="constant 1 where none is given; R stands for S")}


def sound(D: float, b: float, T: int, R: float) -> Variants:
    root = 18.0 * float(Attention(T, R, 1.0).beta3(b + 3.0 * D)) * D * D
    checks = (
        assumed("eta beta2(b + 3D + eta sqrt(T) R min(1, L0)/sqrt(H)) <= 1 and eta <= D^2/(K Lt) ^ D^2/L0"),
        assumed("every token has norm at most R"),
    )
    return {"H_needed": upper_bound(root * root, checks=checks)}


RESULT = Result(
    id="deora.eq12",
    title="Heads for a target far from zero",
    paper=DEORA,
    place="(12), Section 5.3",
    bounds=Quantity.WIDTH,
    statement="sqrt(H) >~ S^5 ||theta||^3",
    latex=r"H^{1/2}\gtrsim S^5\|\tilde\theta\|^3",
    sound_statement=(
        "sqrt(H) >= 18 beta3(b + 3D) D^2 with the sharp beta3 gives avg "
        "L <= 2 Lt + 5 D^2/(4 eta K) if eta <= D^2/(K Lt), "
        "eta <= D^2/L0 and eta beta2(b + 3D + eta sqrt(T) R min(1, L0)/sqrt(H)) <= 1"
    ),
    inputs=(
        real("D", "||theta - theta_0||", low_open=False, example=2),
        B_NORM,
        TOKENS,
        RADIUS,
    ),
    status=Status.CONSTANT,
    reason="the constant and the factor max_h ||theta_h|| of (3) are missing",
    printed=printed,
    sound=sound,
    defects=(
        "(12) drops max_h ||theta_h|| and T from (3).",
        (
            "The exponent in the conclusion H^{p-1/4} <~ C/log^{5/2}(n) "
            "should be p - 3/4; that no p, C works is unchanged, for "
            "log(n) > 1 and up to constants."
        ),
    ),
    monotone={"D": 1, "b": 1, "T": 1, "R": 1},
    proof="docs/proofs/deora.md",
)
