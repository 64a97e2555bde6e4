"""Core attention, fused heads and joined heads: factors, radii and uses against their formulas."""

from __future__ import annotations

import math

import pytest

from certiformer.theory import networks as net
from certiformer.theory.core.errors import InputError
from certiformer.theory.networks.graph import Hats, signal
from certiformer.theory.networks.magnitude import size

HATS = Hats(proper=True)


def at(dimension: int, positions: int, radius: float, spread: float) -> net.Signal:
    return signal(dimension, positions, size(radius), size(spread))


QUERIES, KEYS, VALUES = at(4, 5, 1.5, 1.1), at(4, 7, 2.0, 1.3), at(3, 7, 0.9, 0.6)
NODES = tuple(net.tokens(one.dimension, 9.0, positions=one.positions) for one in (QUERIES, KEYS, VALUES))
SLOPE = net.Weight("slope", (1, 1), spectral=1.0)
TABLE = net.Weight("table", (9, 1), max_row=1.0)


def factors(**settings: object) -> list[float]:
    layer = net.attend(*NODES, **settings).layer  # type: ignore[arg-type]
    return [factor.value for factor in layer.effect((QUERIES, KEYS, VALUES), HATS).factors]


@pytest.mark.parametrize(
    ("settings", "scale", "spread"),
    [
        ({}, 1.0, 1.3),
        ({"scale": 0.5}, 0.5, 1.3),
        ({"rotary": True}, 1.0, 2.0),
        ({"cap": 100.0}, 1.0, 1.3 + 2.0 * 0.7698003590 / 100.0 * 1.3 * 1.5),
        ({"cap": 100.0, "scale": 0.5}, 0.5, 1.3 + 2.0 * 0.7698003590 * 0.5 / 100.0 * 1.3 * 1.5),
        ({"cap": 5.0}, 1.0, 1.3 + 2.0 * 0.7698003590 / 5.0 * 1.3 * 1.5),
        ({"cap": 0.5}, 1.0, 2.0),
        ({"cap": 100.0, "biased": True}, 1.0, 2.0),
        ({"cap": 100.0, "slope": SLOPE}, 1.0, 2.0),
        ({"cap": 100.0, "score_bias": TABLE}, 1.0, 2.0),
    ],
)
def test_factors(settings: dict[str, object], scale: float, spread: float) -> None:
    expected = [scale * 0.6 * min(2.0, spread), scale * 0.6 * 1.5, 1.0]
    assert factors(**settings) == pytest.approx(expected, rel=1e-12)


def test_half_of_the_radius_where_something_is_inside_the_cap() -> None:
    wide = at(4, 7, 2.0, 0.4)
    layer = net.attend(*NODES, cap=100.0, biased=True).layer
    assert layer.effect((QUERIES, wide, VALUES), HATS).factors[0].value == pytest.approx(0.6 * (0.4 + 2.0 / 2.0))


def test_what_comes_out_and_what_is_paid() -> None:
    layer = net.attend(*NODES, score_bias=TABLE, slope=SLOPE).layer
    effect = layer.effect((QUERIES, KEYS, VALUES), HATS)
    out = effect.output
    assert (out.dimension, out.positions) == (3, 5)
    assert (out.radius.value, out.half_diameter.value) == pytest.approx((0.9, 0.6))
    # half the span of |t - s| over seven keys
    assert [use.coefficient.value for use in effect.uses] == pytest.approx([0.6, 0.6 * (7 - 1) / 2])
    assert layer.weights == (TABLE, SLOPE)
    with pytest.raises(InputError, match="table"):
        net.attend(*NODES, score_bias=net.Weight("table", (9, 2), max_row=1.0)).layer.effect(
            (QUERIES, KEYS, VALUES), HATS
        )
    for shape in ((1, 2), (2, 1)):
        crooked = net.attend(*NODES, slope=net.Weight("slope", shape, spectral=1.0)).layer
        with pytest.raises(InputError, match="slope"):
            crooked.effect((QUERIES, KEYS, VALUES), HATS)


@pytest.mark.parametrize("cap", [0.0, -1.0, math.nan])
def test_a_cap_is_positive(cap: float) -> None:
    with pytest.raises(InputError, match="cap"):
        net.attend(*NODES, cap=cap)
    net.attend(*NODES, cap=0.5)


@pytest.mark.parametrize("shapes", [((3, 5), (4, 7), (3, 7)), ((4, 5), (4, 7), (3, 6))])
def test_signals_must_fit(shapes: tuple[tuple[int, int], ...]) -> None:
    with pytest.raises(InputError, match="queries"):
        net.attend(*NODES).layer.effect(tuple(at(d, t, 1.0, 1.0) for d, t in shapes), HATS)


@pytest.mark.parametrize(("heads", "groups", "positions"), [(4, 2, 7), (4, None, 7), (6, 3, 2), (2, 1, 1)])
@pytest.mark.parametrize("settings", [{}, {"scale": 0.5}, {"rotary": True}])
def test_fused_heads(heads: int, groups: int | None, positions: int, settings: dict[str, object]) -> None:
    key_heads = heads if groups is None else groups
    keys, values = at(4, positions, 2.0, 1.3), at(3, positions, 0.9, 0.6)
    node = net.fused_attention(*NODES, heads=heads, key_heads=groups, **settings)  # type: ignore[arg-type]
    effect = node.layer.effect((QUERIES, keys, values), HATS)
    root = math.sqrt(heads / key_heads * min(key_heads, positions))
    spread = 2.0 if settings.get("rotary") else keys.half_diameter.value
    moved = (0.5 if "scale" in settings else 1.0) * values.half_diameter.value
    expected = [moved * spread, root * moved * 1.5, root]
    assert [factor.value for factor in effect.factors] == pytest.approx(expected, rel=1e-12)
    width = 3 * heads // key_heads
    assert effect.output.dimension == width
    # no coordinate is above 0.9
    assert effect.output.radius.value == pytest.approx(min(root, math.sqrt(width)) * 0.9)


@pytest.mark.parametrize("counts", [(0, 1), (2, 0), (3, 2), (-2, -1)])
def test_groups_divide_heads(counts: tuple[int, int]) -> None:
    with pytest.raises(InputError, match="heads"):
        net.fused_attention(*NODES, heads=counts[0], key_heads=counts[1])
    net.fused_attention(*NODES, heads=1, key_heads=1)


def test_joined_heads() -> None:
    heads = (at(3, 5, 0.9, 0.6), at(3, 5, 1.2, 0.2))
    nodes = [net.tokens(3, 1.0, positions=5), net.tokens(3, 1.0, positions=5)]
    whole = net.Weight("W_O", (4, 6), spectral=2.0)
    effect = net.join(nodes, whole).layer.effect(heads, HATS)
    assert [factor.value for factor in effect.factors] == pytest.approx([2.0, 2.0])
    assert effect.output.radius.value == pytest.approx(2.0 * math.hypot(0.9, 1.2))
    assert effect.output.half_diameter.value == pytest.approx(2.0 * math.hypot(0.6, 0.2))
    assert effect.output.positions == 5
    assert effect.uses[0].coefficient.value == pytest.approx(math.hypot(0.9, 1.2))
    assert effect.uses[0].points == 5
    blocked = net.Weight("W_O", (4, 6), spectral=2.0, blocks=(0.5, 1.5))
    effect = net.join(nodes, blocked).layer.effect(heads, HATS)
    assert [factor.value for factor in effect.factors] == pytest.approx([0.5, 1.5])
    assert effect.output.radius.value == pytest.approx(min(0.5 * 0.9 + 1.5 * 1.2, 2.0 * math.hypot(0.9, 1.2)))
    with pytest.raises(InputError, match="W_O"):
        net.join(nodes, net.Weight("W_O", (4, 5), spectral=2.0)).layer.effect(heads, HATS)
    with pytest.raises(InputError, match="heads"):
        net.join([], whole)
    shifted = net.join(nodes, whole, net.Weight("b", (4, 1), spectral=1.0))
    assert shifted.parents[0].layer.weights == (whole,)
