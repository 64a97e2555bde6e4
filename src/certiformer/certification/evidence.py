"""What a certificate is made from: counts, code lengths, ratios and losses, as small frozen records.

Whoever trains and counts (a recipe, a file of predictions, the Python API) hands these to `report`, which gives each
its share of delta and turns it into a certificate. A record knows the result it feeds (`id`), what that bounds
(`bounds`), the inputs at a share of delta (`inputs`), and itself on a larger sample with the same rates (`grown`),
from which the n at which it would say something is computed. `subject` says whose risk is bounded.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from certiformer.core.errors import InputError

THE_MODEL = "the model"
MOST_LOSSES = 100_000


@dataclass(frozen=True, kw_only=True)
class Evidence(ABC):
    """Common to all: `subject` is the predictor that is certified, `label` tells two records of one id apart.

    `configurations` counts the settings ever compared on these examples; the share of delta is divided among them.
    """

    id: ClassVar[str]
    bounds: ClassVar[str] = "risk_01"

    subject: str = THE_MODEL
    label: str = ""
    note: str = ""
    configurations: int = 1

    @property
    def key(self) -> str:
        """The name of this record's share of delta."""
        return f"{self.id} ({self.label})" if self.label else self.id

    @abstractmethod
    def inputs(self, delta: float) -> dict[str, Any]:
        """The inputs of the result `id` at the failure probability `delta`."""

    @abstractmethod
    def grown(self, factor: float) -> Self | None:
        """The same rates on `factor` times as many examples; None where that cannot be said."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of examples behind the record."""


@dataclass(frozen=True, kw_only=True)
class HoldOut(Evidence):
    """H: `errors` among `n` examples that played no part in choosing the model, `models` compared on them."""

    id: ClassVar[str] = "holdout"
    errors: int
    n: int
    models: int = 1

    def inputs(self, delta: float) -> dict[str, Any]:
        return {"errors": self.errors, "n": self.n, "delta": delta, "models": self.models}

    def grown(self, factor: float) -> Self:
        return replace(self, errors=_scaled(self.errors, factor), n=_scaled(self.n, factor))

    @property
    def size(self) -> int:
        return self.n


@dataclass(frozen=True, kw_only=True, eq=False)
class Betting(Evidence):
    """B: hold-out losses in [low, high] in the order they came; `smoothing` and the order were fixed beforehand.

    `models` compared on these examples divide delta among them.
    """

    id: ClassVar[str] = "betting"
    bounds: ClassVar[str] = "smoothed_cross_entropy"
    losses: tuple[float, ...]
    low: float
    high: float
    smoothing: float
    classes: int
    models: int = 1

    def inputs(self, delta: float) -> dict[str, Any]:
        return {"losses": self.losses, "low": self.low, "high": self.high, "delta": delta / self.models}

    def grown(self, factor: float) -> Self | None:
        wanted = _scaled(len(self.losses), factor)
        if wanted > MOST_LOSSES:
            return None
        return replace(self, losses=tuple(np.resize(np.asarray(self.losses), wanted).tolist()))

    @property
    def size(self) -> int:
        return len(self.losses)


@dataclass(frozen=True, kw_only=True)
class Occam(Evidence):
    """O: training errors of h and -ln P(h), everything paid: family, basis, grid, scale, the configurations tried."""

    id: ClassVar[str] = "occam"
    errors: int
    n: int
    code_length: float
    parts: Mapping[str, float] = field(default_factory=dict)

    def inputs(self, delta: float) -> dict[str, Any]:
        return {"errors": self.errors, "n": self.n, "code_length": self.code_length, "delta": delta}

    def grown(self, factor: float) -> Self:
        return replace(self, errors=_scaled(self.errors, factor), n=_scaled(self.n, factor))

    @property
    def size(self) -> int:
        return self.n


@dataclass(frozen=True, kw_only=True)
class Gibbs(Evidence):
    """K: empirical error of the posterior Q, exact (`pairs` None) or the rate among `pairs` fresh pairs."""

    id: ClassVar[str] = "pacbayes.gibbs"
    bounds: ClassVar[str] = "gibbs_risk_01"
    error: float
    n: int
    KL: float
    pairs: int | None = None

    def inputs(self, delta: float) -> dict[str, Any]:
        given = {"error": self.error, "n": self.n, "KL": self.KL, "delta": delta}
        return given if self.pairs is None else {**given, "pairs": self.pairs}

    def grown(self, factor: float) -> Self:
        return replace(self, n=_scaled(self.n, factor))

    @property
    def size(self) -> int:
        return self.n


@dataclass(frozen=True, kw_only=True)
class SingleDraw(Evidence):
    """K1: errors of one network drawn once from Q with a seed recorded beforehand; ln dQ/dP at the draw."""

    id: ClassVar[str] = "pacbayes.single"
    errors: int
    n: int
    log_ratio: float
    draws: int = 1
    seed: int | None = None

    def inputs(self, delta: float) -> dict[str, Any]:
        return {
            "errors": self.errors,
            "n": self.n,
            "log_ratio": self.log_ratio,
            "delta": delta,
            "draws": self.draws,
        }

    def grown(self, factor: float) -> Self:
        return replace(self, errors=_scaled(self.errors, factor), n=_scaled(self.n, factor))

    @property
    def size(self) -> int:
        return self.n


@dataclass(frozen=True)
class MarginScale:
    """One margin of the paid grid: k examples with margin at most gamma or outside the domain, ln N, and its price."""

    gamma: float
    margin_errors: int
    logN: float
    paid: float


@dataclass(frozen=True, kw_only=True)
class Margin(Evidence):
    """M: the scales of a grid fixed beforehand, each with its price in `paid`; the best of them may be reported.

    ln N is that of a sup-norm cover over the whole domain at gamma/2 (gamma/4 for several classes), at the rounded-up
    radii of the stratum, whose price is in `paid` too.
    """

    id: ClassVar[str] = "margin"
    n: int
    scales: tuple[MarginScale, ...]

    def __post_init__(self) -> None:
        if not self.scales:
            raise InputError("scales", self.scales, "at least one margin")

    def best(self, delta: float) -> MarginScale:
        """The scale with the smallest limit at this share of delta."""
        from certiformer.calculus.tails import binomial_upper

        def limit(scale: MarginScale) -> float:
            return binomial_upper(scale.margin_errors, self.n, math.log(delta) - scale.logN - scale.paid)

        return min(self.scales, key=limit)

    def inputs(self, delta: float) -> dict[str, Any]:
        scale = self.best(delta)
        return {
            "margin_errors": scale.margin_errors,
            "n": self.n,
            "delta": delta,
            "logN": scale.logN,
            "paid": scale.paid,
        }

    def grown(self, factor: float) -> Self:
        scales = tuple(replace(scale, margin_errors=_scaled(scale.margin_errors, factor)) for scale in self.scales)
        return replace(self, n=_scaled(self.n, factor), scales=scales)

    @property
    def size(self) -> int:
        return self.n


@dataclass(frozen=True, kw_only=True)
class Disagreement(Evidence):
    """D: h1 made `errors` on n held-out examples; h and h1 differ on some of the fresh unlabelled ones.

    `models` compared on the held-out examples divide delta among them.
    """

    id: ClassVar[str] = "disagreement"
    errors: int
    n: int
    disagreements: int
    unlabelled: int
    models: int = 1

    def inputs(self, delta: float) -> dict[str, Any]:
        return {
            "errors": self.errors,
            "n": self.n,
            "disagreements": self.disagreements,
            "unlabelled": self.unlabelled,
            "delta": delta / self.models,
        }

    def grown(self, factor: float) -> Self:
        return replace(
            self,
            errors=_scaled(self.errors, factor),
            n=_scaled(self.n, factor),
            disagreements=_scaled(self.disagreements, factor),
            unlabelled=_scaled(self.unlabelled, factor),
        )

    @property
    def size(self) -> int:
        return self.n


@dataclass(frozen=True, kw_only=True)
class Progressive(Evidence):
    """V: average loss in [0, 1] of one pass, each of the n examples predicted before it was learnt."""

    id: ClassVar[str] = "progressive"
    bounds: ClassVar[str] = "mean_iterate_risk_01"
    mean_loss: float
    n: int

    def inputs(self, delta: float) -> dict[str, Any]:
        return {"mean_loss": self.mean_loss, "n": self.n, "delta": delta}

    def grown(self, factor: float) -> Self:
        return replace(self, n=_scaled(self.n, factor))

    @property
    def size(self) -> int:
        return self.n


def _scaled(count: int, factor: float) -> int:
    """A count on a sample `factor` times as large, rounded up: rates do not become smaller."""
    return math.ceil(count * factor)


@dataclass(frozen=True, eq=False, kw_only=True)
class Findings:
    """Everything a run found out, before delta is divided: what a recipe returns and what `report` reads.

    `observed` holds at least `train_error` and `heldout_error` where they are known, and the numbers of examples.
    `configuration` is all that was fixed before the certified examples were read (JSON-able; it is hashed), `splits`
    the hashes of the divisions of the data by name, `tried` the number of configurations ever compared on them.
    """

    title: str
    classes: int
    observed: Mapping[str, float | int | None]
    evidence: tuple[Evidence, ...]
    configuration: Mapping[str, Any]
    splits: Mapping[str, str]
    seed: int
    tried: int = 1
    model: Any = None
    """The model that is profiled; one of `certiformer.models` also meets the papers' results."""
    sample: tuple[Any, Any] | None = None
    """Inputs and labels the model was trained on, for the profile and the papers' results."""
    initial: Any = None
    """The same model before training, for the distance from initialisation."""
    training: Mapping[str, Any] = field(default_factory=dict)
    """What is known about the run: optimiser, step_size, steps, start_loss, ..."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """Why a certificate has no evidence, by id; ids in neither place get a general reason."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """Further facts for the provenance table: hashes of the data, files, the command."""
