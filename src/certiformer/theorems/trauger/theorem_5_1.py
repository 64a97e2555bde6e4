r"""Theorem 5.1: predicting a masked word, cross-entropy over K classes.

Printed:  .. math:: \mathrm{Rad}(\ell\circ F) \le \tilde O(\sqrt K)\,\max_s\mathrm{Rad}(F_s)

with unknown constants and powers of logarithms (evaluated with all of them 1, without and with the Lipschitz
constant 2). Sound, by Maurer's vector contraction, since cross-entropy is sqrt(2)-Lipschitz in l2:

.. math:: \mathrm{Rad}(\ell\circ F) \le 2\sum_s\mathrm{Rad}(F_s) \le 2K\max_s\mathrm{Rad}(F_s),

and never more than M/2 for cross-entropy clipped at M. `trauger.thm5.1.direct` covers the logits instead and pays ln K.
"""

from __future__ import annotations

import math

from certiformer.calculus import rademacher
from certiformer.core import Bound, Quantity, Result, Status, Variants, count, printed_value, real, upper_bound
from certiformer.theorems.trauger import TRAUGER


def printed(K: int, rad: float, M: float | None) -> Variants:
    note = "an order of growth: constants and powers of logarithms are unknown"
    return {
        "value": printed_value(math.sqrt(K) * rad, note=note),
        "with_lipschitz": printed_value(2 * math.sqrt(K) * rad, note=note),
    }


def sound(K: int, rad: float, M: float | None) -> Variants:
    # sqrt(2) L2 sum_s Rad(F_s) with L2 = sqrt(2) for cross-entropy.
    total = K * rademacher.maurer((rad,), math.sqrt(2.0))
    variants: dict[str, Bound] = {"maurer": upper_bound(total)}
    if M is not None:
        variants["clipped"] = upper_bound(rademacher.of_loss(total, 1.0, M), clip=M / 2.0)
    return variants


RESULT = Result(
    id="trauger.thm5.1",
    title="Masked-word prediction",
    paper=TRAUGER,
    place="Theorem 5.1",
    bounds=Quantity.RADEMACHER_COMPLEXITY,
    statement="Rad(loss o F) <= O~(sqrt(K)) max_s Rad(F_s), F_s the s-th logit, then Theorem 4.1 or 4.2",
    latex=r"\mathrm{Rad}(\ell\circ F)\le\tilde O(\sqrt K)\max_s\mathrm{Rad}(F_s)",
    sound_statement="Rad(loss o F) <= 2 K max_s Rad(F_s) (Maurer); clipped at M: also at most M/2.",
    inputs=(
        count("K", "vocabulary size", low=2, example=2),
        real("rad", "bound on the complexity of every logit", low_open=False, example=0.05),
        real("M", "level at which cross-entropy is clipped", optional=True, derived="not clipped", example=10),
    ),
    status=Status.CONSTANT,
    reason="the constant and the powers of logarithms in O~ are not given",
    printed=printed,
    sound=sound,
    assumptions=(
        "one masked position per sample",
        "rows of the vocabulary matrix satisfy the readout's norm bound: l1 for Theorem 4.1, l2 for Theorem 4.2",
    ),
    defects=(
        (
            "The cited contraction needs worst-case complexities and a bounded range, and hides log^{3/2} "
            "factors and a "
            "constant; the printed number bounds nothing."
        ),
        "The factor 1/n is missing, and one index is used for two things in the loss.",
        "Cross-entropy is unbounded, so a gap needs a clipped loss.",
    ),
    monotone={"K": 1, "rad": 1, "M": 1},
    proof="docs/proofs/trauger.md",
)
