"""What procedures hand over: a model of the house as a file that loads by itself, any other as its weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from certiformer.certificates import Predictor

Array = npt.NDArray[np.float64]


class HouseModel(Predictor):
    """A model of this package: its weights, its name and its configuration."""

    kind: ClassVar[str] = "model"

    def __init__(self, model: Any) -> None:
        self.model = model

    def tensors(self) -> Mapping[str, npt.NDArray[Any]]:
        from certiformer.models import weights

        return {name: np.ascontiguousarray(array) for name, array in weights(self.model).items()}

    def settings(self) -> Mapping[str, Any]:
        return {"model": self.model.name, "config": asdict(self.model.config)}

    @classmethod
    def restore(cls, tensors: Mapping[str, npt.NDArray[Any]], settings: Mapping[str, Any]) -> Self:
        import jax.numpy as jnp

        from certiformer import models

        kind = models.model_type(settings["model"])
        described = models.config(settings["model"], **settings["config"])
        return cls(kind(described, **{name: jnp.asarray(tensor) for name, tensor in tensors.items()}))

    def outputs(self, inputs: npt.ArrayLike) -> Array:
        from certiformer.certification.procedures._model import parametrised

        found = parametrised(self.model)
        return found.outputs(found.params, inputs)


def predictor_of(model: Any) -> Predictor | None:
    """The model as something that can be written, where it can: one of this package."""
    from certiformer.models import Model

    return HouseModel(model) if isinstance(model, Model) else None
