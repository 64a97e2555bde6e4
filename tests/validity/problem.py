"""A problem whose truth is known, put to a result through the front door; and what it may not answer.

A problem gives inputs that are true of it (perhaps loose), the true value of each quantity, and the truth of each
hypothesis, by a pattern in its id or words. The law that every answer obeys:

* a hypothesis that is false is shown open or failing, never verified, nor vouched for;
* where nothing false is shown, and nothing as failing, the value is at least the truth;
* `best` rests on nothing false.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import certiformer
from certiformer.theory.core.errors import CertiformerError, FormulaError

SLACK = 1e-9  # of the truth, which is computed in floating point too
ALWAYS = {
    r"independent|identically distributed|i\.i\.d": True,
    r"minimises the empirical risk|minimiser of the empirical": True,
    r"fixed before|fixed in advance|known before|known in advance|before the sample": True,
}

Facts = Callable[[Mapping[str, Any]], Mapping[str, bool]]


@dataclass(frozen=True)
class Problem:
    """`facts` says, given the inputs that were stated, which hypotheses are true; `truths` is keyed by quantity."""

    id: str
    inputs: Mapping[str, Any]
    truths: Mapping[str, float]
    facts: Facts
    skip: tuple[str, ...] = ()  # variants whose promise is not about one number
    keep: tuple[str, ...] = ()  # inputs without which the others would be untrue
    said: str = ""

    def without(self, name: str) -> "Problem":
        kept = {key: value for key, value in self.inputs.items() if key != name}
        return replace(self, inputs=kept, said=f"{self.said} without {name}")


@dataclass(frozen=True)
class Claim:
    """A hypothesis as an answer shows it."""

    words: str
    state: str  # verified, stated, open, fails


def optional(problem: Problem) -> list[str]:
    """The inputs that were given but need not be."""
    required = {entry.name for entry in certiformer.explain(problem.id).inputs if entry.required}
    return [name for name in problem.inputs if name not in required and name not in problem.keep]


def claims(variant: Mapping[str, Any]) -> list[Claim]:
    """The hypotheses of a variant, in the form of today or of the release (`checks`)."""
    if "hypotheses" in variant:
        return [Claim(f"{entry['id']}: {entry['requires']}", entry["state"]) for entry in variant["hypotheses"]]
    return [Claim(entry["requires"], _state(entry)) for entry in variant["checks"]]


def _state(check: Mapping[str, Any]) -> str:
    if check["holds"] is None:
        return "open"
    if not check["holds"]:
        return "fails"
    return "verified" if check["by"] == "verified" else "stated"


def is_true(claim: Claim, facts: Mapping[str, bool]) -> bool:
    """The truth of a hypothesis; it must be known."""
    answers = [truth for pattern, truth in {**ALWAYS, **facts}.items() if re.search(pattern, claim.words)]
    if not answers:
        raise AssertionError(f"the problem does not know whether this is true: {claim.words}")
    return all(answers)


def violations(problem: Problem) -> list[str]:
    """Everything in the answer that breaks the law, in words; refusals break nothing."""
    try:
        document = certiformer.bound(problem.id, **problem.inputs).as_json()
    except FormulaError as error:
        return [f"{problem.id}{problem.said} {_shown(problem.inputs)}\n    {error}"]
    except CertiformerError:
        return []
    facts, found = problem.facts(problem.inputs), []
    for name, variant in document["sound"].items():
        shown = claims(variant)
        false = [claim for claim in shown if not is_true(claim, facts)]
        found += [f"{name}: {claim.words} is {claim.state}, and false" for claim in false if _claimed(claim)]
        truth = problem.truths.get(variant.get("bounds", document["bounds"]))
        if truth is None or name in problem.skip:
            continue
        value = _value(variant)
        promised = not false and all(claim.state != "fails" for claim in shown)
        if promised and value < truth - SLACK * abs(truth):
            found.append(f"{name}: {value!r} is below the truth {truth!r}")
        if name == document["best"] and false:
            found.append(f"best is {name}, although it is false that {false[0].words}")
    return [f"{problem.id}{problem.said} {_shown(problem.inputs)}\n    {line}" for line in found]


def _claimed(claim: Claim) -> bool:
    return claim.state in ("verified", "stated")


def _value(variant: Mapping[str, Any]) -> float:
    """The value; one too large for a float counts as infinite."""
    value = variant["value"]
    return math.inf if value in (None, "inf") else -math.inf if value == "-inf" else value


def _shown(inputs: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={float(value):.6g}" for name, value in inputs.items() if not isinstance(value, tuple))


def loose(rng: Any, value: float) -> float:
    """A valid upper bound: exact half of the time, up to three times too large otherwise."""
    return float(value) if rng.random() < 0.5 else float(value) * math.exp(rng.uniform(0.0, 1.1))


def log_uniform(rng: Any, low: float, high: float) -> float:
    return float(math.exp(rng.uniform(math.log(low), math.log(high))))
