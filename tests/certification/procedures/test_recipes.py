"""Procedures for any model, and recipes from a file."""

import jax.numpy as jnp
import numpy as np
import pytest

from certiformer import certify
from certiformer.certification.procedures import Code, HeadPosterior, Occam, OnePass, PickToLearn, Surrogate
from certiformer.core.errors import InputError, UnknownNameError

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((120, 3)).astype(np.float32)
Y = (X[:, 0] > 0).astype(np.int64)
PARAMS = {"w": jnp.zeros(3), "b": jnp.zeros(())}


def apply(params, x):
    return params["w"] @ x + params["b"]


def test_procedures_for_a_function_with_parameters():
    by = [Occam(2, Code(steps=60)), OnePass(steps=20), HeadPosterior(features=lambda batch: batch)]
    report = certify(apply, params=PARAMS, train=(X, 2 * Y - 1), by=by)
    shares = report.document["shares"]
    assert set(shares) == {"occam", "progressive", "pacbayes.gibbs", "pacbayes.single"}
    assert report["progressive"].value < 0.6
    assert report["pacbayes.single"].value < 0.4


def nearest_mean(inputs, labels):
    apart = inputs[labels == 1].mean(axis=0) - inputs[labels == 0].mean(axis=0)
    middle = (inputs[labels == 1].mean(axis=0) + inputs[labels == 0].mean(axis=0)) / 2
    return lambda batch: (batch - middle) @ apart


def test_a_surrogate_for_an_untouched_model():
    pool = RANDOM.standard_normal((300, 3)).astype(np.float32)
    by = [Surrogate(lambda batch: batch[:, 0], pool, PickToLearn(nearest_mean, most=30))]
    found = certify(train=(X, Y), by=by)["surrogate"]
    assert 0.0 < found.value < 0.7
    with pytest.raises(InputError, match="unlabelled examples"):
        certify(train=(X, Y), by=[Surrogate(lambda batch: batch[:, 0], X, PickToLearn(nearest_mean))])
    with pytest.raises(InputError, match="without a grid"):
        certify(train=(X, Y), by=[Surrogate(lambda batch: batch[:, 0], pool, PickToLearn(nearest_mean, stages=(2,)))])


RECIPE = """
title = "a small one"
data = "examples.npz"
[model]
architecture = "shallow_encoder"
seed = 1
d = 3
d_m = 4
[[by]]
procedure = "OnePass"
steps = 5
[[by]]
procedure = "PickToLearn"
steps = 20
rate = 0.05
most = 12
stages = [4, 8]
"""


def test_a_recipe_from_a_file(tmp_path):
    np.savez(tmp_path / "examples.npz", train_inputs=X[:, None, :], train_labels=Y)
    (tmp_path / "recipe.toml").write_text(RECIPE)
    report = certify(fit=tmp_path / "recipe.toml")
    assert set(report.document["shares"]) == {"progressive", "compression"}
    assert report.document["title"] == "a small one"


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("data = 'a.npz'\n[[by]]\nprocedure = 'PickToLean'", UnknownNameError, "PickToLearn"),
        ("data = 'a.npz'", InputError, "at least one"),
        ("dat = 'a.npz'", UnknownNameError, "data"),
        ("data = 'a.npz'\n[[by]]\nprocedure = 'OnePass'\nspeed = 3", InputError, "speed"),
    ],
)
def test_a_recipe_that_cannot_be_read(tmp_path, text, error, words):
    np.savez(tmp_path / "a.npz", train_inputs=X[:, None, :], train_labels=Y)
    (tmp_path / "recipe.toml").write_text(text)
    with pytest.raises(error, match=words):
        certify(fit=tmp_path / "recipe.toml")
