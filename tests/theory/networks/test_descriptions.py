"""A description is the graph that one would write by hand, with the same defaults; every key of it counts."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from certiformer.theory import networks as net
from certiformer.theory.core.errors import InputError
from certiformer.theory.networks import description, maps
from certiformer.theory.networks.network import Network

D, T = 8, 5
BOUNDS: dict[str, dict[str, Any]] = {
    "query": {"spectral": 1.3},
    "key": {"spectral": 1.1},
    "value": {"spectral": 0.9},
    "output": {"spectral": 1.2},
    "up": {"spectral": 1.4},
    "gate": {"spectral": 0.7},
    "down": {"spectral": 0.8},
    "score": {"spectral": 1.7},
    "router": {"spectral": 0.6},
    "slope": {"spectral": 0.4},
    "bias": {"spectral": 0.3},
    "gain": {"max_row": 1.05},
    "shift": {"spectral": 0.2},
    "readout": {"frobenius": 1.6},
    "table": {"max_row": 1.9},
    "position_table": {"max_row": 0.5},
}


def weight(role: str, name: str, *shape: int, **more: Any) -> net.Weight:
    return net.Weight(name, shape, **{**BOUNDS[role], **more})  # type: ignore[arg-type]


def start() -> net.Node:
    return net.tokens(D, 2.0, positions=T)


def head(h: int, size: int, scale: float, group: int | None = None, **more: Any) -> net.Head:
    g = h if group is None else group
    return net.Head(
        value=weight("value", f"0.value.{g}", size, D),
        query=weight("query", f"0.query.{h}", size, D),
        key=weight("key", f"0.key.{g}", size, D),
        scale=scale,
        **more,
    )


def output(width: int = D) -> net.Weight:
    return weight("output", "0.output", D, width)


def perceptron(z: net.Node, sigma: net.Activation = net.GELU, hidden: int = 4 * D, **more: Any) -> net.Node:
    up, down = weight("up", "0.up", hidden, D, **more), weight("down", "0.down", D, hidden, **more)
    return net.feed_forward(z, up, down, sigma)


def norm(z: net.Node, name: str, eps: float = 1e-5, **more: Any) -> net.Node:
    gain, shift = weight("gain", f"{name}.gain", D, 1), weight("shift", f"{name}.shift", D, 1)
    return net.layer_norm(z, gain, shift, eps=eps, **more)


def ended(z: net.Node) -> net.Node:
    return net.readout(net.pick(z), weight("readout", "readout", 1, D))


def plain(z: net.Node) -> net.Node:
    z = net.add(z, net.attention(z, [head(0, D, D**-0.5)], output=output()))
    return net.add(z, perceptron(z))


def attended(z: net.Node, heads: int, scale: float | None = None, **settings: Any) -> net.Node:
    """Heads written as linear maps and core attention."""
    size = D // heads
    built = [
        net.attend(
            net.linear(z, weight("query", f"0.query.{h}", size, D)),
            net.linear(z, weight("key", f"0.key.{h}", size, D)),
            net.linear(z, weight("value", f"0.value.{h}", size, D)),
            scale=size**-0.5 if scale is None else scale,
            **{key: made(h) if callable(made) else made for key, made in settings.items()},
        )
        for h in range(heads)
    ]
    return net.add(z, net.join(built, output()))


def normed_heads(z: net.Node, eps: float) -> net.Node:
    q, k = net.linear(z, weight("query", "0.query.0", D, D)), net.linear(z, weight("key", "0.key.0", D, D))
    q, k = (
        net.rms_norm(one, weight("gain", f"0.{name}.norm.gain", D, 1), eps=eps)
        for one, name in ((q, "query"), (k, "key"))
    )
    v = net.linear(z, weight("value", "0.value.0", D, D))
    return net.add(z, net.join([net.attend(q, k, v, scale=D**-0.5)], output()))


def biased(z: net.Node) -> net.Node:
    shifts = {f"{role}_bias": weight("bias", f"0.{role}.0.bias", D, 1) for role in ("query", "key", "value")}
    one = head(0, D, D**-0.5, **shifts)
    z = net.add(z, net.attention(z, [one], output=output(), output_bias=weight("bias", "0.output.bias", D, 1)))
    up, down = weight("up", "0.up", 32, D), weight("down", "0.down", D, 32)
    shift = {"up_shift": weight("bias", "0.up.bias", 32, 1), "down_shift": weight("bias", "0.down.bias", D, 1)}
    return net.add(z, net.feed_forward(z, up, down, net.GELU, **shift))


def squared(z: net.Node) -> net.Node:
    up, down = weight("up", "0.up", 32, D), weight("down", "0.down", D, 32)
    return net.add(z, net.linear(net.squared_relu(net.linear(z, up)), down))


def gated(z: net.Node) -> net.Node:
    gate, up, down = (
        weight(role, f"0.{role}", *shape) for role, *shape in (("gate", 6, D), ("up", 6, D), ("down", D, 6))
    )
    return net.add(z, net.gated_feed_forward(z, gate, up, down, net.SILU))


def routed(z: net.Node, **settings: Any) -> net.Node:
    return net.add(z, net.route(z, perceptron(z, alternatives=3), weight("router", "0.router", 3, D), **settings))


def both_norms(z: net.Node) -> net.Node:
    inner = perceptron(norm(z, "0.mlp.norm"))
    return net.add(z, norm(inner, "0.mlp.norm2"))


MLP, ATTENTION = {"kind": "feed_forward"}, {"kind": "attention"}
BLOCKS: dict[str, tuple[dict[str, Any], Callable[[net.Node], net.Node]]] = {
    "plain": ({}, plain),
    "heads": (
        {**ATTENTION, "heads": 2},
        lambda z: net.add(z, net.attention(z, [head(h, 4, 0.5) for h in range(2)], output=output())),
    ),
    "grouped": (
        {**ATTENTION, "heads": 4, "key_heads": 2, "head_dimension": 3, "scale": 0.25},
        lambda z: net.add(z, net.attention(z, [head(h, 3, 0.25, group=h // 2) for h in range(4)], output=output(12))),
    ),
    "rotary": (
        {**ATTENTION, "rotary": True},
        lambda z: net.add(z, net.attention(z, [head(0, D, D**-0.5, rotary=True)], output=output())),
    ),
    "biases": ({"biases": True}, biased),
    "cap": ({**ATTENTION, "heads": 2, "cap": 40.0}, lambda z: attended(z, 2, cap=40.0)),
    "fixed slopes inside a cap": (
        {**ATTENTION, "cap": 40.0, "alibi": "fixed"},
        lambda z: attended(z, 1, cap=40.0, biased=True),
    ),
    "trained slopes": (
        {**ATTENTION, "heads": 2, "alibi": "trained"},
        lambda z: attended(z, 2, biased=True, slope=lambda h: weight("slope", f"0.slope.{h}", 1, 1)),
    ),
    "norms of queries and keys": ({**ATTENTION, "qk_norm": True}, lambda z: normed_heads(z, 1e-6)),
    "their eps": (
        {**ATTENTION, "qk_norm": True, "normalisation": {"kind": "rms_norm", "eps": 1e-3}},
        lambda z: normed_heads(z, 1e-3),
    ),
    "merged": (
        {**ATTENTION, "merged": True},
        lambda z: net.add(
            z,
            net.attention(
                z,
                net.Head(
                    value=weight("value", "0.value.0", D, D), score=weight("score", "0.score.0", D, D), scale=D**-0.5
                ),
            ),
        ),
    ),
    "merged heads": (
        {**ATTENTION, "merged": True, "heads": 2},
        lambda z: net.add(
            z,
            net.attention(
                z,
                [
                    net.Head(
                        value=weight("value", f"0.value.{h}", 4, D),
                        score=weight("score", f"0.score.{h}", D, D),
                        scale=0.5,
                    )
                    for h in range(2)
                ],
                output=output(),
            ),
        ),
    ),
    "squared relu": ({**MLP, "activation": "relu2"}, squared),
    "quick gelu": (
        {**MLP, "activation": "quick_gelu", "hidden": 6},
        lambda z: net.add(z, perceptron(z, net.Activation("other", maps.SILU.lipschitz, 1.0), 6)),
    ),
    "gated": ({**MLP, "gated": True, "activation": "silu", "hidden": 6}, gated),
    "experts": ({**MLP, "experts": 3}, lambda z: routed(z, chosen=3, gap=0.0)),
    "some experts": ({**MLP, "experts": 3, "chosen": 2, "gap": 0.5}, lambda z: routed(z, chosen=2, gap=0.5)),
    "no residual": ({**MLP, "residual": False}, perceptron),
    "projected": ({**MLP, "project": True}, lambda z: net.project(net.add(z, perceptron(z)), 1.0)),
    "norm first": ({**MLP, "norm": "pre"}, lambda z: net.add(z, perceptron(norm(z, "0.mlp.norm")))),
    "norm last": ({**MLP, "norm": "post"}, lambda z: norm(net.add(z, perceptron(z)), "0.mlp.norm")),
    "norms around": ({**MLP, "norm": "both"}, both_norms),
    "a projection for a norm": (
        {**MLP, "norm": "post", "normalisation": {"kind": "projection"}},
        lambda z: net.project(net.add(z, perceptron(z)), 1.0),
    ),
    "its radius": (
        {**MLP, "norm": "post", "normalisation": {"kind": "projection", "radius": 0.4}},
        lambda z: net.project(net.add(z, perceptron(z)), 0.4),
    ),
    "a floor": (
        {**MLP, "norm": "post", "normalisation": {"eps": 1e-3, "floor": 0.2}},
        lambda z: norm(net.add(z, perceptron(z)), "0.mlp.norm", eps=1e-3, floor=0.2),
    ),
    "no shift": (
        {**MLP, "norm": "post", "normalisation": {"shift": False}},
        lambda z: net.layer_norm(net.add(z, perceptron(z)), weight("gain", "0.mlp.norm.gain", D, 1)),
    ),
    "root mean square": (
        {**MLP, "norm": "post", "normalisation": {"kind": "rms_norm", "trained": False, "eps": 1e-4}},
        lambda z: net.rms_norm(net.add(z, perceptron(z)), eps=1e-4),
    ),
}


def described(**more: Any) -> dict[str, Any]:
    return {"tokens": {"dimension": D, "positions": T, "radius": 2.0}, "weights": BOUNDS, **more}


def build(given: dict[str, Any]) -> Network:
    """The network of a description, without the bounds of roles that it does not have (which would be an error)."""
    weights = dict(given["weights"])
    while True:
        try:
            return description.network({**given, "weights": weights})
        except InputError as error:
            role = re.fullmatch(r"weights\.(\w+): got 'stated'.*", str(error))
            if role is None:
                raise
            del weights[role[1]]


def same(found: net.Node, expected: net.Node) -> None:
    ours, theirs = net.analyse(found), net.analyse(expected)
    assert {name: one.ln for name, one in ours.coefficients.items()} == {
        name: pytest.approx(one.ln, rel=1e-12, abs=1e-12) for name, one in theirs.coefficients.items()
    }
    assert (ours.range.ln, ours.distance.ln) == pytest.approx((theirs.range.ln, theirs.distance.ln), rel=1e-12)
    for one, other in zip(ours.signals.values(), theirs.signals.values(), strict=True):
        assert one == other
    assert ours.log_size(0.1) == pytest.approx(theirs.log_size(0.1), rel=1e-12)
    assert [(one.floor, one.counted_below) for one in ours.conditions(0.1)] == [
        (one.floor, pytest.approx(one.counted_below)) for one in theirs.conditions(0.1)
    ]


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_is_its_graph(name: str) -> None:
    block, by_hand = BLOCKS[name]
    same(build(described(blocks=[block])).output, ended(by_hand(start())))


def test_blocks_are_numbered_and_repeated() -> None:
    found = build(described(blocks=[{**MLP, "repeat": 2}, {**MLP, "hidden": 3}]))
    assert set(found.analysis.coefficients) == {f"{i}.{role}" for i in range(3) for role in ("up", "down")} | {
        "readout"
    }
    tied = build(described(blocks=[{**MLP, "repeat": 3, "tied": True}]))
    assert set(tied.analysis.coefficients) == {"tied0.up", "tied0.down", "readout"}


def test_sources_and_ends() -> None:
    table = weight("table", "table", 11, D)
    embedding = {"dimension": D, "positions": T, "entries": 11}
    bare = {"weights": BOUNDS, "embedding": embedding}
    same(build(bare).output, ended(net.embedding(table, positions=T)))
    rich = {**embedding, "learned_positions": True, "scale": 3.0, "normalisation": {}}
    z = net.add(
        net.embedding(table, positions=T), net.embedding(weight("position_table", "position_table", T, D), positions=T)
    )
    same(build({**bare, "embedding": rich}).output, ended(norm(net.scale(z, 3.0), "embedding.norm")))
    read = weight("readout", "readout", 1, D)
    ends: dict[str, Callable[[net.Node], net.Node]] = {
        "cls": net.pick,
        "last": net.pick,
        "mean": net.mean_pool,
        "max": net.max_pool,
    }
    for pool, made in ends.items():
        same(build(described(readout={"pool": pool})).output, net.readout(made(start()), read))
    shifted = described(readout={"bias": True, "normalisation": {}}, loss={})
    shift = weight("bias", "readout.bias", 1, 1)
    z = net.readout(net.pick(norm(start(), "final.norm")), read, shift)
    same(build(shifted).output, net.loss(z, 1.0))
    words = {**bare, "readout": {"pool": "none", "classes": 11, "tied": True, "cap": 4.0}}
    z = net.vocabulary(net.embedding(table, positions=T), table, cap=4.0)
    loss = {"lipschitz": 2.0, "bound": 3.0}
    same(build({**words, "loss": loss}).output, net.mean_pool(net.loss(z, 2.0, 3.0)))
    for classes in (2, 11):
        with pytest.raises(InputError, match="loss"):
            build({**words, "readout": {"classes": classes}})
    assert build(bare).radii == (1.0, 0.1, 0.01)
    assert build(bare).samples is None


def test_experts_that_are_chosen_need_a_gap() -> None:
    with pytest.raises(InputError, match="gap"):
        build(described(blocks=[{**MLP, "experts": 3, "chosen": 2}]))


def test_unknown_kinds() -> None:
    for broken in ({"kind": "recurrent"}, {**MLP, "norm": "post", "normalisation": {"kind": "group_norm"}}):
        with pytest.raises(InputError, match="kind"):
            build(described(blocks=[broken]))


@pytest.mark.parametrize("fixed", [False, True])
def test_slopes_added_inside_a_cap_count_where_tokens_are_close(fixed: bool) -> None:
    """Alike tokens have alike scores, but not once something that depends on the position is added to them."""
    tokens = {"dimension": D, "positions": T, "radius": 2.0, "half_diameter": 0.01}
    block = {**ATTENTION, "cap": 40.0, **({"alibi": "fixed"} if fixed else {})}
    by_hand = attended(net.tokens(D, 2.0, positions=T, half_diameter=0.01), 1, cap=40.0, biased=fixed)
    same(build(described(blocks=[block], tokens=tokens)).output, ended(by_hand))
