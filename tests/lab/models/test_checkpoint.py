"""Models on disk."""

from __future__ import annotations

import json
import os

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from certiformer.lab import models
from certiformer.lab.models import _checkpoint
from certiformer.theory.core.errors import CertiformerError, InputError

KEY = jax.random.key(3)


@pytest.mark.parametrize("name", models.names())
def test_round_trip(name, tmp_path):
    model = models.build(name, KEY)
    path = tmp_path / "model.safetensors"
    models.save(path, model, {"seed": 3, "metrics": {"loss": [1.0, 0.5]}})
    loaded = models.load(path)
    assert type(loaded.model) is type(model)
    assert loaded.model.config == model.config
    assert eqx.tree_equal(loaded.model, model)
    assert loaded.extra == {"seed": 3, "metrics": {"loss": [1.0, 0.5]}}
    assert os.listdir(tmp_path) == ["model.safetensors"]


def test_config_is_in_the_metadata(tmp_path):
    path = tmp_path / "a.safetensors"
    models.save(path, models.build("cls_transformer", KEY, d=4, k=3, layers=2, block="li"))
    with safe_open(path, framework="numpy") as file:
        config = json.loads(file.metadata()["config"])
    assert config["block"] == "li"
    assert config["projected"] is True


def test_double_precision_is_never_rounded_in_silence(tmp_path):
    path = tmp_path / "a.safetensors"
    with jax.enable_x64(True):
        model = models.build("indrnn", KEY, dtype=jnp.float64)
        models.save(path, model)
        assert eqx.tree_equal(models.load(path).model, model)
    with pytest.raises(InputError, match="enable_x64"):
        models.load(path)


def rewrite(path, **changes):
    with safe_open(path, framework="numpy") as file:
        metadata, tensors = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    save_file(changes.pop("tensors", tensors), path, metadata | changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format": "other"}, "written by certiformer"),
        ({"format_version": "2"}, "format version 2"),
        ({"model_version": "9"}, "indrnn version 9"),
        ({"model": "indrmn"}, "did you mean indrnn"),
        ({"tensors": {"c": np.zeros(64, np.float32)}}, "tensors"),
        ({"config": '{"units": 32}'}, "shape"),
        ({"config": '{"unit": 32}'}, "units"),
        ({"config": "{"}, "config"),
    ],
)
def test_files_that_cannot_be_used(changes, words, tmp_path):
    path = tmp_path / "a.safetensors"
    models.save(path, models.build("indrnn", KEY))
    rewrite(path, **changes)
    with pytest.raises(CertiformerError, match=words):
        models.load(path)


def test_damaged_and_missing_files(tmp_path):
    path = tmp_path / "a.safetensors"
    with pytest.raises(InputError, match="existing file"):
        models.load(path)
    models.save(path, models.build("indrnn", KEY))
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(InputError, match="complete safetensors file"):
        models.load(path)
    save_file({"c": np.zeros(2, np.float32)}, path)
    with pytest.raises(InputError, match="written by certiformer"):
        models.load(path)


def test_a_failing_disk_leaves_the_previous_file(tmp_path, monkeypatch):
    path = tmp_path / "a.safetensors"
    model = models.build("indrnn", KEY)
    models.save(path, model)
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_checkpoint.os, "fsync", full)
    with pytest.raises(CertiformerError, match="No space left"):
        models.save(path, models.build("indrnn", jax.random.key(4)))
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.safetensors"]


def test_a_kill_before_the_rename_leaves_the_previous_file(tmp_path, monkeypatch):
    path = tmp_path / "a.safetensors"
    models.save(path, models.build("indrnn", KEY))
    before = path.read_bytes()

    def killed(source, target):
        raise KeyboardInterrupt

    monkeypatch.setattr(_checkpoint.os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        models.save(path, models.build("indrnn", jax.random.key(4)))
    assert path.read_bytes() == before
