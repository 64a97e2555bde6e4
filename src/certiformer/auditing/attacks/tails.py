"""Tails, truncation, offset complexity: laws whose tails are known exactly."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import erfc, gammaincc, ndtr

from certiformer.auditing.attack import Attack, Data, Instance, Version, side
from certiformer.auditing.plain_numpy import array, chi_tail, signs
from certiformer.auditing.search import Search, closed_form, family, sample
from certiformer.theory.core import find

# --- li.def3.1: offset complexity of finite classes, all signs enumerated ---------------------------------------------


_SIX = signs(6)


@sample
def _offset_search(search: Search) -> tuple[Data, float, float]:
    rng = search.rng
    table = rng.choice([-1.0, 0.0, 1.0], size=(int(rng.integers(1, 9)), 6)) * np.exp(rng.normal())
    beta = float(np.exp(rng.uniform(-3, 2)))
    value = float(np.mean(np.max(_SIX @ table.T / 6 - beta * np.mean(table**2, axis=1), axis=1)))
    inputs = {"beta": beta, "n": 6, "logN": math.log(len(table))}
    return {"table": table, "beta": beta}, value, search.score(value, inputs)


def _offset(data: Data, version: Version) -> Instance:
    table, beta = array(data["table"]), float(data["beta"])
    n = table.shape[1]
    total = 0.0
    for eps in signs(n):
        total += max(sum(e * h - beta * h * h for e, h in zip(eps, row, strict=True)) for row in table)
    return Instance(total / n / 2**n, {"beta": beta, "n": n, "logN": math.log(len(table))})


# --- li.lem6.1: a diagonal Gaussian matrix, whose norm is a maximum of d normals -------------------------------------


def _series(data: Data) -> float:
    outside = float(erfc(data["t"] / math.sqrt(2 * data["v"])))
    return -math.expm1(data["d"] * math.log1p(-min(outside, 1 - 1e-16)))


def _series_again(data: Data) -> float:
    t, v = data["t"], data["v"]
    inside = float(ndtr(t / math.sqrt(v)) - ndtr(-t / math.sqrt(v)))
    return float(1.0 - inside ** data["d"])


# --- li.ass6.2: a Gaussian matrix, T = 1; its Frobenius norm has a chi law -------------------------------------------


def _gaussian_inputs(data: Data, version: Version) -> dict[str, Any]:
    # X is one row of d entries N(0, s^2), a Gaussian series and a Gaussian token: E X^T X = s^2 I, E X X^T = d s^2.
    inputs = {"T": 1, "d": data["d"], "nu": data["d"] * data["s"] ** 2, "t": data["t"] * data["s"]}
    return inputs | ({"spectral": data["s"] ** 2, "series": True, "gaussian": True} if version == "sound" else {})


# --- li.rem6.7: the truncation level, for an input whose norm has exactly the tail a exp(-t^2/2v) --------------------


def _level(data: Data, version: Version) -> float:
    return side(find("li.rem6.7")(**data), version)["M"].value


def _level_measure(data: Data, version: Version) -> Instance:
    attained = min(1.0, data["a"] * math.exp(-(_level(data, version) ** 2) / (2 * data["v"])))
    # "M of order sqrt(log n) makes the truncation error O(1/n)"
    return Instance(attained, dict(data), 1.0 / data["n"] if version == "printed" else None)


def _level_instance(data: Data, version: Version) -> Instance:
    M = math.sqrt(math.log(data["n"])) if version == "printed" else _level(data, version)
    attained = min(1.0, math.exp(math.log(data["a"]) - M * M / data["v"] / 2))
    return Instance(attained, dict(data), 1.0 / data["n"] if version == "printed" else None)


# --- li.rem6.12: the truncation level against its own rate -----------------------------------------------------------


def _tradeoff(data: Data) -> float:
    """M/n + M^(2 - beta) at the printed level M = n^(1/(beta - 2))."""
    log_level = math.log(data["n"]) / (data["beta"] - 2)
    return float(math.exp(log_level) / data["n"] + math.exp((2 - data["beta"]) * log_level))


def _tradeoff_again(data: Data) -> float:
    n, beta = data["n"], data["beta"]
    level = n ** (1 / (beta - 2))
    return float(level / n + level ** (2 - beta))


ATTACKS = [
    Attack(
        "li.def3.1", "random finite classes, all signs enumerated", _offset_search, _offset, points=2500, seconds=0.5
    ),
    closed_form(
        "li.lem6.1",
        "diagonal Gaussian matrices, whose norm has an exact law",
        {"d": (1.0, 200.0), "t": (0.1, 6.0), "v": (0.1, 10.0)},
        lambda data, version: {"v": data["v"], "d1": data["d"], "d2": data["d"], "t": data["t"]},
        _series,
        _series_again,
        ["d"],
        variants=("tail",),
        points=1500,
        seconds=0.2,
    ),
    closed_form(
        "li.ass6.2",
        "Gaussian tokens, whose norm has an exact law",
        {"d": (1.0, 40.0), "t": (0.3, 4.0), "s": (0.01, 10.0)},
        _gaussian_inputs,
        lambda data: float(gammaincc(data["d"] / 2, data["t"] ** 2 / 2)),
        lambda data: chi_tail(data["d"], data["t"], 14.0),
        ["d"],
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
    closed_form(
        "li.rem6.12",
        "the trade-off M/n + M^(2-beta) at the recommended level",
        {"n": (10.0, 1e9), "beta": (2.2, 10.0)},
        lambda data, version: dict(data),
        _tradeoff,
        _tradeoff_again,
        ["n"],
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
