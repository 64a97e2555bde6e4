r"""Definition 3.1: offset Rademacher complexity of a finite class on one sample.

.. math:: R^{off}_n(H,\beta\mid Z) = E_\tau \sup_{h\in H} \frac1n\sum_i \tau_i h(Z_i) - \frac{\beta}{n}\sum_i h(Z_i)^2

Printed: the definition (given the values of the functions), and the bound (1 + ln N)/(2 beta n) of the proof of
Corollary 4.5 (given the number of functions). Sound: the same enumeration, and ln N/(2 beta n): neither the "1 +" nor
beta <= 1/(2M) is needed. Where the values come from one sample, the number estimates the expectation in the theorems.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from certiformer.calculus import offset
from certiformer.core import (
    Bound,
    Check,
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
    verified,
)
from certiformer.theorems.li import LI

_ESTIMATE = "exact for this sample; an estimate of the expectation over samples that the theorems need"


def printed(
    beta: float,
    n: int,
    logN: float,
    values: tuple[float, ...] | None,
    bound: float | None,
    draws: int | None,
    eta: float,
) -> Variants:
    variants = {}
    matrix = _matrix(values, n)
    if matrix is not None and n <= offset.MOST_SIGNS:
        variants["value"] = printed_value(offset.exact(matrix, beta), note=_ESTIMATE)
    in_range = () if bound is None else (verified("beta <= 1/(2M)", beta * 2.0 * bound <= 1.0, beta),)
    variants["finite"] = printed_value((1.0 + logN) / (2.0 * beta * n), checks=(*_counted(matrix, logN), *in_range))
    return variants


def sound(
    beta: float,
    n: int,
    logN: float,
    values: tuple[float, ...] | None,
    bound: float | None,
    draws: int | None,
    eta: float,
) -> Variants:
    variants: dict[str, Bound] = {}
    matrix = _matrix(values, n)
    if matrix is not None and n <= offset.MOST_SIGNS:
        variants["value"] = upper_bound(offset.exact(matrix, beta), note=_ESTIMATE)
    variants["finite"] = upper_bound(offset.finite_class(logN, beta, n), checks=_counted(matrix, logN))
    if draws is not None:
        size_of = bound if bound is not None else (None if matrix is None else float(np.max(np.abs(matrix))))
        if size_of is not None:
            width = offset.half_width(size_of, n, draws, eta)
            variants["half_width"] = side_number(width, "of a Monte-Carlo estimate with `draws` sign vectors")
    return variants


def _matrix(values: tuple[float, ...] | None, n: int) -> NDArray[np.float64] | None:
    if values is None:
        return None
    if len(values) % n:
        raise InputError("values", len(values), f"a multiple of n = {n} numbers, one row of n per function")
    return np.array(values, dtype=np.float64).reshape(-1, n)


def _counted(matrix: NDArray[np.float64] | None, logN: float) -> tuple[Check, ...]:
    if matrix is None:
        return ()
    return (verified("logN is at least the log of the number of rows", logN >= math.log(len(matrix)) - 1e-9, logN),)


RESULT = Result(
    id="li.def3.1",
    title="Offset Rademacher complexity",
    paper=LI,
    place="Definition 3.1",
    bounds=Quantity.OFFSET_COMPLEXITY,
    statement=(
        "R_off = E_tau sup_h [ (1/n) sum_i tau_i h(Z_i) - (beta/n) sum_i h(Z_i)^2 ]; finite class: at "
        "most (1 + log N)/(2 beta n)"
    ),
    latex=r"E_\tau\sup_{h}\Bigl(\tfrac1n\sum_i\tau_ih(Z_i)-\tfrac\beta n\sum_ih(Z_i)^2\Bigr)",
    sound_statement=(
        "value: exact by enumeration of the signs (n <= 18). finite: at most log N/(2 beta n), any beta "
        "> 0. half_width: a Monte-Carlo mean over m sign vectors is within M sqrt(2 log(2/eta)/(nm)), "
        "|h| <= M, with probability 1 - eta. For classes with proper covers: offset chaining "
        "(calculus.offset.chain)."
    ),
    inputs=(
        real("beta", "weight of the penalty", symbol="β", example=0.5),
        count("n", "sample size", aliases=("m", "N"), example=2),
        real("logN", "log of the number of functions", low_open=False, example=0.7),
        reals(
            "values",
            "values h(Z_i), one row of n per function, row after row",
            low=-math.inf,
            optional=True,
            derived="no enumeration",
            example=(0.0, 0.0, 1.0, 1.0),
        ),
        real("bound", "bound on |h|", symbol="M", optional=True, derived="the largest |value|"),
        count("draws", "number of random sign vectors", optional=True, derived="no half-width", example=1000),
        real("eta", "failure probability of the half-width", high=1.0, default=0.05, example=0.05),
    ),
    status=Status.TRUE,
    reason="a definition; the finite-class bound has a superfluous 1",
    printed=printed,
    sound=sound,
    assumptions=("`values` lists every function of the class",),
    defects=(
        "The display in the introduction has the penalty outside the sum with a free index; read it inside.",
        "If the class lacks the zero function the complexity may be negative: {1} has -beta.",
        (
            "For a network the supremum is not convex; a search finds a lower bound of R_off, so 4 R_off "
            "from it bounds nothing."
        ),
        "The theorems need the expectation over samples; one sample gives an estimate.",
        "beta <= 1/(2M) and the 1 in 1 + log N are not needed.",
    ),
    monotone={"n": -1, "beta": -1, "logN": 1},
    proof="docs/proofs/li.md",
)
