"""Heads with copies against heads written out, and the three experiments' runs against plain NumPy."""

from __future__ import annotations

import math

import jax
import numpy as np
import pytest

from attention_derivatives import head_gradient, head_value
from certiformer.lab.measure import ntk
from certiformer.reproduction.designs import _deora_runs as runs

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


class Plain:
    """The layer with every head of its own, one head and one sample after another."""

    def __init__(self, config):
        with jax.enable_x64(True):
            problem = runs.draw(config)
            model = runs.expanded(problem.heads)
        self.problem, self.eta = problem, config["eta"]
        self.start = np.asarray(model.U), np.asarray(model.W)
        self.x, self.y = np.asarray(problem.x), np.asarray(problem.y)

    def outputs(self, theta, x):
        U, W = theta
        return np.array([sum(head_value(s, u, w) for u, w in zip(U, W, strict=True)) for s in x]) / math.sqrt(len(U))

    def losses(self, theta, x, y):
        return np.log1p(np.exp(-y * self.outputs(theta, x)))

    def descend(self, steps, weights=None):
        weights = np.full(len(self.y), 1.0 / len(self.y)) if weights is None else weights
        U, W = (part.copy() for part in self.start)
        for _ in range(steps):
            pulls = -self.y * weights / (1.0 + np.exp(self.y * self.outputs((U, W), self.x))) / math.sqrt(len(U))
            slopes = [[head_gradient(s, u, w) for s in self.x] for u, w in zip(U, W, strict=True)]
            U = U - self.eta * np.array([sum(p * a for p, (a, _) in zip(pulls, of, strict=True)) for of in slopes])
            W = W - self.eta * np.array([sum(p * b for p, (_, b) in zip(pulls, of, strict=True)) for of in slopes])
        return U, W


def distance(one, other):
    return math.sqrt(sum(np.sum((a - b) ** 2) for a, b in zip(one, other, strict=True)))


@pytest.mark.parametrize(("start", "heads"), [("zero", 3), ("one-step", 5)])
def test_copies_follow_the_path_of_heads_written_out(start, heads):
    config = {**SMALL, "start": start, "heads": heads, "checkpoints": [3, 7]}
    plain = Plain(config)
    assert len(plain.start[0]) == heads
    found = runs.run_training(config)
    last = plain.descend(7)
    curves = found.arrays
    assert curves["train"][0] == pytest.approx(np.mean(plain.losses(plain.start, plain.x, plain.y)), rel=1e-10)
    assert curves["train"][1] == pytest.approx(np.mean(plain.losses(plain.descend(3), plain.x, plain.y)), rel=1e-10)
    assert curves["train"][2] == pytest.approx(np.mean(plain.losses(last, plain.x, plain.y)), rel=1e-10)
    test_x, test_y = np.asarray(plain.problem.test_x), np.asarray(plain.problem.test_y)
    test = plain.losses(last, test_x, test_y)
    assert curves["test"][2] == pytest.approx(np.mean(test), rel=1e-10)
    assert curves["test_error"][2] == np.mean(test >= math.log(2.0))
    assert curves["output"][2] == pytest.approx(np.max(np.abs(plain.outputs(last, plain.x))), rel=1e-10)
    assert curves["largest_head"][2] == pytest.approx(max(map(np.linalg.norm, last[0])), rel=1e-10)
    assert curves["relevant_mass"][0] == pytest.approx(SMALL["zeta"])


def test_many_heads_are_the_limit_of_frozen_attention():
    """With 2^40 heads the zero start is logistic regression on the mean token, with step size T eta."""
    config = {**SMALL, "start": "zero", "heads": 2**40, "checkpoints": [20]}
    found = runs.run_training(config).arrays["train"][-1]
    plain = Plain({**config, "heads": 1})
    means, y, w = plain.x.mean(axis=1), plain.y, np.zeros(config["d"])
    for _ in range(20):
        pull = -y / (1.0 + np.exp(y * (means @ w)))
        w = w - config["eta"] * config["tokens"] * (pull @ means) / config["n"]
    assert found == pytest.approx(np.mean(np.log1p(np.exp(-y * (means @ w)))), rel=1e-5)


def test_the_first_phase_is_one_step_from_zero_on_samples_of_its_own():
    config = {**SMALL, "start": "one-step", "heads": 6}
    problem, other = Plain(config).problem, Plain({**config, "n": 4}).problem
    np.testing.assert_array_equal(problem.heads.U, other.heads.U)
    np.testing.assert_array_equal(np.asarray(problem.heads.U)[0], -np.asarray(problem.heads.U)[1])
    assert np.asarray(problem.heads.copies).sum() == 6
    assert not np.any(np.asarray(problem.heads.W))
    far, near = (Plain({**config, "n1": n1}).problem.first_phase_error for n1 in (30, 30_000))
    assert near < 0.1 * far


def test_seeds_alone_and_together():
    config = {**SMALL, "start": "one-step", "heads": 5, "checkpoints": [3, 7]}
    configs = [config, {**config, "seed": 4}]
    alone, again = [runs.run_training(each) for each in configs], runs.run_training(config)
    for one, both in zip(alone, runs.run_training_batch(configs), strict=True):
        for name, curve in one.arrays.items():
            np.testing.assert_allclose(curve, both.arrays[name], rtol=1e-9, atol=1e-12)
    for name, curve in again.arrays.items():
        np.testing.assert_array_equal(curve, alone[0].arrays[name])
    assert not np.array_equal(alone[0].arrays["test"], alone[1].arrays["test"])


def test_stability_is_that_of_separate_runs():
    config = {**SMALL, "start": "one-step", "heads": 3, "checkpoints": [2, 6]}
    found, plain, n = runs.run_stability(config), Plain(config), SMALL["n"]
    full = plain.descend(6)
    without = [plain.descend(6, (np.arange(n) != i) / n) for i in range(n)]
    apart = [distance(full, each) for each in without]
    own = plain.losses(full, plain.x, plain.y)
    unseen = [plain.losses(each, plain.x[i : i + 1], plain.y[i : i + 1])[0] for i, each in enumerate(without)]
    assert found.arrays["stability"][1] == pytest.approx(np.mean(apart), rel=1e-9)
    assert found.arrays["left_out_gap"][1] == pytest.approx(np.mean(unseen - own), rel=1e-8)
    assert found.values["BPhi"] == pytest.approx(np.max(np.abs(plain.outputs(plain.start, plain.x))), rel=1e-9)


@pytest.mark.parametrize("start", runs.STARTS)
def test_margin_is_that_of_the_good_initialisation(start):
    config = {**SMALL, "start": start, "heads": 2}
    found, plain = runs.run_margins(config).values, Plain(config)
    rows = []
    for sample, label in zip(plain.x, plain.y, strict=True):
        slopes = [head_gradient(sample, u, w) for u, w in zip(*plain.start, strict=True)]
        rows.append(label / math.sqrt(2.0) * np.concatenate([part.ravel() for slope in slopes for part in slope]))
    whole = ntk.hard_margin(np.array(rows))
    assert found["margin"] == pytest.approx(math.sqrt(2.0) * whole.achieved, rel=1e-9)
    assert found["margin_at_most"] == pytest.approx(math.sqrt(2.0) * whole.at_most, rel=1e-9)
    moved = np.concatenate([np.concatenate([(u - a).ravel(), (w - b).ravel()])
                            for u, w, a, b in zip(*plain.descend(1), *plain.start, strict=True)])  # fmt: skip
    reached = math.sqrt(2.0) * np.min(np.array(rows) @ moved) / np.linalg.norm(moved)
    assert found["first_step"] == pytest.approx(reached, rel=1e-7)
    assert found["first_step"] <= found["margin_at_most"]


def test_an_unknown_start_is_refused():
    with pytest.raises(Exception, match="start"), jax.enable_x64(True):
        runs.draw({**SMALL, "start": "warm", "heads": 2})
