"""Rules that look right and are not, each with the example that refutes it; the rules in use survive it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from certiformer.theory import networks as net
from certiformer.theory.networks import Head, Weight
from theory.networks.layer_search import (
    Array,
    Case,
    Params,
    Tensor,
    apply,
    attend,
    ball,
    free,
    normalise,
    rotate,
    shift,
    worst_ratio,
)


def constant(matrix: Array) -> Tensor:
    return Tensor(matrix.shape, lambda raw: np.broadcast_to(matrix, raw.shape))


def head_case(
    query: Array,
    key: Array,
    *,
    radius: float,
    half_diameter: float,
    query_bias: Array | None = None,
    rotary: bool = False,
    free_query: float = 0.0,
) -> Case:
    """Two tokens in the plane; given W_Q, W_K (W_Q anywhere in a ball if `free_query`), scores unscaled, values x."""
    x = net.tokens(2, radius, positions=2, half_diameter=half_diameter)
    tensors = {"x": Tensor((2, 2), ball(radius, half_diameter)), "Q": constant(query), "K": constant(key)}
    weights = {"Q": Weight("Q", (2, 2), spectral=norm(query)), "K": Weight("K", (2, 2), spectral=norm(key))}
    if free_query:
        tensors["Q"] = Tensor((2, 2), lambda raw: raw * (free_query / np.maximum(free_query, _frobenius(raw))))
        weights["Q"] = Weight("Q", (2, 2), spectral=free_query)
    if query_bias is not None:
        tensors["bQ"] = constant(query_bias)
        weights["bQ"] = Weight("bQ", (2, 1), spectral=norm(query_bias))
    if rotary:
        tensors["angles"] = Tensor((2,), free)

    def forward(p: Params) -> Array:
        queries, keys = apply(p["Q"], p["x"]), apply(p["K"], p["x"])
        if query_bias is not None:
            queries = queries + shift(p["bQ"])
        if rotary:
            queries, keys = rotate(queries, p["angles"]), rotate(keys, p["angles"])
        return attend(np.einsum("nti,nsi->nts", queries, keys), p["x"])

    head = Head(query=weights["Q"], key=weights["K"], query_bias=weights.get("bQ"), rotary=rotary)
    seen = {"Q": lambda p: p["x"], "K": lambda p: p["x"]}
    return Case("head", net.attention(x, head), tensors, forward, {"x": x}, seen, fixed=("angles",))


def norm(matrix: Array) -> float:
    return float(np.linalg.norm(matrix, 2))


def _frobenius(raw: Array) -> Array:
    return np.linalg.norm(raw, axis=(1, 2), keepdims=True)


def test_rotations_act_between_the_two_score_matrices() -> None:
    """Wrong: lambda = 1 + rho(rho+B)||W_K^T W_Q||. The product is 0 here, yet rotations give it back its size."""
    case = head_case(
        np.array([[4.0, 0.0], [0.0, 0.0]]), np.array([[0.0, 0.0], [4.0, 0.0]]), radius=1, half_diameter=1, rotary=True
    )
    claimed = 1.0
    ours = net.analyse(case.graph).sensitivity(case.inputs["x"]).value
    found = worst_ratio(case, ["x"]) * ours
    assert 5.0 * claimed < found <= ours * (1 + 1e-9)


def test_with_rotations_the_query_matrix_costs_rho_times_radius() -> None:
    """Wrong: rho^2 ||W_K||. Tokens close together but turned against each other feel the change with opposite signs."""
    rho = 0.05
    case = head_case(np.eye(2), np.eye(2), radius=1.0, half_diameter=rho, rotary=True, free_query=1.0)
    beta = next(part.beta.value for part in net.analyse(case.graph).contributions if part.name == "Q")
    found = worst_ratio(case, ["Q"]) * beta
    assert 15.0 * rho**2 < found <= beta * (1 + 1e-9)


@pytest.mark.parametrize(("rho", "q"), [(0.2, 20.0), (0.05, 100.0)])
def test_with_rotations_the_lipschitz_factor_has_no_half_diameter_form(rho: float, q: float) -> None:
    """Wrong: 1 + rho(rho+B)q. Keys (b, +-rho) turned a quarter left and right, the query (b, 0) half around itself."""
    b = math.sqrt(1.0 - rho**2)
    tokens = np.array([[[b, rho], [b, -rho], [b, 0.0]]])
    move = np.array([[[0.0, -1.0], [0.0, -1.0], [0.0, 1.0]]])
    # Score matrix W_K^T R(a_t - a_s) W_Q with W_K^T W_Q = -q I.
    angles = np.array([[math.pi / 2, -math.pi / 2, 0.0]])

    def attend_last(x: Array) -> Array:
        scores = np.einsum("nti,nsi->nts", -q * rotate(x, angles), rotate(x, angles))
        return attend(scores, x)[0, 2]

    step = 1e-6
    found = float(np.linalg.norm(attend_last(tokens + step * move) - attend_last(tokens - step * move))) / (2 * step)
    x = net.tokens(2, 1.0, positions=3, half_diameter=rho)
    head = Head(query=Weight("Q", (2, 2), spectral=q), key=Weight("K", (2, 2), spectral=1), rotary=True)
    ours = net.analyse(net.attention(x, head)).sensitivity(x).value
    assert ours == pytest.approx(1 + 2 * rho * q)
    assert 1.3 * (1 + rho * (rho + 1) * q) < found <= ours


def test_a_query_bias_makes_attention_sensitive_to_keys() -> None:
    """Wrong: lambda = 1 + 2 B^2 q without the bias, here 1.02."""
    case = head_case(0.01 * np.eye(2), np.eye(2), radius=1, half_diameter=1, query_bias=np.array([[30.0], [0.0]]))
    ours = net.analyse(case.graph).sensitivity(case.inputs["x"]).value
    found = worst_ratio(case, ["x"]) * ours
    assert 20.0 < found <= ours * (1 + 1e-9)


def test_rms_norm_passes_more_of_a_gain_than_layer_norm() -> None:
    """Wrong for RMSNorm: ||dg|| sqrt(d-1). At M e_1 the normalised token is sqrt(d) e_1."""
    token = np.array([[[1e6, 0.0, 0.0, 0.0]]])
    assert normalise(token, 1e-5, centred=False)[0, 0, 0] == pytest.approx(2.0)
    assert normalise(token, 1e-5, centred=True)[0, 0, 0] == pytest.approx(math.sqrt(3.0))


def test_values_in_cross_attention_are_not_free() -> None:
    """Wrong: a cross-attention rule whose only term is the score matrix."""
    x, y = net.tokens(2, 1, positions=2), net.tokens(2, 1, positions=2)
    graph = net.attention(x, Head(value=Weight("V", (2, 2), spectral=1), score=Weight("A", (2, 2), spectral=1)), keys=y)
    assert net.analyse(graph).coefficients["V"].value == pytest.approx(1.0)


def test_two_paths_count_twice() -> None:
    """Wrong: one product of factors per weight. A signal read by two layers sends its error along both."""
    x = net.tokens(2, 1, positions=1)
    memory = net.linear(x, Weight("W", (2, 2), spectral=1))
    left = net.linear(memory, Weight("A", (2, 2), spectral=1))
    right = net.linear(memory, Weight("B", (2, 2), spectral=1))
    coefficients = net.analyse(net.add(left, right)).coefficients
    # With A = B = I the output is 2 W x: the sum over paths is attained.
    assert coefficients["W"].value == pytest.approx(2.0)
