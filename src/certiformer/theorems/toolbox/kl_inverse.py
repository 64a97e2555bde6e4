r"""The upper inverse of the binary relative entropy, the last step of every PAC-Bayes-kl bound.

.. math:: \mathrm{kl}^{-1}(q, c) = \sup\{p \ge q : q\ln\tfrac qp + (1-q)\ln\tfrac{1-q}{1-p} \le c\}
"""

from __future__ import annotations

import math

from certiformer.calculus import tails
from certiformer.core import Quantity, Result, Status, Variants, real, upper_bound
from certiformer.theorems.toolbox import TOOLBOX


def sound(q: float, budget: float) -> Variants:
    return {
        "value": upper_bound(tails.kl_inverse(q, budget), clip=1.0),
        "pinsker": upper_bound(q + math.sqrt(budget / 2.0), clip=1.0),
    }


RESULT = Result(
    id="kl_inverse",
    title="Inverse of the binary relative entropy",
    paper=TOOLBOX,
    place="exact tails",
    bounds=Quantity.RISK,
    statement="nothing printed",
    latex=r"\mathrm{kl}^{-1}(q,c)=\sup\{p: \mathrm{kl}(q\|p)\le c\}",
    sound_statement="p <= kl^{-1}(q, budget) whenever kl(q || p) <= budget; pinsker: q + sqrt(budget/2) >= it.",
    inputs=(
        real("q", "observed rate", low_open=False, high=1.0, high_open=False, example=0.01),
        real("budget", "bound on kl(q || p), e.g. (KL + ln(2 sqrt(n)/delta))/n", low_open=False, example=0.01),
    ),
    status=Status.NONE,
    reason="solved to the last digit and rounded up",
    printed=None,
    sound=sound,
    monotone={"q": 1, "budget": 1},
    proof="docs/proofs/tails.md",
)
