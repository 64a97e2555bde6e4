"""The sensitivities and covers of the paper's networks, against the networks themselves."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from certiformer.theory.calculus.covers import maurey_plain
from certiformer.theory.core import find
from certiformer.theory.theorems.li import _architecture as arch

BOUNDS = {"Bw": 0.8, "Bc": 1.1, "Bv": 0.9, "BQK": 1.3, "L_sigma": 1.2}


def softmax(scores):
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def activation(x):
    return 1.2 * np.tanh(x)


def project(x):
    return x / np.maximum(1.0, np.linalg.norm(x, axis=-1, keepdims=True))


def block(X, W):
    return activation(softmax(X @ W["QK"] @ X.T) @ X @ W["v"]) @ W["c"]


def one_layer(X, heads, w):
    return float(sum(block(X, W)[0] for W in heads) @ w)


def many_layers(X, layers, w, norm=project, act=activation):
    for W in layers:
        Z = act(softmax(X @ W["QK"] @ X.T) @ X @ W["v"]) @ W["c"]
        X = norm(act(norm(Z)))
    return float(X[0] @ w)


def ball(rng, shape, norm):
    """A matrix of spectral norm `norm`, often of rank one, where the bounds are tight."""
    if rng.random() < 0.6:
        W = np.outer(rng.normal(size=shape[0]), rng.normal(size=shape[1]))
    else:
        W = rng.normal(size=shape)
    return W * norm / np.linalg.norm(W, 2) * rng.choice([1.0, 1.0, 0.3])


def move(rng, W, norm):
    """Another matrix of the ball, near or far."""
    other = ball(rng, W.shape, norm)
    t = rng.choice([1e-3, 0.1, 1.0])
    return W + t * (other - W)


def head(rng, d, k):
    return {
        "QK": ball(rng, (d, d), BOUNDS["BQK"]),
        "v": ball(rng, (d, k), BOUNDS["Bv"]),
        "c": ball(rng, (k, d), BOUNDS["Bc"]),
    }


def neighbour(rng, W):
    norms = {"QK": BOUNDS["BQK"], "v": BOUNDS["Bv"], "c": BOUNDS["Bc"]}
    which = rng.choice(["QK", "v", "c", "all"])
    return {name: move(rng, M, norms[name]) if which in (name, "all") else M for name, M in W.items()}


def tokens(rng, T, d, b):
    X = rng.normal(size=(T, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True) * b * rng.choice([1.0, 1.0, 0.5], size=(T, 1))


@pytest.mark.independent("li.thmB.1", "li.thmB.2", "li.thmB.4", "li.thmB.5")
@pytest.mark.parametrize("H", [1, 3])
def test_one_layer_moves_no_further_than_its_sensitivities(H):
    rng = np.random.default_rng(H)
    d, k, b = 3, 2, 1.4
    network = arch.one_layer(arch.Norms(d, k, **BOUNDS), b=b, H=H)
    beta = {weight.name: math.exp(weight.ln_beta) for weight in network.weights}
    worst = largest = 0.0
    for _ in range(500):
        X = tokens(rng, 3, d, b)
        heads = [head(rng, d, k) for _ in range(H)]
        others = [neighbour(rng, W) for W in heads]
        w = ball(rng, (d, 1), BOUNDS["Bw"])[:, 0]
        v = move(rng, w[:, None], BOUNDS["Bw"])[:, 0]
        change = abs(one_layer(X, heads, w) - one_layer(X, others, v))
        allowed = sum(
            beta["u"] * np.linalg.norm(W["c"] @ w - V["c"] @ v)
            + beta["W_v"] * np.linalg.norm(W["v"] - V["v"], 2)
            + beta["W_QK"] * np.linalg.norm(W["QK"] - V["QK"], 2)
            for W, V in zip(heads, others, strict=True)
        )
        assert change <= allowed * (1 + 1e-9) + 1e-12
        worst = max(worst, change / max(allowed, 1e-9))
        largest = max(largest, abs(one_layer(X, heads, w)))
    assert worst > 0.3  # the sensitivities are not idle
    assert 0.15 * network.output_bound < largest <= network.output_bound


@pytest.mark.independent("li.thm5.3", "li.thm5.8")
@pytest.mark.parametrize("L", [1, 2, 3])
def test_many_layers_move_no_further_than_their_sensitivities(L):
    rng = np.random.default_rng(10 + L)
    d, k, b = 3, 2, 1.3
    network = arch.many_layers(arch.Norms(d, k, **BOUNDS), layers=L, b=b)
    beta = {weight.name: math.exp(weight.ln_beta) for weight in network.weights}
    worst = 0.0
    for _ in range(300):
        X = tokens(rng, 3, d, b)
        layers = [head(rng, d, k) for _ in range(L)]
        others = [neighbour(rng, W) for W in layers]
        w = ball(rng, (d, 1), BOUNDS["Bw"])[:, 0]
        v = move(rng, w[:, None], BOUNDS["Bw"])[:, 0]
        change = abs(many_layers(X, layers, w) - many_layers(X, others, v))
        allowed = beta["w"] * np.linalg.norm(w - v)
        for i, (W, V) in enumerate(zip(layers, others, strict=True), start=1):
            for name, key in (("c", "W_c"), ("v", "W_v"), ("QK", "W_QK")):
                allowed += beta[f"{key}{i}"] * np.linalg.norm(W[name] - V[name], 2)
        assert change <= allowed * (1 + 1e-9) + 1e-12
        worst = max(worst, change / max(allowed, 1e-9))
    assert worst > 0.02


def layer_norm(x, eps=1.0):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(np.mean(centred**2, axis=-1, keepdims=True) + eps)


def layer_norm_constants(d, gain, bias, eps):
    """rho and xi as the inputs of the theorems say: sqrt(d) max|gain| + ||bias||_2, and max|gain|/sqrt(eps)."""
    return math.sqrt(d) * gain + bias, gain / math.sqrt(eps)


@pytest.mark.independent("li.thm5.3", "li.thm5.8", "li.thm4.11")
def test_layer_norm_needs_its_own_radius_in_every_layer():
    """Rank-one weights, identity activation, d = 4: with b_l = 1 the sensitivity is too small, with rho it is not."""
    d, k = 4, 1
    rho, xi = layer_norm_constants(d, 1.0, 0.0, 1.0)
    assert (rho, xi) == (2.0, 1.0)
    direction = np.array([1.0, -1.0, 1.0, -1.0]) / 2
    big = {"QK": np.zeros((d, d)), "v": 1e4 * direction[:, None], "c": direction[None, :]}
    small = {"QK": np.zeros((d, d)), "v": np.zeros((d, k)), "c": 1e-3 * direction[None, :]}
    moved = {**small, "v": 1e-3 * direction[:, None]}
    X = direction[None, :]
    w = direction

    def value(second):
        return many_layers(X, [big, second], w, norm=layer_norm, act=lambda z: z)

    change = abs(value(moved) - value(small))
    bounds = {"Bw": 1.0, "Bc": 1e-3, "Bv": 1e-3, "BQK": 1e-9, "L_sigma": 1.0}
    naive = arch.many_layers(arch.Norms(d, k, **bounds), layers=2, b=1.0, rho=1.0, xi=xi)
    right = arch.many_layers(arch.Norms(d, k, **bounds), layers=2, b=1.0, rho=rho, xi=xi)
    by_name = {weight.name: math.exp(weight.ln_beta) * 1e-3 for weight in naive.weights}
    assert change > 1.4 * by_name["W_v2"]
    by_name = {weight.name: math.exp(weight.ln_beta) * 1e-3 for weight in right.weights}
    assert change <= by_name["W_v2"]
    assert right.output_bound == 2.0
    assert math.exp(right.weights[0].ln_beta) == pytest.approx(rho)


def test_layer_norm_constants_against_its_jacobian():
    rng = np.random.default_rng(3)
    gain, bias, eps = 1.7, np.array([0.3, -0.2, 0.1, 0.0, 0.5]), 0.25
    rho, xi = layer_norm_constants(5, gain, float(np.linalg.norm(bias)), eps)
    assert rho == pytest.approx(math.sqrt(5) * 1.7 + np.linalg.norm(bias))
    assert xi == pytest.approx(3.4)
    for scale in (1e-3, 1.0, 1e3):
        x, y = rng.normal(size=(2, 400, 5)) * scale
        fx, fy = (gain * layer_norm(z, eps) + bias for z in (x, y))
        assert np.all(np.linalg.norm(fx - fy, axis=1) <= xi * np.linalg.norm(x - y, axis=1) * (1 + 1e-9))
        assert np.all(np.linalg.norm(fx, axis=1) <= rho * (1 + 1e-9))


def test_layer_norm_sensitivities_hold_in_a_search():
    rng = np.random.default_rng(4)
    d, k, L, b = 3, 2, 2, 1.0
    rho, xi = layer_norm_constants(d, 1.0, 0.0, 1.0)
    network = arch.many_layers(arch.Norms(d, k, **BOUNDS), layers=L, b=b, rho=rho, xi=xi)
    beta = {weight.name: math.exp(weight.ln_beta) for weight in network.weights}
    for _ in range(200):
        X = tokens(rng, 3, d, b)
        layers = [head(rng, d, k) for _ in range(L)]
        others = [neighbour(rng, W) for W in layers]
        w = ball(rng, (d, 1), BOUNDS["Bw"])[:, 0]
        change = abs(many_layers(X, layers, w, layer_norm) - many_layers(X, others, w, layer_norm))
        allowed = 0.0
        for i, (W, V) in enumerate(zip(layers, others, strict=True), start=1):
            for name, key in (("c", "W_c"), ("v", "W_v"), ("QK", "W_QK")):
                allowed += beta[f"{key}{i}"] * np.linalg.norm(W[name] - V[name], 2)
        assert change <= allowed * (1 + 1e-9) + 1e-12


def test_sensitivities_written_out():
    network = arch.many_layers(arch.Norms(5, 3, **BOUNDS), layers=2, b=1.5, rho=1.2, xi=0.9)
    beta = {weight.name: math.exp(weight.ln_beta) for weight in network.weights}
    block_factor = 0.9**2 * 1.2**2
    growth = block_factor * 1.1 * 0.9 * (1 + 2 * 1.2**2 * 1.3)
    expected = {
        "w": 1.2,
        "W_c1": 0.8 * growth * block_factor * 0.9 * 1.5,
        "W_v1": 0.8 * growth * block_factor * 1.1 * 1.5,
        "W_QK1": 0.8 * growth * block_factor * 1.1 * 0.9 * 1.5**3,
        "W_c2": 0.8 * block_factor * 0.9 * 1.2,
        "W_v2": 0.8 * block_factor * 1.1 * 1.2,
        "W_QK2": 0.8 * block_factor * 1.1 * 0.9 * 1.2**3,
    }
    assert beta == pytest.approx(expected)
    assert network.output_bound == pytest.approx(1.2 * 0.8)
    by_name = {weight.name: weight for weight in network.weights}
    assert by_name["w"].l1_norm == pytest.approx(math.sqrt(5) * 0.8)
    assert by_name["w"].norm == 0.8
    assert [by_name[name].entries for name in ("w", "W_c1", "W_v1", "W_QK1")] == [5, 15, 15, 25]
    single = arch.one_layer(arch.Norms(5, 3, **BOUNDS), b=1.5, H=4, rv=2, rqk=9)
    assert [weight.rank for weight in single.weights] == [None, 2, 5]
    assert [weight.copies for weight in single.weights] == [4, 4, 4]
    beta = [math.exp(weight.ln_beta) for weight in single.weights]
    assert beta == pytest.approx([1.2 * 0.9 * 1.5, 1.2 * 0.88 * 1.5, 1.2 * 0.88 * 0.9 * 1.5**3])
    assert single.output_bound == pytest.approx(4 * 1.2 * 0.8 * 1.1 * 0.9 * 1.5)
    assert single.weights[0].norm == single.weights[0].l1_norm == pytest.approx(0.88)


@pytest.mark.independent("li.thmB.1", "li.thmB.2")
def test_gamma_is_the_optimum_of_the_allocation():
    """Minimise sum C_j/eps_j^2 under sum beta_j eps_j = 1 numerically; heads written out one by one."""
    network = arch.one_layer(arch.Norms(4, 3, **BOUNDS), b=1.2, H=2)
    costs, betas = [], []
    for weight in network.weights:
        for _ in range(weight.copies):
            costs.append(weight.l1_norm**2 * math.log(2 * weight.entries + 1))
            betas.append(math.exp(weight.ln_beta))
    costs, betas = np.array(costs), np.array(betas)

    def value(logits):
        share = np.exp(logits) / np.exp(logits).sum()
        return float(np.log(np.sum(costs * (betas / share) ** 2)))

    found = minimize(value, np.zeros(len(costs)), method="BFGS", options={"gtol": 1e-9})
    assert network.gamma**3 == pytest.approx(math.exp(found.fun), rel=1e-6)


@pytest.mark.independent("li.thmB.4", "li.thmB.5", "li.thm5.8")
@pytest.mark.parametrize("radius", [1e-1, 1e-3])
def test_the_network_cover_is_the_sum_of_its_weights(radius):
    """C5 by hand: radii in proportion to the parameters, heads one by one, C3 for the matrices."""
    H, d, k, rv, rqk, b = 2, 6, 4, 1, 2, 1.1
    network = arch.one_layer(arch.Norms(d, k, **BOUNDS), b=b, H=H, rv=rv, rqk=rqk)
    parameters = {"u": k, "W_v": (d + k) * rv, "W_QK": 2 * d * rqk}
    total = H * sum(parameters.values())
    by_hand = closed = 0.0
    for weight in network.weights:
        eps = radius * parameters[weight.name] / (total * math.exp(weight.ln_beta))
        ratio = weight.norm / eps
        volume = weight.entries * math.log(1 + 2 * ratio)
        rank = math.inf if weight.name == "u" else parameters[weight.name] * math.log(1 + 4 * ratio)
        by_hand += H * min(volume, rank)
        closed += H * parameters[weight.name] * math.log(1 + 4 * ratio)
    assert 0.97 * by_hand <= network.rank_cover().log_size(radius) <= by_hand * (1 + 1e-9)  # a better split, if any
    assert network.closed_log_size(1 / radius) == pytest.approx(closed, rel=1e-12)
    assert by_hand <= closed


@pytest.mark.property_of("li.thmB.1", "li.thmB.2", "li.thm5.3")
@pytest.mark.parametrize("radius", [0.9, 0.2, 0.01])
def test_the_better_cover_is_used_and_both_are_shown(radius):
    network = arch.many_layers(arch.Norms(30, 8, **BOUNDS), layers=2, b=1.0)
    better, plain = network.norm_cover(), network.plain_norm_cover()
    assert better.log_size(radius) <= plain.log_size(radius) * (1 + 1e-12)
    assert better.log_size(radius) <= network.gamma**3 / radius**2
    assert better.proper
    assert better.domain
    assert plain.proper
    assert plain.domain
    assert network.rank_cover().proper
    assert network.rank_cover().domain
    only_maurey = sum(
        maurey_plain(weight.l1_norm, weight.entries).log_size(radius / (7 * math.exp(weight.ln_beta)))
        for weight in network.weights
    )
    assert better.log_size(radius) <= only_maurey * 10


def test_covers_remember_sizes_without_changing_them():
    network = arch.one_layer(arch.Norms(5, 3, **BOUNDS), b=1.0)
    cover = network.rank_cover()
    assert cover.log_size(0.01) == cover.log_size(0.01) == network.rank_cover().log_size(0.01)


@pytest.mark.property_of("li.thmB.2", "li.thmB.5")
def test_heads_are_additive_in_gamma_and_superlinear_in_the_cover():
    one = arch.one_layer(arch.Norms(4, 3, **BOUNDS), b=1.0, H=1)
    eight = arch.one_layer(arch.Norms(4, 3, **BOUNDS), b=1.0, H=8)
    assert eight.gamma == pytest.approx(8 * one.gamma)
    assert eight.rank_cover().log_size(0.08) == pytest.approx(8 * one.rank_cover().log_size(0.01))


@pytest.mark.property_of("li.thm5.8", "li.thm5.3")
def test_deep_networks_do_not_overflow():
    inputs = {entry.name: entry.example for entry in find("li.thm5.8").inputs if entry.required}
    deep = find("li.thm5.8").evaluate({**inputs, "layers": 60, "Bc": 1e6})
    assert deep.sound["logN"].value < math.inf
    assert deep.sound["S2"].value == pytest.approx(4.0)  # clipped at the trivial value
    shallow = {entry.name: entry.example for entry in find("li.thm5.3").inputs if entry.required}
    huge = find("li.thm5.3").evaluate({**shallow, "layers": 15, "Bc": 1e16, "Bv": 1e16})
    assert huge.sound["gamma"].value == math.inf
    assert huge.sound["S4chain"].value <= 4.0 * (1 + 1e-9)
    assert not huge.printed["value"].applies or huge.printed["value"].value < math.inf
