"""Theorem 5.1, its direct route, Lemma C.1 and Appendix G."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certiformer.theory.calculus.rademacher import exact
from certiformer.theory.core import InputError, find

LOGITS = st.lists(st.floats(-8, 8), min_size=2, max_size=5)


def values(id, **inputs):
    return {name: bound.value for name, bound in find(id).evaluate(inputs).sound.items()}


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def cross_entropy(logits, label):
    return -np.log(softmax(logits))[..., label]


@pytest.mark.independent("trauger.thm5.1")
@pytest.mark.parametrize("seed", range(8))
def test_maurer_on_tiny_classes(seed):
    rng = np.random.default_rng(seed)
    functions, n, K = 5, 5, 3
    logits = rng.normal(size=(functions, n, K)) * rng.choice([0.3, 2.0])
    labels = rng.integers(0, K, n)
    losses = np.array([[cross_entropy(f[i], labels[i]) for i in range(n)] for f in logits])
    per_logit = [exact(logits[:, :, s]) for s in range(K)]
    bound = values("trauger.thm5.1", K=K, rad=max(per_logit), M=float(losses.max()))
    assert exact(losses) <= bound["maurer"]
    assert exact(losses) <= bound["clipped"]


@pytest.mark.property_of("trauger.thm5.1")
def test_linear_in_both_and_clipped():
    assert values("trauger.thm5.1", K=10, rad=0.02)["maurer"] == pytest.approx(0.4)
    got = values("trauger.thm5.1", K=10, rad=0.02, M=0.5)
    assert got["clipped"] == 0.25
    assert values("trauger.thm5.1", K=10, rad=0.02, M=100)["clipped"] == pytest.approx(0.4)
    assert "clipped" not in values("trauger.thm5.1", K=10, rad=0.02)
    evaluation = find("trauger.thm5.1").evaluate({"K": 10**6, "rad": 0.02})
    assert evaluation.printed["with_lipschitz"].value < evaluation.sound["maurer"].value


@pytest.mark.independent("trauger.thm5.1.direct")
@pytest.mark.parametrize("seed", range(10))
def test_direct_route_covers_losses(seed):
    """The inequality behind the sensitivities, and the vocabulary head covered by perceptron steps."""
    rng = np.random.default_rng(seed)
    K, d, n = 4, 3, 6
    W, V = rng.normal(size=(2, K, d))
    y, z = rng.normal(size=(2, n, d))
    labels = rng.integers(0, K, n)
    change = max(abs(cross_entropy(W @ y[i], labels[i]) - cross_entropy(V @ z[i], labels[i])) for i in range(n))
    head = np.abs(z @ (W - V).T).max()
    row = np.linalg.norm(W, axis=1).max()
    body = np.linalg.norm(y - z, axis=1).max()
    assert change <= 2 * (head + row * body) + 1e-12
    inputs = {"K": K, "n": n, "WF": 1.5, "row": 0.8, "b": 1.2, "C": (2.0,), "beta": (3.0,), "eps": 0.4}
    C_W = (1.5 * 1.2) ** 2 * math.log(2 * n * K + 1)
    expected = (C_W ** (1 / 3) * 2 ** (2 / 3) + 2 ** (1 / 3) * (2 * 0.8 * 3) ** (2 / 3)) ** 3 / 0.16
    got = values("trauger.thm5.1.direct", **inputs)
    assert got["C_W"] == pytest.approx(C_W)
    assert got["value"] == pytest.approx(expected, rel=1e-9)


@pytest.mark.property_of("trauger.thm5.1.direct")
def test_direct_route_pays_only_a_logarithm_of_the_vocabulary():
    inputs = {"n": 10**6, "WF": 3, "row": 1.5, "C": (2.0, 5.0), "beta": (4.0, 1.0), "eps": 0.5, "M": 10}
    small, large = (values("trauger.thm5.1.direct", K=K, **inputs) for K in (10, 10**6))
    assert large["value"] < 2 * small["value"]
    assert small["rademacher_chain"] <= small["rademacher_closed"] <= 5
    assert large["rademacher_chain"] < 2 * small["rademacher_chain"]
    clipped = values("trauger.thm5.1.direct", K=10, **{**inputs, "n": 2})
    assert clipped["rademacher_chain"] == clipped["rademacher_closed"] == 5
    with pytest.raises(InputError, match="as many"):
        values("trauger.thm5.1.direct", K=10, **{**inputs, "beta": (1.0,)})
    without = {name: value for name, value in inputs.items() if name != "M"}
    assert set(values("trauger.thm5.1.direct", K=10, **without)) == {"value", "C_W"}


@pytest.mark.independent("trauger.lemC.1")
@given(LOGITS.flatmap(lambda a: st.tuples(st.just(a), st.lists(st.floats(-8, 8), min_size=len(a), max_size=len(a)))))
def test_softmax_moves_no_further(pair):
    a, b = map(np.array, pair)
    moved = np.abs(softmax(a) - softmax(b)).sum()
    evaluation = find("trauger.lemC.1").evaluate({"a": tuple(a), "b": tuple(b)})
    assert moved <= evaluation.sound["tanh"].value + 1e-12
    assert evaluation.sound["tanh"].value <= evaluation.sound["linf"].value + 1e-12 <= 2 + 1e-12
    assert evaluation.sound["linf"].value <= evaluation.printed["value"].value * (1 + 1e-9)


@pytest.mark.property_of("trauger.lemC.1")
def test_softmax_bound_is_attained():
    for D in (0.01, 1.0, 5.0):
        a, b = np.array([D / 4, -D / 4]), np.array([-D / 4, D / 4])  # oscillation D, both halves equally likely between
        moved = np.abs(softmax(a) - softmax(b)).sum()
        assert moved == pytest.approx(values("trauger.lemC.1", a=tuple(a), b=tuple(b))["tanh"], rel=1e-9)
    tiny = values("trauger.lemC.1", a=(5e-4, -5e-4), b=(-5e-4, 5e-4))
    assert tiny["tanh"] == pytest.approx(tiny["linf"], rel=1e-6)  # the constant 1 is exact
    shifted = values("trauger.lemC.1", a=(3, 4), b=(0, 1))
    assert shifted["tanh"] == 0.0  # softmax ignores a common shift
    assert values("trauger.lemC.1", a=(50, 0), b=(0, 50)) == {"linf": 2.0, "tanh": 2.0}
    with pytest.raises(InputError, match="as many"):
        values("trauger.lemC.1", a=(1, 2), b=(1, 2, 3))


@pytest.mark.independent("trauger.appG")
@given(LOGITS)
def test_gradient_of_cross_entropy(logits):
    x, h = np.array(logits), 1e-6
    for label in range(len(x)):
        steps = np.eye(len(x)) * h
        gradient = (cross_entropy(x + steps, label) - cross_entropy(x - steps, label)) / (2 * h)
        got = values("trauger.appG", x=tuple(x), label=label)
        assert got["gradient_l1"] == pytest.approx(np.abs(gradient).sum(), abs=1e-6)
        assert got["gradient_l2"] == pytest.approx(np.linalg.norm(gradient), abs=1e-6)
        assert got["gradient_l1"] <= got["value"]
        assert got["gradient_l2"] <= got["value_l2"]


@pytest.mark.property_of("trauger.appG")
def test_constants_are_sharp():
    wrong = values("trauger.appG", x=(-40.0, 40.0), label=0)
    assert wrong["gradient_l1"] == pytest.approx(2)
    assert wrong["gradient_l2"] == pytest.approx(math.sqrt(2))
    right = values("trauger.appG", x=(40.0, -40.0), label=0)
    assert 0 < right["gradient_l1"] < 1e-30  # no cancellation in 1 - p
    assert find("trauger.appG").evaluate({"x": (0, 1), "label": 0}).best == "value"
    with pytest.raises(InputError, match="label"):
        values("trauger.appG", x=(0.0, 1.0), label=2)


def test_two_sigmoid_losses():
    # mean of two sigmoid losses against a one-hot label: gradient (p_1 - y_1, p_2 - y_2)/2
    got = values("trauger.appG", x=(0.0, 1.0), label=0)
    worst_l1 = worst_l2 = 0.0
    for a, b in itertools.product(np.linspace(-30, 30, 61), repeat=2):
        gradient = np.array([1 / (1 + math.exp(-a)) - 1, 1 / (1 + math.exp(-b))]) / 2
        worst_l1, worst_l2 = max(worst_l1, np.abs(gradient).sum()), max(worst_l2, np.linalg.norm(gradient))
    assert worst_l1 == pytest.approx(got["two_sigmoids"])
    assert worst_l2 == pytest.approx(got["two_sigmoids_l2"])
