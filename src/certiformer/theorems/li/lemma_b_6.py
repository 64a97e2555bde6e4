r"""Lemma B.6: linear maps of bounded rank.

Printed: .. math:: \log N_\infty(\varepsilon) \le \frac r2\log\frac{4B_x^2B_W^2r}{\varepsilon^2}

Sound, spectral norm, rank at most r, W of size d x k:

.. math:: \log N \le \min\{(d+k)\,r\log(1+4B_xB_W/\varepsilon),\; dk\log(1+2B_xB_W/\varepsilon)\}
"""

from __future__ import annotations

import math

from certiformer.core import Quantity, Result, Status, Variants, count, printed_value, real, verified
from certiformer.theorems.li import LI
from certiformer.theorems.li._linear import rank_cover


def printed(r: int, d: int, k: int, B: float, Bx: float, eps: float) -> Variants:
    value = r / 2.0 * (math.log(4.0 * r) + 2.0 * math.log(Bx * B / eps))
    return {"value": printed_value(value, checks=(verified("the claim is not negative", value >= 0.0),))}


def sound(r: int, d: int, k: int, B: float, Bx: float, eps: float) -> Variants:
    return rank_cover(r, d, k, B, Bx, eps)


INPUTS = (
    count("r", "bound on the rank", example=2),
    count("d", "input dimension", example=4),
    count("k", "output dimension", example=3),
    real("B", "bound on the spectral norm", symbol="B_W", example=1),
    real("Bx", "bound on the l2 norm of the inputs", symbol="B_x", example=1),
    real("eps", "radius of the cover", symbol="ε", example=0.1),
)

RESULT = Result(
    id="li.lemB.6",
    title="Cover of linear maps of bounded rank",
    paper=LI,
    place="Lemma B.6",
    bounds=Quantity.LOG_COVERING_NUMBER,
    statement="log N <= (r/2) log(4 Bx^2 B^2 r/eps^2)",
    latex=r"\log N_\infty(\varepsilon)\le\frac r2\log\frac{4B_x^2B_W^2r}{\varepsilon^2}",
    sound_statement=(
        "spectral: min{(d+k) r log(1 + 4 Bx B/eps), dk log(1 + 2 Bx B/eps)}, 0 from eps = Bx B on; "
        "volumetric: the latter."
    ),
    inputs=INPUTS,
    status=Status.FALSE,
    reason="r = 1, d = k = 2: {e_1 a^T} is a disc, N >= 1/eps^2 = 100 at eps = 0.1, the lemma allows 20",
    printed=printed,
    sound=sound,
    assumptions=("rank and spectral norm bounded, fixed in advance",),
    defects=(
        "Ill typed: col(W) lies in R^d, the subspace in R^k.",
        (
            "For a fixed subspace the class still has r k (or r d) degrees of freedom; the formula is that "
            "of an r-dimensional vector."
        ),
        "The proof uses ||W||_{2->2} <= ||W||_{2,inf}, false for the 2 x 2 matrix of ones.",
        "Any bound must be at least max(d, k) log(B/eps): the factor d + k cannot be removed.",
        "Negative for large eps.",
    ),
    monotone={"r": 1, "d": 1, "k": 1, "B": 1, "Bx": 1, "eps": -1},
    proof="docs/proofs/li.md",
)
