"""Structure, initialisation and errors of the models."""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certiformer.lab import models
from certiformer.lab.models.independent_heads import seed_query
from certiformer.theory.core.errors import InputError, UnknownNameError

KEY = jax.random.key(7)
run = eqx.filter_jit(lambda model, *inputs: model(*inputs))


def tokens(rows, d, seed=1):
    return jnp.asarray(np.random.default_rng(seed).standard_normal((rows, d)), jnp.float32)


@pytest.mark.parametrize("name", models.names())
def test_defaults_run_in_float32_and_batch_with_vmap(name):
    model = models.build(name, KEY)
    rows = getattr(model.config, "tokens", 5)
    batch = jnp.stack([tokens(rows, model.config.d, seed) for seed in range(3)])
    out = jax.jit(jax.vmap(model))(batch)
    assert out.dtype == jnp.float32
    assert out.shape in {(3,), (3, 2)}
    np.testing.assert_allclose(out[1], run(model, batch[1]), rtol=2e-5, atol=1e-6)
    assert all(array.dtype == jnp.float32 for array in models.weights(model).values())


@pytest.mark.parametrize("name", models.names())
def test_float64_stays_float64_and_float32_is_not_promoted_under_x64(name):
    with jax.enable_x64(True):
        for dtype in (jnp.float32, jnp.float64):
            model = models.build(name, KEY, dtype=dtype)
            x = jnp.ones((getattr(model.config, "tokens", 5), model.config.d), dtype)
            assert jax.eval_shape(model, x).dtype == dtype


@pytest.mark.parametrize("name", sorted(set(models.names()) - {"multi_head_attention"}))  # it starts at zero
def test_keys_decide_the_weights(name):
    one, same, other = (models.build(name, jax.random.key(seed)) for seed in (0, 0, 1))
    assert eqx.tree_equal(one, same)
    assert not eqx.tree_equal(one, other)


def test_lecun_initialisation_of_the_shallow_encoder():
    model = models.build("shallow_encoder", KEY, d=100, d_m=400)
    for matrix in (model.W_Q, model.W_K, model.W_V):
        assert matrix.shape == (400, 100)
        assert float(np.sum(np.square(matrix))) == pytest.approx(400, rel=0.05)
        assert float(np.mean(matrix)) == pytest.approx(0, abs=0.002)
    assert float(np.sum(np.square(model.w_O))) == pytest.approx(1, rel=0.3)
    assert not np.allclose(model.W_Q, model.W_K)


def test_shallow_encoder_ignores_the_order_of_tokens():
    model, x = models.build("shallow_encoder", KEY, d=6, d_m=5), tokens(7, 6)
    np.testing.assert_allclose(run(model, x), run(model, x[::-1]), rtol=1e-5)


def loops(model, x):
    """The CLS Transformer of the papers, written out with loops over rows in NumPy."""
    c, x = model.config, np.asarray(x, np.float64)
    sigma = {"relu": lambda v: np.maximum(v, 0), "tanh": np.tanh, "identity": lambda v: v}[c.activation]

    def ball(v):
        return v / max(1.0, np.linalg.norm(v))

    for layer in range(c.layers):
        out = []
        for t in range(len(x)):
            total = np.zeros(c.d)
            for h in range(c.heads):
                W_QK, W_v, W_c = (np.asarray(part[layer, h], np.float64) for part in (model.W_QK, model.W_v, model.W_c))
                scores = np.array([row @ W_QK.T @ x[t] for row in x])
                p = np.exp(scores - scores.max())
                value = W_v.T @ (x.T @ (p / p.sum()))
                if c.projected and c.block == "trauger":
                    value = ball(value)
                total += W_c.T @ sigma(value)
            if c.projected:
                total = ball(sigma(ball(total))) if c.block == "li" else ball(total)
            out.append(total)
        x = np.array(out)
    return x


@pytest.mark.parametrize(
    ("block", "layers", "heads", "activation"),
    [("trauger", 1, 3, "relu"), ("trauger", 2, 2, "tanh"), ("li", 1, 1, "tanh"), ("li", 2, 2, "relu")],
)
def test_cls_transformer_against_loops(block, layers, heads, activation):
    with jax.enable_x64(True):
        model = models.build(
            "cls_transformer",
            KEY,
            dtype=jnp.float64,
            d=4,
            k=3,
            layers=layers,
            heads=heads,
            block=block,
            activation=activation,
        )
        x = 2.0 * jnp.asarray(tokens(5, 4), jnp.float64)
        rows = loops(model, x)
        np.testing.assert_allclose(run(model.rows, x), rows, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(run(model, x), rows[0] @ np.asarray(model.w), rtol=1e-10)


def test_blocks_agree_without_projections():
    x = tokens(5, 4)
    one, two = (models.build("cls_transformer", KEY, d=4, k=3, block=block) for block in ("trauger", "li"))
    np.testing.assert_array_equal(run(one, x), run(two, x))


def test_projected_outputs_are_bounded_by_the_readout():
    model = models.build("cls_transformer", KEY, d=4, k=3, layers=2)
    for scale in (1.0, 1e3, 1e6):
        assert abs(float(run(model, scale * tokens(6, 4)))) <= float(np.linalg.norm(model.w)) * (1 + 1e-6)


def test_unit_ball_is_the_projection_and_has_a_finite_gradient_at_zero():
    x = jnp.asarray([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]])
    np.testing.assert_allclose(jax.jit(models.unit_ball)(x), [[0.6, 0.8], [0.3, 0.4], [0.0, 0.0]], rtol=1e-6)
    assert np.isfinite(jax.jit(jax.grad(lambda v: models.unit_ball(v).sum()))(x)).all()


def test_class_and_masked_readouts():
    x = tokens(5, 4)
    classes = models.build("cls_transformer", KEY, d=4, k=3, readout="classes", classes=6, cls=-1)
    masked = models.build("cls_transformer", KEY, d=4, k=3, readout="masked", classes=6)
    assert run(classes, x).shape == (6,)
    np.testing.assert_allclose(run(classes, x), run(masked, x, jnp.asarray(4)), rtol=1e-6)
    np.testing.assert_allclose(run(masked, x, jnp.asarray(2)), masked.w @ run(masked.rows, x)[2], rtol=1e-5)
    with pytest.raises(InputError, match="position"):
        masked(x)
    with pytest.raises(InputError, match="position"):
        classes(x, 2)


def test_low_rank_factors_multiply_to_low_rank_matrices():
    model = models.build("low_rank_cls_transformer", KEY, d=6, k=5, heads=2, layers=2, rank=2)
    full, x = model.merged(), tokens(4, 6)
    np.testing.assert_allclose(run(model, x), run(full, x), rtol=1e-5)
    for stack in (full.W_QK, full.W_v, full.W_c):
        assert all(
            np.linalg.matrix_rank(matrix, tol=1e-4) == 2 for matrix in np.asarray(stack).reshape(4, *stack.shape[2:])
        )


def test_low_rank_entries_have_the_variance_of_full_ones():
    full = models.build("low_rank_cls_transformer", KEY, d=80, k=50, rank=10).merged()
    for matrix, fan_in in ((full.W_QK, 80), (full.W_v, 80), (full.W_c, 50)):
        assert float(np.var(matrix)) * fan_in == pytest.approx(1.0, rel=0.35)


def test_keras_network_has_37506_weights_and_the_keras_ranges():
    model = models.build("keras_cls_transformer", KEY)
    arrays = models.weights(model)
    assert sum(array.size for array in arrays.values()) == 37506
    limits = {"W_Q": (128, 4096), "W_K": (128, 4096), "W_V": (128, 4096), "W_O": (128, 128), "W_1": (64, 64)}
    for name, fans in limits.items():
        limit = math.sqrt(6 / sum(fans))
        assert 0.97 * limit < float(np.abs(arrays[name]).max()) <= limit
    assert float(np.std(model.W_2)) == pytest.approx(0.05, rel=0.2)
    assert all(float(np.abs(array).max()) == 0 for name, array in arrays.items() if name.startswith("b_"))
    assert not np.allclose(model.W_Q, model.W_K)


def test_keras_network_against_loops():
    with jax.enable_x64(True):
        rng = np.random.default_rng(3)
        config = models.KerasClsTransformerConfig(d=5, heads=2, key_size=3, classes=2)
        shapes = models.weights(models.KerasClsTransformer.init(KEY, config))
        arrays = {name: rng.standard_normal(array.shape) for name, array in shapes.items()}
        model = models.KerasClsTransformer(config, **{name: jnp.asarray(array) for name, array in arrays.items()})
        x = rng.standard_normal((4, 5))
        total = arrays["b_O"].copy()
        for h in range(2):
            q, keys, values = (x @ arrays[f"W_{part}"][:, h] + arrays[f"b_{part}"][h] for part in ("Q", "K", "V"))
            scores = keys @ q[-1] / np.sqrt(3)
            p = np.exp(scores) / np.exp(scores).sum()
            total += (p @ values) @ arrays["W_O"][h]
        expected = (np.maximum(total, 0) @ arrays["W_1"] + arrays["b_1"]) @ arrays["W_2"] + arrays["b_2"]
        np.testing.assert_allclose(run(model, jnp.asarray(x)), expected, rtol=1e-10)
        # The bias of the keys shifts all scores of a query alike.
        moved = eqx.tree_at(lambda m: m.b_K, model, model.b_K + 5.0)
        np.testing.assert_allclose(run(moved, jnp.asarray(x)), expected, rtol=1e-9)


def test_attention_readouts_are_special_projections():
    x = tokens(6, 4)

    def drawn(readout):
        model = models.build("multi_head_attention", KEY, d=4, tokens=6, heads=3, readout=readout)
        rng = np.random.default_rng(1)
        U, W = (jnp.asarray(rng.standard_normal(part.shape), jnp.float32) for part in (model.U, model.W))
        return models.MultiHeadAttention(model.config, U=U, W=W)

    full = drawn("full")
    for readout in ("pooling", "last"):
        model = drawn(readout)
        assert model.U.shape == (3, 4)
        as_full = models.MultiHeadAttention(full.config, U=model.projection(), W=model.W)
        np.testing.assert_allclose(run(model, x), run(as_full, x), rtol=1e-5, atol=1e-6)
    rows = models.MultiHeadAttention(
        full.config, U=full.U * jnp.asarray(np.arange(6) == 5, jnp.float32)[:, None], W=full.W
    )
    last = models.MultiHeadAttention(
        models.MultiHeadAttentionConfig(d=4, tokens=6, heads=3, readout="last"), U=full.U[:, -1], W=full.W
    )
    np.testing.assert_allclose(run(rows, x), run(last, x), rtol=1e-5, atol=1e-6)


def test_attention_starts_at_zero():
    zero = models.build("multi_head_attention", KEY, d=50, tokens=20, heads=4)
    assert not np.any(zero.U)
    assert not np.any(zero.W)


@pytest.mark.parametrize("readout", ["full", "pooling", "last"])
def test_one_step_is_a_gradient_step_on_the_logistic_loss(readout):
    config = models.MultiHeadAttentionConfig(d=4, tokens=3, heads=6, readout=readout)
    rng = np.random.default_rng(0)
    inputs = jnp.asarray(rng.standard_normal((20, 3, 4)), jnp.float32)
    labels = jnp.asarray(rng.choice([-1.0, 1.0], 20), jnp.float32)
    model = models.MultiHeadAttention.one_step(KEY, config, inputs, labels)

    def loss(m):
        return jnp.mean(jnp.logaddexp(0.0, -labels * jax.vmap(m)(inputs)))

    gradient = jax.jit(jax.grad(loss))(models.MultiHeadAttention.init(KEY, config))
    step = -math.sqrt(6) * gradient.U
    ratio = np.asarray(model.U / step)
    np.testing.assert_allclose(np.abs(ratio), 1.0, rtol=1e-4)
    assert all(np.ptp(np.sign(head)) == 0 for head in ratio)
    np.testing.assert_array_equal(model.W, 0.0)
    np.testing.assert_allclose(gradient.W, 0.0, atol=1e-7)
    assert np.sign(ratio.reshape(6, -1)[:, 0]).sum() == 0
    np.testing.assert_allclose(jax.jit(jax.vmap(model))(inputs), 0.0, atol=1e-6)


@pytest.mark.parametrize(("heads", "activation"), [(2, "tanh"), (6, "erf"), (130, "tanh"), (256, "erf")])
def test_symmetric_initialisation_outputs_exactly_zero(heads, activation):
    batch = jnp.stack([tokens(9, 8, seed) for seed in range(13)])
    heads_model = models.build("independent_heads", KEY, d=8, heads=heads, activation=activation)
    units_model = models.build("indrnn", KEY, d=8, units=heads, activation=activation)
    for model in (heads_model, units_model):
        np.testing.assert_array_equal(jax.jit(jax.vmap(model))(batch), 0.0)
        half = heads // 2
        np.testing.assert_array_equal(model.c[:half], -model.c[half:])
        np.testing.assert_array_equal(model.u[:half], model.u[half:])
        assert set(np.unique(model.c)) == {-1.0, 1.0}
    assert set(np.unique(np.abs(units_model.u))) == {1.5}


def test_independent_heads_against_loops():
    with jax.enable_x64(True):
        rng = np.random.default_rng(2)
        config = models.IndependentHeadsConfig(d=3, heads=4)
        c, u, W, x = (rng.standard_normal(shape) for shape in ((4,), (4, 3), (4, 3, 3), (5, 3)))
        total = 0.0
        for i in range(4):
            scores = x @ W[i] @ x[-1]
            p = np.exp(scores) / np.exp(scores).sum()
            total += c[i] * np.tanh(u[i] @ (x.T @ p)) / 2
        model = models.IndependentHeads(config, *(jnp.asarray(part) for part in (c, u, W)))
        np.testing.assert_allclose(run(model, jnp.asarray(x)), total, rtol=1e-12)


def test_queries():
    x = tokens(5, 6)
    models_by_query = {
        q: models.build("independent_heads", KEY, d=6, heads=4, query=q) for q in ("last", "cls", "seed")
    }
    np.testing.assert_array_equal(models_by_query["last"].query(x), x[-1])
    np.testing.assert_array_equal(models_by_query["cls"].query(x), x[0])
    fixed = models_by_query["seed"].query(x)
    np.testing.assert_array_equal(fixed, models_by_query["seed"].query(2 * x))
    assert float(np.linalg.norm(fixed)) == pytest.approx(1.0, rel=1e-6)
    assert not np.allclose(seed_query(0, 6), seed_query(1, 6))


def test_indrnn_against_loops():
    with jax.enable_x64(True):
        rng = np.random.default_rng(2)
        c, u, w, x = (rng.standard_normal(shape) for shape in ((4,), (4,), (4, 3), (6, 3)))
        h = np.zeros(4)
        for row in x:
            h = np.tanh(w @ row + u * h)
        model = models.IndRNN(models.IndRNNConfig(d=3, units=4), *(jnp.asarray(part) for part in (c, u, w)))
        np.testing.assert_allclose(run(model, jnp.asarray(x)), c @ h / 2, rtol=1e-12)


def test_activations_are_one_lipschitz_and_vanish_at_zero():
    grid = np.linspace(-6, 6, 2001, dtype=np.float32)
    for name, sigma in models.ACTIVATIONS.items():
        values = np.asarray(jax.jit(sigma)(grid), np.float64)
        assert values[1000] == 0.0, name
        assert np.abs(np.diff(values) / np.diff(grid.astype(np.float64))).max() <= 1.0 + 1e-3, name


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("independent_heads", {"heads": 63}, ["heads", "63", "even", "62 or 64"]),
        ("independent_heads", {"heads": 1}, ["even", "2"]),
        ("indrnn", {"units": 7}, ["units", "7", "even"]),
        ("indrnn", {"alpha": float("nan")}, ["alpha"]),
        ("shallow_encoder", {"d_m": 0}, ["d_m", "0", "at least 1"]),
        ("shallow_encoder", {"d": 6.0}, ["d", "6.0"]),
        ("cls_transformer", {"layers": 2, "projected": False}, ["projected"]),
        ("cls_transformer", {"classes": 3}, ["classes", "3"]),
        ("cls_transformer", {"readout": "classes"}, ["classes", "at least 2"]),
        ("low_rank_cls_transformer", {"d": 4, "k": 3, "rank": 4}, ["rank", "4", "3"]),
    ],
)
def test_bad_settings(name, settings, words):
    with pytest.raises(InputError) as caught:
        models.build(name, KEY, **settings)
    assert all(word in str(caught.value) for word in words)


@pytest.mark.parametrize(
    ("call", "suggestion"),
    [
        (lambda: models.build("shalow_encoder", KEY), "shallow_encoder"),
        (lambda: models.build("shallow_encoder", KEY, dm=3), "d_m"),
        (lambda: models.build("cls_transformer", KEY, activation="rleu"), "relu"),
        (lambda: models.build("cls_transformer", KEY, block="trager"), "trauger"),
        (lambda: models.build("independent_heads", KEY, query="lst"), "last"),
        (lambda: models.build("multi_head_attention", KEY, readout="pool"), "pooling"),
    ],
)
def test_unknown_names_suggest_the_nearest(call, suggestion):
    with pytest.raises(UnknownNameError, match=f"did you mean.*{suggestion}"):
        call()


def test_names_read_hyphens_and_capitals():
    assert models.model_type("Shallow-Encoder") is models.ShallowEncoder


def test_wrong_shapes_are_named():
    model = models.build("shallow_encoder", KEY, d=6, d_m=5)
    with pytest.raises(InputError, match="6 columns"):
        model(tokens(4, 5))
    with pytest.raises(InputError, match="vmap"):
        model(jnp.ones((2, 4, 6)))
    with pytest.raises(InputError, match="one or more rows"):
        model(jnp.ones((0, 6)))
    with pytest.raises(InputError, match="cls: got 4"):
        models.build("cls_transformer", KEY, d=6, k=2, cls=4)(tokens(4, 6))
    with pytest.raises(InputError, match="cls: got -5"):
        models.build("keras_cls_transformer", KEY, d=6, cls=-5)(tokens(4, 6))
    with pytest.raises(InputError, match="position: got 9"):
        models.build("cls_transformer", KEY, d=6, k=2, readout="masked", classes=2)(tokens(4, 6), 9)
    with pytest.raises(InputError, match="W_Q"):
        models.ShallowEncoder(model.config, W_Q=model.W_Q.T, W_K=model.W_K, W_V=model.W_V, w_O=model.w_O)
    with pytest.raises(InputError, match="3 rows"):
        models.build("multi_head_attention", KEY, d=6, tokens=3)(tokens(4, 6))
    with pytest.raises(InputError, match="balanced"):
        models.MultiHeadAttention.one_step(
            KEY, models.MultiHeadAttentionConfig(heads=3), jnp.ones((1, 8, 12)), jnp.ones(1)
        )
