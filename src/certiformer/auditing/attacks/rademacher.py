"""Rademacher complexity, exactly: tiny classes with all signs enumerated, and families with a closed form."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import gammaln

from certiformer.auditing.attack import Attack, Candidate, Data, Instance, Version
from certiformer.auditing.plain_numpy import array, binomial_tail, mean_absolute_walk, rademacher, signs
from certiformer.auditing.search import Array, Search, ascend, closed_form, sample
from certiformer.theory.core.errors import InputError

_N = 8
_EIGHT, _FIVE = signs(_N), signs(5)
_TINY = 1e-9


def _walk(n: int) -> float:
    """E|S_n| by the gamma function, for any size."""
    if n > 10**6:
        return math.sqrt(2 * n / math.pi)
    half = (n + n % 2) / 2
    return float(2 * half * math.exp(gammaln(2 * half + 1) - 2 * gammaln(half + 1) - 2 * half * math.log(2)))


# --- Trauger, single layer: one token, so that attention is the identity ----------------------------------------------

_COMMON: dict[str, Any] = {"Bw": 1.0, "Bc": 1.0, "L_sigma": 1.0, "Bx": 1.0}
_QUERY = {"trauger.thm4.1": "C"}


def _transposed_inputs(id: str, data: Data, version: Version) -> dict[str, Any]:
    # W_v = (+-1, ..., +-1)^T: its transpose has columns of l1 norm 1; its own column has l1 norm d.
    value = 1.0 if version == "printed" else float(data["d"])
    return {**_COMMON, "Bv": value, _QUERY.get(id, "BQK"): _TINY, "n": data["n"], "d": data["d"]}


def _transposed(id: str) -> Attack:
    """{x -> <v, x> : |v_j| <= 1} on tokens (+-1, ..., +-1)/sqrt(d): sqrt(d) E|S_n|/n."""
    return closed_form(
        id,
        "one token, value weights in a cube, which the transposed norm takes for small",
        {"d": (1.0, 1e7), "n": (16.0, 100.0)},
        lambda data, version: _transposed_inputs(id, data, version),
        lambda data: math.sqrt(data["d"]) * _walk(data["n"]) / data["n"],
        lambda data: math.sqrt(data["d"]) * mean_absolute_walk(data["n"]) / data["n"],
        ["d", "n"],
        versions=("printed",),
        variants=("value",),
        allowance=24.0,
        points=2000,
        seconds=0.3,
        label="transposed",
    )


@sample
def _linear_search(search: Search) -> tuple[Data, float, float]:
    """Samples of one token each: E max_j |sum_i eps_i x_ij|/n, all signs enumerated."""
    rng = search.rng
    x = rng.choice([-1.0, 0.0, 1.0], size=(_N, 2)) * rng.uniform(0.0, 1.0, size=(_N, 2)) ** 0.2
    x /= np.maximum(1.0, np.linalg.norm(x, axis=1, keepdims=True))
    value = float(np.mean(np.max(np.abs(_EIGHT[: 2 ** (_N - 1)] @ x), axis=1)) / _N)
    return {"x": x}, value, value


def _tiny_linear(id: str, seconds: float) -> Attack:
    def instance(data: Data, version: Version) -> Instance:
        x = array(data["x"])
        atoms = np.concatenate([x.T, -x.T])
        inputs = {**_COMMON, "Bv": 1.0, _QUERY.get(id, "BQK"): _TINY, "n": len(x), "d": x.shape[1], "odd": 1}
        return Instance(rademacher(atoms), inputs)

    return Attack(
        id,
        "one token, linear readout in an l1 ball, eight examples, all signs enumerated",
        _linear_search,
        instance,
        versions=("sound",),
        points=2000,
        seconds=seconds,
        label="enumeration",
    )


def _attended_search(search: Search) -> list[Candidate]:
    """Gradient ascent over score weights, one run per sign vector: a lower bound on the supremum in each."""
    import jax
    import jax.numpy as jnp

    n, rng = 4, search.rng
    tokens = rng.normal(size=(n, 2, 2))
    tokens /= np.linalg.norm(tokens, axis=-1, keepdims=True)
    pattern = signs(n)[: 2 ** (n - 1)]
    copies = 8
    order = iter(np.repeat(np.arange(len(pattern)), copies))
    x = jnp.asarray(tokens)

    def objective(point: dict[str, Any]) -> Any:
        w = point["W"] * jnp.minimum(1.0, 10.0 / jnp.maximum(jnp.sum(jnp.abs(point["W"])), 1e-9))
        p = jax.nn.softmax(jnp.einsum("ntd,ed,ne->nt", x, w, x[:, 0]), axis=-1)
        total = jnp.einsum("n,nt,ntd->d", jax.lax.stop_gradient(point["eps"]), p, x) / n
        return jnp.max(jnp.abs(total))

    def draw(chance: np.random.Generator) -> dict[str, Array]:
        return {"W": chance.normal(size=(2, 2)) * 3, "eps": pattern[next(order)]}

    restarts = len(pattern) * copies
    points = ascend(objective, draw, search, restarts=restarts, rate=0.2, keep=restarts)
    weights = np.zeros((len(pattern), 2, 2))
    values = np.full(len(pattern), -np.inf)
    for point in points:
        index = int(np.flatnonzero((pattern == point["eps"]).all(axis=1))[0])
        value = _attended_value(tokens, point["W"], point["eps"])
        if value > values[index]:
            values[index], weights[index] = value, point["W"]
    found = values > -np.inf
    values[~found] = 0.0
    return [Candidate({"tokens": tokens, "eps": pattern, "W": weights}, float(np.mean(values)))]


def _attended_value(tokens: Array, weight: Array, eps: Array) -> float:
    w = weight * min(1.0, 10.0 / max(float(np.abs(weight).sum()), 1e-9))
    total = np.zeros(tokens.shape[-1])
    for x, sign in zip(tokens, eps, strict=True):
        scores = x @ (w.T @ x[0])
        p = np.exp(scores - scores.max())
        total += sign * (p / p.sum()) @ x
    return float(np.max(np.abs(total)) / len(eps))


def _attended(data: Data, version: Version) -> Instance:
    tokens = array(data["tokens"])
    values = [_attended_value(tokens, array(w), array(e)) for w, e in zip(data["W"], data["eps"], strict=True)]
    inputs = {**_COMMON, "Bv": 1.0, "BQK": 10.0, "n": len(tokens), "d": tokens.shape[-1]}
    inputs["Bx"] = float(np.max(np.linalg.norm(tokens, axis=-1)))
    return Instance(float(np.mean(values)), inputs | ({"odd": 1} if version == "sound" else {}))


# --- trauger.sec4.2: heads that share a readout -----------------------------------------------------------------------


@sample
def _heads_search(search: Search) -> tuple[Data, float, float]:
    rng = search.rng
    heads = rng.normal(size=(int(rng.integers(2, 4)), 3, 5))
    tops = np.stack([_FIVE @ head.T for head in heads])
    joint = np.maximum(tops.max(axis=2).sum(axis=0), (-tops).max(axis=2).sum(axis=0)).mean() / 5
    single = np.abs(tops).max(axis=2).mean(axis=1) / 5
    return {"heads": heads}, float(joint), float(joint / single.sum())


def _heads(data: Data, version: Version) -> Instance:
    heads = [array(head) for head in data["heads"]]
    n = heads[0].shape[1]
    joint = 0.0
    for eps in signs(n):
        joint += max(sum(max(float(w * row @ eps) for row in head) for head in heads) for w in (-1.0, 1.0))
    rads = [rademacher(np.concatenate([head, -head])) for head in heads]
    inputs: dict[str, Any] = {"H": len(heads), "rad": max(rads)}
    return Instance(joint / 2**n / n, inputs | ({"rads": rads} if version == "sound" else {}))


# --- trauger.thm5.1: cross-entropy of vector-valued classes ----------------------------------------------------------


@sample
def _vector_search(search: Search) -> tuple[Data, float, float]:
    rng = search.rng
    K = int(rng.integers(2, 5))
    logits = rng.normal(size=(4, 5, K)) * np.exp(rng.uniform(-2, 1))
    labels = rng.integers(K, size=5)
    top = logits.max(axis=-1, keepdims=True)
    norm = np.log(np.exp(logits - top).sum(axis=-1)) + top[..., 0]
    losses = norm - logits[:, np.arange(5), labels]
    value = float((_FIVE @ losses.T).max(axis=1).mean() / 5)
    coordinate = max(float((_FIVE @ logits[:, :, s].T).max(axis=1).mean() / 5) for s in range(K))
    return {"logits": logits, "labels": labels}, value, search.score(value, {"K": K, "rad": coordinate})


def _vector(data: Data, version: Version) -> Instance:
    logits, labels = array(data["logits"]), [int(v) for v in data["labels"]]
    losses = [
        [math.log(math.fsum(math.exp(v) for v in row)) - row[label] for row, label in zip(f, labels, strict=True)]
        for f in logits
    ]
    K = logits.shape[-1]
    rad = max(rademacher(logits[:, :, s]) for s in range(K))
    return Instance(rademacher(losses), {"K": K, "rad": rad})


# --- chaining: random finite classes, exact complexity, exact distances ----------------------------------------------


def _entropy_constant(values: Any) -> float:
    """Least C (for greedy proper covers) with log N(eps) <= C/eps^2 for every eps up to 1."""
    table = array(values)
    distances = np.max(np.abs(table[:, None] - table[None]), axis=-1)
    constant = 0.0
    for scale in sorted({min(1.0, float(v)) for v in distances.ravel() if v > 0}):
        near = distances < scale  # just below this distance
        uncovered, size = np.ones(len(table), dtype=bool), 0
        while uncovered.any():
            row = int(np.argmax((near & uncovered).sum(axis=1)))
            uncovered &= ~near[row]
            size += 1
        constant = max(constant, scale**2 * math.log(size))
    return constant


_LEVELS = (0.2, 0.7, 2.0)


@sample
def _chain_search(search: Search) -> tuple[Data, float, float]:
    rng, level = search.rng, None
    while level is None:
        size = int(rng.integers(1, 5))
        half = rng.choice([-1.0, 0.0, 1.0], p=[0.45, 0.1, 0.45], size=(size, _N)) * np.exp(rng.uniform(-2.0, 0.0))
        table = np.concatenate([half, -half])
        level = next((v for v in _LEVELS if _entropy_constant(table) <= v), None)
    value = float(np.mean(np.max(np.abs(_EIGHT[: 2 ** (_N - 1)] @ half.T), axis=1)) / _N)
    score = search.score(value, _chain_inputs(search.attack.id, level))
    return {"table": table, "level": level}, value, score


def _chain_inputs(id: str, level: float) -> dict[str, Any]:
    names = ("P", "A") if id == "mwigo.dudley" else ("C", "D")
    more = {"proper": 1} if id == "dudley" else {}
    return {names[0]: level, names[1]: 1.0, "n": _N, **more}


def _chain(id: str) -> Attack:
    def instance(data: Data, version: Version) -> Instance:
        table = array(data["table"])
        # The level must dominate the class's own constant, and the range be at most one.
        level = max(float(data["level"]), _entropy_constant(table))
        if np.max(np.abs(table)) > 1.0:
            raise InputError("table", float(np.max(np.abs(table))), "functions with values in [-1, 1]")
        return Instance(rademacher(table), _chain_inputs(id, level))

    return Attack(
        id,
        "random finite classes on eight examples, all signs enumerated, greedy proper covers",
        _chain_search,
        instance,
        allowance=12.0,
        regardless=True,
        points=2500,
        seconds=1.2,
    )


# --- from complexity to gap: one function, a coin --------------------------------------------------------------------


def _gap_inputs(id: str, data: Data) -> dict[str, Any]:
    inputs = {"rad": _TINY, "c": 1.0, "delta": data["delta"], "n": data["n"], "every_sample": 1}
    return inputs | ({"rho": 1.0} if id == "mwigo.rad2gap" else {})


def _gap(id: str) -> Attack:
    """Loss Bernoulli(p): the gap p - K/n exceeds every valid bound with probability at most delta."""

    def quick(data: Data) -> float:
        n, p = data["n"], data["p"]
        cumulative, term, k = 0.0, (1 - p) ** n, 0
        while cumulative + term <= data["delta"] and k < n:
            cumulative += term
            term *= (n - k) / (k + 1) * p / (1 - p)
            k += 1
        return float(max(p - k / n, 0.0))

    def again(data: Data) -> float:
        n, p = data["n"], data["p"]
        k = next(k for k in range(n + 1) if binomial_tail(n, p, k) > data["delta"])
        return float(max(p - k / n, 0.0))

    return closed_form(
        id,
        "one loss that is a coin: exact quantiles of its gap",
        {"n": (1.0, 60.0), "p": (0.05, 0.95), "delta": (0.005, 0.3)},
        lambda data, version: _gap_inputs(id, data),
        quick,
        again,
        ["n"],
        points=1500,
        seconds=0.4,
    )


# --- Mwigo: one token, one dimension, where the class is w relu(v x) --------------------------------------------------

_ROOM = {"RQ": 0.1, "RK": 0.1, "RV": 0.1}
_START = {"WQF": 1.0, "WKF": 1.0, "WVF": 1.0, "wOF": 1.0, "WQ2": 1.0, "WK2": 1.0, "WV2": 1.0}


def _shallow_inputs(n: int, RO: float) -> dict[str, Any]:
    return {"n": n, "ds": 1, "d": 1, "dm": 1, "RX": 1.0, **_ROOM, "RO": RO, **_START}


def _spread(RO: float) -> float:
    """Largest minus smallest value of w v over |w - 1| <= RO, |v - 1| <= 0.1."""
    corners = [w * v for w in (1 - RO, 1 + RO) for v in (0.9, 1.1)]
    return max(corners) - min(corners)


def _constant_inputs(id: str) -> Attack:
    """All inputs equal one: R = (max f - min f) E|S_N|/(2N)."""

    def again(data: Data) -> float:
        n, RO = data["n"], data["RO"]
        largest = (1 + RO) * 1.1
        smallest = (1 - RO) * (1.1 if RO > 1 else 0.9)
        return float((largest - smallest) / 2 * mean_absolute_walk(n) / n)

    return closed_form(
        id,
        "equal inputs in one dimension, where the complexity has a closed form",
        {"n": (10.0, 1e12), "RO": (0.01, 1e9)},
        lambda data, version: _shallow_inputs(data["n"], data["RO"]),
        lambda data: _spread(data["RO"]) * _walk(data["n"]) / (2 * data["n"]),
        again,
        ["n"],
        versions=("printed",),
        variants=("value",),
        allowance=100.0,
        points=2000,
        seconds=0.4,
        label="equal inputs",
    )


@sample
def _shallow_search(search: Search) -> tuple[Data, float, float]:
    x = search.rng.uniform(-1, 1, size=_N)
    x = np.where(search.rng.random(_N) < 0.7, np.abs(x) ** 0.1, x)
    totals = _EIGHT @ np.maximum(x, 0.0)
    value = float(np.mean(np.max([w * v * totals for w in (0.0, 2.0) for v in (0.9, 1.1)], axis=0)) / _N)
    return {"x": x}, value, value


def _shallow(data: Data, version: Version) -> Instance:
    x = array(data["x"])
    table = [[w * max(v * float(t), 0.0) for t in x] for w in (0.0, 2.0) for v in (0.9, 1.1)]
    return Instance(rademacher(table), _shallow_inputs(len(x), 1.0))


def _tiny_shallow(id: str) -> Attack:
    return Attack(
        id,
        "eight random inputs in one dimension, all signs enumerated",
        _shallow_search,
        _shallow,
        versions=("sound",),
        points=1500,
        seconds=0.8,
        label="enumeration",
    )


ATTACKS = [
    *(_transposed(id) for id in ("trauger.thm4.1", "trauger.cor4.1.1", "trauger.corD.0.1", "trauger.corD.0.2")),
    _tiny_linear("trauger.thm4.1", 0.4),
    *(_tiny_linear(id, 0.6) for id in ("trauger.cor4.1.1", "trauger.corD.0.1", "trauger.corD.0.2")),
    Attack(
        "trauger.cor4.1.1",
        "gradient ascent over score weights for every sign vector of four examples",
        _attended_search,
        _attended,
        versions=("sound",),
        points=6400,
        seconds=2.0,
        label="attention",
    ),
    Attack(
        "trauger.sec4.2",
        "random heads with a shared sign, all signs enumerated",
        _heads_search,
        _heads,
        points=1500,
        seconds=0.4,
    ),
    Attack(
        "trauger.thm5.1",
        "random finite classes of logits, all signs enumerated",
        _vector_search,
        _vector,
        allowance=12.0,
        points=1500,
        seconds=0.5,
    ),
    *(_chain(id) for id in ("dudley", "trauger.dudley", "mwigo.dudley")),
    *(_gap(id) for id in ("trauger.rad2gap", "mwigo.rad2gap")),
    *(_constant_inputs(id) for id in ("mwigo.lem1", "mwigo.lem2")),
    *(_tiny_shallow(id) for id in ("mwigo.lem1", "mwigo.lem2")),
]
REASONS = {
    "trauger.thm5.1.direct": (
        "its parts are attacked where they stand alone: the Lipschitz constant in trauger.appG, the allocation in "
        "trauger.lemE.1"
    ),
}
