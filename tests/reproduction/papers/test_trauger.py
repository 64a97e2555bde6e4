"""Sparse majority: one small run against plain gradient descent, and analyses whose answer is known."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import certiformer
from certiformer.lab.tasks.sparse_majority import sparse_majority
from certiformer.lab.training.losses import cross_entropy, two_sigmoids
from certiformer.lab.training.presets import preset
from certiformer.reproduction.papers import _trauger_grid as grid
from certiformer.reproduction.papers import _trauger_runs as runs
from certiformer.reproduction.papers import trauger_bounds, trauger_figures
from certiformer.reproduction.study import strict
from certiformer.reproduction.sweep import Outcome, Row

CONFIG = {
    "tokens": 6,
    "seed": 3,
    "samples": 16,
    "validation": 50,
    "relevant": 3,
    "d": 8,
    "heads": 2,
    "batch": 16,
    "rate": 0.2,
    "epochs": 6,
    "validated_every": 2,
    "window": 4,
    "replayed": 5,
}


@functools.cache
def outcome() -> Outcome:
    return runs.run(dict(CONFIG))


def small_problem() -> tuple[Any, Any]:
    """Task and starting weights from the seed's own keys."""
    key_task, key_model, _ = jax.random.split(jax.random.key(CONFIG["seed"]), 3)
    task = sparse_majority(key_task, n=16, n_test=50, tokens=6, relevant=3, d=8)
    model = runs.KerasClsTransformer.init(key_model, runs.KerasClsTransformerConfig(8, 2, key_size=8))
    return task, model


def test_a_run_is_momentum_descent_on_the_plain_network() -> None:
    task, model = small_problem()

    @jax.jit
    def losses(model: Any) -> Any:
        def mean(model: Any, part: Any) -> Any:
            return jnp.mean(jax.vmap(two_sigmoids)(jax.vmap(model)(part.inputs), part.labels))

        loss, gradient = jax.value_and_grad(mean)(model, task.train)
        return loss, gradient, mean(model, task.test)

    velocity = jax.tree.map(jnp.zeros_like, model)
    train, validation, totals = [], [], []
    for epoch in range(7):
        loss, gradient, held_out = losses(model)
        train.append(float(loss))
        validation.append(float(held_out))
        totals.append(sum(float(jnp.sum(jnp.abs(leaf))) for leaf in jax.tree.leaves(model)))
        rate = max(0.02, 0.2 * 0.999 ** (epoch + 1))
        velocity = jax.tree.map(lambda v, g, rate=rate: 0.9 * v - rate * g, velocity, gradient)
        model = jax.tree.map(lambda p, v: p + v, model, velocity)

    found = outcome()
    looked = [2, 4, 6]  # validated after every second epoch; an epoch's own loss is that before its step
    np.testing.assert_array_equal(found.arrays["epoch"], looked)
    np.testing.assert_allclose(found.arrays["loss"], [train[k - 1] for k in looked], rtol=1e-4)
    np.testing.assert_allclose(found.arrays["validation_loss"], [validation[k] for k in looked], rtol=1e-4)
    np.testing.assert_allclose(found.arrays["l1"], [totals[k] for k in looked], rtol=1e-5)
    best = min(range(1, 7), key=lambda k: validation[k])  # all windows are gone through
    assert found.values["best_epoch"] == best
    np.testing.assert_allclose(found.values["train_loss"], train[best], rtol=1e-4)
    np.testing.assert_allclose(found.values["l1"], totals[best], rtol=1e-5)
    np.testing.assert_allclose(grid.gap(found.values), validation[best] - train[best], atol=1e-4)


def test_a_thousand_epochs_of_the_papers_first_run() -> None:
    """Validation loss, running training loss and 1-norm as a JAX program had them that validated after every epoch."""
    config = grid.experiment("paper").configs[0]
    assert (config["tokens"], config["seed"]) == (20, 0)
    problem = runs._problem(config)
    descent, weights = runs._descent(problem, config), runs.kernels.flatten(problem.model)
    velocity, done = np.zeros_like(weights), 0
    for epoch, expected in (
        (1, (0.693172812, 0.693493187, 1531.563965)),
        (1000, (0.692446828, 0.69153595, 1536.422852)),
    ):
        orders, rates = runs._orders(problem.key, done, epoch, 300), runs._rates(config, done, epoch)
        losses, _ = descent.epochs(weights, velocity, orders, rates)
        found = (descent.validate(weights)[0], losses[-1], float(np.abs(weights).sum(dtype=float)))
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        done = epoch


def test_a_seed_decides_everything() -> None:
    again = runs.run(dict(CONFIG))
    assert again.values == outcome().values
    for name, curve in again.arrays.items():
        np.testing.assert_array_equal(curve, outcome().arrays[name])
    assert runs.run({**CONFIG, "seed": 4}).values["validation_loss"] != outcome().values["validation_loss"]


def test_biases_are_weights_of_a_constant_coordinate() -> None:
    task, model = small_problem()
    rng = np.random.default_rng(0)
    model = jax.tree.map(lambda leaf: leaf + jnp.asarray(0.7 * rng.standard_normal(leaf.shape), leaf.dtype), model)
    layer, inputs = runs.without_biases(model), task.test.inputs[:10]
    expected = np.asarray(jax.jit(jax.vmap(model))(inputs))
    for x, logits_of_model in zip(np.asarray(inputs, np.float64), expected, strict=True):
        tokens = runs.with_constant(x)
        hidden = np.zeros(9)
        for W_v, W_QK in zip(layer.W_v, layer.W_QK, strict=True):
            scores = tokens @ W_QK.T @ tokens[-1]
            attention = np.exp(scores - scores.max())
            hidden += W_v.T @ tokens.T @ (attention / attention.sum())
        logits = layer.w.T @ layer.W_c.T @ np.maximum(hidden, 0.0)
        np.testing.assert_allclose(logits, logits_of_model, rtol=1e-3, atol=1e-3)


def test_norms_by_brute_force() -> None:
    task, model = small_problem()
    table = np.asarray(task.source.table, np.float64)
    layer, norms, sizes = runs.without_biases(model), runs.theorem_norms(model, table), runs.token_sizes(table)
    assert np.isclose(norms["Bw"], np.abs(layer.w).sum(axis=0).max())
    assert np.isclose(norms["Bc"], np.abs(layer.W_c).sum(axis=0).max())
    assert np.isclose(norms["Bc_transposed"], np.abs(layer.W_c).sum(axis=1).max())
    for h in range(2):
        assert np.isclose(norms["Bv"][h], np.abs(layer.W_v[h]).sum(axis=0).max())
        assert np.isclose(norms["Bv_transposed"][h], np.abs(layer.W_v[h]).sum(axis=1).max())
        assert np.isclose(norms["BQK"][h], np.abs(layer.W_QK[h]).sum())
        assert np.isclose(norms["scores"][h], np.abs(layer.W_QK[h].T @ [*table[-1], 1.0]).sum())
    assert np.isclose(sizes["Bx"], np.sqrt((table**2).sum(axis=1).max() + 1))
    distances = np.linalg.norm(table[:, None] - table[None], axis=-1)
    assert np.isclose(sizes["rho"], distances.max() / 2)
    assert np.isclose(sizes["D"], max(1.0, np.abs(table).max()))


def row(tokens: int, seed: int, *, l1: float = 1530.0, gap: float = 0.1, accuracy: float = 0.8) -> Row:
    """A run as the ledger has it, with the numbers asked for and the norms of the small network."""
    config = {**CONFIG, "tokens": tokens, "seed": seed, "samples": 300}
    values = {
        **outcome().values,
        "l1": l1,
        "l1_last": l1,
        "train_loss": 0.4,
        "validation_loss": 0.4 + gap,
        "largest_gap": abs(gap) + 0.01,
        "validation_accuracy": accuracy,
    }
    return Row(f"{tokens}/{seed}", grid.NAME, "1", config, "done", values=values, arrays=outcome().arrays)


def planted(slope: float, noise: float, **other: Any) -> list[Row]:
    """A gap that grows by `slope` for every 100 tokens."""
    rng = np.random.default_rng(1)
    return [
        row(T, seed, gap=0.2 + slope * T / 100 + noise * rng.standard_normal(), **other)
        for T in (20, 60, 100, 200)
        for seed in range(5)
    ]


def test_the_bound_is_the_registered_theorem_head_by_head() -> None:
    norms, sizes = outcome().values["norms"], outcome().values["token_sizes"]
    found = trauger_bounds.bounds(norms, sizes, 10**10, 9)
    total = 0.0
    for h in range(2):
        total += (
            certiformer.bound(
                "trauger.thm4.1",
                Bw=norms["Bw"],
                Bc=norms["Bc"],
                Bv=norms["Bv"][h],
                L_sigma=1,
                Bx=sizes["Bx"],
                rho=sizes["rho"],
                D=sizes["D"],
                C=norms["scores"][h] ** 2 * math.log(19),
                n=10**10,
                d=9,
            )
            .sound["chain"]
            .value
        )
    assert found.sound == pytest.approx(2 * total)
    assert found.sound < found.ceiling
    few = trauger_bounds.bounds(norms, sizes, 10, 9)
    assert few.sound == few.ceiling


def test_so_many_samples_are_needed() -> None:
    norms, sizes = outcome().values["norms"], outcome().values["token_sizes"]
    needed = trauger_bounds.samples_needed(norms, sizes, 9)
    reached = trauger_bounds.bounds(norms, sizes, math.ceil(needed), 9).sound
    assert reached == pytest.approx(math.log(2), rel=0.05)


def test_grids() -> None:
    quick, paper = grid.experiment("quick").configs, grid.experiment("paper").configs
    assert len({c["seed"] for c in quick}) == 5
    assert len({c["tokens"] for c in quick}) == 5
    assert [c["tokens"] for c in paper[:6]] == [20, 60, 100, 140, 200, 20]
    assert {(c["tokens"], c["seed"]) for c in paper} == {(T, seed) for T in range(20, 201, 20) for seed in range(5)}
    assert {c["epochs"] for c in paper} == {200_000}
    assert {c["samples"] for c in (*quick, *paper)} == {300}
    text = [c for c in paper if c.get("loss") == "cross_entropy"]
    assert [(c["tokens"], c["seed"]) for c in text] == [(T, seed) for seed in range(5) for T in (40, 120, 200)]
    assert grid.released("paper").configs == paper[: -len(text)]
    assert trauger_figures.STUDIES[0].covered([]).of == 10
    for config in (*quick, *paper):
        assert config["epochs"] % config["validated_every"] == 0


def test_a_planted_trend_is_found_and_its_absence_too() -> None:
    growing = trauger_figures.analyse_gap(planted(0.2, 0.01)).findings[0]
    assert growing.ci is not None
    assert growing.ci[0] < 0.2 < growing.ci[1]
    assert growing.verdict.word == "differs"
    assert trauger_figures.analyse_gap(planted(0.0, 0.01)).findings[0].verdict.word == "agrees"
    assert trauger_figures.analyse_gap(planted(-0.2, 0.01)).findings[0].verdict.word == "agrees"
    picked, mean = (found.verdict for found in trauger_figures.analyse_gap(planted(0.0, 0.5)).findings[:2])
    assert picked.word == mean.word == "cannot tell"
    assert picked.detail == "the interval reaches both sides"  # more seeds change what is the largest of them
    assert mean.detail.startswith("needs ")


def test_networks_that_do_not_learn_enter_no_trend() -> None:
    rows = planted(0.0, 0.01)
    rows = [r if r.config["tokens"] < 200 else row(200, r.config["seed"], gap=9.0, accuracy=0.5) for r in rows]
    found = trauger_figures.analyse_gap(rows)
    assert found.findings[0].verdict.word == "agrees"
    assert found.fits["learned"] == {"20": 5, "60": 5, "100": 5, "200": 0}
    assert "15 of 20 runs that learned" in found.headline
    accuracy = trauger_figures.analyse_accuracy(rows)
    assert accuracy.findings[-1].verdict.word == "differs"
    nothing = [row(T, 0, accuracy=0.5) for T in (20, 40)]
    for study in (*trauger_figures.STUDIES, *trauger_bounds.STUDIES):
        assert "none of 2" in study.analyse(nothing).headline


def test_the_loss_of_the_text_stands_beside_the_programs_and_enters_none_of_its_trends() -> None:
    program = planted(0.0, 0.01)
    text = [
        dataclasses.replace(each, key=f"text {each.key}", config={**each.config, "loss": "cross_entropy"})
        for each in planted(0.2, 0.01)
    ]
    alone, both = trauger_figures.analyse_gap(program), trauger_figures.analyse_gap([*program, *text])
    assert both.headline == alone.headline
    assert [f for f in both.findings if "the text's loss" not in f.setting] == list(alone.findings)
    found = {f.setting: f for f in both.findings if "the text's loss" in f.setting}
    assert sum(setting.startswith("T = ") for setting in found) == 4
    grown = found["the text's loss: gap at the weights kept, mean of the runs that learned: slope per 100 tokens"]
    assert grown.verdict.word == "differs"
    assert [series.label for series in both.plots["figure"].panels[0].series][-1] == "mean, text's loss"
    for study in trauger_figures.STUDIES:  # the first of them alone, and all without the program's
        assert "no run with the loss of the released program" in study.analyse(text).headline
        assert any("1 run of the 15" in remark for remark in study.analyse([*program, text[0]]).remarks)


def test_a_run_with_the_loss_of_the_text_descends_on_it() -> None:
    found, program = runs.run({**CONFIG, "loss": "cross_entropy"}), outcome()
    task, model = small_problem()
    loss = float(jnp.mean(jax.vmap(cross_entropy)(jax.vmap(model)(task.test.inputs), task.test.labels)))
    assert abs(found.arrays["validation_loss"][0] - loss) < 0.1
    assert found.values["l1_start"] == program.values["l1_start"]
    assert found.values["l1"] != program.values["l1"]


@pytest.mark.parametrize("count", [1, 6])
def test_missing_cells_are_no_trouble(count: int) -> None:
    rows = [row(20, 0), row(40, 0, gap=-0.01), row(20, 1), row(60, 0), row(60, 1), row(100, 1)][:count]
    for study in (*trauger_figures.STUDIES, *trauger_bounds.STUDIES):
        found = study.analyse(rows)
        assert found.findings
        assert found.plots
        json.dumps(strict(found.fits), allow_nan=False)
        for finding in found.findings:
            assert finding.ours is None or not math.isnan(float(finding.ours))
        if count == 1:
            slopes = [finding for finding in found.findings if "slope" in finding.setting]
            assert {finding.verdict.word for finding in slopes} == {"cannot tell"}


def test_the_grid_is_that_of_the_preset():
    recipe = preset("trauger").recipe
    assert (recipe.batch, recipe.rate, recipe.steps) == (grid.BATCH, grid.RATE, grid.EPOCHS)
