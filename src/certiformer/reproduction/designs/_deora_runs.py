"""Gradient descent on Deora's attention layer over the tokenized mixture, for as many heads as the theory asks for.

Heads that start equal stay equal: the zero start is one head in H copies, and the first phase leaves two kinds, one for
each sign. `Heads` keeps one of each kind with its number of copies, so that a run with 10^9 heads costs as much as a
run with two and follows, up to rounding, the same path.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from certiformer.lab.models import MultiHeadAttention
from certiformer.lab.models._draws import generators
from certiformer.lab.models.multi_head_attention import MultiHeadAttentionConfig
from certiformer.lab.tasks.tokenized_mixture import TokenizedMixture, tokenized_mixture
from certiformer.lab.training.kernels import attention_runs, leave_one_out_weights
from certiformer.lab.training.losses import logistic
from certiformer.reproduction.sweep.run import Config
from certiformer.theory.core.errors import InputError

STARTS = ("zero", "one-step")
MIXTURE = ("tokens", "zeta", "M", "d", "S", "Z_mu", "Z_nu", "Z", "noise")


class Heads(NamedTuple):
    """Kinds of heads: U and W of one head of each kind, and how many there are of it."""

    U: Float[Array, "kinds tokens d"]
    W: Float[Array, "kinds d d"]
    copies: Float[Array, " kinds"]


@dataclass(frozen=True)
class Problem:
    """Training and test sample, the start, and ||p||, the distance of the first phase from its expectation."""

    x: Float[Array, "n tokens d"]
    y: Float[Array, " n"]
    test_x: Float[Array, "m tokens d"]
    test_y: Float[Array, " m"]
    relevant: Float[Array, "n tokens"]
    heads: Heads
    first_phase_error: float


def draw(config: Config) -> Problem:
    """The problem of a configuration; everything random comes from its seed, the first phase has its own samples."""
    key_task, key_first, key_start = jax.random.split(jax.random.key(config["seed"]), 3)
    mixture = {name: config[name] for name in MIXTURE}
    task = tokenized_mixture(key_task, n=config["n"], n_test=config["n_test"], dtype=jnp.float64, **mixture)
    assert isinstance(task.source, TokenizedMixture)
    assert task.test is not None
    heads, error = _start(config, task.source, key_first, key_start)
    relevant = jnp.asarray(task.train.meta["relevant"], jnp.float64)
    return Problem(task.train.inputs, task.train.labels, task.test.inputs, task.test.labels, relevant, heads, error)


def _start(config: Config, source: TokenizedMixture, key_first: Any, key_start: Any) -> tuple[Heads, float]:
    total, shape = config["heads"], {"d": config["d"], "tokens": config["tokens"]}
    if config["start"] == "zero":
        model = MultiHeadAttention.init(key_start, MultiHeadAttentionConfig(**shape, heads=1), dtype=jnp.float64)
        return Heads(model.U, model.W, jnp.full(1, float(total))), 0.0
    if config["start"] != "one-step":
        raise InputError("start", config["start"], f"one of {', '.join(STARTS)}")
    first = source.sample(key_first, config["n1"])
    pair = MultiHeadAttentionConfig(**shape, heads=2)
    model = MultiHeadAttention.one_step(key_start, pair, first.inputs, first.labels, signs="balanced")
    # H fair signs: a binomial number of heads has the first of the two signs.
    ones = int(generators(key_start, 2)[1].binomial(total, 0.5))
    expected = 0.25 * config["zeta"] * (source.mu(1) - source.mu(-1))
    error = min(float(jnp.linalg.norm(sign * model.U[0, 0] - expected)) for sign in (1.0, -1.0))
    return Heads(model.U, model.W, jnp.asarray([float(ones), float(total - ones)])), error


def outputs(heads: Heads, x: Float[Array, "n tokens d"]) -> Float[Array, " n"]:
    """Phi(X) = H^{-1/2} sum over kinds of copies <U, softmax(X W X^T) X>, by the model itself with rescaled U."""
    kinds, tokens, d = heads.U.shape
    scale = heads.copies * jnp.sqrt(kinds / jnp.sum(heads.copies))
    settings = MultiHeadAttentionConfig(d=d, tokens=tokens, heads=kinds)
    return jax.vmap(MultiHeadAttention(settings, U=scale[:, None, None] * heads.U, W=heads.W))(x)


def losses(heads: Heads, x: Float[Array, "n tokens d"], y: Float[Array, " n"]) -> Float[Array, " n"]:
    """The logistic loss of every sample."""
    return jax.vmap(logistic)(outputs(heads, x), y)


def descend(
    heads: Heads,
    x: Float[Array, "n tokens d"],
    y: Float[Array, " n"],
    shares: Float[Array, " n"],
    eta: float,
    steps: int,
) -> Heads:
    """`steps` of gradient descent on sum_i w_i l_i, in every head; `steps` may be traced."""

    def loss(U: Array, W: Array) -> Array:
        return jnp.sum(shares * losses(Heads(U, W, heads.copies), x, y))

    # The gradient in a kind is the sum over its copies; a kind without copies does not move.
    rate = (eta / jnp.maximum(heads.copies, 1.0))[:, None, None]

    def step(_: Any, now: tuple[Array, Array]) -> tuple[Array, Array]:
        slope_U, slope_W = jax.grad(loss, argnums=(0, 1))(*now)
        return now[0] - rate * slope_U, now[1] - rate * slope_W

    U, W = jax.lax.fori_loop(0, steps, step, (heads.U, heads.W))
    return Heads(U, W, heads.copies)


def distance(one: Heads, other: Heads) -> Float[Array, ""]:
    """||theta - theta'|| over all heads."""
    squares = jnp.sum((one.U - other.U) ** 2, axis=(1, 2)) + jnp.sum((one.W - other.W) ** 2, axis=(1, 2))
    return jnp.sqrt(jnp.sum(one.copies * squares))


def largest_head(heads: Heads) -> Float[Array, ""]:
    """max_h ||U_h||_F."""
    return jnp.max(jnp.where(heads.copies > 0, jnp.sqrt(jnp.sum(heads.U**2, axis=(1, 2))), 0.0))


def relevant_mass(heads: Heads, x: Float[Array, "n tokens d"], relevant: Float[Array, "n tokens"]) -> Float[Array, ""]:
    """Attention paid to relevant tokens, averaged over heads, queries and samples; zeta when it is uniform."""
    attention = jax.nn.softmax(jnp.einsum("nti,hij,nsj->nhts", x, heads.W, x), axis=-1)
    share = jnp.mean(jnp.einsum("nhts,ns->nht", attention, relevant), axis=(0, 2))
    return jnp.sum(heads.copies * share) / jnp.sum(heads.copies)


def expanded(heads: Heads) -> MultiHeadAttention:
    """The model with every copy written out."""
    copies = np.asarray(heads.copies).astype(int)
    U, W = np.repeat(np.asarray(heads.U), copies, axis=0), np.repeat(np.asarray(heads.W), copies, axis=0)
    _, tokens, d = U.shape
    settings = MultiHeadAttentionConfig(d=d, tokens=tokens, heads=len(U))
    return MultiHeadAttention(settings, U=jnp.asarray(U), W=jnp.asarray(W))


@functools.cache
def descend_runs() -> Callable[..., Heads]:
    """`descend` for runs along a leading axis, each with its own data; `steps` may change without compiling again."""
    return jax.jit(jax.vmap(descend, in_axes=(0, 0, 0, 0, None, None)))


def descend_leaving_one_out(
    runs: Heads, x: Float[Array, "n tokens d"], y: Float[Array, " n"], eta: float, steps: int
) -> Heads:
    """`descend` on all samples (run 0) and without each of them (runs 1 to n), with weights 1/n throughout."""
    copies = np.asarray(runs.copies[0])
    found = attention_runs(
        runs.U,
        runs.W,
        (x, y),
        leave_one_out_weights(len(y)),
        factor=copies / np.sqrt(np.sum(copies)),
        rate=eta / np.maximum(copies, 1.0),
        steps=steps,
    )
    return Heads(jnp.asarray(found.U), jnp.asarray(found.W), runs.copies)


def octaves(first: int, last: int, per_octave: int = 2) -> list[int]:
    """first 2^{j / per_octave}, rounded, up to `last`: the steps at which a run is looked at."""
    count = round(per_octave * math.log2(last / first))
    return [round(first * 2 ** (j / per_octave)) for j in range(count + 1)]
