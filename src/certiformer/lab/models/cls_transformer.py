"""The Transformer with a CLS readout of Trauger and Tewari and of Li et al., and its low-rank parametrisation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from certiformer.lab.models._base import (
    Model,
    activation,
    check_choice,
    check_count,
    check_row,
    check_shape,
    check_tokens,
    unit_ball,
)
from certiformer.lab.models._draws import array, generators
from certiformer.theory.core.errors import InputError

BLOCKS = ("trauger", "li")
READOUTS = ("scalar", "classes", "masked")


@dataclass(frozen=True)
class ClsTransformerConfig:
    """`d`: token dimension. `k`: inner dimension of a head. `heads`, `layers`: H and L.

    `block` is whose layer it is (they differ only where there are projections); `projected` says whether rows are
    projected onto the unit ball, by default exactly when there are several layers, as in both papers. `readout`:
    `scalar` (w^T y_CLS), `classes` (K logits W y_CLS) or `masked` (K logits W y_t at a position t given with each
    example). `cls` is the row of the CLS token, -1 for the last.
    """

    d: int = 64
    k: int = 64
    heads: int = 1
    layers: int = 1
    activation: str = "relu"
    block: str = "trauger"
    projected: bool | None = None
    readout: str = "scalar"
    classes: int = 1
    cls: int = 0

    def __post_init__(self) -> None:
        for name in ("d", "k", "heads", "layers", "classes"):
            check_count(name, getattr(self, name))
        activation(self.activation)
        check_choice("block", self.block, BLOCKS)
        check_choice("readout", self.readout, READOUTS)
        if self.projected is None:
            object.__setattr__(self, "projected", self.layers > 1)
        if self.layers > 1 and not self.projected:
            raise InputError("projected", False, "True when there are several layers, as in both papers")
        if (self.readout == "scalar") != (self.classes == 1):
            raise InputError(
                "classes",
                self.classes,
                f"{'1' if self.readout == 'scalar' else 'at least 2'} for readout {self.readout!r}",
            )


class ClsTransformer(Model):
    r"""f(X) = w^T Y_CLS,  Y = sum_h sigma( softmax(X W_QK,h X^T) X W_v,h ) W_c,h.

    where: X (T x d) has the tokens in its rows; W_QK = W_Q W_K^T is d x d, so the query of row t scores the tokens by
    X W_QK^T x_t; W_v is d x k, W_c is k x d; softmax acts on rows; a score scale 1/sqrt(d_k) belongs into W_QK. With
    projections Pi onto the unit ball (rows), layer l + 1 reads, with A_h = softmax(X W_QK,h X^T) X W_v,h,

        block "trauger":  X <- Pi( sum_h sigma(Pi(A_h)) W_c,h )           (Trauger and Tewari, section 2.6; Edelman)
        block "li":       X <- Pi( sigma( Pi( sum_h sigma(A_h) W_c,h ) ) )    (Li et al., equations 4 and 5)

    Weights are stacked: W_QK[l, h]. Neither paper states an initialisation for this model; `init` draws
    W_QK ~ N(0, 1/d), W_v ~ N(0, 1/d), W_c ~ N(0, 1/k), w ~ N(0, 1/d) (LeCun).
    """

    name: ClassVar[str] = "cls_transformer"
    config_type: ClassVar[type[Any]] = ClsTransformerConfig

    config: ClsTransformerConfig = eqx.field(static=True)
    W_QK: Float[Array, "layers heads d d"]
    W_v: Float[Array, "layers heads d k"]
    W_c: Float[Array, "layers heads k d"]
    w: Float[Array, " d"] | Float[Array, "classes d"]

    @classmethod
    def init(cls, key: PRNGKeyArray, config: ClsTransformerConfig, *, dtype: Any = jnp.float32) -> Self:
        d, k = config.d, config.k
        stack = (config.layers, config.heads)
        rng_qk, rng_v, rng_c, rng_w = generators(key, 4)
        return cls(
            W_QK=array(rng_qk.standard_normal((*stack, d, d)) / math.sqrt(d), dtype),
            W_v=array(rng_v.standard_normal((*stack, d, k)) / math.sqrt(d), dtype),
            W_c=array(rng_c.standard_normal((*stack, k, d)) / math.sqrt(k), dtype),
            w=array(rng_w.standard_normal(_readout_shape(config)) / math.sqrt(d), dtype),
            config=config,
        )

    def __check_init__(self) -> None:
        config, stack = self.config, (self.config.layers, self.config.heads)
        check_shape("W_QK", self.W_QK, (*stack, config.d, config.d))
        check_shape("W_v", self.W_v, (*stack, config.d, config.k))
        check_shape("W_c", self.W_c, (*stack, config.k, config.d))
        check_shape("w", self.w, _readout_shape(config))

    def layer(self, index: int, x: Float[Array, "tokens d"]) -> Float[Array, "tokens d"]:
        """All rows after layer `index` (counted from 0)."""
        sigma, config = activation(self.config.activation), self.config
        total = jnp.zeros_like(x)
        for W_QK, W_v, W_c in zip(self.W_QK[index], self.W_v[index], self.W_c[index], strict=True):
            attended = jax.nn.softmax(x @ W_QK @ x.T, axis=-1) @ x @ W_v
            if config.projected and config.block == "trauger":
                attended = unit_ball(attended)
            total = total + sigma(attended) @ W_c
        if not config.projected:
            return total
        if config.block == "li":
            total = sigma(unit_ball(total))
        return unit_ball(total)

    def rows(self, x: Float[Array, "tokens d"]) -> Float[Array, "tokens d"]:
        """All rows after the last layer."""
        check_tokens(x, self.config.d)
        for index in range(self.config.layers):
            x = self.layer(index, x)
        return x

    def __call__(
        self, x: Float[Array, "tokens d"], position: int | Int[Array, ""] | None = None
    ) -> Float[Array, ""] | Float[Array, " classes"]:
        """The prediction from the CLS row, or from the row `position` of the masked token."""
        if (position is None) == (self.config.readout == "masked"):
            expected = "the masked row" if position is None else f"None for readout {self.config.readout!r}"
            raise InputError("position", position, expected)
        row = self.config.cls if position is None else position
        if isinstance(row, int):
            check_row("cls" if position is None else "position", row, x.shape[0])
        return self.w @ self.rows(x)[row]


def _readout_shape(config: ClsTransformerConfig) -> tuple[int, ...]:
    return (config.d,) if config.readout == "scalar" else (config.classes, config.d)


@dataclass(frozen=True)
class LowRankClsTransformerConfig(ClsTransformerConfig):
    """As `ClsTransformerConfig`; `rank` bounds the rank of every W_QK, W_v and W_c."""

    rank: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("rank", self.rank)
        if self.rank > min(self.d, self.k):
            raise InputError("rank", self.rank, f"at most min(d, k) = {min(self.d, self.k)}")


class LowRankClsTransformer(Model):
    r"""The `ClsTransformer` whose matrices have rank at most r: W_QK = A_QK B_QK^T, W_v = A_v B_v^T, W_c = A_c B_c^T.

    where: A and B have r columns each. `merged` multiplies them out. (Li et al., section 5: rank-based classes.)
    Entries of a factor pair are drawn so that the product has the variance of the full matrix: 1/fan-in.
    """

    name: ClassVar[str] = "low_rank_cls_transformer"
    config_type: ClassVar[type[Any]] = LowRankClsTransformerConfig

    config: LowRankClsTransformerConfig = eqx.field(static=True)
    A_QK: Float[Array, "layers heads d rank"]
    B_QK: Float[Array, "layers heads d rank"]
    A_v: Float[Array, "layers heads d rank"]
    B_v: Float[Array, "layers heads k rank"]
    A_c: Float[Array, "layers heads k rank"]
    B_c: Float[Array, "layers heads d rank"]
    w: Float[Array, " d"] | Float[Array, "classes d"]

    @classmethod
    def init(cls, key: PRNGKeyArray, config: LowRankClsTransformerConfig, *, dtype: Any = jnp.float32) -> Self:
        d, k, r = config.d, config.k, config.rank
        stack = (config.layers, config.heads)
        *rngs, rng_w = generators(key, 7)
        rows = {"A_QK": (d, d), "B_QK": (d, d), "A_v": (d, d), "B_v": (k, d), "A_c": (k, k), "B_c": (d, k)}
        factors = {
            name: array(rng.standard_normal((*stack, size, r)) / (r * fan_in) ** 0.25, dtype)
            for rng, (name, (size, fan_in)) in zip(rngs, rows.items(), strict=True)
        }
        return cls(
            **factors, w=array(rng_w.standard_normal(_readout_shape(config)) / math.sqrt(d), dtype), config=config
        )

    def __check_init__(self) -> None:
        config, stack = self.config, (self.config.layers, self.config.heads)
        sizes = {"A_QK": config.d, "B_QK": config.d, "A_v": config.d, "B_v": config.k, "A_c": config.k, "B_c": config.d}
        for name, size in sizes.items():
            check_shape(name, getattr(self, name), (*stack, size, config.rank))
        check_shape("w", self.w, _readout_shape(config))

    def merged(self) -> ClsTransformer:
        """The same function with full matrices."""
        c = self.config
        full = ClsTransformerConfig(
            c.d, c.k, c.heads, c.layers, c.activation, c.block, c.projected, c.readout, c.classes, c.cls
        )
        product = "lhir,lhjr->lhij"
        return ClsTransformer(
            W_QK=jnp.einsum(product, self.A_QK, self.B_QK),
            W_v=jnp.einsum(product, self.A_v, self.B_v),
            W_c=jnp.einsum(product, self.A_c, self.B_c),
            w=self.w,
            config=full,
        )

    def __call__(
        self, x: Float[Array, "tokens d"], position: int | Int[Array, ""] | None = None
    ) -> Float[Array, ""] | Float[Array, " classes"]:
        return self.merged()(x, position)
