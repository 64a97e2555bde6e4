import math

from certiformer.theory.calculus.allocation import parameter_split
from certiformer.theory.core import (
    Bound,
    InputError,
    Quantity,
    Result,
    Status,
    Variants,
    printed_value,
    real,
    reals,
    side_number,
    upper_bound,
    verified,
)
from certiformer.theory.theorems.li import LI
from certiformer.theory.theorems.li._printed import allocation

Numbers = tuple[float, ...]


def _same_length(r: Numbers, C: Numbers, beta: Numbers) -> None:
    if not len(r) == len(C) == len(beta):
        raise InputError("r, C, beta", (len(r), len(C), len(beta)), "three lists of the same length")


class Corollary56(Result):
    r"""Optimal sharing of the covering budget, rank type.

    .. math:: \min \sum_i r_iC_i\log(r_iB_X^2/\varepsilon_i^2)\quad\text{s.t.}\quad
       \sum_i\beta_i\varepsilon_i=\varepsilon

    Printed: min sum r_i C_i log(r_i BX^2/eps_i^2), sum beta_i eps_i = eps, is sum r_i C_i log(b_i^2/eps^2), b_i^2 =
    BX beta_i S/(r_i C_i)
    .. math:: \sum_ir_iC_i\log\frac{b_i^2}{\varepsilon^2},\;
       b_i=\frac{(B_X\beta_i\sum_jr_jC_j)^{1/2}}{r_i^{1/2}C_i^{1/2}}
    Quoted: b_{i}=\frac{(B_{X}\beta_{i}\sum_{j=1}^{m}r_{j}C_{j})^{1/2}}{r_{i}^{1/2}C_{i}^{1/2}}
    Sound: eps_i = eps r_i C_i/(beta_i S), S = sum r_j C_j, is the unique minimiser; the value is sum r_i C_i
    log(b_i^2/eps^2) with b_i = BX beta_i S/(sqrt(r_i) C_i), each logarithm at least 0.
    .. math:: \sum_ir_iC_i\max\Bigl\{0,\log\frac{b_i^2}{\varepsilon^2}\Bigr\},\quad
       b_i=\frac{B_X\beta_iS}{\sqrt{r_i}\,C_i},\ S=\sum_jr_jC_j
    Because: below the true minimum: r = C = beta = (1, 1), BX = 3, eps = 0.1 gives 12.8, the minimum is 16.4
    Assumes:
    - the covers have the assumed size r C log(r BX^2/eps^2) (Assumption 5.7, false as a fact about matrices)
    Defects:
    - b_i does not follow from the paper's own optimal radii: they give b_i^2 = BX^2 beta_i^2 S^2/(r_i C_i^2).
    - B_W of Assumption 5.7 is missing from the objective.
    - Logarithms below zero are not clamped, beta_i = 0 is allowed but divides.
    """

    paper, place, proof = LI, "Corollary 5.6", "docs/proofs/li-covers.md"
    bounds, status = Quantity.LOG_COVERING_NUMBER, Status.FALSE
    monotone = "+BX -eps"

    r: tuple[float, ...] = reals("ranks", example=(1, 1))
    C: tuple[float, ...] = reals("constants", example=(1, 1))
    beta: tuple[float, ...] = reals("sensitivities", low_open=False, example=(1, 1))
    BX: float = real("radius of the inputs", example=3, symbol="B_X")
    eps: float = real("total radius", example=0.1, symbol="ε")

    def printed(self) -> Variants:
        _same_length(self.r, self.C, self.beta)
        total = math.fsum(ri * ci for ri, ci in zip(self.r, self.C, strict=True))
        scales = [
            math.sqrt(self.BX * bi * total / (ri * ci)) for ri, ci, bi in zip(self.r, self.C, self.beta, strict=True)
        ]
        in_range = verified(
            "eps <= b_i for every i (else logarithms turn negative)", self.eps <= min(scales), min(scales)
        )
        variants = {
            "value": printed_value(allocation(self.r, self.C, self.beta, self.BX, self.eps), hypotheses=(in_range,))
        }
        for i, scale in enumerate(scales, start=1):
            variants[f"b{i}"] = side_number(scale)
        return variants

    def sound(self) -> Variants:
        _same_length(self.r, self.C, self.beta)
        weights = [ri * ci for ri, ci in zip(self.r, self.C, strict=True)]
        radii = parameter_split(weights, self.beta, self.eps)
        # A weight that never reaches the output costs nothing, nor does a radius beyond the whole class.
        costs = [
            wi * max(0.0, math.log(ri) + 2.0 * math.log(self.BX / radius)) if math.isfinite(radius) else 0.0
            for wi, ri, radius in zip(weights, self.r, radii, strict=True)
        ]
        variants: dict[str, Bound] = {"value": upper_bound(math.fsum(costs))}
        for i, (ri, radius) in enumerate(zip(self.r, radii, strict=True), start=1):
            variants[f"b{i}"] = side_number(0.0 if math.isinf(radius) else self.BX * math.sqrt(ri) * self.eps / radius)
            variants[f"eps{i}"] = side_number(radius)
        return variants
