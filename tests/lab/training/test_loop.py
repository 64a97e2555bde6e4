"""The compiled loop: rules, divergence, and resuming bit for bit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certiformer.lab.training import (
    Data,
    DivergenceError,
    Rules,
    Saving,
    Select,
    begin,
    epochs,
    full_batch,
    gradient_descent,
    momentum_sgd,
    reached,
    run,
    supervised,
    trauger_schedule,
)
from certiformer.lab.training import checkpoint as ckpt
from certiformer.lab.training.losses import logistic, squared
from certiformer.theory.core.errors import CertiformerError, InputError


def linear(params, x):
    return x @ params["w"] + params["b"]


def problem(seed=0, samples=30, dimension=3):
    key = jax.random.key(seed)
    x = jax.random.normal(key, (samples, dimension))
    y = x @ jnp.arange(1.0, dimension + 1) + 0.5
    return {"w": jnp.zeros(dimension), "b": jnp.zeros(())}, (x, y)


def same_bits(left, right):
    pairs = zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True)
    return all(np.asarray(a).tobytes() == np.asarray(b).tobytes() for a, b in pairs)


def test_gradient_descent_matches_numpy():
    params, batch = problem()
    optimiser = gradient_descent(0.1)
    step = full_batch(supervised(linear, squared), optimiser)
    result = run(step, begin(params, optimiser, jax.random.key(0)), Data(batch), steps=7, chunk=3)
    x, y = (np.asarray(part, np.float64) for part in batch)
    w, b = np.zeros(3), 0.0
    for k in range(7):
        residual = x @ w + b - y
        assert result.metrics["loss"][k] == pytest.approx(np.mean(residual**2), rel=1e-5)
        w, b = w - 0.1 * 2 * x.T @ residual / len(y), b - 0.1 * 2 * residual.mean()
    np.testing.assert_allclose(result.state.params["w"], w, rtol=1e-5)
    assert result.steps == 7
    assert len(result.metrics["loss"]) == 7


def test_epochs_see_every_sample_once_and_weigh_the_last_batch():
    # The "objective" sums sample identifiers: 10 samples in batches of 4, 4, 2 give their mean, whatever the order.
    def objective(params, batch):
        return jnp.mean(batch[0]) + 0.0 * params, {"accuracy": jnp.mean(batch[0] ** 2)}

    optimiser = gradient_descent(1e-3)
    step = epochs(objective, optimiser, batch=4)
    data = Data((jnp.arange(10.0), jnp.zeros(10)))
    result = run(step, begin(jnp.zeros(()), optimiser, jax.random.key(1)), data, steps=3, chunk=2)
    np.testing.assert_allclose(result.metrics["loss"], 4.5, rtol=1e-6)
    np.testing.assert_allclose(result.metrics["accuracy"], np.mean(np.arange(10.0) ** 2), rtol=1e-6)


def test_momentum_follows_keras_when_the_rate_changes():
    # v <- 0.9 v - rate_k g; theta <- theta + v, with g = 1.
    rates = [0.5, 0.25, 0.125]
    optimiser = momentum_sgd(lambda k: 0.5 * 0.5**k)
    memory, theta, velocity, expected = optimiser.init(jnp.zeros(())), 0.0, 0.0, 0.0
    for rate in rates:
        update, memory = optimiser.update(jnp.ones(()), memory)
        theta += float(update)
        velocity = 0.9 * velocity - rate
        expected += velocity
    assert theta == pytest.approx(expected)


def test_trauger_schedule_reaches_its_floor_after_2302_epochs():
    rate = trauger_schedule(batches_per_epoch=3)
    at = [float(rate(jnp.asarray(3 * (epoch - 1)))) for epoch in (1, 2, 2301, 2302, 200_000)]
    assert at[0] == pytest.approx(0.00999, rel=1e-6)
    assert at[1] == pytest.approx(0.01 * 0.999**2, rel=1e-6)
    assert at[2] > 0.001
    assert at[3:] == [pytest.approx(0.001, rel=1e-6)] * 2
    assert float(rate(jnp.asarray(2))) == float(rate(jnp.asarray(0)))


def test_stop_rule_freezes_the_state_inside_a_chunk():
    def step(state, index, data):
        return state + 1.0, {"loss": 1.0 / (1.0 + state), "accuracy": state / 10}

    result = run(step, jnp.zeros(()), (), steps=100, chunk=25, rules=Rules(stop=reached("accuracy", 0.7)))
    assert int(result.stopped) == 7
    assert float(result.state) == 8.0
    assert result.steps == 25


def test_selection_keeps_the_state_the_metric_describes():
    def step(state, index, data):
        after = state + 1.0
        return after, {"loss": (state - 4.0) ** 2, "validation_loss": (after - 4.0) ** 2}

    before = run(step, jnp.zeros(()), (), steps=9, chunk=4, rules=Rules(select=Select("loss")))
    after = run(step, jnp.zeros(()), (), steps=9, chunk=4, rules=Rules(select=Select("validation_loss", "after")))
    assert (float(before.best), int(before.best_step)) == (4.0, 4)
    assert (float(after.best), int(after.best_step)) == (4.0, 3)


def test_divergence_names_the_step():
    params, batch = problem()
    optimiser = gradient_descent(3.0)
    step = full_batch(supervised(linear, squared), optimiser)
    with pytest.raises(DivergenceError, match="diverged at step") as caught:
        run(step, begin(params, optimiser, jax.random.key(0)), Data(batch), steps=400, chunk=50)
    assert caught.value.step > 0
    assert caught.value.loss > 1e6


@pytest.mark.parametrize("kind", ["full", "epochs"])
def test_resume_gives_the_bits_of_the_uninterrupted_run(tmp_path, kind):
    params, (x, y) = problem(samples=21)
    labels = jnp.sign(y)
    objective = supervised(linear, logistic, accuracy=True)
    optimiser = momentum_sgd(trauger_schedule(3))
    step = full_batch(objective, optimiser) if kind == "full" else epochs(objective, optimiser, batch=8)
    rules = Rules(select=Select("loss"), kept=lambda state: state.params)
    arguments = {"chunk": 5, "rules": rules}
    start = begin(params, optimiser, jax.random.key(3))
    whole = run(step, start, Data((x, labels)), steps=23, **arguments)
    saving = Saving(tmp_path / "run.safetensors", {"seed": 3, "shape": (21, 3)}, every_seconds=0.0)
    run(step, start, Data((x, labels)), steps=10, saving=saving, **arguments)
    resumed = run(step, start, Data((x, labels)), steps=23, saving=saving, **arguments)
    assert same_bits((whole.state, whole.best), (resumed.state, resumed.best))
    assert same_bits(whole.metrics, resumed.metrics)
    assert int(whole.best_step) == int(resumed.best_step)


def test_resume_refuses_another_run(tmp_path):
    params, batch = problem()
    optimiser = gradient_descent(0.1)
    step = full_batch(supervised(linear, squared), optimiser)
    start = begin(params, optimiser, jax.random.key(0))
    path = tmp_path / "run.safetensors"
    run(step, start, Data(batch), steps=4, chunk=2, saving=Saving(path, {"seed": 0, "rate": 0.1}))
    with pytest.raises(InputError, match="seed"):
        run(step, start, Data(batch), steps=4, chunk=2, saving=Saving(path, {"seed": 1, "rate": 0.1}))
    with pytest.raises(InputError, match="chunk"):
        run(step, start, Data(batch), steps=4, chunk=3, saving=Saving(path, {"seed": 0, "rate": 0.1}))
    other, _ = problem(dimension=5)
    with pytest.raises(InputError, match="another model"):
        run(
            step,
            begin(other, optimiser, jax.random.key(0)),
            Data(batch),
            steps=4,
            chunk=2,
            saving=Saving(path, {"seed": 0, "rate": 0.1}),
        )


KILLED = """
import sys, time
from pathlib import Path
import jax, jax.numpy as jnp
from certiformer.lab.training import Data, Saving, begin, checkpoint, momentum_sgd, run, stochastic, supervised
from certiformer.lab.training.losses import squared

write = checkpoint.write
written = 0
def stopping_write(*arguments):
    global written
    write(*arguments)
    written += 1
    if written == int(sys.argv[2]):
        Path(sys.argv[1] + ".stopped").touch()
        time.sleep(300)
checkpoint.write = stopping_write

def apply(params, x):
    return jnp.tanh(x @ params["a"]) @ params["b"]

x = jax.random.normal(jax.random.key(0), (40, 4))
y = jnp.sin(x).sum(axis=1)
optimiser = momentum_sgd(0.01)
params = {"a": 0.3 * jax.random.normal(jax.random.key(1), (4, 6)), "b": jnp.ones(6) / 6}
step = stochastic(supervised(apply, squared), optimiser, batch=3)
state = begin(params, optimiser, jax.random.key(2))
saving = Saving(Path(sys.argv[1]), {"seed": 2}, every_seconds=0.0)
run(step, state, Data((x, y)), steps=60, chunk=4, saving=saving)
"""


def test_a_killed_run_resumes_to_the_same_bits(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(textwrap.dedent(KILLED))
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}

    def launch(path, stop):
        return subprocess.Popen([sys.executable, str(script), str(path), str(stop)], env=environment)

    whole, broken = tmp_path / "whole.safetensors", tmp_path / "broken.safetensors"
    assert launch(whole, 0).wait(timeout=120) == 0
    child = launch(broken, 3)
    deadline = time.monotonic() + 120
    while not Path(f"{broken}.stopped").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    child.send_signal(signal.SIGKILL)
    assert child.wait(timeout=60) == -signal.SIGKILL
    _, header = ckpt.read(broken)
    assert 0 < header["done"] < 60
    assert launch(broken, 0).wait(timeout=120) == 0
    expected, header_whole = ckpt.read(whole)
    got, header_broken = ckpt.read(broken)
    assert header_whole == header_broken
    assert {name: value.tobytes() for name, value in got.items()} == {n: v.tobytes() for n, v in expected.items()}


def test_a_full_disk_leaves_the_previous_checkpoint(tmp_path, monkeypatch):
    path = tmp_path / "run.safetensors"
    ckpt.write(path, {"a": np.ones(3)}, {"done": 1})

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CertiformerError, match="what it held before is intact"):
        ckpt.write(path, {"a": np.zeros(3)}, {"done": 2})
    monkeypatch.undo()
    arrays, header = ckpt.read(path)
    assert header["done"] == 1
    assert arrays["a"].tolist() == [1.0, 1.0, 1.0]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["run.safetensors"]


def test_reading_what_is_no_checkpoint(tmp_path):
    from safetensors.numpy import save_file

    with pytest.raises(InputError, match="existing file"):
        ckpt.read(tmp_path / "nothing")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(InputError, match="safetensors"):
        ckpt.read(tmp_path / "text")
    save_file({"a": np.ones(2)}, tmp_path / "foreign")
    with pytest.raises(InputError, match="certiformer"):
        ckpt.read(tmp_path / "foreign")
    save_file({"a": np.ones(2)}, tmp_path / "later", metadata={"certiformer": '{"format": "certiformer-checkpoint/9"}'})
    with pytest.raises(InputError, match="another version"):
        ckpt.read(tmp_path / "later")


def test_float64_runs_inside_the_context_and_no_flag_is_left_flipped():
    with jax.enable_x64(True):
        params, batch = problem()
        optimiser = gradient_descent(0.1)
        step = full_batch(supervised(linear, squared), optimiser)
        result = run(step, begin(params, optimiser, jax.random.key(0)), Data(batch), steps=3, chunk=3)
        assert result.metrics["loss"].dtype == np.float64
    assert jnp.ones(()).dtype == jnp.float32


@pytest.mark.parametrize(
    ("arguments", "name"),
    [({"steps": 0}, "steps"), ({"steps": 1, "chunk": 0}, "chunk")],
)
def test_bad_arguments(arguments, name):
    with pytest.raises(InputError, match=name):
        run(lambda s, k, d: (s, {"loss": s}), jnp.zeros(()), (), **arguments)


def test_progress_goes_to_stderr(capsys):
    run(lambda s, k, d: (s + 1, {"loss": s}), jnp.zeros(()), (), steps=4, chunk=2, progress=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "training" in captured.err
