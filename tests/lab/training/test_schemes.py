"""Projection onto Omega_rho, Deora's first phase and the losses."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certiformer.lab import models, tasks
from certiformer.lab.training import (
    Data,
    Recipe,
    adam,
    begin,
    fit,
    full_batch,
    functional,
    gradient_descent,
    momentum_sgd,
    named_loss,
    of_residual,
    onto_heads_ball,
    onto_omega,
    run,
    stochastic,
    supervised,
)
from certiformer.lab.training.losses import cross_entropy, logistic, squared, two_sigmoids
from certiformer.theory.core.errors import InputError, UnknownNameError


def test_projection_is_the_nearest_point_of_each_heads_ball():
    rng = np.random.default_rng(0)
    centre, block = rng.normal(size=(2, 5, 3, 2)).astype(np.float32)
    block[0] = centre[0]
    block[1] = centre[1] + 0.01
    projected = np.asarray(onto_heads_ball(jnp.asarray(block), jnp.asarray(centre), 0.5))
    for head in range(5):
        delta = block[head] - centre[head]
        size = np.linalg.norm(delta)
        expected = centre[head] + delta * min(1.0, 0.5 / size if size else 1.0)
        np.testing.assert_allclose(projected[head], expected, atol=1e-6)
    np.testing.assert_array_equal(projected[:2], block[:2])
    # The gradient at the centre itself is finite: no 0/0 behind the branch.
    slope = jax.grad(lambda b: jnp.sum(onto_heads_ball(b, b, 0.5)))(jnp.ones((2, 3)))
    assert np.all(np.isfinite(slope))
    again = np.asarray(onto_heads_ball(jnp.asarray(projected), jnp.asarray(centre), 0.5))
    np.testing.assert_allclose(again, projected, atol=1e-6)


@pytest.mark.parametrize("kind", ["full", "stochastic"])
def test_projected_runs_stay_in_omega(kind):
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.normal(size=(12, 3, 2)), jnp.float32)
    y = jnp.asarray(5 * rng.normal(size=12), jnp.float32)
    model = models.build("independent_heads", jax.random.key(0), d=2, heads=4)
    params, apply = functional(model)
    optimiser = gradient_descent(0.5)
    radii = {"c": 0.3, "u": 0.2, "W": 0.1}
    project = onto_omega(radii, heads=4)
    objective = supervised(apply, squared)
    if kind == "full":
        step = full_batch(objective, optimiser, project=project)
    else:
        step = stochastic(objective, optimiser, batch=2, project=project)
    state = begin(params, optimiser, jax.random.key(1), projected=True)
    result = run(step, state, Data((x, y)), steps=20, chunk=10)
    touched = 0
    for name, radius in radii.items():
        delta = np.asarray(getattr(result.state.params, name) - getattr(model, name)).reshape(4, -1)
        sizes = np.linalg.norm(delta, axis=1)
        assert np.all(sizes <= radius / 2 * (1 + 1e-5))
        touched += int(np.sum(sizes > 0.99 * radius / 2))
    assert touched > 0


def test_projection_wants_a_radius_for_every_block():
    project = onto_omega({"c": 1.0}, heads=2)
    params = {"c": jnp.ones(2), "u": jnp.ones((2, 3))}
    with pytest.raises(InputError, match="u"):
        project(params, params)
    with pytest.raises(InputError, match="radii"):
        onto_omega({"c": -1.0}, heads=2)
    with pytest.raises(InputError, match="heads"):
        onto_omega({"c": 1.0}, heads=0)


def test_the_first_phase_is_the_closed_form_of_the_model_up_to_signs():
    """Trained for no step to speak of, the network is where the first phase left it."""
    recipe, settings = Recipe("gd", 1e-30, 1, first_phase=9), {"n": 12, "n_test": 2}
    fitted = fit(
        "multi_head_attention", "tokenized_mixture", recipe, model_settings={"heads": 6}, task_settings=settings
    )
    task = tasks.build("tokenized_mixture", jax.random.split(jax.random.key(0), 4)[0], **settings)
    first = task.train.take(slice(0, 9))
    expected = models.MultiHeadAttention.one_step(jax.random.key(5), fitted.model.config, first.inputs, first.labels)
    np.testing.assert_allclose(np.abs(fitted.model.U), np.abs(expected.U), atol=1e-6)
    np.testing.assert_allclose(fitted.model.W, 0.0, atol=1e-7)
    signs = np.sign(np.sum(np.asarray(fitted.model.U * expected.U).reshape(6, -1), axis=1))
    np.testing.assert_allclose(fitted.model.U, signs[:, None, None] * np.asarray(expected.U), atol=1e-6)


def test_losses_against_their_definitions():
    f, y = 0.7, -1.0
    assert float(logistic(jnp.asarray(f), jnp.asarray(y))) == pytest.approx(np.log1p(np.exp(f)), rel=1e-6)
    assert float(squared(jnp.asarray(f), jnp.asarray(y))) == pytest.approx(2.89, rel=1e-6)
    logits = np.array([0.3, -1.2, 2.0])
    truth = np.log(np.sum(np.exp(logits))) - logits[1]
    assert float(cross_entropy(jnp.asarray(logits), jnp.asarray(1))) == pytest.approx(truth, rel=1e-6)
    p = 1 / (1 + np.exp(-logits[:2]))
    truth = -(np.log(1 - p[0]) + np.log(p[1])) / 2
    assert float(two_sigmoids(jnp.asarray(logits[:2]), jnp.asarray(1))) == pytest.approx(truth, rel=1e-6)
    huber = of_residual(lambda r: jnp.where(jnp.abs(r) <= 1, r**2 / 2, jnp.abs(r) - 0.5))
    assert float(huber(jnp.asarray(4.0), jnp.asarray(1.0))) == 2.5
    assert named_loss("squared") is squared
    with pytest.raises(UnknownNameError, match="logistic"):
        named_loss("logistik")


def test_a_robust_loss_trains_and_adam_beats_its_start():
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.normal(size=(20, 3)), jnp.float32)
    y = (x @ jnp.asarray([1.0, -2.0, 0.5])).at[0].set(1e3)
    huber = of_residual(lambda r: jnp.where(jnp.abs(r) <= 1, r**2 / 2, jnp.abs(r) - 0.5))
    optimiser = adam(0.1)
    step = full_batch(supervised(lambda w, x: x @ w, huber), optimiser)
    result = run(step, begin(jnp.zeros(3), optimiser, jax.random.key(0)), Data((x, y)), steps=200, chunk=100)
    np.testing.assert_allclose(result.state.params, [1.0, -2.0, 0.5], atol=0.1)


def test_optimisers_refuse_bad_rates():
    for bad in (0.0, -1.0, float("inf"), float("nan")):
        with pytest.raises(InputError, match="rate"):
            gradient_descent(bad)
        with pytest.raises(InputError, match="rate"):
            adam(bad)
    with pytest.raises(InputError, match="momentum"):
        momentum_sgd(0.1, 1.0)
