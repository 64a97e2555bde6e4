"""Lemma 4: the kernel given W against simulation over u, quadrature in mpmath, and its bound."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from certiformer.theory.calculus.activations import ACTIVATIONS, activation
from certiformer.theory.core import InputError, find
from certiformer.theory.theorems.arda.lemma_4 import _quadrature_kernel, kernel_given_weights
from theory.theorems.arda.reference_model import softmax, tokens


def attention(X, W, q):
    """The attended token and the covariance of the tokens (rows of X)."""
    p = softmax(X @ W @ q)
    a = p @ X
    return a, (X.T * p) @ X - np.outer(a, a)


def gram_numbers(X, Y, W):
    """The calculator's inputs from two sequences and W, the query being the last token."""
    (a, M), (b, N) = attention(X, W, X[-1]), attention(Y, W, Y[-1])
    A, MN = np.stack([a, b], axis=1), M @ N
    cross = A.T @ (MN + MN.T) @ A / 2
    return {
        "S11": a @ a,
        "S12": a @ b,
        "S22": b @ b,
        "N11": cross[0, 0],
        "N12": cross[0, 1],
        "N22": cross[1, 1],
        "tr_MM": np.trace(MN),
        "qq": X[-1] @ Y[-1],
    }, (a, b, M, N)


@pytest.mark.independent("arda.lem4")
@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_kernel_blocks_are_averages_over_the_head_vector(name: str) -> None:
    rng = np.random.default_rng(4)
    X, Y, W = tokens(rng, 3, 2), tokens(rng, 4, 2), rng.normal(size=(2, 2))
    inputs, (a, b, M, N) = gram_numbers(X, Y, W)
    bounds = find("arda.lem4").evaluate({"activation": name, **inputs}).sound
    sigma = activation(name)
    u = rng.normal(size=(400_000, 2))
    slopes = sigma.slope(u @ a) * sigma.slope(u @ b)
    draws = {
        "K_c": sigma.value(u @ a) * sigma.value(u @ b),
        "K_u": slopes * (a @ b),
        "K_w": inputs["qq"] * slopes * np.einsum("ij,ij->i", u @ M, u @ N),
    }
    for block, values in draws.items():
        error = values.std() / math.sqrt(len(values))
        assert abs(values.mean() - bounds[block].value) < 4 * error + 1e-12
    assert bounds["K"].note == ("given W, closed form" if name == "erf" else "given W, 80 x 80 quadrature")
    assert bounds["K"].value == pytest.approx(sum(bounds[block].value for block in draws), rel=1e-12)
    printed = find("arda.lem4").evaluate({"activation": name, **inputs}).printed
    assert all(printed[block].value == bounds[block].value for block in ("K_c", "K_u", "K_w", "K"))


@pytest.mark.independent("arda.lem4")
def test_closed_form_and_quadrature_agree() -> None:
    S, N = np.array([[0.5, 0.2], [0.2, 0.7]]), np.array([[0.03, 0.01], [0.01, 0.04]])
    erf = activation("erf")
    exact = kernel_given_weights(erf, (0.5, 0.2, 0.7), (0.03, 0.01, 0.04), 0.3, -0.6)
    assert exact == pytest.approx(_quadrature_kernel(erf, S, N, 0.3, -0.6), rel=1e-11)
    # a singular Gram matrix: the same attended token twice
    S, N = np.full((2, 2), 0.4), np.full((2, 2), 0.02)
    exact = kernel_given_weights(erf, (0.4, 0.4, 0.4), (0.02, 0.02, 0.02), 0.1, 1.0)
    assert exact == pytest.approx(_quadrature_kernel(erf, S, N, 0.1, 1.0), rel=1e-9)
    with mpmath.workdps(20):
        root = mpmath.sqrt(mpmath.mpf("0.4"))
        density = lambda z: mpmath.npdf(z) * mpmath.tanh(root * z) ** 2  # noqa: E731
        single = mpmath.quad(density, [-12, 0, 12])
    assert kernel_given_weights(activation("tanh"), (0.4, 0.4, 0.4), (0, 0, 0), 0, 1)[0] == pytest.approx(float(single))


@pytest.mark.independent("arda.lem4")
@pytest.mark.property_of("arda.lem4")
def test_kernel_stays_below_its_bound_and_reaches_it() -> None:
    rng = np.random.default_rng(8)
    result = find("arda.lem4")
    for _ in range(30):
        X, Y, W = tokens(rng, 3, 2), tokens(rng, 2, 2), 3 * rng.normal(size=(2, 2))
        inputs, _ = gram_numbers(X, Y, W)
        bounds = result.evaluate({"activation": "tanh", **inputs}).sound
        assert abs(bounds["K"].value) <= bounds["value"].value <= bounds["blockwise"].value
    still = {"S11": 0, "S12": 0, "S22": 0, "N11": 0, "N12": 0, "N22": 0, "tr_MM": 1, "qq": 1}
    # one dimension, opposite tokens: a = 0, M = 1, and K_w = s1^2
    s1 = math.sqrt(2 / math.pi)
    bounds = result.evaluate({"activation": "erf", **still}).sound
    assert bounds["K_w"].value == pytest.approx(s1**2, rel=1e-12)
    assert bounds["value"].value == pytest.approx(1 + s1**2, rel=1e-11)
    assert bounds["blockwise"].value == pytest.approx(1 + 2 * s1**2, rel=1e-11)
    assert bounds["value"].applies


def test_a_matrix_that_is_no_gram_matrix_is_refused() -> None:
    inputs = {"S11": 0.1, "S12": 0.2, "S22": 0.1, "N11": 0, "N12": 0, "N22": 0, "tr_MM": 0, "qq": 0}
    with pytest.raises(InputError, match="S12"):
        find("arda.lem4").evaluate({"activation": "tanh", **inputs})
    for beyond in (0.101, 0.1 * (1 + 5.2e-10)):
        with pytest.raises(InputError, match="S12"):
            find("arda.lem4").evaluate({"activation": "tanh", **inputs, "S12": beyond})
    find("arda.lem4").evaluate({"activation": "tanh", **inputs, "S12": 0.1})
