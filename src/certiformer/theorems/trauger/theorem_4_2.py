from __future__ import annotations

from certiformer.core import Quantity, Result, Status, Variants, count, derived, real
from certiformer.theorems.trauger import TRAUGER
from certiformer.theorems.trauger._multi_layer import (
    complexity_variants,
    covering_bound,
    ln_total,
    network,
    printed_variants,
    proper_covers,
)


class Theorem42(Result):
    r"""Covering number of a deep Transformer.

    Every weight with its own sensitivity and input norm (docs/proofs/trauger.md), then Lemma E.1.

    Printed: log N = (gamma + eta)^3/eps^2, gamma = CBx^(1/3) (2 L_sigma Bc2 Bv2 alpha_1 Bw)^(2/3) + C1^(1/3) (1 +
    (Bw L_sigma Bv2)^(2/3)), eta = C1^(1/3) Bw^(2/3) sum_{i>=2} tau_i, alpha_i = prod_{j>i} L_sigma Bc2 Bv2 (1 + 4
    BQK2)
    .. math:: \log N(\varepsilon)=(\gamma+\eta)^3/\varepsilon^2
    Sound: log N <= (sum C^(1/3) beta^(2/3))^3/eps^2 over w: (C1, 1); W_c: (C1 (L_sigma min(1, Bv2 b_i))^2, Bw
    alpha_i); W_v: (C1 b_i^2, Bw alpha_i L_sigma Bc2); W_QK: (C1 b_i^2, Bw alpha_i L_sigma Bc2 Bv2 rho_i^2); b_1 =
    Bx, b_i = 1, alpha_i = prod_{j>i} heads L_sigma Bc2 Bv2 (1 + 2 BQK2); external: L_sigma instead of L_sigma
    min(1, Bv2 b_i).
    .. math:: \log N(\varepsilon) \le \Bigl(\sum_{weights}C^{1/3}\beta^{2/3}\Bigr)^3/\varepsilon^2 .
    Because: false for Bx > 1 (shattering), unproven for Bx <= 1: terms and factors of the first layer are missing
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
    """

    paper, place = TRAUGER, "Theorem 4.2"
    bounds, status = Quantity.LOG_COVERING_NUMBER, Status.FALSE
    monotone = "+L_sigma +Bc2 +Bv2 +BQK2 +Bw +rho +heads -eps +CBx"

    C1: float = real("every linear class has log N <= C1/eps^2 on inputs of norm 1", symbol="C_1")
    CBx: float = real("the same on inputs of norm Bx", example=4, symbol="C_{B_x}")
    L_sigma: float = real("Lipschitz constant of the activation, sigma(0) = 0", symbol="L_σ")
    Bc2: float = real("bound on the spectral norm of every W_c", symbol="B_{c2}")
    Bv2: float = real("bound on the spectral norm of every W_v", example=0.7, symbol="B_{v2}")
    BQK2: float = real("bound on the spectral norm of every W_QK", example=0.5, symbol="B_{QK2}")
    Bw: float = real("bound on the l2 norm of the readout w", symbol="B_w")
    layers: int = count("number of layers", high=1000, example=2, aliases=("L",))
    eps: float = real("radius of the cover", symbol="ε")
    Bx: float = real("bound on the l2 norm of the raw tokens", symbol="B_x", example=2)
    rho: float = real("half the diameter of the raw tokens", factory=derived("Bx", lambda x: x.Bx))
    heads: int = count("heads per layer, summed before the outer projection", high=1000, example=1, default=1)
    n: int | None = count(
        "sample size, to add the Rademacher complexity", aliases=("m", "N"), default=None, otherwise="no complexity"
    )

    def printed(self) -> Variants:
        return printed_variants(
            network(self.L_sigma, self.Bc2, self.Bv2, self.BQK2, self.Bw, self.layers, self.heads, self.Bx, self.rho),
            self.C1,
            self.CBx,
            self.eps,
        )

    def sound(self) -> Variants:
        net = network(self.L_sigma, self.Bc2, self.Bv2, self.BQK2, self.Bw, self.layers, self.heads, self.Bx, self.rho)
        constants = dict.fromkeys("wcvq", self.C1)
        ln_proper = ln_total(net, constants, proper=True)
        ln_external = ln_total(net, constants, proper=False)
        proper = proper_covers()
        return {
            "value": covering_bound(ln_proper, self.eps, proper),
            "external": covering_bound(ln_external, self.eps),
            **complexity_variants(net, ln_proper, self.n, proper, proper=True),
        }
