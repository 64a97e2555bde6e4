"""Bounds along training: what the callback says is what `certify` would say of the same weights, step by step."""

import csv
import json

import jax
import numpy as np
import pytest

from certiformer.lab import models, tasks
from certiformer.lab.paper_results import BINDINGS
from certiformer.lab.paper_results.bounds_along import BoundsAlong, facts
from certiformer.lab.paper_results.model_profile import measured
from certiformer.lab.paper_results.result_rows import paper_rows
from certiformer.lab.training.fitting import fit
from certiformer.lab.training.presets import Recipe
from certiformer.theory.core import find
from certiformer.theory.core.errors import InputError, UnknownNameError


def followed(model, task, recipe, ids, *, model_settings=None, task_settings=None, every=2, look="__call__"):
    known = {**tasks.settings(task), **(task_settings or {})}
    along = BoundsAlong(ids, every, 0.05, training=facts(recipe, known, 0.05))
    settings = {"model_settings": model_settings, "task_settings": task_settings}
    return along, fit(model, task, recipe, chunk=every, look=getattr(along, look), **settings)


@pytest.fixture(scope="module")
def majority():
    task = {"n": 40, "n_test": 60, "tokens": 9, "d": 8, "variant": "clean"}
    recipe = Recipe("gd", 0.5, 5)
    return followed("cls_transformer", "sparse_majority", recipe, ["trauger.thm4.1", "mwigo.thm5"], task_settings=task)


def test_every_second_step_has_both_sides(majority):
    along, _ = majority
    assert [look.step for look in along.looks] == [0, 2, 4]
    assert {(row["bound"], row["side"]) for row in along.table} == {
        ("trauger.thm4.1", "sound"),
        ("trauger.thm4.1", "printed"),
        ("mwigo.thm5", "sound"),
    }
    other = next(row for row in along.table if row["bound"] == "mwigo.thm5")
    assert other["value"] is None
    assert "shallow encoder" in other["failing"]
    assert other["hypotheses"] == "not applicable"


def test_a_row_is_what_certify_says_of_these_weights():
    task = tasks.build("tokenized_mixture", jax.random.key(1), n=30, n_test=20)
    d, tokens = task.train.inputs.shape[2], task.train.inputs.shape[1]
    start, now = (models.build("shallow_encoder", jax.random.key(i), d=int(d), d_m=16) for i in (0, 1))
    train, test = ((part.inputs, part.labels) for part in (task.train, task.test))
    along = BoundsAlong(["mwigo.thm5", "mwigo.lem2"], 1, 0.02)
    along(0, start, train, test)
    along(1, now, train, test)
    profile = measured(now, *train, initial=start)
    assert profile.tokens == tokens
    for id in ("mwigo.thm5", "mwigo.lem2"):
        expected = {row.version: row.value for row in paper_rows(find(id), BINDINGS[id](profile), 0.01, profile)}
        found = {row["side"]: row["value"] for row in along.table if row["step"] == 1 and row["bound"] == id}
        assert found == {side: pytest.approx(value, rel=1e-5) for side, value in expected.items()}


def test_masked_words_have_theorem_5_1_on_both_sides():
    """Printed: sqrt(K) times Corollary 4.1.1, from the weights by hand; negative here, which is said and not hidden."""
    sizes = {"n": 50, "n_test": 40, "vocabulary": 30, "tokens": 6, "topics": 3, "d": 8}
    along, fitted = followed(
        "cls_transformer",
        "masked_words",
        Recipe("adam", 3e-3, 3, loss="clipped_cross_entropy"),
        ["trauger.thm5.1"],
        model_settings={"k": 8, "readout": "classes", "classes": 30},
        task_settings=sizes,
        look="look",
    )
    assert [look.step for look in along.looks] == [0, 2, 3]  # every second step, and the last
    sound, printed = along.table[-2:]
    assert (sound["side"], printed["side"]) == ("sound", "printed")
    assert sound["limit"] >= sound["test_error"]
    weights = {name: np.asarray(value, np.float64).squeeze() for name, value in models.weights(fitted.model).items()}
    Bc = np.abs(weights["W_c"]).sum(axis=0).max()
    readout = np.abs(weights["w"]).sum(axis=weights["w"].shape.index(8)).max()
    Bx = float(np.max(np.linalg.norm(np.asarray(fitted.task.train.inputs, np.float64), axis=-1)))
    alpha = Bx**3 * np.abs(weights["W_QK"]).sum() * np.sqrt(2 * np.log(2 * 8**2 + 1))
    rest = alpha / np.sqrt(50) * (1 + np.log(np.sqrt(50) * Bx / alpha)) + Bx * np.sqrt(np.log(16) / 50)
    margin = along.looks[-1].rows[0].terms["margin"]
    by_hand = 2 / margin * np.sqrt(30) * readout * Bc**2 * rest + np.sqrt(np.log(1 / 0.05) / 100)
    assert printed["value"] == pytest.approx(by_hand, rel=1e-5)
    assert (by_hand < 0) == (printed["verdict"] == "meaningless: negative")


def test_a_limit_is_the_training_loss_and_the_gap(majority):
    along, _ = majority
    for row in along.table:
        if row["bound"] == "trauger.thm4.1" and row["side"] == "sound":
            assert row["value"] <= row["limit"] <= row["value"] + 1.0
            assert row["limit"] >= row["test_error"]


def test_descent_of_deora_and_arda_knows_its_run():
    mixture = {"n": 30, "n_test": 20}
    along, _ = followed(
        "multi_head_attention",
        "tokenized_mixture",
        Recipe("gd", 0.01, 4),
        ["deora.thm1"],
        model_settings={"heads": 4},
        task_settings=mixture,
    )
    assert any(row["side"] == "printed" and row["value"] is not None for row in along.table if row["step"] == 4)
    teacher = {"n": 30, "n_test": 20, "d": 4, "tokens": 5, "pool": 64}
    along, _ = followed(
        "independent_heads",
        "ntk_teacher",
        Recipe("projected_gd", 0.01, 4),
        ["arda.thm1", "li.thmB.1"],
        model_settings={"heads": 8},
        task_settings=teacher,
    )
    last = {row["bound"]: row for row in along.table if row["step"] == 4 and row["side"] == "sound"}
    assert last["arda.thm1"]["value"] >= last["arda.thm1"]["train_loss"]
    assert "train_error" not in last["arda.thm1"]
    assert last["li.thmB.1"]["value"] is None


def test_the_released_teacher_is_not_in_the_space():
    recipe = Recipe("projected_gd", 0.01, 4)
    given = {"nu": (3.0, 3.0, 3.0), "variant": "paper", "noise": 0.0}
    assert facts(recipe, given, 0.05)["nu_c"] == 3.0
    assert "nu_c" not in facts(recipe, {**given, "variant": "released_diagonal"}, 0.05)
    assert "nu_c" not in facts(recipe, {**given, "noise": 0.1}, 0.05)


def test_tables_and_a_picture(majority, tmp_path):
    along, _ = majority
    for name in ("a.csv", "a.json", "a.png"):
        along.write(tmp_path / name)
    with (tmp_path / "a.csv").open() as file:
        assert len(list(csv.DictReader(file))) == len(along.table)
    stored = json.loads((tmp_path / "a.json").read_text())
    assert {one["state"] for one in stored["hypotheses"]} <= {"verified", "stated", "open", "fails"}
    assert {axes.get_ylabel() for axes in along.plot().axes} >= {"loss", "error rate"}


def test_mistakes_are_named():
    with pytest.raises(UnknownNameError, match=r"li\.rem6\.7"):
        BoundsAlong(["li.rem6.7"])
    with pytest.raises(InputError, match="every"):
        BoundsAlong(["trauger.thm4.1"], every=0)
    with pytest.raises(InputError, match="at least one"):
        BoundsAlong([])


def test_own_examples_with_a_papers_model(tmp_path):
    rng = np.random.default_rng(0)
    parts = {f"{part}_inputs": rng.normal(size=(12, 3, 4)) for part in ("train", "heldout")}
    signs = {f"{part}_labels": rng.choice([-1, 1], 12) for part in ("train", "heldout")}
    np.savez(tmp_path / "own.npz", **parts, **signs)
    path = str(tmp_path / "own.npz")
    along, fitted = followed("shallow_encoder", path, Recipe("gd", 0.1, 2), ["mwigo.thm5"], model_settings={"d_m": 8})
    assert fitted.task.labels == "signs"
    assert [row["value"] is not None for row in along.table if row["side"] == "sound"] == [True, True]
    np.savez(tmp_path / "odd.npz", **parts, **{name: 3 * value for name, value in signs.items()})
    with pytest.raises(InputError, match="classes 0, 1"):
        tasks.build(str(tmp_path / "odd.npz"), jax.random.key(0))
    np.savez(tmp_path / "less.npz", **parts)
    with pytest.raises(InputError, match="without train_labels"):
        tasks.build(str(tmp_path / "less.npz"), jax.random.key(0))
