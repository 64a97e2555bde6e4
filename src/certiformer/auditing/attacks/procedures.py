"""Certificates as procedures: splits, codes, picks and ledgers, run from end to end where the risk is known.

Every certificate names laws under which it must cover (`certificates/*.py`); a trial draws data, follows the procedure
as a user would, and fails if the risk exceeds the number. What is attained is a lower confidence limit on the failure
rate, at a level that no number of audits would reach by accident; the claim is delta.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scipy.stats import beta

from certiformer.auditing.attack import Attack, Candidate, Instance, Version
from certiformer.auditing.coverage import CAUGHT, DELTA, Coverage, simulate
from certiformer.auditing.search import Search
from certiformer.certificates import Law, certificates


def _rate(found: Coverage) -> float:
    """The failure rate, from below: Clopper and Pearson at level CAUGHT."""
    if found.failures == 0:
        return 0.0
    return float(beta.ppf(CAUGHT, found.failures, found.repetitions - found.failures + 1))


def _valid(id: str) -> dict[str, Law]:
    return {name: law for name, law in certificates()[id].laws().items() if law.valid}


def _procedure(id: str) -> Attack:
    def search(search: Search) -> list[Candidate]:
        laws = _valid(id)
        found = []
        for name, law in laws.items():
            trials, seed = -(-search.points // len(laws)), int(search.rng.integers(2**31))
            coverage = simulate(id, law, trials, seed)
            search.spent += trials
            data = {"law": name, "trials": trials, "seed": seed}
            found.append((coverage.rate, Candidate(data, _rate(coverage))))
        return [max(found, key=lambda entry: entry[0])[1]]

    def instance(data: Mapping[str, Any], version: Version) -> Instance:
        found = simulate(id, _valid(id)[str(data["law"])], int(data["trials"]), int(data["seed"]))
        return Instance(_rate(found), {}, DELTA)

    return Attack(
        id,
        "the procedure repeated where the risk is known: a lower limit on how often the certificate is below it",
        search,
        instance,
        versions=("sound",),
        points=100,
        floor=100,
        seconds=1.0,
        label="procedure",
    )


IDS = (
    "betting", "compression", "cover.coordinates", "cover.floors", "cover.local", "cover.soft", "disagreement",
    "holdout", "margin", "mean_loss", "occam", "pacbayes.gibbs", "pacbayes.single", "progressive", "progressive.loss",
    "progressive.ratio", "surrogate", "surrogate.loss",
)  # fmt: skip
ATTACKS = [_procedure(id) for id in IDS]
