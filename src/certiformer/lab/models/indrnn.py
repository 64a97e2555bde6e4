"""The independently recurrent network that Arda et al. compare with."""

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
from certiformer.lab.models._draws import array, generators, signs
from certiformer.lab.models.independent_heads import ACTIVATIONS, paired_sum
from certiformer.theory.core.errors import InputError


@dataclass(frozen=True)
class IndRNNConfig:
    """`d`: dimension of an input. `units`: the width m, even. `alpha`: |u_i| at initialisation (1.5 in the code)."""

    d: int = 17
    units: int = 64
    activation: str = "tanh"
    alpha: float = 1.5

    def __post_init__(self) -> None:
        check_count("d", self.d)
        check_count("units", self.units)
        check_even("units", self.units)
        check_choice("activation", self.activation, ACTIVATIONS)
        if not (math.isfinite(self.alpha) and self.alpha >= 0):
            raise InputError("alpha", self.alpha, "a finite number of at least 0")


class IndRNN(Model):
    r"""f(X) = m^{-1/2} sum_i c_i h_i,T,  h_i,t = sigma( w_i^T x_t + u_i h_i,t-1 ),  h_i,0 = 0.

    where: X (T x d) has the inputs x_t in its rows; unit i feeds back only on itself through the scalar u_i; m is the
    number of units. (Arda et al., appendix B, equations 48 to 51.)

    Symmetric initialisation, m even: for i <= m/2 draw w_i ~ N(0, I), u_i = +-alpha and c_i = +-1, fair; unit
    i + m/2 has the same w and u and the opposite c. Pairs are added first, so the output is exactly zero.
    """

    name: ClassVar[str] = "indrnn"
    config_type: ClassVar[type[Any]] = IndRNNConfig

    config: IndRNNConfig = eqx.field(static=True)
    c: Float[Array, " units"]
    u: Float[Array, " units"]
    w: Float[Array, "units d"]

    @classmethod
    def init(cls, key: PRNGKeyArray, config: IndRNNConfig, *, dtype: Any = jnp.float32) -> Self:
        half = config.units // 2
        rng_c, rng_u, rng_w = generators(key, 3)
        c, u = signs(rng_c, (half,)), config.alpha * signs(rng_u, (half,))
        w = rng_w.standard_normal((half, config.d))
        return cls(config, *(array(np.concatenate(pair), dtype) for pair in ((c, -c), (u, u), (w, w))))

    def __check_init__(self) -> None:
        units = self.config.units
        check_shape("c", self.c, (units,))
        check_shape("u", self.u, (units,))
        check_shape("w", self.w, (units, self.config.d))

    def hidden(self, x: Float[Array, "tokens d"]) -> Float[Array, " units"]:
        """h_T, the last hidden state."""
        check_tokens(x, self.config.d)
        sigma = activation(self.config.activation)

        def step(h: Float[Array, " units"], drive: Float[Array, " units"]) -> tuple[Float[Array, " units"], None]:
            return sigma(drive + self.u * h), None

        drives = x @ self.w.T
        state, _ = jax.lax.scan(step, jnp.zeros_like(drives[0]), drives)
        return state

    def __call__(self, x: Float[Array, "tokens d"]) -> Float[Array, ""]:
        return paired_sum(self.c * self.hidden(x)) / math.sqrt(self.config.units)
