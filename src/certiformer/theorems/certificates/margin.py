from __future__ import annotations

import math

from certiformer.calculus.tails import binomial_upper
from certiformer.core import (
    Quantity,
    Result,
    Status,
    Variants,
    assumed,
    count,
    flag,
    real,
    upper_bound,
)
from certiformer.core.errors import InputError
from certiformer.theorems.certificates import CERTIFICATES


class Margin(Result):
    r"""One-scale margin certificate.

    for all f and all margins gamma of a paid grid at once, k the number of examples with margin at most gamma or
    outside
    the domain. N is a sup-norm cover of the class over the whole input domain, never over the sample.

    .. math:: R_{01}(f) \le \max\{p : P(\mathrm{Bin}(n,p) \le k_\gamma) \ge \delta\,\pi/N(\gamma/2)\}

    Sound: risk <= max{p : P(Bin(n, p) <= margin_errors) >= delta exp(-logN - paid)}
    .. math:: R_{01}(f)\le\max\{p: P(\mathrm{Bin}(n,p)\le k_\gamma)\ge\delta\pi/N(\gamma/2)\}
    Because: the bridge from the papers' covers to a bound that says something
    Assumes:
    - two classes: margin y f(x); several: f_y minus the largest other logit, cover radius gamma/4
    """

    id = "margin"
    paper, place = CERTIFICATES, "certificate M"
    bounds, status = Quantity.RISK, Status.NONE
    monotone = "+margin_errors -delta +logN +paid"

    margin_errors: int = count(
        "examples with margin at most gamma, or outside the domain", low=0, example=100, aliases=("k",)
    )
    n: int = count("examples, all of them", example=10_000, aliases=("m", "N"))
    delta: float = real("failure probability", high=1.0, example=0.05)
    logN: float = real("ln of the covering number at gamma/2 over the domain", low_open=False, example=200.0)
    paid: float = real("price of the strata and of the margin grid, in nats", low_open=False, example=5.0, default=0.0)
    sample_cover: bool | None = flag("the cover was built on the sample")

    def sound(self) -> Variants:
        if self.sample_cover:
            raise InputError(
                "sample_cover",
                True,
                "a cover of the class over the whole input domain",
                "A cover on the sample proves nothing here",
            )
        if self.margin_errors > self.n:
            raise InputError("margin_errors", self.margin_errors, f"at most n = {self.n}")
        hypotheses = (
            assumed(
                "N(gamma/2) covers the class over the whole domain in sup norm (gamma/4 for logits of several classes)"
            ),
            assumed("examples outside the domain are counted as margin errors"),
            assumed("radii, margins and domain radius are on grids fixed beforehand; their price is in `paid`"),
        )
        value = binomial_upper(self.margin_errors, self.n, math.log(self.delta) - self.logN - self.paid)
        terms = {
            "observed": self.margin_errors / self.n,
            "ln N (nats)": self.logN,
            "paid for radii and margin (nats)": self.paid,
        }
        return {"value": upper_bound(value, clip=1.0, hypotheses=hypotheses, terms=terms)}
