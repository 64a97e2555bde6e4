"""Readouts with a Gaussian posterior around one that was trained on other examples, and heads on frozen networks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from certiformer.certificates import Evidence, Predictor
from certiformer.certificates._predictor import Array, Labels, Tensors
from certiformer.certificates.pacbayes_gibbs import Gibbs
from certiformer.certificates.pacbayes_single import SingleDraw
from certiformer.certification.predictors.gaussian import Drawn, Gaussian
from certiformer.certification.predictors.linear_head import PAIRS, mistakes
from certiformer.certification.predictors.model import HouseModel
from certiformer.theory.core.errors import InputError


@dataclass(frozen=True, eq=False)
class Readout(Gaussian):
    """Posterior N(mean, sigma^2 I) and prior N(prior, sigma^2 I), sigma = noise |prior|/sqrt(size)."""

    noise: float

    @property
    def sigma(self) -> float:
        return self.noise * float(np.linalg.norm(self.prior)) / math.sqrt(self.prior.size)


class GaussianReadout(Readout):
    """Weights drawn afresh for every prediction."""

    kind: ClassVar[str] = "Gaussian readout"

    def outputs(self, inputs: npt.ArrayLike) -> Array:
        h = np.asarray(inputs, np.float64)
        noise = np.random.default_rng().standard_normal((len(h), self.mean.shape[1]))
        return _column(h @ self.mean + self.sigma * np.linalg.norm(h, axis=1, keepdims=True) * noise)

    def rate(self, h: Array, labels: Labels) -> tuple[float, int | None]:
        """One logit: the mean of Phi(-y <mean, h>/(sigma |h|)), dead features being wrong. Several: fresh pairs."""
        sizes = np.linalg.norm(h, axis=1)
        if self.mean.shape[1] == 1:
            scaled = (2 * labels - 1) * (h @ self.mean)[:, 0] / np.where(sizes > 0, self.sigma * sizes, 1.0)
            return float(np.mean(np.where(sizes > 0, ndtr(-scaled), 1.0))), None
        random = np.random.default_rng([self.seed, 2])
        rows = random.integers(len(labels), size=PAIRS)
        noise = self.sigma * sizes[rows, None] * random.standard_normal((PAIRS, self.mean.shape[1]))
        return float(np.mean(mistakes(h[rows] @ self.mean + noise, labels[rows]))), PAIRS

    def recount(self, record: Evidence, inputs: npt.ArrayLike, labels: Labels) -> Evidence:
        if not isinstance(record, Gibbs):
            raise InputError("predictor", self.kind, "a PAC-Bayes row")
        rate, pairs = self.rate(np.asarray(inputs, np.float64), labels)
        return replace(record, error=rate, n=len(labels), KL=self.divergence, pairs=pairs)


class DrawnReadout(Drawn, Readout):
    """One draw, by a seed of its own."""

    kind: ClassVar[str] = "readout drawn once"
    written: ClassVar[str] = "draw"

    def outputs(self, inputs: npt.ArrayLike) -> Array:
        return _column(np.asarray(inputs, np.float64) @ self.draw)

    def recount(self, record: Evidence, inputs: npt.ArrayLike, labels: Labels) -> Evidence:
        if not isinstance(record, SingleDraw):
            raise InputError("predictor", self.kind, "a single-draw row")
        wrong = self.errors(inputs, labels)
        return replace(record, errors=wrong, n=len(labels), log_ratio=self.log_ratio, seed=self.seed, draws=1)


def _column(scores: Array) -> Array:
    return np.asarray(scores[:, 0] if scores.shape[1] == 1 else scores, np.float64)


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
