"""The BERT family, run forward in numpy from the tensors of a checkpoint: one vector per text.

Post-norm blocks, absolute positions, exact attention; float32 for speed, float64 to check against references. Texts are
sorted by length and padded within a batch only; padding is masked, so a text's vector does not depend on its company
(beyond rounding).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import erf

from certiformer.checkpoints.errors import CheckpointError
from certiformer.checkpoints.parts import Parts
from certiformer.checkpoints.readers import open_checkpoint
from certiformer.checkpoints.readers._json import read_json
from certiformer.checkpoints.roles import Settings, assign, settings

Array = npt.NDArray[Any]
Pooling = Literal["mean", "cls"]

BATCH_TOKENS = 2048
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

    def __call__(self, x: Array, mask: Array | None) -> Array:
        """x: texts x tokens x width; mask: 0 at tokens, a large negative number at padding."""
        texts, tokens, width = x.shape
        flat = x.reshape(-1, width)

        def split(part: Affine) -> Array:
            return part(flat).reshape(texts, tokens, self.heads, -1).transpose(0, 2, 1, 3)

        query, key, value = split(self.query), split(self.key), split(self.value)
        scores = query @ key.swapaxes(-1, -2)
        scores *= x.dtype.type(1.0 / math.sqrt(width // self.heads))
        if mask is not None:
            scores += mask
        for one in scores:
            one -= one.max(axis=-1, keepdims=True)
            np.exp(one, out=one)
            one /= one.sum(axis=-1, keepdims=True)
        mixed = (scores @ value).transpose(0, 2, 1, 3).reshape(-1, width)
        attended = self.output(mixed)
        attended += flat
        middle = self.attention_norm(attended)
        out = self.down(self.sigma(self.up(middle)))
        out += middle
        return self.final_norm(out).reshape(texts, tokens, width)


class Encoder:
    """Token ids to vectors. `identity` names the weights, pooling and precision: the key of cached vectors."""

    def __init__(self, path: str | Path, *, precision: Literal["single", "double"] = "single") -> None:
        roles = assign(open_checkpoint(path))
        if roles.family is None or roles.family.key not in RUNS:
            kind = "not recognised" if roles.family is None else roles.family.key
            raise CheckpointError(path, f"of family {kind}; run here: {', '.join(RUNS)}")
        self.roles = roles
        self.settings: Settings = settings(roles)
        if self.settings.activation not in ACTIVATIONS:
            raise CheckpointError(path, f"activation {self.settings.activation} is not run here")
        self.dtype = np.dtype(np.float32 if precision == "single" else np.float64)
        self.pooling: Pooling = _pooling(Path(path))
        self._parts = Parts(roles, self.settings)
        model = str(roles.checkpoint.config.get("model_type", ""))
        padding = roles.checkpoint.config.get("pad_token_id", 1)
        self.offset = int(padding) + 1 if model in OFFSETS and isinstance(padding, int) else 0
        self._words, self._fixed = self._tables()
        self._first = self._norm("embedding.norm", None)
        self.layers = [self._layer(index) for index in range(self.settings.layers)]

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

    def embed(
        self, texts: Sequence[Sequence[int]], progress: Callable[[int, int], None] | None = None
    ) -> npt.NDArray[np.float64]:
        """One vector per list of token ids, in the order given; not normalised."""
        found = np.zeros((len(texts), self.width))
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        batches: list[list[int]] = [[]]
        for index in order:
            if batches[-1] and (len(batches[-1]) + 1) * len(texts[index]) > BATCH_TOKENS:
                batches.append([])
            batches[-1].append(index)
        done, total = 0, sum(map(len, texts))
        # numpy lets go of the interpreter's lock: batches run side by side, each with the same result as alone.
        with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
            running = ((batch, [texts[index] for index in batch]) for batch in batches if batch)
            for batch, vectors in pool.map(lambda pair: (pair[0], self._batch(pair[1])), running):
                found[batch] = vectors
                done += sum(len(texts[index]) for index in batch)
                if progress is not None:
                    progress(done, total)
        return found

    def _batch(self, texts: Sequence[Sequence[int]]) -> Array:
        longest = max(1, max(map(len, texts)))
        if longest > self.longest:
            raise CheckpointError(
                self.roles.checkpoint.path, f"has {self.longest} positions, a text has {longest} tokens"
            )
        ids = np.zeros((len(texts), longest), np.int64)
        there = np.zeros((len(texts), longest), bool)
        for row, tokens in enumerate(texts):
            ids[row, : len(tokens)] = tokens
            there[row, : max(1, len(tokens))] = True
        if int(ids.max()) >= len(self._words):
            raise CheckpointError(self.roles.checkpoint.path, f"has no token {int(ids.max())}")
        x = self._words[ids].astype(self.dtype)
        x += self._fixed[self.offset : self.offset + longest]
        x = self._first(x)
        mask = None if there.all() else np.where(there, 0.0, -1e9).astype(self.dtype)[:, None, None, :]
        for layer in self.layers:
            x = layer(x, mask)
        if self.pooling == "cls":
            return x[:, 0]
        weights = there.astype(self.dtype)[..., None]
        return np.asarray((x * weights).sum(axis=1) / weights.sum(axis=1))

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
        return Norm(values[0], values[1], self.settings.eps)

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
            self.settings.heads,
            ACTIVATIONS[self.settings.activation],
        )


def _pooling(path: Path) -> Pooling:
    """Mean over tokens, unless the folder's pooling module asks for the first one."""
    config = path / "1_Pooling" / "config.json"
    if path.is_dir() and config.is_file():
        found = read_json(config, "the pooling module")
        if found.get("pooling_mode_cls_token") is True:
            return "cls"
    return "mean"
