from __future__ import annotations

import functools
import math

from certiformer.theory.calculus.covers import quadratic_cover
from certiformer.theory.core import Bound, Hypothesis, Quantity, Status, Variants, flag, real, stated
from certiformer.theory.theorems._networks import networks
from certiformer.theory.theorems.trauger._multi_layer import (
    DeepTransformer,
    complexity_variants,
    covering_bound,
    engine_variants,
    graph,
    ln_total,
    printed_variants,
    spectral_bound,
)


class Theorem42(DeepTransformer):
    r"""Covering number of a deep Transformer.

    Every weight with its own sensitivity and input norm (docs/proofs/trauger.md), then Lemma E.1.

    Printed: log N = (gamma + eta)^3/eps^2, gamma = CBx^(1/3) (2 L_sigma Bc2 Bv2 alpha_1 Bw)^(2/3) + C1^(1/3) (1 +
    (Bw L_sigma Bv2)^(2/3)), eta = C1^(1/3) Bw^(2/3) sum_{i>=2} tau_i, alpha_i = prod_{j>i} L_sigma Bc2 Bv2 (1 + 4
    BQK2)
    .. math:: \log N(\varepsilon)=(\gamma+\eta)^3/\varepsilon^2
    Quoted: \gamma &= C_{B_x}^{1/3} \left( 2L_{\sigma} B_{c2} B_{v2} \alpha_1 B_w \right)^{2/3} + C_1^{1/3} \left( 1
    + (B_w L_{\sigma} B_{v2})^{2/3} \right)
    Sound: log N <= (sum C^(1/3) beta^(2/3))^3/eps^2 over w: (C1, 1); W_c: (C1 (L_sigma min(1, Bv2 b_i))^2, Bw
    alpha_i); W_v: (C1 b_i^2, Bw alpha_i L_sigma Bc2); W_QK: (C1 b_i^2, Bw alpha_i L_sigma Bc2 Bv2 rho_i^2); b_1 =
    Bx, b_i = 1, alpha_i = prod_{j>i} heads L_sigma Bc2 Bv2 (1 + 2 BQK2); external: L_sigma instead of L_sigma
    min(1, Bv2 b_i). engine: the same class as a network of layers, C1 and CBx as covers of its weights.
    .. math:: \log N(\varepsilon) \le \Bigl(\sum_{weights}C^{1/3}\beta^{2/3}\Bigr)^3/\varepsilon^2 .
    Because: false for Bx > 1 (shattering), unproven for Bx <= 1: terms and factors of the first layer are missing
    """

    place = "Theorem 4.2"
    bounds, status = Quantity.LOG_COVERING_NUMBER, Status.FALSE
    monotone = f"{DeepTransformer.monotone} +CBx"

    C1: float = real("every linear class has log N <= C1/eps^2 on inputs of norm 1", symbol="C_1")
    CBx: float = real("the same on inputs of norm Bx", example=4, symbol="C_{B_x}")
    proper: bool | None = flag("the covers behind C1 and CBx are proper in the class with all its norm bounds")

    def printed(self) -> Variants:
        return printed_variants(self, self.C1, self.CBx, self.eps)

    def sound(self) -> Variants:
        constants = dict.fromkeys("wcvq", self.C1)
        ln_proper = ln_total(self, constants, proper=True)
        ln_external = ln_total(self, constants, proper=False)
        words = "the covers are proper in the class with all its norm bounds, as the paper defines covering numbers"
        proper = stated(words, self.proper, "proper=1", id="proper-covers")
        return {
            "value": covering_bound(ln_proper, self.eps, proper),
            "external": covering_bound(ln_external, self.eps),
            **complexity_variants(self, ln_proper, self.n, proper, proper=True),
            **self._engine(proper),
        }

    def _engine(self, proper: Hypothesis) -> dict[str, Bound]:
        """On the engine: with proper covers where the caller states them, otherwise with external ones."""
        if self.proper:
            return engine_variants(self, _analysis(self.network, True), hypotheses=(proper,))
        return engine_variants(self, _analysis(self.network, False), name="engine_external")


_ANY = 10**300  # mutants: nobody-looks


@functools.lru_cache(maxsize=64)  # mutants: caches
def _analysis(net: Theorem42, proper: bool) -> networks.Analysis:
    """The network on the engine, built once along a sweep of radii or sample sizes.

    C1 does not depend on the number of inputs: the covers are of any sample.
    """

    def weight(kind: str, layer: int) -> networks.Weight:
        # At inputs of norm Bx both constants hold; at the centre of the class nothing is paid.
        constant = min(net.C1, net.CBx / net.Bx / net.Bx) if layer == 1 and kind in "vq" else net.C1
        spectral = spectral_bound(net, kind)
        cover = quadratic_cover(constant, math.log(spectral), proper=proper, domain=False)
        return networks.Weight(kind, (1, 1), spectral=spectral, cover=cover)

    return networks.analyse(graph(net, weight), proper=proper, samples=_ANY)
