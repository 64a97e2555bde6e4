"""Deora et al.: the tokenized mixture, its first gradient step, saturated attention, the order of margins."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from certiformer.auditing.attack import Attack, Data, Instance, Version, side
from certiformer.auditing.plain_numpy import array, attention_output, gradient, logistic_loss, softmax
from certiformer.auditing.search import Search, closed_form, family, sample
from certiformer.theory.core import find

_SHARES = [(T, count) for T in (2, 4, 5, 8, 10) for count in range(1, T)]


# --- deora.lem2: the first step of gradient descent points along zeta/4 ----------------------------------------------


def _step_inputs(data: Data, version: Version) -> dict[str, Any]:
    zeta = data["share"][1] / data["share"][0]
    size = {"n1": 2, "delta": 0.05, "S": data["S"], "Z": 0.0, "Znu": 0.0, "M": data["M"], "zeta": zeta}
    return {**size, "d": data["M"] + 2}


def _patterns(data: Data) -> tuple[Any, Any, Any]:
    """One example of each label, irrelevant tokens all equal to the first noise pattern."""
    (T, count), S, d = data["share"], data["S"], data["M"] + 2
    basis = S * np.eye(d)
    X = np.stack([np.stack([basis[sign]] * count + [basis[2]] * (T - count)) for sign in (0, 1)])
    return X, np.array([1.0, -1.0]), basis[0] - basis[1]


def _step(data: Data) -> float:
    X, y, u = _patterns(data)
    row = 0.5 * np.mean(y[:, None] * X.mean(axis=1), axis=0)
    return float(row @ u / (u @ u))


def _step_again(data: Data) -> float:
    X, y, u = _patterns(data)
    T, d = X.shape[1:]
    down = -gradient(lambda t: logistic_loss(X, y, t.reshape(T, d), np.zeros((d, d))), np.zeros(T * d)).reshape(T, d)
    return float(down[0] @ u / (u @ u))


# --- logits at the corners of the noise ------------------------------------------------------------------------------


def _corner_tokens(data: Data) -> tuple[Any, Any]:
    """Inner products with mu_+, mu_-, nu_1..nu_M: one relevant token; all corners of an irrelevant one."""
    S2, M = data["S"] ** 2, data["M"]
    relevant = np.array([S2, 0.0, *[0.0] * M])
    pattern = np.array([0.0, 0.0, S2, *[0.0] * (M - 1)])
    box = [data["mu"] * S2] * 2 + [data["nu"] * S2 / M] * M
    corners = np.array([np.array(signs) * box for signs in itertools.product((-1.0, 1.0), repeat=M + 2)])
    return relevant, pattern + corners


def _logits(queries: Any, keys: Any) -> Any:
    """x_t^T W_* x_s, all pairs."""
    q = queries[:, 2:].sum(axis=1)
    return (
        np.outer(queries[:, 0], keys[:, 0]) + np.outer(queries[:, 1], keys[:, 1]) + np.outer(q, keys[:, 0] + keys[:, 1])
    )


def _largest_inputs(data: Data, version: Version) -> dict[str, Any]:
    S2 = data["S"] ** 2
    return {"S": data["S"], "Zmu": data["mu"] * S2, "Znu": data["nu"] * S2}


def _largest(data: Data) -> float:
    relevant, irrelevant = _corner_tokens(data)
    return float(np.max(np.abs(_logits(np.vstack([relevant, irrelevant]), irrelevant))))


def _largest_again(data: Data) -> float:
    relevant, irrelevant = _corner_tokens(data)
    values = [
        abs(q[0] * k[0] + q[1] * k[1] + sum(q[2:]) * (k[0] + k[1])) for q in [relevant, *irrelevant] for k in irrelevant
    ]
    return float(max(values))


def _saturation_inputs(data: Data) -> dict[str, Any]:
    (T, count), S2 = data["share"], data["S"] ** 2
    noise = {"Zmu": data["mu"] * S2, "Znu": data["nu"] * S2}
    return {"eps": data["eps"], "zeta": count / T, "M": data["M"], "S": data["S"], **noise, "T": T}


def _saturation(worst: Callable[[Data, float], float]) -> Callable[[Data, Version], Instance]:
    """Largest attention on irrelevant tokens at the claimed scale Gamma; the claim is that it is at most eps."""

    def instance(data: Data, version: Version) -> Instance:
        Gamma = side(find("deora.prop3")(**_saturation_inputs(data)), version)["Gamma"].value
        if not math.isfinite(Gamma):
            return Instance(0.0, {}, 1.0)
        return Instance(worst(data, Gamma / (data["S"] ** 2 * math.sqrt(2 * (data["M"] + 1)))), {}, data["eps"])

    return instance


def _saturated(data: Data, scale: float) -> float:
    T, count = data["share"]
    relevant, irrelevant = _corner_tokens(data)
    queries = np.vstack([relevant, irrelevant])
    gap = scale * (_logits(queries, relevant[None]) - _logits(queries, irrelevant))
    mass = 1 / (1 + count / (T - count) * np.exp(np.clip(gap, -500, 500)))
    return float(np.max(mass))


def _saturated_again(data: Data, scale: float) -> float:
    T, count = data["share"]
    relevant, irrelevant = _corner_tokens(data)
    worst = 0.0
    for q in [relevant, *irrelevant]:
        for k in irrelevant:
            to_relevant = q[0] * relevant[0] + q[1] * relevant[1] + sum(q[2:]) * (relevant[0] + relevant[1])
            to_key = q[0] * k[0] + q[1] * k[1] + sum(q[2:]) * (k[0] + k[1])
            p = softmax(scale * array([to_relevant] * count + [to_key] * (T - count)))
            worst = max(worst, float(np.sum(p[count:])))
    return worst


_NOISE: dict[str, Any] = {"S": (0.5, 20.0), "mu": (1e-4, 0.125), "nu": (1e-4, 0.125), "M": [1, 2]}


# --- deora.sec5.3: gamma_attn >= gamma_* -----------------------------------------------------------------------------


def _order_measure(data: Data, version: Version) -> Instance:
    """Without noise, both from the printed formulas."""
    (T, count), S, M = data["share"], data["S"], data["M"]
    inputs = {"T": T, "zeta": count / T, "M": M, "S": S, "Zmu": 0.0, "Znu": 0.0}
    printed = find("deora.sec5.3")(**inputs).printed()
    return Instance(printed["gamma_star"].value, inputs, printed["gamma_attn"].value)


def _order(data: Data, version: Version) -> Instance:
    (T, count), S, M = data["share"], data["S"], data["M"]
    zeta = count / T
    linear = S * math.sqrt(T / 2)
    star = zeta * linear + T * zeta**2 * (1 - zeta) * S**3 * S / (4 * math.sqrt(2 * (M + 1)))
    return Instance(star, _order_measure(data, version).inputs, linear)


# --- deora.ass2: how far a target of small loss is -------------------------------------------------------------------


def _reach(data: Data, version: Version) -> tuple[float, float, dict[str, Any]]:
    (T, count), S = data["share"], 1.0
    # Two balanced examples at the zero start, many heads: the loss is convex in U up to 1/sqrt(H).
    gamma = S * math.sqrt(T) * count / T
    start = 1.0 if version == "printed" else 0.0
    H = 10**24
    inputs = {"eps": data["eps"], "gamma": gamma, "BPhi": start, "B2": start, "T": T, "R": 1.0, "H": H, "even": 1}
    return side(find("deora.ass2")(**inputs), version)["g0"].value, gamma, inputs


def _reach_measure(data: Data, version: Version) -> Instance:
    distance, gamma, inputs = _reach(data, version)
    return Instance(math.log1p(math.exp(-distance * gamma / math.sqrt(2))), inputs, data["eps"])


def _reach_instance(data: Data, version: Version) -> Instance:
    """Least mean loss within the claimed distance: gradients of both outputs from the model, then Jensen."""
    distance, _, inputs = _reach(data, version)
    T = data["share"][0]
    X, y, _ = _patterns({**data, "S": 1.0})
    slopes = [label * np.repeat(x.mean(axis=0)[None], T, axis=0) for x, label in zip(X, y, strict=True)]
    steepest = float(np.linalg.norm(sum(slopes) / 2))  # of the mean margin, in U; in W it vanishes at U = 0
    return Instance(math.log1p(math.exp(-distance * steepest)), inputs, data["eps"])


# --- deora.prop2: the NTK margin after the first phase, on one noisy example of each label ---------------------------


def _noisy_pair(data: Data) -> Any:
    """Irrelevant tokens at corners of their noise box, drawn by `draw`; patterns along the axes."""
    (T, count), S, M = data["share"], data["S"], data["M"]
    rng = np.random.default_rng(int(data["draw"]))
    X = np.zeros((2, T, M + 2))
    for sign in (0, 1):
        X[sign, :count, sign] = S
        for t in range(count, T):
            X[sign, t, 2 + int(rng.integers(M))] = S
            box = np.array([data["mu"] * S] * 2 + [data["nu"] * S / M] * M)
            X[sign, t] += box * rng.choice([-1.0, 1.0], size=M + 2)
    return X


def _margin_inputs(data: Data, version: Version) -> dict[str, Any]:
    (T, count), S, M = data["share"], data["S"], data["M"]
    noise = {"Zmu": data["mu"] * S**2, "Znu": data["nu"] * S**2}
    noise["Z"] = S * math.hypot(*[data["mu"]] * 2, *[data["nu"] / M] * M)
    return {"T": T, "zeta": count / T, "M": M, "S": S, **noise, "P": 0.0, "n": 2, "delta": 0.1}


def _start_of(data: Data) -> Any:
    """The row zeta/4 u_* of the first step."""
    (T, count), S, M = data["share"], data["S"], data["M"]
    return count / T / 4 * S * (np.eye(M + 2)[0] - np.eye(M + 2)[1])


def _two_point_margin(first: Any, second: Any) -> float:
    """Hard margin of two features, for directions of norm sqrt 2: sqrt 2 times a segment's distance from the origin."""
    change = second - first
    share = min(1.0, max(0.0, -float(first @ change) / max(float(change @ change), 1e-300)))
    return math.sqrt(2.0) * float(np.linalg.norm(first + share * change))


def _margin(data: Data) -> float:
    X, u = _noisy_pair(data), _start_of(data)
    features = []
    for x, y in zip(X, (1.0, -1.0), strict=True):
        mean = x.mean(axis=0)
        covariance = x.T @ x / len(x) - np.outer(mean, mean)
        by_score = len(x) * np.outer(mean, covariance @ u)
        features.append(y * np.concatenate([np.tile(mean, len(x)), by_score.ravel()]))
    return _two_point_margin(*features)


def _margin_again(data: Data) -> float:
    X, u = _noisy_pair(data), _start_of(data)
    T, d = X.shape[1:]
    start = np.concatenate([np.tile(u, T), np.zeros(d * d)])

    def output(x: Any) -> Any:
        return lambda theta: attention_output(x, theta[: T * d].reshape(T, d), theta[T * d :].reshape(d, d))

    features = [y * gradient(output(x), start) for x, y in zip(X, (1.0, -1.0), strict=True)]
    return _two_point_margin(*features)


# --- deora.dm1: the largest token ------------------------------------------------------------------------------------


@sample
def _token_search(search: Search) -> tuple[Data, float, float]:
    rng = search.rng
    S, M, Z = float(np.exp(rng.normal())), int(rng.integers(1, 4)), float(np.exp(rng.normal() - 1))
    z = rng.normal(size=M + 3)
    z[3:] *= 0.2
    z *= Z / np.linalg.norm(z)
    data = {"S": S, "M": M, "noise": z}
    value = float(np.linalg.norm(z + S * np.eye(M + 3)[2]))
    return data, value, search.score(value, _token_inputs(data))


def _token_inputs(data: Data) -> dict[str, Any]:
    z, S, M = array(data["noise"]), data["S"], data["M"]
    along = np.abs(z[: M + 2]) * S
    largest = float(np.max(along[2:]))
    common = {"T": 4, "zeta": 0.5, "M": M, "S": S, "Zmu": float(max(along[:2])), "Znu": M * largest}
    return {**common, "Z": float(np.linalg.norm(z))}


def _token(data: Data, version: Version) -> Instance:
    z = array(data["noise"])
    token = [float(v) + (data["S"] if i == 2 else 0.0) for i, v in enumerate(z)]
    return Instance(math.sqrt(math.fsum(v * v for v in token)), _token_inputs(data))


ATTACKS = [
    closed_form(
        "deora.lem2",
        "one gradient step on a balanced pair of examples",
        {"share": _SHARES, "S": (0.3, 3.0), "M": [1, 2, 3]},
        _step_inputs,
        _step,
        _step_again,
        variants=("coefficient",),
        sense="equal",
        points=1200,
        seconds=1.0,
    ),
    closed_form(
        "deora.eq8",
        "logits at all corners of the noise",
        {**_NOISE, "S": (0.5, 1e4)},
        _largest_inputs,
        _largest,
        _largest_again,
        variants=("irrelevant",),
        allowance=100.0,
        points=1200,
        seconds=0.4,
    ),
    Attack(
        "deora.prop3",
        "attention on irrelevant tokens over all corners of the noise, at the claimed scale",
        family({**_NOISE, "share": _SHARES, "eps": (1e-3, 0.99)}, _saturation(_saturated)),
        _saturation(_saturated_again),
        points=1500,
        seconds=0.6,
    ),
    Attack(
        "deora.sec5.3",
        "the claimed order of margins without noise",
        family({"share": _SHARES, "S": (0.3, 20.0), "M": [1, 2, 3]}, _order_measure),
        _order,
        versions=("printed",),
        points=1200,
        seconds=0.2,
    ),
    Attack(
        "deora.ass2",
        "least loss within the claimed distance of the zero start, by Jensen",
        family({"share": _SHARES, "M": [1, 2], "eps": (1e-7, 0.3)}, _reach_measure),
        _reach_instance,
        points=1200,
        seconds=0.6,
    ),
    closed_form(
        "deora.prop2",
        "exact margins of two examples at corners of the noise, at the first step",
        {**_NOISE, "S": (0.5, 3.0), "share": _SHARES, "draw": list(range(500))},
        _margin_inputs,
        _margin,
        _margin_again,
        sense="lower",
        points=1500,
        seconds=0.6,
    ),
    Attack("deora.dm1", "random noise", _token_search, _token, variants=("R",), points=1500, seconds=0.3),
]
REASONS = {
    "deora.sec5.3:sound": "it compares three lower bounds; each stands or falls with deora.prop2 and deora.prop3",
}
