import math

from certiformer.theory.calculus.truncation import SubGaussian
from certiformer.theory.core import (
    Quantity,
    Result,
    Status,
    Variants,
    count,
    printed_value,
    real,
    side_number,
    upper_bound,
)
from certiformer.theory.theorems.li import LI


class Remark67(Result):
    r"""Threshold for sub-Gaussian inputs.

    The level at which inputs are truncated so that P(b(X) > M) <= 1/n, and the rates that follow.

    Printed: complexity ~ log M, M ~ sqrt(log n), rate ~ sqrt(log n)/n
    .. math:: M\asymp\sqrt{\log n}\;\Rightarrow\;\widetilde O(\sqrt{\log n}/n)
    Quoted: M\asymp\sqrt{\log n} balances these terms, yielding an overall convergence rate of
    Sound: M = sqrt(2 v log(a n)) makes P(b > M) <= 1/n; rates D log n/n (clipped, several layers), D log^1.5 n/n
    (Lipschitz), D log^2 n/n (squared).
    .. math:: M=\sqrt{2v\log(an)}\ \Rightarrow\ P(b>M)\le\tfrac{1}{n};\quad D\,\tfrac{\log n}{n},\
       D\,\tfrac{\log^{1.5}n}{n},\ D\,\tfrac{\log^2n}{n}
    Because: M = sqrt(log n) leaves P(b > M) = 0.28 at a = 9, v = 1, n = 1000; the prefactor is linear in M
    Assumes:
    - the tail bound is known in advance
    Defects:
    - The prefactor of the bound is linear in M, kappa grows with M for the squared loss, and the norm-based
      complexity is polynomial in M and 1/delta.
    - M = sqrt(log n) without its constant does not make the tail O(1/n).
    """

    paper, place = LI, "Remark 6.7"
    bounds, status = Quantity.TAIL_PROBABILITY, Status.FALSE
    monotone = "-n"

    a: float = real("P(b(X) > t) <= a exp(-t^2/2v)", example=9)
    v: float = real("in units of the inputs squared")
    n: int = count("sample size", low=2, example=1000, aliases=("m", "N"))

    def printed(self) -> Variants:
        return {
            "M": side_number(math.sqrt(math.log(self.n)), "constant taken as 1"),
            "rate": printed_value(math.sqrt(math.log(self.n)) / self.n, bounds=Quantity.CONSTANT),
        }

    def sound(self) -> Variants:
        tail = SubGaussian(self.a, self.v)
        M = tail.threshold(self.n)
        log = math.log(self.n)
        return {
            "M": side_number(M),
            "P_at_M": upper_bound(tail.probability(M), clip=1.0),
            "P_at_printed_M": upper_bound(tail.probability(math.sqrt(log)), clip=1.0, bounds=Quantity.CONSTANT),
            "rate_clipped": side_number(log / self.n, "times the number of parameters D"),
            "rate_lipschitz": side_number(log**1.5 / self.n, "times D, for V of order M"),
            "rate_squared": side_number(log**2 / self.n, "times D"),
        }
