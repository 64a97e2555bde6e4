"""Whole networks: blocks and graphs with every tensor moved, papers' networks with their numbers, very deep stacks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit

from certiformer.theory import networks as net
from certiformer.theory.calculus import chaining
from certiformer.theory.calculus.allocation import quadratic_total
from certiformer.theory.networks import Head, Weight
from theory.networks import layer_search as ls
from theory.networks.layer_search import Array, Case, Params, Tensor

EPS = 0.5


def matrix(name: str, rows: int, columns: int, norm: float = 0.8) -> Weight:
    return Weight(name, (rows, columns), spectral=norm)


def gain(name: str, dimension: int) -> Weight:
    return Weight(name, (dimension, 1), max_row=1.1)


def tensors(*weights: Weight) -> dict[str, Tensor]:
    found = {}
    for weight in weights:
        domain = ls.rows(weight.max_row) if math.isinf(weight.spectral) else ls.spectral(weight.spectral)
        found[weight.name] = Tensor(weight.shape, domain)
    return found


def scores(p: Params, head: str, x: Array, y: Array) -> Array:
    return 0.7 * np.einsum("nti,nsi->nts", ls.apply(p[f"Q{head}"], x), ls.apply(p[f"K{head}"], y))


def norm(p: Params, name: str, z: Array) -> Array:
    return ls.shift(p[f"g{name}"]) * ls.normalise(z, EPS, centred=True) + ls.shift(p[f"b{name}"])


def decoder_only() -> Case:
    """Tied embedding, one pre-LN block (two concatenated heads, separate Q and K; gated feed-forward), logits, loss."""
    d, vocabulary = 4, 5
    table = Weight("E", (vocabulary, d), max_row=0.9)
    norms = {name: (gain(f"g{name}", d), matrix(f"b{name}", d, 1, 0.3)) for name in "12"}
    parts = {f"{kind}{h}": matrix(f"{kind}{h}", 2, d) for kind in "QKV" for h in "ab"}
    out, gate, up, down = matrix("O", d, 4), matrix("gate", 3, d), matrix("up", 3, d), matrix("down", d, 3)

    z = net.embedding(table, positions=3)
    heads = [Head(value=parts[f"V{h}"], query=parts[f"Q{h}"], key=parts[f"K{h}"], scale=0.7) for h in "ab"]
    z = net.add(z, net.attention(net.layer_norm(z, *norms["1"], eps=EPS), heads, output=out))
    z = net.add(z, net.gated_feed_forward(net.layer_norm(z, *norms["2"], eps=EPS), gate, up, down))
    graph = net.loss(net.vocabulary(net.pick(z), table), 2.0)

    causal = np.where(np.tril(np.ones((3, 3))) > 0, 0.0, -np.inf)

    def forward(p: Params) -> Array:
        z = p["E"][:, [0, 3, 1]]
        h = norm(p, "1", z)
        each = [ls.apply(p[f"V{n}"], ls.attend(scores(p, n, h, h) + causal, h)) for n in "ab"]
        z = z + ls.apply(p["O"], np.concatenate(each, axis=-1))
        h = norm(p, "2", z)
        g = ls.apply(p["gate"], h)
        z = z + ls.apply(p["down"], g * expit(g) * ls.apply(p["up"], h))
        logits = ls.apply(p["E"], z[:, -1:])
        return -np.log(ls.softmax(logits)[..., 2:3])

    every = [table, *parts.values(), out, gate, up, down, *(weight for pair in norms.values() for weight in pair)]
    return Case("decoder-only", graph, tensors(*every), forward, seen_by=None)


def encoder_decoder() -> Case:
    """The encoder's output is read by both layers of the decoder."""
    d = 3
    source, target = net.tokens(d, 1.0, positions=3), net.tokens(d, 1.0, positions=2)
    weights: list[Weight] = []

    def head(name: str) -> Head:
        q, k, v = (matrix(f"{kind}{name}", d, d) for kind in "QKV")
        weights.extend((q, k, v))
        return Head(value=v, query=q, key=k, scale=0.7)

    memory = net.project(net.add(source, net.attention(source, head("e"))))
    z = target
    for i in "12":
        z = net.project(net.add(z, net.attention(z, head(f"s{i}"))))
        z = net.project(net.add(z, net.attention(z, head(f"c{i}"), keys=memory)))
    w = matrix("w", 1, d)
    graph = net.readout(net.mean_pool(z), w)

    def attend(p: Params, name: str, x: Array, y: Array) -> Array:
        return ls.project(x + ls.apply(p[f"V{name}"], ls.attend(scores(p, name, x, y), y)))

    def forward(p: Params) -> Array:
        memory = attend(p, "e", p["x"], p["x"])
        z = p["y"]
        for i in "12":
            z = attend(p, f"s{i}", z, z)
            z = attend(p, f"c{i}", z, memory)
        return ls.apply(p["w"], z.mean(axis=1, keepdims=True))

    inputs = {"x": Tensor((3, d), ls.ball(1.0)), "y": Tensor((2, d), ls.ball(1.0))}
    return Case(
        "encoder-decoder", graph, {**inputs, **tensors(*weights, w)}, forward, {"x": source, "y": target}, seen_by=None
    )


NETWORKS = [decoder_only(), encoder_decoder()]


@pytest.mark.parametrize("case", NETWORKS, ids=lambda case: case.name)
def test_no_change_of_all_tensors_beats_the_sum_of_sensitivities(case: Case) -> None:
    best = ls.worst_ratio(case, case.movable, generations=25, parents=30)
    assert 0.03 < best <= 1.0


@pytest.mark.parametrize("case", NETWORKS, ids=lambda case: case.name)
def test_no_single_tensor_is_free_and_none_beats_its_own_sensitivity(case: Case) -> None:
    coefficients = net.analyse(case.graph).coefficients
    for name in case.movable:
        if name not in case.inputs:
            assert coefficients[name].value > 0.0
        assert 0.0 < ls.worst_ratio(case, [name], generations=4, random=200, parents=10) <= 1.0


def test_the_encoder_is_charged_for_every_reader() -> None:
    """Reading the memory twice is the sum of reading it once in either place."""

    def sensitivity(first: bool, second: bool) -> float:
        source, target = net.tokens(2, 1.0, positions=2), net.tokens(2, 1.0, positions=2)
        memory = net.linear(source, Weight("M", (2, 2), spectral=1.0))
        z = target
        for i, reads in enumerate((first, second)):
            head = Head(value=Weight(f"V{i}", (2, 2), spectral=0.5), score=Weight(f"A{i}", (2, 2), spectral=0.5))
            keys = memory if reads else net.tokens(2, 1.0, positions=2)
            z = net.project(net.attention(z, head, keys=keys))
        analysis = net.analyse(z)
        return analysis.coefficients["M"].value

    assert sensitivity(True, True) == pytest.approx(sensitivity(True, False) + sensitivity(False, True))


def cls_network(depth: int, Bx: float, q: float, v: float, c: float, Bw: float) -> net.Node:
    """The projected multi-layer network with a scalar readout of the CLS token."""
    d = 8
    z = net.tokens(d, Bx, positions=4)
    for i in range(depth):
        head = Head(value=matrix(f"v{i}", d, d, v), score=matrix(f"q{i}", d, d, q))
        u = net.activation(net.project(net.attention(z, head)), net.RELU)
        z = net.project(net.linear(u, matrix(f"c{i}", d, d, c)))
    return net.readout(net.pick(z), matrix("w", 1, d, Bw))


@pytest.mark.parametrize(
    ("constant", "arguments", "expected"),
    [
        (1.0, {"depth": 3, "Bx": 2.0, "q": 1.0, "v": 1.0, "c": 1.0, "Bw": 1.0}, 58150.77977),
        (2.0, {"depth": 1, "Bx": 0.5, "q": 0.25, "v": 0.5, "c": 1.5, "Bw": 2.0}, 69.79845313),
        (1.0, {"depth": 2, "Bx": 3.0, "q": 2.0, "v": 0.8, "c": 0.9, "Bw": 1.0}, 20758.61193),
    ],
)
def test_the_multi_layer_covering_number_is_a_composition(constant: float, arguments: dict, expected: float) -> None:
    coefficients = net.analyse(cls_network(**arguments)).coefficients
    betas = [coefficient.value for coefficient in coefficients.values()]
    found = quadratic_total([constant] * len(betas), betas)
    # The propagated half-diameters can only help.
    assert found <= expected * (1 + 1e-9)
    if arguments["v"] == arguments["c"] == 1.0:
        assert found == pytest.approx(expected, rel=1e-9)


def test_the_shallow_encoder_is_a_composition() -> None:
    """Zero-centred Frobenius balls, n = 400, d = d_m = 64, radii 9 and 2: ln N <= P/eps^2."""
    d, n = 64, 400
    x = net.tokens(d, 1.0, positions=13)
    head = Head(value=Weight("V", (d, d), frobenius=9.0), score=Weight("QK", (d, d), frobenius=81.0 / 8.0))
    h = net.activation(net.attention(x, head), net.RELU)
    analysis = net.analyse(net.readout(net.mean_pool(h), Weight("O", (1, d), frobenius=2.0)), samples=n)
    assert analysis.cover.quadratic * math.exp(2 * analysis.cover.ln_radius) == pytest.approx(34962102.07, rel=1e-8)
    assert analysis.range.value == pytest.approx(18.0)
    assert analysis.rademacher(n) <= 18.0 * (1 + 1e-9)


def deep_stack(depth: int) -> net.Node:
    d = 8

    def weight(name: str, rows: int, columns: int) -> Weight:
        return Weight(name, (rows, columns), frobenius=3.0, spectral=1.5)

    z = net.tokens(d, 1.0, positions=8)
    for i in range(depth):
        head = Head(
            value=weight(f"V{i}", d, d), query=weight(f"Q{i}", 4, d), key=weight(f"K{i}", 4, d), scale=0.5, rotary=True
        )
        z = net.add(z, net.attention(net.layer_norm(z, gain(f"g{i}", d), matrix(f"b{i}", d, 1)), head))
        h = net.rms_norm(z, gain(f"r{i}", d))
        z = net.add(
            z,
            net.gated_feed_forward(h, weight(f"gate{i}", 16, d), weight(f"up{i}", 16, d), weight(f"down{i}", d, 16)),
        )
    return net.readout(net.pick(net.layer_norm(z)), matrix("w", 1, d, 1.0))


def test_fifty_pre_norm_layers_give_large_finite_logarithms() -> None:
    analysis = net.analyse(deep_stack(50), samples=10_000)
    logarithms = [coefficient.ln for coefficient in analysis.coefficients.values()]
    assert all(math.isfinite(ln) for ln in logarithms)
    assert max(logarithms) / math.log(10) > 300  # beyond floats
    sizes = [analysis.log_size(eps) for eps in (1e-3, 1e-1, 1.0)]
    assert all(math.isfinite(one) and one > 0.0 for one in sizes)
    assert sizes == sorted(sizes, reverse=True)
    # The final normalisation keeps the range finite, and the complexity never exceeds it.
    assert analysis.range.value == pytest.approx(math.sqrt(8.0))


def test_a_deep_stack_without_final_norm_reports_its_range_in_logarithms() -> None:
    z = net.tokens(2, 1.0, positions=1)
    for i in range(20):
        z = net.linear(z, matrix(f"W{i}", 2, 2, 1e20))
    analysis = net.analyse(net.readout(z, matrix("w", 1, 2)))
    assert analysis.range.value == analysis.rademacher(100) == math.inf
    assert analysis.ln_rademacher(100) == pytest.approx(400 * math.log(10.0) + math.log(0.8))


def test_more_samples_help_and_the_chain_is_the_one_of_the_toolbox() -> None:
    graph = cls_network(1, 1.0, 0.5, 0.7, 0.8, 1.0)
    analysis = net.analyse(graph)
    values = [analysis.rademacher(n) for n in (10**4, 10**6, 10**8)]
    assert values == sorted(values, reverse=True)
    chain = chaining.proper_chain(analysis.cover, analysis.range.value, 10**6)
    assert values[1] == pytest.approx(chain, rel=1e-6)
