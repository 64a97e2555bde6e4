"""inspect_ai and lm-evaluation-harness, run: what they write today reads like the logs that are committed."""

import pytest

pytest.importorskip("inspect_ai")
pytest.importorskip("lm_eval")

from certiformer.certification.sources import files
from certiformer.inspect_plugin import EarlyGate, limits
from real import logs

pytestmark = [pytest.mark.real, pytest.mark.timeout(600), pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("name", logs.INSPECT)
def test_inspect_writes_what_is_committed(name, tmp_path):
    made = logs.INSPECT[name](tmp_path)
    assert made.status == "success"
    fresh, kept = files.read(made.location), files.read(logs.COMMITTED / name)
    assert fresh.columns == kept.columns
    assert (fresh.metrics, fresh.roles, fresh.stopped) == (kept.metrics, kept.roles, kept.stopped)


def test_the_harness_writes_what_is_committed(tmp_path):
    made = logs.run_harness(tmp_path)
    logs.write_harness(made, tmp_path / "kept")
    for part in ("tasks", "filters"):
        fresh, kept = files.read(tmp_path / "kept" / part), files.read(logs.COMMITTED / "harness" / part)
        assert fresh.columns.keys() == kept.columns.keys()
        assert fresh.columns["doc_id"] == kept.columns["doc_id"]


def test_a_gate_stops_an_evaluation_that_runs_in_parallel(tmp_path):
    from inspect_ai import Task
    from inspect_ai import eval as evaluate
    from inspect_ai.scorer import match

    task = Task(dataset=logs.dataset(300), solver=logs.answers(), scorer=match(), early_stopping=EarlyGate(0.05))
    (log,) = evaluate(task, model="mockllm/model", log_dir=str(tmp_path), display="none")
    told = log.results.early_stopping
    assert (told.manager, told.metadata["verdict"], told.metadata["decided_at"]) == ("certiformer", "pass", 75)
    assert len(log.samples) + len(told.early_stops) == 300
    assert 75 <= len(log.samples) < 300


def test_several_scorers_need_a_name(tmp_path):
    from inspect_ai import Task
    from inspect_ai import eval as evaluate
    from inspect_ai.scorer import includes, match

    def run(gate):
        task = Task(dataset=logs.dataset(120), solver=logs.answers(), scorer=[match(), includes()], early_stopping=gate)
        return evaluate(task, model="mockllm/model", log_dir=str(tmp_path), display="none")[0]

    log = run(EarlyGate(0.05))
    assert log.status == "error"
    assert "scorer='match'" in log.error.message
    assert run(EarlyGate(0.05, scorer="includes")).results.early_stopping.metadata["verdict"] == "pass"


def test_the_metric_is_found_by_its_entry_point():
    from inspect_ai.scorer import Score
    from inspect_ai.scorer._metric import SampleScore, metric_create

    scores = [SampleScore(score=Score(value="C" if i else "I"), sample_id=str(i)) for i in range(50)]
    assert metric_create("certiformer/limits")(scores) == limits()(scores)
