"""The shallow Transformer with independent heads of Arda et al."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from certiformer.lab.models._base import (
    Model,
    activation,
    check_choice,
    check_count,
    check_even,
    check_shape,
    check_tokens,
)
from certiformer.lab.models._draws import array, generators, signs, unit_directions

QUERIES = ("last", "cls", "seed")
ACTIVATIONS = ("tanh", "erf")


@dataclass(frozen=True)
class IndependentHeadsConfig:
    """`d`: token dimension. `heads`: the width m, even. `activation`: `tanh`, or `erf` for erf(x/sqrt 2).

    `query`, never trained: the `last` token, the `cls` token (row 0), or a fixed unit vector drawn from `query_seed`.
    """

    d: int = 8
    heads: int = 64
    activation: str = "tanh"
    query: str = "last"
    query_seed: int = 0

    def __post_init__(self) -> None:
        check_count("d", self.d)
        check_count("heads", self.heads)
        check_even("heads", self.heads)
        check_count("query_seed", self.query_seed, 0)
        check_choice("activation", self.activation, ACTIVATIONS)
        check_choice("query", self.query, QUERIES)


class IndependentHeads(Model):
    r"""f(X) = m^{-1/2} sum_i c_i sigma( u_i^T a_i ),  a_i = X^T softmax( X W_i q(X) ).

    where: X (T x d) has the tokens in its rows (the paper has them in columns), q(X) is the query, u_i has d entries,
    W_i is d x d, m is the number of heads. (Arda et al., equations 2 to 4.)

    Symmetric initialisation, m even: for i <= m/2 draw u_i ~ N(0, I), W_i with N(0, 1) entries and c_i = +-1 fair;
    head i + m/2 has the same u and W and the opposite c. Pairs are added first, so the output is exactly zero.
    """

    name: ClassVar[str] = "independent_heads"
    config_type: ClassVar[type[Any]] = IndependentHeadsConfig

    config: IndependentHeadsConfig = eqx.field(static=True)
    c: Float[Array, " heads"]
    u: Float[Array, "heads d"]
    W: Float[Array, "heads d d"]

    @classmethod
    def init(cls, key: PRNGKeyArray, config: IndependentHeadsConfig, *, dtype: Any = jnp.float32) -> Self:
        half, d = config.heads // 2, config.d
        rng_c, rng_u, rng_W = generators(key, 3)
        c, u, W = signs(rng_c, (half,)), rng_u.standard_normal((half, d)), rng_W.standard_normal((half, d, d))
        return cls(config, *(array(np.concatenate(pair), dtype) for pair in ((c, -c), (u, u), (W, W))))

    def __check_init__(self) -> None:
        heads, d = self.config.heads, self.config.d
        check_shape("c", self.c, (heads,))
        check_shape("u", self.u, (heads, d))
        check_shape("W", self.W, (heads, d, d))

    def query(self, x: Float[Array, "tokens d"]) -> Float[Array, " d"]:
        """q(X)."""
        if self.config.query == "seed":
            return jnp.asarray(seed_query(self.config.query_seed, self.config.d), x.dtype)
        return x[-1] if self.config.query == "last" else x[0]

    def hidden(self, x: Float[Array, "tokens d"]) -> Float[Array, " heads"]:
        """h_i = sigma(u_i^T a_i), head by head."""
        check_tokens(x, self.config.d)
        scores = jnp.einsum("hij,j->hi", self.W, self.query(x)) @ x.T
        attended = jax.nn.softmax(scores, axis=-1) @ x
        return activation(self.config.activation)(jnp.sum(self.u * attended, axis=-1))

    def __call__(self, x: Float[Array, "tokens d"]) -> Float[Array, ""]:
        return paired_sum(self.c * self.hidden(x)) / math.sqrt(self.config.heads)


def paired_sum(terms: Float[Array, " m"]) -> Float[Array, ""]:
    """sum_i terms_i with term i + m/2 added to term i first, so that opposite pairs cancel without rounding."""
    half = terms.shape[0] // 2
    return jnp.sum(terms[:half] + terms[half:])


def seed_query(seed: int, d: int) -> Float[np.ndarray, " d"]:
    """A fixed query: uniform on the unit sphere, determined by `seed`."""
    return unit_directions(np.random.default_rng(seed), (d,))
