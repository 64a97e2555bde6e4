"""The multi-head attention layer of Deora et al."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from certiformer.lab.models._base import Model, check_choice, check_count, check_shape, check_tokens
from certiformer.lab.models._draws import array, generators
from certiformer.theory.core.errors import InputError

READOUTS = ("full", "pooling", "last")


@dataclass(frozen=True)
class MultiHeadAttentionConfig:
    """`d`: token dimension. `tokens`: T. `heads`: H. `readout`: `full`, `pooling` or `last` (token)."""

    d: int = 12
    tokens: int = 8
    heads: int = 4
    readout: str = "full"

    def __post_init__(self) -> None:
        for name in ("d", "tokens", "heads"):
            check_count(name, getattr(self, name))
        check_choice("readout", self.readout, READOUTS)


class MultiHeadAttention(Model):
    r"""Phi(X) = H^{-1/2} sum_h <U_h, softmax(X W_h X^T) X>.

    where: X (T x d) has the tokens in its rows, softmax acts on rows, W_h is d x d and U_h is T x d. Three readouts:
    `full` trains U_h (stored with shape (H, T, d)); `pooling` has U_h = 1_T u_h^T; `last` has U_h = e_T u_h^T; both
    store the vectors u_h with shape (H, d) in the field `U`. (Deora et al., section 3 and its footnote.)

    `init` starts from zero; `one_step` takes the paper's first phase.
    """

    name: ClassVar[str] = "multi_head_attention"
    config_type: ClassVar[type[Any]] = MultiHeadAttentionConfig

    config: MultiHeadAttentionConfig = eqx.field(static=True)
    U: Float[Array, "heads tokens d"] | Float[Array, "heads d"]
    W: Float[Array, "heads d d"]

    @classmethod
    def init(cls, key: PRNGKeyArray, config: MultiHeadAttentionConfig, *, dtype: Any = jnp.float32) -> Self:
        shapes = _readout_shape(config), (config.heads, config.d, config.d)
        return cls(config, *(array(np.zeros(shape), dtype) for shape in shapes))

    @classmethod
    def one_step(
        cls,
        key: PRNGKeyArray,
        config: MultiHeadAttentionConfig,
        inputs: Float[Array, "n1 tokens d"],
        labels: Float[Array, " n1"],
    ) -> Self:
        r"""One step of gradient descent from zero on the logistic loss, with step size alpha_h sqrt(H) in head h.

        U_h = alpha_h (1/2) mean_i y_i 1_T xbar_i^T and W_h = 0, with xbar_i the mean token of example i and
        alpha_h = +-1, balanced: in random order exactly half of each, H even. On the tokenized mixture the mean of U_h
        is alpha_h (zeta/4) 1_T u_*^T. The second phase needs fresh samples.
        """
        if config.heads % 2:
            raise InputError("heads", config.heads, "an even number for balanced signs")
        drawn = generators(key, 1)[0].permutation(np.repeat([1.0, -1.0], config.heads // 2))
        alpha = array(drawn, inputs.dtype)
        direction = 0.5 * jnp.mean(labels[:, None] * jnp.mean(inputs, axis=1), axis=0)
        if config.readout == "full":
            U = jnp.broadcast_to(alpha[:, None, None] * direction, (config.heads, config.tokens, config.d))
        else:
            U = alpha[:, None] * direction * (float(config.tokens) if config.readout == "pooling" else 1.0)
        return cls(config, U=U, W=jnp.zeros((config.heads, config.d, config.d), inputs.dtype))

    def __check_init__(self) -> None:
        check_shape("U", self.U, _readout_shape(self.config))
        check_shape("W", self.W, (self.config.heads, self.config.d, self.config.d))

    def projection(self) -> Float[Array, "heads tokens d"]:
        """U_h as a T x d matrix, whatever the readout."""
        if self.config.readout == "full":
            return self.U
        if self.config.readout == "pooling":
            return jnp.broadcast_to(self.U[:, None, :], (self.config.heads, self.config.tokens, self.config.d))
        return jnp.zeros((self.config.heads, self.config.tokens, self.config.d), self.U.dtype).at[:, -1, :].set(self.U)

    def __call__(self, x: Float[Array, "tokens d"]) -> Float[Array, ""]:
        check_tokens(x, self.config.d, self.config.tokens)
        attention = jax.nn.softmax(jnp.einsum("ti,hij,sj->hts", x, self.W, x), axis=-1)
        total = jnp.sum(self.projection() * (attention @ x))
        return total / math.sqrt(self.config.heads)


def _readout_shape(config: MultiHeadAttentionConfig) -> tuple[int, ...]:
    return (config.heads, config.tokens, config.d) if config.readout == "full" else (config.heads, config.d)
