"""How much effort a budget buys: a number of points for every attack on every claim, fixed before the first is tried.

A budget is seconds on two cores of a quiet machine. Every attack knows what its usual number of points costs there;
all are scaled by one factor such that the costs add up to the budget, and none gets fewer than its floor. The clock
plays no part: on a slower machine the same audit takes longer and finds the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from certiformer.auditing.attack import Attack, Claim
from certiformer.auditing.attacks import attacks_of

CORES = 2
# The rest goes to starting processes and to what is left over at the end.
_SHARE = 0.9
_LARGEST_SCALE = 50.0

Points = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Plan:
    """Points of every attack by claim, and the seconds of one core that they nominally take."""

    points: Mapping[Claim, Points]
    seconds: float


def attacks_on(claim: Claim) -> list[Attack]:
    """The attacks on one side of a result."""
    return [attack for attack in attacks_of(claim.id) if claim.version in attack.versions]


def plan(claims: Sequence[Claim], budget: float) -> Plan:
    """The points that a budget of so many seconds buys; the claims and the budget alone decide."""
    everything = [(claim, attack) for claim in claims for attack in attacks_on(claim)]
    chosen = [attack for _, attack in everything]
    factor = _factor(chosen, _SHARE * CORES * budget)
    points: dict[Claim, dict[str, int]] = {claim: {} for claim in claims}
    for claim, attack in everything:
        points[claim][attack.name] = points_of(attack, factor)
    return Plan(MappingProxyType(points), _cost(chosen, factor))


def points_of(attack: Attack, factor: float) -> int:
    """The attack's usual number of points times the factor, at least its floor."""
    return max(attack.floor, round(attack.points * factor))


def _cost(chosen: Sequence[Attack], factor: float) -> float:
    return sum(attack.seconds * points_of(attack, factor) / attack.points for attack in chosen)


def _factor(chosen: Sequence[Attack], seconds: float) -> float:
    """The largest factor whose cost stays within the seconds; zero where the floors alone cost more."""
    low, high = 0.0, _LARGEST_SCALE
    if _cost(chosen, low) >= seconds:
        return low
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _cost(chosen, middle) <= seconds else (low, middle)
    return low
