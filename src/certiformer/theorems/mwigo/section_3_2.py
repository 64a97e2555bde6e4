r"""Section 3.2: from Rademacher complexity to the generalization gap.

Printed, for a rho-Lipschitz loss in [0, c]:

.. math:: \sup_f(L_D-L_S) \le 2\rho R_S(F) + 3c\sqrt{\log(2/\delta)/2N}

True, and sharpened by one McDiarmid inequality instead of two (docs/proofs/chaining.md, T9): log(1/delta) for
log(2/delta), and c for 3c where the complexity bound holds for every sample. The complexity of the losses never
exceeds c/2.
"""

from __future__ import annotations

import math

from certiformer.calculus.rademacher import gap_from_data, gap_uniform, of_loss
from certiformer.core import (
    Bound,
    Check,
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
from certiformer.theorems.mwigo import MWIGO


def printed(rho: float, rad: float, c: float, delta: float, n: int, every_sample: bool) -> Variants:
    return {"value": printed_value(2 * rho * rad + 3 * c * math.sqrt(math.log(2 / delta) / (2 * n)))}


def sound(rho: float, rad: float, c: float, delta: float, n: int, every_sample: bool) -> Variants:
    ln_inverse = -math.log(delta)
    losses = of_loss(rad, rho, c)
    support = assumed("the loss lies in [0, c] on the whole support, not only on the sample")
    uniform = assumed("rad bounds the complexity on every sample of the support", every_sample)
    note = "each variant is an event of its own: fix the choice before seeing the data, or give each a share of delta"

    def gap(value: float, *checks: Check) -> Bound:
        terms = {"complexity": 2.0 * losses, "confidence": value - 2.0 * losses}
        return upper_bound(value, clip=c, terms=terms, additive=True, checks=checks, note=note)

    return {
        "data": gap(gap_from_data(losses, c, ln_inverse, n), support),
        "uniform": gap(gap_uniform(losses, c, ln_inverse, n), support, uniform),
    }


RESULT = Result(
    id="mwigo.rad2gap",
    title="Rademacher complexity bounds the generalization gap",
    paper=MWIGO,
    place="Section 3.2",
    bounds=Quantity.GAP,
    statement="sup (L_D - L_S) <= 2 rho R_S(F) + 3 c sqrt(log(2/delta)/2N) with probability 1 - delta",
    latex=r"\sup_{f\in F}\{L_D(f)-L_S(f)\}\le2\rho R_S(F)+3c\sqrt{\log(2/\delta)/2N}",
    sound_statement=(
        "data: 2 min(rho R_S, c/2) + 3c sqrt(ln(1/delta)/2N); uniform (rad valid for every sample): c instead of 3c."
    ),
    inputs=(
        real("rho", "Lipschitz constant of the loss in the prediction", symbol="ρ", example=1),
        real("rad", "Rademacher complexity of the class of predictors", low_open=False, symbol="R_S", example=0.1),
        real("c", "range of the loss on the whole support: loss in [0, c]", example=1),
        real("delta", "failure probability", high=1, symbol="δ", example=0.05),
        count("n", "sample size", aliases=("N", "m"), example=400),
        flag("every_sample", "rad holds for every sample of the support, not only for this one"),
    ),
    status=Status.TRUE,
    reason="the standard theorem; its constants can be sharpened",
    printed=printed,
    sound=sound,
    assumptions=(
        "the sample is i.i.d. and the class is fixed before it is seen",
        "the loss is bounded on the support (clip it); a range read off the sample proves nothing",
    ),
    defects=("The letter rho is used again later for sqrt(N) d_s^{3/2} R_X.",),
    monotone={"rho": 1, "rad": 1, "c": 1, "delta": -1, "n": -1},
    proof="docs/proofs/chaining.md",
)
