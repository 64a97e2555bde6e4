"""What all certificates share: a record of what was counted, which knows what it means and what it costs."""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

from certiformer.certificates._law import Law
from certiformer.certificates._predictor import Predictor
from certiformer.theory.core import Hypothesis, Paper, Quantity, Result, Status, assumed, real, reals
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.lazy import np, npt

CERTIFICATES = Paper("certificates", "The certiformer authors", "Certificates that are not vacuous", 2026)


class CertificateBound(Result):
    """The theorem behind a certificate: a risk, in this package's own words."""

    paper = CERTIFICATES
    bounds, status = Quantity.RISK, Status.NONE


class LossBound(CertificateBound):
    """The theorem behind a mean of losses that cannot leave a range, declared and not read off the losses."""

    monotone = "-delta"

    losses: tuple[float, ...] = reals(
        "losses, in the order they came",
        low=-math.inf,
        low_open=False,
        example=(0.1, 0.0, 0.3, 0.05, 0.2, 0.0, 0.1, 0.0),
    )
    delta: float = real("failure probability", high=1.0, example=0.05)
    low: float = real("least possible loss", low=-math.inf, example=0.0, default=0.0)
    high: float = real("largest possible loss", low=-math.inf, default=1.0)

    def fractions(self) -> npt.NDArray[np.float64]:
        """The losses as fractions of their range."""
        found = losses_in(self.losses, self.low, self.high)
        return np.clip((found - self.low) / (self.high - self.low), 0.0, 1.0)


def losses_in(losses: Any, low: float, high: float) -> npt.NDArray[np.float64]:
    """Losses as an array, all of them inside their range."""
    if not low < high:
        raise InputError("high", high, f"a number above low = {low}")
    found = np.asarray(losses, np.float64)
    outside = ~((found >= low) & (found <= high))
    if outside.any():
        raise InputError("losses", float(found[outside][0]), f"numbers in [{low}, {high}]")
    return found


THE_MODEL = "the model"
"""The subject of a certificate that speaks about the user's own model."""
FEW_EXAMPLES = "confidence: few examples"
OBSERVED = ("observed", "empirical error of Q")
"""The terms of a bound that are a rate seen on the examples; the rest is what is added to it."""


@dataclass(frozen=True, kw_only=True)
class Evidence(ABC):
    """What was counted, before a part of delta is known.

    `subject` is the predictor whose risk is bounded, `predictor` that object itself where it can be handed over;
    `label` tells two records of one id apart. `models` counts the models (settings, seeds, passes) that were compared
    on these examples, *all of them fixed before any was scored on them*: the part of delta is divided among them.
    It does not pay for a model that was trained, chosen or changed after somebody looked at a score on these examples.
    """

    bound: ClassVar[type[Result]]
    """The theorem: its fields are counted here, but for delta."""
    id: ClassVar[str]
    """That of the bound."""
    bounds: ClassVar[str] = "risk_01"
    measures: ClassVar[str] = "error rate on new examples"
    """What is bounded, in the words of a table."""
    weight: ClassVar[float]
    """Its part when delta is divided: decided here, before any data are seen."""
    cost: ClassVar[str] = FEW_EXAMPLES
    """What is added to the observed rate, by name."""
    guarantee: ClassVar[str]
    """What is guaranteed about {subject}, and what is not: a paragraph for the reader."""
    examples: ClassVar[str] = "held-out examples"
    """What the examples behind it are to the predictor."""
    absent: ClassVar[str]
    """Why there is no such certificate where nothing was counted for it."""
    grows: ClassVar[tuple[str, ...]] = ("errors", "n")
    """The counts that grow with the sample, at the same rates; nothing where that cannot be said."""

    subject: str = THE_MODEL
    label: str = ""
    note: str = ""
    models: int = 1
    of: str = "examples"
    """What the claim is about, if it is true: new examples, new groups, new distinct texts."""
    two_sided: bool = False
    """Both limits are claimed, each at half of the share."""
    predictor: Predictor | None = field(default=None, compare=False, repr=False)
    through: Predictor | None = field(default=None, compare=False, repr=False)
    """The certified sibling that a transfer goes through."""
    trace: Mapping[str, npt.NDArray[Any]] | None = field(default=None, compare=False, repr=False)
    """What was seen while counting and nobody can see again: written beside the report, with its hash."""
    shown: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    """Hypotheses of the bound, by their words, that whoever counted has proved, and where."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "bound" in vars(cls):
            cls.id = cls.bound.id

    def __post_init__(self) -> None:
        if type(self.models) is not int or self.models < 1:
            raise InputError("models", self.models, "the number of models compared on these examples, at least 1")
        if type(self.two_sided) is not bool:
            raise InputError("two_sided", self.two_sided, "true or false: whether both limits are claimed")

    @property
    def key(self) -> str:
        """The name of this record's part of delta."""
        return f"{self.id} ({self.label})" if self.label else self.id

    def counts(self) -> dict[str, Any]:
        """What this kind of record adds to what all records have."""
        shared = {field.name for field in fields(Evidence)}
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name not in shared}

    @property
    def size(self) -> int:
        """The number of examples behind the record."""
        return int(self.counts()["n"])

    @property
    def about(self) -> str:
        """Whose risk is limited, as it is said."""
        return self.subject

    @property
    def quantity(self) -> str:
        """What is limited, in words."""
        return self.measures

    def seen(self) -> str:
        """What was counted, in words: 28 errors among 5,000 held-out examples."""
        errors = getattr(self, "errors", None)
        counted = "" if errors is None else f"{errors:,} error{'' if errors == 1 else 's'} among "
        return f"{counted}{self.size:,} {self.examples}"

    def beside(self, delta: float) -> str:
        """What else stands beside what was counted, at the failure probability of the bound: a half-sentence."""
        return ""

    def inputs(self, delta: float) -> dict[str, Any]:
        """The inputs of the result `id` at the failure probability `delta`: of what was counted, what it asks for."""
        asked = {one.name for one in self.bound.inputs}
        counted = {name: value for name, value in self.counts().items() if name in asked and value is not None}
        return {**counted, "delta": delta}

    def grown(self, factor: float) -> Self | None:
        """The same rates on `factor` times as many examples; None where that cannot be said."""
        larger: dict[str, Any] = {name: scaled(self.counts()[name], factor) for name in self.grows}
        return replace(self, **larger) if larger else None

    @classmethod
    @abstractmethod
    def laws(cls) -> Mapping[str, Law]:
        """Distributions with a known risk on which the coverage is simulated, and procedures that break a rule."""

    def trivial(self, classes: int) -> float:
        """What guessing uniformly attains; 1 where the number of classes is not known (0)."""
        return 1.0 - 1.0 / classes if classes else 1.0

    def lower(self, delta: float) -> float | None:
        """A lower limit for the same quantity at the failure probability `delta`; None where there is none."""
        return None

    def settled(self, hypothesis: Hypothesis) -> Hypothesis:
        """A hypothesis of the bound, verified where the record comes with its proof."""
        why = self.shown.get(hypothesis.requires)
        return hypothesis if why is None else replace(hypothesis, state="verified", why=why)

    def hypotheses(self) -> tuple[Hypothesis, ...]:
        """What the record rests on beside the hypotheses of its bound."""
        if self.models == 1:
            return ()
        return (
            assumed(
                f"all {self.models} models that were compared were fixed before any of them was scored on these "
                "examples; none was made after looking at a score"
            ),
        )

    def terms(self, delta: float) -> dict[str, float]:
        """Further figures for the reader, at the failure probability at which the bound was evaluated."""
        return {}

    def price(self, terms: Mapping[str, float]) -> str:
        """The name of what is added to the observed rate, given the terms of the bound."""
        return self.cost

    def record(self) -> dict[str, Any]:
        """The counts as JSON: what `verify` recomputes the row from."""
        population = {} if self.of == "examples" else {"of": self.of}
        return {**self.counts(), "models": self.models, "two_sided": self.two_sided, **population}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self | None:
        """The record again from its JSON; None where the JSON does not hold all that was counted."""
        return cls(**record)


def scaled(count: int, factor: float) -> int:
    """A count on a sample `factor` times as large, rounded up: rates do not become smaller."""
    return math.ceil(count * factor)


@dataclass(frozen=True, kw_only=True, eq=False)
class LossEvidence(Evidence):
    """Losses in [low, high], declared beforehand; a report keeps what identifies them, not the losses.

    Each is the mean of `merged` consecutive ones, where there are very many.
    """

    losses: npt.NDArray[np.float64]
    low: float = 0.0
    high: float = 1.0
    merged: int = 1

    # The equality of other records looks at their fields; arrays have none, so that a record equals itself alone.
    __eq__, __hash__ = object.__eq__, object.__hash__

    @property
    def size(self) -> int:
        return len(self.losses) * self.merged

    @property
    def at_a_time(self) -> str:
        """Beside the number of examples: how many are averaged."""
        return "" if self.merged == 1 else f", {self.merged} at a time"

    def trivial(self, classes: int) -> float:
        guess = getattr(self, "guess", None)
        return self.high if guess is None else float(guess)

    def terms(self, delta: float) -> dict[str, float]:
        return {"least possible": self.low, "largest possible": self.high}

    def record(self) -> dict[str, Any]:
        """Losses are as many as examples: the report keeps their number and mean, the data give them again."""
        found = {**super().record(), "losses": described(self.losses)}
        if self.merged == 1:
            del found["merged"]
        return found

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self | None:
        return None


def hashed(*arrays: Any) -> str:
    """SHA-256 of numbers, as doubles; what is None is left out."""
    digest = hashlib.sha256()
    for array in arrays:
        if array is not None:
            digest.update(np.asarray(array, "<f8").tobytes())
    return digest.hexdigest()


def described(values: npt.NDArray[np.float64]) -> dict[str, float]:
    return {"number": len(values), "mean": math.fsum(values) / max(1, len(values))}
