from certiformer.theory.core import (
    Quantity,
    Result,
    Status,
    Variants,
    count,
    printed_value,
    real,
    upper_bound,
)
from certiformer.theory.theorems.arda import ARDA
from certiformer.theory.theorems.arda._heads import in_pairs
from certiformer.theory.theorems.arda._setting import SYMMETRIC
from certiformer.theory.theorems.arda.fact_4 import TINY, exact_tail, union_tail


class Definition1(Result):
    r"""The event that the initial head vectors are short.

    .. math:: E_R = \{\max_i\|u_i(0)\|\le\sqrt d+R\}

    Printed: P(max_i ||u_i(0)|| > sqrt(d) + R) <= (m/2) e^{-R^2/2}
    .. math:: P(E_R^c)\le\tfrac m2e^{-R^2/2}
    Sound: The same; exact: 1 - (1 - Q(d/2, (sqrt(d) + R)^2/2))^{m/2}.
    .. math:: P(E_R^c)\le 1-\Bigl(1-Q\bigl(\tfrac{d}{2},\tfrac{1}{2}(\sqrt
       d+R)^2\bigr)\Bigr)^{m/2}\le\tfrac{m}{2}e^{-R^2/2}
    Because: the formula is lost in our copy: event with confidence high, m/2 (not m) copies with confidence medium
    Assumes:
    - symmetric initialisation with u_i ~ N(0, I_d)
    Defects:
    - If the paper counts m copies, it is needlessly weak: paired heads share one draw.
    """

    paper, place = ARDA, "Definition 1"
    bounds, status = Quantity.TAIL_PROBABILITY, Status.RECONSTRUCTED
    monotone = "-R"

    m: int = count("width: the number of heads, even", low=2, example=1_000_000)
    d: int = count("dimension of a token", example=8)
    R: float = real("excess of the norms over sqrt(d)", example=6)

    def printed(self) -> Variants:
        return {
            "value": printed_value(
                union_tail(self.R, self.m / 2), note="reconstructed; m/2 rather than m with confidence medium"
            )
        }

    def sound(self) -> Variants:
        hypotheses = (in_pairs(self.m), SYMMETRIC)
        return {
            "value": upper_bound(max(TINY, union_tail(self.R, self.m / 2)), clip=1.0, hypotheses=hypotheses),
            "exact": upper_bound(max(TINY, exact_tail(self.d, self.R, self.m / 2)), clip=1.0, hypotheses=hypotheses),
        }
