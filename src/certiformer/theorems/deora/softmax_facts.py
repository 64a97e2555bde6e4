r"""The softmax Jacobian, as the notation section and section 5.2 have it.

Printed:  .. math:: \varphi'(v) = \mathrm{diag}(\varphi(v)) - vv^\top,\qquad \varphi'(0) = I - \tfrac1T 11^\top

True:     .. math:: \varphi'(v) = \mathrm{diag}(\varphi(v)) - \varphi(v)\varphi(v)^\top,\qquad
          \varphi'(0) = \tfrac1T\bigl(I-\tfrac1T11^\top\bigr)

and ||phi'(v)||_op <= max_i 2 phi_i (1 - phi_i) <= 1/2, attained at two equal tokens.
"""

from __future__ import annotations

import math

import numpy as np

from certiformer.calculus.softmax import softmax
from certiformer.core import (
    InputError,
    Quantity,
    Result,
    Status,
    Variants,
    count,
    printed_value,
    reals,
    side_number,
    upper_bound,
)
from certiformer.theorems.deora import DEORA


def printed(v: tuple[float, ...], i: int, j: int) -> Variants:
    probability = _probabilities(v, i, j)
    same = float(i == j)
    return {
        "entry": printed_value(probability[i - 1] * same - v[i - 1] * v[j - 1], bounds=Quantity.CONSTANT),
        "at_zero": printed_value(same - 1.0 / len(v), bounds=Quantity.CONSTANT),
    }


def sound(v: tuple[float, ...], i: int, j: int) -> Variants:
    probability = _probabilities(v, i, j)
    same = float(i == j)
    row = max(2.0 * p * (1.0 - p) for p in probability)
    return {
        "norm": upper_bound(0.5, note="for every v"),
        "norm_here": upper_bound(row, note="row sums of the absolute values (Gershgorin)"),
        "entry": side_number(probability[i - 1] * (same - probability[j - 1]), "exact"),
        "at_zero": side_number((same - 1.0 / len(v)) / len(v), "exact"),
    }


def _probabilities(v: tuple[float, ...], i: int, j: int) -> list[float]:
    if max(i, j) > len(v):
        raise InputError("i, j", (i, j), f"positions between 1 and {len(v)}, the length of v")
    return [float(p) for p in softmax(np.array(v))]


RESULT = Result(
    id="deora.softmax",
    title="Jacobian of softmax",
    paper=DEORA,
    place="Section 2, notation; Section 5.2",
    bounds=Quantity.LIPSCHITZ_CONSTANT,
    statement="phi'(v) = diag(phi(v)) - v v^T; phi'(0) = I - 11^T/T",
    latex=r"\varphi'(v)=\mathrm{diag}(\varphi(v))-vv^\top,\quad \varphi'(0)=I-\tfrac1T11^\top",
    sound_statement=(
        "phi'(v) = diag(phi) - phi phi^T; phi'(0) = (I - 11^T/T)/T; ||phi'(v)|| <= max_i 2 phi_i (1 - phi_i) <= 1/2"
    ),
    inputs=(
        reals("v", "the logits", low=-math.inf, example=(0.0, 1.0, -1.0)),
        count("i", "row of the Jacobian, from 1", example=1),
        count("j", "column of the Jacobian, from 1", example=2),
    ),
    status=Status.FALSE,
    reason="v v^T for phi phi^T, and a factor 1/T is missing at zero",
    printed=printed,
    sound=sound,
    defects=(
        (
            "The notation subtracts v v^T instead of phi(v) phi(v)^T: at v "
            "= (0, 1, -1) the entry (1, 2) is -0.1628, not 0."
        ),
        "Section 5.2 has phi'(0) = I - 11^T/T; the true matrix is 1/T times that.",
    ),
    proof="docs/proofs/deora.md",
)
