"""A map with Gaussian weights: N(mean, sigma^2 I) around what was trained, the prior N(prior, sigma^2 I)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np

from certiformer.certificates import Predictor
from certiformer.certificates._predictor import Array, Tensors
from certiformer.theory.core.errors import InputError


@dataclass(frozen=True, eq=False)
class Gaussian(Predictor):
    """Posterior and prior by their means; the seed and what a subclass adds are the settings."""

    reads: ClassVar[str] = "features"
    paid: ClassVar[float] = 0.0
    """Nats for choices that were made with the posterior: a scale from a grid."""
    mean: Array
    prior: Array
    seed: int

    @property
    @abstractmethod
    def sigma(self) -> float:
        """The standard deviation of every weight."""

    def tensors(self) -> Tensors:
        return {"mean": self.mean, "prior": self.prior}

    def settings(self) -> Mapping[str, Any]:
        return {name: getattr(self, name) for name in _settings(type(self))}

    @classmethod
    def restore(cls, tensors: Tensors, settings: Mapping[str, Any]) -> Self:
        return cls(tensors["mean"], tensors["prior"], **{name: settings[name] for name in _settings(cls)})

    @property
    def divergence(self) -> float:
        """KL(Q || P) in nats, what was chosen with Q paid."""
        return float(np.sum((self.mean - self.prior) ** 2)) / (2.0 * self.sigma**2) + self.paid


class Drawn(Gaussian):
    """One draw from the posterior, by the seed; it is written under the name `written`, and has to be that draw."""

    written: ClassVar[str]

    @property
    def draw(self) -> Array:
        return self.mean + self.sigma * np.random.default_rng([self.seed, 1]).standard_normal(self.mean.shape)

    def tensors(self) -> Tensors:
        return {**super().tensors(), self.written: self.draw}

    @classmethod
    def restore(cls, tensors: Tensors, settings: Mapping[str, Any]) -> Self:
        found = super().restore(tensors, settings)
        if not np.array_equal(found.draw, tensors[cls.written]):
            raise InputError("predictor", "weights that its seed does not draw", "the draw that was certified")
        return found

    @property
    def log_ratio(self) -> float:
        """ln dQ/dP at the draw, what was chosen with Q paid."""
        draw = self.draw
        apart = float(np.sum((draw - self.prior) ** 2) - np.sum((draw - self.mean) ** 2))
        return apart / (2.0 * self.sigma**2) + self.paid


def _settings(kind: type[Gaussian]) -> list[str]:
    return sorted(entry.name for entry in fields(kind) if entry.name not in ("mean", "prior"))
