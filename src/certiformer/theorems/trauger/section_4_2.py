r"""Section 4.2: one layer, several heads.

Printed as an equality, for H heads whose outputs are summed and read by one vector w:

.. math:: \mathbb E\sup\sum_i\epsilon_i w^\top\sum_jY_j(X_i)=\sum_j\mathbb E\sup\sum_i\epsilon_i w^\top Y_j(X_i)

Sound: "at most", because w is shared by the heads: Rad <= sum of the heads' complexities, each with its own norms.
"""

from __future__ import annotations

import math

from certiformer.core import (
    InputError,
    Quantity,
    Result,
    Status,
    Variants,
    count,
    printed_value,
    real,
    reals,
    upper_bound,
)
from certiformer.theorems.trauger import TRAUGER


def printed(H: int, rad: float, rads: tuple[float, ...] | None) -> Variants:
    return {"value": printed_value(H * rad)}


def sound(H: int, rad: float, rads: tuple[float, ...] | None) -> Variants:
    if rads is not None and len(rads) != H:
        raise InputError("rads", rads, f"one bound per head, {H} of them")
    return {"sum_of_heads": upper_bound(H * rad if rads is None else math.fsum(rads))}


RESULT = Result(
    id="trauger.sec4.2",
    title="Several heads in one layer",
    paper=TRAUGER,
    place="Section 4.2",
    bounds=Quantity.RADEMACHER_COMPLEXITY,
    statement="Rad(sum of H heads) = sum of the heads' Rad = H Rad(one head)",
    latex=(
        r"\mathbb E\Bigl[\sup\sum_i\epsilon_iw^\top\sum_{j=1}^HY_j(X_i)\Bigr]=\sum_{j=1}^H\mathbb "
        r"E\Bigl[\sup\sum_i\epsilon_iw^\top Y_j(X_i)\Bigr]"
    ),
    sound_statement="Rad <= sum over heads of the bound for each head, with its own norms.",
    inputs=(
        count("H", "number of heads", aliases=("heads",), example=4),
        real("rad", "bound on the complexity of every head (Theorem 4.1)", low_open=False, example=0.1),
        reals(
            "rads",
            "bounds for the heads one by one",
            low_open=False,
            optional=True,
            derived="rad for each",
            example=(0.1, 0.05),
        ),
    ),
    status=Status.TRUE,
    reason="true as an inequality; the equality fails because the heads share w",
    printed=printed,
    sound=sound,
    assumptions=("the heads' outputs are summed; each head's bound holds for the class of that head",),
    defects=(
        "The readout w is shared and inside the supremum, so only 'at most' holds.",
        (
            "The H^1.5 quoted for the multi-layer method is right for one layer only; every further layer "
            "multiplies its "
            "sensitivities by H once more."
        ),
    ),
    monotone={"H": 1, "rad": 1},
    proof="docs/proofs/trauger.md",
)
