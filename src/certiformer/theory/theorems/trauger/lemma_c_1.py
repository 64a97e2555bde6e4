import math

from certiformer.theory.calculus.softmax import l1_change
from certiformer.theory.core import InputError, Quantity, Result, Status, Variants, printed_value, reals, upper_bound
from certiformer.theory.theorems.trauger import TRAUGER


def _difference(a: tuple[float, ...], b: tuple[float, ...]) -> list[float]:
    if len(a) != len(b):
        raise InputError("b", b, f"as many scores as a, {len(a)}")
    return [x - y for x, y in zip(a, b, strict=True)]


class LemmaC1(Result):
    r"""Softmax is Lipschitz.

    Two softmax vectors, in the l1 norm; exact by T1 in docs/proofs/covers.md.

    Printed: ||softmax(a) - softmax(b)||_1 <= 2 ||a - b||_inf
    .. math:: \|\mathrm{softmax}(\theta_1)-\mathrm{softmax}(\theta_2)\|_1\le2\|\theta_1-\theta_2\|_\infty
    Sound: linf: ||a - b||_inf; tanh: 2 tanh(osc/4), osc = max(a-b) - min(a-b), attained; never above 2.
    .. math:: \|\mathrm{softmax}(a)-\mathrm{softmax}(b)\|_1 \le 2\tanh(\mathrm{osc}(a-b)/4) \le \|a-b\|_\infty,
       \quad \mathrm{osc}=\max-\min .
    Because: true; the constant 2 can be 1
    Defects:
    - Loose by exactly a factor of two: the constant 1 is exact.
    """

    paper, place = TRAUGER, "Lemma C.1"
    bounds, status = Quantity.OUTPUT_CHANGE, Status.TRUE
    proof = "docs/proofs/covers.md"

    a: tuple[float, ...] = reals("scores", low=-math.inf, example=(1.0, 0.0, -1.0))
    b: tuple[float, ...] = reals("scores", low=-math.inf, example=(0.2, 0.5, -0.3))

    def printed(self) -> Variants:
        return {"value": printed_value(2 * max(map(abs, _difference(self.a, self.b))))}

    def sound(self) -> Variants:
        difference = _difference(self.a, self.b)
        return {
            "linf": upper_bound(max(map(abs, difference)), clip=2.0),
            "tanh": upper_bound(l1_change(max(difference) - min(difference)), clip=2.0),
        }
