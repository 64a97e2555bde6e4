"""Least squares with a Transformer teacher: the runs behind the experiments that Li et al.'s theorems ask for.

A class is a product of balls: every weight matrix (or factor of one) has spectral norm at most its radius. The teacher
lies inside. Labels are Y = f0(X) + sigma or f0(X) - sigma with equal chances, so that the squared loss has a Lipschitz
constant that is valid for every label; tokens are N(0, I/d), shortened to norm at most 1. Two estimates are made from
each sample by damped Gauss-Newton steps, projected onto the balls:

local     started at the teacher: what is left is statistical error;
random    started elsewhere, the best of some restarts by training loss: statistical and optimisation error.

The proof of the sound bound S2 asks of the estimate only that it lies in the class and that its training loss is not
above the teacher's. Steps are taken only downhill, so the local estimate meets this always; `random_fits` says whether
the other one does.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Float

from certiformer.lab.models._base import activation
from certiformer.lab.models._draws import clip_tokens, signs
from certiformer.lab.models.cls_transformer import ClsTransformer, ClsTransformerConfig
from certiformer.reproduction.designs import _li_exact
from certiformer.reproduction.sweep import Config, Outcome

Vectors = npt.NDArray[np.float64]
CHUNK = 512  # examples in one call of the compiled program, so that one program serves every n
GAP = 1e-9  # an eigenvalue of the information matrix below this part of the largest is a symmetry, not a direction


@dataclass(frozen=True)
class Teacher:
    """A class of Transformers and the law of its data.

    d, k       token dimension and inner width;
    heads      H heads summed before the readout, each with its merged readout u_h = W_c,h w;
    layers     0: one layer without projections, equations (2) and (3); L >= 1: L blocks of equation (5);
    rank       factors W = A B^T of so many columns for every matrix; 0 for full matrices;
    tokens     T, the first of which is CLS;
    activation its name;
    readout, value, output, attention   radii of u (or w), W_v, W_c and W_QK, for every head and layer;
    inside     singular values of the teacher's weights as a part of the radius;
    sigma      standard deviation of the label noise.
    """

    d: int
    k: int
    heads: int
    layers: int
    rank: int
    tokens: int
    activation: str
    readout: float
    value: float
    output: float
    attention: float
    inside: float
    sigma: float

    @classmethod
    def of(cls, config: Config) -> Teacher:
        return cls(**{field.name: config[field.name] for field in fields(cls)})

    @property
    def weights(self) -> tuple[tuple[str, tuple[int, ...], float], ...]:
        """(name, shape, radius) of every stack of weights; each matrix of a stack has its own ball."""
        stack = (self.layers, self.heads) if self.layers else (self.heads,)
        matrices = [("Q", (self.d, self.d), self.attention), ("V", (self.d, self.k), self.value)]
        if self.layers:
            matrices.append(("C", (self.k, self.d), self.output))
        found: list[tuple[str, tuple[int, ...], float]] = []
        for name, (rows, columns), radius in matrices:
            if self.rank:
                # Every matrix of this rank and norm has such factors.
                found += [
                    (f"{name}{side}", (*stack, size, self.rank), math.sqrt(radius))
                    for side, size in (("a", rows), ("b", columns))
                ]
            else:
                found.append((name, (*stack, rows, columns), radius))
        last = ("w", (self.d,), self.readout) if self.layers else ("u", (self.heads, self.k), self.readout)
        return (*found, last)

    @property
    def parameters(self) -> int:
        return sum(math.prod(shape) for _, shape, _ in self.weights)

    @functools.cached_property
    def balls(self) -> tuple[tuple[int, tuple[int, int], float], ...]:
        """(start, shape, radius) of every matrix in the flat vector of weights; a readout is a matrix of one row."""
        found, start = [], 0
        for name, shape, radius in self.weights:
            rows, columns = (1, shape[-1]) if name in ("u", "w") else shape[-2:]
            for _ in range(math.prod(shape) // (rows * columns)):
                found.append((start, (rows, columns), radius))
                start += rows * columns
        return tuple(found)

    def draw(self, rng: np.random.Generator) -> Vectors:
        """Uniformly rotated weights whose singular values are all `inside` of the radius (its root, for factors)."""
        part = math.sqrt(self.inside) if self.rank else self.inside
        drawn = []
        for _, shape, radius in self.balls:
            left, _, right = np.linalg.svd(rng.standard_normal(shape), full_matrices=False)
            drawn.append((radius * (self.inside if shape[0] == 1 else part) * left @ right).ravel())
        return np.concatenate(drawn)

    def project(self, weights: Vectors) -> Vectors:
        """The nearest member of the class: singular values cut at the radius."""
        out = weights.copy()
        for matrix, radius in self._views(out):
            # The Frobenius norm is cheaper, and mostly enough to see that nothing is to be done.
            if np.linalg.norm(matrix) > radius:
                left, values, right = np.linalg.svd(matrix, full_matrices=False)
                matrix[...] = (left * np.minimum(values, radius)) @ right
        return out

    def interior(self, weights: Vectors) -> bool:
        """No ball is active."""
        return all(np.linalg.norm(matrix, 2) < (1.0 - 1e-6) * radius for matrix, radius in self._views(weights))

    def _views(self, weights: Vectors) -> Iterator[tuple[Vectors, float]]:
        for start, (rows, columns), radius in self.balls:
            yield weights[start : start + rows * columns].reshape(rows, columns), radius

    def inputs(self, rng: np.random.Generator, n: int) -> Vectors:
        """n sequences of tokens N(0, I/d), shortened to norm at most 1."""
        return clip_tokens(rng.standard_normal((n, self.tokens, self.d)) / math.sqrt(self.d), 1.0)

    def predict(self, weights: Float[Array, " parameters"], x: Float[Array, "tokens d"]) -> Float[Array, ""]:
        """f(X)."""
        parts = self._matrices(weights)
        if self.layers:
            config = ClsTransformerConfig(
                self.d, self.k, self.heads, self.layers, self.activation, block="li", projected=True
            )
            value: Float[Array, ""] = ClsTransformer(config, parts["Q"], parts["V"], parts["C"], parts["w"])(x)
            return value
        scores = jnp.einsum("i,hij,tj->ht", x[0], parts["Q"], x)
        attended = jax.nn.softmax(scores, axis=-1) @ x
        hidden = activation(self.activation)(jnp.einsum("hd,hdk->hk", attended, parts["V"]))
        return jnp.sum(parts["u"] * hidden)

    def _matrices(self, weights: Float[Array, " parameters"]) -> dict[str, Array]:
        parts, start = {}, 0
        for name, shape, _ in self.weights:
            parts[name] = weights[start : start + math.prod(shape)].reshape(shape)
            start += math.prod(shape)
        if self.rank:
            for name in [name[0] for name in parts if name.endswith("a")]:
                parts[name] = jnp.einsum("...ir,...jr->...ij", parts[f"{name}a"], parts[f"{name}b"])
        return parts


@dataclass(frozen=True)
class Fit:
    """An estimate: its weights, its mean squared training error, and the steps it took."""

    weights: Vectors
    loss: float
    steps: int


class _Programs(NamedTuple):
    """f(X), and f(X) with its gradient in the weights, for a chunk of inputs."""

    values: Callable[[Vectors, Array], Array]
    slopes: Callable[[Vectors, Array], tuple[Array, Array]]


@functools.lru_cache(maxsize=64)
def _programs(teacher: Teacher) -> _Programs:
    slopes = jax.vmap(jax.value_and_grad(teacher.predict), (None, 0))
    return _Programs(jax.jit(jax.vmap(teacher.predict, (None, 0))), jax.jit(slopes))


class Sample:
    """Examples cut into chunks of one size (the last is filled up with inputs that do not count)."""

    def __init__(self, teacher: Teacher, inputs: Vectors, labels: Vectors | None = None) -> None:
        self.n = len(inputs)
        self.labels = np.zeros(self.n) if labels is None else labels
        self.programs = _programs(_shape(teacher))
        whole = np.zeros((-(-self.n // CHUNK) * CHUNK, *inputs.shape[1:]))
        whole[: self.n] = inputs
        self.chunks = [jnp.asarray(whole[first : first + CHUNK]) for first in range(0, len(whole), CHUNK)]

    def normal(self, weights: Vectors) -> tuple[Vectors, Vectors, float]:
        """J^T J / n, J^T r / n and the mean of r^2: the normal equations of least squares."""
        size = len(weights)
        gram, slope, loss = np.zeros((size, size)), np.zeros(size), 0.0
        for first, chunk in zip(range(0, self.n, CHUNK), self.chunks, strict=True):
            count = min(CHUNK, self.n - first)
            values, jacobian = (np.asarray(found)[:count] for found in self.programs.slopes(weights, chunk))
            residuals = self.labels[first : first + count] - values
            gram += jacobian.T @ jacobian  # one triangle of it is computed: half the work of two different factors
            slope += jacobian.T @ residuals
            loss += float(residuals @ residuals)
        return gram / self.n, slope / self.n, loss / self.n

    def predictions(self, weights: Vectors) -> Vectors:
        parts = [np.asarray(self.programs.values(weights, chunk)) for chunk in self.chunks]
        return np.concatenate(parts)[: self.n]

    def loss(self, weights: Vectors) -> float:
        """The mean of r^2 alone."""
        residuals = self.labels - self.predictions(weights)
        return float(residuals @ residuals) / self.n


def _shape(teacher: Teacher) -> Teacher:
    """What the compiled program depends on: radii and noise do not enter it."""
    return replace(teacher, readout=1.0, value=1.0, output=1.0, attention=1.0, inside=1.0, sigma=1.0)


def least_squares(teacher: Teacher, sample: Sample, start: Vectors, *, steps: int, tolerance: float) -> Fit:
    """Projected Levenberg-Marquardt. A step is kept where it lowers the training loss.

    It ends when a step gains no more than `tolerance` of the loss, or when none was kept for eight trials.
    """
    weights = teacher.project(start)
    gram, slope, loss = sample.normal(weights)
    damping, failures, taken = 1e-3, 0, 0
    while taken < steps and failures < 8:
        taken += 1
        level = damping * float(np.trace(gram)) / len(weights)
        candidate = teacher.project(weights + np.linalg.solve(gram + level * np.eye(len(weights)), slope))
        new_gram, new_slope, new_loss = sample.normal(candidate)
        if not new_loss < loss:
            damping, failures = 8.0 * damping, failures + 1
            continue
        gained, failures = loss - new_loss, 0
        weights, gram, slope, loss = candidate, new_gram, new_slope, new_loss
        damping = max(damping / 5.0, 1e-12)
        if gained <= tolerance * loss:
            break
    return Fit(weights, loss, taken)


def run(config: Config) -> Outcome:
    """One sample of one teacher, or of the exact example of kind "ball". A config holds the fields of `Teacher`, and

    n, seed     sample size; the seed draws the teacher (the same for every n and sigma), the sample and the starts;
    restarts    starts away from the teacher; 0 leaves the random estimate out;
    steps       the most Gauss-Newton steps;
    tolerance   relative gain in training loss at which to stop;
    test        size of the fresh sample on which E (f - f0)^2 is measured.
    """
    if config.get("kind") == "ball":
        return _li_exact.run(config)
    with jax.enable_x64(True):
        return _run(config)


def _run(config: Config) -> Outcome:
    teacher, n = Teacher.of(config), config["n"]
    truth = teacher.draw(_generator(config, "teacher"))
    inputs = teacher.inputs(_generator(config, "inputs", n), n)
    noise = teacher.sigma * signs(_generator(config, "noise", n), (n,))
    sample = Sample(teacher, inputs, Sample(teacher, inputs).predictions(truth) + noise)
    fresh = teacher.inputs(_generator(config, "test"), config["test"])
    blank = Sample(teacher, fresh)
    target = blank.predictions(truth)
    test = Sample(teacher, fresh, target)
    eigenvalues = np.linalg.eigvalsh(blank.normal(truth)[0])
    teacher_loss = float(np.mean(noise**2))
    values: dict[str, Any] = {
        "parameters": teacher.parameters,
        "directions": int(np.sum(eigenvalues > GAP * eigenvalues[-1])),
        "resolved": float(np.sum(eigenvalues / (eigenvalues + teacher.sigma**2 / n))),
        "signal": float(np.mean(target**2)),
        "teacher_loss": teacher_loss,
    }
    starts = [teacher.draw(_generator(config, "start", restart)) for restart in range(config["restarts"])]
    for name, origins in (("local", [truth]), ("random", starts)):
        fits = [
            least_squares(teacher, sample, start, steps=config["steps"], tolerance=config["tolerance"])
            for start in origins
        ]
        if fits:
            best = min(fits, key=lambda fit: fit.loss)
            values |= {
                name: test.loss(best.weights),
                f"{name}_loss": best.loss,
                f"{name}_steps": best.steps,
                f"{name}_fits": best.loss <= teacher_loss * (1.0 + 1e-12),
                f"{name}_interior": teacher.interior(best.weights),
            }
    return Outcome(values)


PURPOSES = ("teacher", "inputs", "noise", "test", "start")


def _generator(config: Config, purpose: str, *numbers: int) -> np.random.Generator:
    return np.random.default_rng([config["seed"], PURPOSES.index(purpose), *numbers])
