"""Arda et al.: derivatives of a head, linearisation, envelopes, the merged error, random features, recurrent units."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.special import gammaincc

from certiformer.auditing.attack import Attack, Candidate, Data, Instance, Version
from certiformer.auditing.plain_numpy import (
    array,
    chi_tail,
    derivative,
    gradient,
    hessian,
    into_ball,
    softmax,
    spectral_norm,
)
from certiformer.auditing.search import Array, Built, Search, ascend, closed_form, explore

_T, _D, _HEADS = 2, 2, 2
_SIZE = _D + _D * _D  # u and W of one head


def _head(X: Any, q: Any, theta: Any) -> Any:
    """tanh(u^T X softmax(X^T W q)), columns of X are tokens; complex parameters are welcome."""
    u, W = theta[:_D], theta[_D:].reshape(_D, _D)
    return np.tanh(u @ (X @ softmax(X.T @ (W @ q))))


def _slope(X: Array, q: Array, theta: Array) -> tuple[float, Array]:
    """A head and its gradient, written out: sigma' (a, M u q^T)."""
    u, W = theta[:_D], theta[_D:].reshape(_D, _D)
    p = softmax(X.T @ (W @ q))
    a = X @ p
    M = (X * p) @ X.T - np.outer(a, a)
    h = math.tanh(float(u @ a))
    return h, (1 - h * h) * np.concatenate([a, np.outer(M @ u, q).ravel()])


def _input(z: Array) -> tuple[Array, Array, Array]:
    """Tokens and query in the unit ball, and what is left of the vector."""
    X = into_ball(z[: _T * _D].reshape(_T, _D), 1.0).T
    return X, into_ball(z[_T * _D : _T * _D + _D], 1.0), z[_T * _D + _D :]


_IN = _T * _D + _D


# --- arda.lem1, arda.lem2: derivatives of one head -------------------------------------------------------------------


def _gradient_attack(id: str, variant: str, part: slice, with_c: bool) -> Attack:
    """lem1: the gradient of c h/sqrt(m) in (c, u, W) or a block of it; lem2: of h in (u, W)."""

    def inputs(theta: Array) -> dict[str, Any]:
        B = {"activation": "tanh", "B": max(float(np.linalg.norm(theta[:_D])), 1e-9)}
        return {**B, "m": _HEADS, "c": 1.0} if with_c else B

    def build(z: Array, version: Version) -> Built:
        X, q, theta = _input(z)
        h, slope = _slope(X, q, theta)
        full = np.concatenate([[h], slope]) / math.sqrt(_HEADS) if with_c else slope
        attained = float(np.linalg.norm(full[part]))
        if attained < 1e-3:
            return None
        return {"X": X, "q": q, "theta": theta}, Instance(attained, inputs(theta))

    def instance(data: Data, version: Version) -> Instance:
        X, q, theta = array(data["X"]), array(data["q"]), array(data["theta"])
        if with_c:
            full = gradient(lambda t: t[0] * _head(X, q, t[1:]) / math.sqrt(_HEADS), np.concatenate([[1.0], theta]))
        else:
            full = gradient(lambda t: _head(X, q, t), theta)
        return Instance(float(np.linalg.norm(full[part])), inputs(theta))

    versions: tuple[Version, ...] = ("printed", "sound") if variant in ("value", "L1") else ("sound",)
    what = "random search and hill climbing over tokens and one head"
    search = explore(_IN + _SIZE, build)
    return Attack(id, what, search, instance, versions, (variant,), points=1500, seconds=0.5, label=variant)


def _bend_search(search: Search) -> list[Candidate]:
    import jax
    import jax.numpy as jnp

    def ball(rows: Any) -> Any:
        return rows * jnp.minimum(1.0, 1 / jnp.sqrt(jnp.sum(rows**2, axis=-1, keepdims=True) + 1e-18))

    def objective(point: dict[str, Any]) -> Any:
        X, q = ball(point["X"]).T, ball(point["q"][None])[0]

        def head(theta: Any) -> Any:
            return jnp.tanh(theta[:_D] @ (X @ jax.nn.softmax(X.T @ (theta[_D:].reshape(_D, _D) @ q))))

        B = jnp.sqrt(jnp.sum(point["theta"][:_D] ** 2) + 1e-12)
        curve = jax.hessian(head)(point["theta"])
        # Frobenius and operator norm differ by a factor; the square of the square points at the largest eigenvalue.
        size = jnp.sum((curve @ curve) ** 2) ** 0.25
        return jnp.log(size) - jnp.log(0.77 * jnp.maximum(1.0, B) ** 2 + 0.5 * (0.77 * B + jnp.sqrt(0.6 * B**2 + 4.0)))

    def draw(rng: np.random.Generator) -> dict[str, Array]:
        theta = rng.normal(size=_SIZE) * np.exp(rng.uniform(-1, 1.5))
        return {"X": rng.normal(size=(_T, _D)), "q": rng.normal(size=_D), "theta": theta}

    found = []
    for point in ascend(objective, draw, search, restarts=64, rate=0.05):
        data = {"X": into_ball(point["X"], 1.0).T, "q": into_ball(point["q"], 1.0), "theta": point["theta"]}
        found.append(Candidate(data, _bend(data, "sound").attained))
    return found


def _bend(data: Data, version: Version) -> Instance:
    X, q, theta = array(data["X"]), array(data["q"]), array(data["theta"])
    curve = hessian(lambda t: _head(X, q, t), theta)
    return Instance(spectral_norm(curve), {"activation": "tanh", "B": float(np.linalg.norm(theta[:_D]))})


# --- arda.lem3, lem6, thm1: two paired heads moved within their radii ------------------------------------------------

_RHO = {"rho_c": 1.0, "rho_u": 1.0, "rho_w": 1.0}
_NU = {"nu_c": 0.8, "nu_u": 0.8, "nu_w": 0.8}
_ROOT = math.sqrt(_HEADS)


def _paired(z: Array, radius: float) -> tuple[Array, Array, Array]:
    """A start (||u|| <= sqrt d, so that the event holds) and moves (dc, dtheta) of both heads, each in its ball."""
    start = z[:_SIZE].copy()
    start[:_D] = into_ball(start[:_D], math.sqrt(_D))
    moves = z[_SIZE : _SIZE + _HEADS * (1 + _SIZE)].reshape(_HEADS, 1 + _SIZE).copy()
    for move in moves:
        move[0] = np.clip(move[0], -radius / _ROOT, radius / _ROOT)
        move[1 : 1 + _D] = into_ball(move[1 : 1 + _D], radius / _ROOT)
        move[1 + _D :] = into_ball(move[1 + _D :], radius / _ROOT)
    return start, moves, z[_SIZE + _HEADS * (1 + _SIZE) :]


_PAIR = _SIZE + _HEADS * (1 + _SIZE)
_SIGNS = (1.0, -1.0)


def _output(X: Array, q: Array, start: Array, moves: Array) -> tuple[float, float]:
    """f and its linearisation at the start, where f = 0."""
    h0, slope = _slope(X, q, start)
    f = sum((c + m[0]) * _slope(X, q, start + m[1:])[0] for c, m in zip(_SIGNS, moves, strict=True)) / _ROOT
    lin = sum(m[0] * h0 + c * float(slope @ m[1:]) for c, m in zip(_SIGNS, moves, strict=True)) / _ROOT
    return float(f), float(lin)


def _network(X: Array, q: Array, start: Array) -> Any:
    """f as a function of all parameters, for complex steps."""

    def f(moves: Any) -> Any:
        rows = moves.reshape(_HEADS, 1 + _SIZE)
        return sum((c + m[0]) * _head(X, q, start + m[1:]) for c, m in zip(_SIGNS, rows, strict=True)) / _ROOT

    return f


def _width_inputs(start: Array, more: Mapping[str, Any], version: Version) -> dict[str, Any]:
    common = {"activation": "tanh", "m": _HEADS, "d": _D, **_RHO, "delta_R": 0.5, **more}
    return {**common, "u_norms": [float(np.linalg.norm(start[:_D]))] * _HEADS} if version == "sound" else common


def _moved_attack(id: str, kind: str, more: Mapping[str, Any], variants: tuple[str, ...], seconds: float) -> Attack:
    target = kind == "merged"

    def build(z: Array, version: Version) -> Built:
        X, q, rest = _input(z)
        start, moves, rest = _paired(rest, 1.0)
        data = {"X": X, "q": q, "start": start, "moves": moves}
        f, lin = _output(X, q, start, moves)
        attained = abs(f - lin) if kind == "linear" else abs(f)
        if target:
            _, goal, _ = _paired(np.concatenate([start, rest]), 0.8)
            data["goal"] = goal
            slopes = [_slope(X, q, start + m[1:]) for m in moves]
            inner = sum(
                s[0] * (m[0] - g[0]) + (c + m[0]) * float(s[1] @ (m[1:] - g[1:]))
                for c, m, g, s in zip(_SIGNS, moves, goal, slopes, strict=True)
            )
            attained = abs(inner / _ROOT - f + _output(X, q, start, goal)[1])
        return data, Instance(attained, _width_inputs(start, more, version))

    def instance(data: Data, version: Version) -> Instance:
        X, q, start, moves = (array(data[name]) for name in ("X", "q", "start", "moves"))
        f = _network(X, q, start)
        here, zero = moves.ravel(), np.zeros(moves.size)
        value = float(f(here))
        if kind == "output":
            attained = abs(value)
        elif kind == "linear":
            attained = abs(value - float(derivative(f, zero, here)))
        else:
            goal = array(data["goal"]).ravel()
            inner = float(derivative(f, here, here - goal))
            attained = abs(inner - value + float(derivative(f, zero, goal)))
        return Instance(attained, _width_inputs(start, more, version))

    size = _IN + _PAIR + (_HEADS * (1 + _SIZE) if target else 0)
    versions: tuple[Version, ...] = ("sound",) if target else ("printed", "sound")
    what = "random search and hill climbing over inputs, initial heads and their moves"
    return Attack(
        id, what, explore(size, build), instance, versions, variants, points=1500, seconds=seconds, label=kind
    )


# --- arda.lem5: random features, one token, v_c constant: a mean of independent tanh(s) ------------------------------


def _feature_inputs(data: Data) -> dict[str, Any]:
    nu = {"nu_c": 1.0, "nu_u": 1e-9, "nu_w": 1e-9}
    return {"activation": "tanh", "m": data["m"], "d": 1, **nu, "n": 1, "delta": data["delta"]}


def _feature_quantile(data: Data, rng: np.random.Generator) -> float:
    """A lower estimate of the (1 - delta)-quantile of |mean of m/2 tanh(s_i)|, s standard normal."""
    errors = np.sort(np.abs(np.tanh(rng.normal(size=(data["runs"], data["m"] // 2))).mean(axis=1)))
    runs, delta = data["runs"], data["delta"]
    index = math.floor(runs * (1 - delta) - 4 * math.sqrt(runs * delta * (1 - delta)))
    return float(errors[max(index, 0)])


def _feature_search(search: Search) -> list[Candidate]:
    found = []
    for m in (2, 4, 16):
        runs = search.points // 3 + 1
        data = {"m": m, "delta": float(search.rng.uniform(0.05, 0.5)), "runs": runs}
        search.spent += runs
        found.append(Candidate(data, _feature_quantile(data, search.rng)))
    return found


def _feature(data: Data, version: Version) -> Instance:
    return Instance(_feature_quantile(data, np.random.default_rng(1)), _feature_inputs(data))


# --- arda.def1, arda.fact4: norms of Gaussian vectors ----------------------------------------------------------------


def _norm_tail(data: Data) -> float:
    single = float(gammaincc(data["d"] / 2, (math.sqrt(data["d"]) + data["t"]) ** 2 / 2))
    return -math.expm1(data["copies"] * math.log1p(-single))


def _norm_tail_again(data: Data) -> float:
    single = chi_tail(data["d"], math.sqrt(data["d"]) + data["t"], 12.0)
    return float(1.0 - (1.0 - single) ** data["copies"])


def _norm_attack(id: str, inputs: Callable[[Data], dict[str, Any]]) -> Attack:
    return closed_form(
        id,
        "the exact law of the norm of a Gaussian vector",
        {"d": (1.0, 30.0), "t": (0.05, 3.0), "copies": (1.0, 500.0)},
        lambda data, version: inputs(data),
        _norm_tail,
        _norm_tail_again,
        ["d", "copies"],
        points=1200,
        seconds=0.3,
    )


# --- arda.prop2: an independently recurrent unit ---------------------------------------------------------------------

_STEPS, _U = 3, 1.0
_RECURRENT: dict[str, Any] = {
    "activation": "tanh",
    "m": 10**12,
    "T": _STEPS,
    "alpha": _U,
    "n": 10,
    "delta": 0.05,
    "eta": 1e-3,
    "tau": 10,
    **dict.fromkeys(("rho_c", "rho_u", "rho_w", "nu_c", "nu_u", "nu_w"), 1e-3),
}


def _unit(x: Any, theta: Any) -> Any:
    h = 0.0 * theta[0]
    for token in x:
        h = np.tanh(theta[0] * token + theta[1] * h)
    return h


def _recurrent_build(z: Array, version: Version) -> Built:
    x, theta = np.tanh(z[:_STEPS]), np.array([z[_STEPS], _U * math.tanh(z[_STEPS + 1])])
    h, by_w, by_u = 0.0, 0.0, 0.0
    for token in x:
        new = math.tanh(theta[0] * token + theta[1] * h)
        by_w, by_u = (1 - new**2) * (token + theta[1] * by_w), (1 - new**2) * (h + theta[1] * by_u)
        h = new
    return {"x": x, "theta": theta}, Instance(math.hypot(by_w, by_u), _RECURRENT)


def _recurrent(data: Data, version: Version) -> Instance:
    x = array(data["x"])
    slope = gradient(lambda t: _unit(x, t), array(data["theta"]))
    return Instance(float(np.linalg.norm(slope)), _RECURRENT)


_RUN = {**_NU, "n": 4, "delta": 0.5, "eta": 0.01, "tau": 10}
ATTACKS = [
    _gradient_attack("arda.lem1", "value", slice(None), True),
    _gradient_attack("arda.lem1", "u_block", slice(1, 1 + _D), True),
    _gradient_attack("arda.lem1", "W_block", slice(1 + _D, None), True),
    _gradient_attack("arda.lem2", "L1", slice(None), False),
    Attack(
        "arda.lem2",
        "gradient ascent on the Hessian of one head over tokens and weights",
        _bend_search,
        _bend,
        versions=("sound",),
        variants=("L2",),
        tolerance=1e-6,
        points=6400,
        seconds=3.0,
        label="L2",
    ),
    _moved_attack("arda.lem3", "linear", {}, ("value", "init"), 0.8),
    _moved_attack("arda.lem6", "output", _NU, ("value", "init"), 0.8),
    _moved_attack("arda.thm1", "merged", _RUN, ("eps_nl",), 1.2),
    Attack(
        "arda.lem5",
        "simulated initialisations, one token, a constant representer",
        _feature_search,
        _feature,
        agreement=0.3,
        points=3000,
        seconds=0.2,
    ),
    _norm_attack("arda.def1", lambda data: {"m": 2 * data["copies"], "d": data["d"], "R": data["t"]}),
    _norm_attack("arda.fact4", lambda data: {"d": data["d"], "t": data["t"], "copies": data["copies"]}),
    Attack(
        "arda.prop2",
        "random search and hill climbing over a recurrent unit and its inputs",
        explore(_STEPS + 2, _recurrent_build),
        _recurrent,
        versions=("sound",),
        variants=("L1",),
        points=2000,
        seconds=0.4,
    ),
]
REASONS = {
    "arda.thm1:printed": "its constants are lost in our copy; a rebuilt value proves nothing about the paper",
    "arda.prop1": "Theorem 1 in expectation over mini-batches; its merged error is attacked there",
    "arda.prop2:printed": "its display is missing from our copy",
    "arda.rem9": "Theorem 1 with an additional error; the printed display is lost in our copy",
    "arda.def2": "a definition, and the radii it implies",
    "arda.rem7": "a norm in a function space: no instance has a number to compare it with",
    "arda.eq11": "a construction: the distance of transported parameters is an identity",
    "arda.lem4": "an identity for a kernel, computed by quadrature; the tests compare it with simulation",
}
