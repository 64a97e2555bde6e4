r"""H, hold-out: errors counted on examples that played no part in choosing the model. The yardstick.

.. math:: R(h) \le \max\{p : P(\mathrm{Bin}(n,p) \le k) \ge \delta/K\}

with probability at least 1 - delta, for the best of K models compared on the same examples.
"""

from __future__ import annotations

import math

from certiformer.calculus.tails import binomial_upper
from certiformer.core import Quantity, Result, Status, Variants, assumed, count, real, upper_bound
from certiformer.core.errors import InputError
from certiformer.theorems.certificates import CERTIFICATES


def sound(errors: int, n: int, delta: float, models: int) -> Variants:
    if errors > n:
        raise InputError("errors", errors, f"at most n = {n}", "Errors are counted among the n examples")
    checks = (
        assumed("the n examples are independent and played no part in training, selection or tuning"),
        assumed("every model compared on these examples is counted in `models`"),
    )
    value = binomial_upper(errors, n, math.log(delta) - math.log(models))
    return {"value": upper_bound(value, clip=1.0, checks=checks, terms={"observed": errors / n, "models": models})}


RESULT = Result(
    id="holdout",
    title="Hold-out certificate (exact binomial)",
    paper=CERTIFICATES,
    place="certificate H",
    bounds=Quantity.RISK,
    statement="nothing printed",
    latex=r"R(h)\le\max\{p: P(\mathrm{Bin}(n,p)\le k)\ge\delta/K\}",
    sound_statement="risk <= max{p : P(Bin(n, p) <= errors) >= delta/models} with probability at least 1 - delta",
    inputs=(
        count("errors", "errors on the hold-out examples", low=0, example=35, aliases=("k",)),
        count("n", "hold-out examples", aliases=("m", "N"), example=4780),
        real("delta", "failure probability", high=1.0, example=0.05),
        count("models", "models compared on these examples", default=1, example=1),
    ),
    status=Status.NONE,
    reason="the yardstick: it stands first in every report",
    printed=None,
    sound=sound,
    assumptions=("examples are drawn independently from the distribution the claim is about",),
    monotone={"errors": 1, "delta": -1, "models": 1},
    proof="docs/proofs/certificates.md",
)
