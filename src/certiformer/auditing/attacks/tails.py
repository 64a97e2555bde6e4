"""Tails, truncation, offset complexity: laws whose tails are known exactly."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from scipy.special import erfc, gammaincc, ndtr

from certiformer.auditing.attack import Attack, Candidate, Instance, Version
from certiformer.auditing.search import Search, best, family
from certiformer.auditing.verify import array, signs
from certiformer.theory.core import find

Data = Mapping[str, Any]
Measure = tuple[float, Mapping[str, Any], float | None]


# --- li.def3.1: offset complexity of finite classes, all signs enumerated ---------------------------------------------


def _offset_search(search: Search) -> list[Candidate]:
    eps = signs(6)

    def trials() -> Iterator[tuple[Candidate, float]]:
        rng = search.rng
        for _ in range(search.points):
            table = rng.choice([-1.0, 0.0, 1.0], size=(int(rng.integers(1, 9)), 6)) * np.exp(rng.normal())
            beta = float(np.exp(rng.uniform(-3, 2)))
            value = float(np.mean(np.max(eps @ table.T / 6 - beta * np.mean(table**2, axis=1), axis=1)))
            inputs = {"beta": beta, "n": 6, "logN": math.log(len(table))}
            yield Candidate({"table": table, "beta": beta}, value), search.score(value, inputs)

    return best(search, trials())


def _offset(data: Data, version: Version) -> Instance:
    table, beta = array(data["table"]), float(data["beta"])
    n = table.shape[1]
    total = 0.0
    for eps in signs(n):
        total += max(sum(e * h - beta * h * h for e, h in zip(eps, row, strict=True)) for row in table)
    return Instance(total / n / 2**n, {"beta": beta, "n": n, "logN": math.log(len(table))})


# --- li.lem6.1: a diagonal Gaussian matrix, whose norm is a maximum of d normals -------------------------------------


def _series_measure(data: Data, version: Version) -> Measure:
    d, t, v = data["d"], data["t"], data["v"]
    outside = float(erfc(t / math.sqrt(2 * v)))
    return -math.expm1(d * math.log1p(-min(outside, 1 - 1e-16))), {"v": v, "d1": d, "d2": d, "t": t}, None


def _series(data: Data, version: Version) -> Instance:
    d, t, v = data["d"], data["t"], data["v"]
    inside = float(ndtr(t / math.sqrt(v)) - ndtr(-t / math.sqrt(v)))
    return Instance(1.0 - inside**d, {"v": v, "d1": d, "d2": d, "t": t})


# --- li.ass6.2: a Gaussian matrix, T = 1; its Frobenius norm has a chi law -------------------------------------------


def _gaussian_inputs(data: Data, version: Version) -> dict[str, Any]:
    # X is one row of d entries N(0, s^2), a Gaussian series and a Gaussian token: E X^T X = s^2 I, E X X^T = d s^2.
    inputs = {"T": 1, "d": data["d"], "nu": data["d"] * data["s"] ** 2, "t": data["t"] * data["s"]}
    return inputs | ({"spectral": data["s"] ** 2, "series": True, "gaussian": True} if version == "sound" else {})


def _gaussian_measure(data: Data, version: Version) -> Measure:
    return float(gammaincc(data["d"] / 2, data["t"] ** 2 / 2)), _gaussian_inputs(data, version), None


def _gaussian(data: Data, version: Version) -> Instance:
    """P(chi_d > t) by Simpson's rule on its density."""
    d, t = data["d"], data["t"]
    x = np.linspace(t, t + 14.0, 20_001)
    log_density = (1 - d / 2) * math.log(2) - math.lgamma(d / 2) + (d - 1) * np.log(np.maximum(x, 1e-300)) - x**2 / 2
    weights = np.where(np.arange(len(x)) % 2 == 1, 4.0, 2.0)
    weights[[0, -1]] = 1.0
    value = float(np.sum(weights * np.exp(log_density)) * (x[1] - x[0]) / 3)
    return Instance(value, _gaussian_inputs(data, version))


# --- li.rem6.7: the truncation level, for an input whose norm has exactly the tail a exp(-t^2/2v) --------------------


def _level(data: Data, version: Version) -> float:
    result = find("li.rem6.7")
    at = result(**data)
    return (at.printed() if version == "printed" else at.sound())["M"].value


def _level_measure(data: Data, version: Version) -> Measure:
    attained = min(1.0, data["a"] * math.exp(-(_level(data, version) ** 2) / (2 * data["v"])))
    # "M of order sqrt(log n) makes the truncation error O(1/n)"
    return attained, dict(data), 1.0 / data["n"] if version == "printed" else None


def _level_instance(data: Data, version: Version) -> Instance:
    M = math.sqrt(math.log(data["n"])) if version == "printed" else _level(data, version)
    attained = min(1.0, math.exp(math.log(data["a"]) - M * M / data["v"] / 2))
    return Instance(attained, dict(data), 1.0 / data["n"] if version == "printed" else None)


# --- li.rem6.12: the truncation level against its own rate -----------------------------------------------------------


def _tradeoff_measure(data: Data, version: Version) -> Measure:
    """M/n + M^(2 - beta) at the printed level M = n^(1/(beta - 2))."""
    log_level = math.log(data["n"]) / (data["beta"] - 2)
    value = math.exp(log_level) / data["n"] + math.exp((2 - data["beta"]) * log_level)
    return value, dict(data), None


def _tradeoff(data: Data, version: Version) -> Instance:
    n, beta = data["n"], data["beta"]
    level = n ** (1 / (beta - 2))
    return Instance(level / n + level ** (2 - beta), dict(data))


ATTACKS = [
    Attack(
        "li.def3.1", "random finite classes, all signs enumerated", _offset_search, _offset, points=2500, seconds=0.5
    ),
    Attack(
        "li.lem6.1",
        "diagonal Gaussian matrices, whose norm has an exact law",
        family({"d": (1.0, 200.0), "t": (0.1, 6.0), "v": (0.1, 10.0)}, _series_measure, ["d"]),
        _series,
        variants=("tail",),
        points=1500,
        seconds=0.2,
    ),
    Attack(
        "li.ass6.2",
        "Gaussian tokens, whose norm has an exact law",
        family({"d": (1.0, 40.0), "t": (0.3, 4.0), "s": (0.01, 10.0)}, _gaussian_measure, ["d"]),
        _gaussian,
        points=1500,
        seconds=0.3,
    ),
    Attack(
        "li.rem6.7",
        "inputs with exactly the assumed tail, at the recommended level",
        family({"a": (1.0, 100.0), "v": (0.1, 10.0), "n": (10.0, 1e9)}, _level_measure, ["n"]),
        _level_instance,
        variants=("P_at_M",),
        allowance=100.0,
        points=1500,
        seconds=0.2,
    ),
    Attack(
        "li.rem6.12",
        "the trade-off M/n + M^(2-beta) at the recommended level",
        family({"n": (10.0, 1e9), "beta": (2.2, 10.0)}, _tradeoff_measure, ["n"]),
        _tradeoff,
        versions=("printed",),
        variants=("rate",),
        allowance=100.0,
        regardless=True,
        points=1500,
        seconds=0.2,
    ),
]
REASONS = {
    "li.rem6.12:sound": "it states exponents, no constant: a single number cannot contradict it",
    "li.rem5.4": "how a formula grows with the sequence length; the norm in it is attained by equal tokens",
    "li.rem5.9": "a count of parameters; Theorem 5.8, which it speaks of, is attacked",
    "trauger.sec3.4": "a comparison of norms, attained by equal columns; its cover is that of Lemma 3.6",
}
