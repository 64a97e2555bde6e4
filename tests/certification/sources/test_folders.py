"""Folders of `lm_eval --log_samples`: one table over tasks, paired where two runs are given, nothing dropped unsaid."""

import json

import numpy as np
import pytest

import certiformer
from certiformer.theory.core.errors import CertiformerError, InputError


def task(folder, name, right, metric="acc", filters=("none",), stamp="2025-03-01T10-00-00.123"):
    folder.mkdir(exist_ok=True, parents=True)
    lines = [
        {
            "doc_id": k,
            "doc": {},
            "resps": [],
            "filtered_resps": [],
            "filter": filter,
            "metrics": [metric],
            "doc_hash": f"{name} {k}",
            "prompt_hash": f"p {name} {k}",
            metric: float(value) * (filter != "strict"),
        }
        for k, value in enumerate(right)
        for filter in filters
    ]
    path = folder / f"samples_{name}_{stamp}.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def right(n, wrong):
    return np.arange(n) >= wrong


def test_two_runs_are_paired_over_all_tasks(tmp_path):
    for run, wrong, stamp in (("a", 3, "2025-03-01T10-00-00.1"), ("b", 10, "2025-04-07T08-00-00.2")):
        task(tmp_path / run / "model", "arc", right(150, wrong), stamp=stamp)
        task(tmp_path / run / "model", "boolq", right(150, wrong), stamp=stamp)
    (found,) = certiformer.compare(tmp_path / "a", tmp_path / "b")
    assert (found.items, found.discordant) == (300, (0, 14))
    gated = certiformer.gate(tmp_path / "a", against=tmp_path / "b", margin=0.02)
    assert gated.verdict == "pass"
    assert gated.basis == "14 wins, 0 losses, 280 both right, 6 both wrong"
    report = certiformer.certify(predictions=tmp_path / "a")
    assert report["holdout"].evidence.n == 300
    assert report["holdout (file arc)"].evidence.n == 150
    assert any("the 2 files are of one model, and weigh as many items" in text for text in report.conditions)


def test_metrics_of_some_files_are_named(tmp_path):
    task(tmp_path, "arc", right(40, 2))
    path = task(tmp_path, "boolq", right(40, 2))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps({**one, "metrics": ["acc", "f1"], "f1": 0.5}) + "\n" for one in lines))
    report = certiformer.certify(predictions=tmp_path)
    assert "f1 is only in boolq: not part of this table" in report.warnings
    with pytest.raises(InputError, match="Only boolq has it: certify that file alone"):
        certiformer.certify(predictions=tmp_path, declaration={"metric": "f1"})
    task(tmp_path, "gsm8k", right(40, 2), metric="exact_match")
    with pytest.raises(InputError, match=r"acc: arc, boolq; f1: boolq; exact_match: gsm8k.*Certify files"):
        certiformer.certify(predictions=tmp_path)


def test_a_filter_drops_no_task(tmp_path):
    task(tmp_path, "arc", right(40, 2))
    task(tmp_path, "gsm8k", right(40, 2), filters=("strict", "flexible"))
    with pytest.raises(
        InputError, match="gsm8k holds every document once for each: --filter flexible or --filter strict"
    ):
        certiformer.certify(predictions=tmp_path)
    found = certiformer.certify(predictions=tmp_path, declaration={"filter": "flexible"})
    assert (found["holdout"].evidence.errors, found["holdout"].evidence.n) == (4, 80)
    strict = certiformer.certify(predictions=tmp_path, declaration={"filter": "strict"})
    assert (strict["holdout"].evidence.errors, strict["holdout"].evidence.n) == (42, 80)
    with pytest.raises(CertiformerError, match="flexible, strict"):
        certiformer.certify(predictions=tmp_path, declaration={"filter": "none"})


def test_a_folder_of_two_runs_is_asked_about(tmp_path):
    task(tmp_path / "model", "arc", right(40, 2))
    task(tmp_path / "model", "arc", right(40, 3), stamp="2025-04-07T08-00-00.2")
    with pytest.raises(InputError, match=r"arc has 2 \(two runs, or two models\)"):
        certiformer.certify(predictions=tmp_path)


def test_aggregate_results_alone_are_refused_with_what_helps(tmp_path):
    (tmp_path / "results_2025-03-01.json").write_text('{"results": {"arc": {"acc,none": 0.9}}}')
    with pytest.raises(InputError, match="lm_eval --log_samples"):
        certiformer.certify(predictions=tmp_path)
