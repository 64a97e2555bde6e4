import math

from certiformer.theory.calculus.tail_check import exact_upper
from certiformer.theory.calculus.tails import kl_inverse
from certiformer.theory.core import Quantity, Result, Status, Variants, assumed, count, real, upper_bound
from certiformer.theory.core.errors import InputError
from certiformer.theory.theorems.toolbox import TOOLBOX


class Binomial(Result):
    r"""Exact binomial hold-out bound.

    With probability at least 1 - delta the true error rate is at most the value (Clopper and Pearson, one-sided).
    Evaluated in logarithms, so that delta may be as small as e^-5000.

    .. math:: \overline p = \max\{p : P(\mathrm{Bin}(n,p) \le k) \ge \delta\}

    Sound: risk <= max{p : P(Bin(n, p) <= errors) >= delta} with probability at least 1 - delta; kl and hoeffding
    are the weaker Chernoff forms of the same event.
    .. math:: P(\mathrm{Bin}(n,p)\le k)\ge\delta
    Because: the yardstick: no bound that uses the same data needs to be worse
    Assumes:
    - independent examples from the distribution of interest, untouched until now
    """

    id = "binomial"
    paper, place = TOOLBOX, "exact tails"
    bounds, status = Quantity.RISK, Status.NONE
    monotone = "+errors -delta"
    proof = "docs/proofs/tails.md"

    errors: int = count("errors counted on the hold-out sample", low=0, example=35, aliases=("k",))
    n: int = count("size of the hold-out sample", example=4780, aliases=("m", "N"))
    delta: float = real("failure probability", high=1.0, example=0.05)

    def sound(self) -> Variants:
        if self.errors > self.n:
            raise InputError("errors", self.errors, f"at most n = {self.n}", "Errors are counted among the n examples")
        fresh = assumed("the n examples are independent and played no part in training or selection")
        return {
            "value": upper_bound(exact_upper(self.id, self.errors, self.n, self.delta), clip=1.0, hypotheses=(fresh,)),
            "kl": upper_bound(
                kl_inverse(self.errors / self.n, -math.log(self.delta) / self.n), clip=1.0, hypotheses=(fresh,)
            ),
            "hoeffding": upper_bound(
                self.errors / self.n + math.sqrt(-math.log(self.delta) / (2 * self.n)), clip=1.0, hypotheses=(fresh,)
            ),
        }
