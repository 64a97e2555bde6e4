"""Excess risk of exact empirical risk minimisers: three constants under a coin, and regression on a basis."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import bdtr, gammaln

from certiformer.auditing.attack import Attack, Candidate, Data, Instance, Version
from certiformer.auditing.plain_numpy import binomial_tail
from certiformer.auditing.search import Search, closed_form, family

_HEAD = {"Bc": 1.0, "Bv": 1.0, "L_sigma": 1.0}


# --- three constants {-t, 0, t}, labels +-s, squared loss: well specified, bounded, kappa = 2(s + t) ------------------


def _coin_excess(data: Data) -> float:
    """t^2 P(|mean| > t/2)."""
    n = data["n"]
    limit = math.ceil((n - n * data["t"] / (2 * data["s"])) / 2) - 1
    return float(data["t"] ** 2 * min(1.0, 2 * bdtr(limit, n, 0.5))) if limit >= 0 else 0.0


def _coin_excess_again(data: Data) -> float:
    n, s, t = data["n"], data["s"], data["t"]
    # the largest number of heads whose mean is below -t/2
    heads = next(k for k in range(n // 2, -2, -1) if k < 0 or s * (2 * k - n) / n < -t / 2)
    return float(t**2 * min(1.0, 2 * binomial_tail(n, 0.5, heads)))


def _coin_offset(data: Data, scale: float) -> float:
    """Offset complexity of {0, t^2} at 1/scale: E max(0, t^2 S/n - t^4/scale)."""
    n, height = data["n"], data["t"] ** 2
    k = np.arange(n // 2, n + 1)
    logs = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) - n * math.log(2.0)
    return float(np.sum(np.exp(logs) * np.maximum(0.0, height * (2 * k - n) / n - height**2 / scale)))


def _coin_inputs(id: str, data: Data, version: Version) -> dict[str, Any]:
    n, s, t = data["n"], data["s"], data["t"]
    kappa = 2 * (s + t)
    scale = 4 * kappa * t
    size = {"Bw": t, **_HEAD, "BX": 1.0, "Bx": 1.0}
    heads = {"H": 1} if id in ("li.thm4.7", "li.cor4.8") else {}
    if id in ("li.thm4.4", "li.thm4.7", "li.thm4.11"):
        inputs = {**size, **heads, "kappa": kappa, "B": t, "Roff": max(_coin_offset(data, scale), 1e-300)}
        inputs |= (
            {"n": n, "logN": math.log(3.0), "sigma": s, "squared_loss": 1, "well_specified": 1}
            if version == "sound"
            else {}
        )
        if id == "li.thm4.11":
            inputs = {name: value for name, value in inputs.items() if name not in (*_HEAD, "BX", "Bx")}
        return inputs
    flags = {"honest_kappa": 1, "bernstein": 1, "squared_loss": 1, "well_specified": 1}
    cover = {"n": n, "logN": math.log(3.0), "radius": 1e-12 * t, "kappa": kappa, **flags}
    spread = t**2 + 4 * s**2
    if id == "li.cor4.5":
        return {**cover, "M_SH": scale, "V": spread, "M": (s + t) ** 2, "b_h": t**2, "sigma": s}
    if id == "li.cor4.13":
        return {**cover, "Bw": t, "B": t, "sigma": s, "V": spread}
    return {**cover, **size, **heads, "B": t, "sigma": s, "V": spread}


def _coin(id: str) -> Attack:
    return closed_form(
        id,
        "three constant predictors and labels +-s: the excess risk of the exact minimiser in closed form",
        {"n": (2.0, 20_000.0), "s": (1.0, 100.0), "t": (0.001, 1.0)},
        lambda data, version: _coin_inputs(id, data, version),
        _coin_excess,
        _coin_excess_again,
        ["n"],
        points=1500,
        seconds=0.6,
    )


# --- regression on a basis: x = e_J uniform, labels +-1, target 0; the minimiser is the vector of means ---------------

_NORM: dict[str, Any] = {"k": 1, "Bw": 1.0, **_HEAD, "BQK": 1.0, "kappa": 4.0, "sigma": 1.0}
_RANKS = {"rw": 1, "rc": 1, "rv": 1, "rqk": 1}
_UNIT = {"Bx": 1.0, "BX": 1.0}
_GAUSSIAN = ("li.thm6.4", "li.thm6.5", "li.thm6.6")
_HEAVY = ("li.thm6.9", "li.thm6.10", "li.thm6.11")
_BY_NORM = ("li.thmB.1", "li.thmB.2", "li.thm5.3", *_GAUSSIAN)
_MORE: dict[str, dict[str, Any]] = {
    "li.thmB.2": {"H": 1},
    "li.thm6.5": {"H": 1},
    "li.thmB.5": {"H": 1},
    "li.thm6.10": {"H": 1},
    "li.thm5.3": {"layers": 1},
    "li.thm6.6": {"layers": 1},
    "li.thm5.8": {"layers": 1},
    "li.thm6.11": {"layers": 1},
}


def _size(id: str, data: Data) -> int:
    """Enough examples that the norm constraint is idle: n = c d^3 in the l1 ball, c d^2 in the l2 ball."""
    power = 3 if id in _BY_NORM else 2
    return math.ceil(float(data["c"]) * float(data["d"]) ** power)


def _basis_inputs(id: str, data: Data, version: Version) -> dict[str, Any]:
    inputs = {**_NORM, **_MORE.get(id, {}), "d": data["d"], "n": _size(id, data), "radius": data["radius"], "B": 1e-9}
    if id not in _BY_NORM:
        inputs |= _RANKS
    if id in _GAUSSIAN:
        inputs |= {"M": data["M"], "T": 1, "nu": 1.0}
    elif id in _HEAVY:
        inputs |= {"M": data["M"], "C": 1.0, "beta": 100.0}
    else:
        inputs |= _UNIT
    if version == "sound":
        inputs |= {"squared_loss": 1, "well_specified": 1}
        if id in _GAUSSIAN + _HEAVY:
            # Clipping at one changes nothing here, as every predictor of the class lies below it.
            inputs |= {"B": 1.0} | ({} if "layers" in inputs else {"clipped": 1})
        if id in _GAUSSIAN:
            # b(X) = 1, so P(b(X) > t) = 1{t < 1} <= (1 + d) exp(-t^2/2), as (1 + d) exp(-1/2) > 1.
            inputs |= {"a": 1.0 + data["d"], "v": 1.0}
    return inputs


def _basis_runs(id: str, data: Data, runs: int, rng: np.random.Generator) -> np.ndarray:
    """Excess risks, exact in law: (1/d) sum_j (mean of n_j signs)^2; zero where the constraint is not idle."""
    d, n = data["d"], _size(id, data)
    power = 1 if id in _BY_NORM else 2
    found = np.zeros(runs)
    for run in range(runs):
        counts = rng.multinomial(n, np.full(d, 1 / d))
        if np.all(counts > 0):
            means = (2.0 * rng.binomial(counts, 0.5) - counts) / counts
            if np.sum(np.abs(means) ** power) <= 1:
                found[run] = np.mean(means**2)
    return found


def _lower(values: np.ndarray) -> float:
    """Mean less four standard errors."""
    return max(0.0, float(np.mean(values) - 4 * np.std(values, ddof=1) / math.sqrt(len(values))))


def _basis(id: str) -> list[Attack]:
    def measure(data: Data, version: Version) -> Instance:
        return Instance(data["d"] / _size(id, data), _basis_inputs(id, data, version))

    def simulate(search: Search) -> list[Candidate]:
        found = []
        for _ in range(2):
            data: dict[str, Any] = {"d": int(search.rng.integers(1, 8)), "c": float(search.rng.uniform(4, 40))}
            data |= {"radius": 1.0 / _size(id, data), "runs": search.points // 2}
            data |= {"M": 12.0} if id in _GAUSSIAN else {"M": 1.5} if id in _HEAVY else {}
            values = _basis_runs(id, data, data["runs"], search.rng)
            search.spent += len(values)
            found.append(Candidate(data, _lower(values)))
        return found

    def instance(data: Data, version: Version) -> Instance:
        runs = int(data.get("runs", max(4, math.ceil(40_000 / data["d"]))))
        values = _basis_runs(id, data, runs, np.random.default_rng(1))
        return Instance(_lower(values), _basis_inputs(id, data, version))

    space: dict[str, Any] = {"d": (2.0, 1e5), "c": (4.0, 100.0), "radius": (1e-17, 1e-2)}
    if id in _GAUSSIAN:
        space["M"] = (11.0, 20.0)
    elif id in _HEAVY:
        space["M"] = (1.5, 3.0)
    what = "least squares on a basis, exact in law"
    return [
        Attack(
            id,
            what,
            family(space, measure, ["d"], climb=0.6),
            instance,
            versions=("printed",),
            variants=("value",),
            allowance=1.0 if id in _BY_NORM else 10.0,
            agreement=0.1,
            points=2500,
            seconds=0.6,
            label="basis",
        ),
        Attack(
            id,
            what,
            simulate,
            instance,
            versions=("sound",),
            agreement=0.3,
            points=2000,
            seconds=1.5 if id in ("li.thmB.1", "li.thmB.2", "li.thm5.3", *_GAUSSIAN) else 0.6,
            label="runs",
        ),
    ]


ATTACKS = [
    *(_coin(id) for id in ("li.thm4.4", "li.thm4.7", "li.thm4.11", "li.cor4.5", "li.cor4.8", "li.cor4.13")),
    *(attack for id in (*_BY_NORM, "li.thmB.4", "li.thmB.5", "li.thm5.8", *_HEAVY) for attack in _basis(id)),
]
