from certiformer.theory.core import Status, Variants
from certiformer.theory.theorems.li._linear import LowRankMaps


class LemmaB6(LowRankMaps):
    r"""Cover of linear maps of bounded rank.

    Spectral norm, rank at most r, W of size d x k.

    Printed: log N <= (r/2) log(4 Bx^2 B^2 r/eps^2)
    .. math:: \log N_\infty(\varepsilon)\le\frac r2\log\frac{4B_x^2B_W^2r}{\varepsilon^2}
    Quoted: \leq\frac{r}{2}\log\left(\frac{4B_{x}^{2}B_{W}^{2}r}{\epsilon^{2}}\right)
    Sound: spectral: at most min{(d+k) r log(1 + 4 Bx B/eps), dk log(1 + 2 Bx B/eps)}, 0 from eps = Bx B on; volumetric:
    the latter.
    .. math:: \log N \le \min\{(d+k)\,r\log(1+4B_xB_W/\varepsilon),\; dk\log(1+2B_xB_W/\varepsilon)\}
    Because: r = 1, d = k = 2: {e_1 a^T} is a disc, N >= 1/eps^2 = 100 at eps = 0.1, the lemma allows 20
    Assumes:
    - rank and spectral norm bounded, fixed in advance
    Defects:
    - Ill typed: col(W) lies in R^d, the subspace in R^k.
    - For a fixed subspace the class still has r k (or r d) degrees of freedom; the formula is that of an
      r-dimensional vector.
    - The proof uses ||W||_{2->2} <= ||W||_{2,inf}, false for the 2 x 2 matrix of ones.
    - Any bound must be at least max(d, k) log(B/eps): the factor d + k cannot be removed.
    - Negative for large eps.
    """

    place, status = "Lemma B.6", Status.FALSE

    def printed(self) -> Variants:
        return self.claim(0.5, 4.0 * self.r)
