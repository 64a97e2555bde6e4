r"""Runs that the studies of tails, truncation and sequence length share: least squares with one attention head.

f(X) = u . sigma(W_v^T X^T softmax(X W_QK^T x_CLS)) with u = W_c w, which is the `ClsTransformer` of one layer and one
head in its merged form. The empirical risk is minimised locally, from the teacher's weights on, by Levenberg and
Marquardt's method in float64: what is seen is statistical error, not optimisation. Heavy-tailed risks are integrated
by importance sampling, so that a few thousand test points know the far tail.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from certiformer.lab.models import ClsTransformer, activation
from certiformer.lab.models._draws import generators, unit_directions
from certiformer.lab.tasks.heavy_tails import HeavyTails
from certiformer.reproduction.designs._li_tails_fits import Vector, log_student
from certiformer.theory.calculus import robust

Config = dict[str, Any]
ACTIVATION = "leaky_relu"
LOSSES = ("squared", "catoni", "huber")
# Damping of the normal equations: where it starts, how it falls and grows, and where a run of failures ends.
DAMPING, EASIER, HARDER, HOPELESS = 1e-4, 0.2, 5.0, 1e8
# The step is accepted as final when it promises less than this fraction of the objective.
ENOUGH = 1e-7
# Tail index of the test points' far part: one in a hundred of them lies beyond 10^7.
HEAVIER = 0.25


class Head(NamedTuple):
    """The merged weights of one head."""

    u: Float[Array, " k"]
    W_v: Float[Array, "d k"]
    W_QK: Float[Array, "d d"]


def merge(model: ClsTransformer) -> Head:
    """One layer, one head: W_c and w only ever act as their product."""
    return Head(model.W_c[0, 0] @ model.w, model.W_v[0, 0], model.W_QK[0, 0])


def predict(head: Head, x: Float[Array, "tokens d"]) -> Float[Array, ""]:
    """f(X) from the CLS row alone."""
    attention = jax.nn.softmax(x @ (head.W_QK.T @ x[0]))
    return head.u @ activation(ACTIVATION)(head.W_v.T @ (attention @ x))


def problem(config: Config) -> HeavyTails:
    """The source of a run's data: one teacher, drawn once for all seeds."""
    return HeavyTails.draw(
        jax.random.key(config["teacher"]),
        tokens=config["tokens"],
        d=config["d"],
        k=config["k"],
        activation=ACTIVATION,
        tail=config["tail"],
        beta=config["beta"],
        noise=config["noise"],
        sigma=config["sigma"],
        nu=config["nu"],
        dtype=jnp.float64,
    )


# --- losses of a residual, and the weights of the least squares that they lead to ---------------------------------


def losses(r: Array, scale: Any) -> tuple[Array, Array, Array]:
    """The `LOSSES` of a residual; Catoni's is the paper's psi(s r^2)/s, s = 1/scale^2; Huber's corner is at `scale`."""
    return r**2, robust.log_truncated(r**2, 1.0 / scale**2), 2.0 * robust.huber(r, scale)


def influence_weights(r: Array, scale: Any) -> tuple[Array, Array, Array]:
    """l'(r)/(2 r) of the `LOSSES`, falling in |r|: least squares with these weights majorise the loss."""
    x = (r / scale) ** 2
    return jnp.ones_like(r), (1.0 + x) / (1.0 + x + x**2 / 2.0), scale / jnp.maximum(jnp.abs(r), scale)


# --- local ERM ----------------------------------------------------------------------------------------------------


class _State(NamedTuple):
    flat: Float[Array, " p"]
    value: Float[Array, ""]
    damping: Float[Array, ""]
    steps: Array
    done: Array


@functools.partial(jax.jit, static_argnames=("iterations",))
def minimise(
    start: Head,
    inputs: Float[Array, "draws n tokens d"],
    labels: Float[Array, "draws n"],
    loss: Float[Array, ""] | int,
    scale: Float[Array, ""] | float,
    clip: Float[Array, ""] | float,
    *,
    iterations: int,
) -> tuple[Head, Array]:
    """For each draw the local minimiser of the empirical risk near `start`, and whether it was reached.

    `loss` is an index into `LOSSES`, not a static word, so that all losses share one compiled program. Predictions are
    confined to [-clip, clip] in the objective itself; an infinite clip does nothing.
    """
    flat_start, restore = ravel_pytree(start)

    def output(flat: Array, x: Array) -> Array:
        return jnp.clip(predict(restore(flat), x), -clip, clip)

    def one(x: Array, y: Array) -> tuple[Array, Array]:
        def risk(flat: Array) -> Array:
            residual = jax.vmap(output, (None, 0))(flat, x) - y
            return jnp.mean(jnp.stack(losses(residual, scale))[loss])

        def step(state: _State) -> _State:
            values, slopes = jax.vmap(jax.value_and_grad(output), (None, 0))(state.flat, x)
            residual = values - y
            weights = jnp.stack(influence_weights(residual, scale))[loss]
            gradient = slopes.T @ (weights * residual) / len(y)
            normal = (slopes.T * weights) @ slopes / len(y)
            # A floor for directions that the data do not see: scales between u and W_v, dead tokens.
            scales = jnp.diag(normal) + 1e-12 * jnp.trace(normal) + 1e-30
            move = jnp.linalg.solve(normal + state.damping * jnp.diag(scales), -gradient)
            moved = risk(state.flat + move)
            better = moved < state.value
            promise = -gradient @ move
            damping = state.damping * jnp.where(better, EASIER, HARDER)
            return _State(
                flat=jnp.where(better, state.flat + move, state.flat),
                value=jnp.where(better, moved, state.value),
                damping=jnp.maximum(damping, 1e-12),
                steps=state.steps + 1,
                done=(promise <= ENOUGH * state.value) | (damping > HOPELESS),
            )

        first = _State(flat_start, risk(flat_start), jnp.asarray(DAMPING), jnp.asarray(0), jnp.asarray(False))
        last = jax.lax.while_loop(lambda s: ~s.done & (s.steps < iterations), step, first)
        return last.flat, last.done

    # one after another: side by side, all would take as many steps as the slowest
    flats, done = jax.lax.map(lambda draw: one(*draw), (inputs, labels))
    return jax.vmap(restore)(flats), done


@jax.jit
def squared_distance(
    heads: Head,
    inputs: Float[Array, "m tokens d"],
    target: Float[Array, " m"],
    weights: Float[Array, " m"],
    clip: Float[Array, ""] | float = math.inf,
) -> Float[Array, " draws"]:
    """E (fhat(X) - f0(X))^2 for each of the heads, over a weighted test sample."""

    def one(head: Head) -> Array:
        values = jax.vmap(predict, (None, 0))(head, inputs)
        return jnp.mean(weights * (jnp.clip(values, -clip, clip) - target) ** 2)

    distances: Array = jax.lax.map(one, heads)
    return distances


# --- test points that know the far tail --------------------------------------------------------------------------


def test_sample(rng: np.random.Generator, config: Config, m: int) -> tuple[Vector, Vector]:
    """m inputs and weights with mean w g(X) ~ E g(X), of finite variance for every g of quadratic growth.

    Heavy tails: with probability one half a token's radius (Pareto) or one entry (Student), taken at random, is drawn
    with tail index `HEAVIER`; the weighted squares have a variance if that is below 2 beta - 4. Weights are at most
    two. The law itself is the one of `HeavyTails.sample_inputs`.
    """
    tail, beta, shape = config["tail"], config["beta"], (m, config["tokens"], config["d"])
    if tail == "gaussian":
        return rng.standard_normal(shape) / math.sqrt(shape[-1]), np.ones(m)
    tilted, rows = rng.random(m) < 0.5, np.arange(m)
    if tail == "pareto":
        magnitudes = 1.0 + rng.pareto(beta, shape[:2])
        chosen = rng.integers(0, shape[1], m)
        replacement = 1.0 + rng.pareto(HEAVIER, m)
    else:
        magnitudes = rng.standard_t(beta, (m, shape[1] * shape[2]))
        chosen = rng.integers(0, shape[1] * shape[2], m)
        replacement = rng.standard_t(HEAVIER, m)
    magnitudes[rows[tilted], chosen[tilted]] = replacement[tilted]
    if tail == "pareto":
        ln_ratio = math.log(HEAVIER / beta) + (beta - HEAVIER) * np.log(magnitudes)
        inputs = magnitudes[..., None] * unit_directions(rng, shape)
    else:
        ln_ratio = log_student(magnitudes, HEAVIER) - log_student(magnitudes, beta)
        inputs = magnitudes.reshape(shape) / math.sqrt(shape[-1])
    return inputs, 1.0 / (0.5 + 0.5 * np.mean(np.exp(ln_ratio), axis=1))


def truncate(inputs: Vector, threshold: float) -> Vector:
    """T_M: a sequence whose longest token exceeds M is scaled down as a whole until it does not."""
    longest = np.max(np.linalg.norm(inputs, axis=-1), axis=-1)[..., None, None]
    return np.asarray(inputs * np.minimum(1.0, threshold / np.maximum(longest, np.finfo(float).tiny)))


@jax.jit
def target(head: Head, inputs: Float[Array, "m tokens d"]) -> Float[Array, " m"]:
    """f0(X) of many sequences, by the CLS rows alone: long sequences have no room for the others."""
    return jax.vmap(predict, (None, 0))(head, inputs)


def training_sample(source: HeavyTails, config: Config) -> tuple[Vector, Vector, Vector]:
    """`draws` independent samples of n examples, those of `HeavyTails.sample`: inputs, f0(X), labels."""
    draws, n = config["draws"], config["n"]
    rng_x, rng_noise = generators(jax.random.key(config["seed"] + 1_000_003 * (1 + config["teacher"])), 2)
    inputs = np.asarray(source.sample_inputs(rng_x, draws * n))
    truth = np.asarray(target(merge(source.teacher), jnp.asarray(inputs)))
    heavy = source.noise == "student"
    noise = rng_noise.standard_t(source.nu, draws * n) if heavy else rng_noise.standard_normal(draws * n)
    labels = (truth + source.sigma * noise).reshape(draws, n)
    return inputs.reshape(draws, n, *inputs.shape[1:]), truth.reshape(draws, n), labels


def test_generator(config: Config) -> np.random.Generator:
    """Each seed has its own test points, the same for every sample size and threshold."""
    return np.random.default_rng([config["teacher"], config["tokens"], config["seed"], 17])
