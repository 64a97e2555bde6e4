from __future__ import annotations

import math
from typing import TYPE_CHECKING

from certiformer.theory.calculus import offset
from certiformer.theory.core import (
    Bound,
    Hypothesis,
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
from certiformer.theory.core.lazy import np
from certiformer.theory.theorems.li import LI

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ESTIMATE = "exact for this sample; an estimate of the expectation over samples that the theorems need"


def _matrix(values: tuple[float, ...] | None, n: int) -> NDArray[np.float64] | None:
    if values is None:
        return None
    if len(values) % n:
        raise InputError("values", len(values), f"a multiple of n = {n} numbers, one row of n per function")
    return np.array(values, dtype=np.float64).reshape(-1, n)  # mutants: the-rest-of-an-array


def _counted(matrix: NDArray[np.float64] | None, logN: float) -> tuple[Hypothesis, ...]:
    if matrix is None:
        return ()
    # mutants: rounding-margins
    return (verified("logN is at least the log of the number of rows", logN >= math.log(len(matrix)) - 1e-9, logN),)


class Definition31(Result):
    r"""Offset Rademacher complexity.

    .. math:: R^{off}_n(H,\beta\mid Z) = E_\tau \sup_{h\in H} \frac1n\sum_i \tau_i h(Z_i) - \frac{\beta}{n}\sum_i
       h(Z_i)^2

    Printed: R_off = E_tau sup_h [ (1/n) sum_i tau_i h(Z_i) - (beta/n) sum_i h(Z_i)^2 ]; finite class: at most (1 +
    log N)/(2 beta n)
    .. math:: E_\tau\sup_{h}\Bigl(\tfrac1n\sum_i\tau_ih(Z_i)-\tfrac\beta n\sum_ih(Z_i)^2\Bigr)
    Sound: value: exact by enumeration of the signs (n <= 18). finite: at most log N/(2 beta n), any beta > 0.
    half_width: a Monte-Carlo mean over m sign vectors is within M sqrt(2 log(2/eta)/(nm)), |h| <= M, with
    probability 1 - eta. For classes with proper covers: offset chaining (calculus.offset.chain).
    .. math:: R^{off}_n\le\frac{\log N}{2\beta n},\qquad\bigl|\hat R_m-R^{off}_n\bigr|\le
       M\sqrt{\frac{2\log(2/\eta)}{nm}}\ \text{with probability }1-\eta
    Because: a definition; the finite-class bound has a superfluous 1
    Assumes:
    - `values` lists every function of the class
    Defects:
    - The display in the introduction has the penalty outside the sum with a free index; read it inside.
    - If the class lacks the zero function the complexity may be negative: {1} has -beta.
    - For a network the supremum is not convex; a search finds a lower bound of R_off, so 4 R_off from it bounds
      nothing.
    - The theorems need the expectation over samples; one sample gives an estimate.
    - beta <= 1/(2M) and the 1 in 1 + log N are not needed.
    """

    paper, place = LI, "Definition 3.1"
    bounds, status = Quantity.OFFSET_COMPLEXITY, Status.TRUE
    monotone = "-n -beta +logN"

    beta: float = real("weight of the penalty", example=0.5, symbol="β")
    n: int = count("sample size", example=2, aliases=("m", "N"))
    logN: float = real("log of the number of functions", low_open=False, example=0.7)
    values: tuple[float, ...] | None = reals(
        "values h(Z_i), one row of n per function, row after row",
        low=-math.inf,
        example=(0.0, 0.0, 1.0, 1.0),
        default=None,
        otherwise="no enumeration",
    )
    bound: float | None = real("bound on |h|", symbol="M", default=None, otherwise="the largest |value|")
    draws: int | None = count("number of random sign vectors", example=1000, default=None, otherwise="no half-width")
    eta: float = real("failure probability of the half-width", high=1.0, example=0.05, default=0.05)

    def printed(self) -> Variants:
        variants = {}
        matrix = _matrix(self.values, self.n)
        if matrix is not None and self.n <= offset.MOST_SIGNS:
            variants["value"] = printed_value(offset.exact(matrix, self.beta), note=_ESTIMATE)
        in_range = (
            () if self.bound is None else (verified("beta <= 1/(2M)", self.beta * 2.0 * self.bound <= 1.0, self.beta),)
        )
        variants["finite"] = printed_value(
            (1.0 + self.logN) / (2.0 * self.beta * self.n), hypotheses=(*_counted(matrix, self.logN), *in_range)
        )
        return variants

    def sound(self) -> Variants:
        variants: dict[str, Bound] = {}
        matrix = _matrix(self.values, self.n)
        if matrix is not None and self.n <= offset.MOST_SIGNS:
            variants["value"] = upper_bound(offset.exact(matrix, self.beta), note=_ESTIMATE)
        variants["finite"] = upper_bound(
            offset.finite_class(self.logN, self.beta, self.n), hypotheses=_counted(matrix, self.logN)
        )
        if self.draws is not None:
            size_of = (
                self.bound if self.bound is not None else (None if matrix is None else float(np.max(np.abs(matrix))))
            )
            if size_of is not None:
                width = offset.half_width(size_of, self.n, self.draws, self.eta)
                variants["half_width"] = side_number(width, "of a Monte-Carlo estimate with `draws` sign vectors")
        return variants
