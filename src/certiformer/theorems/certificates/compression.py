from __future__ import annotations

import math

from certiformer.calculus.compression import compression_upper, published_with_a_plus
from certiformer.core import Quantity, Result, Status, Variants, assumed, count, printed_value, real, upper_bound
from certiformer.core.errors import InputError
from certiformer.theorems.certificates import CERTIFICATES


class Compression(Result):
    r"""Compression certificate (pick-to-learn).

    All n examples train and certify; no split, no prior. A loop picks examples its model gets wrong and learns from
    those it picked; k were picked when no other was wrong. If the loop was stopped earlier, by a rule that reads the
    picks only, those still wrong count as picks. With probability at least 1 - delta.

    Printed: public code: eps is the root of n eps P(Bin(n, eps) = k) = delta + P(Bin(n, eps) >= k + 1), 0 at k = 0
    .. math:: n\varepsilon P(\mathrm{Bin}(n,\varepsilon)=k)=\delta+P(\mathrm{Bin}(n,\varepsilon)\ge k+1)
    Sound: risk <= eps(k + left, n, delta), the root of n eps P(Bin(n, eps) = k) = delta P(Bin(n, eps) >= k + 1)
    .. math:: n\varepsilon P(\mathrm{Bin}(n,\varepsilon)=k)=\delta\,P(\mathrm{Bin}(n,\varepsilon)\ge k+1)
    Because: a sum where the proof has a product: 2.53 % is published where 2.80 % holds (k = 237, n = 10,612)
    Assumes:
    - the n examples are independent draws, and all of them were offered to the loop
    - the learner is a deterministic function of the ordered list of picked examples, seeds fixed before
    - initial model, features, settings and preference owe nothing to the n examples
    - the loop ended because no example was wrong, or by a rule that reads the picks only; it is defined for every n
    Defects:
    - delta and the incomplete beta function are added, not multiplied
    - with k = 0 the published program returns 0: a risk of zero from finitely many examples
    """

    id = "compression"
    paper, place = CERTIFICATES, "certificate P"
    bounds, status = Quantity.RISK, Status.FALSE
    monotone = "+k +left -delta"
    proof = "docs/proofs/compression.md"

    k: int = count("examples that were picked", low=0, example=237)
    n: int = count("examples, all of them", example=10_612, aliases=("m", "N"))
    delta: float = real("failure probability", high=1.0, example=0.01)
    left: int = count("examples still wrong at a stop that depends on the picks only", low=0, example=0, default=0)

    def printed(self) -> Variants:
        return {"published": printed_value(published_with_a_plus(self._counted(), self.n, self.delta))}

    def sound(self) -> Variants:
        value = compression_upper(self._counted(), self.n, math.log(self.delta))
        terms = {"observed": self.left / self.n, "examples picked": self.k, "examples left wrong": self.left}
        replayed = assumed("the loop, run on the picks alone, returns the same picks and the same model")
        return {"value": upper_bound(value, clip=1.0, hypotheses=(replayed,), terms=terms)}

    def _counted(self) -> int:
        if self.k + self.left > self.n:
            raise InputError("k, left", (self.k, self.left), f"together at most n = {self.n}", "They are among the n")
        return self.k + self.left
