r"""Lemma 3.5 (Lemma 4.6 of Edelman et al., as transcribed): a (2,1) norm, n given inputs of bounded l2 norm.

Printed, for the sum of **column** norms <= B_w:

.. math:: \log N_\infty(\varepsilon) \lesssim (B_w B_x/\varepsilon)^2 \log(dn)

False for columns for the same reason as Lemma 3.4. For the sum of **row** norms (T5 in docs/proofs/covers.md):

.. math:: \log N_\infty(\varepsilon) \le (B_w B_x/\varepsilon)^2
          \min_{h\ge1}\bigl[\ln(k+1)+h\ln2+\tfrac{h+1}{h}\ln(2n+1)\bigr]

This is where the logarithm of the sequence length enters: n counts samples times tokens.
"""

from __future__ import annotations

import math

from certiformer.core import Quantity, Result, Status, Variants, count, flag, printed_value, real, verified
from certiformer.theorems.trauger import TRAUGER
from certiformer.theorems.trauger._two_one import row_variants


def printed(Bw: float, Bx: float, eps: float, d: int, k: int, n: int, columns: bool) -> Variants:
    ratio = Bw * Bx / eps
    value = ratio * ratio * math.log(d * n)
    return {"value": printed_value(value, checks=(verified("eps < Bw Bx (else one ball suffices)", ratio > 1, ratio),))}


def sound(Bw: float, Bx: float, eps: float, d: int, k: int, n: int, columns: bool) -> Variants:
    return row_variants(Bw, Bx, eps, d, k, n, not columns, domain=False)


RESULT = Result(
    id="trauger.lem3.5",
    title="Cover of linear maps, (2,1) norm, n inputs",
    paper=TRAUGER,
    place="Lemma 3.5",
    bounds=Quantity.LOG_COVERING_NUMBER,
    statement="log N <~ (Bw Bx / eps)^2 log(dn) for ||W||_{2,1} <= Bw (columns), n inputs of l2 norm at most Bx",
    latex=r"\log N_\infty(\varepsilon) \lesssim \frac{B_w^2 B_x^2}{\varepsilon^2} \log(dn)",
    sound_statement=(
        "For the row norm ||W^T||_{2,1} <= Bw: external (Bw Bx/eps)^2 min_h [ln(k+1) + h ln 2 + (1+1/h) ln(2n+1)], "
        "proper 4 times that; rows or columns, any number of inputs: frobenius (Bw Bx/eps)^2 kappa(k,d), "
        "volume kd ln(1 + 2 Bw Bx/eps). All 0 from eps = Bw Bx on."
    ),
    inputs=(
        real("Bw", "bound on ||W^T||_{2,1}, the sum of the row norms (columns=1: of the column norms)", example=2),
        real("Bx", "bound on the l2 norm of the inputs", symbol="B_x", example=1.5),
        real("eps", "radius of the cover, l2 norm of the output", symbol="ε", example=0.5),
        count("d", "input dimension", example=3),
        count("k", "output dimension", example=4),
        count("n", "number of inputs that can occur (samples times tokens)", aliases=("m", "N"), example=1000),
        flag("columns", "Bw bounds the sum of the column norms, as printed, not of the row norms"),
    ),
    status=Status.FALSE,
    reason="transposed norm: for columns the l2 ball of R^k needs k ln 2 at eps = 1/2, whatever d and n",
    printed=printed,
    sound=sound,
    assumptions=("n inputs of l2 norm at most Bx, fixed before the cover is built",),
    defects=(
        (
            "As transcribed the norm is the sum of column norms; then d = 2, n = 1 gives 4 ln 2 at eps = Bw "
            "Bx/2 for every k, "
            "while the class contains an l2 ball of R^k."
        ),
        "The inputs are bounded in l2 here and in l1 in the lemma it is said to share its setting with.",
        "Constants and further logarithms are hidden.",
    ),
    monotone={"Bw": 1, "Bx": 1, "eps": -1, "d": 1, "k": 1, "n": 1},
    proof="docs/proofs/covers.md",
)
