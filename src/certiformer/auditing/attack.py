"""What an audit is made of: claims, instances at which they can be tested, attacks that look for bad ones, verdicts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from certiformer.theory.core.bound import json_number
from certiformer.theory.core.quantity import Direction
from certiformer.theory.core.registry import find
from certiformer.theory.core.result import Result, Variants

if TYPE_CHECKING:
    from certiformer.auditing.search import Search

Data = Mapping[str, Any]
"""What rebuilds an instance."""
Version = Literal["printed", "sound"]
Sense = Literal["upper", "lower", "equal"]
Outcome = Literal["refuted", "survived", "not attackable", "not attacked"]
VERSIONS: tuple[Version, ...] = ("printed", "sound")

LEAST_POINTS = 1000
# Beyond this ratio a claim is broken: rounding in float64 explains nine digits, and identities six.
TOLERANCE: Mapping[Sense, float] = {"upper": 1e-9, "lower": 1e-9, "equal": 1e-6}


class Claim(NamedTuple):
    """One side of one result."""

    id: str
    version: Version


@dataclass(frozen=True, slots=True)
class Instance:
    """A concrete object in the scope of a claim: what it attains, and the inputs of the result there.

    `bound` is set where the claim under attack is not the value of the result but a statement around it
    (a failure probability, an inequality inside the proof).
    """

    attained: float
    inputs: Mapping[str, Any]
    bound: float | None = None


class Candidate(NamedTuple):
    """What a search hands back: data that rebuild an instance, and what the search believes it attains."""

    data: Data
    attained: float


@dataclass(frozen=True, slots=True)
class Attack:
    """One way to break one result.

    `search` finds candidates by any means. `instance` rebuilds the object from its data in plain numpy, float64, and
    measures it anew: the second code path, on which alone a verdict rests.
    `allowance` multiplies a printed value whose constants are hidden in O() or <~: what its own proof would need,
    or more, so that no reader can save the claim by a constant.
    `floor` is the least number of points that deserves the name: fewer only where one is a whole procedure.
    `shared` says that the search does not look at the claim's value, so that both versions may use what it finds.
    `regardless` evaluates a printed value also where a check of ours, not a hypothesis of the paper, fails.
    """

    id: str
    what: str
    search: Callable[[Search], Iterable[Candidate]]
    instance: Callable[[Data, Version], Instance]
    versions: tuple[Version, ...] = VERSIONS
    variants: tuple[str, ...] = ()
    sense: Sense = "upper"
    allowance: float = 1.0
    agreement: float = 1e-6
    regardless: bool = False
    points: int = 4000
    floor: int = LEAST_POINTS
    seconds: float = 0.5
    label: str = ""
    shared: bool = False
    tolerance: float | None = None

    @property
    def name(self) -> str:
        """The id, and the label that tells two attacks on one result apart."""
        return f"{self.id}/{self.label}" if self.label else self.id

    @property
    def limit(self) -> float:
        """Ratios beyond this one refute; `tolerance` is set where the second path itself takes differences."""
        return 1.0 + (TOLERANCE[self.sense] if self.tolerance is None else self.tolerance)


@dataclass(frozen=True, slots=True)
class Bounds:
    """The value of a claim at given inputs: of all variants that apply, the one that claims most."""

    attack: Attack
    version: Version
    divisor: float = 1.0

    def __call__(self, inputs: Mapping[str, Any], given: float | None = None) -> float | None:
        """None where the claim says nothing."""
        value = given if given is not None else self._value(find(self.attack.id), inputs)
        if value is None or math.isnan(value):
            return None
        factor = self.attack.allowance if self.version == "printed" else 1.0
        value *= factor if self.attack.sense == "upper" else 1.0
        return value * self.divisor if self.attack.sense == "lower" else value / self.divisor

    def _value(self, result: type[Result], inputs: Mapping[str, Any]) -> float | None:
        wanted = self.attack.variants
        found = [
            bound.value
            for name, bound in side(result(**inputs), self.version).items()
            if (name in wanted if wanted else bound.bounds in (None, result.bounds))
            and (bound.applies or (self.attack.regardless and self.version == "printed"))
        ]
        if not found:
            return None
        lower = self.attack.sense == "lower" or (not wanted and result.bounds.direction is Direction.LOWER)
        return max(found) if lower else min(found)


def ratio(attained: float, bound: float, sense: Sense) -> float:
    """How much of the bound is attained: above one, the claim is false."""
    if sense == "lower":
        attained, bound = bound, attained
    if sense == "equal":
        low, high = sorted((abs(attained), abs(bound)))
        if attained * bound < 0:
            return math.inf
        return 1.0 if high == 0 else (math.inf if low == 0 else high / low)
    if bound <= 0:
        return 0.0 if attained <= bound else math.inf
    return attained / bound


@dataclass(frozen=True, slots=True)
class Counterexample:
    """An instance beyond a claim, as data; `command` checks it again without any search."""

    attack: str
    inputs: Mapping[str, Any]
    data: Mapping[str, Any]
    attained: float
    bound: float
    seed: int
    command: str

    def as_json(self) -> dict[str, Any]:
        """The instance as JSON, with the command that checks it."""
        return {
            "attack": self.attack,
            "inputs": dict(self.inputs),
            "data": dict(self.data),
            "attained": json_number(self.attained),
            "bound": json_number(self.bound),
            "seed": self.seed,
            "command": self.command,
        }


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a claim."""

    claim: Claim
    outcome: Outcome
    attained: float | None = None
    bound: float | None = None
    ratio: float | None = None
    attacks: int = 0
    counterexample: Counterexample | None = None
    why: str = ""
    where: Mapping[str, Any] | None = None

    def as_json(self) -> dict[str, Any]:
        """The verdict as JSON; infinities are words."""

        def number(value: float | None) -> float | str | None:
            return None if value is None else json_number(value)

        return {
            "id": self.claim.id,
            "version": self.claim.version,
            "verdict": self.outcome,
            "attained": number(self.attained),
            "bound": number(self.bound),
            "ratio": number(self.ratio),
            "attacks": self.attacks,
            "counterexample": None if self.counterexample is None else self.counterexample.as_json(),
            "why": self.why,
            "where": None if self.where is None else dict(self.where),
        }


def side(at: Result, version: Version) -> Variants:
    """The printed or the sound variants."""
    return at.printed() if version == "printed" else at.sound()
