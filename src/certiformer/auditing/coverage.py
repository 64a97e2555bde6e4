"""Validity, shown: how often does a certificate fail where the risk is known?

Every certificate names its laws (`certificates/*.py`): samples, and learners that do their worst within the rules. A
trial goes through `certify`, as a user's would, and fails if the risk exceeds the number. Over many repetitions that
may happen in at most a fraction delta of them; an exact binomial test judges. Laws that break a rule, in the way people
break it, have to be caught by the same test.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtrc

from certiformer.auditing.procedure_laws import LAWS
from certiformer.certificates import Evidence, Law, Trial, certificates
from certiformer.certification.api import certify

DELTA = 0.05
CAUGHT = 1e-6
"""Fewer failures than this probability allows are no accident: the law breaks a rule."""
SUSPICIOUS = 1e-3
BROKEN = 200
"""Repetitions of a law that breaks a rule, at most: it fails far more often than delta."""


@dataclass(frozen=True)
class Coverage:
    """`failures` among `repetitions`, and the probability of as many or more at failure rate delta."""

    failures: int
    repetitions: int
    p_value: float

    @property
    def rate(self) -> float:
        """The share of repetitions that failed."""
        return self.failures / self.repetitions


def laws() -> Iterator[tuple[str, str, Law]]:
    """Every law of every certificate: id, name, law."""
    for id in certificates():
        for name, law in laws_of(id).items():
            yield id, name, law


def laws_of(id: str) -> Mapping[str, Law]:
    """The laws that stand with a certificate, and those that run its procedures."""
    return {**certificates()[id].laws(), **LAWS.get(id, {})}


def fails(id: str, trial: Trial, delta: float = DELTA) -> bool:
    """Whether the number that `certify` gives is below the risk."""
    if callable(trial.given):
        found, risk = trial.given(delta)
        return (math.inf if found is None else found) < risk
    if isinstance(trial.given, Mapping):
        value = certify(predictions=trial.given, delta=delta, declaration=trial.options)[id].value
    else:
        value = _certified(trial.given, delta)
    return (math.inf if value is None else value) < trial.risk


@functools.lru_cache(maxsize=10_000)
def _certified(record: Evidence, delta: float) -> float | None:
    """Counts come again and again; equal records have equal certificates."""
    return certify(evidence=record, delta=delta)[record.id].value


def repetitions(id: str, law: Law, total: int, *, most: int | None = None) -> int:
    """Each certificate has `total` repetitions, shared among its valid laws; a broken rule shows much sooner."""
    valid = sum(one.valid for one in laws_of(id).values())
    share = -(-total // valid)
    return share if law.valid else min(share, most or BROKEN)


def simulate(id: str, law: Law, repetitions: int, seed: int, delta: float = DELTA) -> Coverage:
    """Repeat a law with independent randomness."""
    draws = (law.draw(np.random.default_rng([seed, index])) for index in range(repetitions))
    failures = sum(bool(fails(id, trial, delta)) for trial in draws)
    return judged(failures, repetitions, delta)


def judged(failures: int, repetitions: int, delta: float = DELTA) -> Coverage:
    """The exact binomial test: the probability of as many failures or more at rate delta."""
    return Coverage(failures, repetitions, float(bdtrc(failures - 1, repetitions, delta)) if failures else 1.0)


def as_expected(law: Law, found: Coverage) -> bool:
    """A valid law does not fail too often; one that breaks a rule is caught."""
    return found.p_value > SUSPICIOUS if law.valid else found.p_value < CAUGHT
