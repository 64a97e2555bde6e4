import math

from certiformer.theory.core import Quantity, Result, Status, Variants, count, printed_value, real, upper_bound
from certiformer.theory.theorems.li import LI


class Remark54(Result):
    r"""Sequence length in the norm-based bounds.

    How the prefactor 4 kappa (B + H K ||X||)/n of Theorems B.1 and B.2 grows with the number T of tokens, K = L_sigma
    Bw Bc Bv: the spectral norm of T tokens of norm Bx lies between Bx and sqrt(T) Bx, and is the latter when all tokens
    are equal. Theorem 5.3, the theorem of the main text, has B_w in its place: no T at all.

    Printed: the norm-based bounds do not depend on T
    .. math:: \frac{\mathrm{bound}(T)}{\mathrm{bound}(1)}=1
    Quoted: Our norm-based bounds depend explicitly on the parameter norms rather than the sequence length
    Sound: ||X||_{2->2} <= sqrt(T) Bx, attained; the prefactor of B.1 and B.2 grows by at most (B + H K sqrt(T) Bx)/(B +
    H K Bx). With the largest token norm in place of ||X||, as in all sound forms here, it does not grow.
    .. math:: \|X\|_{2\to2}\le\sqrt T\,B_x,\qquad\frac{B+HK\sqrt TB_x}{B+HKB_x}
    Because: true of the formula of Theorem 5.3 (which is refuted for another reason); B_X of Theorems B.1 and B.2 grows
    like sqrt(T) when tokens are alike
    Assumes:
    - every token has norm at most Bx
    Defects:
    - No bound of Trauger and Tewari is compared with; the improvement is asserted.
    """

    paper, place, proof = LI, "Remark 5.4", "docs/proofs/li-covers.md"
    bounds, status = Quantity.CONSTANT, Status.TRUE
    monotone = "+T"

    T: int = count("sequence length", example=64)
    Bx: float = real("bound on the l2 norm of every token", symbol="B_x")
    B: float = real("bound on the Bayes predictor |f0(X)|")
    Bw: float = real("bound on ||w||_2, the readout", symbol="B_w")
    Bc: float = real("bound on the norm of W_c", example=1.2, symbol="B_c")
    Bv: float = real("bound on the norm of W_v", example=0.9, symbol="B_v")
    L_sigma: float = real("Lipschitz constant of the activation, sigma(0) = 0", symbol="L_σ")
    H: int = count("number of heads", example=1)

    def printed(self) -> Variants:
        return {"growth": printed_value(1.0, note="of Theorem 5.3 with T")}

    def sound(self) -> Variants:
        reach = self.H * self.L_sigma * self.Bw * self.Bc * self.Bv * self.Bx
        root = math.sqrt(self.T)
        return {
            "BX": upper_bound(root * self.Bx, note="||X||_{2->2} of T tokens"),
            "growth": upper_bound((self.B + root * reach) / (self.B + reach), note="of the prefactor of B.1 and B.2"),
        }
