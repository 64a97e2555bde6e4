"""Any model with parameters, ours, an Equinox module or `apply(params, x)`: a tree and a function of a batch."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from certiformer.certification.frameworks import checked_outputs, with_params
from certiformer.theory.core.errors import InputError
from certiformer.theory.measure.margins import margins as signed_margins

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
WEIGHTS = "the weights that training starts from"
"""What a procedure starts from, in words."""
BLOCK = 500
"""Rows are evaluated in blocks of this many, the last one filled up: an output never depends on the neighbours."""


@dataclass(frozen=True, eq=False)
class Parametrised:
    """`apply(params, batch)` gives (n,) for one logit or (n, classes); training begins at the tree `params`."""

    params: Any
    apply: Callable[[Any, jax.Array], jax.Array]
    rebuild: Callable[[Any], Any]
    """From trained parameters to the model as its owner knows it."""

    def at(self, params: Any) -> Parametrised:
        return replace(self, params=params)

    def outputs(self, params: Any, inputs: npt.ArrayLike) -> Array:
        """Outputs row by row, in blocks of one compiled shape."""
        values, compiled = np.asarray(inputs), _compiled(self.apply)
        parts = in_blocks(lambda block: np.asarray(compiled(params, jnp.asarray(block))), values)
        return checked_outputs("the model's outputs", np.concatenate(parts) if parts else np.zeros(0), len(values))


def in_blocks(function: Callable[[npt.NDArray[Any]], npt.NDArray[Any]], rows: npt.NDArray[Any]) -> list[Array]:
    """What a function says of rows, in blocks of one shape: an output never depends on how many there are."""
    parts = []
    for start in range(0, len(rows), BLOCK):
        part = rows[start : start + BLOCK]
        filled = np.concatenate([part, np.repeat(part[:1], BLOCK - len(part), axis=0)])
        parts.append(function(filled)[: len(part)])
    return parts


_COMPILED: dict[Callable[..., Any], Callable[..., Any]] = {}


def _compiled(apply: Callable[[Any, jax.Array], jax.Array]) -> Callable[[Any, jax.Array], jax.Array]:
    if apply not in _COMPILED:
        if len(_COMPILED) > 16:
            _COMPILED.clear()
        _COMPILED[apply] = jax.jit(apply)
    return _COMPILED[apply]


def parametrised(model: Any) -> Parametrised:
    """An Equinox module (a model of this package is one), or a function with its parameters (`with_params`)."""
    if isinstance(model, Parametrised):
        return model
    if isinstance(model, jax.tree_util.Partial) and len(model.args) == 1 and not model.keywords:
        apply = model.func
        return Parametrised(model.args[0], _mapped(apply), lambda trained: with_params(apply, trained))
    if not isinstance(model, eqx.Module):
        raise InputError(
            "model",
            type(model).__name__,
            "an Equinox module, a model of this package, or apply(params, x) with params",
            "A function without parameters cannot be trained: certify it on held-out examples",
        )
    weights, rest = eqx.partition(model, eqx.is_inexact_array)

    def module(trained: Any, batch: jax.Array) -> jax.Array:
        found: jax.Array = jax.vmap(eqx.combine(trained, rest))(batch)
        return found

    return Parametrised(weights, module, lambda trained: eqx.combine(trained, rest))


@functools.lru_cache(maxsize=16)
def _mapped(apply: Callable[..., Any]) -> Callable[[Any, jax.Array], jax.Array]:
    """One function for one function: what is compiled for it is found again."""
    return jax.vmap(apply, in_axes=(None, 0))


def margins(outputs: Array, labels: Labels) -> Array:
    """y f for one logit, f_y - max_{j != y} f_j for several; labels are classes from 0. Wrong: at most 0."""
    return signed_margins(outputs, 2 * labels - 1 if outputs.ndim == 1 else labels)


def loss_of(outputs: jax.Array, labels: jax.Array) -> jax.Array:
    """Logistic loss of one logit, cross-entropy of several, per example; labels are classes from 0."""
    if outputs.ndim == 1:
        return jax.nn.softplus(-(2.0 * labels - 1.0) * outputs)
    return jax.nn.logsumexp(outputs, axis=-1) - jnp.take_along_axis(outputs, labels[:, None], axis=-1)[:, 0]


def tree_hash(tree: Any) -> str:
    """SHA-256 of all leaves, bit by bit."""
    digest = hashlib.sha256()
    for leaf in jax.tree.leaves(tree):
        array = np.ascontiguousarray(leaf)
        digest.update(f"{array.dtype.str}{array.shape}".encode() + array.tobytes())
    return digest.hexdigest()
