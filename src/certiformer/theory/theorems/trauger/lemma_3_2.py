from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

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
from certiformer.theory.core.inputs import count, real, reals
from certiformer.theory.core.lazy import np
from certiformer.theory.theorems.trauger import TRAUGER

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_MATRICES = 16


def covering_number(matrices: NDArray[np.float64], Bx: float, eps: float, q: float) -> int:
    """The smallest number of members whose open eps-balls, on the scaled basis, contain the class."""
    differences = np.abs(matrices[:, None] - matrices[None, :])
    # B_x e_j picks column j; its q-norm, the largest over columns. Scaled first, so that powers stay finite.
    largest = max(float(differences.max()), 1e-300)  # mutants: ends-of-the-floats
    distances = Bx * largest * np.max(np.sum((differences / largest) ** q, axis=2) ** (1.0 / q), axis=2)
    near = distances < eps
    members = range(len(matrices))
    return next(
        size
        for size in range(1, len(matrices) + 1)  # mutants: nobody-looks
        if any(near[list(chosen)].any(axis=0).all() for chosen in itertools.combinations(members, size))
    )


def _matrices(W: tuple[float, ...], d: int, k: int) -> NDArray[np.float64]:
    if len(W) % (d * k):
        raise InputError(
            "W", len(W), f"a multiple of d k = {d * k} entries", "One k x d matrix after the other, by rows"
        )
    if len(W) // (d * k) > _MOST_MATRICES:
        raise InputError("W", len(W) // (d * k), f"at most {_MOST_MATRICES} matrices", "The search is exhaustive")
    return np.array(W, dtype=np.float64).reshape(-1, k, d)  # mutants: the-rest-of-an-array


class Lemma32(Result):
    r"""Inputs of bounded l1 norm: the basis decides.

    F = {x -> Wx} on inputs of l1 norm at most B_x. The calculator evaluates the right side exactly for a small finite
    class, with proper covers and strict radii as the paper defines them.

    .. math:: N_\infty(F,\varepsilon,N,\|\cdot\|_q) =
       N_\infty(F,\varepsilon,\{B_xe_1,\dots,B_xe_d\},\|\cdot\|_q),\quad N\ge d

    Printed: N(F, eps, N points with ||x||_1 <= Bx) = N(F, eps, {Bx e_1, ..., Bx e_d}) for N >= d
    .. math:: N_\infty(F,\varepsilon,N,\|\cdot\|_q)=N_\infty(F,\varepsilon,\{B_xe_1,\dots,B_xe_d\},\|\cdot\|_q)
    Sound: The same; for N < d as an inequality. More generally a cover on atoms a_1..a_M serves every input in
    their absolutely convex hull: ||(W - What) x|| <= sum |c_j| ||(W - What) a_j||.
    .. math:: \|(W-\hat W)x\|\le\sum_j|c_j|\,\|(W-\hat W)a_j\|\ \text{ for }x=\sum_jc_ja_j,\ \sum_j|c_j|\le1
    Because: by the triangle inequality; N >= d is needed for equality only
    Assumes:
    - proper covers, strict radius: max over inputs of ||(W - What) x||_q < eps
    Defects:
    - The proof writes W_i, the symbol of a row, for column i.
    - Strict and non-strict inequalities are mixed.
    """

    paper, place = TRAUGER, "Lemma 3.2"
    bounds, status = Quantity.LOG_COVERING_NUMBER, Status.TRUE

    W: tuple[float, ...] = reals(
        "the finite class: k x d matrices by rows, one after the other",
        low=-math.inf,
        example=(1.0, 0.0, 0.0, 1.0, 1.0, 1.0, -1.0, 0.0),
    )
    d: int = count("input dimension", example=2)
    k: int = count("output dimension", example=1, default=1)
    Bx: float = real("bound on the l1 norm of the inputs", example=2, symbol="B_x")
    eps: float = real("radius, strict", example=2.5, symbol="ε")
    q: float = real("norm of the output, l_q", low=1, low_open=False, example=2, default=2.0)

    def printed(self) -> Variants:
        number = covering_number(_matrices(self.W, self.d, self.k), self.Bx, self.eps, self.q)
        return {"value": printed_value(math.log(number)), "covering_number": side_number(number)}

    def sound(self) -> Variants:
        number = covering_number(_matrices(self.W, self.d, self.k), self.Bx, self.eps, self.q)
        return {"value": upper_bound(math.log(number)), "covering_number": side_number(number)}
