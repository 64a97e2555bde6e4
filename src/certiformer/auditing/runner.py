"""Run the attacks on the claims: how much effort each gets follows from the budget alone, so that runs repeat."""

from __future__ import annotations

import json
import math
import shlex
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from certiformer.auditing.attack import (
    LEAST_POINTS,
    VERSIONS,
    Attack,
    Bounds,
    Candidate,
    Claim,
    Counterexample,
    Instance,
    Verdict,
    ratio,
)
from certiformer.auditing.attacks import attacks, reasons
from certiformer.auditing.search import Search
from certiformer.core import find, results
from certiformer.core.bound import json_number
from certiformer.core.errors import InputError

BUDGET = 60.0
# Nominal seconds are measured on a quiet machine; the plan leaves room for a busy one.
_HEADROOM = 0.6
_LARGEST_SCALE = 50.0

Progress = Callable[[int, int, str], None]
Memory = dict[str, tuple[list[Candidate], int]]


@dataclass(frozen=True, slots=True)
class Audit:
    """The verdicts of one run."""

    seed: int
    budget: float
    verdicts: tuple[Verdict, ...]
    seconds: float

    def as_json(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "budget": self.budget,
            "claims": [verdict.as_json() for verdict in self.verdicts],
        }

    def of(self, id: str, version: str) -> Verdict:
        return next(v for v in self.verdicts if v.claim == (id, version))


def claims_of(ids: Iterable[str] = ()) -> list[Claim]:
    """Both sides of the named results, or of all."""
    chosen = [find(id) for id in ids] or list(results().values())
    unique = {result.id: result for result in chosen}
    return [
        Claim(result.id, version)
        for result in unique.values()
        for version in VERSIONS
        if version == "sound" or result.has_printed()
    ]


def run(
    ids: Iterable[str] = (),
    *,
    seed: int = 0,
    budget: float = BUDGET,
    progress: Progress | None = None,
    divisors: Mapping[Claim, float] | None = None,
) -> Audit:
    """Attack the claims of the named results, or all of them, within about `budget` seconds of computing.

    `divisors` makes claims stronger than they are, to see whether the attacks notice.
    """
    if not (budget > 0 and math.isfinite(budget)):
        raise InputError("--budget", budget, "a positive number of seconds", "For example --budget 60")
    if seed < 0:
        raise InputError("--seed", seed, "a whole number, at least 0")
    # Seconds of this process, not of the wall: a busy machine makes an audit late, not different.
    began = time.process_time()
    claims = claims_of(ids)
    scale = _scale(claims, budget)
    verdicts = []
    memory: Memory = {}
    for number, claim in enumerate(claims):
        if progress is not None:
            progress(number, len(claims), f"{claim.id} {claim.version}")
        if time.process_time() - began > budget:
            verdicts.append(Verdict(claim, "not attacked", why="the budget was used up before its turn"))
            continue
        divisor = (divisors or {}).get(claim, 1.0)
        verdicts.append(attack_claim(claim, seed=seed, scale=scale, divisor=divisor, memory=memory))
    if progress is not None:
        progress(len(claims), len(claims), "done")
    return Audit(seed, budget, tuple(verdicts), time.process_time() - began)


def _scale(claims: Sequence[Claim], budget: float) -> float:
    """The factor on every attack's nominal number of points: from the budget and the claims, never from the clock."""
    nominal = sum(attack.seconds for claim in claims for attack in attacks_on(claim))
    return min(_LARGEST_SCALE, _HEADROOM * budget / nominal) if nominal else 1.0


def attacks_on(claim: Claim) -> list[Attack]:
    return [attack for attack in attacks().get(claim.id, ()) if claim.version in attack.versions]


def attack_claim(
    claim: Claim, *, seed: int, scale: float, divisor: float = 1.0, memory: Memory | None = None
) -> Verdict:
    """All attacks on one claim, and what they make of it."""
    mine = attacks_on(claim)
    if not mine:
        why = reasons().get(f"{claim.id}:{claim.version}") or reasons().get(claim.id) or "no attack is written for it"
        return Verdict(claim, "not attackable", why=why)
    spent = 0
    worst: tuple[float, Attack, dict[str, Any], Instance, float] | None = None
    disputed = False
    for attack in mine:
        bounds = Bounds(attack, claim.version, divisor)
        candidates, points = _candidates(
            attack, claim, seed, max(LEAST_POINTS, round(attack.points * scale)), bounds, memory
        )
        spent += points
        for candidate in candidates:
            data = plain(candidate.data)
            instance = attack.instance(data, claim.version)
            bound = bounds(instance.inputs, instance.bound)
            if bound is None:
                continue
            found = ratio(instance.attained, bound, attack.sense)
            agree = math.isclose(candidate.attained, instance.attained, rel_tol=attack.agreement, abs_tol=1e-12)
            if found > attack.limit and not agree:
                disputed = True
                continue
            if worst is None or found > worst[0]:
                worst = found, attack, data, instance, bound
    if spent < LEAST_POINTS:
        return Verdict(claim, "not attacked", attacks=spent, why=f"{spent} points are too few; raise the budget")
    if worst is None:
        why = "no instance within the claim's hypotheses was found"
        return Verdict(claim, "survived", attacks=spent, ratio=0.0, why=why)
    found, attack, data, instance, bound = worst
    numbers = {"attained": instance.attained, "bound": bound, "ratio": found, "attacks": spent}
    why = attack.what
    if attack.allowance != 1.0 and claim.version == "printed":
        why += f"; the bound is {attack.allowance:g} times the printed value, for the constant that is not given"
    if found > attack.limit:
        example = Counterexample(
            attack.name, shown(instance.inputs), data, instance.attained, bound, seed, command(claim, attack, data)
        )
        return Verdict(claim, "refuted", counterexample=example, why=why, **numbers)  # type: ignore[arg-type]
    if disputed:
        why += "; a candidate was dropped because its two measurements disagree"
    return Verdict(claim, "survived", why=why, where=shown(instance.inputs), **numbers)  # type: ignore[arg-type]


def _candidates(
    attack: Attack, claim: Claim, seed: int, points: int, bounds: Bounds, memory: Memory | None
) -> tuple[list[Candidate], int]:
    """What the search finds, and the number of points it took; a shared search is run once for both versions."""
    key = attack.name if attack.shared else f"{attack.name}:{claim.version}"
    if memory is not None and key in memory:
        return memory[key]
    chance = np.random.default_rng([seed, zlib.crc32(key.encode())])
    search = Search(attack, claim.version, chance, points, bounds)
    found = list(attack.search(search)), search.spent
    if memory is not None and attack.shared:
        memory[key] = found
    return found


def plain(data: Mapping[str, Any]) -> dict[str, Any]:
    """Data as JSON has them, and as they will be read back."""

    def simple(value: Any) -> Any:
        if isinstance(value, (np.ndarray, np.generic)):
            return value.tolist()
        return list(value) if isinstance(value, tuple) else value

    return {name: simple(value) for name, value in data.items()}


def shown(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs for a report: long lists are cut, infinities spelled."""
    cut: dict[str, Any] = {}
    for name, value in plain(inputs).items():
        if isinstance(value, (list, tuple)) and len(value) > 8:
            cut[name] = [*value[:8], "..."]
        else:
            cut[name] = json_number(value) if isinstance(value, float) else value
    return cut


def command(claim: Claim, attack: Attack, data: Mapping[str, Any]) -> str:
    """A line that checks a counterexample again, with nothing but numpy."""
    document = {"id": claim.id, "version": claim.version, "attack": attack.name, "data": data}
    return f"certiformer audit --recheck {shlex.quote(json.dumps(document, separators=(',', ':')))}"


def recheck(document: Mapping[str, Any]) -> Verdict:
    """Measure one recorded instance anew: no search, no chance, plain numpy."""
    try:
        claim = Claim(find(str(document["id"])).id, document["version"])
        name, data = str(document["attack"]), dict(document["data"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError("--recheck", str(document)[:80], "a document with id, version, attack and data") from error
    known = {attack.name: attack for attack in attacks_on(claim)}
    if name not in known:
        raise InputError("--recheck", name, f"an attack on {claim.id} {claim.version}: {', '.join(known) or 'none'}")
    attack = known[name]
    instance = attack.instance(data, claim.version)
    bound = Bounds(attack, claim.version)(instance.inputs, instance.bound)
    if bound is None:
        return Verdict(claim, "survived", attacks=1, why="the claim says nothing about this instance")
    found = ratio(instance.attained, bound, attack.sense)
    outcome = "refuted" if found > attack.limit else "survived"
    return Verdict(
        claim,
        outcome,  # type: ignore[arg-type]
        attained=instance.attained,
        bound=bound,
        ratio=found,
        attacks=1,
        why=attack.what,
        where=shown(instance.inputs),
    )


def recorded(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The counterexamples in a document: one of them, or the whole output of an audit."""
    if "claims" not in document:
        return [dict(document)]
    return [
        {
            "id": c["id"],
            "version": c["version"],
            "attack": c["counterexample"]["attack"],
            "data": c["counterexample"]["data"],
        }
        for c in document["claims"]
        if c.get("counterexample")
    ]
