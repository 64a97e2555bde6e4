"""NTK teachers against the gradients of the student."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certiformer.lab import models, tasks
from certiformer.lab.tasks import NTKTeacher
from certiformer.lab.tasks.ntk_teacher import unit_ball_tokens
from certiformer.theory.core.errors import InputError, UnknownNameError

KEY = jax.random.key(4)


def small(variant="paper", **settings):
    return NTKTeacher.draw(KEY, d=3, tokens=4, anchors=5, pool=24, variant=variant, **settings)


def test_inputs_are_clipped_tokens():
    inputs = unit_ball_tokens(np.random.default_rng(0), 300, 4, 3)
    norms = np.linalg.norm(inputs, axis=-1)
    assert norms.max() <= 1 + 1e-6
    assert (norms > 0.999).mean() == pytest.approx(0.8013, abs=0.03)  # P(chi_3 > 1)


@pytest.mark.parametrize("activation", ["tanh", "erf"])
def test_features_are_the_gradients_of_a_head(activation):
    with jax.enable_x64(True):
        teacher = small(activation=activation, dtype=jnp.float64)
        x = jnp.asarray(unit_ball_tokens(np.random.default_rng(1), 1, 4, 3)[0])
        u, W = teacher.pool_u[:2], teacher.pool_W[:2]
        config = models.IndependentHeadsConfig(d=3, heads=2, activation=activation)
        student = models.IndependentHeads(config, c=jnp.ones(2), u=u, W=W)
        gradient = jax.jit(jax.grad(lambda model: model(x)))(student)
        psi = eqx.filter_jit(teacher.features)(x, u, W)
        half = np.sqrt(2)
        np.testing.assert_allclose(psi.c, gradient.c * half, rtol=1e-10)
        np.testing.assert_allclose(psi.u, gradient.u * half, rtol=1e-10)
        np.testing.assert_allclose(psi.w[:, :, None] * x[-1], gradient.W * half, rtol=1e-9, atol=1e-14)


def test_transported_weights_linearise_to_the_average():
    """<grad f(phi_0), phibar - phi_0> = (2/m) sum_i <psi, v> at the symmetric initialisation (equation 11)."""
    with jax.enable_x64(True):
        teacher = small(dtype=jnp.float64)
        m = 8
        student = models.build("independent_heads", jax.random.key(9), d=3, heads=m, dtype=jnp.float64)
        v_c, v_u, v_w = eqx.filter_jit(teacher.transport)(student.u, student.W)
        c = student.c
        move = models.IndependentHeads(
            student.config, c=v_c / np.sqrt(m), u=c[:, None] * v_u / np.sqrt(m), W=c[:, None, None] * v_w / np.sqrt(m)
        )
        inputs = jnp.asarray(unit_ball_tokens(np.random.default_rng(1), 6, 4, 3))
        _, linear = jax.jit(lambda *pair: jax.jvp(lambda model: jax.vmap(model)(inputs), *((part,) for part in pair)))(
            student, move
        )
        average = teacher.average(inputs, student.u[: m // 2], student.W[: m // 2])
        np.testing.assert_allclose(linear, average, rtol=1e-9, atol=1e-14)


def test_transport_is_bounded():
    teacher = small(nu=(0.5, 0.7, 0.05))
    v_c, v_u, v_w = (
        np.asarray(part) for part in eqx.filter_jit(teacher.transport)(20 * teacher.pool_u, teacher.pool_W)
    )
    assert np.abs(v_c).max() <= 0.5
    assert np.linalg.norm(v_u, axis=1).max() <= 0.7
    assert np.linalg.norm(v_w, axis=(1, 2)).max() <= 0.05 * (1 + 1e-5)
    assert float(np.abs(teacher.mixture).sum()) == pytest.approx(1.0)


def test_target_is_the_average_over_the_pool():
    teacher = small()
    inputs = jnp.asarray(unit_ball_tokens(np.random.default_rng(1), 7, 4, 3), jnp.float32)
    np.testing.assert_allclose(
        teacher.target(inputs), teacher.average(inputs, teacher.pool_u, teacher.pool_W), rtol=1e-4, atol=1e-7
    )


def test_the_released_teacher_sees_only_the_diagonal():
    paper, released = small(), small("released_diagonal")
    diagonal = released.pool_W * jnp.eye(3)
    x = jnp.asarray(unit_ball_tokens(np.random.default_rng(1), 1, 4, 3)[0], jnp.float32)
    features = eqx.filter_jit(lambda teacher, W: teacher.features(x, teacher.pool_u, W))
    seen = features(released, released.pool_W)
    for one, two in zip(seen, features(released, diagonal), strict=True):
        np.testing.assert_array_equal(one, two)
    for one, two in zip(seen, features(paper, diagonal), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-6)
    assert not np.allclose(features(paper, paper.pool_W).c, seen.c)


def test_the_tasks():
    settings = {"n": 20, "n_test": 10, "d": 3, "tokens": 4, "anchors": 5, "pool": 16}
    task = tasks.build("ntk_teacher", KEY, noise=0.5, **settings)
    assert task.train.inputs.shape == (20, 4, 3)
    assert task.test.inputs.shape == (10, 4, 3)
    assert task.bayes_risk == 0.25
    residual = np.asarray(task.train.labels - task.train.meta["target"])
    assert 0.2 < residual.std() < 0.9
    released = tasks.build("ntk_teacher", KEY, variant="released_diagonal", **settings)
    everything = np.concatenate([released.train.inputs, released.test.inputs])
    for anchor in np.asarray(released.source.anchors):
        assert (everything == anchor).all(axis=(1, 2)).sum() == 1
    assert released.bayes_risk == 0.0
    np.testing.assert_array_equal(released.train.labels, released.train.meta["target"])


@pytest.mark.parametrize("settings", [{"nu": (1.0, 2.0)}, {"nu": (1.0, -1.0, 1.0)}, {"pool": 0}, {"noise": -0.1}])
def test_bad_settings(settings):
    with pytest.raises(InputError):
        tasks.build("ntk_teacher", KEY, n=2, n_test=2, **settings)


def test_anchors_come_from_the_inputs_in_the_released_variant():
    with pytest.raises(InputError, match="anchors"):
        tasks.build("ntk_teacher", KEY, n=2, n_test=2, variant="released_diagonal", pool=4)


def test_unknown_names():
    with pytest.raises(UnknownNameError, match="released_diagonal"):
        tasks.build("ntk_teacher", KEY, variant="released")
    with pytest.raises(UnknownNameError, match="tanh"):
        tasks.build("ntk_teacher", KEY, activation="tan")
