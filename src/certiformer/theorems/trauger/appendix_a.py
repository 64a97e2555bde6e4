r"""Appendix A: a cover of vectors, row by row, is a cover of matrices.

If {x -> w^T x} has log covering number C at radius eps on the given inputs, then the maps x -> Wx with k rows of that
kind have, in the l_q norm of the output,

.. math:: \log N_\infty(k^{1/q}\varepsilon) \le k\,C .

True: k coordinates, each off by at most eps.
"""

from __future__ import annotations

from certiformer.core import (
    Quantity,
    Result,
    Status,
    Variants,
    count,
    printed_value,
    real,
    side_number,
    upper_bound,
)
from certiformer.theorems.trauger import TRAUGER


def printed(k: int, q: float, eps: float, C: float) -> Variants:
    return {"value": printed_value(k * C), "scale": side_number(k ** (1 / q) * eps, "radius of the cover of matrices")}


def sound(k: int, q: float, eps: float, C: float) -> Variants:
    return {
        "value": upper_bound(k * C),
        "scale": upper_bound(k ** (1 / q) * eps, bounds=Quantity.COVER_RADIUS, note="radius of the cover of matrices"),
    }


RESULT = Result(
    id="trauger.appA",
    title="From vectors to matrices, row by row",
    paper=TRAUGER,
    place="Appendix A",
    bounds=Quantity.LOG_COVERING_NUMBER,
    statement="log N(k^(1/q) eps, l_q) <= k C, C the log covering number of the rows at radius eps",
    latex=r"\log N_\infty(F,k^{1/q}\varepsilon,N,\|\cdot\|_q)\le k\,C",
    sound_statement="The same: value k C, at the radius scale = k^(1/q) eps.",
    inputs=(
        count("k", "number of rows, the output dimension", example=3),
        real("q", "norm of the output, l_q", low=1, low_open=False, example=2),
        real("eps", "radius of the cover of the rows", symbol="ε", example=0.1),
        real("C", "log covering number of the rows at that radius, on the same inputs", low_open=False, example=5),
    ),
    status=Status.TRUE,
    reason="immediate",
    printed=printed,
    sound=sound,
    assumptions=("every row satisfies the norm bound of the cover of vectors",),
    defects=(
        "A power of a signed number is printed without absolute value.",
        "C must be taken at the radius eps, with norm bounds on the rows.",
    ),
    monotone={"k": 1, "C": 1},
    proof="docs/proofs/trauger.md",
)
