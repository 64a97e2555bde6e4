import math

from certiformer.theory.core import Quantity, Result, Status, Variants, choice, count, printed_value, real, upper_bound
from certiformer.theory.theorems.trauger import TRAUGER
from certiformer.theory.theorems.trauger.lemma_3_6 import Lemma36


class Section34(Result):
    r"""Norms of a matrix compared, and Lemma 3.6 in the norm of Lemma 3.3.

    W has d columns and k rows; ||W||_{p,1} is the sum of the p-norms of its columns, ||W||_{p,inf} the largest of them.
    Whoever knows only the largest may use Lemma 3.6 with d times as much, and pays d^2.

    Printed: ||W||_{p,1} <= d ||W||_{p,inf}; so Lemma 3.6 holds with d B in place of Bw: log N <= (d B Bx/eps)^2
    log(2dk + 1)
    .. math:: \|W\|_{p,1}\le d\,\|W\|_{p,\infty}
    Quoted: We know that for any matrix W, $||W||_{p,1} \leq d ||W||_{p,\infty}$.
    Sound: The same; the factor is attained when all columns have one norm. log N by the covers of Lemma 3.6 at d B if
    p = 1; for p = 2 at sqrt(k) d B, as a column of k entries has l1 norm at most sqrt(k) times its l2 norm.
    .. math:: \log N_\infty(\varepsilon)\le\log\binom{2dk+K}{K},\quad K=\lceil(B_xdB/\varepsilon-1)_+^2\rceil
    Because: a sum of d numbers is at most d times the largest
    Assumes:
    - every column of W has p-norm at most B, fixed in advance
    - every input has l2 norm at most Bx
    """

    paper, place = TRAUGER, "Section 3.4"
    bounds, status = Quantity.LOG_COVERING_NUMBER, Status.TRUE
    monotone = "+B +Bx -eps +d +k"

    p: str = choice("the norm of a column", ("1", "2"), default="1")
    B: float = real("bound on the largest p-norm of a column of W", example=0.5)
    Bx: float = real("bound on the l2 norm of the inputs", example=1.5, symbol="B_x")
    eps: float = real("cover radius", example=0.5, symbol="ε")
    d: int = count("columns of W: dimension of the inputs", example=4)
    k: int = count("rows of W: dimension of the outputs", example=4)

    @property
    def entrywise(self) -> float:
        """A bound on the sum of all entries of W in absolute value."""
        return self.d * self.B * (1.0 if self.p == "1" else math.sqrt(self.k))

    def printed(self) -> Variants:
        size = (self.d * self.B * self.Bx / self.eps) ** 2 * math.log(2 * self.d * self.k + 1)
        return {
            "norm": printed_value(self.d * self.B, bounds=Quantity.CONSTANT, note="||W||_{p,1}"),
            **({"value": printed_value(size, note="Lemma 3.6 with d B in place of Bw")} if self.p == "1" else {}),
        }

    def sound(self) -> Variants:
        maps = Lemma36(Bw=self.entrywise, Bx=self.Bx, eps=self.eps, d=self.d, k=self.k)
        return {
            "norm": upper_bound(self.d * self.B, bounds=Quantity.CONSTANT, note="||W||_{p,1}"),
            **maps.sound(),
        }
