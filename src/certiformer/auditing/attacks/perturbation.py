"""How far a change of weights and inputs moves an attention layer: gradient ascent on changed over allowed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from certiformer.auditing.attack import Attack, Candidate, Data, Instance, Version
from certiformer.auditing.plain_numpy import array, attention, into_ball, spectral_norm
from certiformer.auditing.search import Array, Built, Search, ascend, explore, family
from certiformer.theory.core import find

_T, _D = 2, 2
_NAMES = ("dg", "dWc", "dWQK", "dWv")
_WEIGHTS = ("Wc", "Wv", "Wq")


# --- trauger.lemE.2: one layer, un-hatted weights of spectral norm one ------------------------------------------------


def _layer_inputs(B: float, q: float, errors: Mapping[str, float]) -> dict[str, Any]:
    return {"L_sigma": 1.0, "Bc2": 1.0, "Bv2": 1.0, "BQK2": q, "B": B, **errors}


def _layer_search(search: Search) -> list[Candidate]:
    import jax
    import jax.numpy as jnp

    def coefficients(B: float) -> Array:
        """The claim is dWc + c dWv + c v (dWQK + (1 + q) dg) with a factor each: its values at unit errors."""

        def at(name: str, q: float) -> float:
            bound = search.bound(_layer_inputs(B, q, {other: float(other == name) for other in _NAMES}))
            return math.inf if bound is None else bound

        calm = at("dg", 1e-12)
        return np.array([at("dWc", 1.0), at("dWv", 1.0), at("dWQK", 1.0), calm, at("dg", 1.0) - calm])

    def draw(rng: np.random.Generator) -> dict[str, Array]:
        B = float(np.exp(rng.uniform(-1.0, 2.5)))
        small = float(np.exp(rng.uniform(-5.0, 0.0)))
        # Small weights leave softmax and projection unsaturated, where they answer to changes.
        point = {name: rng.normal(size=(_D, _D)) * np.exp(rng.uniform(-6.0, 0.0)) for name in _WEIGHTS}
        point |= {f"d{name}": small * rng.normal(size=(_D, _D)) for name in _WEIGHTS}
        point |= {"g": B * rng.normal(size=(_T, _D)), "dg": small * B * rng.normal(size=(_T, _D))}
        # Each restart changes some of the weights only: together they hide behind the one that is easiest to move.
        moving = rng.random(4) < 0.4
        moving[int(rng.integers(4))] = True
        return point | {"B": np.array(B), "coefficients": coefficients(B), "moving": moving.astype(float)}

    def unit(matrix: Any) -> Any:
        return matrix / jnp.maximum(jnp.linalg.norm(matrix, ord=2), 1.0)

    def ball(rows: Any, radius: Any) -> Any:
        norms = jnp.sqrt(jnp.sum(rows**2, axis=-1, keepdims=True) + 1e-18)
        return rows * jnp.minimum(1.0, radius / norms)

    def objective(point: dict[str, Any]) -> Any:
        B, weights = jax.lax.stop_gradient(point["B"]), jax.lax.stop_gradient(point["coefficients"])
        here = {name: unit(point[name]) for name in _WEIGHTS}
        moving = jax.lax.stop_gradient(point["moving"])
        change = {name: moving[i] * point[f"d{name}"] for i, name in enumerate(_WEIGHTS)}
        hat = {name: here[name] + change[name] for name in _WEIGHTS}
        g, g_hat = ball(point["g"], B), ball(point["g"] + moving[3] * point["dg"], B)

        def inside(x: Any, w: Mapping[str, Any]) -> Any:
            p = jax.nn.softmax(jnp.einsum("sd,ed,te->ts", x, w["Wq"], x), axis=-1)
            return ball(p @ x @ w["Wv"], 1.0)

        def size(rows: Any) -> Any:
            return jnp.max(jnp.sqrt(jnp.sum(rows**2, axis=-1) + 1e-24))

        u, u_hat = inside(g, here), inside(g_hat, hat)
        moved = size(u @ here["Wc"] - u_hat @ hat["Wc"])
        c, v, q = (jnp.linalg.norm(here[name], ord=2) for name in _WEIGHTS)
        inner = weights[2] * size(g_hat @ change["Wq"]) + (weights[3] + weights[4] * q) * size(g - g_hat)
        allowed = weights[0] * size(u_hat @ change["Wc"]) + c * (weights[1] * size(g_hat @ change["Wv"]) + v * inner)
        return jnp.log(moved) - jnp.log(allowed)

    found = []
    for point in ascend(objective, draw, search, restarts=96, rate=0.03):
        data = _layer_data(point)
        found.append(Candidate(data, _moved(data)))
    return found


def _layer_data(point: Mapping[str, Array]) -> dict[str, Any]:
    B = float(point["B"])
    moving = point["moving"]
    here = {name: point[name] / max(spectral_norm(point[name]), 1.0) for name in _WEIGHTS}
    hat = {f"{name}_hat": here[name] + moving[i] * point[f"d{name}"] for i, name in enumerate(_WEIGHTS)}
    tokens = {"g": into_ball(point["g"], B), "g_hat": into_ball(point["g"] + moving[3] * point["dg"], B)}
    return {**here, **hat, **tokens}


def _inside(x: Any, score: Any, value: Any) -> Array:
    """Attention, values, projection onto the unit ball, row by row; the activation is the identity."""
    rows = [array(value).T @ attention(x, score, row) for row in array(x)]
    return into_ball(rows, 1.0)


def _moved(data: Data) -> float:
    first = _inside(data["g"], data["Wq"], data["Wv"]) @ array(data["Wc"])
    second = _inside(data["g_hat"], data["Wq_hat"], data["Wv_hat"]) @ array(data["Wc_hat"])
    return float(max(np.linalg.norm(row) for row in first - second))


def _layer(data: Data, version: Version) -> Instance:
    values = {name: array(value) for name, value in data.items()}
    hatted = _inside(values["g_hat"], values["Wq_hat"], values["Wv_hat"])

    def largest(rows: Any) -> float:
        return float(max(np.linalg.norm(row) for row in rows))

    errors = {
        "dg": largest(values["g"] - values["g_hat"]),
        "dWc": largest([(values["Wc"] - values["Wc_hat"]).T @ row for row in hatted]),
        "dWQK": largest([(values["Wq"] - values["Wq_hat"]).T @ row for row in values["g_hat"]]),
        "dWv": largest([(values["Wv"] - values["Wv_hat"]).T @ row for row in values["g_hat"]]),
    }
    norms = {
        "Bc2": spectral_norm(values["Wc"]),
        "Bv2": spectral_norm(values["Wv"]),
        "BQK2": spectral_norm(values["Wq"]),
    }
    radius = max(largest(values["g"]), largest(values["g_hat"]))
    return Instance(_moved(data), {"L_sigma": 1.0, **norms, "B": radius, **errors})


# --- trauger.lemE.3: the readout --------------------------------------------------------------------------------------


def _readout_build(z: Array, version: Version) -> Built:
    w, w_hat, g, g_hat = z.reshape(4, 2)
    attained = float(abs(w @ g - w_hat @ g_hat))
    if attained < 1e-3:
        return None
    named = {
        "w": float(np.linalg.norm(w)),
        "dg": float(np.linalg.norm(g - g_hat)),
        "dwg": float(abs((w - w_hat) @ g_hat)),
    }
    return {"w": w, "w_hat": w_hat, "g": g, "g_hat": g_hat}, Instance(attained, named)


def _readout(data: Data, version: Version) -> Instance:
    w, w_hat, g, g_hat = (array(data[name]) for name in ("w", "w_hat", "g", "g_hat"))
    attained = abs(math.fsum(a * b for a, b in zip(w, g, strict=True)) - math.fsum(w_hat * g_hat))
    named = {"w": math.hypot(*w), "dg": math.hypot(*(g - g_hat)), "dwg": abs(math.fsum((w - w_hat) * g_hat))}
    return Instance(attained, named)


# --- mwigo.lem4: the loss at the start, one token per example --------------------------------------------------------


def _encoder(data: Data) -> dict[str, Any]:
    rng = np.random.default_rng(int(data["draw"]))
    n, dm = 2, 8
    X = np.eye(n) * data["size"]
    weights = {name: rng.normal(size=(dm, n)) / math.sqrt(n) * data["gain"] for name in ("Q", "K", "V")}
    return {"X": X, **weights, "O": rng.normal(size=dm) / math.sqrt(dm)}


def _start_inputs(data: Data, made: Mapping[str, Any], alpha: float) -> dict[str, Any]:
    n, dm = len(made["X"]), len(made["O"])
    shape = {"n": n, "ds": 1, "d": made["X"].shape[1], "dm": dm, "RX": float(data["size"])}
    radii = {"RQ": 1.0, "RK": 1.0, "RV": 1.0, "RO": 1.0}
    frobenius = {f"W{name}F": float(np.linalg.norm(made[name])) for name in ("Q", "K", "V")}
    spectral = {f"W{name}2": spectral_norm(made[name]) for name in ("Q", "K", "V")}
    start = {"wOF": float(np.linalg.norm(made["O"])), "alpha": alpha, "residual0": data["residual"]}
    return {**shape, **radii, **frobenius, **spectral, **start, "residual": data["residual"]}


_NO_CLAIM = Instance(0.0, {}, 1.0)


def _start_measure(data: Data, version: Version) -> Instance:
    made = _encoder(data)
    features = np.maximum(made["X"] @ made["V"].T, 0.0)
    alpha = float(np.sqrt(max(np.linalg.eigvalsh(features @ features.T)[0], 0.0)))
    if alpha <= 1e-9:
        return _NO_CLAIM
    # labels y_n = f(X_n) - r/sqrt(N): every example misses by the same amount
    return Instance(data["residual"] / math.sqrt(len(features)), _start_inputs(data, made, alpha))


def _start(data: Data, version: Version) -> Instance:
    made = _encoder(data)
    features = [[max(float(v @ x), 0.0) for v in made["V"]] for x in made["X"]]
    alpha = float(np.linalg.svd(array(features), compute_uv=False)[-1])
    if alpha <= 1e-9:
        return _NO_CLAIM
    outputs = array(features) @ made["O"]
    labels = outputs - data["residual"] / math.sqrt(len(outputs))
    misses = [data["residual"] / math.sqrt(len(outputs)) for _ in labels]  # |f - y|, without the cancellation
    return Instance(sum(misses) / len(misses), _start_inputs(data, made, alpha))


# --- mwigo.thm5: the same encoders, on a distribution that is the sample ----------------------------------------------


def _risk(start: Callable[[Data, Version], Instance]) -> Callable[[Data, Version], Instance]:
    def instance(data: Data, version: Version) -> Instance:
        found = start(data, version)
        if found.bound is not None or not _in_scope(found.inputs):
            return _NO_CLAIM
        kept = {name: value for name, value in found.inputs.items() if name not in ("residual", "residual0")}
        return Instance(found.attained, {**kept, "delta": 0.05, "LS": 1e-9, "ymax": 10.0})

    return instance


def _in_scope(inputs: Mapping[str, Any]) -> bool:
    """The hypotheses of Lemma 4, which Theorem 5 shares."""
    result = find("mwigo.lem4")
    return result.has_printed() and result(**inputs).printed()["value"].applies


_ENCODERS: dict[str, Any] = {
    "draw": list(range(200)),
    "size": (0.1, 3.0),
    "gain": (0.1, 3.0),
    "residual": (1e-14, 1e-2),
}

ATTACKS = [
    Attack(
        "trauger.lemE.2",
        "gradient ascent over tokens, weights and their changes, with tokens of every radius",
        _layer_search,
        _layer,
        regardless=True,
        points=7_200,
        seconds=3.0,
    ),
    Attack(
        "trauger.lemE.3",
        "random search and hill climbing",
        explore(8, _readout_build),
        _readout,
        points=1500,
        seconds=0.3,
    ),
    Attack(
        "mwigo.lem4",
        "random small encoders whose labels all miss by the same amount, at the start",
        family(_ENCODERS, _start_measure),
        _start,
        variants=("value", "lipschitz"),
        points=2000,
        seconds=0.8,
    ),
    Attack(
        "mwigo.thm5",
        "random small encoders within the hypotheses: a risk is not negative, the printed value is",
        family(_ENCODERS, _risk(_start_measure)),
        _risk(_start),
        versions=("printed",),
        variants=("value",),
        regardless=True,
        points=1500,
        seconds=0.8,
    ),
]
REASONS = {
    "mwigo.ass3": "an assumption on the data: a sample may refute it, no claim does",
    "mwigo.thm5:sound": "mwigo.lem2 and mwigo.rad2gap put together; both are attacked",
}
