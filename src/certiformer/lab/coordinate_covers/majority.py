r"""Sparse majority in minimal coordinates: what the class does not use, it does not pay for.

The CLS query is the same in every example, so of W_QK only q = W_QK^T x_CLS matters; with no activation between them,
W_v, W_c and w are one vector v; and only the 2T+1 tokens of the vocabulary occur, which is known before any example is
seen. So a network of H heads is

.. math:: f(X) = \frac1H \sum_h \sum_s \mathrm{softmax}_s(x_s^\top q_h)\,(x_s^\top v)

with v fixed so that a one counts +1, a zero -1 and CLS nothing, as nearly as the vocabulary allows, and each q_h
orthogonal to the difference of the two bits' embeddings, in a space of r dimensions, r the numerical rank of the
positions. A head may rest on CLS, so heads need no gains. There are H r coordinates, whitened: a coordinate moves the
scores of all positions by one, in the mean square.

Both certificates use all n examples:

- O: the coordinates on a grid, under a discretised Gaussian;
- M: |f - f'| <= (half the range of the values) (1/H) sum_h osc(score_h - score'_h)/2 on every input, by T1, so covers
  of the scores in the norm osc/2 over the vocabulary, r ln(1 + 2R/eps) each, cover the class over the whole domain.

Training makes the weights 1/H sum_h softmax(score_h) match the correlations of the bits with the label, by descent
from many random starts; then it rounds to the grid, and moves one coordinate by one cell for as long as that lowers
the loss on the examples plus the code length. Every predictor is paid for by the prior (O) or by the cover (M), so any
search may be used.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float
from numpy.typing import ArrayLike, NDArray

from certiformer.certificates import Evidence, Predictor
from certiformer.certificates._covers import Scale, frontier
from certiformer.certificates.cover_soft import SoftCover
from certiformer.certificates.margin import Margin
from certiformer.certificates.occam import Occam
from certiformer.theory import networks
from certiformer.theory.calculus import quantised, strata
from certiformer.theory.calculus.covers import Cover, volumetric
from certiformer.theory.calculus.softmax import softmax
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.rounding import up

Array64 = NDArray[np.float64]

SIGNIFICANT = 4.0
"""A bit counts as correlated with the label beyond this many standard deviations of no correlation."""

ROUNDING = 1e-9
"""More than float64 arithmetic can change f by, twice over.

With F computed for f and g of the cover near f, y F <= 0 gives y g <= gamma/2 + |F - f|, and that
y F <= gamma + 2 |F - f|: margin errors are counted up to gamma + ROUNDING.
"""


@dataclass(frozen=True)
class Settings:
    """Fixed before the examples are drawn. `tried` is at least the number of configurations that were ever run.

    `tolerance` decides which directions of the positions count as rank. `decay` pulls the coordinates to zero while the
    correlations are matched. O has the grid `grid`, on which at most `moves` steps are taken. M has the margins
    `widest` i/`margins`, i = 1, 2, ..., and the radii `radius_base` `radius_ratio`^j.
    """

    tokens: int = 20
    n: int = 10_000
    heads: int = 2
    tolerance: float = 1e-5
    restarts: int = 64
    spread: float = 3.0
    match_steps: int = 3000
    match_rate: float = 0.1
    decay: float = 1e-5
    grid: float = 1.0
    sharpness: float = 100.0
    moves: int = 200
    scales: int = 16
    margins: int = 64
    widest: float = 0.128
    radius_base: float = 10.0
    radius_ratio: float = 1.1
    tried: int = 64


@dataclass(frozen=True, eq=False)
class Coordinates:
    """By row of the token table: scores are `scores @ alpha_h`, values x^T v; q_h is `queries @ alpha_h`."""

    scores: Array64
    queries: Array64
    v: Array64
    values: Array64
    cls_token: Array64

    @property
    def dimension(self) -> int:
        return int(self.scores.shape[1])

    @property
    def tokens(self) -> int:
        return (len(self.scores) - 1) // 2

    @property
    def half_range(self) -> float:
        """Half the spread of the values: the Lipschitz constant of a head in its scores, by T1."""
        return up(float(np.ptp(self.values)) / 2.0)


def coordinates(vocabulary: ArrayLike, tolerance: float) -> Coordinates:
    """Minimal coordinates from the table of the vocabulary alone: zeros, ones, CLS."""
    table = np.asarray(vocabulary, dtype=np.float64)
    tokens = (len(table) - 1) // 2
    zeros, ones, cls_token = table[:tokens], table[tokens : 2 * tokens], table[2 * tokens]
    bit = np.mean(ones - zeros, axis=0)
    unit = bit / np.linalg.norm(bit)
    # Scores must not see the bit: positions with the direction of the bit removed.
    rows = np.vstack([zeros, cls_token])
    rows = rows - np.outer(rows @ unit, unit)
    _, singular, right = np.linalg.svd(rows, full_matrices=False)
    rank = int(np.sum(singular > tolerance * singular[0]))
    queries = right[:rank].T / singular[:rank] * math.sqrt(len(rows) / rank)
    # The table's own rounding makes zeros and ones differ a little in score, so the table itself is what counts.
    wanted = np.concatenate([-np.ones(tokens), np.ones(tokens), [0.0]])
    v = np.linalg.lstsq(table, wanted, rcond=tolerance)[0]
    return Coordinates(table @ queries, queries, v, table @ v, cls_token)


def outputs(place: Coordinates, alpha: Array64, bits: NDArray[Any]) -> Array64:
    """f on many sequences, in float64, from the tables of the vocabulary: the program that is certified."""
    tokens = place.tokens
    scores = place.scores @ alpha.T
    mass = np.exp(scores - np.max(scores, axis=0))
    one = bits.astype(np.float64)

    def total(table: Array64) -> Array64:
        return np.asarray((1.0 - one) @ table[:tokens] + one @ table[tokens : 2 * tokens] + table[2 * tokens])

    return np.asarray(np.mean(total(mass * place.values[:, None]) / total(mass), axis=1), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Sequences:
    """Bits of sequences, and the vocabulary in which they are written: what a predictor is counted on again."""

    bits: NDArray[Any]
    table: NDArray[Any]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.bits, dtype=dtype)

    def __len__(self) -> int:
        return len(self.bits)


class Heads(Predictor):
    """Heads at given coordinates over a vocabulary: integers on the grid of O, or the real numbers of M.

    Inputs are bits (n, T).
    """

    kind: ClassVar[str] = "majority heads"

    def __init__(self, table: NDArray[Any], alpha: NDArray[Any], chosen: Settings) -> None:
        self.table, self.alpha, self.chosen = np.asarray(table), np.asarray(alpha), chosen
        self.place = coordinates(self.table, chosen.tolerance)

    @property
    def on_grid(self) -> bool:
        return bool(np.issubdtype(self.alpha.dtype, np.integer))

    @property
    def point(self) -> Array64:
        """The coordinates as numbers."""
        return self.alpha.astype(np.float64) * (self.chosen.grid if self.on_grid else 1.0)

    def tensors(self) -> Mapping[str, NDArray[Any]]:
        return {"table": self.table, "coordinates": self.alpha}

    def settings(self) -> Mapping[str, Any]:
        return asdict(self.chosen)

    @classmethod
    def restore(cls, tensors: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> Self:
        return cls(tensors["table"], tensors["coordinates"], Settings(**settings))

    def outputs(self, inputs: ArrayLike) -> Array64:
        bits = np.asarray(inputs)
        if bits.ndim != 2 or bits.shape[1] != self.place.tokens or not np.isin(bits, (0, 1)).all():
            raise InputError("inputs", f"shape {bits.shape}", f"bits, {self.place.tokens} in a row")
        return outputs(self.place, self.point, bits)

    def recount(self, record: Evidence, inputs: ArrayLike, labels: NDArray[np.int64]) -> Evidence:
        if isinstance(inputs, Sequences) and not np.array_equal(inputs.table, self.table):
            raise InputError("predictor", "another vocabulary", "the tokens of the task, which are not chosen")
        margins = (2.0 * labels - 1.0) * self.outputs(inputs)
        if isinstance(record, Occam) and self.on_grid:
            parts = code_length(self.chosen, self.alpha)
            errors = int(np.sum(margins <= 0))
            return replace(record, errors=errors, n=len(labels), code_length=math.fsum(parts.values()), parts=parts)
        counted = (self.chosen, self.place, self.point, margins)
        if isinstance(record, SoftCover):
            return replace(record, n=len(labels), scales=soft_scales(*counted))
        if isinstance(record, Margin):
            return replace(record, n=len(labels), scales=margin_scales(*counted))
        raise InputError("predictor", self.kind, "an Occam row on the grid, or a cover", f"Not {record.id}")


# --- training ---------------------------------------------------------------------------------------------------------


def position_weights(basis: Float[Array, "positions r"], alpha: Float[Array, "heads r"]) -> Float[Array, " tokens"]:
    """What a bit at each position counts in f; the last position is CLS, which counts nothing."""
    return jnp.mean(jax.nn.softmax(basis @ alpha.T, axis=0), axis=1)[:-1]


def correlations(bits: NDArray[Any], signs: Array64) -> Array64:
    """Correlation of each bit with the label, those that may be chance set to zero, absolute values adding to one."""
    found = np.mean(signs[:, None] * (2.0 * bits - 1.0), axis=0)
    kept = np.where(np.abs(found) > SIGNIFICANT / math.sqrt(len(signs)), found, 0.0)
    return np.asarray(kept / max(float(np.sum(np.abs(kept))), 1e-300), dtype=np.float64)


def match(settings: Settings, place: Coordinates, target: Array64, seed: int) -> Array64:
    """alpha (heads, r) whose weights come closest to a multiple of `target`, the best of many random starts."""
    keys = jax.random.split(jax.random.key(seed), settings.restarts)
    choices = (settings.heads, settings.spread, settings.match_steps, settings.match_rate, settings.decay)
    found, values = _descent(*choices)(keys, position_basis(place), jnp.asarray(target, jnp.float32))
    return np.asarray(found[int(np.argmin(np.asarray(values)))], dtype=np.float64)


@functools.lru_cache(maxsize=8)
def _descent(heads: int, spread: float, steps: int, rate: float, decay: float) -> Any:
    """Compiled once for all targets: (keys, basis, target) -> alpha and the objective, for each key."""
    optimiser = optax.adam(optax.cosine_decay_schedule(rate, steps))

    def objective(alpha: Array, basis: Array, wanted: Array) -> Array:
        weights = position_weights(basis, alpha)
        missed = 1.0 - jnp.sum(weights * wanted) ** 2 / (jnp.sum(weights**2) * jnp.sum(wanted**2) + 1e-12)
        return missed + decay * jnp.sum(alpha**2)

    def descent(key: Array, basis: Array, wanted: Array) -> tuple[Array, Array]:
        start = spread * jax.random.normal(key, (heads, basis.shape[1]), jnp.float32)

        def step(state: Any, _: Any) -> tuple[Any, None]:
            alpha, memory = state
            updates, memory = optimiser.update(jax.grad(objective)(alpha, basis, wanted), memory)
            return (optax.apply_updates(alpha, updates), memory), None

        (alpha, _), _ = jax.lax.scan(step, (start, optimiser.init(start)), length=steps)
        return alpha, objective(alpha, basis, wanted)

    return jax.jit(jax.vmap(descent, in_axes=(0, None, None)))


def round_off(
    settings: Settings, place: Coordinates, start: Array64, bits: NDArray[Any], signs: Array64
) -> NDArray[np.int64]:
    """Integer coordinates (heads, r) near `start`: the best single step of the grid, until none helps.

    What falls is sum_i ln(1 + exp(-sharpness y_i f(x_i))) plus the energy of the coordinates under the prior.
    """
    basis = np.asarray(position_basis(place), dtype=np.float64)
    signed = (signs[:, None] * (2.0 * bits - 1.0)).astype(np.float32)
    z = np.round(start / settings.grid).astype(np.int64)
    _, scale = quantised.best_scale(z.ravel(), settings.grid, scale_grid(settings))
    steps = np.eye(z.size, dtype=np.int64).reshape(-1, *z.shape)
    candidates = np.concatenate([np.zeros((1, *z.shape), np.int64), steps, -steps])
    for _ in range(settings.moves):
        near = settings.grid * (z + candidates)
        weights = np.mean(softmax(near @ basis.T), axis=1)[:, :-1]
        loss = np.sum(
            np.logaddexp(np.float32(0), -settings.sharpness * (signed @ weights.T.astype(np.float32))), axis=0
        )
        best = int(np.argmin(loss + np.sum((near / scale) ** 2, axis=(1, 2)) / 2.0))
        if best == 0:
            break
        z = z + candidates[best]
    return z


def position_basis(place: Coordinates) -> Float[Array, "positions r"]:
    """Scores of the T positions, the mean over the two bits, and of CLS."""
    zeros, ones = place.scores[: place.tokens], place.scores[place.tokens : 2 * place.tokens]
    return jnp.asarray(np.vstack([(zeros + ones) / 2.0, place.scores[-1:]]), jnp.float32)


# --- what is paid -----------------------------------------------------------------------------------------------------


def scale_grid(settings: Settings) -> list[float]:
    """The scales of the prior: sqrt(2)^i."""
    return [2.0 ** (i / 2) for i in range(settings.scales)]


def code_length(settings: Settings, z: NDArray[np.int64]) -> dict[str, float]:
    """-ln P(h) in nats; the dimension is that of the vocabulary and the settings, and costs nothing more."""
    nats, _ = quantised.best_scale(z.ravel(), settings.grid, scale_grid(settings))
    return {"coordinates and their scale": nats, "configurations tried": math.log(settings.tried)}


def half_oscillation(place: Coordinates, alpha: Array64) -> Array64:
    """(max - min)/2 of each head's scores over the vocabulary: the norm of the covers."""
    return np.asarray(np.ptp(place.scores @ alpha.T, axis=0) / 2.0, dtype=np.float64)


def radius_indices(settings: Settings, place: Coordinates, alpha: Array64) -> tuple[int, ...]:
    """The stratum of each head's scores, rounded up."""
    norms = [up(float(norm)) for norm in half_oscillation(place, alpha)]
    return tuple(strata.index(norm, base=settings.radius_base, ratio=settings.radius_ratio) for norm in norms)


def class_cover(settings: Settings, place: Coordinates, indices: tuple[int, ...]) -> Cover:
    """A sup-norm cover, over every sequence of the vocabulary, of the networks in the strata `indices`."""
    return _network_cover(settings, place, indices, lambda radius: volumetric(radius, place.dimension))


def soft_cover(settings: Settings, place: Coordinates, indices: tuple[int, ...]) -> Cover:
    """The same allocation with prior mass for covers: a ball of radius eps in one of R + eps, r ln(1 + R/eps)."""
    return _network_cover(settings, place, indices, lambda radius: _mass(radius, place.dimension))


def _network_cover(
    settings: Settings, place: Coordinates, indices: tuple[int, ...], head: Callable[[float], Cover]
) -> Cover:
    """The mean of H heads on the engine: fixed values, and a trained table of scores with a cover of its own."""
    largest = up(float(np.max(np.abs(place.values))))
    values = networks.tokens(1, largest, positions=place.tokens + 1, half_diameter=place.half_range)
    heads = []
    for h, index in enumerate(indices):
        radius = up(strata.radius(index, base=settings.radius_base, ratio=settings.radius_ratio))
        # One column of r coordinates, in the norm osc/2 of the scores, which is how a head feels them (T1).
        table = networks.Weight(f"head {h}", (place.dimension, 1), max_row=radius, cover=head(radius))
        heads.append(networks.attend(values, values, values, scale=0.0, score_bias=table))
    mean = networks.scale(networks.add(*heads), up(1.0 / len(indices)))
    return networks.analyse(networks.pick(mean)).cover


def _mass(radius: float, dimension: int) -> Cover:
    return Cover("soft", math.log(radius), lambda x: dimension * (x + math.log1p(math.exp(-x))), parameters=dimension)


def margin_prices(settings: Settings, indices: tuple[int, ...]) -> dict[str, float]:
    """What the choices cost, in nats: one stratum per head, the margin, the configurations tried."""
    return {
        "radii": strata.cost(indices),
        "margin": math.log(settings.margins),
        "configurations tried": math.log(settings.tried),
    }


def margin_grid(settings: Settings) -> list[float]:
    """The paid grid of margins."""
    return [settings.widest * (i + 1) / settings.margins for i in range(settings.margins)]


def margin_scales(settings: Settings, place: Coordinates, alpha: Array64, margins: Array64) -> tuple[Scale, ...]:
    """ln N(gamma/2) over the domain at the rounded-up radii, and the margin errors, at every margin of the grid."""
    indices = radius_indices(settings, place, alpha)
    return _scales(settings, indices, class_cover(settings, place, indices), margins)


def soft_scales(settings: Settings, place: Coordinates, alpha: Array64, margins: Array64) -> tuple[Scale, ...]:
    """-ln of the prior mass within gamma/2, at the same margins and the same prices."""
    indices = radius_indices(settings, place, alpha)
    return frontier(_scales(settings, indices, soft_cover(settings, place, indices), margins))


def _scales(settings: Settings, indices: tuple[int, ...], cover: Cover, margins: Array64) -> tuple[Scale, ...]:
    paid = math.fsum(margin_prices(settings, indices).values())
    return tuple(
        Scale(int(np.sum(margins <= gamma + ROUNDING)), up(cover.log_size(gamma / 2.0)), paid, gamma)
        for gamma in margin_grid(settings)
    )
