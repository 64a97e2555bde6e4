"""MiniLM (6 layers, 12 heads, eps 1e-12) by its norms: how sensitive the embedding is to the first norm's output.

minilm_norms.json holds spectral norms of every head and matrix, l2 norms of biases, largest gains.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from certiformer.theory import networks as net
from certiformer.theory.networks import Head, Node, Weight

NORMS: dict[str, Any] = json.loads(Path(__file__).with_name("minilm_norms.json").read_text())
WIDTH, HEADS, SIZE = NORMS["dimension"], NORMS["heads"], NORMS["dimension"] // NORMS["heads"]


def vector(name: str, size: int, norm: float) -> Weight:
    return Weight(name, (size, 1), spectral=norm)


def normalised(z: Node, name: str, norms: dict[str, float], floor: float) -> Node:
    gain = Weight(f"{name}.gain", (WIDTH, 1), max_row=norms["gain"])
    return net.layer_norm(z, gain, vector(f"{name}.shift", WIDTH, norms["shift"]), eps=1e-12, floor=floor)


def minilm(first: float = 0.0, attention: float = 0.0, output: float = 0.0) -> tuple[Node, list[Node]]:
    """The graph, and its signals after every normalisation."""
    z = net.tokens(WIDTH, NORMS["token_radius"], positions=512)
    z = normalised(z, "embedding", NORMS["embedding_norm"], first)
    places = [z]
    for i, norms in enumerate(NORMS["layers"]):
        heads = [
            Head(
                query=Weight(f"Q{i}.{h}", (SIZE, WIDTH), spectral=norms["query"][h]),
                key=Weight(f"K{i}.{h}", (SIZE, WIDTH), spectral=norms["key"][h]),
                value=Weight(f"V{i}.{h}", (SIZE, WIDTH), spectral=norms["value"][h]),
                query_bias=vector(f"bQ{i}.{h}", SIZE, norms["query_bias"][h]),
                key_bias=vector(f"bK{i}.{h}", SIZE, norms["key_bias"][h]),
                value_bias=vector(f"bV{i}.{h}", SIZE, norms["value_bias"][h]),
                scale=1.0 / math.sqrt(SIZE),
            )
            for h in range(HEADS)
        ]
        mix = Weight(f"O{i}", (WIDTH, WIDTH), spectral=norms["output"], blocks=tuple(norms["output_blocks"]))
        shift = vector(f"bO{i}", WIDTH, norms["output_bias"])
        z = net.add(z, net.attention(z, heads, output=mix, output_bias=shift))
        z = normalised(z, f"attention{i}", norms["attention_norm"], attention)
        places.append(z)
        up = Weight(f"up{i}", (4 * WIDTH, WIDTH), spectral=norms["up"])
        down = Weight(f"down{i}", (WIDTH, 4 * WIDTH), spectral=norms["down"])
        shifts = {
            "up_shift": vector(f"bu{i}", 4 * WIDTH, norms["up_bias"]),
            "down_shift": vector(f"bd{i}", WIDTH, norms["down_bias"]),
        }
        z = normalised(
            net.add(z, net.feed_forward(z, up, down, net.GELU, **shifts)), f"output{i}", norms["output_norm"], output
        )
        places.append(z)
    return net.mean_pool(z), places


def log10(magnitude: net.Magnitude) -> float:
    return magnitude.ln / math.log(10.0)


@pytest.mark.parametrize(
    ("floors", "expected", "factors"),
    [
        ((0.0, 0.0, 0.0), 107.5041061735, (10.3560090764, 7.8874925454, 9.9668801950)),
        ((0.0349, 0.25, 0.45), 41.1971910388, (4.9580690677, 2.2342800316, 4.5689401863)),
    ],
)
def test_sensitivities(floors: tuple[float, float, float], expected: float, factors: tuple[float, ...]) -> None:
    output, places = minilm(*floors)
    analysis = net.analyse(output)
    decades = [log10(analysis.sensitivity(place)) for place in places]
    assert decades[0] == pytest.approx(expected, abs=1e-8)
    for before, after, factor in zip(decades, decades[1:], factors, strict=False):
        assert before - after == pytest.approx(factor, abs=1e-8)
    if floors[0]:
        known = {"Q0.0": 40.7276732150, "V0.0": 38.4516104871, "up0": 36.7185937231, "down5": 2.5592304264}
        for name, value in known.items():
            assert log10(analysis.coefficients[name]) == pytest.approx(value, abs=1e-8)
        assert log10(analysis.coefficients["K0.0"]) <= 40.9467483998  # at the half-diameter of the keys
