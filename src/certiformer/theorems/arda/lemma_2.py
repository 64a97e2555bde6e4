r"""Lemma 2: Lipschitz and smoothness constants of a head theta = (u, W) -> h on {||u|| <= B}.

Printed (L1 rebuilt; L2 is lost):  .. math:: L_1 = s_1\sqrt{1+B^2}

Sound, with C3 = 4/(3 sqrt 3), free of the sequence length and of the dimension:

.. math:: L_1=s_1\max(1,B),\qquad L_2=s_2\max(1,B)^2+\tfrac{s_1}2\bigl(C_3B+\sqrt{C_3^2B^2+4}\bigr)

L1 is attained; L2 is approached as B grows.
"""

from __future__ import annotations

import math

from certiformer.calculus.activations import activation as find_activation
from certiformer.core import Quantity, Result, Status, Variants, printed_value, real, upper_bound
from certiformer.theorems.arda import ARDA
from certiformer.theorems.arda._heads import lipschitz, smoothness
from certiformer.theorems.arda._inputs import ACTIVATION, UNIT_BALL


def printed(activation: str, B: float) -> Variants:
    L1 = find_activation(activation).s1 * math.hypot(1.0, B)
    return {"L1": printed_value(L1, bounds=Quantity.LIPSCHITZ_CONSTANT, note="reconstructed, confidence medium")}


def sound(activation: str, B: float) -> Variants:
    sigma = find_activation(activation)
    checks = (UNIT_BALL,)
    return {
        "L1": upper_bound(lipschitz(sigma, B), checks=checks, bounds=Quantity.LIPSCHITZ_CONSTANT),
        "L2": upper_bound(smoothness(sigma, B), checks=checks),
    }


RESULT = Result(
    id="arda.lem2",
    title="Lipschitz and smoothness constants of a head",
    paper=ARDA,
    place="Lemma 2",
    bounds=Quantity.SMOOTHNESS,
    statement="h is L1-Lipschitz and L2-smooth in (u, W) for ||u|| <= B; L1 = s1 sqrt(1 + B^2), L2 is lost in our copy",
    latex=r"L_1=\sigma_1\sqrt{1+B^2}",
    sound_statement=(
        "L1 = s1 max(1, B), L2 = s2 max(1, B)^2 + (s1/2)(C3 B + sqrt(C3^2 B^2 + 4)), C3 = 4/(3 sqrt 3), "
        "for tokens and query in the unit ball."
    ),
    inputs=(ACTIVATION, real("B", "bound on ||u||", example=2)),
    status=Status.RECONSTRUCTED,
    reason="L1 rebuilt from the proof (confidence medium) and valid; L2 could not be rebuilt",
    printed=printed,
    sound=sound,
    assumptions=("tokens and query in the unit ball", "||u|| <= B along the whole segment"),
    defects=("Bounding the blocks u and W separately costs up to a factor sqrt 2 in L1: they cannot both be extreme.",),
    monotone={"B": 1},
    proof="docs/proofs/arda.md",
)
