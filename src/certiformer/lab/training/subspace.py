r"""Descent in the coordinates of a subspace that end on a grid: what an Occam certificate trains.

.. math:: \theta = \theta_0 + M z, \qquad z \in \Delta\,\mathbb Z^k

theta_0 and the basis M come from a seed. z moves by Adam on the loss plus the code length of z per example. In the
first half uniform noise of the width of a cell stands in for rounding; in the second half z is rounded and the gradient
passes straight through.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array

from certiformer.lab.training.loop import Step, run
from certiformer.lab.training.losses import Loss
from certiformer.theory.core.errors import InputError

_CELLS = 200


@dataclass(frozen=True, eq=False)
class Subspace:
    """theta_0 (`origin`) and M (`basis`: the same tree, each leaf with a last axis of length k)."""

    origin: Any
    basis: Any

    @property
    def dimension(self) -> int:
        return int(jax.tree.leaves(self.basis)[0].shape[-1])

    def at(self, z: Array) -> Any:
        """theta_0 + M z."""
        return jax.tree.map(lambda start, directions: start + directions @ z, self.origin, self.basis)


@dataclass(frozen=True)
class Quantisation:
    """How z is trained: the grid `step`, Adam from `learning_rate` by a cosine, `steps` batches of `batch`.

    `penalty` multiplies the code length, which is shared among `examples` (the number that will be certified).
    """

    step: float
    steps: int
    learning_rate: float
    examples: int
    batch: int = 100
    penalty: float = 1.0
    first_scale: float = 3.0

    def __post_init__(self) -> None:
        for name in ("step", "steps", "learning_rate", "examples", "batch", "first_scale"):
            if not getattr(self, name) > 0:
                raise InputError(name, getattr(self, name), "a positive number")


class _State(NamedTuple):
    z: Array
    ln_scale: Array
    memory: Any
    key: Array


def descend(
    apply: Callable[[Any, Array], Array],
    loss: Loss,
    subspace: Subspace,
    inputs: Array,
    labels: Array,
    key: Array,
    settings: Quantisation,
    *,
    progress: bool | None = None,
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The integer coordinates that training ends with; `apply(params, x)` takes a batch."""
    optimiser, step = _step(apply, loss, settings)
    start = (jnp.zeros(subspace.dimension), jnp.asarray(math.log(settings.first_scale)))
    state = _State(*start, optimiser.init(start), jax.random.key_data(key))
    chunk = min(500, settings.steps)
    finished = run(
        step,
        state,
        (subspace.origin, subspace.basis, inputs, labels),
        steps=settings.steps,
        chunk=chunk,
        progress=progress,
        label="subspace descent",
    )
    return np.asarray(np.round(np.asarray(finished.state.z) / settings.step), dtype=np.int64)


@lru_cache(maxsize=8)
def _step(
    apply: Callable[[Any, Array], Array], loss: Loss, settings: Quantisation
) -> tuple[optax.GradientTransformation, Step]:
    """One step for any subspace and examples of the same shapes: other seeds are not compiled again."""
    optimiser = optax.adam(optax.cosine_decay_schedule(settings.learning_rate, settings.steps))
    grid = settings.step
    cells = np.arange(-_CELLS, _CELLS + 1, dtype=np.float32) * np.float32(grid)

    def objective(
        params: tuple[Array, Array], space: Subspace, batch: tuple[Array, Array], noise: Array, rounding: Array
    ) -> Array:
        z, ln_scale = params
        rounded = z + jax.lax.stop_gradient(grid * jnp.round(z / grid) - z)
        quantised = jnp.where(rounding, rounded, z + grid * noise)
        outputs = apply(space.at(quantised), batch[0])
        scale = jnp.exp(ln_scale)
        nats = jnp.sum(z**2) / (2 * scale**2) + z.shape[0] * jax.nn.logsumexp(-(cells**2) / (2 * scale**2))
        return jnp.mean(jax.vmap(loss)(outputs, batch[1])) + settings.penalty * nats / settings.examples

    def step(state: _State, index: Array, data: tuple[Any, Any, Array, Array]) -> tuple[_State, dict[str, Array]]:
        origin, basis, inputs, labels = data
        key = jax.random.wrap_key_data(state.key)
        key, rows_key, noise_key = jax.random.split(key, 3)
        rows = jax.random.randint(rows_key, (settings.batch,), 0, inputs.shape[0])
        noise = jax.random.uniform(noise_key, state.z.shape, minval=-0.5, maxval=0.5)
        rounding = index >= settings.steps // 2
        params, batch = (state.z, state.ln_scale), (inputs[rows], labels[rows])
        value, gradient = jax.value_and_grad(objective)(params, Subspace(origin, basis), batch, noise, rounding)
        updates, memory = optimiser.update(gradient, state.memory)
        moved: Any = optax.apply_updates(params, updates)
        return _State(moved[0], moved[1], memory, jax.random.key_data(key)), {"loss": value}

    return optimiser, step
