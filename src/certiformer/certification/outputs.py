"""What a model answers: outputs on a batch, whatever the model is, and labels in the coding that fits them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.certification.doors import array_of
from certiformer.core.errors import InputError

Array = npt.NDArray[np.float64]
BATCH = 512


def outputs_of(model: Callable[..., Any], inputs: npt.ArrayLike, *, params: Any = None, batched: bool = False) -> Array:
    """Outputs (n,) or (n, classes) of `model(x)`, or of `model(params, x)` where parameters are given.

    The model takes one example and is mapped with `jax.vmap`; with `batched` it takes the whole batch and may come
    from any framework.
    """
    values = np.asarray(inputs)
    if len(values) == 0:
        raise InputError("inputs", "no examples", "at least one example")
    found = np.asarray(array_of(model(values))) if batched else _mapped(model, values)
    return checked_outputs("the model's outputs", found, len(values))


def _mapped(function: Callable[..., Any], values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    import jax
    import jax.numpy as jnp

    compiled = jax.jit(jax.vmap(function))
    parts = []
    for start in range(0, len(values), BATCH):
        part = values[start : start + BATCH]
        # One compiled shape: the last batch is filled up with its own first example.
        short = min(BATCH, len(values)) - len(part)
        filled = np.concatenate([part, np.repeat(part[:1], short, axis=0)]) if short else part
        try:
            parts.append(np.asarray(compiled(jnp.asarray(filled)))[: len(part)])
        except (TypeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                "inputs", f"examples of shape {values.shape[1:]}", "what the model takes", f"It said: {error}"
            ) from error
    return np.concatenate(parts)


def checked_outputs(name: str, outputs: npt.ArrayLike, n: int) -> Array:
    """Finite numbers, one row per example; a single column becomes a vector."""
    values = np.asarray(outputs)
    if values.dtype.kind not in "fiub":
        raise InputError(name, f"type {values.dtype}", "numbers")
    values = values.astype(np.float64)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim not in (1, 2) or len(values) != n:
        raise InputError(name, f"shape {values.shape}", f"shape ({n},) for one logit or ({n}, classes) for several")
    if not np.all(np.isfinite(values)):
        row = int(np.flatnonzero(~np.isfinite(values.reshape(n, -1)).all(axis=1))[0])
        raise InputError(name, f"nan or infinity at example {row}", "finite numbers", "Look at the weights and inputs")
    return values


def coded_labels(name: str, labels: npt.ArrayLike, classes: int, *, scalar: bool) -> npt.NDArray[np.int64]:
    """Class indices for several logits, signs for one; 0/1 and -1/+1 are both understood for two classes."""
    values = np.asarray(labels)
    if values.ndim != 1 or values.dtype.kind not in "fiub" or not np.all(values == np.round(values)):
        raise InputError(name, f"type {values.dtype}, shape {values.shape}", "one whole number per example")
    whole = values.astype(np.int64)
    found = set(np.unique(whole).tolist())
    if classes == 2 and found <= {-1, 1}:
        indices = (whole + 1) // 2
    elif found <= set(range(classes)):
        indices = whole
    else:
        odd = sorted(found - set(range(classes)))
        allowed = f"class indices 0 to {classes - 1}" + (" or signs -1 and +1" if classes == 2 else "")
        raise InputError(name, odd[:5], allowed)
    return 2 * indices - 1 if scalar else indices


def with_params(apply: Callable[..., Any], params: Any) -> Callable[..., Any]:
    """`apply(params, x)` as a model: a function of x whose weights are the leaves of `params`."""
    import jax

    bound: Callable[..., Any] = jax.tree_util.Partial(apply, params)  # type: ignore[no-untyped-call]
    return bound


def tensors_of(model: Any) -> Mapping[str, npt.NDArray[Any]]:
    """The arrays of a model by name; refuses weights that are not finite."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    from certiformer.models import Model, weights

    if isinstance(model, Model):
        arrays = dict(weights(merged(model)))
    else:
        leaves, _ = jax.tree_util.tree_flatten_with_path(eqx.filter(model, eqx.is_array))
        arrays = {jax.tree_util.keystr(path, simple=True, separator="."): leaf for path, leaf in leaves}
    found = {
        name: np.asarray(array, np.float64) for name, array in arrays.items() if jnp.issubdtype(array.dtype, jnp.number)
    }
    for name, tensor in found.items():
        if not np.all(np.isfinite(tensor)):
            count = int(np.sum(~np.isfinite(tensor)))
            raise InputError(f"weight {name}", f"{count} entries that are nan or infinite", "finite weights")
    return found


def merged(model: Any) -> Any:
    """The model with full matrices in place of low-rank factors."""
    return model.merged() if hasattr(model, "merged") else model
