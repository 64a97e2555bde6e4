r"""The layers of a Transformer except attention, as rules on a graph. Proofs: docs/proofs/layers.md.

Each function returns the `Node` that applies a layer; each class below it states its rule: Lipschitz factor lambda,
sensitivities beta to its own weights, output radius, output half-diameter. B, rho are radius and half-diameter of the
input, s the spectral norm of the un-hatted weight, shat that of the hatted one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from certiformer.calculus.layers.graph import Effect, Hats, Layer, Node, Signal, signal
from certiformer.calculus.layers.magnitude import ONE, UNBOUNDED, ZERO, Magnitude, size, total
from certiformer.calculus.layers.weights import Geometry, Use, Weight, constant_use
from certiformer.core.errors import InputError


def check_shape(weight: Weight, rows: int | None, columns: int | None) -> None:
    """A clear error when a weight does not fit the signal it reads or writes."""
    wanted = (weight.shape[0] if rows is None else rows, weight.shape[1] if columns is None else columns)
    if weight.shape != wanted:
        raise InputError(f"shape of {weight.name}", weight.shape, f"{wanted} (outputs x inputs)")


# --- sources ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tokens(Layer):
    """Fixed (untrained) tokens: no error, given radii."""

    out: Signal

    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        return Effect(self.out, ())


def tokens(
    dimension: int,
    radius: float,
    *,
    positions: int,
    half_diameter: float = math.inf,
    l1: float = math.inf,
    sup: float = math.inf,
) -> Node:
    """The inputs: at most `positions` tokens per sample, of l2 norm at most `radius` and half-diameter `half_diameter`.

    The radii hold on the sample for a bound on that sample, on the support for a bound on every sample.
    """
    if not (dimension >= 1 and positions >= 1):
        raise InputError("dimension, positions", (dimension, positions), "counts, at least 1 each")
    if not radius < math.inf:
        raise InputError("radius", radius, "a finite bound on the l2 norm of every token")
    sizes = (size(radius, "radius"), size(half_diameter, "half_diameter"), size(l1, "l1"), size(sup, "sup"))
    return Node(Tokens(signal(dimension, positions, *sizes)))


@dataclass(frozen=True, slots=True)
class Embedding(Layer):
    """Rows of a trained table: table beta = 1 in the largest-row metric; B = rho = largest row."""

    table: Weight
    positions: int

    @property
    def weights(self) -> tuple[Weight, ...]:
        return (self.table,)

    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        entries, dimension = self.table.shape
        use = Use(self.table, ONE, ONE, ONE, self.positions, Geometry.LOOKUP, atoms=entries)
        return Effect(signal(dimension, self.positions, hats.row(self.table)), (), (use,))


def embedding(table: Weight, *, positions: int) -> Node:
    """A trained embedding (or position) table, one row per entry, read at `positions` places per sample."""
    return Node(Embedding(table, positions))


@dataclass(frozen=True, slots=True)
class Prepend(Layer):
    """One more token, trained: lambda = 1, token beta = 1; the metric is a maximum, so errors do not even add."""

    token: Weight

    @property
    def weights(self) -> tuple[Weight, ...]:
        return (self.token,)

    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        (z,) = inputs
        check_shape(self.token, z.dimension, 1)
        out = signal(
            z.dimension,
            z.positions + 1,
            max(z.radius, hats.spectral(self.token)),
            sup=max(z.sup, hats.row(self.token)),
        )
        return Effect(out, (ONE,), (constant_use(self.token, ONE),))


def prepend(z: Node, token: Weight) -> Node:
    """The tokens of z and one trained token, such as CLS."""
    return Node(Prepend(token), (z,))


# --- linear and elementwise maps --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Linear(Layer):
    """z -> Wz: lambda = s; W: beta = 1 at radius B; output shat B, half-diameter shat rho."""

    weight: Weight

    @property
    def weights(self) -> tuple[Weight, ...]:
        return (self.weight,)

    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        (z,) = inputs
        check_shape(self.weight, None, z.dimension)
        spectral = hats.spectral(self.weight)
        out = signal(
            self.weight.shape[0],
            z.positions,
            spectral * z.radius,
            spectral * z.half_diameter,
            sup=hats.row(self.weight) * z.radius,
        )
        return Effect(out, (self.weight.spectral_norm,), (Use(self.weight, ONE, z.radius, z.l1, z.positions),))


@dataclass(frozen=True, slots=True)
class Bias(Layer):
    """z -> z + b: lambda = 1; b: beta = 1 at the constant input 1; output B + ||bhat||, half-diameter rho."""

    shift: Weight

    @property
    def weights(self) -> tuple[Weight, ...]:
        return (self.shift,)

    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        (z,) = inputs
        check_shape(self.shift, z.dimension, 1)
        out = signal(
            z.dimension,
            z.positions,
            z.radius + hats.spectral(self.shift),
            z.half_diameter,
            sup=z.sup + hats.row(self.shift),
        )
        return Effect(out, (ONE,), (constant_use(self.shift, ONE),))


def bias(z: Node, shift: Weight) -> Node:
    """z + b on every token; b is d x 1."""
    return Node(Bias(shift), (z,))


def linear(z: Node, weight: Weight, shift: Weight | None = None) -> Node:
    """W z (+ b) on every token."""
    return _with_bias(Node(Linear(weight), (z,)), shift)


def _with_bias(z: Node, shift: Weight | None) -> Node:
    return z if shift is None else bias(z, shift)


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
RELU = Activation("relu", 1.0, 1.0)
TANH = Activation("tanh", 1.0, 1.0, 1.0)
SIGMOID = Activation("sigmoid", 0.25, sup=1.0)
GELU = Activation("gelu", 1.1289041452, 1.0)
GELU_TANH = Activation("gelu_tanh", 1.1289930687, 1.0)
SILU = Activation("silu", 1.0998393202, 1.0)


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
        out = signal(z.dimension, z.positions, c * z.radius, c * z.half_diameter, c * z.l1, c * z.sup)
        return Effect(out, (c,))


def scale(z: Node, factor: float) -> Node:
    """c z, such as sqrt(d) times an embedding."""
    return Node(Scale(factor), (z,))


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
class Normalisation(Layer):
    r"""u = Pz/sqrt(||Pz||^2/d + eps), then g*u + b; P removes the mean (LayerNorm) or is the identity (RMSNorm).

    lambda = max|g|/sqrt(eps). ||u|| <= R = B/sqrt(B^2/d + eps) < sqrt d. Gain: sqrt(d) in the sup metric, or in the
    l2 metric sqrt(d-1) for LayerNorm (u has mean zero, no coordinate holds all of it) and sqrt(d) for RMSNorm.
    Shift: a bias. Output max|ghat| R + ||bhat||, half-diameter max|ghat| min(R, rho/sqrt(eps)).
    """

    eps: float
    centred: bool
    gain: Weight | None = None
    shift: Weight | None = None

    @property
    def weights(self) -> tuple[Weight, ...]:
        return tuple(weight for weight in (self.gain, self.shift) if weight is not None)

    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        (z,) = inputs
        dimension, slope, width = size(z.dimension), size(1.0 / math.sqrt(self.eps)), size(math.sqrt(z.dimension))
        # ||Pz|| <= B, and x/sqrt(x^2/d + eps) grows with x; an unbounded input still gives sqrt d.
        radius = width
        if z.radius.finite:
            radius = min(width, z.radius / (z.radius * z.radius / dimension + size(self.eps)).root())
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
            check_shape(self.gain, z.dimension, 1)
            largest = math.sqrt((z.dimension - 1) / z.dimension) if self.centred else 1.0
            uses.append(self._gain_use(self.gain, radius, size(largest)))
        if self.shift is not None:
            check_shape(self.shift, z.dimension, 1)
            uses.append(constant_use(self.shift, ONE))
        return Effect(out, (gain * slope,), tuple(uses))

    def _gain_use(self, gain: Weight, radius: Magnitude, largest: Magnitude) -> Use:
        # ||dg * u|| <= ||dg||_inf ||u||_2 and <= ||dg||_2 ||u||_inf, ||u||_inf <= largest ||u||_2.
        return Use(gain, radius, ONE, ONE, 1, Geometry.ROWS, atoms=1, euclidean_discount=largest)


def layer_norm(z: Node, gain: Weight | None = None, shift: Weight | None = None, *, eps: float = 1e-5) -> Node:
    """LayerNorm over the coordinates of each token; gain and shift are d x 1."""
    return Node(Normalisation(_positive(eps), True, gain, shift), (z,))


def rms_norm(z: Node, gain: Weight | None = None, *, eps: float = 1e-5) -> Node:
    """RMSNorm over the coordinates of each token; the gain is d x 1."""
    return Node(Normalisation(_positive(eps), False, gain), (z,))


def _positive(eps: float) -> float:
    if not 0.0 < eps < math.inf:
        raise InputError("eps", eps, "a positive number", "Without it the normalisation is not Lipschitz at 0")
    return eps


# --- joining and pooling ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sum(Layer):
    """z_1 + z_2 + ...: lambda = 1 for each; radii and half-diameters add."""

    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        out = signal(
            *_common_shape(inputs),
            total(*(z.radius for z in inputs)),
            total(*(z.half_diameter for z in inputs)),
            total(*(z.l1 for z in inputs)),
            total(*(z.sup for z in inputs)),
        )
        return Effect(out, (ONE,) * len(inputs))


def _common_shape(inputs: tuple[Signal, ...]) -> tuple[int, int]:
    """(dimension, positions) of signals combined token by token; a single token goes with every position."""
    dimensions = {z.dimension for z in inputs}
    positions = {z.positions for z in inputs} - {1} or {1}
    if len(dimensions) != 1 or len(positions) != 1:
        shapes = [(z.positions, z.dimension) for z in inputs]
        raise InputError("signals (positions x dimension)", shapes, "equal shapes, or single tokens")
    return dimensions.pop(), positions.pop()


def add(*parts: Node) -> Node:
    """The sum of signals: a residual connection, added positions, summed heads. One token is added to all positions."""
    return Node(Sum(), parts)


@dataclass(frozen=True, slots=True)
class Product(Layer):
    """a * b coordinatewise: lambda_a = sup|b|, lambda_b = sup|a|; output min(sup|a| B_b, B_a sup|b|)."""

    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        a, b = inputs
        out = signal(
            *_common_shape(inputs),
            min(a.sup * b.radius, a.radius * b.sup),
            a.half_diameter * b.sup + a.sup * b.half_diameter,
            a.radius * b.radius,
            a.sup * b.sup,
        )
        return Effect(out, (b.sup, a.sup))


def multiply(a: Node, b: Node) -> Node:
    """The coordinatewise product of two signals: a gate."""
    return Node(Product(), (a, b))


def gated_feed_forward(
    z: Node,
    gate: Weight,
    up: Weight,
    down: Weight,
    sigma: Activation = SILU,
    *,
    gate_shift: Weight | None = None,
    up_shift: Weight | None = None,
    down_shift: Weight | None = None,
) -> Node:
    """W_down (sigma(W_gate z) * W_up z): SwiGLU with SILU, GEGLU with GELU, GLU with SIGMOID."""
    gated = multiply(activation(linear(z, gate, gate_shift), sigma), linear(z, up, up_shift))
    return linear(gated, down, down_shift)


def feed_forward(
    z: Node,
    up: Weight,
    down: Weight,
    sigma: Activation,
    *,
    up_shift: Weight | None = None,
    down_shift: Weight | None = None,
) -> Node:
    """W_down sigma(W_up z)."""
    return linear(activation(linear(z, up, up_shift), sigma), down, down_shift)


@dataclass(frozen=True, slots=True)
class Pooling(Layer):
    """One token per sample, chosen or averaged: lambda = 1, radius B; what follows sees one input per sample."""

    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        (z,) = inputs
        return Effect(signal(z.dimension, 1, z.radius, l1=z.l1, sup=z.sup), (ONE,))


def mean_pool(z: Node) -> Node:
    """The mean of the tokens."""
    return Node(Pooling(), (z,))


def pick(z: Node) -> Node:
    """One token: CLS, the last one, or the masked one, wherever it is."""
    return Node(Pooling(), (z,))


# --- outputs ----------------------------------------------------------------------------------------------------------


def readout(z: Node, weight: Weight, shift: Weight | None = None) -> Node:
    """The scalar w^T z (+ b); w is 1 x d."""
    check_shape(weight, 1, None)
    return linear(z, weight, shift)


@dataclass(frozen=True, slots=True)
class VocabularyHead(Layer):
    """z -> Wz + b in the metric max over coordinates: lambda = largest row; W: beta = 1 at radius B; b: beta = 1."""

    weight: Weight
    shift: Weight | None = None

    @property
    def weights(self) -> tuple[Weight, ...]:
        return (self.weight,) if self.shift is None else (self.weight, self.shift)

    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        (z,) = inputs
        check_shape(self.weight, None, z.dimension)
        uses = [Use(self.weight, ONE, z.radius, z.l1, z.positions, Geometry.ROWS)]
        radius = hats.row(self.weight) * z.radius
        if self.shift is not None:
            check_shape(self.shift, self.weight.shape[0], 1)
            uses.append(constant_use(self.shift, ONE, Geometry.ROWS))
            radius = radius + hats.row(self.shift)
        out = Signal(self.weight.shape[0], z.positions, radius, UNBOUNDED, UNBOUNDED, radius, logits=True)
        return Effect(out, (self.weight.row_norm,), tuple(uses))


def vocabulary(z: Node, weight: Weight, shift: Weight | None = None) -> Node:
    """The logits W z (+ b), W one row per class, in the sup metric; only a loss may follow."""
    return Node(VocabularyHead(weight, shift), (z,))


@dataclass(frozen=True, slots=True)
class Loss(Layer):
    """l(z, y), L-Lipschitz in the metric of z, values in [0, c]: lambda = L; |l - centre| <= min(c/2, L B)."""

    lipschitz: float
    bound: float
    reads_logits: ClassVar[bool] = True

    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        (z,) = inputs
        factor = size(self.lipschitz, "lipschitz")
        # Centre c/2, or l(0, y): both are fixed functions of the example.
        return Effect(signal(1, z.positions, min(size(self.bound / 2.0, "bound"), factor * z.radius)), (factor,))


def loss(z: Node, lipschitz: float, bound: float = math.inf) -> Node:
    """A loss in [0, bound]; after a vocabulary head it must be Lipschitz in the sup norm (cross entropy: 2)."""
    return Node(Loss(lipschitz, bound), (z,))
