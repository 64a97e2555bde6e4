"""Gradient descent on Deora's attention layer over the tokenized mixture, for as many heads as the theory asks for.

Heads that start equal stay equal: the zero start is one head in H copies, and the first phase leaves two kinds, one for
each sign. `Heads` keeps one of each kind with its number of copies, so that a run with 10^9 heads costs as much as a
run with two and follows, up to rounding, the same path.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from certiformer.lab.measure.ntk import hard_margin
from certiformer.lab.models import MultiHeadAttention
from certiformer.lab.models._draws import generators
from certiformer.lab.models.multi_head_attention import MultiHeadAttentionConfig
from certiformer.lab.tasks.tokenized_mixture import TokenizedMixture, tokenized_mixture
from certiformer.lab.training.kernels import attention_runs, leave_one_out_weights
from certiformer.lab.training.losses import logistic
from certiformer.reproduction.designs._deora_analysis import STARTS
from certiformer.reproduction.sweep import Config, Outcome
from certiformer.theory.core.errors import InputError

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
    model = MultiHeadAttention.one_step(key_start, pair, first.inputs, first.labels)
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


descend_runs: Callable[..., Heads] = jax.jit(jax.vmap(descend, in_axes=(0, 0, 0, 0, None, None)))
"""`descend` for runs along a leading axis, each with its own data; `steps` may change without compiling again."""


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


# The runs of each experiment


def run_margins(config: Config) -> Outcome:
    """NTK margins at norm sqrt 2: the largest, by quadratic program, and that of the first gradient step."""
    with jax.enable_x64(True):
        problem = draw(config)
        slopes = _features(expanded(problem.heads), problem.x)
        y = np.asarray(problem.y)
        rows = y[:, None] * np.concatenate([np.asarray(slope).reshape(config["n"], -1) for slope in slopes], axis=1)
        found = hard_margin(rows)
        start = np.asarray(outputs(problem.heads, problem.x))
        step = (1.0 / (1.0 + np.exp(y * start))) @ rows
        values = {
            "margin": math.sqrt(2.0) * found.achieved,
            "margin_at_most": math.sqrt(2.0) * found.at_most,
            "first_step": math.sqrt(2.0) * float(np.min(rows @ step) / np.linalg.norm(step)),
            "BPhi": float(np.max(np.abs(start))),
            "B2": float(largest_head(problem.heads)),
            "first_phase_error": problem.first_phase_error,
        }
    return Outcome(values)


@jax.jit
def _features(model: MultiHeadAttention, x: Array) -> tuple[Array, Array]:
    """Gradients of the model at every sample."""
    gradient = jax.grad(lambda each, sample: each(sample))
    found = jax.vmap(gradient, in_axes=(None, 0))(model, x)
    return found.U, found.W


def run_stability(config: Config) -> Outcome:
    """Gradient descent with all n samples and without each of them; distances and losses at the checkpoints."""
    with jax.enable_x64(True):
        problem = draw(config)
        n = config["n"]
        start: Heads = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (n + 1, *leaf.shape)), problem.heads)
        now, done, seen = start, 0, []
        for until in config["checkpoints"]:
            now = descend_leaving_one_out(now, problem.x, problem.y, config["eta"], until - done)
            seen.append(_look_stability(now, problem.x, problem.y))
            done = until
        arrays = {name: np.stack([np.asarray(each[name]) for each in seen]) for name in seen[0]}
        values = {
            "first_phase_error": problem.first_phase_error,
            "B2": float(largest_head(problem.heads)),
            "BPhi": float(jnp.max(jnp.abs(outputs(problem.heads, problem.x)))),
        }
    return Outcome(values, arrays)


@jax.jit
def _look_stability(runs: Heads, x: Array, y: Array) -> dict[str, Array]:
    full: Heads = jax.tree.map(lambda leaf: leaf[0], runs)
    left_out: Heads = jax.tree.map(lambda leaf: leaf[1:], runs)
    apart = jax.vmap(distance, in_axes=(0, None))(left_out, full)
    own = losses(full, x, y)
    # l_i without sample i: its mean has the expectation of a test loss, and hardly its noise.
    unseen = jax.vmap(lambda heads, one, label: losses(heads, one[None], label[None])[0])(left_out, x, y)
    return {"stability": jnp.mean(apart), "left_out_gap": jnp.mean(unseen - own)}


def run_training_batch(configs: Sequence[Config]) -> list[Outcome]:
    """Runs that differ in nothing but the seed."""
    with jax.enable_x64(True):
        problems = [draw(config) for config in configs]
        x, y, test_x, test_y, relevant = (
            jnp.stack([getattr(problem, name) for problem in problems])
            for name in ("x", "y", "test_x", "test_y", "relevant")
        )
        start: Heads = jax.tree.map(lambda *leaves: jnp.stack(leaves), *(problem.heads for problem in problems))
        weights = jnp.full(y.shape, 1.0 / y.shape[1])
        seen = [_look_training(start, x, y, test_x, test_y, relevant)]
        now, done = start, 0
        for until in configs[0]["checkpoints"]:
            now = descend_runs(now, x, y, weights, configs[0]["eta"], until - done)
            seen.append(_look_training(now, x, y, test_x, test_y, relevant))
            done = until
        curves = {name: np.stack([np.asarray(each[name]) for each in seen], axis=1) for name in seen[0]}
    return [
        Outcome(
            {"first_phase_error": problem.first_phase_error},
            {name: curve[index] for name, curve in curves.items()},
        )
        for index, problem in enumerate(problems)
    ]


def run_training(config: Config) -> Outcome:
    """Curves over the checkpoints, the start first: losses, error, outputs, attention."""
    return run_training_batch([config])[0]


@jax.jit
@jax.vmap
def _look_training(now: Heads, x: Array, y: Array, test_x: Array, test_y: Array, relevant: Array) -> dict[str, Array]:
    test = losses(now, test_x, test_y)
    return {
        "train": jnp.mean(losses(now, x, y)),
        "test": jnp.mean(test),
        "test_error": jnp.mean((test >= math.log(2.0)).astype(test.dtype)),
        "output": jnp.max(jnp.abs(outputs(now, x))),
        "largest_head": largest_head(now),
        "relevant_mass": relevant_mass(now, x, relevant),
    }
