"""Steps for the loop: full-batch, stochastic and epoch-wise descent on any objective.

An objective maps `(params, (x, y))` to `(mean loss, metrics)`. `supervised(apply, loss)` makes one from a model given
as `apply(params, x)`, and `functional(model)` gives that form of an Equinox module.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array

from certiformer.lab.training.loop import Step
from certiformer.lab.training.losses import Loss, correct
from certiformer.lab.training.projection import Projection
from certiformer.theory.core.errors import InputError

Objective = Callable[[Any, Any], tuple[Array, dict[str, Array]]]
Apply = Callable[[Any, Array], Array]


class State(NamedTuple):
    """Parameters, the optimiser's memory, where the run started (for projections) and its random key."""

    params: Any
    opt_state: Any
    centre: Any
    key: Array


class Data(NamedTuple):
    """What a step reads: training batch `(x, y)`, where used a validation batch, and what all samples share.

    `shared` (a table of token embeddings, say) is appended to every batch the objective sees.
    """

    train: Any
    validation: Any = ()
    shared: Any = ()


def functional(model: Any) -> tuple[Any, Apply]:
    """An Equinox module as (trainable arrays, apply)."""
    params, static = eqx.partition(model, eqx.is_inexact_array)
    return params, lambda params, x: eqx.combine(params, static)(x)


def begin(params: Any, optimiser: optax.GradientTransformation, key: Array, *, projected: bool = False) -> State:
    """The state before the first step."""
    return State(params, optimiser.init(params), params if projected else (), jax.random.key_data(key))


def supervised(apply: Apply, loss: Loss, *, accuracy: bool = False) -> Objective:
    """mean_i loss(apply(params, x_i), y_i), with the accuracy beside it for decisions."""

    def objective(params: Any, batch: Any) -> tuple[Array, dict[str, Array]]:
        x, y = batch
        outputs = jax.vmap(apply, in_axes=(None, 0))(params, x)
        metrics = {"accuracy": jnp.mean(jax.vmap(correct)(outputs, y))} if accuracy else {}
        return jnp.mean(jax.vmap(loss)(outputs, y)), metrics

    return objective


def full_batch(
    objective: Objective,
    optimiser: optax.GradientTransformation,
    *,
    project: Projection | None = None,
    validation: Objective | None = None,
) -> Step:
    """One step on all the data; metrics (also of `validation`) describe the parameters the step began with."""

    def step(state: State, index: Array, data: Data) -> tuple[State, dict[str, Array]]:
        (loss, metrics), gradient = jax.value_and_grad(objective, has_aux=True)(state.params, _batch(data.train, data))
        metrics = {"loss": loss, **metrics}
        if validation is not None:
            metrics |= _prefixed(validation(state.params, _batch(data.validation, data)))
        return _descend(state, gradient, optimiser, project), metrics

    return step


def stochastic(
    objective: Objective,
    optimiser: optax.GradientTransformation,
    *,
    batch: int = 1,
    project: Projection | None = None,
) -> Step:
    """One step on `batch` samples drawn uniformly with replacement (unbiased given the past, as Arda's bound needs).

    The loss recorded is that of the drawn samples.
    """
    if batch < 1:
        raise InputError("batch", batch, "a positive number of samples")

    def step(state: State, index: Array, data: Data) -> tuple[State, dict[str, Array]]:
        key = jax.random.fold_in(jax.random.wrap_key_data(state.key), index)
        chosen = jax.random.randint(key, (batch,), 0, _samples(data.train))
        drawn = _batch(jax.tree.map(lambda leaf: leaf[chosen], data.train), data)
        (loss, metrics), gradient = jax.value_and_grad(objective, has_aux=True)(state.params, drawn)
        return _descend(state, gradient, optimiser, project), {"loss": loss, **metrics}

    return step


def epochs(
    objective: Objective,
    optimiser: optax.GradientTransformation,
    *,
    batch: int,
    validation: Objective | None = None,
) -> Step:
    """One epoch: a fresh permutation cut into batches of `batch` and one of what is left, as Keras' `fit` does.

    Training metrics are running means over the epoch, weighted by batch size; `validation` is evaluated after it.
    """
    if batch < 1:
        raise InputError("batch", batch, "a positive number of samples")

    def step(state: State, index: Array, data: Data) -> tuple[State, dict[str, Array]]:
        samples = _samples(data.train)
        whole, left = divmod(samples, batch)
        key = jax.random.fold_in(jax.random.wrap_key_data(state.key), index)
        order = jax.random.permutation(key, samples)

        def update(state: State, chosen: Array) -> tuple[State, dict[str, Array]]:
            drawn = _batch(jax.tree.map(lambda leaf: leaf[chosen], data.train), data)
            (loss, metrics), gradient = jax.value_and_grad(objective, has_aux=True)(state.params, drawn)
            return _descend(state, gradient, optimiser, None), {"loss": loss, **metrics}

        sums: dict[str, Array] = {}
        if whole:
            state, each = jax.lax.scan(update, state, order[: whole * batch].reshape(whole, batch))
            sums = {name: batch * jnp.sum(value) for name, value in each.items()}
        if left:
            state, last = update(state, order[whole * batch :])
            sums = {name: sums.get(name, 0.0) + left * value for name, value in last.items()}
        metrics = {name: value / samples for name, value in sums.items()}
        if validation is not None:
            metrics |= _prefixed(validation(state.params, _batch(data.validation, data)))
        return state, metrics

    return step


def _descend(state: State, gradient: Any, optimiser: optax.GradientTransformation, project: Projection | None) -> State:
    updates, memory = optimiser.update(gradient, state.opt_state, state.params)
    params = optax.apply_updates(state.params, updates)
    if project is not None:
        params = project(params, state.centre)
    return State(params, memory, state.centre, state.key)


def _prefixed(result: tuple[Array, dict[str, Array]]) -> dict[str, Array]:
    loss, metrics = result
    return {"validation_loss": loss, **{f"validation_{name}": value for name, value in metrics.items()}}


def _batch(batch: Any, data: Data) -> Any:
    return batch if isinstance(data.shared, tuple) and not data.shared else (*batch, data.shared)


def _samples(train: Any) -> int:
    return int(jax.tree.leaves(train)[0].shape[0])
