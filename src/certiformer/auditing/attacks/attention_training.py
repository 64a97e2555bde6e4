"""Deora et al.: derivatives of one attention head and of its logistic loss, steps of gradient descent, segments."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from certiformer.auditing.attack import Attack, Candidate, Data, Instance, Version, side
from certiformer.auditing.search import Array, Built, Search, explore
from certiformer.auditing.verify import (
    array,
    attention_output,
    gradient,
    hessian,
    logistic_loss,
    softmax,
    spectral_norm,
)
from certiformer.theory.core import find

_T, _D = 2, 1
_SIZE = _T * _D + _D * _D  # parameters of one head
_GRID = np.linspace(0.0, 1.0, 33)


# --- the search's own model: formulas written out, all examples and points of a segment at once ----------------------


def _unpack(theta: Array) -> tuple[Array, Array]:
    return theta[..., : _T * _D].reshape(*theta.shape[:-1], _T, _D), theta[..., _T * _D :].reshape(
        *theta.shape[:-1], _D, _D
    )


def _forward(X: Array, theta: Array) -> tuple[Array, Array, Array]:
    """Outputs (..., n) and their gradients (..., n, parameters) for parameters (..., p)."""
    U, W = _unpack(theta)
    P = softmax(np.einsum("nti,...ij,nsj->...nts", X, W, X))
    A = np.einsum("...nts,nsd->...ntd", P, X)
    outputs = np.einsum("...td,...ntd->...n", U, A)
    values = np.einsum("...td,nsd->...nts", U, X)
    centred = P * (values - np.sum(P * values, axis=-1, keepdims=True))
    by_score = np.einsum("nti,...nts,nsj->...nij", X, centred, X)
    flat = (A.reshape(*A.shape[:-2], -1), by_score.reshape(*by_score.shape[:-2], -1))
    return outputs, np.concatenate(flat, axis=-1), A


def _loss(X: Array, y: Array, theta: Array, weights: Array | None = None) -> tuple[Array, Array]:
    """Loss and gradient; weights default to the mean."""
    weights = np.full(len(y), 1 / len(y)) if weights is None else weights
    outputs, slopes, _ = _forward(X, theta)
    z = y * outputs
    push = -y * np.exp(-np.logaddexp(0.0, z)) * weights
    return np.logaddexp(0.0, -z) @ weights, np.einsum("...n,...np->...p", push, slopes)


def _bend(slope: Callable[[Array], Array], theta: Array) -> Array:
    """The spectrum of a Hessian, by central differences of gradients."""
    step = 1e-5
    columns = np.array([(slope(theta + step * e) - slope(theta - step * e)) / (2 * step) for e in np.eye(_SIZE)])
    return np.linalg.eigvalsh((columns + columns.T) / 2)


def _radius(X: Any) -> float:
    return float(np.max(np.linalg.norm(array(X), axis=-1)))


def _b(*thetas: Array) -> float:
    return max(float(np.linalg.norm(theta[: _T * _D])) for theta in thetas)


def _beta1(b: float, R: float) -> float:
    return math.sqrt(_T) * R * max(1.0, R * R * b)


# --- the second path: everything from the output by complex steps ----------------------------------------------------


def _plain_loss(X: Any, y: Any, weights: Any = None) -> Callable[[Any], Any]:
    def loss(theta: Any) -> Any:
        U, W = theta[: _T * _D].reshape(_T, _D), theta[_T * _D :].reshape(_D, _D)
        return logistic_loss(array(X), array(y), U, W, weights)

    return loss


def _plain_output(X: Any) -> Callable[[Any], Any]:
    def output(theta: Any) -> Any:
        return attention_output(array(X), theta[: _T * _D].reshape(_T, _D), theta[_T * _D :].reshape(_D, _D))

    return output


def _tokens(z: Array, count: int = 1) -> Array:
    return np.tanh(z[: count * _T * _D].reshape(count, _T, _D))


def _shape(X: Any, b: float) -> dict[str, Any]:
    return {"b": b, "T": _T, "R": _radius(X), "d": _D, "H": 1}


# --- deora.prop1, deora.lem1: derivatives of the output ---------------------------------------------------------------


def _scores_sum(X: Array, theta: Array) -> float:
    U, _ = _unpack(theta)
    return float(np.sum(np.max(np.abs(X[0] @ U.T), axis=0)))


def _output_inputs(id: str, X: Array, theta: Array) -> dict[str, Any]:
    inputs = {"T": _T, "R": _radius(X), "Y": _scores_sum(X, theta)}
    return inputs | ({"Xmax": float(np.max(np.abs(X))), "d": _D} if id == "deora.prop1" else {})


def _output_derivative(id: str, variant: str, part: slice) -> Attack:
    def measure(X: Array, theta: Array) -> float:
        if variant.startswith("hessian"):
            return float(np.max(np.abs(_bend(lambda at: _forward(X, at)[1][0], theta))))
        return float(np.linalg.norm(_forward(X, theta)[1][0][part]))

    def build(z: Array, version: Version) -> Built:
        X, theta = _tokens(z), z[_T * _D :]
        if _radius(X) < 0.05 or _scores_sum(X, theta) < 1e-3:
            return None
        return {"X": X, "theta": theta}, Instance(measure(X, theta), _output_inputs(id, X, theta))

    def instance(data: Data, version: Version) -> Instance:
        X, theta = array(data["X"]), array(data["theta"])
        output = _plain_output(X[0])
        if variant.startswith("hessian"):
            attained = spectral_norm(hessian(output, theta))
        else:
            attained = float(np.linalg.norm(gradient(output, theta)[part]))
        return Instance(attained, _output_inputs(id, X, theta))

    return Attack(
        id,
        "random search and hill climbing over tokens and weights of one head",
        explore(_T * _D + _SIZE, build),
        instance,
        versions=("printed", "sound") if id == "deora.prop1" else ("sound",),
        variants=(variant,),
        tolerance=1e-6 if variant == "hessian" else None,
        points=1500,
        seconds=0.5,
        label=variant,
    )


# --- deora.cor1: derivatives of the loss -----------------------------------------------------------------------------


def _loss_derivative(variant: str) -> Attack:
    def measure(X: Array, theta: Array) -> float:
        y = np.ones(1)
        value, slope = _loss(X, y, theta)
        if variant == "beta1":
            return float(np.linalg.norm(slope) / value)
        spectrum = _bend(lambda at: _loss(X, y, at)[1], theta)
        return float(np.max(np.abs(spectrum)) if variant == "beta2" else -spectrum[0] / value)

    def build(z: Array, version: Version) -> Built:
        X, theta = _tokens(z), z[_T * _D :]
        if _radius(X) < 0.05 or np.max(np.abs(theta)) > 30:
            return None
        return {"X": X, "theta": theta}, Instance(measure(X, theta), _shape(X, _b(theta)))

    def instance(data: Data, version: Version) -> Instance:
        X, theta = array(data["X"]), array(data["theta"])
        loss = _plain_loss(X, [1.0])
        value = float(loss(theta))
        if variant == "beta1":
            attained = float(np.linalg.norm(gradient(loss, theta))) / value
        else:
            spectrum = np.linalg.eigvalsh(hessian(loss, theta))
            attained = float(np.max(np.abs(spectrum)) if variant == "beta2" else -spectrum[0] / value)
        return Instance(attained, _shape(X, _b(theta)))

    return Attack(
        "deora.cor1",
        "random search and hill climbing over one example and one head",
        explore(_T * _D + _SIZE, build),
        instance,
        variants=(variant,),
        agreement=1e-4,
        tolerance=None if variant == "beta1" else 1e-6,
        points=1500,
        seconds=0.6,
        label=variant,
    )


# --- steps and segments ----------------------------------------------------------------------------------------------


def _pair(z: Array, count: int) -> tuple[Array, Array, Array, float]:
    """Tokens, two parameters, a step size, from one free vector."""
    X = _tokens(z, count)
    rest = np.clip(z[count * _T * _D :], -30.0, 30.0)
    first, second = rest[:_SIZE], rest[_SIZE : 2 * _SIZE]
    return X, first, second, float(np.exp(np.clip(rest[2 * _SIZE], -6, 3)))


def _segment_maximum(values: Array, distance: float, beta1: float) -> float:
    """A bound on the loss of the whole segment from a grid: |grad L| <= beta1 L between its points."""
    return float(np.max(values)) * math.exp(min(beta1 * distance / (2 * (len(_GRID) - 1)), 300.0))


def _descent_inputs(X: Array, theta: Array, following: Array, eta: float, L: float, slope: Array) -> dict[str, Any]:
    named = {"L": L, "gradient": float(np.linalg.norm(slope)), "eta": eta, "b_next": _b(following)}
    return {**named, **_shape(X, _b(theta))}


def _descent_build(z: Array, version: Version) -> Built:
    X, theta, _, eta = _pair(z, 1)
    y = np.ones(1)
    value, slope = _loss(X, y, theta)
    following = theta - eta * slope
    if value < 1e-6 or _radius(X) < 0.05:
        return None
    after = float(_loss(X, y, following)[0])
    inputs = _descent_inputs(X, theta, following, eta, float(value), slope)
    return {"X": X, "theta": theta, "eta": eta}, Instance(after, inputs)


def _descent(data: Data, version: Version) -> Instance:
    X, theta, eta = array(data["X"]), array(data["theta"]), float(data["eta"])
    loss = _plain_loss(X, [1.0])
    slope = gradient(loss, theta)
    following = theta - eta * slope
    return Instance(float(loss(following)), _descent_inputs(X, theta, following, eta, float(loss(theta)), slope))


def _expansion_inputs(X: Array, here: Array, there: Array, L: float, slope: Array, lowest: float) -> dict[str, Any]:
    shape = {name: value for name, value in _shape(X, _b(here, there)).items() if name != "d"}
    inner = float(slope @ (there - here))
    return {"L": L, "inner": inner, "distance": float(np.linalg.norm(there - here)), "lambda_min": lowest, **shape}


def _expansion_build(z: Array, version: Version) -> Built:
    X, here, there, _ = _pair(z, 1)
    y = np.ones(1)
    value, slope = _loss(X, y, here)
    if np.linalg.norm(there - here) < 0.1 or _radius(X) < 0.1:
        return None
    between = (here + s * (there - here) for s in _GRID[::16])
    lowest = min(float(_bend(lambda at: _loss(X, y, at)[1], point)[0]) for point in between)
    attained = float(_loss(X, y, there)[0])
    inputs = _expansion_inputs(X, here, there, float(value), slope, lowest)
    return {"X": X, "here": here, "there": there}, Instance(attained, inputs)


def _expansion(data: Data, version: Version) -> Instance:
    X, here, there = array(data["X"]), array(data["here"]), array(data["there"])
    loss = _plain_loss(X, [1.0])
    lowest = min(float(np.linalg.eigvalsh(hessian(loss, here + s * (there - here)))[0]) for s in _GRID[::16])
    inputs = _expansion_inputs(X, here, there, float(loss(here)), gradient(loss, here), lowest)
    return Instance(float(loss(there)), inputs)


def _between(X: Array, here: Array, there: Array, values: Array) -> dict[str, Any]:
    """The distance of two weights, and a bound on the loss between them from its values on a grid."""
    distance, b = float(np.linalg.norm(there - here)), _b(here, there)
    return {"distance": distance, "Lmax": _segment_maximum(values, distance, _beta1(b, _radius(X))), **_shape(X, b)}


def _target_inputs(X: Array, here: Array, there: Array, Lt: float, slope: Array, values: Array) -> dict[str, Any]:
    return {"Lt": Lt, "inner": float(slope @ (here - there)), **_between(X, here, there, values)}


def _target_build(z: Array, version: Version) -> Built:
    X, here, there, _ = _pair(z, 1)
    y = np.ones(1)
    if np.linalg.norm(there - here) < 1e-3 or _radius(X) < 0.05:
        return None
    values, _ = _loss(X, y, here + _GRID[:, None] * (there - here))
    value, slope = _loss(X, y, here)
    inputs = _target_inputs(X, here, there, float(values[-1]), slope, values)
    return {"X": X, "here": here, "there": there}, Instance(float(value), inputs)


def _target(data: Data, version: Version) -> Instance:
    X, here, there = array(data["X"]), array(data["here"]), array(data["there"])
    loss = _plain_loss(X, [1.0])
    values = array([float(loss(here + s * (there - here))) for s in _GRID])
    inputs = _target_inputs(X, here, there, float(loss(there)), gradient(loss, here), values)
    return Instance(float(loss(here)), inputs)


def _spread_inputs(X: Array, here: Array, there: Array, eta: float, values: Array) -> dict[str, Any]:
    return {"eta": eta, **_between(X, here, there, values)}


def _spread_build(z: Array, version: Version) -> Built:
    X, here, there, eta = _pair(z, 1)
    y = np.ones(1)
    if np.linalg.norm(there - here) < 1e-2 or _radius(X) < 0.05:
        return None
    values, slopes = _loss(X, y, here + _GRID[:, None] * (there - here))
    attained = float(np.linalg.norm(here - there - eta * (slopes[0] - slopes[-1])))
    data = {"X": X, "here": here, "there": there, "eta": eta}
    return data, Instance(attained, _spread_inputs(X, here, there, eta, values))


def _spread(data: Data, version: Version) -> Instance:
    X, here, there, eta = array(data["X"]), array(data["here"]), array(data["there"]), float(data["eta"])
    loss = _plain_loss(X, [1.0])
    values = array([float(loss(here + s * (there - here))) for s in _GRID])
    after = here - eta * gradient(loss, here) - (there - eta * gradient(loss, there))
    return Instance(float(np.linalg.norm(after)), _spread_inputs(X, here, there, eta, values))


_OUT = np.array([0.0, 0.5])


def _left_out_build(z: Array, version: Version) -> Built:
    """Two examples; the first is left out of the second run."""
    X, here, there, eta = _pair(z, 2)
    y = np.ones(2)
    if np.linalg.norm(there - here) < 1e-2 or _radius(X) < 0.05:
        return None
    values, slopes = _loss(X, y, here + _GRID[:, None] * (there - here), _OUT)
    _, slope = _loss(X, y, here)
    first = float(_loss(X[:1], y[:1], here)[0])
    attained = float(np.linalg.norm(here - eta * slope - there + eta * slopes[-1]))
    inputs = {**_spread_inputs(X, here, there, eta, values), "li": first, "n": 2}
    return {"X": X, "here": here, "there": there, "eta": eta}, Instance(attained, inputs)


def _left_out(data: Data, version: Version) -> Instance:
    X, here, there, eta = array(data["X"]), array(data["here"]), array(data["there"]), float(data["eta"])
    full, rest = _plain_loss(X, [1.0, 1.0]), _plain_loss(X, [1.0, 1.0], _OUT)
    values = array([float(rest(here + s * (there - here))) for s in _GRID])
    after = here - eta * gradient(full, here) - (there - eta * gradient(rest, there))
    inputs = {**_spread_inputs(X, here, there, eta, values), "li": float(_plain_loss(X[:1], [1.0])(here)), "n": 2}
    return Instance(float(np.linalg.norm(after)), inputs)


def _curvature(X: Array, here: Array, there: Array, version: Version) -> float:
    beta3 = side(find("deora.cor1")(**_shape(X, _b(here, there))), version)["beta3"].value
    return float(beta3 * np.sum((there - here) ** 2))


def _segment_build(z: Array, version: Version) -> Built:
    X, here, there, _ = _pair(z, 1)
    y = np.ones(1)
    if _radius(X) < 0.05:
        return None
    values, _ = _loss(X, y, here + _GRID[:, None] * (there - here))
    inputs = {"q": _curvature(X, here, there, version), "L": float(max(values[0], values[-1]))}
    return {"X": X, "here": here, "there": there}, Instance(float(np.max(values)), inputs)


def _segment(data: Data, version: Version) -> Instance:
    X, here, there = array(data["X"]), array(data["here"]), array(data["there"])
    loss = _plain_loss(X, [1.0])
    values = [float(loss(here + s * (there - here))) for s in _GRID]
    return Instance(max(values), {"q": _curvature(X, here, there, version), "L": max(values[0], values[-1])})


# --- deora.thm1: runs of gradient descent against targets on their own path -------------------------------------------

_STEPS, _EXAMPLES = 60, 3


def _run_inputs(X: Array, start: Array, target: Array, eta: float, L0: float, Lt: float) -> dict[str, Any]:
    moved = {"D": float(np.linalg.norm(target - start)), "b": _b(target), "b0": _b(start), "Lt": Lt, "L0": L0}
    return {**moved, "H": 1, "K": _STEPS, "eta": eta, "T": _T, "R": _radius(X), "d": _D}


def _run_search(search: Search) -> list[Candidate]:
    """Every iterate is a point; the certificate of each run is evaluated once."""
    found = []
    while search.spent < search.points:
        rng = search.rng
        X = float(rng.uniform(0.2, 0.8)) * np.tanh(rng.normal(size=(_EXAMPLES, _T, _D)))
        y, start = rng.choice([-1.0, 1.0], size=_EXAMPLES), 0.3 * rng.normal(size=_SIZE)
        data: dict[str, Any] = {
            "X": X,
            "y": y,
            "start": start,
            "eta": float(rng.uniform(0.05, 1.0)),
            "target": int(rng.integers(1, 30)),
        }
        theta, losses, target = start, [], start
        for k in range(1, _STEPS + 1):
            theta = theta - data["eta"] * _loss(X, y, theta)[1]
            losses.append(float(_loss(X, y, theta)[0]))
            target = theta if k == data["target"] else target
        search.spent += _STEPS
        attained = float(np.mean(losses))
        inputs = _run_inputs(X, start, target, data["eta"], float(_loss(X, y, start)[0]), float(_loss(X, y, target)[0]))
        found.append((search.score(attained, inputs), Candidate(data, attained)))
    found.sort(key=lambda entry: -entry[0])
    return [candidate for score, candidate in found[:3] if score > 0]


def _run(data: Data, version: Version) -> Instance:
    X, start, eta = array(data["X"]), array(data["start"]), float(data["eta"])
    loss = _plain_loss(X, data["y"])
    theta, losses, target = start, [], start
    for k in range(1, _STEPS + 1):
        theta = theta - eta * gradient(loss, theta)
        losses.append(float(loss(theta)))
        target = theta if k == int(data["target"]) else target
    inputs = _run_inputs(X, start, target, eta, float(loss(start)), float(loss(target)))
    return Instance(math.fsum(losses) / len(losses), inputs)


_ONE, _TWO = _T * _D + 2 * _SIZE + 1, 2 * _T * _D + 2 * _SIZE + 1
_WHAT = "random search and hill climbing over one head and its data"

ATTACKS = [
    _output_derivative("deora.prop1", "gradient", slice(None)),
    _output_derivative("deora.prop1", "hessian", slice(None)),
    _output_derivative("deora.lem1", "gradient_U", slice(0, _T * _D)),
    _output_derivative("deora.lem1", "gradient_W", slice(_T * _D, None)),
    _loss_derivative("beta1"),
    _loss_derivative("beta2"),
    _loss_derivative("beta3"),
    Attack("deora.eq13", _WHAT, explore(_ONE, _descent_build), _descent, points=1500, seconds=0.4),
    Attack("deora.eq14", _WHAT, explore(_ONE, _expansion_build), _expansion, agreement=1e-4, points=1200, seconds=2.0),
    Attack("deora.eq16", _WHAT, explore(_ONE, _target_build), _target, points=1500, seconds=0.6),
    Attack("deora.eq19", _WHAT, explore(_ONE, _spread_build), _spread, points=1500, seconds=0.6),
    Attack("deora.eq21", _WHAT, explore(_TWO, _left_out_build), _left_out, points=2500, seconds=1.2),
    Attack(
        "deora.thm1",
        "runs of gradient descent with a target on their own path: the mean loss against the certificate",
        _run_search,
        _run,
        versions=("sound",),
        variants=("value",),
        points=1200,
        seconds=2.0,
    ),
    Attack("deora.prop4", _WHAT, explore(_ONE, _segment_build), _segment, points=1500, seconds=0.6),
]
REASONS = {
    "deora.lem1:printed": "it states identities of derivatives and no number",
    "deora.eq17": "the sum of (13) and (16) over the steps, which are attacked one by one",
    "deora.thm1:printed": "its conditions ask for billions of heads: nothing that can be run is within its scope",
    "deora.thm2": "an expectation over training sets of runs whose certificates need thousands of heads",
    "deora.lem3": "an expectation over training sets under hypotheses on the whole distribution",
    "deora.cor2": "combines deora.ass2 with Theorems 1 and 2; its first step is attacked as deora.ass2",
    "deora.eq12": "a number of heads that suffices, up to a constant: no instance contradicts it",
    "deora.def1": "a definition: the margin that a given direction achieves",
}
