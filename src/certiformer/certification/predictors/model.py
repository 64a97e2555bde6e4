"""A model of this package as a file that loads by itself, with a head of its own; any other module as its weights."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from certiformer.certificates import Evidence, Predictor
from certiformer.certificates._predictor import Array, Labels, Tensors
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.lazy import scipy

FEATURES_BLOCK = 1000


class Network(Predictor):
    """A network in float32: its figures move in the sixth digit from machine to machine."""

    tolerance: ClassVar[float] = 1e-5

    @abstractmethod
    def at(self, weights: Tensors) -> Self:
        """The same network with other weights, by name."""

    def probabilities(self, inputs: npt.ArrayLike, labels: Labels) -> Array:
        """Those of the true labels: logistic of one logit, softmax of several."""
        found = self.outputs(inputs)
        if found.ndim == 1:
            return np.asarray(scipy.special.expit((2 * labels - 1) * found))
        return np.asarray(scipy.special.softmax(found, axis=1)[np.arange(len(labels)), labels])


class HouseModel(Network):
    """A model of `certiformer.lab.models`: its weights, its name and its configuration."""

    kind: ClassVar[str] = "model"

    def __init__(self, model: Any) -> None:
        self.model = model

    def tensors(self) -> Tensors:
        from certiformer.lab.models import weights

        return {name: np.asarray(array) for name, array in weights(self.model).items()}

    def settings(self) -> Mapping[str, Any]:
        return {"model": self.model.name, "config": asdict(self.model.config)}

    @classmethod
    def restore(cls, tensors: Tensors, settings: Mapping[str, Any]) -> Self:
        import jax.numpy as jnp

        from certiformer.lab import models

        described = models.config(settings["model"], **settings["config"])
        kind = models.model_type(settings["model"])
        return cls(kind(described, **{name: jnp.asarray(tensor) for name, tensor in tensors.items()}))

    def at(self, weights: Tensors) -> Self:
        return self.restore(weights, self.settings())

    def features(self, inputs: npt.ArrayLike) -> Array:
        """What its readout reads, row by row, in blocks of one compiled shape."""
        import jax

        compiled, values = jax.jit(jax.vmap(self.model.features)), np.asarray(inputs)
        parts = []
        for start in range(0, len(values), FEATURES_BLOCK):
            part = values[start : start + FEATURES_BLOCK]
            filled = np.concatenate([part, np.repeat(part[:1], FEATURES_BLOCK - len(part), axis=0)])
            parts.append(np.asarray(compiled(filled), np.float64)[: len(part)])
        return np.concatenate(parts)

    @cached_property
    def _mapped(self) -> Any:
        from certiformer.certification.frameworks import mapped

        return mapped(self.model)

    def outputs(self, inputs: npt.ArrayLike) -> Array:
        from certiformer.certification.frameworks import outputs_of

        return outputs_of(self.model, inputs, self._mapped)


class Weights(Network):
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

    def at(self, weights: Tensors) -> Self:
        return type(self)(weights, self.apply)

    def outputs(self, inputs: npt.ArrayLike) -> Array:
        from certiformer.certification.frameworks import checked_outputs

        if self.apply is None:
            raise InputError(
                "apply",
                None,
                "the function that belongs to these weights",
                "load_predictor(path, apply=function), with function(weights, inputs) of a dict of arrays and a batch",
            )
        values = np.asarray(inputs)
        return checked_outputs("the model's outputs", np.asarray(self.apply(self.weights, values)), len(values))


@dataclass(frozen=True, eq=False)
class FrozenHead(Predictor):
    """A head on the features of a network of this package: it predicts from inputs, as the network does."""

    kind: ClassVar[str] = "head on a frozen network"
    tolerance: ClassVar[float] = 1e-5
    network: HouseModel
    head: Predictor

    def tensors(self) -> Tensors:
        parts = {"network": self.network.tensors(), "head": self.head.tensors()}
        return {f"{part}/{name}": array for part, arrays in parts.items() for name, array in arrays.items()}

    def settings(self) -> Mapping[str, Any]:
        return {"network": self.network.settings(), "head": {"kind": self.head.kind, **self.head.settings()}}

    @classmethod
    def restore(cls, tensors: Tensors, settings: Mapping[str, Any]) -> Self:
        from certiformer.certification.predictors import kind_of, part_of

        network = HouseModel.restore(part_of("network", tensors), settings["network"])
        return cls(network, kind_of(settings["head"]["kind"]).restore(part_of("head", tensors), settings["head"]))

    def outputs(self, inputs: npt.ArrayLike) -> Array:
        return self.head.outputs(self.network.features(inputs))

    def recount(self, record: Evidence, inputs: npt.ArrayLike, labels: Labels) -> Evidence:
        return self.head.recount(record, self.network.features(inputs), labels)


def predictor_of(model: Any) -> Network | None:
    """What can be handed over of a model: itself if it is of this package, else the weights it is known to have."""
    import equinox as eqx
    import jax

    from certiformer.certification.frameworks import tensors_of
    from certiformer.lab.models import Model

    if isinstance(model, Model):
        return HouseModel(model)
    if isinstance(model, jax.tree_util.Partial) and len(model.args) == 1:
        model = model.args[0]  # apply(params, x): the weights are the parameters, by their own names
    elif not isinstance(model, eqx.Module):
        return None
    found = tensors_of(model)
    return Weights(found) if found else None
