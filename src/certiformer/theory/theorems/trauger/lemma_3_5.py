import math

from certiformer.theory.core import Status, Variants, count, real
from certiformer.theory.theorems.trauger._linear_maps import LinearMaps, TwoOneMaps


class Lemma35(TwoOneMaps):
    r"""Cover of linear maps, (2,1) norm, n inputs.

    Printed: log N <~ (Bw Bx / eps)^2 log(dn) for ||W||_{2,1} <= Bw (columns), n inputs of l2 norm at most Bx
    .. math:: \log N_\infty(\varepsilon) \lesssim \frac{B_w^2 B_x^2}{\varepsilon^2} \log(dn)
    Quoted: \log \mathcal{N}_{\infty}\left(\mathcal{F}, \epsilon, \{x_i\}_{i=1}^n, \|\cdot\|_2\right) \lesssim
    \frac{B_w^2 B_x^2}{\epsilon^2} \log(dn)
    Sound: For the row norm ||W^T||_{2,1} <= Bw: external (Bw Bx/eps)^2 min_h [ln(k+1) + h ln 2 + (1+1/h) ln(2n+1)],
    proper 4 times that; rows or columns, any number of inputs: frobenius (Bw Bx/eps)^2 kappa(k,d), volume kd ln(1 +
    2 Bw Bx/eps). All 0 from eps = Bw Bx on.
    .. math:: \log N_\infty(\varepsilon)\le\Bigl(\frac{B_wB_x}{\varepsilon}\Bigr)^2\min_h\Bigl[\ln(k+1)+h\ln2
       +\bigl(1+\tfrac{1}{h}\bigr)\ln(2n+1)\Bigr],\quad\|W^\top\|_{2,1}\le B_w
    Because: transposed norm: for columns the l2 ball of R^k needs k ln 2 at eps = 1/2, whatever d and n
    Assumes:
    - n inputs of l2 norm at most Bx, fixed before the cover is built
    Defects:
    - As transcribed the norm is the sum of column norms; then d = 2, n = 1 gives 4 ln 2 at eps = Bw Bx/2 for every
      k, while the class contains an l2 ball of R^k.
    - The inputs are bounded in l2 here and in l1 in the lemma it is said to share its setting with.
    - Constants and further logarithms are hidden.
    """

    place, status = "Lemma 3.5", Status.FALSE
    monotone = f"{LinearMaps.monotone} +n"

    Bx: float = real("bound on the l2 norm of the inputs", example=1.5, symbol="B_x")
    n: int = count("number of inputs that can occur (samples times tokens)", example=1000, aliases=("m", "N"))

    def printed(self) -> Variants:
        return self.claim(math.log(self.d * self.n))

    def sound(self) -> Variants:
        return self.by_rows(self.n, domain=False)
