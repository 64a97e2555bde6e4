from certiformer.theory.core import Quantity, Result, Status, Variants, count, printed_value, upper_bound
from certiformer.theory.theorems.li import LI


class Remark59(Result):
    r"""What low ranks save.

    The number that stands in front of log(1/delta) in a log covering number: degrees of freedom of the class, which is
    what the excess risk of least squares is proportional to.

    Printed: the excess risk is controlled by the sum of the ranks of all layers, r_w + L (r_c + r_v + r_QK)
    .. math:: r_w+\sum_{l=1}^L(r_c+r_v+r_{QK})
    Quoted: This result demonstrates that the excess risk is controlled by the sum of ranks across layers
    Sound: A d x k matrix of rank r has min(r, d, k) (d + k - r) degrees of freedom, so the class has at most D = d + L
    [(d + k - rc) rc + (d + k - rv) rv + (2d - rqk) rqk] of them, and at least those of one matrix.
    .. math:: D=d+L\bigl[(d+k-r_c)r_c+(d+k-r_v)r_v+(2d-r_{QK})r_{QK}\bigr]
    Because: the sum of the ranks is right up to a factor of the dimension, d + k: rank one in d dimensions already
    contains d-dimensional regression, with excess sigma^2 d/n
    Assumes:
    - no weights but those of eq. (5); ranks above the smaller side of a matrix count as that side
    Defects:
    - Counterexample: one layer, all ranks 1: the sum of the ranks is 4 for every d, the excess risk of Theorem 5.8's
      example grows like d.
    """

    paper, place, proof = LI, "Remark 5.9", "docs/proofs/li-covers.md"
    bounds, status = Quantity.CONSTANT, Status.CONSTANT
    monotone = "+d +k +layers +rc +rv +rqk"

    d: int = count("token dimension", example=4)
    k: int = count("width of the value matrix", example=3)
    layers: int = count("depth", example=2, symbol="L")
    rc: int = count("bound on the rank of W_c", example=2, symbol="r_c")
    rv: int = count("bound on the rank of W_v", example=2, symbol="r_v")
    rqk: int = count("bound on the rank of W_QK", example=1, symbol="r_QK")

    def printed(self) -> Variants:
        total = 1 + self.layers * (self.rc + self.rv + self.rqk)
        return {"sum_of_ranks": printed_value(float(total), note="constants and logarithms left out")}

    def sound(self) -> Variants:
        value = freedom(self.d, self.k, self.rc) + freedom(self.d, self.k, self.rv) + freedom(self.d, self.d, self.rqk)
        return {"degrees_of_freedom": upper_bound(float(self.d + self.layers * value))}


def freedom(rows: int, columns: int, rank: int) -> int:
    """The dimension of the set of matrices of at most this rank."""
    full = min(rank, rows, columns)
    return full * (rows + columns - full)
