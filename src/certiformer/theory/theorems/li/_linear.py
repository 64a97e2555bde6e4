"""Covers of linear maps: what Lemmas 5.2, B.3 and B.6 and Assumption 5.7 share."""

from __future__ import annotations

import math

from certiformer.theory.calculus.covers import low_rank, maurey_draws, maurey_plain_draws, volumetric
from certiformer.theory.calculus.entropies import log_multisets
from certiformer.theory.core import (
    Hypothesis,
    Quantity,
    Result,
    Variants,
    count,
    printed_value,
    real,
    upper_bound,
    verified,
)
from certiformer.theory.theorems.li import LI


class EntrywiseMaps(Result):
    """{x -> Wx} with a bounded entrywise l1 norm."""

    paper, bounds, proof = LI, Quantity.LOG_COVERING_NUMBER, "docs/proofs/li-covers.md"
    monotone = "+B +Bx -eps +d +k"

    B: float = real("bound on the entrywise l1 norm of W", symbol="B_W")
    eps: float = real("radius of the cover, l2 norm of the output", example=0.3, symbol="ε")
    d: int = count("input dimension", example=4)
    k: int = count("output dimension", example=3)
    Bx: float = real("bound on the l2 norm of the inputs", symbol="B_x")

    @property
    def logarithm(self) -> float:
        """log(2dk + 1)."""
        return math.log(2 * self.d * self.k + 1)

    def claim(self, constant: float, *hypotheses: Hypothesis) -> Variants:
        """constant (Bx B/eps)^2 as printed."""
        needed = verified("eps < Bx B (else one ball suffices)", self.eps < self.Bx * self.B)
        value = constant * (self.Bx * self.B / self.eps) ** 2
        return {"value": printed_value(value, hypotheses=(needed, *hypotheses))}

    def sound(self) -> Variants:
        """C1 (plain Maurey), T3 (shrunk), C2 (volume) and the smallest of them."""
        plain = log_multisets(self.d * self.k, maurey_plain_draws(self.eps, self.B, self.Bx))
        shrunk = log_multisets(self.d * self.k, maurey_draws(self.eps, self.B, self.Bx))
        volume = volumetric(self.B * self.Bx, self.d * self.k).log_size(self.eps)
        return {
            "maurey": upper_bound(plain),
            "maurey_shrunk": upper_bound(shrunk),
            "volumetric": upper_bound(volume),
            "best": upper_bound(min(plain, shrunk, volume)),
        }


class LowRankMaps(Result):
    """{x -> Wx} with bounded rank and spectral norm."""

    paper, bounds, proof = LI, Quantity.LOG_COVERING_NUMBER, "docs/proofs/li-covers.md"
    monotone = "+r +d +k +B +Bx -eps"

    r: int = count("bound on the rank", example=2)
    d: int = count("input dimension", example=4)
    k: int = count("output dimension", example=3)
    B: float = real("bound on the spectral norm", symbol="B_W")
    Bx: float = real("bound on the l2 norm of the inputs", symbol="B_x")
    eps: float = real("radius of the cover", example=0.1, symbol="ε")

    def claim(self, constant: float, inside: float) -> Variants:
        """constant r log(inside (Bx B/eps)^2) as printed."""
        value = constant * self.r * (math.log(inside) + 2.0 * math.log(self.Bx * self.B / self.eps))
        return {"value": printed_value(value, hypotheses=(verified("the claim is not negative", value >= 0.0),))}

    def sound(self) -> Variants:
        """C3: at most (d+k) r ln(1 + 4 B Bx/eps) and dk ln(1 + 2 B Bx/eps); the two factors share eps as d : k."""
        rank = min(self.r, self.d, self.k)
        return {
            "spectral": upper_bound(low_rank(self.B * self.Bx, self.d, self.k, rank).log_size(self.eps)),
            "volumetric": upper_bound(volumetric(self.B * self.Bx, self.d * self.k).log_size(self.eps)),
        }
