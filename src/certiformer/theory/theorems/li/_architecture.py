r"""The three Transformers of the paper as lists of weights: how far each reaches, and what it costs to cover (C4, C5).

b bounds every token norm of the input; K = L_sigma B_w B_c B_v, so |f| <= K b for one head and H K b for H heads.

One layer. The readout and the output matrix act as one vector u = W_c w per head, ||u||_2 <= ||u||_1 <= B_c B_w, so
    beta_u = L_sigma B_v b,   beta_v = L_sigma B_w B_c b,   beta_QK = L_sigma B_w B_c B_v b^3   (softmax constant 1).
Several layers, eq. (5), two activations and two normalisations per block. The normalisation is xi-Lipschitz and its
output has norm at most rho (projection on the unit ball: xi = rho = 1), b_1 = b and b_l = rho from the second layer on:
    Lambda = xi^2 L_sigma^2 B_c B_v (1 + 2 rho^2 B_QK),   beta_w = rho,   F_l = B_w Lambda^{L-l} xi^2 L_sigma^2,
    beta_c = F_l B_v b_l,   beta_v = F_l B_c b_l,   beta_QK = F_l B_c B_v b_l^3.

Proofs: docs/proofs/li.md.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from certiformer.theory.calculus.allocation import Term, network_cover
from certiformer.theory.calculus.covers import Cover, low_rank, maurey_plain, smallest, volumetric
from certiformer.theory.calculus.entropies import exp, ln_one_plus_exp
from certiformer.theory.core.records import fast_replace
from certiformer.theory.theorems._networks import networks


def growth(Bw: float, Bc: float, Bv: float, L_sigma: float, H: int = 1) -> float:
    """K with |f(X)| <= K b(X): H L_sigma B_w B_c B_v."""
    return H * L_sigma * Bw * Bc * Bv


@dataclass(frozen=True, slots=True)
class Norms:
    """Sizes and norm bounds of the weights, as the theorems name them."""

    d: int
    k: int
    Bw: float
    Bc: float
    Bv: float
    BQK: float
    L_sigma: float

    def growth(self, heads: int = 1) -> float:
        """K with |f(X)| <= K b(X)."""
        return growth(self.Bw, self.Bc, self.Bv, self.L_sigma, heads)

    @property
    def sigma(self) -> networks.Activation:
        return networks.Activation("sigma", self.L_sigma, self.L_sigma)


@dataclass(frozen=True, slots=True)
class Weight:
    """One weight, or `copies` of it (heads): spectral bound, l1 bound, shape, rank (None for a vector), ln beta."""

    name: str
    norm: float
    l1_norm: float
    rows: int
    columns: int
    rank: int | None
    ln_beta: float = 0.0
    copies: int = 1

    @property
    def entries(self) -> int:
        return self.rows * self.columns

    def term(self, cover: Cover) -> Term:
        return Term(self.name, cover, self.ln_beta, self.copies)

    def bounded(self, *, l1: float = math.inf, rank: int | None = None) -> networks.Weight:
        """The weight on the engine, where a matrix acts as x -> W^T x: its spectral norm, and the bounds given."""
        shape = self.columns, self.rows
        return networks.Weight(self.name, shape, l1=l1, spectral=self.norm, rank=rank, copies=self.copies)

    def by_volume(self) -> Cover:
        return volumetric(self.norm, self.entries)

    def by_rank(self) -> Cover:
        return self.by_volume() if self.rank is None else low_rank(self.norm, self.rows, self.columns, self.rank)


Wiring: TypeAlias = "Callable[[Mapping[str, networks.Weight]], networks.Node]"
"""From the classes of the weights to the graph of the network."""


@dataclass(frozen=True, slots=True)
class Network:
    """The weights of a class, how they are wired, and the bound on its outputs."""

    weights: tuple[Weight, ...]
    output_bound: float
    wiring: Wiring

    # mutants: caches
    @functools.lru_cache(maxsize=64)  # noqa: B019
    def rank_cover(self) -> Cover:
        """The network on the engine, every matrix in its class of bounded rank (C3); a vector by volume."""
        return self._cover("low rank", lambda one: one.bounded(rank=one.rank))

    # mutants: caches
    @functools.lru_cache(maxsize=64)  # noqa: B019
    def norm_cover(self) -> Cover:
        """The network on the engine, entrywise l1 norms: Maurey with shrinking (T3) or volume, weight by weight.

        Ranks play no part: members of a low-rank cover need not lie in the l1 ball, so the two kinds must not be mixed
        in a chain.
        """
        return self._cover("entrywise l1 norms", lambda one: one.bounded(l1=one.l1_norm))

    def _cover(self, name: str, bounded: Callable[[Weight], networks.Weight]) -> Cover:
        analysis = networks.analyse(self.wiring({weight.name: bounded(weight) for weight in self.weights}))
        return fast_replace(analysis.cover, name=name)

    # mutants: caches
    @functools.lru_cache(maxsize=64)  # noqa: B019
    def plain_norm_cover(self) -> Cover:
        """C6: plain Maurey (C1) throughout, or volume throughout."""
        atoms = network_cover(
            [weight.term(maurey_plain(weight.l1_norm, weight.entries)) for weight in self.weights], "Maurey"
        )
        volume = network_cover([weight.term(weight.by_volume()) for weight in self.weights], "volume")
        return smallest(atoms, volume)

    @property
    def ln_gamma(self) -> float:
        """ln of gamma = sum_j C_j^{1/3} beta_j^{2/3}, C_j = B_j^2 ln(2 m_j + 1): ln N <= gamma^3/delta^2."""
        logs = []
        for weight in self.weights:
            ln_cost = 2.0 * math.log(weight.l1_norm) + math.log(math.log(2 * weight.entries + 1))
            logs.append(math.log(weight.copies) + (ln_cost + 2.0 * weight.ln_beta) / 3.0)
        top = max(logs)
        return top + math.log(math.fsum(math.exp(x - top) for x in logs))

    @property
    def gamma(self) -> float:
        return exp(self.ln_gamma)

    def closed_log_size(self, inverse_radius: float) -> float:
        r"""sum_j D_j ln(1 + 4 B_j beta_j D/(D_j delta)), D_j = min((d_j+k_j) r_j, d_j k_j): C3 and C5 together."""
        parameters = [weight.copies * weight.by_rank().parameters for weight in self.weights]
        total = sum(parameters)
        return math.fsum(
            p
            * ln_one_plus_exp(math.log(4.0 * weight.norm * weight.copies * total / p * inverse_radius) + weight.ln_beta)
            for weight, p in zip(self.weights, parameters, strict=True)
        )


def one_layer(norms: Norms, *, b: float, H: int = 1, rv: int | None = None, rqk: int | None = None) -> Network:
    """H heads summed before one readout, eqs. (2) and (3). Ranks default to full."""
    d, k, u = norms.d, norms.k, norms.Bc * norms.Bw

    def wiring(classes: Mapping[str, networks.Weight]) -> networks.Node:
        z = networks.tokens(d, b, positions=2)  # mutants: same-for-every-value
        z = networks.attention(z, networks.Head(value=classes["W_v"], score=classes["W_QK"]))
        return networks.scale(networks.readout(networks.pick(networks.activation(z, norms.sigma)), classes["u"]), H)

    return _network(
        wiring,
        norms.growth(H) * b,
        Weight("u", u, u, k, 1, None, copies=H),
        Weight("W_v", norms.Bv, norms.Bv, d, k, _rank(rv, d, k), copies=H),
        Weight("W_QK", norms.BQK, norms.BQK, d, d, _rank(rqk, d, d), copies=H),
    )


@functools.lru_cache(maxsize=256)  # mutants: caches
def many_layers(
    norms: Norms,
    *,
    layers: int,
    b: float,
    rho: float = 1.0,
    xi: float = 1.0,
    rc: int | None = None,
    rv: int | None = None,
    rqk: int | None = None,
) -> Network:
    """Eq. (5). The l1 norm of the readout is at most sqrt(d) B_w; its cover is projected back on the l2 ball."""
    d, k, blocks = norms.d, norms.k, range(1, layers + 1)

    def wiring(classes: Mapping[str, networks.Weight]) -> networks.Node:
        z = networks.tokens(d, b, positions=2)  # mutants: same-for-every-value
        for i in blocks:
            z = networks.attention(z, networks.Head(value=classes[f"W_v{i}"], score=classes[f"W_QK{i}"]))
            z = networks.linear(z, classes[f"W_c{i}"])
            for _ in range(2):  # mutants: same-for-every-value
                z = networks.bounded(networks.activation(z, norms.sigma), xi, rho)
        return networks.readout(networks.pick(z), classes["w"])

    weights = [Weight("w", norms.Bw, math.sqrt(d) * norms.Bw, d, 1, None)]
    for i in blocks:
        weights += [
            Weight(f"W_c{i}", norms.Bc, norms.Bc, k, d, _rank(rc, k, d)),
            Weight(f"W_v{i}", norms.Bv, norms.Bv, d, k, _rank(rv, d, k)),
            Weight(f"W_QK{i}", norms.BQK, norms.BQK, d, d, _rank(rqk, d, d)),
        ]
    return _network(wiring, rho * norms.Bw, *weights)


def _network(wiring: Wiring, output_bound: float, *weights: Weight) -> Network:
    """The weights with the sensitivities that the engine finds: the formulas above, or less.

    The diameter of the tokens is propagated, so that a score matrix behind contracting blocks reaches less far.
    """
    coefficients = networks.analyse(wiring({weight.name: weight.bounded() for weight in weights})).coefficients
    known = (replace(weight, ln_beta=coefficients[weight.name].ln - math.log(weight.copies)) for weight in weights)
    return Network(tuple(known), output_bound, wiring)


def _rank(rank: int | None, rows: int, columns: int) -> int:
    most = min(rows, columns)
    return most if rank is None else min(rank, most)
