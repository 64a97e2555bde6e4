from __future__ import annotations

import math

from certiformer.core import (
    Quantity,
    Result,
    Status,
    Variants,
    count,
    flag,
    printed_value,
    real,
    verified,
)
from certiformer.theorems.trauger import TRAUGER
from certiformer.theorems.trauger._two_one import column_variant, row_variants


class Lemma34(Result):
    r"""Cover of linear maps, (2,1) norm, l1 inputs.

    Printed: log N <~ (Bw Bx / eps)^2 log(dk) for ||W||_{2,1} <= Bw (columns)
    .. math:: \log N_\infty(\varepsilon) \lesssim \frac{B_w^2 B_x^2}{\varepsilon^2} \log(dk)
    Sound: For the row norm ||W^T||_{2,1} <= Bw: external (Bw Bx/eps)^2 min_h [ln(k+1) + h ln 2 + (1+1/h) ln(2d+1)],
    proper 4 times that; rows or columns: frobenius (Bw Bx/eps)^2 kappa(k,d), volume kd ln(1 + 2 Bw Bx/eps);
    columns: floor(r) (ln(d+1) + k ln(1+2r)), r = Bw Bx/eps. All 0 from eps = Bw Bx on.
    .. math:: \log N_\infty(\varepsilon)\le\Bigl(\frac{B_wB_x}{\varepsilon}\Bigr)^2\min_h\Bigl[\ln(k+1)+h\ln2
       +\bigl(1+\tfrac{1}{h}\bigr)\ln(2d+1)\Bigr],\quad\|W^\top\|_{2,1}\le B_w
    Because: false for column norms: the l2 ball of R^k needs k ln 2 at eps = 1/2, not log k; row norms are right
    Assumes:
    - every input has l1 norm at most Bx
    - the norm bound is fixed in advance
    Defects:
    - With the paper's column convention W = w e_1^T and x = Bx e_1 give the whole l2 ball of R^k: log N is at least
      k ln(Bw Bx/eps), the printed value at eps = Bw Bx/2 is 4 log(dk).
    - Logarithms other than those of T, k, d are hidden, and dk = 1 gives 0.
    - The cover behind the lemma is not a subset of the class, though the definition asks for that.
    """

    paper, place = TRAUGER, "Lemma 3.4"
    bounds, status = Quantity.LOG_COVERING_NUMBER, Status.FALSE
    monotone = "+Bw +Bx -eps +d +k"
    proof = "docs/proofs/covers.md"

    Bw: float = real("bound on ||W^T||_{2,1}, the sum of the row norms (columns=1: of the column norms)", example=2)
    Bx: float = real("bound on the l1 norm of the inputs", example=1.5, symbol="B_x")
    eps: float = real("radius of the cover, l2 norm of the output", example=0.5, symbol="ε")
    d: int = count("input dimension", example=3)
    k: int = count("output dimension", example=4)
    columns: bool | None = flag("Bw bounds the sum of the column norms, as printed, not of the row norms")

    def printed(self) -> Variants:
        ratio = self.Bw * self.Bx / self.eps
        value = ratio * ratio * math.log(self.d * self.k)
        return {
            "value": printed_value(
                value, hypotheses=(verified("eps < Bw Bx (else one ball suffices)", ratio > 1, ratio),)
            )
        }

    def sound(self) -> Variants:
        rows = None if self.columns is None else not self.columns
        variants = row_variants(self.Bw, self.Bx, self.eps, self.d, self.k, self.d, rows, domain=True)
        # A sum of row norms at most Bw says nothing about the sum of column norms beyond the Frobenius norm.
        return (
            {**variants, "columns": column_variant(self.Bw, self.Bx, self.eps, self.d, self.k)}
            if self.columns
            else variants
        )
