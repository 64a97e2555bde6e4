"""Small logs by inspect_ai and lm-evaluation-harness themselves, offline; as a program it writes the committed ones.

    python tests/real/logs.py

Their dates, paths and machine are taken out; everything else is as the packages wrote it.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

COMMITTED = Path(__file__).parents[1] / "certification" / "sources" / "logs"
DAY = "2026-01-01T00:00:00+00:00"


# --- inspect_ai -------------------------------------------------------------------------------------------------------


def dataset(n, wrong=(), broken=(), long=()):
    from inspect_ai.dataset import MemoryDataset, Sample

    def one(i):
        said = "boom" if i in broken else "on and on" if i in long else str(i + 1 + (i in wrong))
        return Sample(id=f"q{i:02}", input=f"{i} + 1?", target=str(i + 1), metadata={"says": said, "part": "ab"[i % 2]})

    return MemoryDataset([one(i) for i in range(n)])


def answers():
    """A solver that knows what to say, runs into a limit, or breaks."""
    from inspect_ai.model import ModelOutput
    from inspect_ai.solver import solver
    from inspect_ai.util import LimitExceededError

    @solver
    def said():
        async def solve(state, generate):
            says = state.metadata["says"]
            if says == "boom":
                raise RuntimeError("boom")
            if says == "on and on":
                raise LimitExceededError("custom", value=2, limit=1)
            wrong_now = state.epoch == 2 and says.endswith("3")
            state.output = ModelOutput.from_content("mock", f"{says}0" if wrong_now else says)
            return state

        return solve

    return said()


def parts():
    """A scorer with two values: one right or wrong, one a share."""
    from inspect_ai.scorer import Score, mean, scorer

    @scorer(metrics={"exact": [mean()], "share": [mean()]})
    def graded():
        async def score(state, target):
            right = state.output.completion == target.text
            return Score(value={"exact": int(right), "share": 1.0 if right else 0.25})

        return score

    return graded()


def run_inspect(folder, samples, **task):
    from inspect_ai import Task
    from inspect_ai import eval as evaluate

    options = {"model": "mockllm/model", "log_dir": str(folder), "display": "none", "max_samples": 1}
    chosen = {name: task.pop(name) for name in ("limit", "fail_on_error") if name in task}
    (log,) = evaluate(Task(dataset=samples, solver=answers(), name="sums", **task), **options, **chosen)
    return log


def inspect_epochs(folder):
    """Two epochs, two reducers, two scorers, one of them with two values."""
    from inspect_ai import Epochs
    from inspect_ai.scorer import match

    return run_inspect(folder, dataset(8, wrong=(4,)), scorer=[match(), parts()], epochs=Epochs(2, ["mean", "mode"]))


def inspect_errors(folder):
    """One sample breaks, one runs into a limit, one is wrong; the first 9 of 10 were asked for; the metric of ours."""
    from inspect_ai.scorer import accuracy, match

    from certiformer.inspect_plugin import limits

    samples = dataset(10, wrong=(4,), broken=(5,), long=(7,))
    return run_inspect(folder, samples, scorer=match(), metrics=[accuracy(), limits()], limit=9, fail_on_error=False)


def inspect_stopped(folder):
    """Everything is wrong: the gate fails long before the end."""
    from inspect_ai.scorer import match

    from certiformer.inspect_plugin import EarlyGate

    return run_inspect(folder, dataset(40, wrong=range(40)), scorer=match(), early_stopping=EarlyGate(0.05))


INSPECT = {
    "inspect-epochs.eval": inspect_epochs,
    "inspect-errors.json": inspect_errors,
    "inspect-stopped.eval": inspect_stopped,
}


def scrubbed(log):
    """A log without dates, places and events."""
    from inspect_ai.log import EvalLog

    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(\+00:00|Z)", DAY, log.model_dump_json())
    content = json.loads(text)
    content["location"] = ""
    content["eval"] |= {"packages": {}, "revision": None, "task_file": None}
    for sample in content["samples"]:
        sample |= {"events": [], "attachments": {}, "total_time": 0.0, "working_time": 0.0}
        if sample.get("error"):
            sample["error"] |= {"traceback": "", "traceback_ansi": ""}
    return EvalLog.model_validate(content)


# --- lm-evaluation-harness --------------------------------------------------------------------------------------------

SUMS = """
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{question}}}}"
doc_to_choice: "{{{{choices}}}}"
doc_to_target: "{{{{answer}}}}"
metric_list: [{{metric: acc, aggregation: mean, higher_is_better: true}}]
"""
WORDS = """
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{question}}}}"
doc_to_target: "{{{{answer}}}}"
generation_kwargs: {{until: [";"]}}
filter_list:
  - {{name: strict, filter: [{{function: take_first}}]}}
  - {{name: flexible, filter: [{{function: lowercase}}, {{function: take_first}}]}}
metric_list: [{{metric: exact_match, aggregation: mean, higher_is_better: true}}]
"""
STAMP = "2026-01-01T00-00-00.000000"


def run_harness(folder):
    """Three tasks with local data and the model that answers by chance; one of them with two filters."""
    rows = {
        "sums": [{"question": f"{i}+1=", "choices": [f" {i + 1}", f" {i + 2}"], "answer": 0} for i in range(9)],
        "doubles": [{"question": f"2*{i}=", "choices": [f" {2 * i}", f" {2 * i + 1}"], "answer": 0} for i in range(6)],
        "words": [{"question": f"Say it {i}:", "answer": "LOL" if i % 2 else "lol"} for i in range(8)],
    }
    for (name, lines), text in zip(rows.items(), (SUMS, SUMS, WORDS), strict=True):
        data = folder / f"{name}.jsonl"
        data.write_text("".join(json.dumps(line) + "\n" for line in lines))
        (folder / f"{name}.yaml").write_text(text.format(name=name, data=data))
    words = ("run", "--model", "dummy", "--tasks", "sums,doubles,words", "--include_path", str(folder), "--log_samples")
    command = [sys.executable, "-m", "lm_eval", *words, "--output_path", str(folder / "out")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    return next((folder / "out").iterdir())


def write_harness(made, folder):
    for path in made.iterdir():
        home = folder / ("filters" if "words" in path.name else "tasks")
        home.mkdir(parents=True, exist_ok=True)
        name = re.sub(r"_20[^_]*(?=\.jsonl?$)", f"_{STAMP}", path.name)
        if path.suffix == ".json":
            kept = ("results", "group_subtasks", "versions", "n-shot", "higher_is_better", "n-samples")
            content = {key: value for key, value in json.loads(path.read_text()).items() if key in kept}
            (home / name).write_text(json.dumps(content, indent=1) + "\n")
        else:
            (home / name).write_text(path.read_text())


if __name__ == "__main__":
    from inspect_ai.log import read_eval_log, write_eval_log

    with tempfile.TemporaryDirectory() as place:
        for name, make in INSPECT.items():
            log = scrubbed(read_eval_log(make(Path(place) / name).location))
            write_eval_log(log, str(COMMITTED / name))
        write_harness(run_harness(Path(place)), COMMITTED / "harness")
