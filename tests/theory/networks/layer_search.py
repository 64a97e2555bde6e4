"""Layers in plain numpy, batched over candidates, and a search for the perturbation that hurts most.

A `Case` holds a network twice: as a graph of rules and as a function of arrays. The search changes some of its tensors
within their classes and compares the change of the output with the sum of sensitivity times error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from certiformer.theory.networks import Analysis, Geometry, Node, Use, analyse

Array = NDArray[np.float64]
Params = dict[str, Array]
Domain = Callable[[Array], Array]

# --- the classes tensors are drawn from: maps of arbitrary arrays (candidates, ...) into the class --------------------


def ball(radius: float, half_diameter: float | None = None) -> Domain:
    """Tokens of norm at most `radius`, all within a ball of radius `half_diameter`."""
    spread = radius if half_diameter is None else half_diameter

    def into(raw: Array) -> Array:
        norms = np.linalg.norm(raw, axis=-1, keepdims=True)
        tokens = raw * (spread / np.maximum(norms, spread))
        tokens[..., 0] += radius - spread
        return tokens

    return into


def spectral(norm: float) -> Domain:
    def into(raw: Array) -> Array:
        return raw * (norm / np.maximum(operator_norm(raw), norm))[:, None, None]

    return into


def sup(norm: float) -> Domain:
    return lambda raw: np.clip(raw, -norm, norm)


def rows(norm: float) -> Domain:
    def into(raw: Array) -> Array:
        return raw * (norm / np.maximum(np.linalg.norm(raw, axis=-1, keepdims=True), norm))

    return into


def free(raw: Array) -> Array:
    return raw


def operator_norm(matrices: Array) -> Array:
    gram = np.einsum("nij,nik->njk", matrices, matrices)
    return np.sqrt(np.maximum(np.linalg.eigvalsh(gram)[:, -1], 0.0))


# --- layers -----------------------------------------------------------------------------------------------------------


def apply(weight: Array, tokens: Array) -> Array:
    return np.einsum("nij,ntj->nti", weight, tokens)


def shift(vector: Array) -> Array:
    """A k x 1 weight as something to add to tokens."""
    return np.swapaxes(vector, -1, -2)


def softmax(scores: Array) -> Array:
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def attend(scores: Array, values: Array) -> Array:
    return np.einsum("nts,nsd->ntd", softmax(scores), values)


def normalise(tokens: Array, eps: float, *, centred: bool) -> Array:
    if centred:
        tokens = tokens - tokens.mean(axis=-1, keepdims=True)
    return tokens / np.sqrt(np.mean(tokens**2, axis=-1, keepdims=True) + eps)


def project(tokens: Array, radius: float = 1.0) -> Array:
    return tokens / np.maximum(np.linalg.norm(tokens, axis=-1, keepdims=True) / radius, 1.0)


def rotate(tokens: Array, angles: Array) -> Array:
    """Rotate the token at position t (two-dimensional) by angles[n, t]."""
    c, s = np.cos(angles), np.sin(angles)
    return np.stack([c * tokens[..., 0] - s * tokens[..., 1], s * tokens[..., 0] + c * tokens[..., 1]], axis=-1)


# --- cases and the search ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tensor:
    shape: tuple[int, ...]
    into: Domain


@dataclass(frozen=True)
class Case:
    """`seen_by` gives the inputs of a weight in the hatted network; without an entry it reads the constant 1.

    With `seen_by=None` errors are measured by norms: radius of the inputs times the norm of the difference.
    """

    name: str
    graph: Node
    tensors: Mapping[str, Tensor]
    forward: Callable[[Params], Array]
    inputs: Mapping[str, Node] = field(default_factory=dict)
    seen_by: Mapping[str, Callable[[Params], Array]] | None = field(default_factory=dict)
    metric: str = "l2"
    fixed: Sequence[str] = ()

    @property
    def movable(self) -> list[str]:
        return [name for name in self.tensors if name not in self.fixed]


def token_norm(change: Array, metric: str = "l2") -> Array:
    change = change.reshape(len(change), -1, change.shape[-1])
    sizes = np.abs(change).max(axis=-1) if metric == "sup" else np.linalg.norm(change, axis=-1)
    return sizes.max(axis=-1)


def error(use: Use, difference: Array, seen: Array) -> Array:
    """e of one use: the error of a weight at the inputs it sees in the hatted network."""
    if use.geometry is Geometry.LOOKUP:
        return np.linalg.norm(difference, axis=-1).max(axis=-1)
    outputs = apply(difference, seen)
    if use.geometry is Geometry.OPERATOR:
        return token_norm(outputs)
    return np.minimum(token_norm(outputs, "sup"), use.euclidean_discount.value * token_norm(outputs))


def error_norm(use: Use, difference: Array) -> Array:
    """The same at the worst input of norm one."""
    if use.geometry is Geometry.OPERATOR:
        return operator_norm(difference)
    return np.linalg.norm(difference, axis=-1).max(axis=-1)


def allowed(case: Case, analysis: Analysis, plain: Params, hatted: Params, moved: Sequence[str]) -> Array:
    """The right side: sum over uses of beta e, plus sensitivity times movement of the inputs."""
    count = len(next(iter(plain.values())))
    bound = np.zeros(count)
    for part in analysis.contributions:
        if part.name not in moved:
            continue
        difference = hatted[part.name] - plain[part.name]
        if case.seen_by is None:
            bound += part.beta.value * part.use.radius.value * error_norm(part.use, difference)
        else:
            seen = case.seen_by[part.name](hatted) if part.name in case.seen_by else np.ones((count, 1, 1))
            bound += part.beta.value * error(part.use, difference, seen)
    for name in moved:
        if name in case.inputs:
            bound += analysis.sensitivity(case.inputs[name]).value * token_norm(hatted[name] - plain[name])
    return bound


def worst_ratio(
    case: Case, moved: Sequence[str], *, seed: int = 0, random: int = 1000, generations: int = 30, parents: int = 40
) -> float:
    """The largest change/allowed found by `random` draws and an evolution of the best of them."""
    rng = np.random.default_rng(seed)
    analysis = analyse(case.graph)
    base = {name: _draw(tensor, random, rng) for name, tensor in case.tensors.items()}
    step = {n: rng.normal(size=(random, *case.tensors[n].shape)) for n in moved}
    scale = rng.uniform(-8.0, 1.0, size=random)
    best, spread = 0.0, 0.5
    for _ in range(generations):
        ratios = _ratios(case, analysis, base, step, scale, moved)
        best = max(best, float(ratios.max()))
        keep = np.argsort(ratios)[::-1][:parents]
        children = np.repeat(keep, 8)
        base = {n: _mutated(v, keep, children, spread, rng) for n, v in base.items()}
        step = {n: _mutated(v, keep, children, spread, rng) for n, v in step.items()}
        scale = np.concatenate([scale[keep], scale[children] + spread * rng.normal(size=len(children))])
        spread *= 0.93
    return best


def sample(case: Case, count: int, seed: int = 0) -> Params:
    """Random members of every class."""
    rng = np.random.default_rng(seed)
    return {name: tensor.into(_draw(tensor, count, rng)) for name, tensor in case.tensors.items()}


def _draw(tensor: Tensor, count: int, rng: np.random.Generator) -> Array:
    """Arrays of all sizes, so that many land on the boundary of their class."""
    sizes = 10.0 ** rng.uniform(-1.0, 1.5, size=(count, *([1] * len(tensor.shape))))
    return rng.normal(size=(count, *tensor.shape)) * sizes


def _mutated(values: Array, keep: Array, children: Array, spread: float, rng: np.random.Generator) -> Array:
    parent = values[children]
    sizes = np.sqrt(np.mean(parent**2, axis=tuple(range(1, parent.ndim)), keepdims=True)) + 1e-3
    # Half of the coordinates stay as they are.
    noise = rng.normal(size=parent.shape) * (rng.random(parent.shape) < 0.5)
    return np.concatenate([values[keep], parent + spread * sizes * noise])


def _ratios(case: Case, analysis: Analysis, base: Params, step: Params, scale: Array, moved: Sequence[str]) -> Array:
    plain, hatted = {}, {}
    for name, tensor in case.tensors.items():
        raw = base[name]
        plain[name] = hatted[name] = tensor.into(raw.copy())
        if name in moved:
            factor = np.exp(scale).reshape(-1, *([1] * (raw.ndim - 1)))
            hatted[name] = tensor.into(raw + factor * step[name])
    change = token_norm(case.forward(plain) - case.forward(hatted), case.metric)
    bound = allowed(case, analysis, plain, hatted, moved)
    # Changes near rounding error say nothing.
    return np.where((bound > 1e-7) | (change > 1e-7), change / np.maximum(bound, 1e-300), 0.0)
