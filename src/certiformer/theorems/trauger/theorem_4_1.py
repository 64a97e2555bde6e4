r"""Theorem 4.1: Rademacher complexity of a one-layer Transformer.

f(X) = w^T W_c^T sigma(W_v^T X^T softmax(X W_QK^T x_CLS)), where the class {x -> W_QK^T x} on the CLS tokens has
log N(eps) <= C/eps^2.

Printed (constants inside O() taken as 1):

.. math:: B_w B_{W_c} L_\sigma B_{W_v}\Bigl(\frac{2B_x^2\sqrt C}{\sqrt n}
          \bigl(1+\ln\frac{\sqrt n}{2B_x\sqrt C}\bigr) + B_x\sqrt{\ln(2d)/n}\Bigr)

Sound: with B_{W_c} = ||W_c||_{1,inf} and B_{W_v} = ||W_v||_{1,inf} (not of the transposes), rho half the token
diameter, D >= ||x_t||_inf:

.. math:: \mathrm{Rad} \le B_w B_{W_c} L_\sigma B_{W_v}\,\min(D, 2E),\quad
          E = \mathrm{Dudley}\bigl(\ln N = \ln 2d + \rho^4 C/\varepsilon^2;\ D;\ n\bigr)

and 2 becomes 1 when sigma is odd. Proof: docs/proofs/trauger.md.
"""

from __future__ import annotations

import math

from certiformer.calculus.covers import quadratic_cover
from certiformer.core import Quantity, Result, Status, Variants, assumed, real
from certiformer.theorems.trauger import TRAUGER
from certiformer.theorems.trauger._single_layer import (
    ASSUMPTIONS,
    SAMPLE,
    WEIGHTS,
    all_variants,
    chain_variants,
    closed_variants,
    printed_closed_form,
    token_sizes,
)


def printed(
    Bw: float,
    Bc: float,
    L_sigma: float,
    Bv: float,
    Bx: float,
    C: float,
    n: int,
    d: int,
    rho: float | None,
    D: float | None,
    odd: bool,
) -> Variants:
    scale, alpha = Bw * Bc * L_sigma * Bv, 2 * Bx * Bx * math.sqrt(C)
    return {
        "value": printed_closed_form(scale, alpha, Bx, n, d, minus=False),
        "appendix": printed_closed_form(scale, alpha, Bx, n, d, minus=True),
    }


def sound(
    Bw: float,
    Bc: float,
    L_sigma: float,
    Bv: float,
    Bx: float,
    C: float,
    n: int,
    d: int,
    rho: float | None,
    D: float | None,
    odd: bool,
) -> Variants:
    scale, sizes = Bw * Bc * L_sigma * Bv, token_sizes(Bx, rho, D)
    proper = assumed("the covers behind C are proper, as the paper defines covering numbers")
    external = quadratic_cover(C, proper=False)
    return all_variants(
        closed_variants(scale, C, n, d, *sizes),
        chain_variants(scale, quadratic_cover(C), n, d, *sizes, odd, proper),
        chain_variants(scale, external, n, d, *sizes, odd, name="chain_external"),
    )


RESULT = Result(
    id="trauger.thm4.1",
    title="Rademacher complexity of a one-layer Transformer",
    paper=TRAUGER,
    place="Theorem 4.1",
    bounds=Quantity.RADEMACHER_COMPLEXITY,
    statement=(
        "Rad <= O(Bw Bc L_sigma Bv (2 Bx^2 sqrt(C)/sqrt(n) (1 + ln(sqrt(n)/(2 Bx sqrt(C)))) + Bx sqrt(ln(2d)/n)))"
    ),
    latex=(
        r"O\Bigl(B_w B_{W_c} L_\sigma B_{W_v}\Bigl(\tfrac{2B_x^2\sqrt C}{\sqrt n}"
        r"\bigl(1+\ln\tfrac{\sqrt n}{2B_x\sqrt C}\bigr) + B_x\sqrt{\ln(2d)/n}\Bigr)\Bigr)"
    ),
    sound_statement=(
        "Rad <= Bw Bc L_sigma Bv min(D, 2 E): E is Dudley's bound (closed, or the best chain) for "
        "ln N = ln 2d + rho^4 C/eps^2 at radius D = max ||x_t||_inf; 2 becomes 1 for odd sigma."
    ),
    inputs=(
        *WEIGHTS,
        real("C", "log N(eps) <= C/eps^2 for {x -> W_QK^T x} on the CLS tokens", example=0.5),
        *SAMPLE,
    ),
    status=Status.FALSE,
    reason="needs ||W_c||_{1,inf}, ||W_v||_{1,inf}, not of the transposes; constants hidden; negative for large C",
    printed=printed,
    sound=sound,
    assumptions=ASSUMPTIONS,
    defects=(
        (
            "The statement bounds ||W_c^T||_{1,inf} and ||W_v^T||_{1,inf}; the proof needs the norms of W_c and W_v "
            "themselves. With k = 1 and W_v^T = (+-1, ..., +-1) the stated norm is 1 while Rad grows like sqrt(d/n)."
        ),
        "The factor 2 for the absolute value and Dudley's constant are inside O().",
        "Valid only while 2 Bx sqrt(C) <= sqrt(n) - sqrt(ln 2d); beyond that the formula falls and turns negative.",
        "The softmax constant 2 is 1, and Bx^2 may be half the squared token diameter.",
        "The displayed Rademacher complexity lacks 1/n, and two lines of the proof lose a factor 1/n under the root.",
        "The model multiplies by X W_QK^T x in one place and X W_QK x in another: different functions.",
        "Statement and proof differ: sqrt(n) in the logarithm here, sqrt(n) - sqrt(ln 2d) in the appendix.",
        "The condition n > d is never used.",
    ),
    monotone={"Bw": 1, "Bc": 1, "L_sigma": 1, "Bv": 1, "Bx": 1, "C": 1, "n": -1, "d": 1, "rho": 1, "D": 1},
    proof="docs/proofs/trauger.md",
)
