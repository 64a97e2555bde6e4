r"""Lemma 3.2: on inputs of bounded l1 norm, the scaled basis decides.

F = {x -> Wx}, ||x||_1 <= B_x:

.. math:: N_\infty(F,\varepsilon,N,\|\cdot\|_q) = N_\infty(F,\varepsilon,\{B_xe_1,\dots,B_xe_d\},\|\cdot\|_q),\quad
          N\ge d

True, and "at most" for every N. The calculator evaluates the right side exactly for a small finite class, with proper
covers and strict radii as the paper defines them.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from certiformer.core import (
    InputError,
    Quantity,
    Result,
    Status,
    Variants,
    count,
    printed_value,
    real,
    reals,
    side_number,
    upper_bound,
)
from certiformer.theorems.trauger import TRAUGER

_MOST_MATRICES = 16


def printed(W: tuple[float, ...], d: int, k: int, Bx: float, eps: float, q: float) -> Variants:
    number = covering_number(_matrices(W, d, k), Bx, eps, q)
    return {"value": printed_value(math.log(number)), "covering_number": side_number(number)}


def sound(W: tuple[float, ...], d: int, k: int, Bx: float, eps: float, q: float) -> Variants:
    number = covering_number(_matrices(W, d, k), Bx, eps, q)
    return {"value": upper_bound(math.log(number)), "covering_number": side_number(number)}


def covering_number(matrices: NDArray[np.float64], Bx: float, eps: float, q: float) -> int:
    """The smallest number of members whose open eps-balls, on the scaled basis, contain the class."""
    differences = np.abs(matrices[:, None] - matrices[None, :])
    # B_x e_j picks column j; its q-norm, the largest over columns. Scaled first, so that powers stay finite.
    largest = max(float(differences.max()), 1e-300)
    distances = Bx * largest * np.max(np.sum((differences / largest) ** q, axis=2) ** (1.0 / q), axis=2)
    near = distances < eps
    members = range(len(matrices))
    return next(
        size
        for size in range(1, len(matrices) + 1)
        if any(near[list(chosen)].any(axis=0).all() for chosen in itertools.combinations(members, size))
    )


def _matrices(W: tuple[float, ...], d: int, k: int) -> NDArray[np.float64]:
    if len(W) % (d * k):
        raise InputError(
            "W", len(W), f"a multiple of d k = {d * k} entries", "One k x d matrix after the other, by rows"
        )
    if len(W) // (d * k) > _MOST_MATRICES:
        raise InputError("W", len(W) // (d * k), f"at most {_MOST_MATRICES} matrices", "The search is exhaustive")
    return np.array(W, dtype=np.float64).reshape(-1, k, d)


RESULT = Result(
    id="trauger.lem3.2",
    title="Inputs of bounded l1 norm: the basis decides",
    paper=TRAUGER,
    place="Lemma 3.2",
    bounds=Quantity.LOG_COVERING_NUMBER,
    statement="N(F, eps, N points with ||x||_1 <= Bx) = N(F, eps, {Bx e_1, ..., Bx e_d}) for N >= d",
    latex=r"N_\infty(F,\varepsilon,N,\|\cdot\|_q)=N_\infty(F,\varepsilon,\{B_xe_1,\dots,B_xe_d\},\|\cdot\|_q)",
    sound_statement=(
        "The same; for N < d as an inequality. More generally a cover on atoms a_1..a_M serves every input in their "
        "absolutely convex hull: ||(W - What) x|| <= sum |c_j| ||(W - What) a_j||."
    ),
    inputs=(
        reals(
            "W",
            "the finite class: k x d matrices by rows, one after the other",
            low=-math.inf,
            example=(1.0, 0.0, 0.0, 1.0, 1.0, 1.0, -1.0, 0.0),
        ),
        count("d", "input dimension", example=2),
        count("k", "output dimension", default=1, example=1),
        real("Bx", "bound on the l1 norm of the inputs", symbol="B_x", example=2),
        real("eps", "radius, strict", symbol="ε", example=2.5),
        real("q", "norm of the output, l_q", low=1, low_open=False, default=2.0, example=2),
    ),
    status=Status.TRUE,
    reason="by the triangle inequality; N >= d is needed for equality only",
    printed=printed,
    sound=sound,
    assumptions=("proper covers, strict radius: max over inputs of ||(W - What) x||_q < eps",),
    defects=(
        "The proof writes W_i, the symbol of a row, for column i.",
        "Strict and non-strict inequalities are mixed.",
    ),
    proof="docs/proofs/trauger.md",
)
