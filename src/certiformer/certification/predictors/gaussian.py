"""A map with Gaussian weights: N(mean, sigma^2 I) around what was trained, the prior N(prior, sigma^2 I)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self, cast

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from certiformer.certificates import Evidence, Predictor
from certiformer.certificates._predictor import Array, Labels, Tensors
from certiformer.certificates.pacbayes_gibbs import Gibbs
from certiformer.certificates.pacbayes_single import SingleDraw
from certiformer.theory.core.errors import InputError
from certiformer.theory.measure.margins import margins

PAIRS = 20_000


@dataclass(frozen=True, eq=False)
class Gaussian(Predictor):
    """Posterior and prior by their means; the seed and what a subclass adds are the settings."""

    reads: ClassVar[str] = "features"
    paid: ClassVar[float] = 0.0
    """Nats for choices that were made with the posterior: a scale from a grid."""
    asks: ClassVar[str] = ""
    """What `certifies` demands of the predictor, in words."""
    mean: Array
    prior: Array
    seed: int

    @property
    @abstractmethod
    def sigma(self) -> float:
        """The standard deviation of every weight."""

    def met(self, inputs: npt.ArrayLike) -> Array:
        """The features as the weights meet them."""
        return np.asarray(inputs, np.float64)

    def certified(self, n: int) -> npt.NDArray[np.int64]:
        """The rows of a sample that the posterior is certified on."""
        return np.arange(n)

    def certifies(self, record: Evidence, kind: type[Evidence]) -> bool:
        """Whether a record of this kind may be about it."""
        return isinstance(record, kind)

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


class Afresh(Gaussian):
    """Weights drawn afresh for every prediction."""

    def outputs(self, inputs: npt.ArrayLike) -> Array:
        """Every row with weights of its own: scores of a Gaussian map are Gaussian."""
        h = self.met(inputs)
        noise = np.random.default_rng().standard_normal((len(h), self.mean.shape[1]))
        return column(h @ self.mean + self.sigma * np.linalg.norm(h, axis=1, keepdims=True) * noise)

    def rate(self, h: Array, labels: Labels) -> tuple[float, int | None]:
        """The empirical error of Q: exact for two classes, the rate among fresh pairs for more."""
        if self.mean.shape[1] == 1:
            return exact_error(self.mean, self.sigma, h, labels), None
        rng = np.random.default_rng([self.seed, 2])
        return error_by_pairs(self.mean, self.sigma, h, labels, rng, PAIRS), PAIRS

    def recount(self, record: Evidence, inputs: npt.ArrayLike, labels: Labels) -> Evidence:
        if not self.certifies(record, Gibbs):
            raise InputError("predictor", self.kind, f"{self.asks}a PAC-Bayes row")
        rows = self.certified(len(labels))
        rate, pairs = self.rate(self.met(inputs)[rows], labels[rows])
        return replace(cast(Gibbs, record), error=rate, n=len(rows), KL=self.divergence, pairs=pairs)


class Drawn(Gaussian):
    """One draw from the posterior, by the seed; it is written under the name `written`, and has to be that draw."""

    written: ClassVar[str]

    @property
    def weights(self) -> Array:
        return self.mean + self.sigma * np.random.default_rng([self.seed, 1]).standard_normal(self.mean.shape)

    def tensors(self) -> Tensors:
        return {**super().tensors(), self.written: self.weights}

    @classmethod
    def restore(cls, tensors: Tensors, settings: Mapping[str, Any]) -> Self:
        found = super().restore(tensors, settings)
        if not np.array_equal(found.weights, tensors[cls.written]):
            raise InputError("predictor", "weights that its seed does not draw", "the draw that was certified")
        return found

    @property
    def log_ratio(self) -> float:
        """ln dQ/dP at the draw, what was chosen with Q paid."""
        draw = self.weights
        apart = float(np.sum((draw - self.prior) ** 2) - np.sum((draw - self.mean) ** 2))
        return apart / (2.0 * self.sigma**2) + self.paid

    def outputs(self, inputs: npt.ArrayLike) -> Array:
        return column(self.met(inputs) @ self.weights)

    def recount(self, record: Evidence, inputs: npt.ArrayLike, labels: Labels) -> Evidence:
        if not self.certifies(record, SingleDraw):
            raise InputError("predictor", self.kind, f"{self.asks}a single-draw row")
        rows = self.certified(len(labels))
        wrong, counted = self.errors(np.asarray(inputs)[rows], labels[rows]), cast(SingleDraw, record)
        return replace(counted, errors=wrong, n=len(rows), log_ratio=self.log_ratio, seed=self.seed, draws=1)


def _settings(kind: type[Gaussian]) -> list[str]:
    return sorted(entry.name for entry in fields(kind) if entry.name not in ("mean", "prior"))


def column(scores: Array) -> Array:
    """Scores of one column as a vector."""
    return np.asarray(scores[:, 0] if scores.shape[1] == 1 else scores, np.float64)


def mistakes(scores: Array, labels: Labels) -> npt.NDArray[np.bool_]:
    """Where a map errs; ties are mistakes. Two classes have one column, the logit of class 1 over class 0."""
    single = scores.shape[1] == 1
    return np.asarray((margins(scores[:, 0], 2 * labels - 1) if single else margins(scores, labels)) <= 0.0)


def exact_error(mean: Array, sigma: float, h: Array, labels: Labels) -> float:
    """Error of N(mean, sigma^2 I) for two classes: the mean of Phi(-y <mean, h>/(sigma |h|)), dead features wrong."""
    sizes = np.linalg.norm(h, axis=1)
    scaled = (2 * labels - 1) * (h @ mean)[:, 0] / np.where(sizes > 0, sigma * sizes, 1.0)
    return float(np.mean(np.where(sizes > 0, ndtr(-scaled), 1.0)))


def error_by_pairs(mean: Array, sigma: float, h: Array, labels: Labels, rng: np.random.Generator, pairs: int) -> float:
    """Fresh weights and an example drawn with replacement for every pair."""
    rows = rng.integers(len(labels), size=pairs)
    chosen = h[rows]
    noise = rng.standard_normal((pairs, mean.shape[1])) * np.linalg.norm(chosen, axis=1, keepdims=True)
    return float(np.mean(mistakes(chosen @ mean + sigma * noise, labels[rows])))
