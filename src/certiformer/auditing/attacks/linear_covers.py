"""Covers of linear classes against volumes and packings; sparsification and allocation against exact optima."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.special import gammaln

from certiformer.auditing.attack import Attack, Data, Instance, Version
from certiformer.auditing.plain_numpy import array, least_cover, log_volume_l1_ball, log_volume_l2_ball, multisets
from certiformer.auditing.search import Search, closed_form, sample

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


_SPACE: dict[str, Any] = {"B": (0.3, 3.0), "Bx": (0.3, 3.0), "eps": (1e-3, 1.0)}


def _volume(id: str, what: str, space: Mapping[str, Any], inputs: Any, quick: Any, again: Any, **more: Any) -> Attack:
    whole = [name for name in ("d", "k") if name in space]
    return closed_form(id, what, {**_SPACE, **space}, inputs, quick, again, whole, points=2500, seconds=0.4, **more)


def _radii(data: Data) -> dict[str, Any]:
    return {"Bx": data["Bx"], "eps": data["eps"]}


def _entrywise(id: str, name: str) -> Attack:
    """||W||_{1,1} <= B with one row: the maps x -> <w, x> on the l2 ball, an l1 ball in the l2 metric."""
    return _volume(
        id,
        "volume and vertices of an l1 ball",
        {"d": (1, 2000)},
        lambda data, version: {name: data["B"], **_radii(data), "d": data["d"], "k": 1},
        lambda data: _l1_entropy(data["d"], data["B"] * data["Bx"], data["eps"]),
        lambda data: _l1_entropy_again(data["d"], data["B"] * data["Bx"], data["eps"]),
    )


def _columns(id: str) -> Attack:
    """||W||_{1,inf} <= B on l1 inputs: d independent columns, each an l1 ball of R^k; the maximum of d metrics."""
    return _volume(
        id,
        "volume of the class",
        {"d": (1, 40), "k": (1, 200)},
        lambda data, version: {"Bw": data["B"], **_radii(data), "d": data["d"], "k": data["k"]},
        lambda data: data["d"] * _l1_entropy(data["k"], data["B"] * data["Bx"], data["eps"]),
        lambda data: data["d"] * _l1_entropy_again(data["k"], data["B"] * data["Bx"], data["eps"]),
    )


def _l2_ball(id: str, what: str, name: str, most: int, inputs: Any, **more: Any) -> Attack:
    """A class that contains an l2 ball of R^data[name]."""

    def again(data: Data) -> float:
        volume = log_volume_l2_ball(data[name], data["B"] * data["Bx"])
        return max(volume - log_volume_l2_ball(data[name], data["eps"]), 0.0)

    def quick(data: Data) -> float:
        return float(max(data[name] * math.log(data["B"] * data["Bx"] / data["eps"]), 0.0))

    return _volume(id, what, {name: (1 if name == "k" else 2, most)}, inputs, quick, again, **more)


def _one_column(id: str, fixed: Mapping[str, Any]) -> Attack:
    """W = w e_1^T, x = Bx e_1: an l2 ball of R^k, whose column norm ||W||_{2,1} is ||w||_2."""

    def inputs(data: Data, version: Version) -> dict[str, Any]:
        named = {"Bw": data["B"], **_radii(data), "d": 2, "k": data["k"], **fixed}
        return named | ({"columns": 1} if version == "sound" else {})

    return _l2_ball(id, "matrices with one column: volume of an l2 ball", "k", 20_000, inputs, allowance=10.0)


def _rank_one(id: str, most: int, **more: Any) -> Attack:
    """The matrices e_1 a^T have rank one: an l2 ball of R^max(d, k)."""

    def inputs(data: Data, version: Version) -> dict[str, Any]:
        return {"r": 1, "d": data["d"], "k": data["d"], "B": data["B"], **_radii(data)}

    return _l2_ball(id, "rank-one matrices with one row", "d", most, inputs, **more)


# --- trauger.lem3.1: sparsification, all approximations enumerated ---------------------------------------------------


_COUNTS = {(d, k): array(list(multisets(d, k))) for d in (1, 2, 3) for k in (1, 2, 3, 4)}


@sample
def _sparse_search(search: Search) -> tuple[Data, float, float]:
    rng = search.rng
    d, k, dim = int(rng.integers(1, 4)), int(rng.integers(1, 5)), int(rng.integers(1, 3))
    atoms = rng.normal(size=(d, dim))
    atoms /= np.maximum(np.linalg.norm(atoms, axis=1, keepdims=True), 1e-9)
    weights = rng.dirichlet(np.ones(d)) * rng.uniform(0.05, 1.0)
    target = weights @ atoms
    errors = np.sum((target - _COUNTS[d, k] @ atoms / k) ** 2, axis=1)
    value = float(errors.min())
    inputs = {"gamma": float(weights.sum()), "b": 1.0, "f": float(np.linalg.norm(target)), "k": k, "d": d}
    # Where both sides nearly vanish nothing can be told.
    score = search.score(value, inputs) if value > 1e-6 else -np.inf
    return {"atoms": atoms, "weights": weights, "k": k}, value, score


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


@sample
def _basis_search(search: Search) -> tuple[Data, float, float]:
    rng = search.rng
    rows = np.round(rng.normal(size=(4, 2)), 2)
    x = rng.dirichlet(np.ones(2), size=3) * rng.choice([-1.0, 1.0], size=(3, 2))
    eps = float(rng.uniform(0.2, 3.0))
    outputs = rows @ x.T
    near = np.max(np.abs(outputs[:, None] - outputs[None]), axis=-1) < eps
    value = math.log(_greedy_exact(near))
    inputs = {"W": rows.ravel().tolist(), "d": 2, "k": 1, "Bx": 1.0, "eps": eps}
    return {"W": rows, "x": x, "eps": eps}, value, search.score(value, inputs)


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


@sample
def _rows_search(search: Search) -> tuple[Data, float, float]:
    rng = search.rng
    k, q = int(rng.integers(1, 6)), float(rng.uniform(1.0, 4.0))
    errors = rng.uniform(0.01, 1.0, size=k) ** 0.2 * rng.choice([-1.0, 1.0], size=k)
    value = float(np.sum(np.abs(errors) ** q) ** (1 / q))
    inputs = {"k": k, "q": q, "eps": float(np.max(np.abs(errors))), "C": 1.0}
    return {"errors": errors, "q": q}, value, search.score(value, inputs)


def _rows(data: Data, version: Version) -> Instance:
    errors, q = [abs(float(e)) for e in data["errors"]], float(data["q"])
    largest = max(errors)
    value = largest * math.fsum((e / largest) ** q for e in errors) ** (1 / q)
    return Instance(value, {"k": len(errors), "q": q, "eps": largest, "C": 1.0})


# --- allocation of a covering budget ----------------------------------------------------------------------------------


def _allocation_search(measure: Callable[[Data], float], inputs: Callable[[Data], dict[str, Any]]) -> Any:
    def draw(search: Search) -> tuple[Data, float, float]:
        rng = search.rng
        count = int(rng.integers(1, 5))
        data = {
            "C": np.exp(rng.normal(size=count)).tolist(),
            "beta": np.exp(rng.normal(size=count)).tolist(),
            "r": [int(v) for v in rng.integers(1, 4, size=count)],
            "eps": float(np.exp(rng.uniform(-4, -1))),
        }
        value = measure(data)
        return data, value, search.score(value, inputs(data))

    return sample(draw)


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
    _columns("trauger.lem3.3"),
    _one_column("trauger.lem3.4", {}),
    _one_column("trauger.lem3.5", {"n": 1}),
    _entrywise("trauger.lem3.6", "Bw"),
    _entrywise("li.lemB.3", "B"),
    _entrywise("li.lem5.2", "B"),
    _rank_one("li.lemB.6", 500),
    _rank_one("li.ass5.7", 5000, allowance=100.0),
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
