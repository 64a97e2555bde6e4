r"""Lemma 3.4: linear maps with a bounded (2,1) norm, on inputs of bounded l1 norm.

Printed, for ||W||_{2,1} = sum of **column** norms <= B_w, W of size k x d, logarithms hidden:

.. math:: \log N_\infty(\varepsilon) \lesssim (B_w B_x/\varepsilon)^2 \log(dk)

False: W = w e_1^T gives the l2 ball of R^k, which needs k ln(B_w B_x/eps). For the sum of **row** norms
||W^T||_{2,1} <= B_w (T5 in docs/proofs/covers.md, on the d scaled basis vectors; zero once eps >= B_w B_x):

.. math:: \log N_\infty(\varepsilon) \le (B_w B_x/\varepsilon)^2
          \min_{h\ge1}\bigl[\ln(k+1)+h\ln2+\tfrac{h+1}{h}\ln(2d+1)\bigr]

by an external cover; a proper one costs four times as much.
"""

from __future__ import annotations

import math

from certiformer.core import Quantity, Result, Status, Variants, count, flag, printed_value, real, verified
from certiformer.theorems.trauger import TRAUGER
from certiformer.theorems.trauger._two_one import column_variant, row_variants


def printed(Bw: float, Bx: float, eps: float, d: int, k: int, columns: bool) -> Variants:
    ratio = Bw * Bx / eps
    value = ratio * ratio * math.log(d * k)
    return {"value": printed_value(value, checks=(verified("eps < Bw Bx (else one ball suffices)", ratio > 1, ratio),))}


def sound(Bw: float, Bx: float, eps: float, d: int, k: int, columns: bool) -> Variants:
    variants = row_variants(Bw, Bx, eps, d, k, d, not columns, domain=True)
    # A sum of row norms at most Bw says nothing about the sum of column norms beyond the Frobenius norm.
    return {**variants, "columns": column_variant(Bw, Bx, eps, d, k)} if columns else variants


RESULT = Result(
    id="trauger.lem3.4",
    title="Cover of linear maps, (2,1) norm, l1 inputs",
    paper=TRAUGER,
    place="Lemma 3.4",
    bounds=Quantity.LOG_COVERING_NUMBER,
    statement="log N <~ (Bw Bx / eps)^2 log(dk) for ||W||_{2,1} <= Bw (columns)",
    latex=r"\log N_\infty(\varepsilon) \lesssim \frac{B_w^2 B_x^2}{\varepsilon^2} \log(dk)",
    sound_statement=(
        "For the row norm ||W^T||_{2,1} <= Bw: external (Bw Bx/eps)^2 min_h [ln(k+1) + h ln 2 + (1+1/h) ln(2d+1)], "
        "proper 4 times that; rows or columns: frobenius (Bw Bx/eps)^2 kappa(k,d), volume kd ln(1 + 2 Bw Bx/eps); "
        "columns: floor(r) (ln(d+1) + k ln(1+2r)), r = Bw Bx/eps. All 0 from eps = Bw Bx on."
    ),
    inputs=(
        real("Bw", "bound on ||W^T||_{2,1}, the sum of the row norms (columns=1: of the column norms)", example=2),
        real("Bx", "bound on the l1 norm of the inputs", symbol="B_x", example=1.5),
        real("eps", "radius of the cover, l2 norm of the output", symbol="ε", example=0.5),
        count("d", "input dimension", example=3),
        count("k", "output dimension", example=4),
        flag("columns", "Bw bounds the sum of the column norms, as printed, not of the row norms"),
    ),
    status=Status.FALSE,
    reason="false for column norms: the l2 ball of R^k needs k ln 2 at eps = 1/2, not log k; row norms are right",
    printed=printed,
    sound=sound,
    assumptions=("every input has l1 norm at most Bx", "the norm bound is fixed in advance"),
    defects=(
        (
            "With the paper's column convention W = w e_1^T and x = Bx e_1 give the whole l2 ball of R^k: "
            "log N is at least "
            "k ln(Bw Bx/eps), the printed value at eps = Bw Bx/2 is 4 log(dk)."
        ),
        "Logarithms other than those of T, k, d are hidden, and dk = 1 gives 0.",
        "The cover behind the lemma is not a subset of the class, though the definition asks for that.",
    ),
    monotone={"Bw": 1, "Bx": 1, "eps": -1, "d": 1, "k": 1},
    proof="docs/proofs/covers.md",
)
