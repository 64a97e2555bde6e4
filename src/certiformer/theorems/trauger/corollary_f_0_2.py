from __future__ import annotations

import math

from certiformer.calculus.covers import rows_two_one_factor
from certiformer.core import (
    Quantity,
    Result,
    Status,
    Variants,
    count,
    derived,
    printed_value,
    real,
    verified,
)
from certiformer.theorems.trauger import TRAUGER
from certiformer.theorems.trauger._multi_layer import (
    complexity_variants,
    covering_bound,
    ln_total,
    network,
    printed_variants,
)


class CorollaryF02(Result):
    r"""Deep Transformer, (2,1) norms.

    For the sums of **row** norms of the matrices that act, x -> W^T x, that is ||W_c||_{2,1}, ||W_v||_{2,1},
    ||W_QK||_{2,1} and ||w||_2: the sound Theorem 4.2 with the cover T5 (docs/proofs/covers.md) on the scaled basis,
    times
    the input dimension because the projections bound l2 norms only.

    t(k, n) = min_h [ln(k+1) + h ln 2 + (1+1/h) ln(2n+1)]. T5 is external.

    Printed: Theorem 4.2 with C1 = B^2 ln(dk), CBx = Bx^2 C1, B the largest norm of Lemma 3.4
    .. math:: \log N(\varepsilon)=(\gamma+\eta)^3/\varepsilon^2,\quad C_1=B^2\ln(dk),\ C_{B_x}=B_x^2C_1
    Sound: Theorem 4.2 (sound, external) with C_c = k B^2 t(d,k), C_v = d B^2 t(k,d), C_QK = d B^2 t(d,d), C_w = d
    B^2 t(1,d), t(k,n) = min_h [ln(k+1) + h ln 2 + (1+1/h) ln(2n+1)]; B bounds ||W_c||_{2,1}, ||W_v||_{2,1},
    ||W_QK||_{2,1} (columns of the stored matrices) and ||w||_2.
    .. math:: C_c=kB^2\,t(d,k),\quad C_v=dB^2\,t(k,d),\quad C_{QK}=dB^2\,t(d,d),\quad C_w=dB^2\,t(1,d),
    Because: rests on the false Lemma 3.4 and on l1 inputs that a projection does not give; shattering at d = 1000
    Assumes:
    - the norm bounds are fixed before the sample is seen (or paid for: `strata`)
    - Pi is the projection onto the unit ball (LayerNorm is not), sigma is L_sigma-Lipschitz with sigma(0) = 0
    - tokens are fixed, not trained; scores X W_QK^T x
    Defects:
    - The sensitivity to W_QK at layer 1 lacks the factor Bx^2: scores and values both scale with the tokens. The
      growth in Bx is Bx^6, not Bx^2.
    - At layer 1 the terms of W_c and W_v should carry alpha_1, and W_v sees inputs of norm Bx; one term is printed
      for both, without alpha_1 and with the unit-ball constant.
    - In the third term of tau and the last of gamma the proof has L_sigma Bc2 where L_sigma Bv2 is printed.
    - W_c sees inputs of norm up to L_sigma, so the unit-ball constant needs L_sigma <= 1.
    - The proof attaches the wrong covers to the matrices, and writes 'is' for 'is at most'.
    - The softmax constant is 1: 1 + 4q can be 1 + 2q.
    - Lemma 3.4 needs inputs of l1 norm at most 1 at every layer; a projection onto the l2 ball gives sqrt(d).
    - Read with the norms of the transposes it is Lemma 3.4 as printed, which is false.
    - One pair of dimensions serves all matrices, and dk = 1 gives 0.
    """

    paper, place = TRAUGER, "Corollary F.0.2"
    bounds, status = Quantity.LOG_COVERING_NUMBER, Status.FALSE
    monotone = "+L_sigma +Bc2 +Bv2 +BQK2 +Bw +rho +heads -eps +B +Bx +d +k"

    B: float = real("bound on ||W_c||_{2,1}, ||W_v||_{2,1}, ||W_QK||_{2,1} and ||w||_2", example=2)
    Bx: float = real("bound on the l2 norm of the raw tokens", symbol="B_x")
    d: int = count("token dimension", example=16)
    k: int = count("hidden dimension", example=8)
    L_sigma: float = real("Lipschitz constant of the activation, sigma(0) = 0", symbol="L_σ")
    Bc2: float = real("bound on the spectral norm of every W_c", symbol="B_{c2}")
    Bv2: float = real("bound on the spectral norm of every W_v", example=0.7, symbol="B_{v2}")
    BQK2: float = real("bound on the spectral norm of every W_QK", example=0.5, symbol="B_{QK2}")
    Bw: float = real("bound on the l2 norm of the readout w", symbol="B_w")
    layers: int = count("number of layers", high=1000, example=2, aliases=("L",))
    eps: float = real("radius of the cover", symbol="ε")
    rho: float = real("half the diameter of the raw tokens", factory=derived("Bx", lambda x: x.Bx))
    heads: int = count("heads per layer, summed before the outer projection", high=1000, example=1, default=1)
    n: int | None = count(
        "sample size, to add the Rademacher complexity", aliases=("m", "N"), default=None, otherwise="no complexity"
    )

    def printed(self) -> Variants:
        net = network(self.L_sigma, self.Bc2, self.Bv2, self.BQK2, self.Bw, self.layers, self.heads, self.Bx, self.rho)
        constant = self.B * self.B * math.log(self.d * self.k)
        if constant == 0.0:
            return {
                "value": printed_value(
                    0.0, hypotheses=(verified("d k > 1 (else the formula is 0)", False, self.d * self.k),)
                )
            }
        return printed_variants(net, constant, self.Bx * self.Bx * constant, self.eps)

    def sound(self) -> Variants:
        net = network(self.L_sigma, self.Bc2, self.Bv2, self.BQK2, self.Bw, self.layers, self.heads, self.Bx, self.rho)

        def constant(outputs: int, inputs: int) -> float:
            # An l2 ball of R^inputs lies in the l1 ball of sqrt(inputs) times its radius.
            return self.B * self.B * inputs * rows_two_one_factor(outputs, inputs)

        constants = {
            "w": constant(1, self.d),
            "c": constant(self.d, self.k),
            "v": constant(self.k, self.d),
            "q": constant(self.d, self.d),
        }
        ln = ln_total(net, constants, proper=False)
        return {"value": covering_bound(ln, self.eps), **complexity_variants(net, ln, self.n, proper=False)}
