"""Minibatch descent for any parametrised model: Adam, rate by a cosine or constant, chance from a seed and the step."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy.typing as npt
import optax

from certiformer.lab.procedures._augment import Augment
from certiformer.lab.procedures._model import Labels, Parametrised, loss_of


def trained(
    model: Parametrised,
    inputs: npt.NDArray[Any],
    labels: Labels,
    *,
    steps: int,
    rate: float,
    batch: int = 100,
    seed: int = 0,
    augment: Augment | None = None,
) -> Any:
    """The parameters after `steps` batches drawn from the examples; the rate falls to zero by a cosine."""
    run = _run(model.apply, rate, batch, augment, steps)
    memory = optax.adam(optax.cosine_decay_schedule(rate, steps)).init(model.params)
    found, _ = run(
        model.params, memory, jnp.asarray(inputs), jnp.asarray(labels), len(labels), jax.random.key(seed), steps
    )
    return found


@functools.lru_cache(maxsize=16)
def _run(
    apply: Callable[..., Any], rate: float, batch: int, augment: Augment | None, cosine: int | None
) -> Callable[..., Any]:
    optimiser = optax.adam(rate if cosine is None else optax.cosine_decay_schedule(rate, cosine))

    @jax.jit
    def run(
        params: Any, memory: Any, x: jax.Array, y: jax.Array, among: jax.Array, key: jax.Array, steps: jax.Array
    ) -> Any:
        def step(index: jax.Array, state: Any) -> Any:
            params, memory = state
            rows_key, change_key = jax.random.split(jax.random.fold_in(key, index))
            rows = jax.random.randint(rows_key, (batch,), 0, among)
            seen = x[rows] if augment is None else augment(change_key, x[rows])

            def objective(params: Any) -> jax.Array:
                return jnp.mean(loss_of(apply(params, seen), y[rows]))

            updates, memory = optimiser.update(jax.grad(objective)(params), memory)
            return optax.apply_updates(params, updates), memory

        return jax.lax.fori_loop(0, steps, step, (params, memory))

    return run
