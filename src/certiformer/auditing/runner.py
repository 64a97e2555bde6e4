"""Run the attacks on the claims, on all cores, by a plan that follows from the budget alone: runs repeat."""

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
from certiformer.auditing.attacks import reason
from certiformer.auditing.budget import Points, attacks_on, plan
from certiformer.auditing.search import Search
from certiformer.auditing.workers import spread
from certiformer.theory.core import find, results
from certiformer.theory.core.bound import json_number
from certiformer.theory.core.errors import CertiformerError, InputError
from certiformer.theory.core.threads import cores

BUDGET = 60.0
# Below so many nominal seconds of work, starting processes costs more than it saves.
_WORTH_SPREADING = 8.0
_ODD = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)
"""What formulas raise that are given the data of a stranger."""

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
        """The document that `certiformer audit --json` prints."""
        return {
            "seed": self.seed,
            "budget": self.budget,
            "claims": [verdict.as_json() for verdict in self.verdicts],
        }

    def of(self, id: str, version: str) -> Verdict:
        """The verdict on one side of one result."""
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
    workers: int | None = None,
    progress: Progress | None = None,
    divisors: Mapping[Claim, float] | None = None,
) -> Audit:
    """Attack the claims of the named results, or all of them, with what `budget` seconds on two cores buy.

    The same ids, seed and budget give the same verdicts on any machine, with any number of `workers` (processes; as
    many as there are cores if not given). `divisors` makes claims stronger than they are, to see whether the attacks
    notice.
    """
    if not (budget > 0 and math.isfinite(budget)):
        raise InputError("--budget", budget, "a positive number of seconds", "For example --budget 60")
    if seed < 0:
        raise InputError("--seed", seed, "a whole number, at least 0")
    if workers is not None and workers < 1:
        raise InputError("--workers", workers, "a whole number, at least 1")
    began = time.perf_counter()
    claims = claims_of(ids)
    planned = plan(claims, budget)
    # Both sides of a result belong together: they share searches.
    groups: dict[str, list[Claim]] = {}
    for claim in claims:
        groups.setdefault(claim.id, []).append(claim)
    tasks = [
        Task(seed, tuple((claim, planned.points[claim], (divisors or {}).get(claim, 1.0)) for claim in group))
        for group in groups.values()
    ]
    count = min(workers if workers is not None else cores(), len(tasks))
    if workers is None and planned.seconds < _WORTH_SPREADING:
        count = 1
    finished = 0

    def done(index: int, verdicts: Sequence[Verdict]) -> None:
        nonlocal finished
        finished += len(verdicts)
        if progress is not None:
            progress(finished, len(claims), verdicts[-1].claim.id)

    if count > 1:
        # The longest first, so that no process is left with one of them at the end.
        order = sorted(range(len(tasks)), key=lambda index: -_nominal(tasks[index]))
        answers = spread(attack_group, [tasks[index] for index in order], count, done)
        by_task = [answer for _, answer in sorted(zip(order, answers, strict=True), key=lambda pair: pair[0])]
    else:
        by_task = []
        for index, task in enumerate(tasks):
            by_task.append(attack_group(task))
            done(index, by_task[-1])
    found = {verdict.claim: verdict for verdicts in by_task for verdict in verdicts}
    return Audit(seed, budget, tuple(found[claim] for claim in claims), time.perf_counter() - began)


@dataclass(frozen=True, slots=True)
class Task:
    """The claims of one result, each with the points of its attacks and a divisor."""

    seed: int
    claims: tuple[tuple[Claim, Points, float], ...]


def attack_group(task: Task) -> list[Verdict]:
    """The verdicts on the claims of one result."""
    memory: Memory = {}
    return [
        attack_claim(claim, seed=task.seed, points=points, divisor=divisor, memory=memory)
        for claim, points, divisor in task.claims
    ]


def _nominal(task: Task) -> float:
    return sum(
        attack.seconds * points[attack.name] / attack.points
        for claim, points, _ in task.claims
        for attack in attacks_on(claim)
    )


def attack_claim(
    claim: Claim, *, seed: int, points: Points | None = None, divisor: float = 1.0, memory: Memory | None = None
) -> Verdict:
    """All attacks on one claim, each with its points (its floor where not given), and what they make of it."""
    mine = attacks_on(claim)
    if not mine:
        return Verdict(claim, "not attackable", why=reason(claim) or "no attack is written for it")
    spent = 0
    worst: tuple[float, Attack, dict[str, Any], Instance, float] | None = None
    disputed = False
    for attack in mine:
        bounds = Bounds(attack, claim.version, divisor)
        allowed = (points or {}).get(attack.name, attack.floor)
        candidates, used = _candidates(attack, claim, seed, allowed, bounds, memory)
        spent += used
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
    if spent < max(attack.floor for attack in mine):
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
    try:
        with np.errstate(all="ignore"):
            instance = attack.instance(data, claim.version)
            bound = Bounds(attack, claim.version)(instance.inputs, instance.bound)
    except CertiformerError:
        raise
    except _ODD as error:
        why = f"{type(error).__name__}: {error}"
        raise InputError("--recheck", name, "an attack with data that rebuild its instance", why[:200]) from error
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
    found = []
    try:
        for claim in document["claims"]:
            if example := claim.get("counterexample"):
                found.append({name: claim[name] for name in ("id", "version")})
                found[-1] |= {name: example[name] for name in ("attack", "data")}
    except (AttributeError, KeyError, TypeError) as error:
        raise InputError("--recheck", "claims", "what `certiformer audit --json` prints", repr(error)[:200]) from error
    return found
