r"""M, one-scale margin: from a cover of the class to the 0-1 risk, without square roots.

.. math:: R_{01}(f) \le \max\{p : P(\mathrm{Bin}(n,p) \le k_\gamma) \ge \delta\,\pi/N(\gamma/2)\}

for all f and all margins gamma of a paid grid at once, k the number of examples with margin at most gamma or outside
the domain. N is a sup-norm cover of the class over the whole input domain, never over the sample.
"""

from __future__ import annotations

import math

from certiformer.calculus.tails import binomial_upper
from certiformer.core import Quantity, Result, Status, Variants, assumed, count, flag, real, upper_bound
from certiformer.core.errors import InputError
from certiformer.theorems.certificates import CERTIFICATES


def sound(margin_errors: int, n: int, delta: float, logN: float, paid: float, sample_cover: bool) -> Variants:
    if sample_cover:
        raise InputError(
            "sample_cover",
            True,
            "a cover of the class over the whole input domain",
            "A cover on the sample proves nothing here",
        )
    if margin_errors > n:
        raise InputError("margin_errors", margin_errors, f"at most n = {n}")
    checks = (
        assumed(
            "N(gamma/2) covers the class over the whole domain in sup norm (gamma/4 for logits of several classes)"
        ),
        assumed("examples outside the domain are counted as margin errors"),
        assumed("radii, margins and domain radius are on grids fixed beforehand; their price is in `paid`"),
    )
    value = binomial_upper(margin_errors, n, math.log(delta) - logN - paid)
    terms = {"observed": margin_errors / n, "ln N (nats)": logN, "paid for radii and margin (nats)": paid}
    return {"value": upper_bound(value, clip=1.0, checks=checks, terms=terms)}


RESULT = Result(
    id="margin",
    title="One-scale margin certificate",
    paper=CERTIFICATES,
    place="certificate M",
    bounds=Quantity.RISK,
    statement="nothing printed",
    latex=r"R_{01}(f)\le\max\{p: P(\mathrm{Bin}(n,p)\le k_\gamma)\ge\delta\pi/N(\gamma/2)\}",
    sound_statement="risk <= max{p : P(Bin(n, p) <= margin_errors) >= delta exp(-logN - paid)}",
    inputs=(
        count(
            "margin_errors",
            "examples with margin at most gamma, or outside the domain",
            low=0,
            example=100,
            aliases=("k",),
        ),
        count("n", "examples, all of them", aliases=("m", "N"), example=10_000),
        real("delta", "failure probability", high=1.0, example=0.05),
        real("logN", "ln of the covering number at gamma/2 over the domain", low_open=False, example=200.0),
        real("paid", "price of the strata and of the margin grid, in nats", low_open=False, default=0.0, example=5.0),
        flag("sample_cover", "the cover was built on the sample"),
    ),
    status=Status.NONE,
    reason="the bridge from the papers' covers to a bound that says something",
    printed=None,
    sound=sound,
    assumptions=("two classes: margin y f(x); several: f_y minus the largest other logit, cover radius gamma/4",),
    monotone={"margin_errors": 1, "delta": -1, "logN": 1, "paid": 1},
    proof="docs/proofs/certificates.md",
)
