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
from certiformer.theory.theorems.trauger import TRAUGER


class AppendixA(Result):
    r"""From vectors to matrices, row by row.

    If {x -> w^T x} has log covering number C at radius eps on the given inputs, then the maps x -> Wx with k rows of
    that kind have, in the l_q norm of the output, k coordinates, each off by at most eps:

    .. math:: \log N_\infty(k^{1/q}\varepsilon) \le k\,C .

    Printed: log N(k^(1/q) eps, l_q) <= k C, C the log covering number of the rows at radius eps
    .. math:: \log N_\infty(F,k^{1/q}\varepsilon,N,\|\cdot\|_q)\le k\,C
    Sound: The same: value k C, at the radius scale = k^(1/q) eps.
    .. math:: \log N_\infty(F,k^{1/q}\varepsilon,N,\|\cdot\|_q)\le k\,C
    Because: immediate
    Assumes:
    - every row satisfies the norm bound of the cover of vectors
    Defects:
    - A power of a signed number is printed without absolute value.
    - C must be taken at the radius eps, with norm bounds on the rows.
    """

    paper, place = TRAUGER, "Appendix A"
    bounds, status = Quantity.LOG_COVERING_NUMBER, Status.TRUE
    monotone = "+k +C"

    k: int = count("number of rows, the output dimension", example=3)
    q: float = real("norm of the output, l_q", low=1, low_open=False, example=2)
    eps: float = real("radius of the cover of the rows", example=0.1, symbol="ε")
    C: float = real("log covering number of the rows at that radius, on the same inputs", low_open=False, example=5)

    def printed(self) -> Variants:
        return {
            "value": printed_value(self.k * self.C),
            "scale": side_number(self.k ** (1 / self.q) * self.eps, "radius of the cover of matrices"),
        }

    def sound(self) -> Variants:
        return {
            "value": upper_bound(self.k * self.C),
            "scale": upper_bound(
                self.k ** (1 / self.q) * self.eps, bounds=Quantity.COVER_RADIUS, note="radius of the cover of matrices"
            ),
        }
