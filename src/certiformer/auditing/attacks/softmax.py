"""Softmax, its derivatives, covariances under it, activations, the cross-entropy."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import erf

from certiformer.auditing.attack import Attack, Candidate, Data, Instance, Version
from certiformer.auditing.plain_numpy import array, derivative, into_ball, softmax, spectral_norm
from certiformer.auditing.search import Search, ascend, best, sample

# --- trauger.lemC.1: ||softmax(a) - softmax(b)||_1 against ||a - b||_inf ---------------------------------------------


def _scores_search(search: Search) -> list[Candidate]:
    import jax
    import jax.numpy as jnp

    length = int(search.rng.integers(2, 5))

    def attained(point: dict[str, Any]) -> Any:
        return jnp.sum(jnp.abs(jax.nn.softmax(point["a"]) - jax.nn.softmax(point["b"])))

    def objective(point: dict[str, Any]) -> Any:
        return jnp.log(attained(point)) - jnp.log(jnp.max(jnp.abs(point["a"] - point["b"])) + 1e-3)

    def draw(rng: np.random.Generator) -> dict[str, Any]:
        scale = np.exp(rng.uniform(-3, 1))
        return {"a": rng.normal(size=length), "b": scale * rng.normal(size=length)}

    points = ascend(objective, draw, search)
    return [Candidate(p, float(np.sum(np.abs(softmax(p["a"]) - softmax(p["b"]))))) for p in points]


def _scores(data: Data, version: Version) -> Instance:
    p, q = softmax(data["a"]), softmax(data["b"])
    return Instance(math.fsum(abs(x - y) for x, y in zip(p, q, strict=True)), {"a": data["a"], "b": data["b"]})


# --- deora.softmax: entries and norm of the Jacobian -----------------------------------------------------------------


@sample
def _jacobian_search(search: Search) -> tuple[Data, float, float]:
    v = search.rng.normal(size=int(search.rng.integers(2, 5)))
    i, j = (int(search.rng.integers(1, len(v) + 1)) for _ in range(2))
    p = softmax(v)
    truth = p[i - 1] * ((i == j) - p[j - 1])
    return {"v": v, "i": i, "j": j}, truth, search.score(truth, {"v": v.tolist(), "i": i, "j": j})


def _jacobian_entry(data: Data, version: Version) -> Instance:
    v = array(data["v"])
    unit = np.eye(len(v))[int(data["j"]) - 1]
    entry = derivative(softmax, v, unit)[int(data["i"]) - 1]
    return Instance(float(entry), {"v": data["v"], "i": data["i"], "j": data["j"]})


def _probabilities_search(search: Search) -> list[Candidate]:
    """Norm of diag(p) - p p^T: random p, then ever closer to the best."""

    def trials() -> Iterator[tuple[Candidate, float]]:
        top, top_value, step = np.zeros(3), -np.inf, 1.0
        for number in range(search.points):
            v = search.rng.normal(size=3) * 2 if number < search.points // 3 else top + step * search.rng.normal(size=3)
            step *= 0.999
            p = softmax(v)
            value = float(np.linalg.eigvalsh(np.diag(p) - np.outer(p, p))[-1])
            if value > top_value:
                top, top_value = v, value
            yield Candidate({"v": v}, value), value

    return best(search, trials())


def _probabilities(data: Data, version: Version) -> Instance:
    p = softmax(array(data["v"]))
    return Instance(spectral_norm(np.diag(p) - np.outer(p, p)), {})


def _jacobian_norm(data: Data, version: Version) -> Instance:
    v = array(data["v"])
    columns = [derivative(softmax, v, unit) for unit in np.eye(len(v))]
    return Instance(spectral_norm(np.array(columns)), {"v": data["v"], "i": 1, "j": 2})


# --- arda.rem3: covariance of tokens under a probability -------------------------------------------------------------


@sample
def _covariance_search(search: Search) -> tuple[Data, float, float]:
    rng = search.rng
    size, dim = int(rng.integers(2, 4)), int(rng.integers(1, 3))
    tokens = into_ball(rng.normal(size=(size, dim)) * np.exp(rng.normal(size=(size, 1))), 1.0)
    v = rng.normal(size=size)
    p = softmax(v)
    mean = p @ tokens
    value = float(np.linalg.eigvalsh((tokens - mean).T @ (p[:, None] * (tokens - mean)))[-1])
    radius = float(np.max(np.linalg.norm(tokens, axis=1)))
    inputs = {"r": radius, "a": float(np.linalg.norm(mean))}
    # Next to a single token both sides vanish, and the difference is lost to rounding.
    return {"tokens": tokens, "v": v}, value, search.score(value, inputs) if value > 1e-3 else -np.inf


def _covariance(data: Data, version: Version) -> Instance:
    tokens, p = array(data["tokens"]), softmax(array(data["v"]))
    mean = sum(weight * token for weight, token in zip(p, tokens, strict=True))
    second = sum(weight * np.outer(token, token) for weight, token in zip(p, tokens, strict=True))
    radius = max(float(np.linalg.norm(token)) for token in tokens)
    attained = spectral_norm(second - np.outer(mean, mean))
    return Instance(attained, {"r": radius, "a": float(np.linalg.norm(mean))})


# --- deora.kappa3: third mixed cumulants -----------------------------------------------------------------------------


def _cumulant_search(search: Search) -> list[Candidate]:
    import jax
    import jax.numpy as jnp

    def cumulant(point: dict[str, Any]) -> Any:
        p, y, s = jax.nn.softmax(point["v"]), jnp.tanh(point["y"]), jnp.tanh(point["s"])
        value = jnp.abs(jnp.sum(p * (y - jnp.sum(p * y)) * (s - jnp.sum(p * s)) ** 2))
        return value / (jnp.max(jnp.abs(y)) * jnp.max(jnp.abs(s)) ** 2)

    def draw(rng: np.random.Generator) -> dict[str, Any]:
        # The cumulant is linear in y and quadratic in s, and attains its bound where both are at theirs.
        corners = {name: 3.0 * rng.choice([-1.0, 1.0], size=4) + 0.3 * rng.normal(size=4) for name in ("y", "s")}
        return {"v": rng.normal(size=4) * 1.5, **corners}

    found = []
    for point in ascend(cumulant, draw, search, restarts=32, rate=0.15):
        data = {"v": point["v"], "y": np.tanh(point["y"]), "s": np.tanh(point["s"])}
        found.append(Candidate(data, _cumulant(data, "sound").attained))
    return found


def _cumulant(data: Data, version: Version) -> Instance:
    p, y, s = softmax(array(data["v"])), array(data["y"]), array(data["s"])
    ey, es = float(p @ y), float(p @ s)
    value = math.fsum(w * (a - ey) * (b - es) ** 2 for w, a, b in zip(p, y, s, strict=True))
    return Instance(abs(value), {"Y": float(np.max(np.abs(y))), "S": float(np.max(np.abs(s)))})


# --- arda.eq3: the activations and their derivatives -----------------------------------------------------------------

_ACTIVATIONS: dict[str, Any] = {"tanh": np.tanh, "erf": lambda x: erf(x / math.sqrt(2.0))}
_SLOPES: dict[str, Any] = {
    "tanh": lambda x: 1 / np.cosh(x) ** 2,
    "erf": lambda x: math.sqrt(2 / math.pi) * np.exp(-(x**2) / 2),
}


def _activation_search(order: int) -> Any:
    def run(search: Search) -> list[Candidate]:
        found = []
        for name in _ACTIVATIONS:
            x = np.concatenate([np.linspace(-6, 6, max(search.points // 2, 2)), [0.0]])
            search.spent += len(x)
            values = np.abs(_ladder(name, order, x))
            top = x[np.argsort(-values)[:3]]
            found += [Candidate({"activation": name, "x": float(t)}, float(abs(_ladder(name, order, t)))) for t in top]
        return found

    return run


def _ladder(name: str, order: int, x: Any) -> Any:
    if order == 0:
        return _ACTIVATIONS[name](x)
    if order == 1:
        return _SLOPES[name](x)
    t = np.tanh(x)
    return -2 * t * (1 - t**2) if name == "tanh" else -x * _SLOPES[name](x)


def _activation(order: int) -> Any:
    def instance(data: Data, version: Version) -> Instance:
        name, x = data["activation"], np.array(float(data["x"]))
        if order == 0:
            value = float(_ACTIVATIONS[name](x))
        else:
            below = _ACTIVATIONS[name] if order == 1 else _SLOPES[name]
            value = float(derivative(below, x, np.array(1.0)))
        return Instance(abs(value), {"activation": name})

    return instance


# --- trauger.appG: the cross-entropy ---------------------------------------------------------------------------------


@sample
def _entropy_search(search: Search) -> tuple[Data, float, float]:
    rng = search.rng
    x = rng.normal(size=3) * np.exp(rng.uniform(-2, 3))
    y = x + rng.choice([-1.0, 1.0], size=3) * np.exp(rng.uniform(-3, 1))
    label = int(rng.integers(3))
    value = abs(np.logaddexp.reduce(x) - x[label] - np.logaddexp.reduce(y) + y[label]) / np.max(np.abs(x - y))
    return {"x": x, "y": y, "label": label}, float(value), float(value)


def _entropy(data: Data, version: Version) -> Instance:
    x, y, label = array(data["x"]), array(data["y"]), int(data["label"])
    losses = [math.log(math.fsum(math.exp(v - max(z)) for v in z)) + max(z) - z[label] for z in (x, y)]
    distance = max(abs(a - b) for a, b in zip(x, y, strict=True))
    return Instance(abs(losses[0] - losses[1]) / distance, {"x": data["x"], "label": label})


ATTACKS = [
    Attack(
        "trauger.lemC.1",
        "gradient ascent over pairs of score vectors",
        _scores_search,
        _scores,
        points=12_800,
        seconds=2.0,
        shared=True,
    ),
    Attack(
        "deora.softmax",
        "entries of the Jacobian at random points against a complex step",
        _jacobian_search,
        _jacobian_entry,
        variants=("entry",),
        sense="equal",
        points=1500,
        seconds=0.3,
        label="entry",
    ),
    Attack(
        "deora.softmax",
        "norm of the Jacobian, by random search",
        _probabilities_search,
        _jacobian_norm,
        versions=("sound",),
        variants=("norm",),
        points=2000,
        seconds=0.2,
        label="norm",
    ),
    Attack(
        "arda.fact1",
        "norm of the Jacobian of softmax, by random search",
        _probabilities_search,
        _probabilities,
        points=2000,
        seconds=0.2,
    ),
    Attack(
        "arda.rem3",
        "covariance of random tokens under random attention",
        _covariance_search,
        _covariance,
        points=2000,
        seconds=0.3,
    ),
    Attack(
        "deora.kappa3",
        "gradient ascent over probabilities and two bounded variables",
        _cumulant_search,
        _cumulant,
        points=12_800,
        seconds=2.0,
        shared=True,
    ),
    *(
        Attack(
            "arda.eq3",
            "scan of the activation and its derivatives",
            _activation_search(order),
            _activation(order),
            versions=("sound",),
            variants=(f"s{order}",),
            points=2000,
            seconds=0.1,
            label=f"s{order}",
        )
        for order in (0, 1, 2)
    ),
    Attack(
        "trauger.appG",
        "difference quotients of the cross-entropy at random logits",
        _entropy_search,
        _entropy,
        points=2000,
        seconds=0.2,
    ),
]
REASONS = {"arda.eq3:printed": "the paper gives no numbers"}
