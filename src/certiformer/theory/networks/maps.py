r"""Layers that act on every token by itself. Each class states its rule.

B, rho are radius and half-diameter of the input, s the spectral norm of the un-hatted weight, shat of the hatted one.
Proofs: docs/proofs/layers.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from certiformer.theory.core.errors import InputError
from certiformer.theory.core.rounding import up
from certiformer.theory.networks.graph import Effect, Errors, Hats, Layer, Node, Signal, signal
from certiformer.theory.networks.magnitude import ONE, UNBOUNDED, ZERO, Magnitude, size
from certiformer.theory.networks.weights import Geometry, Use, Weight, constant_use


@dataclass(frozen=True, slots=True)
class Linear(Layer):
    """z -> Wz: lambda = s; W: beta = 1 at radius B; output shat B, half-diameter shat rho."""

    weight: Weight

    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        (z,) = inputs
        self.weight.expect(None, z.dimension)
        spectral = hats.spectral(self.weight)
        out = signal(
            self.weight.shape[0],
            z.positions,
            spectral * z.radius,
            spectral * z.half_diameter,
            sup=hats.row(self.weight) * z.radius,
        )
        return Effect(out, (self.weight.spectral_norm,), (Use(self.weight, ONE, z.radius, z.l1, z.positions),))

    def spread(self, output: Signal) -> Magnitude:
        # Centred at zero, the layer's value at the centre is zero.
        return output.radius if self.weight.reference is None else output.radius + output.radius


@dataclass(frozen=True, slots=True)
class Bias(Layer):
    """z -> z + b: lambda = 1; b: beta = 1 at the constant input 1; output B + ||bhat||, half-diameter rho."""

    shift: Weight

    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        (z,) = inputs
        out = signal(
            z.dimension,
            z.positions,
            z.radius + hats.spectral(self.shift),
            z.half_diameter,
            sup=z.sup + hats.row(self.shift),
        )
        return Effect(out, (ONE,), (constant_use(self.shift, ONE, rows=z.dimension),))


def bias(z: Node, shift: Weight) -> Node:
    """z + b on every token; b is d x 1."""
    return Node(Bias(shift), (z,))


def linear(z: Node, weight: Weight, shift: Weight | None = None) -> Node:
    """W z (+ b) on every token."""
    node = Node(Linear(weight), (z,))
    return node if shift is None else bias(node, shift)


@dataclass(frozen=True, slots=True)
class Activation:
    """An elementwise map: |sigma(x) - sigma(y)| <= lipschitz |x - y|, |sigma(x)| <= min(growth |x|, sup)."""

    name: str
    lipschitz: float
    growth: float = math.inf
    sup: float = math.inf

    def __post_init__(self) -> None:
        if not (0.0 <= self.lipschitz < math.inf and min(self.growth, self.sup) < math.inf):
            raise InputError(f"activation {self.name}", self, "a finite Lipschitz constant, and a finite growth or sup")


# The largest slopes, rounded up: GELU at x = sqrt 2, the others where the second derivative vanishes.
IDENTITY = Activation("identity", 1.0, 1.0)
"""No activation."""
RELU = Activation("relu", 1.0, 1.0)
"""max(x, 0)."""
TANH = Activation("tanh", 1.0, 1.0, 1.0)
"""tanh x."""
SIGMOID = Activation("sigmoid", 0.25, sup=1.0)
"""1/(1 + e^-x)."""
GELU = Activation("gelu", 1.1289041452, 1.0)
"""x Phi(x), with its exact Lipschitz constant."""
GELU_TANH = Activation("gelu_tanh", 1.1289930687, 1.0)
"""The tanh form of GELU."""
SILU = Activation("silu", 1.0998393202, 1.0)
"""x/(1 + e^-x)."""


@dataclass(frozen=True, slots=True)
class Elementwise(Layer):
    """z -> sigma(z): lambda = L; output min(G B, sup sqrt d), half-diameter min(output, L rho)."""

    sigma: Activation

    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        (z,) = inputs
        lipschitz, sup = size(self.sigma.lipschitz), size(self.sigma.sup)
        spread = lipschitz * z.half_diameter
        if math.isinf(self.sigma.growth):
            # sigma(0) need not be 0: the input's size says nothing.
            return Effect(signal(z.dimension, z.positions, UNBOUNDED, spread, sup=sup), (lipschitz,))
        growth = size(self.sigma.growth)
        out = signal(z.dimension, z.positions, growth * z.radius, spread, growth * z.l1, min(growth * z.sup, sup))
        return Effect(out, (lipschitz,))


def activation(z: Node, sigma: Activation) -> Node:
    """sigma on every coordinate."""
    return Node(Elementwise(sigma), (z,))


@dataclass(frozen=True, slots=True)
class Scale(Layer):
    """z -> c z: everything times |c|."""

    factor: float

    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        (z,) = inputs
        c = size(abs(self.factor))
        return Effect(z.times(c), (c,))


def scale(z: Node, factor: float) -> Node:
    """c z, such as sqrt(d) times an embedding."""
    return Node(Scale(factor), (z,))


@dataclass(frozen=True, slots=True)
class Gain(Layer):
    """z -> g*z, coordinate by coordinate: lambda = max|g|; g: beta = B in the sup metric; output times max|ghat|."""

    factors: Weight

    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        (z,) = inputs
        use = constant_use(self.factors, z.radius, Geometry.ROWS, rows=z.dimension)
        return Effect(z.times(hats.row(self.factors)), (self.factors.row_norm,), (use,))


def gain(z: Node, factors: Weight) -> Node:
    """g*z on every token, without a normalisation: LayerScale; g is d x 1."""
    return Node(Gain(factors), (z,))


@dataclass(frozen=True, slots=True)
class Projection(Layer):
    """Rowwise projection on the ball of radius r: lambda = 1; output min(B, r), half-diameter min(output, rho)."""

    radius: float

    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        (z,) = inputs
        radius = min(z.radius, size(self.radius))
        # Tokens are only ever scaled down.
        return Effect(signal(z.dimension, z.positions, radius, z.half_diameter, z.l1, z.sup), (ONE,))


def project(z: Node, radius: float = 1.0) -> Node:
    """Every token to the nearest point of the ball. (x/||x|| is no substitute: it is not Lipschitz at 0.)"""
    return Node(Projection(radius), (z,))


@dataclass(frozen=True, slots=True)
class Bounded(Layer):
    """A fixed map on tokens, L-Lipschitz with outputs of norm at most r: lambda = L; output r, half-diameter L rho."""

    lipschitz: float
    radius: float

    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        (z,) = inputs
        factor = size(self.lipschitz, "lipschitz")
        return Effect(signal(z.dimension, z.positions, size(self.radius), factor * z.half_diameter), (factor,))


def bounded(z: Node, lipschitz: float, radius: float) -> Node:
    """A fixed normalisation of which only slope and size are known."""
    return Node(Bounded(lipschitz, radius), (z,))


@dataclass(frozen=True, slots=True)
class Normalisation(Layer):
    r"""u = Pz/sqrt(||Pz||^2/d + eps), then g*u + b; P removes the mean (LayerNorm) or is the identity (RMSNorm).

    lambda = max|g|/sqrt(eps). ||u|| <= R = B/sqrt(B^2/d + eps) < sqrt d. Gain: sqrt(d) in the sup metric, or in the
    l2 metric sqrt(d-1) for LayerNorm (u has mean zero, no coordinate holds all of it) and sqrt(d) for RMSNorm.
    Shift: a bias. Output max|ghat| R + ||bhat||, half-diameter max|ghat| min(R, rho/sqrt(eps)).

    With a `floor` tau the slope is max|g|/tau: true where sqrt(||Pz||^2/d + eps) >= tau in both networks, so examples
    are counted that fall below (`Analysis.conditions`, the certificate `cover.floors`).
    """

    eps: float
    centred: bool
    gain: Weight | None = None
    shift: Weight | None = None
    least: float = 0.0

    @property
    def floor(self) -> float:
        return self.least if self.least > math.sqrt(self.eps) else 0.0

    def counted_below(self, at: Errors) -> float:
        # The deviation is 1/sqrt(d)-Lipschitz.
        return up(self.floor + 2.0 * at.off[0].value / math.sqrt(at.inputs[0].dimension))

    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        (z,) = inputs
        slope, width = size(1.0 / max(math.sqrt(self.eps), self.least)), size(math.sqrt(z.dimension))
        # ||Pz|| <= B, and x/sqrt(x^2/d + eps) grows with x; an unbounded input still gives sqrt d.
        radius = width
        if z.radius.finite and z.radius != ZERO:
            # B/sqrt(B^2/d + eps) = sqrt(d)/sqrt(1 + d eps/B^2), what is divided by rounded down.
            ln_ratio = math.log(z.dimension * self.eps) - 2.0 * z.radius.ln
            shrink = 0.5 * (max(ln_ratio, 0.0) + math.log1p(math.exp(-abs(ln_ratio))))
            # mutants: rounding-margins
            radius = min(width, width * Magnitude(16.0 * 2.0**-53 * (1.0 + abs(ln_ratio)) - shrink))
        elif z.radius == ZERO:
            radius = ZERO
        gain = ONE if self.gain is None else self.gain.row_norm
        gain_hat = ONE if self.gain is None else hats.row(self.gain)
        shift_hat = ZERO if self.shift is None else hats.spectral(self.shift)
        out = signal(
            z.dimension,
            z.positions,
            gain_hat * radius + shift_hat,
            gain_hat * min(radius, slope * z.half_diameter),
        )
        uses = []
        if self.gain is not None:
            # ||dg * u|| <= ||dg||_inf ||u||_2 and <= ||dg||_2 ||u||_inf, ||u||_inf <= largest ||u||_2.
            largest = size(math.sqrt((z.dimension - 1) / z.dimension)) if self.centred else ONE
            uses.append(constant_use(self.gain, radius, Geometry.ROWS, rows=z.dimension, euclidean_discount=largest))
        if self.shift is not None:
            uses.append(constant_use(self.shift, ONE, rows=z.dimension))
        return Effect(out, (gain * slope,), tuple(uses))


def layer_norm(
    z: Node, gain: Weight | None = None, shift: Weight | None = None, *, eps: float = 1e-5, floor: float = 0.0
) -> Node:
    """LayerNorm over the coordinates of each token; gain and shift are d x 1. A `floor` is a condition."""
    return Node(Normalisation(_positive(eps), True, gain, shift, floor), (z,))


def rms_norm(z: Node, gain: Weight | None = None, *, eps: float = 1e-5, floor: float = 0.0) -> Node:
    """RMSNorm over the coordinates of each token; the gain is d x 1. A `floor` is a condition."""
    return Node(Normalisation(_positive(eps), False, gain, least=floor), (z,))


@dataclass(frozen=True, slots=True)
class Unit(Layer):
    """z -> z/max(||z||, e): lambda = 1/e; output min(1, B/e), half-diameter min(1, rho/e)."""

    least: float

    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        (z,) = inputs
        slope = size(1.0 / self.least)
        return Effect(signal(z.dimension, z.positions, min(ONE, slope * z.radius), slope * z.half_diameter), (slope,))


def unit(z: Node, least: float) -> Node:
    """Every token divided by max(its norm, least)."""
    if not 0.0 < least < math.inf:
        raise InputError("least", least, "a positive number", "x/||x|| alone is not Lipschitz at 0")
    return Node(Unit(least), (z,))


@dataclass(frozen=True, slots=True)
class SquaredRelu(Layer):
    """z -> max(z, 0)^2: lambda = 2 sup|z|; output sup|z| B, half-diameter 2 sup|z| rho, sup|z|^2."""

    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        (z,) = inputs
        slope = size(2.0) * z.sup
        out = signal(z.dimension, z.positions, z.sup * z.radius, slope * z.half_diameter, z.sup * z.l1, z.sup * z.sup)
        return Effect(out, (slope,))


def squared_relu(z: Node) -> Node:
    """max(z, 0)^2 on every coordinate; what comes in must be bounded."""
    return Node(SquaredRelu(), (z,))


def soft_cap(cap: float) -> Activation:
    """c tanh(z/c): slope 1, never above c."""
    return Activation(f"soft cap {cap:g}", 1.0, 1.0, cap)


def _positive(eps: float) -> float:
    if not 0.0 < eps < math.inf:
        raise InputError("eps", eps, "a positive number", "Without it the normalisation is not Lipschitz at 0")
    return eps
