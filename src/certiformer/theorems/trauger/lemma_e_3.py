r"""Lemma E.3: how the readout passes on errors.

.. math:: |w^\top g-\hat w^\top\hat g| \le \|w\|\,\|g-\hat g\| + |(w-\hat w)^\top\hat g|

True: add and subtract w^T ghat.
"""

from __future__ import annotations

from certiformer.core import Quantity, Result, Status, Variants, printed_value, real, upper_bound
from certiformer.theorems.trauger import TRAUGER


def printed(w: float, dg: float, dwg: float) -> Variants:
    return {"value": printed_value(w * dg + dwg)}


def sound(w: float, dg: float, dwg: float) -> Variants:
    terms = {"token": w * dg, "readout": dwg}
    return {"value": upper_bound(w * dg + dwg, terms=terms, additive=True)}


RESULT = Result(
    id="trauger.lemE.3",
    title="Error of the readout",
    paper=TRAUGER,
    place="Lemma E.3",
    bounds=Quantity.OUTPUT_CHANGE,
    statement="|w^T g - what^T ghat| <= ||w|| ||g - ghat|| + |(w - what)^T ghat|",
    latex=r"|w^\top g-\hat w^\top\hat g|\le\|w\|\,\|g-\hat g\|+|(w-\hat w)^\top\hat g|",
    sound_statement="The same.",
    inputs=(
        real("w", "l2 norm of the readout", low_open=False, symbol="||w||", example=2),
        real("dg", "change of the token that is read", low_open=False, example=0.1),
        real("dwg", "change of the readout at the covered token, |(w - what)^T ghat|", low_open=False, example=0.05),
    ),
    status=Status.TRUE,
    reason="the triangle inequality",
    printed=printed,
    sound=sound,
    defects=("Norm bars stand around a scalar.",),
    monotone={"w": 1, "dg": 1, "dwg": 1},
    proof="docs/proofs/trauger.md",
)
