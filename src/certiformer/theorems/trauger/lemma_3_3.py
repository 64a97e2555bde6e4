r"""Lemma 3.3: linear maps whose columns lie in an l1 ball, on inputs of bounded l1 norm.

The class is {x -> Wx : ||W||_{1,inf} <= B_w}, W of size k x d, on inputs of **l1** norm at most B_x.

Printed:  .. math:: \log N_\infty(\varepsilon) \le d\,(B_w B_x/\varepsilon)^2 \log(2k+1)

Sound: the same, zero once eps >= B_w B_x; sharper, with K = ceil((B_w B_x/eps - 1)_+^2),

.. math:: \log N_\infty(\varepsilon) \le d \log\tbinom{2k+K}{K}.

Each column is covered by T3 (docs/proofs/covers.md); on l1 inputs the worst column decides (Lemma 3.2).
"""

from __future__ import annotations

import math

from certiformer.calculus.covers import log_multisets, maurey_draws
from certiformer.core import Quantity, Result, Status, Variants, count, printed_value, real, upper_bound, verified
from certiformer.theorems.trauger import TRAUGER


def printed(Bw: float, Bx: float, eps: float, d: int, k: int) -> Variants:
    ratio = Bw * Bx / eps
    value = d * ratio * ratio * math.log(2 * k + 1)
    return {"value": printed_value(value, checks=(verified("eps < Bw Bx (else one ball suffices)", ratio > 1, ratio),))}


def sound(Bw: float, Bx: float, eps: float, d: int, k: int) -> Variants:
    ratio, draws = Bw * Bx / eps, maurey_draws(eps, Bw, Bx)
    quadratic = d * ratio * ratio * math.log(2 * k + 1) if draws else 0.0
    volume = d * k * math.log1p(2 * ratio) if draws else 0.0
    return {
        "value": upper_bound(quadratic),
        "exact": upper_bound(d * log_multisets(k, draws)),
        "volume": upper_bound(volume),
    }


RESULT = Result(
    id="trauger.lem3.3",
    title="Cover of linear maps, columns in an l1 ball",
    paper=TRAUGER,
    place="Lemma 3.3",
    bounds=Quantity.LOG_COVERING_NUMBER,
    statement="log N <= d (Bw Bx / eps)^2 log(2k + 1)",
    latex=r"\log N_\infty(\varepsilon) \le \frac{d B_w^2 B_x^2}{\varepsilon^2} \log(2k+1)",
    sound_statement=(
        "The same for every eps > 0, 0 from eps = Bw Bx on; exact: d log C(2k+K, K), K = ceil((Bw Bx/eps - 1)_+^2); "
        "volume: dk ln(1 + 2 Bw Bx/eps)."
    ),
    inputs=(
        real("Bw", "bound on ||W||_{1,inf}: every column in an l1 ball", symbol="B_w", example=2),
        real("Bx", "bound on the l1 norm of the inputs", symbol="B_x", example=1.5),
        real("eps", "radius of the cover, l2 norm of the output", symbol="ε", example=0.5),
        count("d", "input dimension", example=3),
        count("k", "output dimension", example=4),
    ),
    status=Status.TRUE,
    reason="the missing ceiling is harmless",
    printed=printed,
    sound=sound,
    assumptions=(
        "||W||_{1,inf} <= Bw (columns), fixed in advance",
        "every input has l1 norm at most Bx; an l2 bound is not enough",
    ),
    defects=(
        (
            "The proof omits a ceiling on the number of sampled atoms; a shrunk average makes the statement true "
            "all the same."
        ),
        "The condition N >= d on the number of inputs is never needed.",
        "For eps >= Bw Bx the printed value stays positive although one ball suffices.",
    ),
    monotone={"Bw": 1, "Bx": 1, "eps": -1, "d": 1, "k": 1},
    proof="docs/proofs/covers.md",
)
