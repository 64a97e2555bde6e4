"""The network that Trauger and Tewari's experiment trained: a Keras attention layer with biases."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from certiformer.lab.models._base import Model, check_count, check_row, check_shape, check_tokens
from certiformer.lab.models._draws import Generator, array, generators


@dataclass(frozen=True)
class KerasClsTransformerConfig:
    """`d`: token dimension. `heads`, `key_size`: H and d_k of each head. `classes`: logits. `cls`: row that is read."""

    d: int = 64
    heads: int = 2
    key_size: int = 64
    classes: int = 2
    cls: int = -1

    def __post_init__(self) -> None:
        for name in ("d", "heads", "key_size", "classes"):
            check_count(name, getattr(self, name))


class KerasClsTransformer(Model):
    r"""f(X) = W_2^T ( W_1^T relu( sum_h W_O,h^T a_h + b_O ) + b_1 ) + b_2,  a_h = V_h^T softmax( K_h q_h / sqrt(d_k) ).

    where: q_h = W_Q,h^T x_CLS + b_Q,h; the rows of K_h and V_h are W_K,h^T x_t + b_K,h and W_V,h^T x_t + b_V,h. One
    Keras multi-head attention, a ReLU after the heads are summed, a dense layer, and a linear map to the logits, all
    with biases; the theorems' network has none of them and has the activation inside each head. CLS stands last. The
    defaults have 37,506 weights. Kernels keep their Keras shapes (d, H, d_k) and (H, d_k, d).

    Keras initialisation: kernels Glorot uniform with Keras's own fans, where for a kernel of shape (..., a, b) they
    are a and b times the product of the leading axes (so for W_Q: H d and d_k d); biases zero; W_2 ~ N(0, 0.05^2).
    """

    name: ClassVar[str] = "keras_cls_transformer"
    config_type: ClassVar[type[Any]] = KerasClsTransformerConfig

    config: KerasClsTransformerConfig = eqx.field(static=True)
    W_Q: Float[Array, "d heads key_size"]
    b_Q: Float[Array, "heads key_size"]
    W_K: Float[Array, "d heads key_size"]
    b_K: Float[Array, "heads key_size"]
    W_V: Float[Array, "d heads key_size"]
    b_V: Float[Array, "heads key_size"]
    W_O: Float[Array, "heads key_size d"]
    b_O: Float[Array, " d"]
    W_1: Float[Array, "d d"]
    b_1: Float[Array, " d"]
    W_2: Float[Array, "d classes"]
    b_2: Float[Array, " classes"]

    @classmethod
    def init(cls, key: PRNGKeyArray, config: KerasClsTransformerConfig, *, dtype: Any = jnp.float32) -> Self:
        shapes = _shapes(config)
        *rngs, rng_2 = generators(key, len(shapes) + 1)
        weights = {
            name: np.zeros(shape) if name.startswith("b_") else _glorot_uniform(rng, shape)
            for rng, (name, shape) in zip(rngs, shapes.items(), strict=True)
        }
        weights["W_2"] = 0.05 * rng_2.standard_normal(shapes["W_2"])
        return cls(config, **{name: array(weight, dtype) for name, weight in weights.items()})

    def __check_init__(self) -> None:
        for name, shape in _shapes(self.config).items():
            check_shape(name, getattr(self, name), shape)

    def __call__(self, x: Float[Array, "tokens d"]) -> Float[Array, " classes"]:
        check_tokens(x, self.config.d)
        check_row("cls", self.config.cls, x.shape[0])
        query = jnp.einsum("i,ihk->hk", x[self.config.cls], self.W_Q) + self.b_Q
        keys = jnp.einsum("ti,ihk->thk", x, self.W_K) + self.b_K
        values = jnp.einsum("ti,ihk->thk", x, self.W_V) + self.b_V
        scores = jnp.einsum("hk,thk->ht", query / math.sqrt(self.config.key_size), keys)
        attended = jnp.einsum("ht,thk->hk", jax.nn.softmax(scores, axis=-1), values)
        hidden = jax.nn.relu(jnp.einsum("hk,hki->i", attended, self.W_O) + self.b_O)
        return (hidden @ self.W_1 + self.b_1) @ self.W_2 + self.b_2


def _shapes(config: KerasClsTransformerConfig) -> dict[str, tuple[int, ...]]:
    d, head, classes = config.d, (config.heads, config.key_size), config.classes
    return {
        "W_Q": (d, *head),
        "b_Q": head,
        "W_K": (d, *head),
        "b_K": head,
        "W_V": (d, *head),
        "b_V": head,
        "W_O": (*head, d),
        "b_O": (d,),
        "W_1": (d, d),
        "b_1": (d,),
        "W_2": (d, classes),
        "b_2": (classes,),
    }


def _glorot_uniform(rng: Generator, shape: tuple[int, ...]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Uniform on [-l, l] with l = sqrt(6 / (fan_in + fan_out)), fans counted as Keras counts them."""
    limit = math.sqrt(6.0 / (math.prod(shape[:-2]) * (shape[-2] + shape[-1])))
    return rng.uniform(-limit, limit, shape)
