"""Heads with copies against heads written out, and the three experiments' runs against independent computations."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certiformer.experiments import _deora_runs as runs
from certiformer.experiments import deora_margins, deora_stability, deora_training
from certiformer.measure import ntk, stability
from certiformer.training import gradients_of, leave_one_out
from certiformer.training.losses import logistic

SMALL = {
    "tokens": 2,
    "zeta": 0.5,
    "M": 1,
    "d": 3,
    "S": 1.0,
    "Z_mu": 0.1,
    "Z_nu": 0.1,
    "Z": 0.4,
    "noise": 0.2,
    "n": 5,
    "n_test": 6,
    "n1": 30,
    "eta": 0.3,
    "seed": 3,
}


def written_out(heads):
    """The layer in NumPy, its gradient by finite formulas of softmax: one head after another."""
    return np.asarray(runs.expanded(heads).U), np.asarray(runs.expanded(heads).W)


def plain_outputs(U, W, x):
    total = np.zeros(len(x))
    for u, w in zip(U, W, strict=True):
        for i, tokens in enumerate(np.asarray(x)):
            scores = tokens @ w @ tokens.T
            mass = np.exp(scores - scores.max(axis=1, keepdims=True))
            total[i] += np.sum(u * (mass / mass.sum(axis=1, keepdims=True) @ tokens))
    return total / math.sqrt(len(U))


def plain_descent(model, x, y, eta, steps):
    """Gradient descent on the model with every head of its own, by automatic differentiation."""

    def loss(each):
        return jnp.mean(jax.vmap(logistic)(jax.vmap(each)(x), y))

    slope = jax.jit(jax.grad(loss))
    for _ in range(steps):
        model = jax.tree.map(lambda leaf, down: leaf - eta * down, model, slope(model))
    return model


@pytest.mark.parametrize(("start", "heads"), [("zero", 3), ("one-step", 5), ("random", 2)])
def test_copies_follow_the_path_of_heads_written_out(start, heads):
    config = {**SMALL, "start": start, "heads": heads}
    with jax.enable_x64(True):
        problem = runs.draw(config)
        model = runs.expanded(problem.heads)
        assert len(model.U) == heads
        outputs = np.asarray(runs.outputs(problem.heads, problem.x))
        np.testing.assert_allclose(outputs, plain_outputs(*written_out(problem.heads), problem.x), atol=1e-12)
        weights = jnp.full(config["n"], 1.0 / config["n"])
        moved = runs.descend(problem.heads, problem.x, problem.y, weights, config["eta"], 7)
        slow = plain_descent(model, problem.x, problem.y, config["eta"], 7)
        after = runs.expanded(moved)
        np.testing.assert_allclose(after.U, slow.U, atol=1e-12)
        np.testing.assert_allclose(after.W, slow.W, atol=1e-12)
        apart = math.sqrt(np.sum((slow.U - model.U) ** 2) + np.sum((slow.W - model.W) ** 2))
        assert float(runs.distance(moved, problem.heads)) == pytest.approx(apart, rel=1e-10)
        largest = max(np.linalg.norm(u) for u in np.asarray(slow.U))
        assert float(runs.largest_head(moved)) == pytest.approx(largest, rel=1e-10)


def test_many_heads_are_the_limit_of_frozen_attention():
    """With 2^40 heads the zero start is logistic regression on the mean token, with step size T eta."""
    config = {**SMALL, "start": "zero", "heads": 2**40}
    with jax.enable_x64(True):
        problem = runs.draw(config)
        weights = jnp.full(config["n"], 1.0 / config["n"])
        moved = runs.descend(problem.heads, problem.x, problem.y, weights, config["eta"], 20)
        means, y, w = np.asarray(problem.x).mean(axis=1), np.asarray(problem.y), np.zeros(config["d"])
        for _ in range(20):
            pull = -y / (1.0 + np.exp(y * (means @ w)))
            w = w - config["eta"] * config["tokens"] * (pull @ means) / config["n"]
        np.testing.assert_allclose(runs.outputs(moved, problem.x), means @ w, atol=1e-5)


def test_relevant_mass_is_the_fraction_of_relevant_tokens_when_attention_is_uniform():
    with jax.enable_x64(True):
        problem = runs.draw({**SMALL, "start": "one-step", "heads": 4})
        assert float(runs.relevant_mass(problem.heads, problem.x, problem.relevant)) == pytest.approx(SMALL["zeta"])


def test_training_curves_and_batches():
    config = {**SMALL, "start": "one-step", "heads": 3, "checkpoints": [2, 5]}
    alone, other = deora_training.run(config), deora_training.run({**config, "seed": 4})
    together = deora_training.run_batch([config, {**config, "seed": 4}])
    for one, both in zip((alone, other), together, strict=True):
        for name, curve in one.arrays.items():
            np.testing.assert_allclose(curve, both.arrays[name], rtol=1e-9, atol=1e-12)
    for name, curve in deora_training.run(config).arrays.items():
        np.testing.assert_array_equal(curve, alone.arrays[name])
    assert not np.array_equal(alone.arrays["test"], other.arrays["test"])
    with jax.enable_x64(True):
        problem = runs.draw(config)
        slow = plain_descent(runs.expanded(problem.heads), problem.x, problem.y, config["eta"], 5)
        margins = np.asarray(problem.test_y) * plain_outputs(np.asarray(slow.U), np.asarray(slow.W), problem.test_x)
    assert alone.arrays["test"][2] == pytest.approx(np.mean(np.log1p(np.exp(-margins))), rel=1e-9)
    assert alone.arrays["test_error"][2] == np.mean(margins <= 0)
    assert alone.arrays["train"][0] == pytest.approx(
        np.mean(np.log1p(np.exp(-np.asarray(problem.y) * plain_outputs(*written_out(problem.heads), problem.x))))
    )


def test_stability_is_that_of_separate_runs():
    config = {**SMALL, "start": "zero", "heads": 2, "checkpoints": [2, 6]}
    found = deora_stability.run(config).arrays
    with jax.enable_x64(True):
        problem = runs.draw(config)
        model = runs.expanded(problem.heads)

        def losses(each, batch):
            return jax.vmap(logistic)(jax.vmap(each)(batch[0]), batch[1])

        batch = (problem.x, problem.y)
        result = leave_one_out(gradients_of(losses), model, batch, rate=config["eta"], steps=6, chunk=6)
        left_out = jax.vmap(losses, in_axes=(0, None))(result.left_out, batch)
        own = np.asarray(losses(result.full, batch))
    assert found["stability"][1] == pytest.approx(stability(result).mean.value, rel=1e-9)
    assert found["worst"][1] == pytest.approx(stability(result).largest.value, rel=1e-9)
    gap = np.mean(np.diag(np.asarray(left_out)) - own)
    assert found["left_out_gap"][1] == pytest.approx(gap, rel=1e-9)
    assert found["train"][1] == pytest.approx(np.mean(own), rel=1e-9)


@pytest.mark.parametrize("start", runs.STARTS)
def test_margin_is_that_of_the_good_initialisation(start):
    config = {**SMALL, "start": start, "heads": 2, "steps": 0}
    found = deora_margins.run(config).values
    with jax.enable_x64(True):
        problem = runs.draw(config)
        model = runs.expanded(problem.heads)
        whole = ntk.good_initialisation(lambda each, x: each(x), model, problem.x, problem.y)
    assert found["margin"] == pytest.approx(whole.gamma.value, rel=1e-9)
    assert found["margin_at_most"] == pytest.approx(whole.gamma_at_most.value, rel=1e-9)
    assert found["BPhi"] == pytest.approx(whole.B_Phi.value, abs=1e-12)


def test_margin_reached_is_that_of_plain_descent():
    config = {**SMALL, "start": "one-step", "heads": 2, "steps": 9}
    found = deora_margins.run(config).values
    with jax.enable_x64(True):
        problem = runs.draw(config)
        slow = plain_descent(runs.expanded(problem.heads), problem.x, problem.y, config["eta"], 9)
        outputs = plain_outputs(np.asarray(slow.U), np.asarray(slow.W), problem.x)
    assert found["reached"] == pytest.approx(np.min(np.asarray(problem.y) * outputs), rel=1e-9)


def test_an_unknown_start_is_refused():
    with pytest.raises(Exception, match="start"), jax.enable_x64(True):
        runs.draw({**SMALL, "start": "warm", "heads": 2})
