"""Robust losses by name: the squared loss near zero, slower growth beyond, trainable."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certiformer.lab.training.fitting import fit
from certiformer.lab.training.losses import CLIP, ROBUST, named_loss
from certiformer.lab.training.presets import Recipe
from certiformer.theory.calculus import robust
from certiformer.theory.core.errors import InputError, UnknownNameError

POINTS = np.array([-50.0, -3.0, -1.0, -0.2, -1e-9, 0.0, 1e-9, 0.2, 0.5, 1.0, 2.0, 7.5, 1e6])


@pytest.mark.parametrize("name", ROBUST)
def test_robust_losses_are_squared_near_zero_and_slower_far_away(name):
    loss = named_loss(f"{name}:2")
    for residual in (1e-3, -1e-3):
        assert float(loss(jnp.float32(residual), jnp.float32(0))) == pytest.approx(1e-6, rel=1e-2)
    far = float(loss(jnp.float32(200.0), jnp.float32(0)))
    assert far < 200.0**2 / 7
    slope = jax.grad(lambda f: loss(f, jnp.float32(0)))
    assert float(slope(jnp.float32(0.0))) == 0.0
    assert 0.0 <= float(slope(jnp.float32(200.0))) < 40.0
    # A larger scale is nearer to the squared loss.
    assert far < float(named_loss(f"{name}:20")(jnp.float32(200.0), jnp.float32(0)))


def test_one_implementation_serves_jax_under_jit_and_grad():
    with jax.enable_x64(True):
        x = jnp.asarray(POINTS)
        pairs = [
            (robust.catoni_wide, robust.catoni_wide),
            (lambda v: robust.catoni_generalized(v, 1.5),) * 2,
            (lambda v: robust.huber(v, 1.3),) * 2,
            (lambda v: robust.log_truncated(v**2, 0.7),) * 2,
        ]
        for on_jax, on_numpy in pairs:
            traced = jax.jit(on_jax)(x)
            assert isinstance(traced, jax.Array)
            expected = on_numpy(POINTS)
            assert isinstance(expected, np.ndarray)
            np.testing.assert_allclose(np.asarray(traced), expected, rtol=1e-12, atol=1e-15)

        slope = jax.vmap(jax.grad(robust.catoni_wide))(x)
        np.testing.assert_allclose(slope, (1 + abs(POINTS)) / (1 + abs(POINTS) + POINTS**2 / 2), rtol=1e-12)
        np.testing.assert_allclose(
            jax.vmap(jax.grad(lambda r: robust.huber(r, 1.3)))(x), np.clip(POINTS, -1.3, 1.3), rtol=1e-12
        )
        assert np.all(np.isfinite(jax.vmap(jax.grad(lambda r: robust.log_truncated(r**2, 0.7)))(x)))


def test_a_robust_loss_trains():
    task = {"n": 40, "n_test": 20, "tail": "student", "noise": "student"}
    fitted = fit("cls_transformer", "heavy_tails", Recipe("adam", 3e-3, 5, loss="catoni:1.5"), task_settings=task)
    curve = fitted.facts["metrics"]["loss"]
    assert curve[-1] < curve[0]


def test_the_clip_of_cross_entropy():
    loss = named_loss("clipped_cross_entropy")
    logits = jnp.array([0.0, 50.0])
    assert float(loss(logits, jnp.int32(0))) == CLIP
    assert float(loss(logits, jnp.int32(1))) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("name", ["huber:0", "huber:x", "catoni:-1", "huber:inf"])
def test_a_scale_is_a_positive_number(name):
    with pytest.raises(InputError, match="SCALE"):
        named_loss(name)


def test_unknown_losses_are_named():
    with pytest.raises(UnknownNameError, match="huber"):
        named_loss("hubert")
