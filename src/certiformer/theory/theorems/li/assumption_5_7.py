from certiformer.theory.core import Status, Variants, real
from certiformer.theory.theorems.li._linear import LowRankMaps


class Assumption57(LowRankMaps):
    r"""Assumed cover of linear maps of bounded rank.

    The same class as in Lemma B.6; the assumption holds only with C_1 of the order of d + k.

    Printed: log N <= C1 r log(r Bx^2 B^2/eps^2), C1 a constant (1/2 here)
    .. math:: \log N(\varepsilon)\le C_1r\log\frac{rB_x^2B_W^2}{\varepsilon^2}
    Quoted: \log N(\epsilon,\mathcal{H}_{\mathrm{rank}},\|\cdot\|_{2})\leq
    C_{1}r\log\left(\frac{rB_{x}^{2}B_{W}^{2}}{\epsilon^{2}}\right)
    Sound: spectral: at most min{(d+k) r log(1 + 4 Bx B/eps), dk log(1 + 2 Bx B/eps)}; volumetric: the latter.
    .. math:: \log N(\varepsilon)\le\min\Bigl\{(d+k)\,r\log\Bigl(1+\frac{4B_xB}{\varepsilon}\Bigr),\
       dk\log\Bigl(1+\frac{2B_xB}{\varepsilon}\Bigr)\Bigr\}
    Because: no constant C1 free of the dimensions: log N >= max(d, k) log(B/eps) already for r = 1
    Assumes:
    - rank and spectral norm bounded, fixed in advance
    Defects:
    - r = 1, d = k = 2: N >= 1/eps^2, the assumption (C1 = 1/2) allows 1/eps.
    - It moreover takes the union over all subspaces, which Lemma B.6 does not.
    - C1 is not specified; with C1 of the order of d + k it would be true.
    - Negative for large eps.
    """

    place, status = "Assumption 5.7", Status.FALSE

    C1: float = real("the constant of the assumption", example=0.5, symbol="C_1", default=0.5)

    def printed(self) -> Variants:
        return self.claim(self.C1, self.r)
