from __future__ import annotations

import functools
import math

from certiformer.theory.calculus.allocation import Term, network_cover
from certiformer.theory.calculus.covers import Cover, maurey, smallest, volumetric
from certiformer.theory.core import Quantity, Status, Variants, derived, real, upper_bound
from certiformer.theory.theorems._networks import networks
from certiformer.theory.theorems.trauger._multi_layer import (
    DeepTransformer,
    SizedTransformer,
    complexity_variants,
    covering_bound,
    engine_variants,
    graph,
    ln_total,
    printed_variants,
    shape,
    spectral_bound,
    weights,
)


@functools.lru_cache(maxsize=64)  # mutants: caches
def _cover(net: DeepTransformer, of: tuple[tuple[str, Cover], ...]) -> Cover:
    covers = dict(of)
    terms = [
        Term(
            weight.kind,
            covers[weight.kind].scaled(math.exp(weight.ln_input)),
            weight.ln_beta,
            1 if weight.kind == "w" else net.heads,
        )
        for weight in weights(net, proper=True)
    ]
    return network_cover(terms)


class Corollary421(SizedTransformer):
    r"""Deep Transformer, entrywise l1 norms.

    Every matrix in an entrywise l1 ball; W_QK is d x d. `exact` takes the smallest cover of every weight at the given
    radius (Maurey's exact count, or volume in the spectral norm) and the best way found to share the radius. `engine`
    is the same class as a network of layers: radii are propagated where Theorem 4.2 restarts at the unit ball, and
    nothing is paid from the distance to the network at zero on; never larger, and much smaller where layers contract.

    Printed: Theorem 4.2 with C1 = B^2 ln(2dk+1), CBx = Bx^2 C1, B the largest (1,1) norm
    .. math:: \log N(\varepsilon)=(\gamma+\eta)^3/\varepsilon^2,\quad C_1=B^2\ln(2dk+1),\ C_{B_x}=B_x^2C_1
    Quoted: \gamma &= \left(B^2 B_x^2 \ln(2dk+1)\right)^{1/3} \left(2L_{\sigma} B_{c2} B_{v2} \alpha_1
    B_w\right)^{2/3} + \left(B^2 \ln(2dk+1)\right)^{1/3} \left(1 + \left(B_w L_{\sigma} B_{v2}\right)^{2/3}\right)
    Sound: Theorem 4.2 (sound) with C_w = B^2 ln(2d+1), C_c = C_v = B^2 ln(2dk+1), C_QK = B^2 ln(2d^2+1), each
    weight with its own norm where given; exact: the smallest cover of each weight, the best of several splits of
    the radius.
    .. math:: \log N(\varepsilon)\le \frac{(\gamma+\eta)^3}{\varepsilon^2},\quad C_w=B^2\ln(2d+1),\
       C_c=C_v=B^2\ln(2dk+1),\
       C_{QK}=B^2\ln(2d^2+1)
    Because: a network with d = 500 and Bx = 100 shatters more than the printed number allows
    Defects:
    - W_QK is d x d, so it needs ln(2d^2+1); the printed constant is smaller when k < d.
    - One layer, sigma = id, k = 1, tokens +-(b/sqrt 2)(e_j + e_z), CLS = b e_cls: all 2^M sign patterns occur at
      margin 0.707, so log N(0.706) >= M ln 2 = 345 at d = 500, Bx = 100, where 253 is printed.
    """

    place = "Corollary 4.2.1"
    bounds, status = Quantity.LOG_COVERING_NUMBER, Status.FALSE

    B: float = real("bound on the entrywise l1 norm of every weight", example=2)
    Bw1: float = real("bound on ||w||_1", factory=derived("B", lambda x: x.B))
    Bc11: float = real("bound on ||W_c||_{1,1}", factory=derived("B", lambda x: x.B))
    Bv11: float = real("bound on ||W_v||_{1,1}", factory=derived("B", lambda x: x.B))
    BQK11: float = real("bound on ||W_QK||_{1,1}", factory=derived("B", lambda x: x.B))

    def printed(self) -> Variants:
        constant = self.B * self.B * math.log(2 * self.d * self.k + 1)
        return printed_variants(self, constant, self.Bx * self.Bx * constant, self.eps)

    def sound(self) -> Variants:
        sparse = {
            "w": maurey(self.Bw1, self.d),
            "c": maurey(self.Bc11, self.d * self.k),
            "v": maurey(self.Bv11, self.d * self.k),
            "q": maurey(self.BQK11, self.d * self.d),
        }
        dense = {
            "w": volumetric(self.Bw, self.d),
            "c": volumetric(self.Bc2, self.d * self.k),
            "v": volumetric(self.Bv2, self.d * self.k),
            "q": volumetric(self.BQK2, self.d * self.d),
        }
        # Maurey's covers project onto convex subclasses and volume packs any subset around zero: both are proper.
        constants = {kind: cover.constant for kind, cover in sparse.items()}
        ln = ln_total(self, constants, proper=True)
        covers = {kind: smallest(sparse[kind], dense[kind]) for kind in sparse}
        return {
            "value": covering_bound(ln, self.eps),
            "exact": upper_bound(_cover(self.network, tuple(covers.items())).log_size(self.eps)),
            **complexity_variants(self, ln, self.n, proper=True),
            **engine_variants(self, _analysis(self.network)),
        }


@functools.lru_cache(maxsize=64)  # mutants: caches
def _analysis(net: Corollary421) -> networks.Analysis:
    """Neither the radius nor the sample size belongs to the network: along a sweep of these it is built once."""
    norms = {"w": net.Bw1, "c": net.Bc11, "v": net.Bv11, "q": net.BQK11}

    def weight(kind: str, layer: int) -> networks.Weight:
        return networks.Weight(kind, shape(net, kind), l1=norms[kind], spectral=spectral_bound(net, kind))

    return networks.analyse(graph(net, weight, net.d))
