r"""Fact 1: the Jacobian of the softmax, J = diag(p) - p p^T, is symmetric, kills the constants, and is short.

Printed (rebuilt):  .. math:: \|J\|_{op}\le \tfrac12

Sound: the same, attained at p = (1/2, 1/2); sharper with P = max_t p_t, by Gershgorin,

.. math:: \|J\|_{op} \le \max_t 2p_t(1-p_t) \le 2P(1-P).
"""

from __future__ import annotations

from certiformer.core import Quantity, Result, Status, Variants, printed_value, real, upper_bound
from certiformer.theorems.arda import ARDA


def printed(P: float | None) -> Variants:
    return {"value": printed_value(0.5, note="reconstructed, confidence high")}


def sound(P: float | None) -> Variants:
    variants = {"value": upper_bound(0.5)}
    if P is not None:
        variants["peaked"] = upper_bound(2.0 * P * (1.0 - P))
    return variants


RESULT = Result(
    id="arda.fact1",
    title="Norm of the softmax Jacobian",
    paper=ARDA,
    place="Appendix A.1, Fact 1",
    bounds=Quantity.LIPSCHITZ_CONSTANT,
    statement="||diag(p) - p p^T||_op <= 1/2",
    latex=r"\|\mathrm{diag}(p)-pp^\top\|_{op}\le\tfrac12",
    sound_statement="The same; 2 P (1 - P) when the largest probability is P.",
    inputs=(
        real(
            "P",
            "the largest attention weight",
            high=1,
            high_open=False,
            optional=True,
            derived="any weights",
            example=0.9,
        ),
    ),
    status=Status.RECONSTRUCTED,
    reason="the constant is lost in our copy; 1/2 is what its proof gives (confidence high), and it is attained",
    printed=printed,
    sound=sound,
    proof="docs/proofs/arda.md",
)
