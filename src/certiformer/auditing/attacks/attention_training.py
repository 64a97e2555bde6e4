"""Deora et al.: derivatives of one attention head and of its logistic loss, steps of gradient descent, segments."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from certiformer.auditing.attack import Attack, Candidate, Data, Instance, Version, side
from certiformer.auditing.plain_numpy import (
    array,
    attention_output,
    gradient,
    hessian,
    logistic_loss,
    softmax,
)
from certiformer.auditing.search import Array, Built, Search, explore
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


def _radius(X: Any) -> float:
    return float(np.max(np.linalg.norm(array(X), axis=-1)))


def _b(*thetas: Array) -> float:
    return max(float(np.linalg.norm(theta[: _T * _D])) for theta in thetas)


def _beta1(b: float, R: float) -> float:
    return math.sqrt(_T) * R * max(1.0, R * R * b)


def _tokens(z: Array, count: int = 1) -> Array:
    return np.tanh(z[: count * _T * _D].reshape(count, _T, _D))


def _shape(X: Any, b: float) -> dict[str, Any]:
    return {"b": b, "T": _T, "R": _radius(X), "d": _D, "H": 1}


# --- two ways to the same derivatives: formulas written out for the search, complex steps for the verdict -------------


class Written:
    """A function by its values and slopes at any points."""

    def __init__(self, both: Callable[[Array], tuple[Array, Array]]) -> None:
        self.both = both

    def at(self, theta: Array) -> tuple[float, Array]:
        """Value and slope."""
        value, slope = self.both(theta)
        return float(value), slope

    def along(self, here: Array, there: Array) -> Array:
        """Values on a grid of the segment."""
        return self.both(here + _GRID[:, None] * (there - here))[0]

    def spectrum(self, theta: Array) -> Array:
        """The spectrum of the Hessian, by central differences of slopes."""
        step = 1e-5
        ends = [(self.both(theta + step * e)[1], self.both(theta - step * e)[1]) for e in np.eye(_SIZE)]
        columns = np.array([(above - below) / (2 * step) for above, below in ends])
        return array(np.linalg.eigvalsh((columns + columns.T) / 2))


class Stepped:
    """The same function by its formula alone."""

    def __init__(self, value: Callable[[Any], Any]) -> None:
        self.value = value

    def at(self, theta: Array) -> tuple[float, Array]:
        return float(self.value(theta)), gradient(self.value, theta)

    def along(self, here: Array, there: Array) -> Array:
        return array([float(self.value(here + s * (there - here))) for s in _GRID])

    def spectrum(self, theta: Array) -> Array:
        return array(np.linalg.eigvalsh(hessian(self.value, theta)))


class Way(NamedTuple):
    """The output of one head on an example, and its logistic loss on some with label 1, as functions of its weights."""

    output: Callable[[Any], Written | Stepped]
    loss: Callable[..., Written | Stepped]


def _plain_loss(X: Any, y: Any, weights: Any = None) -> Callable[[Any], Any]:
    return lambda theta: logistic_loss(array(X), array(y), *_plain_weights(theta), weights)


def _plain_weights(theta: Any) -> tuple[Any, Any]:
    return theta[: _T * _D].reshape(_T, _D), theta[_T * _D :].reshape(_D, _D)


def _written_output(X: Array) -> Callable[[Array], tuple[Array, Array]]:
    def both(theta: Array) -> tuple[Array, Array]:
        outputs, slopes, _ = _forward(X, theta)
        return outputs[0], slopes[0]

    return both


_SEARCHED = Way(
    lambda X: Written(_written_output(X)),
    lambda X, weights=None: Written(lambda theta: _loss(X, np.ones(len(X)), theta, weights)),
)
_AGAIN = Way(
    lambda X: Stepped(lambda theta: attention_output(array(X[0]), *_plain_weights(theta))),
    lambda X, weights=None: Stepped(_plain_loss(X, np.ones(len(X)), weights)),
)

Measure = Callable[[Way, Mapping[str, Any], Version], Instance]
_WHAT = "random search and hill climbing over one head and its data"


def _both_ways(
    id: str, size: int, draw: Callable[[Array], Mapping[str, Any] | None], measure: Measure, **more: Any
) -> Attack:
    """An attack on free vectors whose measurement is written once, over either way to the derivatives."""

    def build(z: Array, version: Version) -> Built:
        data = draw(z)
        return None if data is None else (data, measure(_SEARCHED, data, version))

    def instance(data: Data, version: Version) -> Instance:
        return measure(_AGAIN, {name: array(value) for name, value in data.items()}, version)

    return Attack(id, more.pop("what", _WHAT), explore(size, build), instance, points=more.pop("points", 1500), **more)


# --- deora.prop1, deora.lem1: derivatives of the output; deora.cor1: of the loss --------------------------------------


def _scores_sum(X: Array, theta: Array) -> float:
    U, _ = _unpack(theta)
    return float(np.sum(np.max(np.abs(X[0] @ U.T), axis=0)))


def _output_derivative(id: str, variant: str, part: slice) -> Attack:
    def draw(z: Array) -> Mapping[str, Any] | None:
        X, theta = _tokens(z), z[_T * _D :]
        return None if _radius(X) < 0.05 or _scores_sum(X, theta) < 1e-3 else {"X": X, "theta": theta}

    def measure(way: Way, data: Mapping[str, Any], version: Version) -> Instance:
        X, theta = data["X"], data["theta"]
        output = way.output(X)
        curved = variant == "hessian"
        attained = np.max(np.abs(output.spectrum(theta))) if curved else np.linalg.norm(output.at(theta)[1][part])
        inputs = {"T": _T, "R": _radius(X), "Y": _scores_sum(X, theta)}
        more = {"Xmax": float(np.max(np.abs(X))), "d": _D} if id == "deora.prop1" else {}
        return Instance(float(attained), inputs | more)

    return _both_ways(
        id,
        _T * _D + _SIZE,
        draw,
        measure,
        what="random search and hill climbing over tokens and weights of one head",
        versions=("printed", "sound") if id == "deora.prop1" else ("sound",),
        variants=(variant,),
        tolerance=1e-6 if variant == "hessian" else None,
        seconds=0.5,
        label=variant,
    )


def _loss_derivative(variant: str) -> Attack:
    def draw(z: Array) -> Mapping[str, Any] | None:
        X, theta = _tokens(z), z[_T * _D :]
        return None if _radius(X) < 0.05 or np.max(np.abs(theta)) > 30 else {"X": X, "theta": theta}

    def measure(way: Way, data: Mapping[str, Any], version: Version) -> Instance:
        X, theta = data["X"], data["theta"]
        loss = way.loss(X)
        value, slope = loss.at(theta)
        if variant == "beta1":
            attained = np.linalg.norm(slope) / value
        else:
            spectrum = loss.spectrum(theta)
            attained = np.max(np.abs(spectrum)) if variant == "beta2" else -spectrum[0] / value
        return Instance(float(attained), _shape(X, _b(theta)))

    return _both_ways(
        "deora.cor1",
        _T * _D + _SIZE,
        draw,
        measure,
        what="random search and hill climbing over one example and one head",
        variants=(variant,),
        agreement=1e-4,
        tolerance=None if variant == "beta1" else 1e-6,
        seconds=0.6,
        label=variant,
    )


# --- steps and segments ----------------------------------------------------------------------------------------------


def _pair(names: Sequence[str], *, examples: int = 1, apart: float = 0.0, least: float = 0.05) -> Any:
    """Tokens, two parameters so far apart and a step size, from one free vector; those that are named."""

    def draw(z: Array) -> Mapping[str, Any] | None:
        X = _tokens(z, examples)
        rest = np.clip(z[examples * _T * _D :], -30.0, 30.0)
        here, there = rest[:_SIZE], rest[_SIZE : 2 * _SIZE]
        if _radius(X) < least or np.linalg.norm(there - here) < apart:
            return None
        eta = float(np.exp(np.clip(rest[2 * _SIZE], -6, 3)))
        drawn = {"X": X, "theta": here, "here": here, "there": there, "eta": eta}
        return {name: drawn[name] for name in names}

    return draw


def _descent(way: Way, data: Mapping[str, Any], version: Version) -> Instance:
    X, theta, eta = data["X"], data["theta"], float(data["eta"])
    loss = way.loss(X)
    value, slope = loss.at(theta)
    following = theta - eta * slope
    named = {"L": value, "gradient": float(np.linalg.norm(slope)), "eta": eta, "b_next": _b(following)}
    return Instance(loss.at(following)[0], {**named, **_shape(X, _b(theta))})


def _drawn_descent(z: Array) -> Mapping[str, Any] | None:
    """Where there is some loss to lower."""
    data: Mapping[str, Any] | None = _pair(("X", "theta", "eta"))(z)
    return None if data is None or _loss(data["X"], np.ones(1), data["theta"])[0] < 1e-6 else data


def _expansion(way: Way, data: Mapping[str, Any], version: Version) -> Instance:
    X, here, there = data["X"], data["here"], data["there"]
    loss = way.loss(X)
    value, slope = loss.at(here)
    lowest = min(float(loss.spectrum(here + s * (there - here))[0]) for s in _GRID[::16])
    shape = {name: size for name, size in _shape(X, _b(here, there)).items() if name != "d"}
    named = {"L": value, "inner": float(slope @ (there - here)), "distance": float(np.linalg.norm(there - here))}
    return Instance(loss.at(there)[0], {**named, "lambda_min": lowest, **shape})


def _between(X: Array, here: Array, there: Array, values: Array) -> dict[str, Any]:
    """The distance of two weights, and a bound on the loss between them from its values on a grid.

    |grad L| <= beta1 L between the points of the grid.
    """
    distance, b = float(np.linalg.norm(there - here)), _b(here, there)
    within = math.exp(min(_beta1(b, _radius(X)) * distance / (2 * (len(_GRID) - 1)), 300.0))
    return {"distance": distance, "Lmax": float(np.max(values)) * within, **_shape(X, b)}


def _target(way: Way, data: Mapping[str, Any], version: Version) -> Instance:
    X, here, there = data["X"], data["here"], data["there"]
    loss = way.loss(X)
    values, (value, slope) = loss.along(here, there), loss.at(here)
    named = {"Lt": float(values[-1]), "inner": float(slope @ (here - there))}
    return Instance(value, {**named, **_between(X, here, there, values)})


def _spread(way: Way, data: Mapping[str, Any], version: Version) -> Instance:
    X, here, there, eta = data["X"], data["here"], data["there"], float(data["eta"])
    loss = way.loss(X)
    after = here - there - eta * (loss.at(here)[1] - loss.at(there)[1])
    inputs = {"eta": eta, **_between(X, here, there, loss.along(here, there))}
    return Instance(float(np.linalg.norm(after)), inputs)


_OUT = np.array([0.0, 0.5])


def _left_out(way: Way, data: Mapping[str, Any], version: Version) -> Instance:
    """Two examples; the first is left out of the second run."""
    X, here, there, eta = data["X"], data["here"], data["there"], float(data["eta"])
    full, rest = way.loss(X), way.loss(X, _OUT)
    after = here - eta * full.at(here)[1] - there + eta * rest.at(there)[1]
    inputs = {"eta": eta, **_between(X, here, there, rest.along(here, there)), "li": way.loss(X[:1]).at(here)[0]}
    return Instance(float(np.linalg.norm(after)), {**inputs, "n": 2})


def _segment(way: Way, data: Mapping[str, Any], version: Version) -> Instance:
    X, here, there = data["X"], data["here"], data["there"]
    values = way.loss(X).along(here, there)
    beta3 = side(find("deora.cor1")(**_shape(X, _b(here, there))), version)["beta3"].value
    inputs = {"q": float(beta3 * np.sum((there - here) ** 2)), "L": float(max(values[0], values[-1]))}
    return Instance(float(np.max(values)), inputs)


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
_SEGMENT, _STEP = ("X", "here", "there"), ("X", "here", "there", "eta")

ATTACKS = [
    _output_derivative("deora.prop1", "gradient", slice(None)),
    _output_derivative("deora.prop1", "hessian", slice(None)),
    _output_derivative("deora.lem1", "gradient_U", slice(0, _T * _D)),
    _output_derivative("deora.lem1", "gradient_W", slice(_T * _D, None)),
    _loss_derivative("beta1"),
    _loss_derivative("beta2"),
    _loss_derivative("beta3"),
    _both_ways("deora.eq13", _ONE, _drawn_descent, _descent, seconds=0.4),
    _both_ways(
        "deora.eq14", _ONE, _pair(_SEGMENT, apart=0.1, least=0.1), _expansion, agreement=1e-4, points=1200, seconds=2.0
    ),
    _both_ways("deora.eq16", _ONE, _pair(_SEGMENT, apart=1e-3), _target, seconds=0.6),
    _both_ways("deora.eq19", _ONE, _pair(_STEP, apart=1e-2), _spread, seconds=0.6),
    _both_ways("deora.eq21", _TWO, _pair(_STEP, examples=2, apart=1e-2), _left_out, points=2500, seconds=1.2),
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
    _both_ways("deora.prop4", _ONE, _pair(_SEGMENT), _segment, seconds=0.6),
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
