r"""What Theorem 4.2 and its corollaries share: the printed formula and the sound sensitivities of a deep network.

Layer i maps tokens g to Pi(sum_h sigma(Pi(attention_h(g))) W_c), Pi the projection onto the unit ball; a vector w
reads the CLS token. With b_1 = B_x, rho_1 = half the diameter of the raw tokens, b_i = rho_i = 1 later on,
Lambda = H L_sigma c v (1 + 2q) and alpha_i = Lambda^(layers - i), an error e of one weight moves the output by

    w: e      W_c: B_w alpha_i e      W_v: B_w alpha_i L_sigma c e      W_QK: B_w alpha_i L_sigma c v rho_i^2 e

where the inputs of W_v and W_QK have norm b_i, those of W_c norm L_sigma min(1, v b_i) (L_sigma if covers are
external). Everything is kept in logarithms: the products overflow floats long before the theory ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple, Self, TypeAlias

from certiformer.theory.calculus import chaining
from certiformer.theory.calculus.covers import quadratic_cover
from certiformer.theory.calculus.entropies import exp, log
from certiformer.theory.calculus.softmax import input_sensitivity
from certiformer.theory.core import Bound, Quantity, Result, Variants, printed_value, side_number, upper_bound
from certiformer.theory.core.hypothesis import Hypothesis, verified
from certiformer.theory.core.inputs import count, derived, real
from certiformer.theory.core.lazy import np
from certiformer.theory.theorems._networks import networks
from certiformer.theory.theorems.trauger import TRAUGER


class DeepTransformer(Result):
    """A deep network, by its norms.

    Assumes:
    - the norm bounds are fixed before the sample is seen (or paid for: `strata`)
    - Pi is the projection onto the unit ball (LayerNorm is not), sigma is L_sigma-Lipschitz with sigma(0) = 0
    - tokens are fixed, not trained; scores X W_QK^T x
    Defects:
    - The sensitivity to W_QK at layer 1 lacks the factor Bx^2: scores and values both scale with the tokens. The
      growth in Bx is Bx^6, not Bx^2.
    - At layer 1 the terms of W_c and W_v should carry alpha_1, and W_v sees inputs of norm Bx; one term is
      printed for both, without alpha_1 and with the unit-ball constant.
    - In the third term of tau and the last of gamma the proof has L_sigma Bc2 where L_sigma Bv2 is printed.
    - W_c sees inputs of norm up to L_sigma, so the unit-ball constant needs L_sigma <= 1.
    - The proof attaches the wrong covers to the matrices, and writes 'is' for 'is at most'.
    - The softmax constant is 1: 1 + 4q can be 1 + 2q.
    """

    paper = TRAUGER
    # Not in `layers`: a contracting layer makes the class smaller.
    monotone = "+L_sigma +Bc2 +Bv2 +BQK2 +Bw +rho +heads -eps"

    L_sigma: float = real("Lipschitz constant of the activation, sigma(0) = 0", symbol="L_σ")
    Bc2: float = real("bound on the spectral norm of every W_c", symbol="B_{c2}")
    Bv2: float = real("bound on the spectral norm of every W_v", example=0.7, symbol="B_{v2}")
    BQK2: float = real("bound on the spectral norm of every W_QK", example=0.5, symbol="B_{QK2}")
    Bw: float = real("bound on the l2 norm of the readout w", symbol="B_w")
    layers: int = count("number of layers", high=1000, example=2, aliases=("L",))
    eps: float = real("radius of the cover", symbol="ε")
    Bx: float = real("bound on the l2 norm of the raw tokens", symbol="B_x")
    rho: float = real(
        "half the diameter of the raw tokens", factory=derived("Bx: no token is further from zero", lambda x: x.Bx)
    )
    heads: int = count("heads per layer, summed before the outer projection", high=1000, example=1, default=1)
    n: int | None = count(
        "sample size, to add the Rademacher complexity", aliases=("m", "N"), default=None, otherwise="no complexity"
    )

    @property
    def network(self) -> Self:
        """The same network whatever the radius and the sample size: equal ones compare equal."""
        return self.at(eps=1.0, n=None)

    @property
    def half_diameter(self) -> float:
        return min(self.rho, self.Bx)

    @property
    def radius(self) -> float:
        """Largest output: B_w times the norm of the CLS token, which the last projection and W_c both bound."""
        last = self.Bx if self.layers == 1 else 1.0
        return self.Bw * min(1.0, self.heads * self.Bc2 * self.L_sigma * min(1.0, self.Bv2 * last))


class SizedTransformer(DeepTransformer):
    """A deep network whose matrices have known sizes and one common norm bound."""

    monotone = f"{DeepTransformer.monotone} +B +Bx +d +k"

    B: float = real("bound on the norm of every weight", example=2)
    d: int = count("token dimension", example=16)
    k: int = count("hidden dimension", example=8)


class Weight(NamedTuple):
    """One weight: which kind, and the logarithms of the norm of its inputs and of the output's sensitivity to it."""

    kind: str
    ln_input: float
    ln_beta: float


def weights(net: DeepTransformer, *, proper: bool) -> list[Weight]:
    """Every weight of the network, one entry per layer and kind (heads share theirs)."""
    ln_sigma, ln_c, ln_v = math.log(net.L_sigma), math.log(net.Bc2), math.log(net.Bv2)
    inner = input_sensitivity(1.0, 1.0, net.BQK2)  # 1 + 2q in the unit ball
    ln_layer = math.log(net.heads) + ln_sigma + ln_c + ln_v + math.log(inner)
    found = [Weight("w", 0.0, 0.0)]
    for i in range(1, net.layers + 1):
        ln_b = math.log(net.Bx) if i == 1 else 0.0
        ln_rho = log(net.half_diameter) if i == 1 else 0.0
        ln_reach = math.log(net.Bw) + (net.layers - i) * ln_layer  # B_w alpha_i
        hidden = min(0.0, ln_v + ln_b) if proper else 0.0
        found += [
            Weight("c", ln_sigma + hidden, ln_reach),
            Weight("v", ln_b, ln_reach + ln_sigma + ln_c),
            Weight("q", ln_b, ln_reach + ln_sigma + ln_c + ln_v + 2.0 * ln_rho),
        ]
    return found


Class: TypeAlias = "Callable[[str, int], networks.Weight]"
"""The class of a weight by kind (w, c, v, q) and layer, without its copies."""


def graph(net: DeepTransformer, weight: Class, d: int = 1) -> networks.Node:
    """The network handed to the engine: radii and half-diameters are propagated, not restarted at the unit ball.

    The H heads of a layer are copies of one, and their sum is H times it.
    """
    sigma = networks.Activation("sigma", net.L_sigma, net.L_sigma)
    z = networks.tokens(d, net.Bx, positions=2, half_diameter=net.half_diameter)  # mutants: same-for-every-value
    for i in range(1, net.layers + 1):
        value, score, mix = (replace(weight(kind, i), name=f"{kind}{i}", copies=net.heads) for kind in "vqc")
        z = networks.project(networks.attention(z, networks.Head(value=value, score=score)))
        z = networks.linear(networks.activation(z, sigma), mix)
        z = networks.project(z if net.heads == 1 else networks.scale(z, float(net.heads)))
    return networks.readout(networks.pick(z), weight("w", net.layers + 1))  # mutants: nobody-looks


def spectral_bound(net: DeepTransformer, kind: str) -> float:
    """The bound on the spectral norm of a weight of this kind."""
    return {"w": net.Bw, "c": net.Bc2, "v": net.Bv2, "q": net.BQK2}[kind]


def shape(net: SizedTransformer, kind: str) -> tuple[int, int]:
    """Outputs and inputs of the map x -> W^T x of this kind."""
    return {"w": (1, net.d), "c": (net.d, net.k), "v": (net.k, net.d), "q": (net.d, net.d)}[kind]


def engine_variants(
    net: DeepTransformer, *analyses: networks.Analysis, hypotheses: tuple[Hypothesis, ...] = (), name: str = "engine"
) -> dict[str, Bound]:
    """The covering number and the complexity of the same class, evaluated on the engine; the best of the analyses."""
    size = min(analysis.log_size(net.eps) for analysis in analyses)
    found = {name: upper_bound(size, hypotheses=hypotheses)}
    if net.n is not None:
        complexity = min(analysis.rademacher(net.n) for analysis in analyses)
        found[f"rademacher_{name}"] = upper_bound(
            complexity, clip=net.radius, bounds=Quantity.RADEMACHER_COMPLEXITY, hypotheses=hypotheses
        )
    return found


def l1_input_variants(
    net: SizedTransformer, constant: Callable[[int, int], float], weight: Callable[[str], networks.Weight]
) -> dict[str, Bound]:
    """Theorem 4.2 with covers for inputs of l1 norm one, C = constant(outputs, inputs): F.0.1 and F.0.2.

    An l2 ball of R^inputs lies in the l1 ball of sqrt(inputs) times its radius. The covers leave the spectral balls, so
    the chain is external; the engine may also take them at half the radius, in a proper analysis.
    """
    shapes = {kind: shape(net, kind) for kind in "wcvq"}
    ln = ln_total(net, {kind: inputs * constant(outputs, inputs) for kind, (outputs, inputs) in shapes.items()})
    variants = {"value": covering_bound(ln, net.eps), **complexity_variants(net, ln, net.n, proper=False)}
    if net.n is None:
        return variants
    # The engine optimises a split of the radius, which takes its time: where a complexity is asked for.
    output = graph(net, lambda kind, layer: weight(kind), net.d)
    return {**variants, **engine_variants(net, networks.analyse(output), networks.analyse(output, proper=False))}


def ln_total(net: DeepTransformer, constants: Mapping[str, float], *, proper: bool = False) -> float:
    """ln of gamma^3 (Lemma E.1), where a weight of kind i costs constants[i] (input norm/eps)^2."""
    costs, ln_heads = {kind: log(constant) for kind, constant in constants.items()}, math.log(net.heads)
    parts = [
        (costs[kind] + 2.0 * (ln_input + ln_beta)) / 3.0 + (0.0 if kind == "w" else ln_heads)
        for kind, ln_input, ln_beta in weights(net, proper=proper)
    ]
    return 3.0 * float(np.logaddexp.reduce(parts))


def covering_bound(ln_constant: float, eps: float, *hypotheses: Hypothesis) -> Bound:
    """exp(ln_constant)/eps^2 as an upper bound."""
    ln = ln_constant - 2.0 * math.log(eps)
    return upper_bound(exp(ln), ln=ln, hypotheses=hypotheses)


def complexity_variants(
    net: DeepTransformer, ln_constant: float, n: int | None, *hypotheses: Hypothesis, proper: bool
) -> dict[str, Bound]:
    """Dudley's bound for log N = C/eps^2 at the radius of the output, where a sample size is given."""
    if n is None:
        return {}
    radius = net.radius
    closed = chain = radius
    if ln_constant < 600.0:  # mutants: ends-of-the-floats
        constant = math.exp(ln_constant)
        closed = chaining.dudley_closed_half(constant, radius, n)
        run = chaining.proper_chain if proper else chaining.external_chain
        chain = run(quadratic_cover(constant, proper=proper), radius, n)
    quantity = Quantity.RADEMACHER_COMPLEXITY
    return {
        "rademacher_closed": upper_bound(closed, clip=radius, bounds=quantity, hypotheses=hypotheses),
        "rademacher_chain": upper_bound(chain, clip=radius, bounds=quantity, hypotheses=hypotheses),
    }


def printed_variants(net: DeepTransformer, C1: float, CBx: float, eps: float) -> Variants:
    """gamma, eta and (gamma + eta)^3/eps^2 letter by letter."""
    ln_1, ln_x, two_thirds = log(C1) / 3.0, log(CBx) / 3.0, 2.0 / 3.0
    ln_sigma, ln_w = math.log(net.L_sigma), math.log(net.Bw)
    ln_cv = ln_sigma + math.log(net.Bc2) + math.log(net.Bv2)
    ln_layer = ln_cv + math.log1p(4.0 * net.BQK2)
    ln_alpha = np.arange(net.layers - 1, -1, -1, dtype=np.float64) * ln_layer
    ln_gamma = np.logaddexp.reduce(
        [
            ln_x + two_thirds * (math.log(2.0) + ln_cv + ln_alpha[0] + ln_w),
            ln_1,
            ln_1 + two_thirds * (ln_w + ln_sigma + math.log(net.Bv2)),
        ]
    )
    tau = np.logaddexp.reduce([0.0, two_thirds * (math.log(2.0) + ln_cv), two_thirds * (ln_sigma + math.log(net.Bv2))])
    later = np.logaddexp.reduce(two_thirds * ln_alpha[1:]) if net.layers > 1 else -math.inf
    ln_eta = ln_1 + two_thirds * ln_w + tau + later
    ln = 3.0 * float(np.logaddexp(ln_gamma, ln_eta)) - 2.0 * math.log(eps)
    unit = verified("tokens in the unit ball: Bx <= 1 (the proof needs it)", net.Bx <= 1.0, net.Bx)
    small = verified("L_sigma <= 1 (W_c sees inputs of norm L_sigma)", net.L_sigma <= 1.0, net.L_sigma)
    one_head = verified("one head", net.heads == 1, net.heads)
    return {
        "value": printed_value(exp(ln), hypotheses=(unit, small, one_head), ln=ln),
        "gamma": side_number(exp(float(ln_gamma))),
        "eta": side_number(exp(float(ln_eta))),
    }
