"""Learners for a pick loop: from an ordered list of examples, their values and nothing else, to a model."""

from __future__ import annotations

import functools
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import optax

from certiformer.certification.frameworks import checked_outputs
from certiformer.certification.learners import copied, fresh, is_learner
from certiformer.lab.procedures._augment import Augment
from certiformer.lab.procedures._model import Array, Labels, Parametrised, in_blocks, loss_of, tree_hash
from certiformer.theory.core.errors import InputError


class Learner(ABC):
    """A deterministic function of the ordered list of picks. `state` is whatever a stage hands to the next."""

    @abstractmethod
    def begin(self) -> Any:
        """h_0: fixed before the examples are read."""

    @abstractmethod
    def learn(self, state: Any, inputs: npt.NDArray[Any], labels: Labels) -> Any:
        """The next state from the last one and the list of all picks so far."""

    @abstractmethod
    def outputs(self, state: Any, inputs: npt.NDArray[Any]) -> Array:
        """Row by row: a value may not depend on the other rows."""

    @abstractmethod
    def fingerprint(self, state: Any) -> str:
        """A hash of the state, bit by bit."""

    def model(self, state: Any) -> Any:
        """The model as its owner knows it."""
        return functools.partial(self.outputs, state)


@dataclass(frozen=True, eq=False)
class Descent(Learner):
    """Warm start; after every pick `steps` full-batch Adam steps on all picks, rate by a cosine, moments reset.

    Randomness (augmentation) comes from `seed`, the number of picks and the step. Picks are padded to a power of two.
    """

    start: Parametrised
    steps: int = 400
    rate: float = 0.005
    seed: int = 0
    augment: Augment | None = None

    def begin(self) -> Any:
        return self.start.params

    def learn(self, state: Any, inputs: npt.NDArray[Any], labels: Labels) -> Any:
        k = len(labels)
        capacity = max(8, 1 << (k - 1).bit_length())
        padded = np.concatenate([inputs, np.repeat(inputs[:1], capacity - k, axis=0)])
        targets = np.concatenate([labels, np.repeat(labels[:1], capacity - k)])
        weights = np.where(np.arange(capacity) < k, 1.0 / k, 0.0)
        stage = _stage(self.start.apply, self.steps, self.rate, self.augment)
        key = jax.random.key(self.seed + k)
        return stage(state, jnp.asarray(padded), jnp.asarray(targets), jnp.asarray(weights, jnp.float32), key)

    def outputs(self, state: Any, inputs: npt.NDArray[Any]) -> Array:
        return self.start.outputs(state, inputs)

    def fingerprint(self, state: Any) -> str:
        return tree_hash(state)

    def model(self, state: Any) -> Any:
        return self.start.rebuild(state)


@functools.lru_cache(maxsize=8)
def _stage(apply: Callable[..., Any], steps: int, rate: float, augment: Augment | None) -> Callable[..., Any]:
    optimiser = optax.adam(optax.cosine_decay_schedule(rate, steps))

    def objective(params: Any, x: jax.Array, y: jax.Array, weights: jax.Array) -> jax.Array:
        return jnp.sum(weights * loss_of(apply(params, x), y))

    @jax.jit
    def stage(params: Any, x: jax.Array, y: jax.Array, weights: jax.Array, key: jax.Array) -> Any:
        def step(index: jax.Array, state: Any) -> Any:
            params, memory = state
            seen = x if augment is None else augment(jax.random.fold_in(key, index), x)
            updates, memory = optimiser.update(jax.grad(objective)(params, seen, y, weights), memory)
            return optax.apply_updates(params, updates), memory

        return jax.lax.fori_loop(0, steps, step, (params, optimiser.init(params)))[0]

    return stage


@dataclass(frozen=True, eq=False)
class Refit(Learner):
    """Cold starts: an estimator (`fit`, then `decision_function`, `predict_proba` or `predict`), or `fit(x, y) -> f`.

    Before both classes were picked the model says the class it knows; before any pick it says nothing, which is wrong.
    """

    fit: Any
    classes: int = 2
    frozen: bool = False
    """Somebody said what frozen parts of the estimator have seen."""

    def __post_init__(self) -> None:
        settings = fresh(self.fit, frozen=self.frozen).get_params() if is_learner(self.fit) else {}
        for name, value in settings.items():
            if name.rpartition("__")[2] == "random_state" and not isinstance(value, (int, np.integer)):
                raise InputError(name, value, "a number", "The learner must be deterministic: fix its seed")

    def begin(self) -> Any:
        return None

    def learn(self, state: Any, inputs: npt.NDArray[Any], labels: Labels) -> Any:
        known = np.unique(labels)
        if len(known) == 1:
            return int(known[0])
        if not is_learner(self.fit):
            return self.fit(inputs, labels)
        one = copied(self.fit)
        try:
            one.fit(inputs.reshape(len(inputs), -1), labels)
        except Exception as error:  # whatever an estimator of a stranger raises
            expected = f"an estimator that can be fitted to {len(inputs)} picks"
            raise InputError("fit", type(one).__name__, expected, f"It said: {error}") from error
        return one

    def outputs(self, state: Any, inputs: npt.NDArray[Any]) -> Array:
        n = len(inputs)
        if state is None or isinstance(state, int):
            votes = np.zeros((n, self.classes))
            if isinstance(state, int):
                votes[:, state] = 1.0
            return votes[:, 1] - votes[:, 0] if self.classes == 2 else votes
        if not is_learner(self.fit):
            return checked_outputs("the fitted function", state(inputs), n)
        parts = in_blocks(functools.partial(self._votes, state), inputs.reshape(n, -1))
        votes = np.concatenate(parts) if parts else np.zeros((0, self.classes))
        return votes[:, 1] - votes[:, 0] if self.classes == 2 else votes

    def _votes(self, state: Any, flat: npt.NDArray[Any]) -> Array:
        """Scores of all classes, row by row; a class that was never picked is one below the least of the row."""
        known = np.asarray(state.classes_) if hasattr(state, "classes_") else np.arange(self.classes)
        if hasattr(state, "decision_function"):
            found = np.asarray(state.decision_function(flat), np.float64)
        elif hasattr(state, "predict_proba"):
            found = np.asarray(state.predict_proba(flat), np.float64)
        else:
            found = (np.asarray(state.predict(flat))[:, None] == known).astype(np.float64)
        if found.ndim == 1:
            found = np.stack([-found, found], axis=1) / 2
        if found.shape[1] != len(known):
            raise InputError("fit", f"{found.shape[1]} scores for {len(known)} classes", "one score per class")
        votes = np.repeat(np.min(found, axis=1, keepdims=True) - 1.0, self.classes, axis=1)
        votes[:, known] = found
        return np.asarray(votes)

    def fingerprint(self, state: Any) -> str:
        if not is_learner(self.fit):
            return ""
        try:
            return tree_hash(np.frombuffer(pickle.dumps(state), np.uint8))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise InputError(
                "fit", type(self.fit).__name__, "an estimator whose parts can be compared bit by bit",
                f"Functions in it need a name in a module. It said: {error}",
            ) from error  # fmt: skip
