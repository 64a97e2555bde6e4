import math

from certiformer.theory.calculus.tails import at_least_log_binomial_cdf, binomial_upper
from certiformer.theory.core import (
    InputError,
    Quantity,
    Result,
    Status,
    Variants,
    printed_value,
    side_number,
    upper_bound,
)
from certiformer.theory.core.hypothesis import verified
from certiformer.theory.core.inputs import count, real
from certiformer.theory.theorems.mwigo import MWIGO

_CEILING = math.exp(-1.0)


_SMALLEST_LN = -740.0  # below it a probability would round down to zero


class Assumption3(Result):
    r"""Inner products of inputs are rarely large.

    Printed: P(|<X_n^T X_n, X_n'^T X_n'>| >= t) <= exp(-t^c) for some c > 0; X of full row rank, ||X||_F <= sqrt(ds)
    RX
    .. math:: P(|\langle X_n^\top X_n,X_{n'}^\top X_{n'}\rangle|\ge t)\le\exp(-t^{\hat c})
    Sound: If it holds, P(at least `large` of `pairs` independent pairs have inner product >= 1) <= P(Bin(pairs,
    1/e) >= large); below delta the assumption is refuted for every exponent.
    .. math:: P\bigl(\text{at least }k\text{ of }m\text{ pairs have inner product}\ge1\bigr)\le
       P\bigl(\mathrm{Bin}(m,\tfrac{1}{e})\ge k\bigr)
    Because: an assumption, which data can refute; no sound result here uses it
    Assumes:
    - the pairs are independent: disjoint pairs of an i.i.d. sample
    Defects:
    - Unscaled non-negative data (images) have large inner products nearly always, so the assumption fails for them.
    - Full row rank needs d_s <= d and fails for blank tokens.
    """

    paper, place = MWIGO, "Assumption 3"
    bounds, status = Quantity.TAIL_PROBABILITY, Status.UNPROVEN
    monotone = "-large"

    pairs: int = count("number of independent (disjoint) pairs of inputs examined", example=100)
    large: int = count("how many of them have ||X_n X_n'^T||_F^2 >= 1", low=0, example=40)
    delta: float = real("level of the test", high=1, example=0.05, symbol="δ", default=0.05)

    def printed(self) -> Variants:
        return {"value": printed_value(_CEILING, note="P(inner product >= 1) is at most 1/e for every exponent")}

    def sound(self) -> Variants:
        if self.large > self.pairs:
            raise InputError("large", self.large, f"at most the number of pairs, {self.pairs}")
        # P(Bin(pairs, 1/e) >= large) = P(Bin(pairs, 1 - 1/e) <= pairs - large); widened by its rounding error.
        slack = 4e-16 * math.lgamma(self.pairs + 1.0) + 1e-13  # mutants: rounding-margins
        # mutants: rounding-margins
        ln = at_least_log_binomial_cdf(self.pairs - self.large, self.pairs, 1.0 - _CEILING) + slack
        compatible = verified(
            "the data do not refute the assumption at level delta", ln >= math.log(self.delta), math.exp(ln)
        )
        # mutants: rounding-margins
        lowest = 1.0 - binomial_upper(self.pairs - self.large, self.pairs, math.log(self.delta))
        return {
            "value": upper_bound(math.exp(max(ln, _SMALLEST_LN)), ln=ln, clip=1.0),  # mutants: rounding-margins
            "at_least": side_number(lowest, "lower confidence limit for P(inner product >= 1), to compare with 1/e"),
            "not_refuted": side_number(float(compatible.state == "verified"), "1 unless refuted at level delta"),
        }
