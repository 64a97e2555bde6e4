from __future__ import annotations

import math

from certiformer.theory.calculus.softmax import softmax
from certiformer.theory.core import (
    InputError,
    Quantity,
    Result,
    Status,
    Variants,
    printed_value,
    side_number,
    upper_bound,
)
from certiformer.theory.core.inputs import count, reals
from certiformer.theory.core.lazy import np
from certiformer.theory.theorems.deora import DEORA


def _probabilities(v: tuple[float, ...], i: int, j: int) -> list[float]:
    if max(i, j) > len(v):
        raise InputError("i, j", (i, j), f"positions between 1 and {len(v)}, the length of v")
    return [float(p) for p in softmax(np.array(v))]


class SoftmaxFacts(Result):
    r"""Jacobian of softmax.

    Printed: phi'(v) = diag(phi(v)) - v v^T; phi'(0) = I - 11^T/T
    .. math:: \varphi'(v)=\mathrm{diag}(\varphi(v))-vv^\top,\quad \varphi'(0)=I-\tfrac1T11^\top
    Quoted: $\varphi'(\mathbf{v}) := \nabla \varphi(\mathbf{v}) = \text{diag}(\varphi(\mathbf{v})) -
    \mathbf{v}\mathbf{v}^\top$
    Sound: phi'(v) = diag(phi) - phi phi^T; phi'(0) = (I - 11^T/T)/T; ||phi'(v)|| <= max_i 2 phi_i (1 - phi_i) <=
    1/2
    .. math:: \varphi'(v)=\mathrm{diag}(\varphi)-\varphi\varphi^\top,\quad
       \varphi'(0)=\tfrac{1}{T}\bigl(I-\tfrac{1}{T}11^\top\bigr),\quad \|\varphi'(v)\|\le
       \max_i2\varphi_i(1-\varphi_i)\le \tfrac{1}{2}
    Because: v v^T for phi phi^T, and a factor 1/T is missing at zero
    Defects:
    - The notation subtracts v v^T instead of phi(v) phi(v)^T: at v = (0, 1, -1) the entry (1, 2) is -0.1628, not 0.
    - Section 5.2 has phi'(0) = I - 11^T/T; the true matrix is 1/T times that.
    """

    id = "deora.softmax"
    paper, place = DEORA, "Section 2, notation; Section 5.2"
    bounds, status = Quantity.LIPSCHITZ_CONSTANT, Status.FALSE

    v: tuple[float, ...] = reals("the logits", low=-math.inf, example=(0.0, 1.0, -1.0))
    i: int = count("row of the Jacobian, from 1", example=1)
    j: int = count("column of the Jacobian, from 1", example=2)

    def printed(self) -> Variants:
        probability = _probabilities(self.v, self.i, self.j)
        same = float(self.i == self.j)
        return {
            "entry": printed_value(
                probability[self.i - 1] * same - self.v[self.i - 1] * self.v[self.j - 1], bounds=Quantity.CONSTANT
            ),
            "at_zero": printed_value(same - 1.0 / len(self.v), bounds=Quantity.CONSTANT),
        }

    def sound(self) -> Variants:
        probability = _probabilities(self.v, self.i, self.j)
        same = float(self.i == self.j)
        row = max(2.0 * p * (1.0 - p) for p in probability)
        return {
            "norm": upper_bound(0.5, note="for every v"),
            "norm_here": upper_bound(row, note="row sums of the absolute values (Gershgorin)"),
            "entry": side_number(probability[self.i - 1] * (same - probability[self.j - 1]), "exact"),
            "at_zero": side_number((same - 1.0 / len(self.v)) / len(self.v), "exact"),
        }
