"""From a recipe to a checkpoint: the presets, the choice of loss, and the command line."""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys

import jax
import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from certiformer.cli.train import train
from certiformer.lab import models, tasks, training
from certiformer.lab.training import PRESETS, Recipe, fit, kernels, preset
from certiformer.theory.core import locks
from certiformer.theory.core.errors import InputError, UnknownNameError

SMALL = {
    "mnist": {"n": 12},
    "sparse_majority": {"n": 20, "n_test": 30, "tokens": 9, "d": 8},
    "tokenized_mixture": {"n": 12, "n_test": 8},
    "ntk_teacher": {"n": 10, "n_test": 6, "tokens": 4, "d": 3},
    "autoregressive": {"n": 10, "n_test": 6, "lag": 4},
    "heavy_tails": {"n": 12, "n_test": 8},
}


def small(name):
    known = tasks.settings(name)
    return {key: value for key, value in SMALL[name].items() if key in known}


@pytest.mark.parametrize("name", ["trauger", "deora", "arda-indrnn"])
def test_presets_train(name):
    chosen = preset(name)
    recipe = chosen.recipe
    steps = {"steps": 4, "batch": 10, "first_phase": 6 if recipe.first_phase else 0}
    recipe = type(recipe)(**{**{f: getattr(recipe, f) for f in recipe.__dataclass_fields__}, **steps})
    fitted = fit(chosen.model, chosen.task, recipe, task_settings=small(chosen.task), chunk=4)
    losses = fitted.run.metrics["loss"]
    assert len(losses) == 4
    assert np.all(np.isfinite(losses))
    # The kept model, called sample by sample, has the loss that was reported for it.
    assert fitted.facts["final"]["test_loss"] > 0
    assert fitted.model.name == models.model_type(chosen.model).name


def test_no_function_hides_its_module():
    for package in (training, kernels, models, tasks):
        for module in pkgutil.iter_modules(package.__path__):
            imported = importlib.import_module(f"{package.__name__}.{module.name}")
            assert getattr(package, module.name) is imported


def test_every_preset_names_a_model_a_task_and_known_settings():
    for chosen in PRESETS.values():
        fields = models.model_type(chosen.model).config_type.__dataclass_fields__
        assert set(chosen.model_settings) <= set(fields)
        assert set(chosen.task_settings) <= set(tasks.settings(chosen.task))
    with pytest.raises(UnknownNameError, match="trauger"):
        preset("traugr")


def test_reported_losses_are_those_of_the_plain_model():
    fitted = fit("shallow_encoder", "mnist", Recipe("gd", 0.1, 3), model_settings={"d_m": 8}, task_settings={"n": 10})
    task = tasks.build("mnist", jax.random.split(jax.random.key(0), 4)[0], n=10)
    outputs = jax.jit(jax.vmap(fitted.model))(task.test.inputs)
    expected = float(np.mean(np.log1p(np.exp(-np.asarray(outputs * task.test.labels)))))
    assert fitted.facts["final"]["test_loss"] == pytest.approx(expected, rel=1e-5)
    assert fitted.facts["data"] == task.train.fingerprint()


def test_recipes_refuse_what_they_cannot_do():
    for arguments, name in (
        ({"optimiser": "gdd"}, "gd"),
        ({"select": "worst"}, "selection"),
        ({"schedule": "cosine"}, "schedule"),
    ):
        with pytest.raises(UnknownNameError, match=name):
            Recipe(**arguments)
    with pytest.raises(InputError, match="steps"):
        Recipe(steps=0)
    with pytest.raises(InputError, match="first_phase"):
        fit("shallow_encoder", "mnist", Recipe(first_phase=3), task_settings={"n": 10}, model_settings={"d_m": 4})
    with pytest.raises(InputError, match="independent_heads"):
        fit("shallow_encoder", "mnist", Recipe("projected_gd"), task_settings={"n": 10}, model_settings={"d_m": 4})
    with pytest.raises(InputError, match="schedule"):
        fit("shallow_encoder", "mnist", Recipe("gd", schedule="trauger"), task_settings={"n": 10})


@pytest.fixture
def app(monkeypatch, tmp_path):
    # The package's attribute `train` is the command itself, so the module is looked up by its name.
    monkeypatch.setattr(sys.modules["certiformer.cli.train"], "own_process", lambda threads: None)
    monkeypatch.chdir(tmp_path)
    application = typer.Typer(pretty_exceptions_enable=False)
    application.command()(train)
    return lambda *words: CliRunner().invoke(application, list(words))


def test_command_line_writes_a_checkpoint_that_says_what_it_is(app, tmp_path, monkeypatch):
    words = [
        "shallow_encoder",
        "--task",
        "mnist",
        "--set",
        "d_m=4",
        "--task-set",
        "n=10",
        "--steps",
        "3",
        "--seed",
        "7",
    ]
    result = app(*words, "--json")
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    loaded = models.load(tmp_path / "model.safetensors")
    assert loaded.model.config.d_m == 4
    assert loaded.extra["seed"] == report["seed"] == 7
    assert loaded.extra["data"] == report["data"]
    assert loaded.extra["final"] == report["final"]
    assert len(loaded.extra["metrics"]["loss"]) == 3
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["data.npz", "model.safetensors"]
    monkeypatch.setattr(locks, "WAIT_SECONDS", 0.05)
    with locks.held(tmp_path / "model.safetensors"):  # the examples of one run beside the model of another
        assert "another process has held" in str(app(*words).exception)
    table = app("--presets")
    assert table.exit_code == 0
    assert all(name in table.stdout for name in PRESETS)


def test_command_line_compares_with_the_unigram_baseline(app, tmp_path):
    sizes = ["n=60", "n_test=50", "vocabulary=20", "tokens=5", "d=4"]
    words = [word for size in sizes for word in ("--task-set", size)] + ["--set", "k=4", "--set", "classes=20"]
    bounds = ["--bounds", "trauger.thm5.1", "--every", "2"]
    result = app("--preset", "trauger-words", *words, "--steps", "3", *bounds, "--json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert 0 < report["compare_with"]["unigram_accuracy"] <= report["compare_with"]["best_possible_accuracy"] <= 1
    assert [(row["step"], row["side"]) for row in report["bounds"]["last"]] == [(3, "sound"), (3, "printed")]
    assert (tmp_path / "bounds.png").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--task", "mnist"], "MODEL"),
        (["shallow_encodr", "--task", "mnist", "--task-set", "n=10"], "shallow_encoder"),
        (["shallow_encoder", "--task", "mnst"], "mnist"),
        (["indrnn", "--preset", "mwigo"], "shallow_encoder"),
        (["shallow_encoder", "--task", "mnist", "--set", "d_m"], "KEY=VALUE"),
        (["shallow_encoder", "--task", "mnist", "--out", "nowhere/m.safetensors"], "existing folder"),
        (["shallow_encoder", "--task", "mnist", "--rate", "-1", "--task-set", "n=10"], "rate"),
        (["shallow_encoder", "--task", "mnist", "--set", "d_m=4", "--task-set", "n=10", "--rate", "1e12"], "diverged"),
    ],
)
def test_command_line_mistakes_are_clear_errors(app, words, message):
    result = app(*words)
    assert result.exit_code != 0
    assert message in str(result.exception)
