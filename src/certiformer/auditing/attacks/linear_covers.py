"""Covers of linear classes against volumes and packings; sparsification and allocation against exact optima."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from scipy.special import gammaln

from certiformer.auditing.attack import Attack, Candidate, Instance, Version
from certiformer.auditing.search import Search, best, family
from certiformer.auditing.verify import array, least_cover, log_volume_l1_ball, log_volume_l2_ball, multisets

Data = Mapping[str, Any]
Measure = tuple[float, Mapping[str, Any], float | None]


# --- volumes: a cover by balls of radius eps has at least vol(class)/vol(ball) elements -------------------------------


def _l1_entropy(dimension: int, radius: float, eps: float) -> float:
    """Lower bound on the log covering number of an l1 ball in the l2 metric: volume, or its 2D vertices."""
    half = dimension / 2
    volume = (
        dimension * math.log(2 * radius)
        - gammaln(dimension + 1)
        - half * math.log(math.pi)
        + gammaln(half + 1)
        - dimension * math.log(eps)
    )
    vertices = math.log(2 * dimension) if math.sqrt(2.0) * radius > 2 * eps else 0.0
    return float(max(volume, vertices, 0.0))


def _l1_entropy_again(dimension: int, radius: float, eps: float) -> float:
    vertices = math.log(2 * dimension) if 2 * radius**2 > 4 * eps**2 else 0.0
    return max(log_volume_l1_ball(dimension, radius) - log_volume_l2_ball(dimension, eps), vertices, 0.0)


def _entrywise(radius_name: str) -> tuple[Callable[[Data, Version], Measure], Callable[[Data, Version], Instance]]:
    """||W||_{1,1} <= B with one row: the maps x -> <w, x> on the l2 ball, an l1 ball in the l2 metric."""

    def inputs(data: Data) -> dict[str, Any]:
        return {radius_name: data["B"], "Bx": data["Bx"], "eps": data["eps"], "d": data["d"], "k": 1}

    def measure(data: Data, version: Version) -> Measure:
        return _l1_entropy(data["d"], data["B"] * data["Bx"], data["eps"]), inputs(data), None

    def instance(data: Data, version: Version) -> Instance:
        return Instance(_l1_entropy_again(data["d"], data["B"] * data["Bx"], data["eps"]), inputs(data))

    return measure, instance


def _columns_measure(data: Data, version: Version) -> Measure:
    """||W||_{1,inf} <= B on l1 inputs: d independent columns, each an l1 ball of R^k; the maximum of d metrics."""
    inputs = {"Bw": data["B"], "Bx": data["Bx"], "eps": data["eps"], "d": data["d"], "k": data["k"]}
    return data["d"] * _l1_entropy(data["k"], data["B"] * data["Bx"], data["eps"]), inputs, None


def _columns(data: Data, version: Version) -> Instance:
    attained = data["d"] * _l1_entropy_again(data["k"], data["B"] * data["Bx"], data["eps"])
    return Instance(attained, _columns_measure(data, version)[1])


def _one_column(points: bool) -> tuple[Callable[[Data, Version], Measure], Callable[[Data, Version], Instance]]:
    """W = w e_1^T, x = Bx e_1: an l2 ball of R^k, whose column norm ||W||_{2,1} is ||w||_2."""

    def inputs(data: Data, version: Version) -> dict[str, Any]:
        named = {"Bw": data["B"], "Bx": data["Bx"], "eps": data["eps"], "d": 2, "k": data["k"]}
        return named | ({"n": 1} if points else {}) | ({"columns": 1} if version == "sound" else {})

    def measure(data: Data, version: Version) -> Measure:
        entropy = data["k"] * math.log(data["B"] * data["Bx"] / data["eps"])
        return max(entropy, 0.0), inputs(data, version), None

    def instance(data: Data, version: Version) -> Instance:
        k, radius = data["k"], data["B"] * data["Bx"]
        entropy = log_volume_l2_ball(k, radius) - log_volume_l2_ball(k, data["eps"])
        return Instance(max(entropy, 0.0), inputs(data, version))

    return measure, instance


def _rank_one_measure(data: Data, version: Version) -> Measure:
    """The matrices e_1 a^T have rank one: an l2 ball of R^max(d, k)."""
    inputs = {"r": 1, "d": data["d"], "k": data["d"], "B": data["B"], "Bx": data["Bx"], "eps": data["eps"]}
    return max(data["d"] * math.log(data["B"] * data["Bx"] / data["eps"]), 0.0), inputs, None


def _rank_one(data: Data, version: Version) -> Instance:
    d, radius = data["d"], data["B"] * data["Bx"]
    entropy = log_volume_l2_ball(d, radius) - log_volume_l2_ball(d, data["eps"])
    return Instance(max(entropy, 0.0), _rank_one_measure(data, version)[1])


_SPACE: dict[str, Any] = {"B": (0.3, 3.0), "Bx": (0.3, 3.0), "eps": (1e-3, 1.0)}


# --- trauger.lem3.1: sparsification, all approximations enumerated ---------------------------------------------------


def _sparse_search(search: Search) -> list[Candidate]:
    counts = {(d, k): array(list(multisets(d, k))) for d in (1, 2, 3) for k in (1, 2, 3, 4)}

    def trials() -> Iterator[tuple[Candidate, float]]:
        rng = search.rng
        for _ in range(search.points):
            d, k, dim = int(rng.integers(1, 4)), int(rng.integers(1, 5)), int(rng.integers(1, 3))
            atoms = rng.normal(size=(d, dim))
            atoms /= np.maximum(np.linalg.norm(atoms, axis=1, keepdims=True), 1e-9)
            weights = rng.dirichlet(np.ones(d)) * rng.uniform(0.05, 1.0)
            target = weights @ atoms
            errors = np.sum((target - counts[d, k] @ atoms / k) ** 2, axis=1)
            value = float(errors.min())
            inputs = {"gamma": float(weights.sum()), "b": 1.0, "f": float(np.linalg.norm(target)), "k": k, "d": d}
            # Where both sides nearly vanish nothing can be told.
            score = search.score(value, inputs) if value > 1e-6 else -np.inf
            yield Candidate({"atoms": atoms, "weights": weights, "k": k}, value), score

    return best(search, trials())


def _sparse(data: Data, version: Version) -> Instance:
    atoms, weights, k = array(data["atoms"]), array(data["weights"]), int(data["k"])
    target = sum(w * v for w, v in zip(weights, atoms, strict=True))
    errors = []
    for chosen in multisets(len(atoms), k):
        guess = sum(c * v for c, v in zip(chosen, atoms, strict=True)) / k
        errors.append(float(np.sum((target - guess) ** 2)))
    radius = max(float(np.linalg.norm(v)) for v in atoms)
    norm = float(np.linalg.norm(target))
    inputs = {"gamma": float(np.sum(weights)), "b": radius, "f": norm, "k": k, "d": len(atoms)}
    return Instance(min(errors), inputs)


# --- trauger.lem3.2: covers on arbitrary inputs against covers on the scaled basis -----------------------------------


def _basis_search(search: Search) -> list[Candidate]:
    def trials() -> Iterator[tuple[Candidate, float]]:
        rng = search.rng
        for _ in range(search.points):
            rows = np.round(rng.normal(size=(4, 2)), 2)
            x = rng.dirichlet(np.ones(2), size=3) * rng.choice([-1.0, 1.0], size=(3, 2))
            eps = float(rng.uniform(0.2, 3.0))
            outputs = rows @ x.T
            near = np.max(np.abs(outputs[:, None] - outputs[None]), axis=-1) < eps
            value = math.log(_greedy_exact(near))
            inputs = {"W": rows.ravel().tolist(), "d": 2, "k": 1, "Bx": 1.0, "eps": eps}
            score = search.score(value, inputs)
            yield Candidate({"W": rows, "x": x, "eps": eps}, value), score

    return best(search, trials())


def _greedy_exact(near: Any) -> int:
    size = len(near)
    codes = [int(sum(1 << j for j in range(size) if row[j])) for row in near]
    return min(bin(subset).count("1") for subset in range(1, 1 << size) if _union(codes, subset) == (1 << size) - 1)


def _union(codes: list[int], subset: int) -> int:
    covered = 0
    for j, code in enumerate(codes):
        if subset >> j & 1:
            covered |= code
    return covered


def _basis(data: Data, version: Version) -> Instance:
    rows, x = array(data["W"]), array(data["x"])
    distances = [[max(abs(float((a - b) @ point)) for point in x) for b in rows] for a in rows]
    radius = max(float(np.sum(np.abs(point))) for point in x)
    inputs = {"W": rows.ravel().tolist(), "d": 2, "k": 1, "Bx": radius, "eps": data["eps"]}
    return Instance(math.log(least_cover(distances, float(data["eps"]))), inputs)


# --- trauger.appA: errors of rows add up to the error of the matrix --------------------------------------------------


def _rows_search(search: Search) -> list[Candidate]:
    def trials() -> Iterator[tuple[Candidate, float]]:
        rng = search.rng
        for _ in range(search.points):
            k, q = int(rng.integers(1, 6)), float(rng.uniform(1.0, 4.0))
            errors = rng.uniform(0.01, 1.0, size=k) ** 0.2 * rng.choice([-1.0, 1.0], size=k)
            value = float(np.sum(np.abs(errors) ** q) ** (1 / q))
            inputs = {"k": k, "q": q, "eps": float(np.max(np.abs(errors))), "C": 1.0}
            yield Candidate({"errors": errors, "q": q}, value), search.score(value, inputs)

    return best(search, trials())


def _rows(data: Data, version: Version) -> Instance:
    errors, q = [abs(float(e)) for e in data["errors"]], float(data["q"])
    largest = max(errors)
    value = largest * math.fsum((e / largest) ** q for e in errors) ** (1 / q)
    return Instance(value, {"k": len(errors), "q": q, "eps": largest, "C": 1.0})


# --- allocation of a covering budget ----------------------------------------------------------------------------------


def _allocation_search(measure: Callable[[Data], float], inputs: Callable[[Data], dict[str, Any]]) -> Any:
    def run(search: Search) -> list[Candidate]:
        def trials() -> Iterator[tuple[Candidate, float]]:
            rng = search.rng
            for _ in range(search.points):
                count = int(rng.integers(1, 5))
                data = {
                    "C": np.exp(rng.normal(size=count)).tolist(),
                    "beta": np.exp(rng.normal(size=count)).tolist(),
                    "r": [int(v) for v in rng.integers(1, 4, size=count)],
                    "eps": float(np.exp(rng.uniform(-4, -1))),
                }
                value = measure(data)
                yield Candidate(data, value), search.score(value, inputs(data))

        return best(search, trials())

    return run


def _squares_inputs(data: Data) -> dict[str, Any]:
    return {"C": data["C"], "beta": data["beta"], "eps": data["eps"]}


def _squares_minimum(data: Data) -> float:
    """min sum C_i/e_i^2 over sum beta_i e_i = eps: stationarity gives e_i = (2 C_i/(mu beta_i))^(1/3), then mu."""
    C, beta, eps = array(data["C"]), array(data["beta"]), float(data["eps"])
    shape = np.cbrt(2 * C / beta)
    return float(np.sum(C / (shape * eps / np.sum(beta * shape)) ** 2))


def _squares(data: Data, version: Version) -> Instance:
    """The dual: max over mu of sum_i min_e (C_i/e^2 + mu beta_i e) - mu eps, a concave function of ln mu's argument."""
    C, beta, eps = array(data["C"]), array(data["beta"]), float(data["eps"])

    def dual(log_mu: float) -> float:
        mu = math.exp(log_mu)
        e = np.cbrt(2 * C / (mu * beta))
        return float(np.sum(C / e**2 + mu * beta * e) - mu * eps)

    return Instance(_maximum(dual, -70.0, 70.0), _squares_inputs(data))


def _logs_inputs(data: Data) -> dict[str, Any]:
    return {"r": data["r"], "C": data["C"], "beta": data["beta"], "BX": 1000.0, "eps": data["eps"]}


def _logs_minimum(data: Data) -> float:
    """min sum r_i C_i log(r_i BX^2/e_i^2) over sum beta_i e_i = eps, by a multiplier: beta_i e_i goes like r_i C_i."""
    weight = array(data["r"]) * array(data["C"])
    e = data["eps"] * weight / (array(data["beta"]) * weight.sum())
    return float(np.sum(weight * np.log(array(data["r"]) * 1e6 / e**2)))


def _logs(data: Data, version: Version) -> Instance:
    r, C, beta, eps = array(data["r"]), array(data["C"]), array(data["beta"]), float(data["eps"])
    weight = r * C

    def dual(log_mu: float) -> float:
        mu = math.exp(log_mu)
        e = 2 * weight / (mu * beta)
        return float(np.sum(weight * np.log(r * 1e6 / e**2) + mu * beta * e) - mu * eps)

    return Instance(_maximum(dual, -40.0, 40.0), _logs_inputs(data))


def _maximum(function: Callable[[float], float], low: float, high: float) -> float:
    """Golden section on a unimodal function."""
    step = (math.sqrt(5.0) - 1) / 2
    for _ in range(200):
        a, b = high - step * (high - low), low + step * (high - low)
        low, high = (a, high) if function(a) < function(b) else (low, b)
    return function((low + high) / 2)


def _volume(id: str, pair: Any, space: Mapping[str, Any], what: str, **more: Any) -> Attack:
    measure, instance = pair
    whole = [name for name in ("d", "k") if name in space]
    return Attack(id, what, family({**_SPACE, **space}, measure, whole), instance, points=2500, seconds=0.4, **more)


ATTACKS = [
    Attack(
        "trauger.lem3.1",
        "random combinations of at most three atoms, every sparse approximation enumerated",
        _sparse_search,
        _sparse,
        points=2500,
        seconds=0.4,
    ),
    Attack(
        "trauger.lem3.2",
        "random finite classes and inputs, covering numbers by trying all subsets",
        _basis_search,
        _basis,
        points=1500,
        seconds=0.8,
    ),
    _volume("trauger.lem3.3", (_columns_measure, _columns), {"d": (1, 40), "k": (1, 200)}, "volume of the class"),
    _volume(
        "trauger.lem3.4",
        _one_column(False),
        {"k": (1, 20_000)},
        "matrices with one column: volume of an l2 ball",
        allowance=10.0,
    ),
    _volume(
        "trauger.lem3.5",
        _one_column(True),
        {"k": (1, 20_000)},
        "matrices with one column: volume of an l2 ball",
        allowance=10.0,
    ),
    _volume("trauger.lem3.6", _entrywise("Bw"), {"d": (1, 2000)}, "volume and vertices of an l1 ball"),
    _volume("li.lemB.3", _entrywise("B"), {"d": (1, 2000)}, "volume and vertices of an l1 ball"),
    _volume("li.lem5.2", _entrywise("B"), {"d": (1, 2000)}, "volume and vertices of an l1 ball"),
    _volume("li.lemB.6", (_rank_one_measure, _rank_one), {"d": (2, 500)}, "rank-one matrices with one row"),
    _volume(
        "li.ass5.7",
        (_rank_one_measure, _rank_one),
        {"d": (2, 5000)},
        "rank-one matrices with one row",
        allowance=100.0,
    ),
    Attack("trauger.appA", "random errors of rows", _rows_search, _rows, variants=("scale",), points=2000, seconds=0.3),
    Attack(
        "trauger.lemE.1",
        "the minimum by bisection and by its dual",
        _allocation_search(_squares_minimum, _squares_inputs),
        _squares,
        variants=("value",),
        sense="equal",
        points=1200,
        seconds=0.8,
    ),
    Attack(
        "li.cor5.6",
        "the minimum by its multiplier and by its dual",
        _allocation_search(_logs_minimum, _logs_inputs),
        _logs,
        variants=("value",),
        sense="equal",
        points=1500,
        seconds=0.3,
    ),
]
REASONS: dict[str, str] = {}
