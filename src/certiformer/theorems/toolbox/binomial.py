r"""The exact binomial confidence limit: errors counted on n independent examples that nobody has looked at.

.. math:: \overline p = \max\{p : P(\mathrm{Bin}(n,p) \le k) \ge \delta\}

With probability at least 1 - delta the true error rate is at most the value (Clopper and Pearson, one-sided).
Evaluated in logarithms, so that delta may be as small as e^-5000.
"""

from __future__ import annotations

import math

from certiformer.calculus.tails import binomial_upper, kl_inverse
from certiformer.core import Quantity, Result, Status, Variants, assumed, count, real, upper_bound
from certiformer.core.errors import InputError
from certiformer.theorems.toolbox import TOOLBOX


def sound(errors: int, n: int, delta: float) -> Variants:
    if errors > n:
        raise InputError("errors", errors, f"at most n = {n}", "Errors are counted among the n examples")
    fresh = assumed("the n examples are independent and played no part in training or selection")
    return {
        "value": upper_bound(binomial_upper(errors, n, math.log(delta)), clip=1.0, checks=(fresh,)),
        "kl": upper_bound(kl_inverse(errors / n, -math.log(delta) / n), clip=1.0, checks=(fresh,)),
        "hoeffding": upper_bound(errors / n + math.sqrt(-math.log(delta) / (2 * n)), clip=1.0, checks=(fresh,)),
    }


RESULT = Result(
    id="binomial",
    title="Exact binomial hold-out bound",
    paper=TOOLBOX,
    place="exact tails",
    bounds=Quantity.RISK,
    statement="nothing printed",
    latex=r"P(\mathrm{Bin}(n,p)\le k)\ge\delta",
    sound_statement=(
        "risk <= max{p : P(Bin(n, p) <= errors) >= delta} with probability at least 1 - delta; "
        "kl and hoeffding are the weaker Chernoff forms of the same event."
    ),
    inputs=(
        count("errors", "errors counted on the hold-out sample", low=0, example=35, aliases=("k",)),
        count("n", "size of the hold-out sample", aliases=("m", "N"), example=4780),
        real("delta", "failure probability", high=1.0, example=0.05),
    ),
    status=Status.NONE,
    reason="the yardstick: no bound that uses the same data needs to be worse",
    printed=None,
    sound=sound,
    assumptions=("independent examples from the distribution of interest, untouched until now",),
    monotone={"errors": 1, "delta": -1},
    proof="docs/proofs/tails.md",
)
