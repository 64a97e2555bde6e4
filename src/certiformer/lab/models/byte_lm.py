"""A small byte-level Transformer that reads documents packed one after the other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from certiformer.lab.models._base import check_count
from certiformer.lab.models._draws import array, generators
from certiformer.theory.core.errors import InputError

WINDOW, TAPS, SYMBOLS = 64, 4, 256


@dataclass(frozen=True)
class ByteLMConfig:
    """`width` of the stream, `blocks` of attention and MLP, `heads` of each attention."""

    width: int = 128
    blocks: int = 3
    heads: int = 2

    def __post_init__(self) -> None:
        for name in ("width", "blocks", "heads"):
            check_count(name, getattr(self, name))
        if self.width % self.heads:
            raise InputError("width", self.width, f"a multiple of heads = {self.heads}")


class Block(eqx.Module):
    """h + attention(convolution(norm(h))), then + W_2 relu(W_1 norm(h))^2."""

    norm_attention: Float[Array, " d"]
    taps: Float[Array, "taps d"]
    W_QKV: Float[Array, "d 3*d"]
    slope: Float[Array, " heads"]
    W_O: Float[Array, "d d"]
    norm_mlp: Float[Array, " d"]
    W_1: Float[Array, "d 4*d"]
    W_2: Float[Array, "4*d d"]

    def __call__(self, h: Float[Array, "n d"], document: Int[Array, " n"]) -> Float[Array, "n d"]:
        h = h + self.attention(_convolved(_rms(h, self.norm_attention), self.taps, document), document)
        return h + jnp.square(jax.nn.relu(_rms(h, self.norm_mlp) @ self.W_1)) @ self.W_2

    def attention(self, x: Float[Array, "n d"], document: Int[Array, " n"]) -> Float[Array, "n d"]:
        """Every window of 64 positions sees itself and the window before, within a document and never ahead."""
        n, d = x.shape
        heads = len(self.slope)
        windows = n // WINDOW
        q, k, v = jnp.split((x @ self.W_QKV).reshape(windows, WINDOW, 3 * heads, d // heads), 3, axis=2)
        k, v = _with_previous(k), _with_previous(v)
        own = document.reshape(windows, WINDOW)
        seen = jnp.concatenate([jnp.roll(own, 1, axis=0).at[0].set(-1), own], axis=1)
        distance = WINDOW + jnp.arange(WINDOW)[:, None] - jnp.arange(2 * WINDOW)[None, :]
        allowed = (distance >= 0)[None] & (own[:, :, None] == seen[:, None, :])
        scores = jnp.einsum("wihd,wjhd->whij", q, k) / math.sqrt(d // heads)
        scores = scores - jax.nn.softplus(self.slope)[:, None, None] * distance
        weights = jax.nn.softmax(jnp.where(allowed[:, None], scores, -1e9), axis=-1)
        return jnp.einsum("whij,wjhd->wihd", weights, v).reshape(n, d) @ self.W_O


class ByteLM(eqx.Module):
    """Logits of the next byte from h = E[last byte] + the embeddings of what came before, which are handed in."""

    config: ByteLMConfig = eqx.field(static=True)
    E: Float[Array, "256 d"]
    blocks: tuple[Block, ...]
    norm: Float[Array, " d"]
    W_out: Float[Array, "d 256"]

    @classmethod
    def init(cls, key: PRNGKeyArray, config: ByteLMConfig) -> Self:
        d, heads = config.width, config.heads
        embedding, *draws = generators(key, 1 + 3 * config.blocks)

        def matrix(draw: Any, rows: int, columns: int) -> Any:
            return array(draw.standard_normal((rows, columns)) / math.sqrt(rows), jnp.float32)

        blocks = tuple(
            Block(
                norm_attention=jnp.ones(d),
                taps=jnp.zeros((TAPS, d)).at[0].set(1.0),
                W_QKV=matrix(draws[3 * b], d, 3 * d),
                slope=jnp.linspace(-5.0, -1.0, heads),
                W_O=matrix(draws[3 * b + 1], d, d) * 0.5,
                norm_mlp=jnp.ones(d),
                W_1=matrix(draws[3 * b + 2], d, 4 * d),
                W_2=jnp.zeros((4 * d, d)),
            )
            for b in range(config.blocks)
        )
        first = array(embedding.standard_normal((SYMBOLS, d)) * 0.3, jnp.float32)
        return cls(config, E=first, blocks=blocks, norm=jnp.ones(d), W_out=jnp.zeros((d, SYMBOLS)))

    def __call__(
        self, last: Int[Array, " n"], before: Float[Array, "n d"], document: Int[Array, " n"]
    ) -> Float[Array, "n 256"]:
        h = self.E[last] + before
        for block in self.blocks:
            h = block(h, document)
        return _rms(h, self.norm) @ self.W_out


def _rms(h: Float[Array, "n d"], gain: Float[Array, " d"]) -> Float[Array, "n d"]:
    return h * jax.lax.rsqrt(jnp.mean(jnp.square(h), axis=-1, keepdims=True) + 1e-6) * gain


def _convolved(x: Float[Array, "n d"], taps: Float[Array, "taps d"], document: Int[Array, " n"]) -> Float[Array, "n d"]:
    total = x * taps[0]
    for back in range(1, TAPS):
        same = (jnp.roll(document, back) == document) & (jnp.arange(len(document)) >= back)
        total = total + jnp.where(same[:, None], jnp.roll(x, back, axis=0), 0.0) * taps[back]
    return total


def _with_previous(x: Float[Array, "w i h e"]) -> Float[Array, "w j h e"]:
    before = jnp.concatenate([jnp.zeros_like(x[:1]), x[:-1]], axis=0)
    return jnp.concatenate([before, x], axis=1)
