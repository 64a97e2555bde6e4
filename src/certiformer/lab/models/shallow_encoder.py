"""The shallow encoder of Mwigo and Dasgupta."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from certiformer.lab.models._base import Model, check_count, check_shape, check_tokens
from certiformer.lab.models._draws import array, generators


@dataclass(frozen=True)
class ShallowEncoderConfig:
    """`d`: dimension of a token. `d_m`: width of the encoder."""

    d: int = 64
    d_m: int = 64

    def __post_init__(self) -> None:
        check_count("d", self.d)
        check_count("d_m", self.d_m)


class ShallowEncoder(Model):
    r"""f(X) = (1/d_s) w_O^T sum_i relu( W_V X^T softmax( X W_K^T W_Q x_i / sqrt(d_m) ) ).

    where: X (d_s x d) has the tokens x_i in its rows; W_Q, W_K, W_V are d_m x d; w_O has d_m entries. No projection,
    no bias, mean pooling, a scalar logit. LeCun initialisation: entries of W_Q, W_K, W_V are N(0, 1/d), those of w_O
    are N(0, 1/d_m). (Mwigo and Dasgupta, sections 3.1.2 and 3.1.3, with W_H = I; our rows are their tokens.)
    """

    name: ClassVar[str] = "shallow_encoder"
    config_type: ClassVar[type[Any]] = ShallowEncoderConfig

    config: ShallowEncoderConfig = eqx.field(static=True)
    W_Q: Float[Array, "d_m d"]
    W_K: Float[Array, "d_m d"]
    W_V: Float[Array, "d_m d"]
    w_O: Float[Array, " d_m"]

    @classmethod
    def init(cls, key: PRNGKeyArray, config: ShallowEncoderConfig, *, dtype: Any = jnp.float32) -> Self:
        d, d_m = config.d, config.d_m
        Q, K, V, O = generators(key, 4)  # noqa: E741 (the papers' letters)
        return cls(
            config,
            W_Q=array(Q.standard_normal((d_m, d)) / math.sqrt(d), dtype),
            W_K=array(K.standard_normal((d_m, d)) / math.sqrt(d), dtype),
            W_V=array(V.standard_normal((d_m, d)) / math.sqrt(d), dtype),
            w_O=array(O.standard_normal(d_m) / math.sqrt(d_m), dtype),
        )

    def __check_init__(self) -> None:
        d, d_m = self.config.d, self.config.d_m
        for name in ("W_Q", "W_K", "W_V"):
            check_shape(name, getattr(self, name), (d_m, d))
        check_shape("w_O", self.w_O, (d_m,))

    def features(self, x: Float[Array, "tokens d"]) -> Float[Array, " d_m"]:
        """(1/d_s) sum_i relu(W_V a_i): what the readout w_O sees."""
        check_tokens(x, self.config.d)
        scores = (x @ self.W_Q.T) @ (x @ self.W_K.T).T / math.sqrt(self.config.d_m)
        attended = jax.nn.softmax(scores, axis=-1) @ x
        return jnp.mean(jax.nn.relu(attended @ self.W_V.T), axis=0)

    def __call__(self, x: Float[Array, "tokens d"]) -> Float[Array, ""]:
        return self.features(x) @ self.w_O
