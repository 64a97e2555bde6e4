"""Robust losses by name: the squared loss near zero, slower growth beyond, trainable."""

import jax
import jax.numpy as jnp
import pytest

from certiformer.lab.training.fitting import fit
from certiformer.lab.training.losses import CLIP, ROBUST, named_loss
from certiformer.lab.training.presets import Recipe
from certiformer.theory.core.errors import InputError, UnknownNameError


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
