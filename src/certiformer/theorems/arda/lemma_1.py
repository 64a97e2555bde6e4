r"""Lemma 1: the gradient of f = m^{-1/2} sum c_i sigma(u_i^T a_i), head by head.

.. math:: \partial_{c_i}f=\frac{h_i}{\sqrt m},\quad\nabla_{u_i}f=\frac{c_i\sigma'(s_i)}{\sqrt m}a_i,\quad
          \nabla_{W_i}f=\frac{c_i\sigma'(s_i)}{\sqrt m}M_iu_iq^\top

Printed (rebuilt; Remarks 3 and 4 bound the blocks one by one): one head's gradient is at most
sqrt(s0^2 + c^2 s1^2 (1 + B^2))/sqrt(m).

Sound: the blocks cannot be large together (||a||^2 + tr M <= 1), so that

.. math:: \|\nabla_i f\|\le\sqrt{\bigl(s_0^2+c^2s_1^2\max(1,B)^2\bigr)/m}.
"""

from __future__ import annotations

import math

from certiformer.calculus.activations import activation as find_activation
from certiformer.core import Quantity, Result, Status, Variants, printed_value, real, upper_bound
from certiformer.theorems.arda import ARDA
from certiformer.theorems.arda._heads import lipschitz
from certiformer.theorems.arda._inputs import ACTIVATION, UNIT_BALL, WIDTH


def printed(activation: str, m: int, c: float, B: float) -> Variants:
    sigma = find_activation(activation)
    value = math.hypot(sigma.s0, c * sigma.s1, c * sigma.s1 * B) / math.sqrt(m)
    return {"value": printed_value(value, note="reconstructed from Remarks 3 and 4, confidence medium")}


def sound(activation: str, m: int, c: float, B: float) -> Variants:
    sigma = find_activation(activation)
    root = math.sqrt(m)
    checks = (UNIT_BALL,)
    return {
        "value": upper_bound(math.hypot(sigma.s0, c * lipschitz(sigma, B)) / root, checks=checks),
        "c_block": upper_bound(sigma.s0 / root, checks=checks, bounds=Quantity.SMOOTHNESS),
        "u_block": upper_bound(c * sigma.s1 / root, checks=checks, bounds=Quantity.SMOOTHNESS),
        "W_block": upper_bound(c * sigma.s1 * B / root, checks=checks, bounds=Quantity.SMOOTHNESS),
    }


RESULT = Result(
    id="arda.lem1",
    title="Gradient of one head",
    paper=ARDA,
    place="Lemma 1, Remarks 3 and 4",
    bounds=Quantity.LIPSCHITZ_CONSTANT,
    statement=(
        "df/dc = h/sqrt(m), grad_u f = c sigma'(s) a/sqrt(m), grad_W f = c sigma'(s) M u q^T/sqrt(m), M = X J X^T; "
        "norms at most s0/sqrt(m), |c| s1/sqrt(m), |c| s1 B/sqrt(m)"
    ),
    latex=(
        r"\partial_cf=\tfrac{h}{\sqrt m},\ \nabla_uf=\tfrac{c\,\sigma'(s)}{\sqrt m}a,\ "
        r"\nabla_Wf=\tfrac{c\,\sigma'(s)}{\sqrt m}Mu\,q^\top"
    ),
    sound_statement="The same identities; the norm over one head is at most sqrt((s0^2 + c^2 s1^2 max(1, B)^2)/m).",
    inputs=(
        ACTIVATION,
        WIDTH,
        real("c", "|c_i|", example=1),
        real("B", "bound on ||u_i||", example=8),
    ),
    status=Status.RECONSTRUCTED,
    reason="the identities are lost in our copy; the released code and differentiation agree on them (confidence high)",
    printed=printed,
    sound=sound,
    assumptions=("tokens and query in the unit ball", "||u_i|| <= B"),
    monotone={"m": -1, "c": 1, "B": 1},
    proof="docs/proofs/arda.md",
)
