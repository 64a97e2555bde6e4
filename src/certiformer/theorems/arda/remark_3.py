r"""Remark 3 (and Fact 2): the softmax-weighted covariance of the tokens, M = X J X^T, is bounded for every length T.

Printed (rebuilt):  .. math:: \|M\|_{op}\le 1

Sound: with r >= ||x_t|| and a = sum p_t x_t the attended token,

.. math:: \|M\|_{op}\le\operatorname{tr}M\le r^2-\|a\|^2.
"""

from __future__ import annotations

from certiformer.core import Quantity, Result, Status, Variants, printed_value, real, upper_bound, verified
from certiformer.theorems.arda import ARDA


def printed(r: float, a: float) -> Variants:
    inside = verified("tokens in the unit ball", r <= 1.0, r)
    return {"value": printed_value(1.0, checks=(inside,), note="reconstructed, confidence high")}


def sound(r: float, a: float) -> Variants:
    hull = verified("||a|| <= r: the attended token is a mixture of the tokens", a <= r, a)
    # (r - a)(r + a) keeps its digits where r^2 - a^2 would lose them
    return {"value": upper_bound(max(0.0, (r - a) * (r + a)), clip=r * r, checks=(hull,))}


RESULT = Result(
    id="arda.rem3",
    title="Covariance of the tokens under attention",
    paper=ARDA,
    place="Remark 3, Fact 2",
    bounds=Quantity.LIPSCHITZ_CONSTANT,
    statement="||X J X^T||_op <= 1 for tokens in the unit ball, whatever the sequence length",
    latex=r"\|XJX^\top\|_{op}\le1",
    sound_statement="||X J X^T||_op <= tr(X J X^T) <= r^2 - ||a||^2, r >= ||x_t||, a the attended token.",
    inputs=(
        real("r", "bound on the token norms", example=1),
        real("a", "norm of the attended token, 0 if unknown", low_open=False, example=0.5),
    ),
    status=Status.RECONSTRUCTED,
    reason="the inequality is lost in our copy; the text around it fixes it (confidence high)",
    printed=printed,
    sound=sound,
    assumptions=("every token has norm at most r",),
    monotone={"r": 1, "a": -1},
    proof="docs/proofs/arda.md",
)
