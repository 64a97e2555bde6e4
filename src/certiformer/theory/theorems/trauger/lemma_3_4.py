import math

from certiformer.theory.calculus.covers import columns_two_one
from certiformer.theory.core import Status, Variants, real, upper_bound
from certiformer.theory.theorems.trauger._linear_maps import TwoOneMaps


class Lemma34(TwoOneMaps):
    r"""Cover of linear maps, (2,1) norm, l1 inputs.

    Printed: log N <~ (Bw Bx / eps)^2 log(dk) for ||W||_{2,1} <= Bw (columns)
    .. math:: \log N_\infty(\varepsilon) \lesssim \frac{B_w^2 B_x^2}{\varepsilon^2} \log(dk)
    Quoted: \log \mathcal{N}_{\infty}\left(\mathcal{F}, \epsilon, N, \left\|\cdot\right\|_{2}\right) \lesssim
    \frac{B_{w}^{2} B_{x}^{2}}{\epsilon^{2}} \log(dk)
    Sound: For the row norm ||W^T||_{2,1} <= Bw: external (Bw Bx/eps)^2 min_h [ln(k+1) + h ln 2 + (1+1/h) ln(2d+1)],
    proper 4 times that; rows or columns: frobenius (Bw Bx/eps)^2 kappa(k,d), volume kd ln(1 + 2 Bw Bx/eps);
    columns: floor(r) (ln(d+1) + k ln(1+2r)), r = Bw Bx/eps. All 0 from eps = Bw Bx on.
    .. math:: \log N_\infty(\varepsilon)\le\Bigl(\frac{B_wB_x}{\varepsilon}\Bigr)^2\min_h\Bigl[\ln(k+1)+h\ln2
       +\bigl(1+\tfrac{1}{h}\bigr)\ln(2d+1)\Bigr],\quad\|W^\top\|_{2,1}\le B_w
    Because: false for column norms: the l2 ball of R^k needs k ln 2 at eps = 1/2, not log k; row norms are right
    Assumes:
    - every input has l1 norm at most Bx
    - the norm bound is fixed in advance
    Defects:
    - With the paper's column convention W = w e_1^T and x = Bx e_1 give the whole l2 ball of R^k: log N is at least
      k ln(Bw Bx/eps), the printed value at eps = Bw Bx/2 is 4 log(dk).
    - Logarithms other than those of T, k, d are hidden, and dk = 1 gives 0.
    - The cover behind the lemma is not a subset of the class, though the definition asks for that.
    """

    place, status = "Lemma 3.4", Status.FALSE

    Bx: float = real("bound on the l1 norm of the inputs", example=1.5, symbol="B_x")

    def printed(self) -> Variants:
        return self.claim(math.log(self.d * self.k))

    def sound(self) -> Variants:
        variants = self.by_rows(self.d, domain=True)
        if not self.columns:
            # A sum of row norms at most Bw says nothing about the sum of column norms beyond the Frobenius norm.
            return variants
        cover = columns_two_one(self.Bw, self.k, self.d).scaled(self.Bx)
        return {**variants, "columns": upper_bound(cover.log_size(self.eps))}
