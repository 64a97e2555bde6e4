"""Certificates: exact probabilities that a bound lies below the truth."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from scipy.special import bdtr

from certiformer.auditing.attack import Attack, Candidate, Data, Instance, Version, side
from certiformer.auditing.plain_numpy import binomial_tail
from certiformer.auditing.search import Search, best
from certiformer.theory.calculus.log_form import centres
from certiformer.theory.core import find

Frozen = dict[tuple[float, ...], tuple[float, float]]
Inputs = Callable[[int, int, float, int], dict[str, Any]]
Trials = Iterator[tuple[Candidate, float]]


def _three_best(trials: Callable[[Search], Trials]) -> Callable[[Search], list[Candidate]]:
    return lambda search: best(search, trials(search), keep=3)


def _value(id: str, inputs: Mapping[str, Any], variant: str) -> float:
    result = find(id)
    return result(**inputs).sound()[variant].value


# --- N predictors whose errors are independent coins of probability p, the best of them certified ---------------------
# With k* the largest number of errors whose certificate lies below p, it fails with probability 1 - P(K > k*)^N.


def _covered(
    id: str, inputs: Inputs, predictors: tuple[int, ...] = (2, 10), *, variant: str = "value", seconds: float = 1.0
) -> Attack:
    @_three_best
    def search(search: Search) -> Trials:
        while search.spent < search.points:
            n = int(search.rng.integers(3, 40))
            delta = float(search.rng.uniform(0.01, 0.4))
            N = int(search.rng.choice(predictors))
            values = [_value(id, inputs(k, n, delta, N), variant) for k in range(min(n, 12) + 1)]
            # The risk just above a certificate is where it fails most often; and a few risks in between.
            for p in [v * (1 + 1e-12) for v in values if v < 1] + list(search.rng.uniform(0.01, 0.99, size=60)):
                below = sum(v < p for v in values)
                single = float(bdtr(below - 1, n, p)) if below else 0.0
                attained = -math.expm1(N * math.log1p(-min(single, 1 - 1e-16)))
                yield Candidate({"n": n, "p": float(p), "delta": delta, "N": N}, attained), attained / delta

    def instance(data: Data, version: Version) -> Instance:
        n, p, delta, N = int(data["n"]), float(data["p"]), float(data["delta"]), int(data["N"])
        failing = [k for k in range(min(n, 12) + 1) if _value(id, inputs(k, n, delta, N), variant) < p]
        single = binomial_tail(n, p, max(failing)) if failing else 0.0
        return Instance(1.0 - (1.0 - single) ** N, inputs(0, n, delta, N), delta)

    return Attack(
        id,
        "exact probability that the certificate of the best of independent predictors lies below its risk",
        search,
        instance,
        versions=("sound",),
        agreement=1e-5,
        points=1200,
        seconds=seconds,
        label=variant,
    )


# --- betting: all sequences of zeros and ones -------------------------------------------------------------------------

_LENGTH = 7


def _bets(delta: float) -> dict[tuple[float, ...], float]:
    return {
        losses: _value("betting", {"losses": losses, "delta": delta}, "value")
        for losses in itertools.product((0.0, 1.0), repeat=_LENGTH)
    }


@_three_best
def _betting_search(search: Search) -> Trials:
    for _ in range(2):
        delta = float(search.rng.uniform(0.05, 0.4))
        table = _bets(delta)
        heads = np.array([sum(losses) for losses in table])
        values = np.array(list(table.values()))
        for p in np.concatenate([values[values < 1] * (1 + 1e-12), search.rng.uniform(0.01, 0.99, search.points // 2)]):
            chance = p**heads * (1 - p) ** (_LENGTH - heads)
            attained = float(np.sum(chance[values < p]))
            yield Candidate({"p": float(p), "delta": delta}, attained), attained / delta


def _betting(data: Data, version: Version) -> Instance:
    p, delta = float(data["p"]), float(data["delta"])
    failing = [losses for losses, value in _bets(delta).items() if value < p]
    attained = math.fsum(math.prod(p if loss else 1 - p for loss in losses) for losses in failing)
    return Instance(attained, {"losses": [0.0] * _LENGTH, "delta": delta}, delta)


# --- progressive validation against a learner that stops when the certificate is beaten -------------------------------


def _stopping(n: int, p: float, values: Any) -> float:
    """P(some t: t p/n > certificate of the errors so far), the learner being perfect from then on."""
    alive = np.zeros(n + 1)
    alive[0] = 1.0
    stopped = 0.0
    for t in range(1, n + 1):
        moved = alive * (1 - p)
        moved[1:] += alive[:-1] * p
        beaten = t * p / n > values
        stopped += float(moved[beaten].sum())
        alive = np.where(beaten, 0.0, moved)
    return stopped


def _progressive_values(n: int, delta: float) -> Any:
    return np.array(
        [_value("progressive", {"mean_loss": k / n, "n": n, "delta": delta}, "value") for k in range(n + 1)]
    )


@_three_best
def _progressive_search(search: Search) -> Trials:
    for _ in range(6):
        n, delta = int(search.rng.integers(5, 60)), float(search.rng.uniform(0.05, 0.4))
        values = _progressive_values(n, delta)
        for p in search.rng.uniform(0.02, 1.0, size=search.points // 6 + 1):
            attained = _stopping(n, float(p), values)
            yield Candidate({"n": n, "p": float(p), "delta": delta}, attained), attained / delta


def _progressive(data: Data, version: Version) -> Instance:
    n, p, delta = int(data["n"]), float(data["p"]), float(data["delta"])
    values = _progressive_values(n, delta)
    chances: dict[int, float] = {0: 1.0}
    stopped = 0.0
    for t in range(1, n + 1):
        following: dict[int, float] = {}
        for errors, chance in chances.items():
            for more, weight in ((0, 1 - p), (1, p)):
                if t * p / n > values[errors + more]:
                    stopped += chance * weight
                else:
                    following[errors + more] = following.get(errors + more, 0.0) + chance * weight
        chances = following
    return Instance(stopped, {"mean_loss": 0.0, "n": n, "delta": delta}, delta)


# --- kl_inverse: the inverse itself ----------------------------------------------------------------------------------


@_three_best
def _inverse_search(search: Search) -> Trials:
    while search.spent < search.points:
        q, p = np.sort(search.rng.uniform(0.001, 0.999, size=2))
        budget = float(q * np.log(q / p) + (1 - q) * np.log((1 - q) / (1 - p)))
        if budget < 1e-6:
            continue
        value = _value("kl_inverse", {"q": float(q), "budget": budget}, "value")
        yield Candidate({"q": float(q), "p": float(p)}, float(p)), float(p) / value


def _inverse(data: Data, version: Version) -> Instance:
    q, p = float(data["q"]), float(data["p"])
    budget = math.fsum([q * math.log(q), -q * math.log(p), (1 - q) * math.log1p(-q), -(1 - q) * math.log1p(-p)])
    return Instance(p, {"q": q, "budget": budget})


# --- compression: a loop that always picks the k largest of n numbers -------------------------------------------------
# What is above the k-th largest is wrong, so the risk is Beta(k, n - k + 1): P(risk > v) = P(Bin(n, v) < k).


def _compression_value(k: int, n: int, delta: float, version: Version) -> float:
    """The smallest of the forms: k is known before any loop runs, so each could have been declared."""
    at = find("compression")(k=k, n=n, delta=delta)
    return min(bound.value for bound in side(at, version).values())


@_three_best
def _compression_search(search: Search) -> Trials:
    while search.spent < search.points:
        n = round(math.exp(search.rng.uniform(1.0, 9.3)))
        k = int(search.rng.integers(1, max(2, min(n, 300))))
        delta = float(search.rng.uniform(0.001, 0.3))
        attained = float(bdtr(k - 1, n, min(1.0, _compression_value(k, n, delta, search.version))))
        yield Candidate({"k": k, "n": n, "delta": delta}, attained), attained / delta


def _compression(data: Data, version: Version) -> Instance:
    k, n, delta = int(data["k"]), int(data["n"]), float(data["delta"])
    attained = binomial_tail(n, _compression_value(k, n, delta, version), k - 1)
    return Instance(attained, {"k": k, "n": n, "delta": delta}, delta)


# --- the log form, against a learner that freezes as soon as that makes the limit false: its loss is the centre -------


def _frozen_values(delta: float) -> Frozen:
    """The certificate of every beginning, followed by losses that equal its centre, and that centre."""
    found: Frozen = {}
    for length in range(1, _LENGTH + 1):
        for begun in itertools.product((0.0, 1.0), repeat=length):
            centre = float(centres(np.array([*begun, 0.0]))[-1])
            losses = [*begun, *(centre,) * (_LENGTH - length)]
            found[begun] = _value("progressive.loss", {"losses": losses, "delta": delta}, "value"), centre
    return found


def _frozen(p: float, values: Frozen, begun: tuple[float, ...] = ()) -> float:
    """P(some beginning has a certificate below the average risk of its frozen learner)."""
    if begun:
        limit, centre = values[begun]
        if limit < (p * len(begun) + centre * (_LENGTH - len(begun))) / _LENGTH:
            return 1.0
    if len(begun) == _LENGTH:
        return 0.0
    return p * _frozen(p, values, (*begun, 1.0)) + (1 - p) * _frozen(p, values, (*begun, 0.0))


@_three_best
def _frozen_search(search: Search) -> Trials:
    for _ in range(3):
        delta = float(search.rng.uniform(0.05, 0.6))
        values = _frozen_values(delta)
        for p in search.rng.uniform(0.3, 1.0, size=search.points // 3 + 1):
            attained = _frozen(float(p), values)
            yield Candidate({"p": float(p), "delta": delta}, attained), attained / delta


def _frozen_instance(data: Data, version: Version) -> Instance:
    p, delta = float(data["p"]), float(data["delta"])
    return Instance(_frozen(p, _frozen_values(delta)), {"losses": [0.5] * _LENGTH, "delta": delta}, delta)


def _one(k: int, n: int, delta: float, N: int) -> dict[str, Any]:
    return {"errors": k, "n": n, "delta": delta}


ATTACKS = [
    _covered("binomial", _one, (1,), seconds=0.6),
    _covered("binomial", _one, (1,), variant="kl", seconds=0.6),
    _covered("holdout", lambda k, n, delta, N: {**_one(k, n, delta, N), "models": N}, (1, 2, 10)),
    _covered("occam", lambda k, n, delta, N: {**_one(k, n, delta, N), "code_length": math.log(N)}),
    _covered("margin", lambda k, n, delta, N: {"margin_errors": k, "n": n, "delta": delta, "logN": math.log(N)}),
    _covered("pacbayes.single", lambda k, n, delta, N: {**_one(k, n, delta, N), "log_ratio": math.log(N)}),
    _covered("pacbayes.gibbs", lambda k, n, delta, N: {"n": n, "KL": math.log(N), "delta": delta, "error": k / n}),
    _covered(
        "holdout.ladder",
        lambda k, n, delta, N: {**_one(k, n, delta, N), "queries": N - 1, "improvements": 0},
        (1, 2, 4),
    ),
    *(
        _covered(id, lambda k, n, delta, N: {**_one(k, n, delta, N), "L": [1.0], "R": [float(N)], "gamma": 2.0})
        for id in ("cover.coordinates", "cover.soft")
    ),
    _covered("cover.floors", lambda k, n, delta, N: {**_one(k, n, delta, N), "logN": math.log(N)}),
    _covered("cover.local", lambda k, n, delta, N: {**_one(k, n, delta, N), "dimension": 1, "R": N - 1.0, "rho": 1.0}),
    Attack(
        "compression",
        "a loop that picks the k largest of n numbers, whose risk has a beta law: exact probability of failure",
        _compression_search,
        _compression,
        agreement=1e-5,
        points=1000,
        seconds=6.0,
    ),
    Attack(
        "betting",
        "all sequences of seven zeros and ones: exact probability of failure",
        _betting_search,
        _betting,
        versions=("sound",),
        points=1200,
        seconds=1.5,
    ),
    Attack(
        "progressive",
        "a learner that stops learning when the certificate is beaten: exact probability of failure",
        _progressive_search,
        _progressive,
        versions=("sound",),
        points=1200,
        seconds=0.8,
    ),
    Attack(
        "progressive.loss",
        "a learner that freezes when this makes the certificate false: exact probability of failure",
        _frozen_search,
        _frozen_instance,
        versions=("sound",),
        points=300,
        seconds=1.0,
    ),
    Attack(
        "kl_inverse",
        "random pairs of probabilities",
        _inverse_search,
        _inverse,
        versions=("sound",),
        points=1500,
        seconds=0.5,
        # the divergence of nearby probabilities is known to fewer digits
        tolerance=1e-8,
    ),
]
REASONS = {
    "strata": "a sum of weights that is at most one by construction; nothing random in it",
}
