from __future__ import annotations

import math

from certiformer.theory.calculus.covers import columns_one_inf
from certiformer.theory.core import Quantity, Status, Variants, real
from certiformer.theory.theorems._networks import networks
from certiformer.theory.theorems.trauger._multi_layer import (
    SizedTransformer,
    l1_input_variants,
    printed_variants,
    shape,
    spectral_bound,
)


class CorollaryF01(SizedTransformer):
    r"""Deep Transformer, (1, inf) norms.

    Printed: Theorem 4.2 with C1 = d B^2 ln(2k+1), CBx = Bx^2 C1, B the largest norm of Lemma 3.3
    .. math:: \log N(\varepsilon)=(\gamma+\eta)^3/\varepsilon^2,\quad C_1=dB^2\ln(2k+1),\ C_{B_x}=B_x^2C_1
    Quoted: \gamma &= (dB^2 B_x^2 \ln(2k+1))^{1/3} \left( 2L_{\sigma} B_{c2} B_{v2} \alpha_1 B_w \right)^{2/3} +
    (dB^2 \ln(2k+1))^{1/3} \left( 1 + (B_w L_{\sigma} B_{v2})^{2/3} \right)
    Sound: Theorem 4.2 (sound, external) with C_c = k^2 B^2 ln(2d+1), C_v = d^2 B^2 ln(2k+1), C_QK = d^2 B^2
    ln(2d+1), C_w = d^2 B^2 ln 3; B bounds ||W_c^T||_{1,inf}, ||W_v^T||_{1,inf}, ||W_QK^T||_{1,inf}, ||w||_inf.
    .. math:: \log N(\varepsilon)\le\frac{(\gamma+\eta)^3}{\varepsilon^2},\quad C_c=k^2B^2\ln(2d+1),\
       C_v=d^2B^2\ln(2k+1),\ C_{QK}=d^2B^2\ln(2d+1),\ C_w=d^2B^2\ln 3
    Because: l1 inputs are not available after an l2 projection; a network with d = 601 shatters 90000 points
    Defects:
    - Lemma 3.3 needs inputs of l1 norm at most 1 at every layer; a projection onto the l2 ball gives sqrt(d).
    - One pair of dimensions serves all matrices: W_c^T is d x k, W_v^T is k x d, W_QK^T is d x d, w^T is 1 x d.
    - No orientation is stated; the opposite of Theorem 4.1's is needed.
    """

    place = "Corollary F.0.1"
    bounds, status = Quantity.LOG_COVERING_NUMBER, Status.FALSE

    B: float = real("bound on ||W_c^T||, ||W_v^T||, ||W_QK^T|| in the (1,inf) norm and on ||w||_inf", example=2)

    def printed(self) -> Variants:
        constant = self.d * self.B * self.B * math.log(2 * self.k + 1)
        return printed_variants(self, constant, self.Bx * self.Bx * constant, self.eps)

    def sound(self) -> Variants:
        return l1_input_variants(
            self,
            lambda outputs, inputs: columns_one_inf(self.B, outputs, inputs).constant,
            lambda kind: networks.Weight(kind, shape(self, kind), one_inf=self.B, spectral=spectral_bound(self, kind)),
        )
