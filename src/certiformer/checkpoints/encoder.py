"""The BERT family, run forward in numpy from the tensors of a checkpoint: one vector per text.

Post-norm blocks, absolute positions, exact attention; float32 for speed, float64 to check against references. Texts run
one by one, side by side on the cores, each product on one thread: a text's vector does not depend on its company nor on
the machine's number of cores, to the last bit.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import erf

from certiformer.checkpoints.checkpoint_error import CheckpointError
from certiformer.checkpoints.parts import Parts
from certiformer.checkpoints.readers import open_checkpoint
from certiformer.checkpoints.roles import architecture, assign
from certiformer.theory.core.json_reader import read_json
from certiformer.theory.networks.architecture import Tables

Array = npt.NDArray[Any]
Pooling = Literal["mean", "cls"]

RUNS = ("bert", "distilbert")
OFFSETS = ("roberta", "xlm-roberta", "camembert")
"""Models whose positions begin behind the padding index."""


def gelu(x: Array) -> Array:
    """x Phi(x), in place, in blocks that stay in the processor's cache."""
    flat = x.reshape(-1)
    for start in range(0, flat.size, 2**14):
        block = flat[start : start + 2**14]
        half = erf(block * x.dtype.type(1.0 / math.sqrt(2.0)))
        half += x.dtype.type(1.0)
        half *= x.dtype.type(0.5)
        block *= half
    return x


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {"gelu": gelu, "relu": lambda x: np.maximum(x, 0, out=x)}


@dataclass(frozen=True, slots=True, eq=False)
class Affine:
    """x -> x W^T + b; the transpose is stored so that rows of x are contiguous."""

    weight: Array
    bias: Array

    def __call__(self, x: Array) -> Array:
        found = x @ self.weight
        found += self.bias
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Norm:
    """LayerNorm over the last axis, in place."""

    gain: Array
    shift: Array
    eps: float

    def __call__(self, x: Array) -> Array:
        x -= x.mean(axis=-1, keepdims=True)
        variance = np.einsum("...i,...i->...", x, x)[..., None] / x.shape[-1]
        x *= 1.0 / np.sqrt(variance + x.dtype.type(self.eps))
        x *= self.gain
        x += self.shift
        return x


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """One post-norm block."""

    query: Affine
    key: Affine
    value: Affine
    output: Affine
    attention_norm: Norm
    up: Affine
    down: Affine
    final_norm: Norm
    heads: int
    sigma: Callable[[Array], Array]

    def __call__(self, x: Array) -> Array:
        """x: tokens x width."""
        return self.final_norm(self.summed(self.middle(x)))

    def middle(self, x: Array) -> Array:
        """The first half: N(x + attention(x))."""
        tokens, width = x.shape

        def split(part: Affine) -> Array:
            return part(x).reshape(tokens, self.heads, -1).transpose(1, 0, 2)

        query, key, value = split(self.query), split(self.key), split(self.value)
        scores = query @ key.swapaxes(-1, -2)
        scores *= x.dtype.type(1.0 / math.sqrt(width // self.heads))
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        attended = self.output((scores @ value).transpose(1, 0, 2).reshape(tokens, width))
        attended += x
        return self.attention_norm(attended)

    def summed(self, middle: Array) -> Array:
        """The second half before its norm: m + feed-forward(m)."""
        out = self.down(self.sigma(self.up(middle)))
        out += middle
        return out


class Encoder:
    """Token ids to vectors. `identity` names the weights, pooling and precision: the key of cached vectors."""

    def __init__(self, path: str | Path, *, precision: Literal["single", "double"] = "single") -> None:
        roles = assign(open_checkpoint(path))
        if roles.family is None or roles.family.key not in RUNS:
            kind = "not recognised" if roles.family is None else roles.family.key
            raise CheckpointError(path, f"of family {kind}; run here: {', '.join(RUNS)}")
        self.roles = roles
        stated, keys = architecture(roles)
        self.attention, self.feed_forward = stated.first
        if not isinstance(stated.source, Tables) or stated.source.mapped:
            raise CheckpointError(path, "its embeddings are mapped to another width, which is not run here")
        self.depth = len(stated.blocks)
        assert stated.blocks[0].halves[0].after is not None
        self.eps = stated.blocks[0].halves[0].after.eps
        if self.feed_forward.activation not in ACTIVATIONS:
            raise CheckpointError(path, f"activation {self.feed_forward.activation} is not run here")
        self.dtype = np.dtype(np.float32 if precision == "single" else np.float64)
        self.pooling: Pooling = _pooling(Path(path))
        self._parts = Parts(roles, stated)
        padding = roles.checkpoint.config.get("pad_token_id", 1)
        self.offset = int(padding) + 1 if keys.kind in OFFSETS and isinstance(padding, int) else 0
        self._words, self._fixed = self._tables()
        self._first = self._norm("embedding.norm", None)
        self.layers = [self._layer(index) for index in range(self.depth)]

    @property
    def width(self) -> int:
        return int(self._fixed.shape[1])

    @property
    def longest(self) -> int:
        return int(self._fixed.shape[0]) - self.offset

    def identity(self) -> str:
        import hashlib

        digest = hashlib.sha256(f"{self.pooling} {self.dtype}".encode())
        for one in self.roles.assigned:
            digest.update(f"{one.role} {one.layer} {one.tensor.digest()}".encode())
        return digest.hexdigest()

    def each(self, compute: Callable[[Sequence[int]], Array], texts: Sequence[Sequence[int]]) -> Iterator[Array]:
        """`compute` of every text's tokens, in the order given."""
        # numpy lets go of the interpreter's lock while it multiplies.
        with _one_thread_per_product(), ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
            yield from pool.map(compute, texts)

    def vector(self, tokens: Sequence[int]) -> npt.NDArray[np.float64]:
        """The pooled output of the last layer; not normalised."""
        states = self.states(tokens, self.depth)
        pooled = states[0] if self.pooling == "cls" else states.mean(axis=0)
        return np.asarray(pooled, dtype=np.float64)

    def features(self, tokens: Sequence[int]) -> npt.NDArray[np.float64]:
        """Pooled states at four places from the embedding to the output, each of unit length, one after the other.

        What a text says is in the last state, how it says it is in earlier ones.
        """
        depth = self.depth
        places = sorted({round(place * depth / 3) for place in range(4)})
        x = self.states(tokens, 0)
        found = []
        for layer in range(depth + 1):
            x = self.layers[layer - 1](x) if layer else x
            if layer in places:
                pooled = (x[0] if self.pooling == "cls" and layer else x.mean(axis=0)).astype(np.float64)
                found.append(pooled / max(float(np.linalg.norm(pooled)), 1e-30))
        return np.concatenate(found)

    def states(self, tokens: Sequence[int], layers: int) -> Array:
        """tokens x width behind the first `layers` layers. A text without tokens counts as one padding token."""
        ids = np.array(tokens, np.int64) if len(tokens) else np.zeros(1, np.int64)
        path = self.roles.checkpoint.path
        if len(ids) > self.longest:
            raise CheckpointError(path, f"has {self.longest} positions, a text has {len(ids)} tokens")
        if int(ids.max()) >= len(self._words):
            raise CheckpointError(path, f"has no token {int(ids.max())}")
        x = self._words[ids].astype(self.dtype)
        x += self._fixed[self.offset : self.offset + len(ids)]
        x = self._first(x)
        for layer in self.layers[:layers]:
            x = layer(x)
        return x

    # --- tensors -------------------------------------------------------------------------------------------------

    def _tables(self) -> tuple[Array, Array]:
        """Words (on disk), and positions with the first token type, which every token of a single text has."""
        word, position, kind = (self.roles.get(role) for role in ("word", "position", "type"))
        if position is None or word is None or len(word.tensor.shape) != 2 or len(position.tensor.shape) != 2:
            raise CheckpointError(self.roles.checkpoint.path, "lacks word or position embeddings")
        found = position.tensor.array().astype(self.dtype)
        return word.tensor.array(), found if kind is None else found + kind.tensor[0:1].astype(self.dtype)

    def _affine(self, role: str, layer: int) -> Affine:
        part = self._parts.need(role, layer)
        weight = np.asarray(part.assigned.tensor[part.start : part.stop]).astype(self.dtype)
        bias = self._parts.get(f"{role}.bias", layer)
        shift = np.zeros(len(weight), self.dtype) if bias is None else bias.assigned.tensor.array().astype(self.dtype)
        return Affine(np.ascontiguousarray(weight.T), shift)

    def _norm(self, role: str, layer: int | None) -> Norm:
        gain, shift = self._parts.need(f"{role}.gain", layer), self._parts.need(f"{role}.shift", layer)
        values = [part.assigned.tensor.array().astype(self.dtype) for part in (gain, shift)]
        return Norm(values[0], values[1], self.eps)

    def _layer(self, index: int) -> Layer:
        names = ("query", "key", "value", "output", "up", "down")
        query, key, value, output, up, down = (self._affine(name, index) for name in names)
        return Layer(
            query,
            key,
            value,
            output,
            self._norm("attention.norm", index),
            up,
            down,
            self._norm("feedforward.norm", index),
            self.attention.heads,
            ACTIVATIONS[self.feed_forward.activation],
        )


def _one_thread_per_product() -> AbstractContextManager[object]:
    """Threads of BLAS beside threads of ours get in each other's way, and their number moves the last bits."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    limits: AbstractContextManager[object] = threadpool_limits(1, "blas")  # type: ignore[no-untyped-call]
    return limits


def _pooling(path: Path) -> Pooling:
    """Mean over tokens, unless the folder's pooling module asks for the first one."""
    config = path / "1_Pooling" / "config.json"
    if path.is_dir() and config.is_file():
        found = read_json(config, "the pooling module", unique=True)
        if found.get("pooling_mode_cls_token") is True:
            return "cls"
    return "mean"
