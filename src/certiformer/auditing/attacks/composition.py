"""Whole networks: pairs drawn from a class, how far apart they are against the sum of sensitivity times error."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from certiformer import networks
from certiformer.auditing.attack import Attack, Instance, Version
from certiformer.auditing.search import Array, explore
from certiformer.auditing.verify import array, attention, into_ball, into_spectral_ball, softmax, spectral_norm
from certiformer.networks import Head, Weight

Data = Mapping[str, Any]
Built = tuple[dict[str, Any], float, Mapping[str, Any], float | None] | None
_T, _D, _BX = 2, 2, 1.5


class Network:
    """`depth` blocks of attention, values, relu and W_c, projected onto the unit ball, and a readout of one token.

    Depth 0 is a single attention layer without projection and without W_c; `pooled` reads the mean of its tokens.
    """

    def __init__(self, depth: int, pooled: bool = False) -> None:
        self.depth, self.pooled = depth, pooled
        blocks = max(depth, 1)
        kinds = ("v", "q", "c") if depth else ("v", "q")
        self.matrices = [f"{kind}{i}" for i in range(blocks) for kind in kinds]
        self.size = _T * _D + 9 * len(self.matrices) + _D

    @functools.cached_property
    def coefficients(self) -> dict[str, float]:
        """By how much the output moves per unit of error of each weight at its inputs; all norms are one."""
        z = networks.tokens(_D, _BX, positions=_T)
        for i in range(max(self.depth, 1)):
            head = Head(value=Weight(f"v{i}", (_D, _D), spectral=1.0), score=Weight(f"q{i}", (_D, _D), spectral=1.0))
            z = networks.attention(z, head)
            z = networks.activation(networks.project(z) if self.depth else z, networks.RELU)
            if self.depth:
                z = networks.project(networks.linear(z, Weight(f"c{i}", (_D, _D), spectral=1.0)))
        z = networks.mean_pool(z) if self.pooled else networks.pick(z)
        analysis = networks.analyse(networks.readout(z, Weight("w", (1, _D), spectral=1.0)))
        return {part.name: part.beta.value for part in analysis.contributions}

    def unpack(self, z: Array) -> dict[str, Array]:
        """Tokens, weights and hatted weights in their balls; a switch per weight says whether it differs at all."""
        data = {"x": into_ball(z[: _T * _D].reshape(_T, _D), _BX)}
        place = _T * _D
        switches = iter(z[-len(self.matrices) :])
        for name in self.matrices:
            first, change = z[place : place + 8].reshape(2, _D, _D)
            data[name] = into_spectral_ball(first, 1.0)
            # The last linear maps are exact whatever happens: what they hide is the scores and the layers below.
            movable = name[0] == "q" or int(name[1:]) < self.depth - 1
            moves = next(switches) > 0 and movable
            data[f"{name}_hat"] = into_spectral_ball(data[name] + change * moves, 1.0)
            place += 8
        data["w"] = data["w_hat"] = into_ball(z[place : place + _D], 1.0)
        return data

    def run(self, data: Mapping[str, Array], hat: str) -> tuple[float, dict[str, Array]]:
        """The output, and what every weight saw; columns of a matrix of tokens at once."""
        x, seen = np.asarray(data["x"]), {}
        for i in range(max(self.depth, 1)):
            seen[f"q{i}"] = seen[f"v{i}"] = x
            # the query sits in the rows: scores y^T A x for A = `q`
            p = softmax((x @ data[f"q{i}{hat}"].T) @ x.T)
            y = p @ x @ data[f"v{i}{hat}"].T
            y = np.maximum(into_ball(y, 1.0) if self.depth else y, 0.0)
            if self.depth:
                seen[f"c{i}"] = y
                y = into_ball(y @ data[f"c{i}{hat}"].T, 1.0)
            x = y
        seen["w"] = x.mean(axis=0)[None] if self.pooled else x[:1]
        return float(seen["w"][0] @ data[f"w{hat}"]), seen

    def build(self, z: Array, version: Version) -> Built:
        data = self.unpack(z)
        output, _ = self.run(data, "")
        hatted, seen = self.run(data, "_hat")
        allowed = 0.0
        for name, coefficient in self.coefficients.items():
            difference = data[name] - data[f"{name}_hat"]
            errors = seen[name] @ difference.T if name != "w" else (seen["w"] @ difference)[:, None]
            allowed += coefficient * float(np.max(np.linalg.norm(errors, axis=1)))
        attained = abs(output - hatted)
        return (data, attained, {}, allowed) if attained > 1e-2 else None

    def walk(self, data: Mapping[str, Array], hat: str) -> tuple[float, dict[str, list[Array]]]:
        """The same, token by token."""
        tokens = list(data["x"])
        seen: dict[str, list[Array]] = {}
        for i in range(max(self.depth, 1)):
            seen[f"q{i}"] = seen[f"v{i}"] = tokens
            following = []
            for token in tokens:
                value = data[f"v{i}{hat}"] @ attention(np.stack(tokens), data[f"q{i}{hat}"].T, token)
                if self.depth:
                    value = value / max(1.0, math.hypot(*value))
                following.append(np.maximum(value, 0.0))
            if self.depth:
                seen[f"c{i}"] = following
                following = [data[f"c{i}{hat}"] @ token for token in following]
                following = [token / max(1.0, math.hypot(*token)) for token in following]
            tokens = following
        read = sum(tokens) / len(tokens) if self.pooled else tokens[0]
        seen["w"] = [array(read)]
        return float(np.dot(read, data[f"w{hat}"])), seen

    def instance(self, data: Data, version: Version) -> Instance:
        values = {name: array(value) for name, value in data.items()}
        for name in self.matrices:  # members of the class, whoever wrote the data
            if max(spectral_norm(values[name]), spectral_norm(values[f"{name}_hat"])) > 1 + 1e-12:
                return Instance(0.0, {}, 1.0)
        output, _ = self.walk(values, "")
        hatted, seen = self.walk(values, "_hat")
        allowed = 0.0
        for name, coefficient in self.coefficients.items():
            difference = np.atleast_2d(values[name] - values[f"{name}_hat"])
            allowed += coefficient * max(math.hypot(*(difference @ token)) for token in seen[name])
        return Instance(abs(output - hatted), {}, allowed)


def _attack(id: str, network: Network, seconds: float) -> Attack:
    return Attack(
        id,
        "random search and hill climbing over a network, its inputs and a second network of the class",
        explore(network.size, network.build, spread=0.7),
        network.instance,
        versions=("sound",),
        points=2500,
        seconds=seconds,
        label="composition",
    )


ATTACKS = [
    _attack("trauger.thm4.2", Network(2), 1.2),
    _attack("li.thmB.1", Network(0), 0.8),
    _attack("mwigo.lem2", Network(0, pooled=True), 0.8),
]
REASONS: dict[str, str] = {}
