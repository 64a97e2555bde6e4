"""Arda et al., figure 1: one network of width m: linearisation, approximation of a teacher, and training."""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array

from certiformer.lab.measure.linearization import boundary_move, linear_prediction
from certiformer.lab.models.independent_heads import IndependentHeads, IndependentHeadsConfig
from certiformer.lab.tasks.ntk_teacher import NTKTeacher, ntk_teacher
from certiformer.lab.training import kernels
from certiformer.reproduction.papers._arda_width_grid import ANCHORS, DIMENSION, PARTS, RADII, RADIUS, TOKENS, step_size
from certiformer.reproduction.sweep import Config, Outcome
from certiformer.theory.core.errors import CertiformerError


class Problem(NamedTuple):
    """Inputs and labels of one seed; the first `n` train."""

    teacher: NTKTeacher
    x: Array
    y: Array


def run(config: Config) -> Outcome:
    """The three errors of a network of one width, at its initialisation and after projected gradient descent."""
    heads, n = config["width"], config["n"]
    problem = _problem_of(config)
    with jax.enable_x64(True):
        network = _network(config, "float64")
        exact = (problem.x.astype(jnp.float64), problem.y.astype(jnp.float64))
        linearisation = np.asarray(_linearisation(network, exact[0]))
        approximation, proxy = (np.asarray(e) for e in _approximation(network, problem.teacher, *exact))
        norms = np.asarray(jnp.linalg.norm(network.u[: heads // 2], axis=1))
    start = _weights(config)
    losses, end = _descend(start, problem.x[:n], problem.y[:n], config["steps"])
    lowest = np.minimum.accumulate(np.array(losses))
    return Outcome(
        {
            "linearisation": float(np.mean(linearisation)),
            "linearisation_largest": float(np.max(linearisation)),
            "approximation": float(np.max(approximation)),
            "approximation_released": float(np.max(proxy)),
            "training": float(lowest[-1]),
            "training_at_start": losses[0],
            "travelled": _travelled(start, end),
        },
        {"training_after": lowest[[max(1, config["steps"] // part) - 1 for part in PARTS]], "u_norms": norms},
    )


def run_stochastic(config: Config) -> Outcome:
    """Projected stochastic gradient descent, `batch` examples drawn afresh with replacement; 0 is the whole sample.

    The loss on the whole sample, at LOOKS evenly spaced steps: their mean, which the theory bounds, and the lowest.
    """
    n, steps, batch = config["n"], config["steps"], config["batch"]
    problem = _problem_of(config)
    x, y = np.asarray(problem.x[:n]), np.asarray(problem.y[:n])
    rng = np.random.default_rng([config["seed"], steps, batch])
    start, whole, rate = _weights(config), kernels.HeadDescent(x, y), np.float32(step_size(steps))
    weights, losses, every = start, [], max(1, steps // LOOKS)
    for step in range(steps):
        if step % every == 0 or not batch:
            loss, gradient = whole.gradient(weights)
            if not math.isfinite(loss):
                raise CertiformerError(f"training diverged at step {step}: loss {loss:g}")
            losses += [loss] if step % every == 0 else []
        if batch:
            drawn = rng.integers(n, size=batch)
            gradient = kernels.HeadDescent(x[drawn], y[drawn]).gradient(weights)[1]
        weights = _projected_step(weights, start, gradient, rate)
    values = {"mean": float(np.mean(losses)), "lowest": min(losses), "start": losses[0]}
    return Outcome({**values, "travelled": _travelled(start, weights)}, {"losses": np.array(losses, np.float32)})


LOOKS = 64


def _problem_of(config: Config) -> Problem:
    sizes = (config["n"], config["n_more"], config["pool"], config.get("tokens", TOKENS))
    return _problem(config["teacher"], config["seed"], *sizes)


@functools.lru_cache(maxsize=4)
def _problem(teacher: str, seed: int, n: int, n_more: int, pool: int, tokens: int) -> Problem:
    """The same inputs and labels for every width, as released; kept, because labels cost as much as a short run."""
    task = ntk_teacher(
        jax.random.key(seed),
        n=n,
        n_test=n_more,
        variant=teacher,
        d=DIMENSION,
        tokens=tokens,
        anchors=ANCHORS,
        pool=pool,
        nu=(RADIUS, RADIUS, RADIUS),
        dtype=jnp.float32,
    )
    parts = (task.train, task.test)
    x, y = (jnp.concatenate([getattr(part, name) for part in parts]) for name in ("inputs", "labels"))
    assert isinstance(task.source, NTKTeacher)
    return Problem(task.source, x, y)


def _network(config: Config, dtype: str) -> IndependentHeads:
    key = jax.random.fold_in(jax.random.key(config["seed"]), config["width"])
    return IndependentHeads.init(key, IndependentHeadsConfig(DIMENSION, config["width"]), dtype=dtype)


@jax.jit
def _linearisation(start: IndependentHeads, x: Array) -> Array:
    """|f - f_lin| on every input, all heads moved to the boundary of Omega_rho."""
    moved = boundary_move(start, x, RADII)

    def one(part: Array) -> Array:
        return jnp.abs(jax.vmap(moved)(part) - linear_prediction(_output, start, moved, part))

    errors: Array = jax.lax.map(one, _parts(x)).reshape(-1)
    return errors


@jax.jit
def _approximation(start: IndependentHeads, teacher: NTKTeacher, x: Array, y: Array) -> tuple[Array, Array]:
    """|f_lin - y| at the transported parameters; and the same with the teacher's own features, as released."""
    target = transported(start, teacher)
    linear = jax.lax.map(lambda part: linear_prediction(_output, start, target, part), _parts(x)).reshape(-1)
    # The paper's features are the student's: its average is the linearisation.
    average = linear if teacher.variant == "paper" else teacher.average(x, start.u, start.W)
    return jnp.abs(linear - y), jnp.abs(average - y)


def _output(model: IndependentHeads, x: Array) -> Array:
    return model(x)


def _parts(x: Array) -> Array:
    """The inputs in equal parts of at most 256: some heads times tokens times 256 numbers fit into memory."""
    size = max(size for size in range(1, 257) if len(x) % size == 0)
    return x.reshape(-1, size, *x.shape[1:])


def transported(start: IndependentHeads, teacher: NTKTeacher) -> IndependentHeads:
    """Equation (11): c + v_c/sqrt(m), u + c v_u/sqrt(m), W + c v_w/sqrt(m), with v at the initial (u, W)."""
    v_c, v_u, v_w = teacher.transport(start.u, start.W)
    scale = float(start.config.heads) ** -0.5
    c = start.c
    return replace(
        start,
        c=c + scale * v_c,
        u=start.u + scale * c[:, None] * v_u,
        W=start.W + scale * c[:, None, None] * v_w,
    )


Weights = dict[str, npt.NDArray[np.float32]]


def _weights(config: Config) -> Weights:
    network = _network(config, "float32")
    return {name: np.array(getattr(network, name)) for name in RADII}


def _descend(start: Weights, x: Array, y: Array, steps: int) -> tuple[list[float], Weights]:
    """Projected gradient descent: the loss before every step, and the last weights."""
    descent, rate = kernels.HeadDescent(x, y), np.float32(step_size(steps))
    weights, losses = start, []
    for step in range(steps):
        loss, gradient = descent.gradient(weights)
        if not math.isfinite(loss):
            raise CertiformerError(f"training diverged at step {step}: loss {loss:g}")
        losses.append(loss)
        weights = _projected_step(weights, start, gradient, rate)
    return losses, weights


def _projected_step(weights: Weights, start: Weights, gradient: Weights, rate: np.float32) -> Weights:
    allowed = {name: radius / math.sqrt(len(start["c"])) for name, radius in RADII.items()}
    return {
        name: kernels.onto_ball(value - rate * gradient[name], start[name], allowed[name])
        for name, value in weights.items()
    }


def _travelled(start: Weights, end: Weights) -> float:
    """The longest way of a block of a head, in units of what Omega_rho allows: 1 where the projection has held it."""
    longest, heads = 0.0, len(start["c"])
    for name, radius in RADII.items():
        way = (end[name] - start[name]).reshape(heads, -1)
        longest = max(longest, float(np.max(np.linalg.norm(way, axis=1))) * math.sqrt(heads) / radius)
    return longest
