"""Outcomes, experiments, batches, keys, and execution without any engine."""

from __future__ import annotations

import json
import math
import pickle
import subprocess

import numpy as np
import pytest

from certiformer.reproduction.sweep import Experiment, Failure, Outcome, origin
from certiformer.reproduction.sweep.run import canonical, execute, run_key
from certiformer.theory.core.errors import InputError

WALK = "reproduction.sweep.toy_runs:walk"
WALKS = "reproduction.sweep.toy_runs:walks"
TROUBLED = "reproduction.sweep.toy_runs:troubled"


def seeds(count, **more):
    return [{"seed": s, **more} for s in range(count)]


def test_an_outcome_is_json_and_numeric_arrays():
    outcome = Outcome({"a": np.float32(0.5), "b": (1, np.int64(2)), "c": np.bool_(True)}, {"x": [1.0, 2.0]})
    assert outcome.values == {"a": 0.5, "b": [1, 2], "c": True}
    assert type(outcome.values["a"]) is float
    assert outcome.arrays["x"].dtype == np.float64
    big_endian = Outcome({}, {"x": np.arange(3, dtype=">i4")}).arrays["x"]
    assert big_endian.tobytes() == np.arange(3, dtype="<i4").tobytes()
    assert math.isnan(Outcome({"x": math.nan}).values["x"])


@pytest.mark.parametrize("bad", [{"x": np.ones(3)}, {1: 2}, {"x": {1, 2}}, {"x": {"y": object()}}, [1], {"x": 1j}])
def test_values_that_are_not_json_are_refused_by_name(bad):
    with pytest.raises(InputError, match="values"):
        Outcome(bad)


def test_arrays_of_objects_are_refused():
    with pytest.raises(InputError, match=r"arrays\.names"):
        Outcome({}, {"names": np.array(["a", None])})


def test_an_outcome_does_not_share_memory_with_the_run():
    array = np.zeros(3)
    outcome = Outcome({}, {"x": array})
    array[:] = 1.0
    assert outcome.arrays["x"].tolist() == [0.0, 0.0, 0.0]


def test_configurations_are_finite_json_and_all_different():
    with pytest.raises(InputError, match=r"configs\[0\].rate"):
        Experiment("e", WALK, [{"rate": math.inf}])
    with pytest.raises(InputError, match="differ"):
        Experiment("e", WALK, [{"a": (1, 2)}, {"a": [1, 2]}])
    with pytest.raises(InputError, match="name"):
        Experiment(" ", WALK, [])
    with pytest.raises(InputError, match="batch_size"):
        Experiment("e", WALK, [], batch_size=0)


@pytest.mark.parametrize(
    "reference",
    [
        "walk",
        "reproduction.sweep.toy_runs:",
        "reproduction.sweep.toy_runs:nothing",
        "no.such.module:f",
        "__main__:f",
        "a b:c",
        "sys:exit",
    ],
)
def test_a_function_that_workers_could_not_import_is_refused_at_once(reference):
    with pytest.raises(InputError):
        Experiment("e", reference, seeds(1))


def test_the_key_depends_on_experiment_version_and_configuration_and_on_nothing_else():
    key = run_key("e", 1, {"a": 1, "b": 2.5})
    assert key == run_key("e", 1, {"b": 2.5, "a": 1})
    others = [("f", 1, {"a": 1, "b": 2.5}), ("e", 2, {"a": 1, "b": 2.5}), ("e", 1, {"a": 1, "b": 2.6})]
    assert key not in [run_key(*other) for other in others]
    grid = Experiment("e", WALK, seeds(3))
    longer = Experiment("e", WALK, seeds(5)[::-1], batch_size=2)
    assert {run.key for run in grid.runs} < {run.key for run in longer.runs}
    assert not {run.key for run in grid.runs} & {run.key for run in Experiment("e", WALK, seeds(3), version=2).runs}
    for version in (0, "2", 1.5):
        with pytest.raises(InputError, match="version"):
            Experiment("e", WALK, [], version=version)


def test_canonical_json_round_trips_every_bit():
    values = {"x": 0.1 + 0.2, "tiny": 5e-324, "big": 2**70, "inf": math.inf, "é": "ü"}
    assert json.loads(canonical(values)) == values


def test_batches_are_of_equal_shape_and_depend_on_the_configurations_only():
    configs = [{"seed": s, "n": n} for s in range(5) for n in (2, 3)]
    experiment = Experiment("e", WALK, configs, run_batch=WALKS, batch_key=lambda c: c["n"], batch_size=2)
    shapes = [[run.config["n"] for run in batch] for batch in experiment.batches]
    assert shapes == [[2, 2], [3, 3], [2, 2], [3, 3], [2], [3]]  # in the order of the configurations
    assert {run.key for batch in experiment.batches for run in batch} == {run.key for run in experiment.runs}
    assert all(len(batch) == 1 for batch in Experiment("e", WALK, configs).batches)


def test_execution_of_one_run():
    experiment = Experiment("e", WALK, seeds(1))
    (finished,) = execute(experiment.task(experiment.runs))
    expected = 3.0 * np.random.default_rng(0).normal(size=5).cumsum()
    assert finished.result.values["last"] == expected[-1]
    np.testing.assert_array_equal(finished.result.arrays["steps"], expected)
    assert finished.seconds >= 0.0
    assert pickle.loads(pickle.dumps(finished)).worker == finished.worker


def test_a_batch_is_executed_at_once_and_a_lone_run_by_run():
    experiment = Experiment("e", WALK, seeds(3), run_batch=WALKS)
    finished = execute(experiment.task(experiment.runs))
    assert [f.result.values["batch"] for f in finished] == [3, 3, 3]
    (alone,) = execute(experiment.task(experiment.runs[:1]))
    assert "batch" not in alone.result.values


@pytest.mark.parametrize("run_batch", [WALKS, "reproduction.sweep.toy_runs:short_batch"])
def test_a_batch_that_raises_or_loses_count_is_done_run_by_run(run_batch):
    configs = [{"seed": 0}, {"seed": 1, "trouble": "raise"}, {"seed": 2}]
    experiment = Experiment("e", TROUBLED, configs, run_batch=run_batch)
    good, bad, good_too = [f.result for f in execute(experiment.task(experiment.runs))]
    assert isinstance(good, Outcome)
    assert isinstance(good_too, Outcome)
    assert bad.error == "ValueError: seed 1 is unlucky"
    assert "toy_runs.py" in bad.traceback


@pytest.mark.parametrize(("trouble", "error"), [("exit", "SystemExit: 3"), ("wrong", "expected an Outcome")])
def test_failures_are_results(trouble, error):
    experiment = Experiment("e", TROUBLED, seeds(1, trouble=trouble))
    (finished,) = execute(experiment.task(experiment.runs))
    assert isinstance(finished.result, Failure)
    assert error in finished.result.error


def test_a_worker_with_other_code_refuses():
    experiment = Experiment("e", WALK, seeds(2))
    task = experiment.task(experiment.runs)
    other = type(task)(task.runs, task.run, task.run_batch, "tree 0123")
    results = [finished.result for finished in execute(other)]
    assert len(results) == 2
    assert all("tree 0123; install the same code everywhere" in result.error for result in results)


def test_the_code_is_that_of_the_checkout_or_of_the_release(monkeypatch, tmp_path):
    """A package in somebody else's checkout, such as a virtual environment, does not take its commit."""
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    monkeypatch.setattr(origin, "PACKAGE", package)

    def git(*arguments):
        options = ("-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false")
        subprocess.run(["git", "-C", str(tmp_path), *options, *arguments], check=True, capture_output=True)

    def code():
        origin.code.cache_clear()
        return origin.code()

    try:
        assert code() == origin.Code(None, f"release {origin.__version__}")
        git("init", "-q")
        assert code().commit is None
        git("add", ".")
        git("commit", "-qm", "a")
        first = code()
        (tmp_path / "README.md").write_text("words")
        git("add", ".")
        git("commit", "-qm", "b")
        assert code().commit != first.commit
        assert code().identity == first.identity
        (package / "__init__.py").write_text("x = 1")
        assert code().commit.endswith(" with changes")
        assert code().identity != first.identity
    finally:
        origin.code.cache_clear()
