import math

from certiformer.theory.core import Bound, Quantity, Result, Status, Variants, printed_value, side_number, upper_bound
from certiformer.theory.core.hypothesis import Hypothesis, verified
from certiformer.theory.core.inputs import count, real
from certiformer.theory.core.rounding import up
from certiformer.theory.theorems.trauger import TRAUGER


def _possible(gamma: float, b: float, f: float) -> Hypothesis:
    return verified("||f|| <= gamma b", f <= up(gamma * b), f)


class Lemma31(Result):
    r"""Maurey's sparsification.

    f = sum_i alpha_i V_i in a Hilbert space, ||V_i|| <= b, alpha_i >= 0, gamma = ||alpha||_1 <= 1; there are counts k_i
    >= 0 with sum k_i <= k whose average is close. Atoms are drawn with probabilities alpha_i, and nothing with
    probability 1 - gamma. With gamma^2 the average would have to carry the weight gamma/k.

    Printed: ||f - (1/k) sum k_i V_i||^2 <= (gamma^2 b^2 - ||f||^2)/k, at most d^k choices of (k_i)
    .. math:: \Bigl\|f-\tfrac1k\sum_i k_iV_i\Bigr\|^2\le\frac{\gamma^2b^2-\|f\|^2}{k}
    Quoted: \left\| f - \frac{1}{k} \sum_{i=1}^{d} k_i V_i \right\|_2^2 \le \frac{\gamma^2 b^2 - \|f\|^2}{k}
    Sound: ||f - (1/k) sum k_i V_i||^2 <= (gamma b^2 - ||f||^2)/k; C(d+k, k) <= (d+1)^k choices of (k_i)
    .. math:: \Bigl\|f-\tfrac{1}{k}\sum_ik_iV_i\Bigr\|^2\le\frac{\gamma
       b^2-\|f\|^2}{k},\qquad\binom{d+k}{k}\le(d+1)^k\text{ choices}
    Because: gamma^2 b^2 must be gamma b^2, and the count d^k must be C(d+k, k)
    Assumes:
    - the weights are non-negative; signed combinations take 2d atoms
    Defects:
    - d = 1, V = 1, gamma = 1/2, k = 1: the left side is 1/4 for every choice, the right side 0. The weights 1/k
      need gamma b^2; gamma^2 b^2 belongs to the weights gamma/k with sum k_i = k.
    - The number of (k_i) with sum at most k is C(d+k, k), which exceeds d^k (d = 2, k = 1: 3 > 2).
    """

    paper, place = TRAUGER, "Lemma 3.1"
    bounds, status = Quantity.APPROXIMATION_ERROR, Status.FALSE
    monotone = "+gamma +b -f -k"

    gamma: float = real("sum of the weights, at most 1", high=1, high_open=False, example=0.8, symbol="γ")
    b: float = real("bound on the norms of the atoms", example=2)
    f: float = real("norm of the combination", low_open=False, symbol="||f||")
    k: int = count("number of draws", example=4)
    d: int | None = count("number of atoms, to count the averages", example=3, default=None, otherwise="not counted")

    def printed(self) -> Variants:
        variants = {
            "value": printed_value(
                (self.gamma * self.gamma * self.b * self.b - self.f * self.f) / self.k,
                hypotheses=(_possible(self.gamma, self.b, self.f),),
            )
        }
        if self.d is not None:
            variants["log_count"] = side_number(self.k * math.log(self.d), "ln(d^k)")
        return variants

    def sound(self) -> Variants:
        possible = _possible(self.gamma, self.b, self.f)
        variants: dict[str, Bound] = {
            "value": upper_bound((self.gamma * self.b * self.b - self.f * self.f) / self.k, hypotheses=(possible,))
        }
        if self.d is not None:
            # ln C(d+k, k) = sum_i ln(1 + large/i), i up to the smaller of the two.
            small, large = min(self.d, self.k), max(self.d, self.k)
            # mutants: search-effort
            choices = math.fsum(math.log1p(large / i) for i in range(1, small + 1)) if small <= 100_000 else math.inf
            choices = min(choices, self.k * math.log(self.d + 1))
            variants["log_count"] = upper_bound(choices, bounds=Quantity.UNION_COST, note="ln of the number of (k_i)")
        return variants
