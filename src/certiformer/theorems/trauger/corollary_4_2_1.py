from __future__ import annotations

import math

from certiformer.calculus.allocation import Term, network_cover
from certiformer.calculus.covers import Cover, maurey, smallest, volumetric
from certiformer.core import (
    Quantity,
    Result,
    Status,
    Variants,
    count,
    derived,
    real,
    upper_bound,
)
from certiformer.theorems.trauger import TRAUGER
from certiformer.theorems.trauger._multi_layer import (
    Network,
    complexity_variants,
    covering_bound,
    ln_total,
    network,
    printed_variants,
    weights,
)


def _cover(net: Network, covers: dict[str, Cover]) -> Cover:
    terms = [
        Term(weight.kind, covers[weight.kind].scaled(math.exp(weight.ln_input)), weight.ln_beta)
        for weight in weights(net, proper=True)
        for _ in range(1 if weight.kind == "w" else net.heads)
    ]
    return network_cover(terms)


def _or(own: float | None, common: float) -> float:
    return common if own is None else own


class Corollary421(Result):
    r"""Deep Transformer, entrywise l1 norms.

    The sound Theorem 4.2 with C_w = B^2 ln(2d+1), C_c = C_v = B^2 ln(2dk+1), C_QK = B^2 ln(2d^2+1) (W_QK
    is d x d),
    each matrix with its own norm where given. `exact` takes the smallest cover of every weight at the given radius
    (Maurey's exact count, or volume in the spectral norm) and the best of several ways to share the radius.

    Printed: Theorem 4.2 with C1 = B^2 ln(2dk+1), CBx = Bx^2 C1, B the largest (1,1) norm
    .. math:: \log N(\varepsilon)=(\gamma+\eta)^3/\varepsilon^2,\quad C_1=B^2\ln(2dk+1),\ C_{B_x}=B_x^2C_1
    Sound: Theorem 4.2 (sound) with C_w = B^2 ln(2d+1), C_c = C_v = B^2 ln(2dk+1), C_QK = B^2 ln(2d^2+1), each
    weight with its own norm where given; exact: the smallest cover of each weight, the best of several splits of
    the radius.
    Because: a network with d = 500 and Bx = 100 shatters more than the printed number allows
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
    - W_QK is d x d, so it needs ln(2d^2+1); the printed constant is smaller when k < d.
    - One layer, sigma = id, k = 1, tokens +-(b/sqrt 2)(e_j + e_z), CLS = b e_cls: all 2^M sign patterns occur at
      margin 0.707, so log N(0.706) >= M ln 2 = 345 at d = 500, Bx = 100, where 253 is printed.
    """

    paper, place = TRAUGER, "Corollary 4.2.1"
    bounds, status = Quantity.LOG_COVERING_NUMBER, Status.FALSE
    monotone = "+L_sigma +Bc2 +Bv2 +BQK2 +Bw +rho +heads -eps +B +Bx +d +k"

    B: float = real("bound on the entrywise l1 norm of every weight", example=2)
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
    Bw1: float = real("bound on ||w||_1", factory=derived("B", lambda x: x.B))
    Bc11: float = real("bound on ||W_c||_{1,1}", factory=derived("B", lambda x: x.B))
    Bv11: float = real("bound on ||W_v||_{1,1}", factory=derived("B", lambda x: x.B))
    BQK11: float = real("bound on ||W_QK||_{1,1}", factory=derived("B", lambda x: x.B))
    rho: float = real("half the diameter of the raw tokens", factory=derived("Bx", lambda x: x.Bx))
    heads: int = count("heads per layer, summed before the outer projection", high=1000, example=1, default=1)
    n: int | None = count(
        "sample size, to add the Rademacher complexity", aliases=("m", "N"), default=None, otherwise="no complexity"
    )

    def printed(self) -> Variants:
        net = network(self.L_sigma, self.Bc2, self.Bv2, self.BQK2, self.Bw, self.layers, self.heads, self.Bx, self.rho)
        constant = self.B * self.B * math.log(2 * self.d * self.k + 1)
        return printed_variants(net, constant, self.Bx * self.Bx * constant, self.eps)

    def sound(self) -> Variants:
        net = network(self.L_sigma, self.Bc2, self.Bv2, self.BQK2, self.Bw, self.layers, self.heads, self.Bx, self.rho)
        sparse = {
            "w": maurey(_or(self.Bw1, self.B), self.d),
            "c": maurey(_or(self.Bc11, self.B), self.d * self.k),
            "v": maurey(_or(self.Bv11, self.B), self.d * self.k),
            "q": maurey(_or(self.BQK11, self.B), self.d * self.d),
        }
        dense = {
            "w": volumetric(self.Bw, self.d),
            "c": volumetric(self.Bc2, self.d * self.k),
            "v": volumetric(self.Bv2, self.d * self.k),
            "q": volumetric(self.BQK2, self.d * self.d),
        }
        # Maurey's covers project onto convex subclasses and volume packs any subset around zero: both are proper.
        constants = {kind: cover.constant for kind, cover in sparse.items()}
        ln = ln_total(net, constants, proper=True)
        covers = {kind: smallest(sparse[kind], dense[kind]) for kind in sparse}
        return {
            "value": covering_bound(ln, self.eps),
            "exact": upper_bound(_cover(net, covers).log_size(self.eps)),
            **complexity_variants(net, ln, self.n, proper=True),
        }
