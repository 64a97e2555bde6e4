r"""(8): softmax logits under W_*.

Printed: O(S^4) at relevant tokens, O(S^2) at irrelevant ones, for every query.

Sound: at relevant tokens at least S^2 (S^2 - Znu - Zmu); at irrelevant tokens at most
max(S^2 Zmu, 2 (S^2 + Znu + Zmu) Zmu) in absolute value; and the gap between the two, minimised jointly over the
corners of the noise, is, where it is positive,

.. math:: \min\bigl(S^2(S^2-Z_\mu),\ (S^2-Z_\nu)(S^2-2Z_\mu)-Z_\mu S^2\bigr).
"""

from __future__ import annotations

from certiformer.core import (
    Quantity,
    Result,
    Status,
    Variants,
    assumed,
    lower_bound,
    printed_value,
    upper_bound,
    verified,
)
from certiformer.theorems.deora import DEORA
from certiformer.theorems.deora._mixture import NOISE_MU, NOISE_NU, SIGNAL, logit_gap


def printed(S: float, Zmu: float, Znu: float) -> Variants:
    unknown = "constant 1 where only an order is given"
    return {
        "relevant": printed_value(S**4, bounds=Quantity.CONSTANT, note=unknown),
        "irrelevant": printed_value(S**2, bounds=Quantity.CONSTANT, note=unknown),
    }


def sound(S: float, Zmu: float, Znu: float) -> Variants:
    square = S**2
    noise = (assumed("orthogonal patterns of norm S; the noise bounds hold almost surely"),)
    gap = logit_gap(S, Zmu, Znu)
    return {
        "relevant": lower_bound(
            square * (square - Znu - Zmu),
            checks=noise,
            bounds=Quantity.CONSTANT,
            note="least logit of a relevant token",
        ),
        "irrelevant": upper_bound(
            max(square * Zmu, 2.0 * (square + Znu + Zmu) * Zmu),
            checks=noise,
            bounds=Quantity.CONSTANT,
            note="largest absolute logit of an irrelevant token",
        ),
        "gap": lower_bound(
            gap,
            checks=(verified("relevant logits above irrelevant ones", gap > 0.0, gap), *noise),
            bounds=Quantity.CONSTANT,
            note="least difference of a relevant and an irrelevant logit in one row",
        ),
    }


RESULT = Result(
    id="deora.eq8",
    title="Softmax logits under the target attention",
    paper=DEORA,
    place="(8)",
    bounds=Quantity.CONSTANT,
    statement="[r_t]_t' = O(S^4) for relevant t', O(S^2) for irrelevant t'",
    latex=r"[r_t]_{t'}=\mathcal O(S^4)\ (t'\in\mathcal R),\quad \mathcal O(S^2)\ (t'\in\mathcal R^c)",
    sound_statement=(
        "relevant >= S^2 (S^2 - Znu - Zmu); |irrelevant| <= max(S^2 Zmu, 2 (S^2 + Znu + Zmu) Zmu); "
        "gap = min(S^2 (S^2 - Zmu), (S^2 - Znu)(S^2 - 2 Zmu) - Zmu S^2) where positive, which needs S^2 >= 2 Zmu"
    ),
    inputs=(SIGNAL, NOISE_MU, NOISE_NU),
    status=Status.FALSE,
    reason="irrelevant logits are of order S^2 Zmu, which is S^4 at the noise level that Proposition 3 allows",
    printed=printed,
    sound=sound,
    defects=(
        "O(S^2) at irrelevant tokens is O(S^2 Zmu): at Zmu = S^2/8 the logit reaches S^4/4 and more.",
        "Section 5.3 then speaks of a gap of O(S^2); under W_* it is of order S^4 (S^2 after normalisation).",
    ),
    proof="docs/proofs/deora.md",
)
