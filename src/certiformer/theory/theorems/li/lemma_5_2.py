from certiformer.theory.core import Status, Variants, real, verified
from certiformer.theory.theorems.li._linear import EntrywiseMaps


class Lemma52(EntrywiseMaps):
    r"""Cover of linear maps, entrywise l1 norm, with a constant.

    The same class as in Lemma B.3. C_1 = log(2dk+1) depends on the dimensions; no universal constant will do.

    Printed: log N <= C1 Bx^2 B^2/eps^2, C1 universal
    .. math:: \log N(\varepsilon)\le C_1B_x^2B_W^2/\varepsilon^2
    Sound: As Lemma B.3: C1 = log(2dk+1) is enough; sharper: maurey, maurey_shrunk, volumetric, best.
    .. math:: \log N(\varepsilon)\le\frac{B_x^2B_W^2}{\varepsilon^2}\log(2dk+1)
    Because: C1 is log(2dk+1), not universal
    Assumes:
    - ||W||_{1,1} <= B, fixed in advance
    - every input the matrix sees has l2 norm at most Bx
    Defects:
    - C1 depends on the dimensions: at eps = 0.7 the l1 ball needs at least 2d points in R^d (its vertices), so no
      universal C1.
    - Applied to {||w||_2 <= B_w}, which it does not cover: eps = 1/2, d = 50: log N >= 34.7, the lemma's form 18.5.
    - Assumption 5.1 bounds only the CLS token; the lemma is applied to all tokens.
    """

    place, status = "Lemma 5.2", Status.CONSTANT

    C1: float | None = real("the paper's constant", example=3, symbol="C_1", default=None, otherwise="log(2dk+1)")

    def printed(self) -> Variants:
        constant = self.logarithm if self.C1 is None else self.C1
        return self.claim(constant, verified("C1 >= log(2dk + 1)", constant >= self.logarithm, constant))
