"""Linear heads on frozen features: quantised, Gaussian, drawn once; and readouts of a network. Plain numpy."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from certiformer.certificates import Evidence, Predictor
from certiformer.certificates._predictor import Array, Labels, Tensors
from certiformer.certificates.holdout import HoldOut
from certiformer.certificates.occam import Occam
from certiformer.certification.predictors.gaussian import Afresh, Drawn, Gaussian, column, mistakes
from certiformer.certification.split import split
from certiformer.theory.calculus.quantised import gaussian_nats
from certiformer.theory.core.errors import InputError

SIZES = (4, 8, 16, 32, 64, 128)
STEPS = tuple(2.0**j for j in range(-2, 6))
SPACINGS = tuple(2.0 ** (0.5 * j) for j in range(-6, 3))
SCALES = tuple(2.0 ** (0.5 * j) for j in range(-8, 9))


def prepared(features: npt.ArrayLike) -> Array:
    """Each row scaled to unit length (zero rows stay), and 1 appended: a fixed map."""
    values = np.asarray(features, np.float64)
    sizes = np.linalg.norm(values, axis=1, keepdims=True)
    return np.hstack([values / np.where(sizes > 0, sizes, 1.0), np.ones((len(values), 1))])


def prepared_for(weights: Array, features: npt.ArrayLike) -> Array:
    """Prepared features, as many as the weights have rows."""
    found = prepared(features)
    if found.shape[1] != len(weights):
        raise InputError("features", f"{found.shape[1] - 1} columns", f"{len(weights) - 1}, as in training")
    return found


def sizes(width: int) -> tuple[int, ...]:
    """The dimensions of the subspaces that the prior of the quantised heads pays for."""
    return (*(size for size in SIZES if size < width), width)


def subspace(width: int, size: int, seed: int) -> Array:
    """A fixed random subspace, drawn from a seed and never from the data; all of it when size is the width."""
    if size == width:
        return np.eye(width)
    return np.random.default_rng([seed, size]).standard_normal((width, size)) / math.sqrt(size)


def code_length(z: npt.NDArray[np.int64], width: int) -> dict[str, float]:
    """-ln P of quantised coordinates in nats: uniform grids of sizes, steps and spacings, a discrete Gaussian."""
    return {
        "grids of sizes, steps and spacings": math.log(len(sizes(width)) * len(STEPS) * len(SPACINGS)),
        "coordinates": min(gaussian_nats(z.ravel(), spacing, 1.0) for spacing in SPACINGS),
    }


def halves(n: int, seed: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The rows behind the prior, and those the posterior is certified on."""
    parts = split(n, {"prior": n // 2, "certify": n - n // 2}, seed)
    return parts["prior"], parts["certify"]


class Head(Predictor):
    """Scores of prepared features; what is certified is this map, the frozen encoder included."""

    reads: ClassVar[str] = "features"

    @property
    @abstractmethod
    def weights(self) -> Array:
        """(width + 1, 1) for two classes, (width + 1, classes) for more."""

    def outputs(self, inputs: npt.ArrayLike) -> Array:
        weights = self.weights
        return column(prepared_for(weights, inputs) @ weights)


@dataclass(frozen=True, eq=False)
class TrainedHead(Head):
    """Plain weights; `rows` are those of the sample that the certificate speaks of."""

    trained: Array
    rows: npt.NDArray[np.int64]

    @property
    def weights(self) -> Array:
        return self.trained

    def tensors(self) -> Tensors:
        return {"trained": self.trained, "rows": self.rows}


class HeldOutHead(TrainedHead):
    """`rows` are those that the head was not trained on."""

    kind: ClassVar[str] = "linear head"

    def settings(self) -> Mapping[str, Any]:
        return {}

    @classmethod
    def restore(cls, tensors: Tensors, settings: Mapping[str, Any]) -> Self:
        return cls(tensors["trained"], tensors["rows"].astype(np.int64))

    def recount(self, record: Evidence, inputs: npt.ArrayLike, labels: Labels) -> Evidence:
        if not isinstance(record, HoldOut):
            raise InputError("predictor", self.kind, "a hold-out row")
        wrong = int(np.sum(mistakes(prepared(inputs)[self.rows] @ self.trained, labels[self.rows])))
        return replace(record, errors=wrong, n=len(self.rows))


@dataclass(frozen=True, eq=False)
class QuantisedHead(Head):
    """step * basis @ z, the basis being the subspace that the seed draws."""

    kind: ClassVar[str] = "quantised linear head"
    z: npt.NDArray[np.int64]
    width: int
    step: float
    seed: int

    @property
    def weights(self) -> Array:
        return subspace(self.width, len(self.z), self.seed) @ (self.step * self.z)

    def tensors(self) -> Tensors:
        return {"z": self.z}

    def settings(self) -> Mapping[str, Any]:
        return {"width": self.width, "step": self.step, "seed": self.seed}

    @classmethod
    def restore(cls, tensors: Tensors, settings: Mapping[str, Any]) -> Self:
        return cls(tensors["z"].astype(np.int64), settings["width"], settings["step"], settings["seed"])

    def recount(self, record: Evidence, inputs: npt.ArrayLike, labels: Labels) -> Evidence:
        if not isinstance(record, Occam) or self.step not in STEPS or len(self.z) not in sizes(self.width):
            raise InputError("predictor", self.kind, "a head on the paid grids, behind an Occam row")
        parts = code_length(self.z, self.width)
        wrong = self.errors(inputs, labels)
        return replace(record, errors=wrong, n=len(labels), code_length=math.fsum(parts.values()), parts=parts)


@dataclass(frozen=True, eq=False)
class NoisyHead(Gaussian):
    """Weights from N(mean, scale^2 I), the prior N(prior, scale^2 I); the choice of the scale is paid."""

    paid: ClassVar[float] = math.log(len(SCALES))
    asks: ClassVar[str] = "a scale on the paid grid, behind "
    scale: float

    @property
    def sigma(self) -> float:
        return self.scale

    def met(self, inputs: npt.ArrayLike) -> Array:
        return prepared_for(self.mean, inputs)

    def certified(self, n: int) -> npt.NDArray[np.int64]:
        return halves(n, self.seed)[1]

    def certifies(self, record: Evidence, kind: type[Evidence]) -> bool:
        return super().certifies(record, kind) and self.scale in SCALES


class GaussianHead(Afresh, NoisyHead):
    """Weights drawn afresh for every prediction."""

    kind: ClassVar[str] = "Gaussian linear head"


class DrawnHead(Drawn, NoisyHead):
    """One draw from a Gaussian head, by a seed of its own."""

    kind: ClassVar[str] = "linear head drawn once"
    written: ClassVar[str] = "weights"


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
