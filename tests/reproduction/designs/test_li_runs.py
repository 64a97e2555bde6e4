"""The runs behind Li et al.'s experiments: the network, its balls, least squares, and the exact example."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize

from certiformer.lab.models.cls_transformer import ClsTransformer, ClsTransformerConfig
from certiformer.reproduction.designs import _li_exact
from certiformer.reproduction.designs._li_runs import CHUNK, Sample, Teacher, least_squares, run

HEAD = {
    "d": 3,
    "k": 2,
    "heads": 1,
    "layers": 0,
    "rank": 0,
    "tokens": 3,
    "activation": "leaky_relu",
    "readout": 1.0,
    "value": 1.0,
    "output": 1.0,
    "attention": 8.0,
    "inside": 0.8,
    "sigma": 0.05,
}
RUN = {**HEAD, "n": 300, "seed": 1, "restarts": 1, "steps": 12, "tolerance": 1e-7, "test": 600}


def test_one_layer_is_the_model_with_merged_readouts() -> None:
    heads = 2
    teacher = Teacher.of({**HEAD, "heads": heads})
    rng = np.random.default_rng(0)
    weights, x = teacher.draw(rng), teacher.inputs(rng, 5)
    with jax.enable_x64(True):
        parts = teacher._matrices(jnp.asarray(weights))
        config = ClsTransformerConfig(d=3, k=2, heads=heads, activation="leaky_relu")
        first = jnp.eye(3)[0]
        model = ClsTransformer(
            config, parts["Q"][None], parts["V"][None], jnp.einsum("hk,d->hkd", parts["u"], first)[None], first
        )
        ours = Sample(teacher, x).predictions(weights)
        np.testing.assert_allclose(ours, jax.vmap(model)(jnp.asarray(x)), rtol=1e-12)


@pytest.mark.parametrize("change", [{}, {"rank": 1}, {"heads": 2}, {"layers": 2}, {"layers": 1, "rank": 2}])
def test_balls_tile_the_weights_and_hold_the_teacher(change: dict[str, int]) -> None:
    teacher = Teacher.of({**HEAD, **change})
    ends = [start + rows * columns for start, (rows, columns), _ in teacher.balls]
    assert [start for start, _, _ in teacher.balls] == [0, *ends[:-1]]
    assert ends[-1] == teacher.parameters
    weights = teacher.draw(np.random.default_rng(3))
    assert teacher.interior(weights)
    np.testing.assert_allclose(teacher.project(weights), weights, rtol=1e-12)
    far = teacher.project(20.0 * weights)
    for matrix, radius in teacher._views(far):
        assert np.linalg.norm(matrix, 2) == pytest.approx(radius)
    assert not teacher.interior(far)


def test_the_teacher_of_a_rank_class_has_that_rank_and_the_norm_of_the_full_one() -> None:
    teacher = Teacher.of({**HEAD, "rank": 1})
    with jax.enable_x64(True):
        parts = teacher._matrices(jnp.asarray(teacher.draw(np.random.default_rng(0))))
        values = np.linalg.svd(np.asarray(parts["Q"][0]), compute_uv=False)
    np.testing.assert_allclose(values, [0.8 * 8.0, 0.0, 0.0], atol=1e-12)


def test_tokens_are_no_longer_than_one() -> None:
    x = Teacher.of(HEAD).inputs(np.random.default_rng(0), 200)
    norms = np.linalg.norm(x, axis=-1)
    assert norms.max() <= 1.0 + 1e-12
    assert 0.2 < np.mean(norms > 1.0 - 1e-12) < 0.8


@pytest.mark.parametrize("n", [37, CHUNK + 37])
def test_normal_equations_agree_with_finite_differences_and_ignore_the_filling(n: int) -> None:
    teacher = Teacher.of(HEAD)
    rng = np.random.default_rng(2)
    weights, x, y = teacher.draw(rng), teacher.inputs(rng, n), rng.standard_normal(n)
    with jax.enable_x64(True):
        sample = Sample(teacher, x, y)
        gram, slope, loss = sample.normal(weights)
        values, alone = sample.predictions(weights), sample.loss(weights)
        steps = 1e-6 * np.eye(len(weights))
        jacobian = np.stack(
            [(sample.predictions(weights + s) - sample.predictions(weights - s)) / 2e-6 for s in steps], axis=1
        )
    np.testing.assert_allclose(gram, jacobian.T @ jacobian / n, atol=1e-8)
    np.testing.assert_allclose(slope, jacobian.T @ (y - values) / n, atol=1e-8)
    assert loss == pytest.approx(np.mean((y - values) ** 2))
    assert alone == pytest.approx(loss, rel=1e-12)


def test_least_squares_finds_the_linear_solution() -> None:
    """One token and the identity: f(X) = u.V^T x, so the best fit inside large balls is ordinary least squares."""
    teacher = Teacher.of(
        {**HEAD, "tokens": 1, "activation": "identity", "readout": 50.0, "value": 50.0, "inside": 0.02}
    )
    rng = np.random.default_rng(5)
    x, start = teacher.inputs(rng, 90), teacher.draw(rng)
    y = x[:, 0] @ np.array([1.0, -2.0, 0.5]) + 0.1 * rng.standard_normal(90)
    _, residual, *_ = np.linalg.lstsq(x[:, 0], y, rcond=None)
    with jax.enable_x64(True):
        fit = least_squares(teacher, Sample(teacher, x, y), start, steps=60, tolerance=1e-14)
    assert fit.loss == pytest.approx(float(residual[0]) / 90, rel=1e-8)


def test_a_run_is_determined_by_its_config_and_meets_what_the_proof_asks() -> None:
    first, second = run(RUN), run(RUN)
    assert first.values == second.values
    values = first.values
    assert values["local_fits"]
    assert values["local_loss"] <= values["teacher_loss"]
    assert 0.0 < values["local"] < 0.05**2
    assert values["random_loss"] > 0.0
    assert values["resolved"] <= values["directions"] + 1e-6
    assert run({**RUN, "seed": 2, "restarts": 0}).values["local"] != values["local"]


def test_free_directions_are_the_parameters_less_the_scalings() -> None:
    """d k + d^2: every unit of a leaky ReLU can trade its readout for its value column."""
    values = run({**RUN, "restarts": 0, "steps": 1}).values
    assert values["parameters"] == 2 + 6 + 9
    assert values["directions"] == 6 + 9


def test_excess_is_about_the_free_directions() -> None:
    found = [run({**RUN, "restarts": 0, "n": 1500, "sigma": 0.01, "seed": s}).values for s in range(8)]
    level = np.mean([v["local"] * 1500 / 0.01**2 / v["directions"] for v in found])
    assert 0.6 < level < 1.6


@pytest.mark.parametrize("norm", ["one", "two"])
def test_the_exact_example_minimises_over_the_ball(norm: str) -> None:
    rng = np.random.default_rng(0)
    counts, sums = np.array([5.0, 0.0, 40.0, 9.0]), np.array([4.0, 0.0, -36.0, 9.0])
    theta = _li_exact.ball_least_squares(counts, sums, norm)
    assert _li_exact.size(theta, norm) == pytest.approx(1.0)

    def objective(t: np.ndarray) -> float:
        return float(np.sum(0.5 * counts * t**2 - sums * t))

    # random directions, and a local search from the corners of the ball
    for draw in rng.standard_normal((1000, 4)):
        inside = draw / max(1.0, _li_exact.size(draw, norm))
        assert objective(theta) <= objective(inside) + 1e-9
    best = min(
        optimize.minimize(
            objective,
            np.array(signs) * 0.2,
            constraints={"type": "ineq", "fun": lambda t: 1.0 - _li_exact.size(t, norm)},
            method="SLSQP",
        ).fun
        for signs in itertools.product((-1.0, 1.0), repeat=4)
    )
    # the search may leave the ball by a rounding error, and the objective is steep
    assert objective(theta) <= best + 1e-4


def test_the_exact_example_agrees_with_simulated_samples() -> None:
    d, n, many = 6, 500, 300
    rng = np.random.default_rng(1)
    direct = []
    for _ in range(many):
        seen, labels = rng.integers(0, d, n), rng.choice([-1.0, 1.0], n)
        means = np.array([labels[seen == j].mean() for j in range(d)])
        direct.append(float(np.sum(means**2)) / d)
    drawn = [_li_exact.run({"n": n, "d": d, "norm": "two", "seed": s}).values["local"] for s in range(many)]
    spread = np.sqrt(np.var(direct) / many + np.var(drawn) / many)
    assert abs(np.mean(direct) - np.mean(drawn)) < 4 * spread
    assert np.mean(drawn) == pytest.approx(d / n, rel=0.15)
