r"""Definition 1: the event E_R that every initial head vector is short.

.. math:: E_R = \{\max_i\|u_i(0)\|\le\sqrt d+R\}

Printed (rebuilt):  .. math:: P(E_R^c)\le \tfrac m2 e^{-R^2/2}

Sound: the same (the m heads are m/2 distinct draws); exact through the law of ||u||; and no event at all once the
initialisation is known (the variant `init` of Theorem 1).
"""

from __future__ import annotations

from certiformer.core import Quantity, Result, Status, Variants, printed_value, real, upper_bound, verified
from certiformer.theorems.arda import ARDA
from certiformer.theorems.arda._inputs import DIMENSION, SYMMETRIC, WIDTH
from certiformer.theorems.arda.fact_4 import TINY, exact_tail, union_tail


def printed(m: int, d: int, R: float) -> Variants:
    return {
        "value": printed_value(union_tail(R, m / 2), note="reconstructed; m/2 rather than m with confidence medium")
    }


def sound(m: int, d: int, R: float) -> Variants:
    checks = (verified("m is even: the heads come in pairs", m % 2 == 0, m), SYMMETRIC)
    return {
        "value": upper_bound(max(TINY, union_tail(R, m / 2)), clip=1.0, checks=checks),
        "exact": upper_bound(max(TINY, exact_tail(d, R, m / 2)), clip=1.0, checks=checks),
    }


RESULT = Result(
    id="arda.def1",
    title="The event that the initial head vectors are short",
    paper=ARDA,
    place="Definition 1",
    bounds=Quantity.TAIL_PROBABILITY,
    statement="P(max_i ||u_i(0)|| > sqrt(d) + R) <= (m/2) e^{-R^2/2}",
    latex=r"P(E_R^c)\le\tfrac m2e^{-R^2/2}",
    sound_statement="The same; exact: 1 - (1 - Q(d/2, (sqrt(d) + R)^2/2))^{m/2}.",
    inputs=(WIDTH, DIMENSION, real("R", "excess of the norms over sqrt(d)", example=6)),
    status=Status.RECONSTRUCTED,
    reason="the formula is lost in our copy: event with confidence high, m/2 (not m) copies with confidence medium",
    printed=printed,
    sound=sound,
    assumptions=("symmetric initialisation with u_i ~ N(0, I_d)",),
    defects=("If the paper counts m copies, it is needlessly weak: paired heads share one draw.",),
    monotone={"R": -1},
    proof="docs/proofs/arda.md",
)
