r"""Lemma 3.6: linear maps with a bounded entrywise l1 norm.

The class is {x -> Wx : ||W||_{1,1} <= B_w}, W of size k x d, on inputs of l2 norm at most B_x.

Printed:  .. math:: \log N_\infty(\varepsilon) \le (B_x B_w/\varepsilon)^2 \log(2dk+1)

Sound: the same, and zero once eps >= B_x B_w; sharper, with K = ceil((B_x B_w/eps - 1)_+^2),

.. math:: \log N_\infty(\varepsilon) \le \log\binom{2dk+K}{K}.

The printed proof leaves out a ceiling; shrinking the random average closes that gap (docs/proofs/covers.md, T3).
"""

from __future__ import annotations

import math

from certiformer.calculus.covers import log_multisets, maurey_draws
from certiformer.core import Quantity, Result, Status, Variants, count, printed_value, real, upper_bound, verified
from certiformer.theorems.trauger import TRAUGER


def printed(Bw: float, Bx: float, eps: float, d: int, k: int) -> Variants:
    ratio = Bx * Bw / eps
    value = ratio * ratio * math.log(2 * d * k + 1)
    return {"value": printed_value(value, checks=(verified("eps < Bx Bw (else one ball suffices)", ratio > 1, ratio),))}


def sound(Bw: float, Bx: float, eps: float, d: int, k: int) -> Variants:
    ratio, draws = Bx * Bw / eps, maurey_draws(eps, Bw, Bx)
    quadratic = ratio * ratio * math.log(2 * d * k + 1) if draws else 0.0
    volume = d * k * math.log1p(2 * ratio) if draws else 0.0
    return {
        "value": upper_bound(quadratic),
        "exact": upper_bound(log_multisets(d * k, draws)),
        "volume": upper_bound(volume),
    }


RESULT = Result(
    id="trauger.lem3.6",
    title="Cover of linear maps, entrywise l1 norm",
    paper=TRAUGER,
    place="Lemma 3.6",
    bounds=Quantity.LOG_COVERING_NUMBER,
    statement="log N <= (Bx Bw / eps)^2 log(2dk + 1)",
    latex=r"\log N_\infty(\varepsilon) \le \frac{B_x^2 B_w^2}{\varepsilon^2} \log(2dk+1)",
    sound_statement=(
        "The same for every eps > 0, 0 from eps = Bx Bw on; exact: log C(2dk+K, K), K = ceil((Bx Bw/eps - 1)_+^2); "
        "volume: dk ln(1 + 2 Bx Bw/eps)."
    ),
    inputs=(
        real("Bw", "bound on the entrywise l1 norm of W", symbol="B_W", example=2),
        real("Bx", "bound on the l2 norm of the inputs", symbol="B_x", example=1.5),
        real("eps", "radius of the cover, l2 norm of the output", symbol="ε", example=0.5),
        count("d", "input dimension", example=3),
        count("k", "output dimension", example=4),
    ),
    status=Status.TRUE,
    reason="the missing ceiling is harmless",
    printed=printed,
    sound=sound,
    assumptions=("||W||_{1,1} <= Bw, fixed in advance", "every input has l2 norm at most Bx"),
    defects=(
        (
            "The proof omits a ceiling on the number of sampled atoms; a shrunk average makes the statement true "
            "all the same."
        ),
        "The condition N >= d on the number of inputs is never needed.",
        "For eps >= Bx Bw the printed value stays positive although one ball suffices.",
    ),
    monotone={"Bw": 1, "Bx": 1, "eps": -1, "d": 1, "k": 1},
    proof="docs/proofs/covers.md",
)
