"""Readouts with a Gaussian posterior around one that was trained on other examples, and heads on frozen networks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from certiformer.certificates import Evidence, Predictor
from certiformer.certificates._predictor import Array, Labels, Tensors
from certiformer.certification.predictors.gaussian import Afresh, Drawn, Gaussian
from certiformer.certification.predictors.model import HouseModel


@dataclass(frozen=True, eq=False)
class Readout(Gaussian):
    """Posterior N(mean, sigma^2 I) and prior N(prior, sigma^2 I), sigma = noise |prior|/sqrt(size)."""

    noise: float

    @property
    def sigma(self) -> float:
        return self.noise * float(np.linalg.norm(self.prior)) / math.sqrt(self.prior.size)


class GaussianReadout(Afresh, Readout):
    """Weights drawn afresh for every prediction."""

    kind: ClassVar[str] = "Gaussian readout"


class DrawnReadout(Drawn, Readout):
    """One draw, by a seed of its own."""

    kind: ClassVar[str] = "readout drawn once"
    written: ClassVar[str] = "draw"


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
