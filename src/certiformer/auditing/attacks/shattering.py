"""Networks that realise every sign pattern on many samples: 2^M functions, pairwise far apart, of small norm."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from certiformer.auditing.attack import Attack, Data, Instance, Version
from certiformer.auditing.plain_numpy import attention, softmax
from certiformer.auditing.search import family

Inputs = Callable[[Data, Version, float], dict[str, Any]]
_SAMPLES = 8


# --- Trauger: tokens +-(b/sqrt 2)(e_j + e_z) and a CLS token b e_c; W_QK = sum_c e_c s_c^T / M -----------------------


def _scale(data: Data) -> float:
    """Score of the first token of a sample: b^2/(sqrt 2 M) times its sign."""
    return float(data["b"]) ** 2 / (math.sqrt(2.0) * int(data["M"]))


def _margin(data: Data) -> float:
    """(1/sqrt 2)(p_1 - p_2) = sqrt 2 sinh a/(2 cosh a + 1), the third token being CLS with score 0."""
    a = _scale(data)
    return math.sqrt(2.0) * (1 - math.exp(-2 * a)) / (2 * (1 + math.exp(-2 * a)) + 2 * math.exp(-a))


def _margin_of_the_network(data: Data) -> float:
    """The same from a network in full: dimension M + Q + 1, random signs, a few samples, least signed output."""
    keys, queries, b = int(data["M"]), int(data.get("Q", 1)), float(data["b"])
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], size=(queries, keys))
    d = keys + queries + 1
    value = np.zeros(d)
    value[-1] = 1.0 / b
    margins = []
    for _ in range(_SAMPLES):
        j, c = int(rng.integers(keys)), int(rng.integers(queries))
        token, cls = np.zeros(d), np.zeros(d)
        token[j] = token[-1] = b / math.sqrt(2.0)
        cls[keys + c] = b
        tokens = np.stack([token, -token, cls])
        # W_QK^T x_CLS, without writing down the d x d matrix: column c of sum_c s_c e_c^T/M, times b.
        query = np.concatenate([signs[c] / keys * b, np.zeros(queries + 1)])
        margins.append(signs[c, j] * float(softmax(tokens @ query) @ tokens @ value))
    return float(min(margins))


def _patterns(data: Data) -> float:
    """ln of the number of functions: all sign patterns on M Q samples."""
    return int(data["M"]) * int(data.get("Q", 1)) * math.log(2.0)


def _network(data: Data, version: Version, margin: float) -> dict[str, Any]:
    keys, queries, b = int(data["M"]), int(data.get("Q", 1)), float(data["b"])
    return {
        "L_sigma": 1.0,
        "Bc2": 1.0,
        "Bv2": 1.0 / b,
        # ||S/M||_2 <= ||S/M||_F for a Q x M matrix of signs.
        "BQK2": math.sqrt(queries / keys),
        "Bw": 1.0,
        "layers": 1,
        "eps": 0.999 * margin,
    }


def _theorem(data: Data, version: Version, margin: float) -> dict[str, Any]:
    d = int(data["M"]) + 2
    constant = math.log(2 * d * d + 1)
    return {
        **_network(data, version, margin),
        "C1": constant,
        "CBx": data["b"] ** 2 * constant,
        "Bx": data["b"],
    }


def _entrywise(data: Data, version: Version, margin: float) -> dict[str, Any]:
    return {**_network(data, version, margin), "B": 1.0, "Bx": data["b"], "d": int(data["M"]) + 2, "k": 1}


def _columns(data: Data, version: Version, margin: float) -> dict[str, Any]:
    """Tokens have l1 norm sqrt 2 b."""
    d = int(data["M"]) + int(data["Q"]) + 1
    return {**_network(data, version, margin), "B": 1.0, "Bx": math.sqrt(2.0) * data["b"], "d": d, "k": 1}


def _attack(id: str, inputs: Inputs, space: Mapping[str, Any], **more: Any) -> Attack:
    whole = [name for name in ("M", "Q") if name in space]

    def measure(data: Data, version: Version) -> Instance:
        return Instance(_patterns(data), inputs(data, version, _margin(data)))

    def instance(data: Data, version: Version) -> Instance:
        return Instance(_patterns(data), inputs(data, version, _margin_of_the_network(data)))

    what = "a family of one-layer networks that shatters its samples"
    search = family(space, measure, whole)
    return Attack(id, what, search, instance, points=1500, **{"seconds": 0.4, "regardless": True, **more})


# --- Mwigo: two tokens (b/sqrt 3)(+-(e_j + e_z) + e_c), A = tau s e_c^T, W_V = (sqrt 3/b) e_z^T ----------------------


def _head_inputs(data: Data, version: Version, margin: float) -> dict[str, Any]:
    keys, b = int(data["M"]), float(data["b"])
    tau = 3 * float(data["score"]) / b**2
    # The column norm of A = tau s e_c^T, as printed; the sum of its row norms, as needed.
    norm = tau * math.sqrt(keys) if version == "printed" else tau * keys
    value = math.sqrt(3.0) / b
    common = {"BX": b, "V21": value, "V2": value, "A21": norm, "eps": 0.999 * margin}
    return {**common, "n": keys, "ds": 2, "d": keys + 2, "dm": keys + 2}


def _head_search_measure(data: Data, version: Version) -> Instance:
    return Instance(int(data["M"]) * math.log(2.0), _head_inputs(data, version, math.tanh(float(data["score"]))))


def _head(data: Data, version: Version) -> Instance:
    keys, b = int(data["M"]), float(data["b"])
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], size=keys)
    tau = 3 * float(data["score"]) / b**2
    margins = []
    for _ in range(_SAMPLES):
        j = int(rng.integers(keys))
        # Coordinates that matter: e_j, e_z, e_c.
        tokens = b / math.sqrt(3.0) * np.array([[1.0, 1.0, 1.0], [-1.0, -1.0, 1.0]])
        weight = np.zeros((3, 3))
        weight[0, 2] = tau * signs[j]
        for query in tokens:
            attended = attention(tokens, weight.T, query)
            margins.append(signs[j] * math.sqrt(3.0) / b * float(attended[1]))
    return Instance(keys * math.log(2.0), _head_inputs(data, version, min(margins)))


ATTACKS = [
    _attack("trauger.thm4.2", _theorem, {"M": (10, 5000), "b": (0.5, 500.0)}),
    _attack("trauger.cor4.2.1", _entrywise, {"M": (10, 5000), "b": (0.5, 500.0)}, seconds=1.5),
    _attack("trauger.corF.0.1", _columns, {"M": (10, 1000), "Q": (10, 1000), "b": (0.5, 500.0)}),
    _attack("trauger.corF.0.2", _entrywise, {"M": (10, 5000), "b": (0.5, 500.0)}),
    Attack(
        "mwigo.lem6",
        "a family of attention heads that shatters its samples",
        family({"M": (10, 50_000), "b": (1.0, 1000.0), "score": (0.3, 5.0)}, _head_search_measure, ["M"]),
        _head,
        allowance=10.0,
        points=1200,
        seconds=2.0,
    ),
]
