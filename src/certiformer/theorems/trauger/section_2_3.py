r"""Section 2.3: from Rademacher complexity to the generalization gap.

Printed, for |loss| <= c, two-sided:  .. math:: 2\,\mathrm{Rad} + 4c\sqrt{2\ln(4/\delta)/n}

Sound, for a loss in [0, c] on the whole support and a class fixed before the sample (docs/proofs/chaining.md, T9):

.. math:: 2\,\mathrm{Rad}_S + 3c\sqrt{\ln(1/\delta)/2n} \quad\text{(data)},\qquad
          2\,\overline{\mathrm{Rad}} + c\sqrt{\ln(1/\delta)/2n} \quad\text{(uniform)}

One McDiarmid inequality each. The uniform form needs a complexity bound that holds for every sample.
"""

from __future__ import annotations

import math

from certiformer.calculus.rademacher import gap_from_data, gap_uniform
from certiformer.core import (
    Bound,
    Quantity,
    Result,
    Status,
    Variants,
    assumed,
    count,
    flag,
    printed_value,
    real,
    upper_bound,
)
from certiformer.theorems.trauger import TRAUGER


def printed(rad: float, c: float, delta: float, n: int, every_sample: bool) -> Variants:
    return {"value": printed_value(2 * rad + 4 * c * math.sqrt(2 * math.log(4 / delta) / n))}


def sound(rad: float, c: float, delta: float, n: int, every_sample: bool) -> Variants:
    ln_inverse = -math.log(delta)
    support = assumed("the loss lies in [0, c] on the whole support, not only on the sample")
    uniform = assumed("rad bounds the complexity of the loss class on every sample of the support", every_sample)
    note = "each variant is an event of its own: fix the choice before seeing the data, or give each a share of delta"

    def gap(value: float, *more: object) -> Bound:
        checks = (support, uniform) if more else (support,)
        terms = {"complexity": 2.0 * rad, "confidence": value - 2.0 * rad}
        return upper_bound(value, clip=c, terms=terms, additive=True, checks=checks, note=note)

    return {
        "data": gap(gap_from_data(rad, c, ln_inverse, n)),
        "uniform": gap(gap_uniform(rad, c, ln_inverse, n), uniform),
        # Both directions at once: two events, half of delta each.
        "two_sided": gap(gap_uniform(rad, c, ln_inverse + math.log(2.0), n), uniform),
        "two_sided_data": gap(gap_from_data(rad, c, ln_inverse + math.log(2.0), n)),
    }


RESULT = Result(
    id="trauger.rad2gap",
    title="Rademacher complexity bounds the generalization gap",
    paper=TRAUGER,
    place="Section 2.3",
    bounds=Quantity.GAP,
    statement="|L_D - L_S| <= 2 Rad + 4 c sqrt(2 ln(4/delta)/n) with probability 1 - delta, |loss| <= c",
    latex=r"|L_D-L_S|\le 2\,\mathrm{Rad}_n+4c\sqrt{2\log(4/\delta)/n}",
    sound_statement=(
        "Loss in [0, c], one-sided: data 2 Rad_S + 3c sqrt(ln(1/delta)/2n); uniform (rad valid for every sample) "
        "2 Rad + c sqrt(ln(1/delta)/2n); two-sided with delta/2."
    ),
    inputs=(
        real("rad", "Rademacher complexity of the loss class", low_open=False, example=0.1),
        real("c", "range of the loss on the whole support: loss in [0, c]", example=1),
        real("delta", "failure probability", high=1, symbol="δ", example=0.05),
        count("n", "sample size", aliases=("m", "N"), example=1000),
        flag("every_sample", "rad holds for every sample of the support, not only for this one"),
    ),
    status=Status.TRUE,
    reason="holds, two-sided; the constants are loose by a factor of about two",
    printed=printed,
    sound=sound,
    assumptions=(
        "the sample is i.i.d. and the class is fixed before it is seen",
        "the loss is bounded on the support (clip it); a range read off the sample proves nothing",
    ),
    defects=(
        "n and m stand for the same number.",
        "The cited theorem is one-sided; the two-sided form is true because its constants are loose.",
        "Cross-entropy is not bounded: the statement needs a clipped loss.",
    ),
    monotone={"rad": 1, "c": 1, "delta": -1, "n": -1},
    proof="docs/proofs/chaining.md",
)
