"""A model of this package as a file that loads by itself; any other module as its weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from certiformer.certificates import Predictor
from certiformer.certificates._predictor import Array, Tensors
from certiformer.core.errors import InputError


class HouseModel(Predictor):
    """A model of `certiformer.models`: its weights, its name and its configuration."""

    kind: ClassVar[str] = "model"

    def __init__(self, model: Any) -> None:
        self.model = model

    def tensors(self) -> Tensors:
        from certiformer.models import weights

        return {name: np.asarray(array) for name, array in weights(self.model).items()}

    def settings(self) -> Mapping[str, Any]:
        return {"model": self.model.name, "config": asdict(self.model.config)}

    @classmethod
    def restore(cls, tensors: Tensors, settings: Mapping[str, Any]) -> Self:
        import jax.numpy as jnp

        from certiformer import models

        described = models.config(settings["model"], **settings["config"])
        kind = models.model_type(settings["model"])
        return cls(kind(described, **{name: jnp.asarray(tensor) for name, tensor in tensors.items()}))

    def outputs(self, inputs: npt.ArrayLike) -> Array:
        from certiformer.certification.outputs import outputs_of

        return outputs_of(self.model, inputs)


class Weights(Predictor):
    """The weights of a model from elsewhere, by name; it predicts again with the function that belongs to them."""

    kind: ClassVar[str] = "weights"

    def __init__(self, weights: Tensors, apply: Any = None) -> None:
        self.weights, self.apply = dict(weights), apply

    def tensors(self) -> Tensors:
        return self.weights

    def settings(self) -> Mapping[str, Any]:
        return {}

    @classmethod
    def restore(cls, tensors: Tensors, settings: Mapping[str, Any]) -> Self:
        return cls(tensors, settings.get("apply"))

    def outputs(self, inputs: npt.ArrayLike) -> Array:
        from certiformer.certification.outputs import checked_outputs

        if self.apply is None:
            raise InputError(
                "apply",
                None,
                "the function that belongs to these weights",
                "load_predictor(path, apply=function), with function(weights, inputs) of a dict of arrays and a batch",
            )
        values = np.asarray(inputs)
        return checked_outputs("the model's outputs", np.asarray(self.apply(self.weights, values)), len(values))


def predictor_of(model: Any) -> Predictor | None:
    """What can be handed over of a model: itself if it is of this package, its weights if it is an Equinox module."""
    import equinox as eqx

    from certiformer.certification.outputs import tensors_of
    from certiformer.models import Model

    if isinstance(model, Model):
        return HouseModel(model)
    if isinstance(model, eqx.Module):
        found = tensors_of(model)
        return Weights(found) if found else None
    return None
