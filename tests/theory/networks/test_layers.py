"""Layers against the formulas of their rules, and what a composition says of itself."""

from __future__ import annotations

import math

import pytest

from certiformer.theory import networks as net
from certiformer.theory.calculus.covers import Cover
from certiformer.theory.core.errors import InputError
from certiformer.theory.networks.graph import Errors, Hats, signal
from certiformer.theory.networks.magnitude import Magnitude, size
from certiformer.theory.networks.network import Network
from certiformer.theory.networks.weights import constant_use, smallest_cover

HATS = Hats(proper=True)
ROUTER = net.Weight("router", (3, 4), spectral=2.0, max_row=1.5)


def at(dimension: int, positions: int, radius: float, spread: float, sup: float = math.inf) -> net.Signal:
    return signal(dimension, positions, size(radius), size(spread), sup=size(sup))


def start(dimension: int = 4, radius: float = 2.0, positions: int = 3) -> net.Node:
    return net.tokens(dimension, radius, positions=positions)


def routed(**settings: object) -> net.Node:
    return net.route(start(), start(), ROUTER, **settings)  # type: ignore[arg-type]


def test_a_router() -> None:
    layer = routed().layer
    effect = layer.effect((at(4, 3, 2.0, 1.0), at(5, 3, 0.7, 0.2)), HATS)
    assert [factor.value for factor in effect.factors] == pytest.approx([0.7 * 1.5, 1.0])
    assert effect.uses[0].coefficient.value == pytest.approx(0.7 * 2.0)
    assert (effect.output.dimension, effect.output.radius.value) == (5, pytest.approx(0.7))
    assert layer.floor == 0.0
    with pytest.raises(InputError, match="router"):
        layer.effect((at(3, 3, 2.0, 1.0), at(5, 3, 0.7, 0.2)), HATS)


def test_a_router_that_chooses_needs_a_gap() -> None:
    assert routed(chosen=3).layer.floor == 0.0
    assert routed(chosen=3, gap=0.4).layer.floor == 0.0  # all are taken: nothing can change places
    layer = routed(chosen=2, gap=0.4).layer
    assert layer.floor == pytest.approx(0.2)
    inputs = (at(4, 3, 2.0, 1.0), at(5, 3, 0.7, 0.2))
    near = Errors(inputs, (size(0.1), size(0.3)), (size(0.05),))
    assert layer.counted_below(near) == pytest.approx(0.2 + 2.0 * (1.5 * 0.1 + 0.05))
    assert layer.counted_below(Errors(inputs, (size(0.25), size(0.0)), (size(0.02),))) < math.inf
    assert layer.counted_below(Errors(inputs, (size(0.25), size(0.0)), (size(0.04),))) == math.inf  # 0.415 >= 2 x 0.2
    for settings in ({"chosen": 0}, {"chosen": 4}):
        with pytest.raises(InputError, match="chosen"):
            routed(**settings, gap=1.0)
    for settings in ({}, {"gap": 0.0}, {"gap": -1.0}):
        with pytest.raises(InputError, match="gap"):
            routed(chosen=2, **settings)
    routed(chosen=1, gap=0.5)


def test_alternatives_multiply_sizes() -> None:
    def cover(count: int) -> Cover:
        weight = net.Weight("W", (2, 4), spectral=1.0, alternatives=count)
        return smallest_cover([constant_use(weight, size(1.0))], same_layer=True, proper=True, samples=None)

    one = cover(1)
    for count in (2, 3):
        many = cover(count)
        for eps in (0.5, 0.1, 0.01):
            assert many.log_size(eps) == pytest.approx(count * one.log_size(eps))
        assert (many.parameters, many.quadratic) == pytest.approx((count * one.parameters, count * one.quadratic))


def test_points_of_a_sample_may_be_larger_than_the_radius() -> None:
    def excess(radius: float, sampled: float | None) -> float:
        at_points = None if sampled is None else size(sampled)
        return net.Use(ROUTER, size(1.0), size(radius), size(radius), 3, sampled=at_points).excess.value

    assert excess(2.0, None) == 1.0
    assert excess(2.0, 3.0) == pytest.approx(1.5)
    assert excess(2.0, 1.0) == 1.0
    assert excess(0.0, 3.0) == 1.0  # nothing is felt there


@pytest.mark.parametrize(("dimension", "radius", "eps"), [(4, 2.0, 1e-5), (4, 2.0, 0.5), (7, 0.01, 1e-3)])
def test_a_normalisation(dimension: int, radius: float, eps: float) -> None:
    gain, shift = net.Weight("g", (dimension, 1), max_row=1.3), net.Weight("b", (dimension, 1), spectral=0.2)
    layer = net.layer_norm(start(dimension), gain, shift, eps=eps).layer
    effect = layer.effect((at(dimension, 3, radius, 0.5 * radius),), HATS)
    inside = radius / math.sqrt(radius**2 / dimension + eps)
    assert effect.output.radius.value == pytest.approx(1.3 * inside + 0.2, rel=1e-13)
    assert effect.output.radius.value >= 1.3 * inside + 0.2
    assert effect.factors[0].value == pytest.approx(1.3 / math.sqrt(eps))
    spread = 1.3 * min(inside, 0.5 * radius / math.sqrt(eps))
    assert effect.output.half_diameter.value == pytest.approx(spread)
    assert [use.coefficient.value for use in effect.uses] == pytest.approx([inside, 1.0])


def test_a_floor_under_the_deviation() -> None:
    layer = net.rms_norm(start(), eps=1e-4, floor=0.3).layer
    signals = (at(4, 3, 2.0, 1.0),)
    assert layer.floor == 0.3
    assert layer.effect(signals, HATS).factors[0].value == pytest.approx(1.0 / 0.3)
    assert layer.counted_below(Errors(signals, (size(0.1),), ())) == pytest.approx(0.3 + 2.0 * 0.1 / math.sqrt(4.0))
    assert net.rms_norm(start(), eps=0.25, floor=0.5).layer.floor == 0.0  # never below sqrt(eps)


@pytest.mark.parametrize("least", [0.0, -1.0, math.inf, math.nan])
def test_a_unit_vector_needs_a_least_norm(least: float) -> None:
    with pytest.raises(InputError, match="least"):
        net.unit(start(), least)


def test_small_rules() -> None:
    effect = net.unit(start(), 0.5).layer.effect((at(4, 3, 0.2, 0.1),), HATS)
    assert (effect.factors[0].value, effect.output.radius.value) == pytest.approx((2.0, 0.4))
    assert net.unit(start(), 0.5).layer.effect((at(4, 3, 3.0, 0.1),), HATS).output.radius.value == 1.0
    squares = net.squared_relu(start()).layer.effect((at(4, 3, 2.0, 0.5, sup=1.5),), HATS)
    assert (squares.factors[0].value, squares.output.radius.value) == pytest.approx((3.0, 3.0))
    assert squares.output.half_diameter.value == pytest.approx(1.5)
    for positions, dimension in ((3, 4), (5, 2), (1, 4)):
        pooled = net.max_pool(start()).layer.effect((at(dimension, positions, 2.0, 0.5, sup=1.9),), HATS)
        root = math.sqrt(min(positions, dimension))
        assert pooled.factors[0].value == pytest.approx(root)
        assert pooled.output.radius.value == pytest.approx(min(root * 2.0, math.sqrt(dimension) * 1.9))
        assert pooled.output.positions == 1


def test_a_map_around_a_reference_is_twice_its_size_away() -> None:
    for reference, factor in ((None, 1.0), (net.Reference(0.5), 2.0)):
        layer = net.linear(start(), net.Weight("W", (2, 4), spectral=1.0, reference=reference)).layer
        assert layer.spread(at(2, 3, 1.5, 0.1)).value == pytest.approx(factor * 1.5)


def test_the_reach_of_a_weight_is_that_of_its_metric() -> None:
    weight = net.Weight("W", (3, 4), spectral=2.0, max_row=0.5)
    assert weight.reach(net.Geometry.OPERATOR).value == pytest.approx(min(2.0, 0.5 * math.sqrt(3.0)))
    assert weight.reach(net.Geometry.ROWS).value == pytest.approx(0.5)


def small(**settings: object) -> Network:
    """A projection, a map 4 x 4 of norm one, and a readout of norm one: |f| <= 1."""
    z = net.linear(net.project(start()), net.Weight("0.up", (4, 4), spectral=1.0))
    still = net.Weight("frozen", (4, 1), spectral_distance=0.0, reference=net.Reference(0.0))
    z = net.readout(net.pick(net.bias(z, still)), net.Weight("readout", (1, 4), frobenius=1.0))
    return Network("small", z, **settings)  # type: ignore[arg-type]


def test_who_pays() -> None:
    network = small(radii=(0.5, 0.1))
    assert network.parameters == 16 + 4  # what does not move is none
    found = network.compose()
    rows = {row["weight"]: row for row in found.dominating}
    assert set(rows) == {"up", "readout", "frozen"}
    assert sum(row["nats"] for row in rows.values()) == pytest.approx(found.log_covering["0.1"], rel=1e-6)
    assert sum(row["share"] for row in rows.values()) == pytest.approx(1.0)
    assert (rows["up"]["parameters"], rows["readout"]["parameters"], rows["frozen"]["nats"]) == (16, 4, 0.0)
    assert found.dominating[0]["weight"] == "up"
    everything = small(radii=(3.0,)).compose()
    assert [row["share"] for row in everything.dominating] == [0.0, 0.0, 0.0]
    assert small().radii == (1.0, 0.1, 0.01)


def test_what_would_help() -> None:
    assert small(radii=(3.0,)).compose().advice == ["at radius 3 one network stands for all: ask for a smaller radius"]
    found = small(radii=(0.1,)).compose()
    nats = found.log_covering["0.1"]
    assert len(found.advice) == 2
    assert f"{nats / 20:.3g} nats for each of 20 parameters at radius 0.1" in found.advice[0]
    assert f"n = {10.0 * nats:.3g} examples" in found.advice[1]
    z = net.layer_norm(start(), eps=1e-6)
    value = net.Weight("v", (4, 4), spectral=1.0)
    z = net.attention(z, net.Head(value=value, score=net.Weight("a", (4, 4), spectral=30.0)))
    read = net.Weight("readout", (1, 4), frobenius=1.0)
    deep = Network("deep", net.readout(net.pick(z), read), radii=(0.1,)).compose().advice
    assert [line.split(":")[0] for line in deep[:2]] == [
        "1 normalisations multiply by up to 10^3.0 together (1/sqrt(eps) each)",
        "1 attention layers multiply by up to 10^2.4 together",
    ]
    mild = net.attention(start(), net.Head(value=value, score=net.Weight("a", (4, 4), spectral=0.01)))
    mild = net.layer_norm(mild, eps=0.05)
    assert len(Network("mild", net.readout(net.pick(mild), read), radii=(0.1,)).compose().advice) == 2


def test_what_is_printed() -> None:
    bare, asked = (dict(small(radii=(0.1,), samples=samples).compose().lines()) for samples in (None, 10**6))
    assert set(bare) == {"parameters", "range of the output", "largest sensitivity", "ln N at 0.1"}
    assert set(asked) - set(bare) == {"complexity at n = 1,000,000"}
    assert "trivial" not in asked["complexity at n = 1,000,000"]
    few = dict(small(radii=(0.1,), samples=2).compose().lines())
    assert few["complexity at n = 2"] == "1 (the trivial range)"
    coefficients = small().compose().coefficients
    assert coefficients == {"0.up": pytest.approx(0.0), "frozen": pytest.approx(0.0), "readout": pytest.approx(0.0)}
    twice = Network("twice", net.scale(small().output, 20.0)).compose()
    assert twice.coefficients["readout"] == pytest.approx(math.log10(20.0))
    assert twice.range == pytest.approx(Magnitude(math.log(20.0)).value)
    z = net.readout(
        net.pick(net.rms_norm(net.rms_norm(start(), floor=0.3), floor=0.4)), net.Weight("r", (1, 4), l1=1.0)
    )
    floors = [label for label, _ in Network("floors", z).compose().lines() if "floor" in label]
    assert floors == ["first floor, counted below"]


def test_floors_allow_no_covers_of_a_sample() -> None:
    read = net.Weight("r", (1, 4), l1=1.0)
    free, floored = (net.readout(net.pick(net.rms_norm(start(), floor=floor)), read) for floor in (0.0, 0.3))
    assert net.analyse(free, samples=100).samples == 100
    assert net.analyse(floored, samples=100).samples is None


def test_a_cover_that_ends_at_the_distance_keeps_its_quick_form() -> None:
    analysis = small().analysis
    cover = analysis.cover
    assert cover.ln_radius == pytest.approx(analysis.distance.ln)
    assert cover.rough is not None
    for eps in (0.3, 0.05, 0.01):
        x = cover.ln_radius - math.log(eps)
        assert cover.rough(x) == pytest.approx(cover.log_size(eps), rel=0.05)
        assert cover.rough(x) >= cover.log_size(eps) * (1.0 - 1e-9)
