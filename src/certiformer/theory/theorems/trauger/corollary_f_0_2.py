from __future__ import annotations

import math

from certiformer.theory.calculus.covers import rows_two_one_factor
from certiformer.theory.core import Quantity, Status, Variants, printed_value, real, verified
from certiformer.theory.theorems._networks import networks
from certiformer.theory.theorems.trauger._multi_layer import (
    SizedTransformer,
    l1_input_variants,
    printed_variants,
    shape,
    spectral_bound,
)


class CorollaryF02(SizedTransformer):
    r"""Deep Transformer, (2,1) norms.

    The matrices act as x -> W^T x, so sums of **row** norms of what acts are ||W_c||_{2,1}, ||W_v||_{2,1},
    ||W_QK||_{2,1} and ||w||_2: the cover T5 (docs/proofs/covers.md), which is external, on the scaled basis, times the
    input dimension because the projections bound l2 norms only.

    Printed: Theorem 4.2 with C1 = B^2 ln(dk), CBx = Bx^2 C1, B the largest norm of Lemma 3.4
    .. math:: \log N(\varepsilon)=(\gamma+\eta)^3/\varepsilon^2,\quad C_1=B^2\ln(dk),\ C_{B_x}=B_x^2C_1
    Quoted: \gamma &= \left(B^2 B_x^2 \ln(dk)\right)^{1/3} \left(2L_{\sigma} B_{c2} B_{v2} \alpha_1 B_w\right)^{2/3}
    + \left(B^2 \ln(dk)\right)^{1/3} \left(1 + (B_w L_{\sigma} B_{v2})^{2/3}\right)
    Sound: Theorem 4.2 (sound, external) with C_c = k B^2 t(d,k), C_v = d B^2 t(k,d), C_QK = d B^2 t(d,d), C_w = d
    B^2 t(1,d), t(k,n) = min_h [ln(k+1) + h ln 2 + (1+1/h) ln(2n+1)]; B bounds ||W_c||_{2,1}, ||W_v||_{2,1},
    ||W_QK||_{2,1} (columns of the stored matrices) and ||w||_2.
    .. math:: C_c=kB^2\,t(d,k),\quad C_v=dB^2\,t(k,d),\quad C_{QK}=dB^2\,t(d,d),\quad C_w=dB^2\,t(1,d),
    Because: rests on the false Lemma 3.4 and on l1 inputs that a projection does not give; shattering at d = 1000
    Defects:
    - Lemma 3.4 needs inputs of l1 norm at most 1 at every layer; a projection onto the l2 ball gives sqrt(d).
    - Read with the norms of the transposes it is Lemma 3.4 as printed, which is false.
    - One pair of dimensions serves all matrices, and dk = 1 gives 0.
    """

    place = "Corollary F.0.2"
    bounds, status = Quantity.LOG_COVERING_NUMBER, Status.FALSE

    B: float = real("bound on ||W_c||_{2,1}, ||W_v||_{2,1}, ||W_QK||_{2,1} and ||w||_2", example=2)

    def printed(self) -> Variants:
        constant = self.B * self.B * math.log(self.d * self.k)
        if constant == 0.0:
            return {
                "value": printed_value(
                    0.0, hypotheses=(verified("d k > 1 (else the formula is 0)", False, self.d * self.k),)
                )
            }
        return printed_variants(self, constant, self.Bx * self.Bx * constant, self.eps)

    def sound(self) -> Variants:
        return l1_input_variants(
            self,
            lambda outputs, inputs: self.B * self.B * rows_two_one_factor(outputs, inputs),
            lambda kind: networks.Weight(
                kind, shape(self, kind), rows_two_one=self.B, spectral=spectral_bound(self, kind)
            ),
        )
