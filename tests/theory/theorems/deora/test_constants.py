"""Gradient and Hessian constants of attention against automatic differentiation, random and adversarial."""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certiformer.theory.core import InputError, find
from theory.theorems.deora.attention import Problem, random_problem, random_start

C3 = 4 / (3 * math.sqrt(3))


def sound(id, **inputs):
    return {name: bound.value for name, bound in find(id).evaluate(inputs).sound.items()}


def printed(id, **inputs):
    return {name: bound.value for name, bound in find(id).evaluate(inputs).printed.items()}


# --- the model in JAX: one head, parameters flat ---


def head(parameters, X, readout="full"):
    T, d = X.shape
    size = T * d if readout == "full" else d
    u, W = parameters[:size], parameters[size:].reshape(d, d)
    U = {
        "full": lambda: u.reshape(T, d),
        "pooling": lambda: jnp.broadcast_to(u, (T, d)),
        "last": lambda: jnp.zeros((T, d)).at[-1].set(u),
    }[readout]()
    return jnp.sum(U * (jax.nn.softmax(X @ W @ X.T, axis=-1) @ X)), U


def spectral(H):
    return jnp.max(jnp.abs(jnp.linalg.eigvalsh(H)))


@functools.cache
def search(kind, T, d, R, readout, steps=300, starts=40):
    """The largest gradient (or Hessian) relative to its size in b, by Adam from many starts: its norm, and b."""
    lift = math.sqrt(T) if readout == "pooling" else 1.0
    size = (T * d if readout == "full" else d) + d * d

    def measure(z):
        V = z[: T * d].reshape(T, d)
        X = R * V / jnp.maximum(1.0, jnp.linalg.norm(V, axis=1, keepdims=True))
        f = lambda p: head(p, X, readout)[0]  # noqa: E731
        derivative = jax.grad(f) if kind == "gradient" else jax.hessian(f)
        value = derivative(z[T * d :])
        norm = jnp.linalg.norm(value) if kind == "gradient" else jnp.max(jnp.abs(jnp.linalg.eigvalsh(value)))
        return norm, jnp.linalg.norm(head(z[T * d :], X, readout)[1])

    def objective(z):
        norm, b = measure(z)
        scale = (
            jnp.maximum(lift, R**2 * b) if kind == "gradient" else jnp.hypot(C3 * R**2 * b, 2 * lift) + C3 * R**2 * b
        )
        return jnp.log(norm / scale + 1e-12)

    value_and_grad = jax.vmap(jax.value_and_grad(objective))

    def step(state, k):
        z, m, v, best, where = state
        value, g = value_and_grad(z)
        better = value > best
        best, where = jnp.where(better, value, best), jnp.where(better[:, None], z, where)
        g = jnp.nan_to_num(g)
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
        z = z + 0.08 * (m / (1 - 0.9 ** (k + 1))) / (jnp.sqrt(v / (1 - 0.99 ** (k + 1))) + 1e-8)
        return (z, m, v, best, where), None

    def run(z):
        state = (z, 0 * z, 0 * z, jnp.full(starts, -jnp.inf), z)
        _, _, _, best, where = jax.lax.scan(step, state, jnp.arange(steps))[0]
        return measure(where[jnp.argmax(best)])

    norm, b = jax.jit(run)(1.5 * jax.random.normal(jax.random.key(T + d), (starts, T * d + size)))
    return float(norm), float(b)


@pytest.mark.independent("deora.cor1")
@pytest.mark.parametrize(
    ("kind", "T", "d", "R", "readout", "least"),
    [
        ("gradient", 2, 1, 1.0, "full", 0.99),
        ("gradient", 3, 2, 2.0, "full", 0.97),
        ("gradient", 3, 2, 1.0, "pooling", 0.97),
        ("gradient", 3, 2, 1.0, "last", 0.97),
        ("hessian", 2, 1, 1.0, "full", 0.99),
        ("hessian", 3, 2, 0.7, "full", 0.93),
        ("hessian", 2, 2, 1.0, "pooling", 0.9),
        ("hessian", 3, 1, 1.0, "last", 0.97),
    ],
)
def test_constants_are_bounds_and_nearly_attained(kind, T, d, R, readout, least):
    with jax.enable_x64(True):
        norm, b = search(kind, T, d, R, readout)
    bound = sound("deora.cor1", b=b, T=T, R=R, d=d, H=1, readout=readout)["beta1" if kind == "gradient" else "beta3"]
    assert least <= norm / bound <= 1.0


@pytest.mark.property_of("deora.cor1")
@given(st.floats(0, 5), st.integers(1, 30), st.floats(0.1, 3), st.integers(1, 40), st.integers(1, 10**6))
def test_sound_constants_never_exceed_the_printed_ones(b, T, R, d, H):
    ours, theirs = sound("deora.cor1", b=b, T=T, R=R, d=d, H=H), printed("deora.cor1", b=b, T=T, R=R, d=d, H=H)
    for name in ("beta1", "beta2", "beta3"):
        assert ours[name] <= theirs[name] * (1 + 1e-9)
    assert ours["beta3"] <= theirs["beta3_root_d"] * (1 + 1e-9)
    assert ours["beta2"] == pytest.approx(ours["beta3"] / math.sqrt(H) + ours["beta1"] ** 2 / 4, rel=1e-9)


@pytest.mark.property_of("deora.cor1")
@given(st.floats(0, 5), st.integers(1, 30), st.floats(0.1, 3), st.sampled_from(["full", "pooling", "last"]))
def test_other_losses_and_readouts_rescale_as_stated(b, T, R, readout):
    plain = sound("deora.cor1", b=b, T=T, R=R, d=1, H=9, readout=readout)
    scaled = sound("deora.cor1", b=b, T=T, R=R, d=1, H=9, readout=readout, G=2.0, C=3.0, Q=0.7)
    assert scaled["beta1"] == pytest.approx(3 * plain["beta1"])
    assert scaled["beta3"] == pytest.approx(3 * plain["beta3"])
    assert scaled["beta2"] == pytest.approx(2 * plain["beta3"] / 3 + 0.7 * plain["beta1"] ** 2)
    if readout == "last":  # one row is read, whatever the length
        assert plain == sound("deora.cor1", b=b, T=1, R=R, d=1, H=9, readout="full")
    if readout == "pooling":
        full = sound("deora.cor1", b=b, T=T, R=R, d=1, H=9)
        assert full["beta1"] <= plain["beta1"] * (1 + 1e-12) <= math.sqrt(T) * full["beta1"] * (1 + 1e-9)


@pytest.mark.counterexample("deora.cor1")
def test_printed_beta1_fails_under_pooling():
    """Equal tokens, u = 0: the gradient in the shared vector is T R, the printed beta1 is sqrt(T) R."""
    problem = Problem(np.ones((1, 4, 1)), np.ones(1), "pooling")
    gU, _ = problem.output_gradients(np.zeros((1, 1)), np.zeros((1, 1, 1)))
    assert np.linalg.norm(gU) == pytest.approx(4.0)
    evaluation = find("deora.cor1").evaluate({"b": 0, "T": 4, "R": 1, "d": 1, "H": 1, "readout": "pooling"})
    assert evaluation.printed["beta1"].value == 2.0
    assert not evaluation.printed["beta1"].applies
    assert evaluation.sound["beta1"].value == pytest.approx(4.0)


def test_printed_constants_are_flagged_outside_their_hypotheses():
    inputs = {"b": 1, "T": 4, "R": 1, "d": 3, "H": 16}
    assert all(bound.applies for bound in find("deora.cor1").evaluate(inputs).printed.values())
    for change in ({"R": 0.99}, {"readout": "pooling"}, {"G": 2}, {"C": 2}, {"Q": 0.3}):
        bounds = find("deora.cor1").evaluate({**inputs, **change}).printed
        assert not any(bound.applies for bound in bounds.values())
    assert find("deora.cor1").evaluate({**inputs, "readout": "last"}).printed["beta2"].applies


@pytest.mark.independent("deora.cor1")
def test_loss_constants_hold_for_many_heads():
    """Gradient, Hessian and least eigenvalue of the empirical loss by automatic differentiation."""
    rng = np.random.default_rng(5)
    n, T, d = 3, 3, 2
    with jax.enable_x64(True):
        for H in (1, 3):
            shape = T * d + d * d

            def loss(p, X, y, H=H, shape=shape):
                outputs = jax.vmap(lambda x: sum(head(p[h * shape : (h + 1) * shape], x)[0] for h in range(H)))(X)
                return jnp.mean(jnp.logaddexp(0.0, -y * outputs / math.sqrt(H)))

            derivatives = jax.jit(lambda p, X, y, f=loss: (f(p, X, y), jax.grad(f)(p, X, y), jax.hessian(f)(p, X, y)))
            seen = {"beta1": 0.0, "beta2": 0.0, "beta3": 0.0}
            for trial in range(40):
                problem = random_problem(rng, n, T, d, 1.3)
                X = 1.3 * problem.X / np.max(np.linalg.norm(problem.X, axis=-1))
                p = rng.normal(size=H * shape) * rng.uniform(0.1, 4)
                value, gradient, hessian = (
                    np.asarray(a) for a in derivatives(p, X, problem.y if trial % 4 else np.ones(n))
                )
                b = max(np.linalg.norm(p[h * shape : h * shape + T * d]) for h in range(H))
                constants = sound("deora.cor1", b=float(b), T=T, R=1.3, d=d, H=H)
                eigenvalues = np.linalg.eigvalsh(hessian)
                ratios = {
                    "beta1": np.linalg.norm(gradient) / (constants["beta1"] * value),
                    "beta2": np.max(np.abs(eigenvalues)) / constants["beta2"],
                    "beta3": -eigenvalues[0] * math.sqrt(H) / (constants["beta3"] * value),
                }
                seen = {name: max(seen[name], ratio) for name, ratio in ratios.items()}
            assert max(seen.values()) <= 1.0
            assert min(seen.values()) > 0.05


def random_head(rng, T, d):
    X = rng.normal(size=(T, d))
    p = rng.normal(size=T * d + d * d) * rng.uniform(0.1, 3)
    return X, p, p[: T * d].reshape(T, d)


@pytest.mark.independent("deora.lem1", "deora.prop1")
def test_blocks_by_automatic_differentiation():
    rng, T, d = np.random.default_rng(0), 3, 2
    with jax.enable_x64(True):
        derivatives = jax.jit(
            lambda p, X: (jax.grad(lambda q: head(q, X)[0])(p), jax.hessian(lambda q: head(q, X)[0])(p))
        )
        for _ in range(60):
            X, p, U = random_head(rng, T, d)
            gradient, hessian = (np.asarray(a) for a in derivatives(p, X))
            R = float(np.max(np.linalg.norm(X, axis=1)))
            Y = float(np.sum(np.max(np.abs(X @ U.T), axis=0)))
            blocks = sound("deora.lem1", T=T, R=R, Y=Y)
            cut = T * d
            assert np.linalg.norm(gradient[:cut]) <= blocks["gradient_U"]
            assert np.linalg.norm(gradient[cut:]) <= blocks["gradient_W"]
            assert np.linalg.norm(hessian[:cut, cut:], 2) <= blocks["hessian_UW"]
            assert np.linalg.norm(hessian[cut:, cut:], 2) <= blocks["hessian_WW"]
            assert np.max(np.abs(hessian[:cut, :cut])) < 1e-12
            total = find("deora.prop1").evaluate({"T": T, "R": R, "Y": Y, "Xmax": float(np.max(np.abs(X))), "d": d})
            for name, value in (("gradient", np.linalg.norm(gradient)), ("hessian", np.linalg.norm(hessian, 2))):
                assert value <= total.sound[name].value <= total.printed[name].value * (1 + 1e-9)


@pytest.mark.independent("deora.lem1")
@pytest.mark.parametrize("R", [0.5, 1.0, 2.0])
def test_blocks_are_attained(R):
    """Two tokens +-R in one dimension; W sets the attention, U the sign of each row."""
    X = np.array([[R], [-R]])
    with jax.enable_x64(True):
        compiled = jax.jit(lambda p: (jax.grad(lambda q: head(q, X)[0])(p), jax.hessian(lambda q: head(q, X)[0])(p)))

        def derivatives(u, w):
            return tuple(np.asarray(a) for a in compiled(jnp.array([*u, w])))

        # uniform attention: the covariance of the tokens is R^2
        gradient, hessian = derivatives([1.0, -1.0], 0.0)
        blocks = sound("deora.lem1", T=2, R=R, Y=2 * R)
        assert abs(gradient[2]) == pytest.approx(blocks["gradient_W"], rel=1e-9)
        assert np.linalg.norm(hessian[:2, 2]) == pytest.approx(blocks["hessian_UW"], rel=1e-9)
        # attention (1 -+ 1/sqrt 3)/2: the extremal law of the third cumulant
        w = math.atanh(1 / math.sqrt(3)) / R**2
        _, hessian = derivatives([1.0, 1.0], w)
        _, flipped = derivatives([1.0, -1.0], w)
        assert max(abs(hessian[2, 2]), abs(flipped[2, 2])) == pytest.approx(blocks["hessian_WW"], rel=1e-9)
        # equal tokens: every row of the gradient in U is the token
        gU, _ = Problem(np.full((1, 2, 1), R), np.ones(1)).output_gradients(np.ones((1, 2, 1)), np.ones((1, 1, 1)))
        assert np.linalg.norm(gU) == pytest.approx(blocks["gradient_U"], rel=1e-9)


@pytest.mark.property_of("deora.lem1", "deora.prop1")
@given(st.integers(1, 50), st.floats(0.1, 3), st.floats(0, 10))
def test_proposition_combines_the_blocks(T, R, Y):
    blocks = sound("deora.lem1", T=T, R=R, Y=Y)
    total = sound("deora.prop1", T=T, R=R, Y=Y, Xmax=R, d=1)
    assert total["gradient"] == pytest.approx(math.hypot(blocks["gradient_U"], blocks["gradient_W"]))
    matrix = np.array([[0.0, blocks["hessian_UW"]], [blocks["hessian_UW"], blocks["hessian_WW"]]])
    assert total["hessian"] == pytest.approx(np.linalg.norm(matrix, 2))


def test_printed_side_of_proposition_1_flags_impossible_entries():
    inputs = {"T": 2, "R": 1.0, "Y": 1.0, "d": 4}
    assert find("deora.prop1").evaluate({**inputs, "Xmax": 0.6}).printed["hessian"].applies
    assert find("deora.prop1").evaluate({**inputs, "Xmax": 0.5}).printed["hessian"].applies
    assert not find("deora.prop1").evaluate({**inputs, "Xmax": 0.4}).printed["hessian"].applies
    assert not find("deora.prop1").evaluate({**inputs, "Xmax": 1.1}).printed["hessian"].applies


def cumulant(p, y, s):
    p = p / p.sum()
    return abs(np.sum(p * (y - p @ y) * (s - p @ s) ** 2))


@pytest.mark.independent("deora.kappa3")
def test_third_cumulant_by_search():
    rng = np.random.default_rng(1)
    worst = 0.0
    for _ in range(20000):
        k = rng.integers(2, 6)
        p, y, s = rng.dirichlet(np.full(k, 0.6)), rng.uniform(-1, 1, k), rng.uniform(-1, 1, k)
        if rng.random() < 0.5:
            y, s = np.sign(y), np.sign(s)
        worst = max(worst, cumulant(p, y, s))
    bound = sound("deora.kappa3", Y=1, S=1)["value"]
    assert 0.97 * bound < worst <= bound
    q = (1 - 1 / math.sqrt(3)) / 2
    assert cumulant(np.array([q, 1 - q]), np.array([1.0, -1.0]), np.array([1.0, -1.0])) == pytest.approx(
        bound, rel=1e-9
    )


@pytest.mark.property_of("deora.kappa3")
@given(st.floats(0, 10), st.floats(0, 10))
def test_third_cumulant_scales(Y, S):
    assert sound("deora.kappa3", Y=Y, S=S)["value"] == pytest.approx(C3 * Y * S**2)


@pytest.mark.independent("deora.softmax")
@given(st.lists(st.floats(-4, 4), min_size=2, max_size=6))
def test_softmax_jacobian_by_differences(v):
    def phi(x):
        e = np.exp(x - np.max(x))
        return e / e.sum()

    x, step = np.array(v), 1e-6
    jacobian = np.stack([(phi(x + step * e) - phi(x - step * e)) / (2 * step) for e in np.eye(len(v))], axis=1)
    for i in (1, len(v)):
        for j in (1, 2):
            assert sound("deora.softmax", v=v, i=i, j=j)["entry"] == pytest.approx(jacobian[i - 1, j - 1], abs=1e-8)
    bounds = sound("deora.softmax", v=v, i=1, j=1)
    assert np.linalg.norm(jacobian, 2) <= bounds["norm_here"] + 1e-8
    assert bounds["norm_here"] <= bounds["norm"]


@pytest.mark.property_of("deora.softmax")
def test_softmax_rows_sum_to_zero_and_half_is_attained():
    v = (0.3, -0.2, 1.0)
    assert sum(sound("deora.softmax", v=v, i=2, j=j)["entry"] for j in (1, 2, 3)) == pytest.approx(0, abs=1e-15)
    assert sum(sound("deora.softmax", v=v, i=2, j=j)["at_zero"] for j in (1, 2, 3)) == pytest.approx(0, abs=1e-15)
    assert sound("deora.softmax", v=(0, 0), i=1, j=1)["norm_here"] == pytest.approx(0.5)


@pytest.mark.counterexample("deora.softmax")
def test_printed_softmax_jacobian_is_wrong():
    """diag(phi) - v v^T at (0, 1, -1), and I - 11^T/T at zero, against the definition."""
    entry = printed("deora.softmax", v=(0, 1, -1), i=2, j=3)["entry"]
    assert entry == pytest.approx(1.0)
    assert sound("deora.softmax", v=(0, 1, -1), i=2, j=3)["entry"] == pytest.approx(-1 / (1 + math.e + 1 / math.e) ** 2)
    evaluation = find("deora.softmax").evaluate({"v": (0, 0, 0, 0), "i": 1, "j": 1})
    assert evaluation.printed["at_zero"].value == 4 * evaluation.sound["at_zero"].value
    assert evaluation.printed["entry"].value == 0.25  # v v^T vanishes at zero: not even the two printed forms agree


def test_softmax_positions_must_exist():
    for i, j in ((4, 1), (1, 4)):
        with pytest.raises(InputError, match="between 1 and 3"):
            find("deora.softmax").evaluate({"v": (0, 1, 2), "i": i, "j": j})
    find("deora.softmax").evaluate({"v": (0, 1, 2), "i": 3, "j": 3})


def test_numpy_model_agrees_with_automatic_differentiation():
    rng = np.random.default_rng(3)
    with jax.enable_x64(True):
        for readout in ("full", "pooling", "last"):
            problem = random_problem(rng, 2, 3, 2, 1.0, readout)
            u, W = random_start(rng, problem, 1, 1.0)
            p = jnp.concatenate([u.ravel(), W.ravel()])
            gU, gW = problem.output_gradients(u, W)
            for i in range(2):
                value, gradient = jax.value_and_grad(lambda q, X=problem.X[i], r=readout: head(q, X, r)[0])(p)
                assert float(value) == pytest.approx(problem.outputs(u, W)[i])
                np.testing.assert_allclose(np.concatenate([gU[i].ravel(), gW[i].ravel()]), gradient, atol=1e-12)
