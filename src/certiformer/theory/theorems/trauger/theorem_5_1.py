import math

from certiformer.theory.calculus import rademacher
from certiformer.theory.core import Bound, Quantity, Result, Status, Variants, count, printed_value, real, upper_bound
from certiformer.theory.theorems.trauger import TRAUGER


class Theorem51(Result):
    r"""Masked-word prediction.

    Printed: Rad(loss o F) <= O~(sqrt(K)) max_s Rad(F_s), F_s the s-th logit, then Theorem 4.1 or 4.2
    .. math:: \mathrm{Rad}(\ell\circ F)\le\tilde O(\sqrt K)\max_s\mathrm{Rad}(F_s)
    Sound: Rad(loss o F) <= 2 K max_s Rad(F_s) (Maurer); clipped at M: also at most M/2.
    .. math:: \mathrm{Rad}(\ell\circ F)\le2K\max_s\mathrm{Rad}(F_s)
    Because: the constant and the powers of logarithms in O~ are not given
    Assumes:
    - one masked position per sample
    - rows of the vocabulary matrix satisfy the readout's norm bound: l1 for Theorem 4.1, l2 for Theorem 4.2
    Defects:
    - The cited contraction needs worst-case complexities and a bounded range, and hides log^{3/2} factors and a
      constant; the printed number bounds nothing.
    - The factor 1/n is missing, and one index is used for two things in the loss.
    - Cross-entropy is unbounded, so a gap needs a clipped loss.
    """

    paper, place = TRAUGER, "Theorem 5.1"
    bounds, status = Quantity.RADEMACHER_COMPLEXITY, Status.CONSTANT
    monotone = "+K +rad +M"

    K: int = count("vocabulary size", low=2, example=2)
    rad: float = real("bound on the complexity of every logit", low_open=False, example=0.05)
    M: float | None = real("level at which cross-entropy is clipped", example=10, default=None, otherwise="not clipped")

    def printed(self) -> Variants:
        note = "an order of growth: constants and powers of logarithms are unknown"
        return {
            "value": printed_value(math.sqrt(self.K) * self.rad, note=note),
            "with_lipschitz": printed_value(2 * math.sqrt(self.K) * self.rad, note=note),
        }

    def sound(self) -> Variants:
        total = self.K * rademacher.maurer((self.rad,), math.sqrt(2.0))
        variants: dict[str, Bound] = {"maurer": upper_bound(total)}
        if self.M is not None:
            variants["clipped"] = upper_bound(rademacher.of_loss(total, 1.0, self.M), clip=self.M / 2.0)
        return variants
