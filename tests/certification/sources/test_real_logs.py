"""Logs that inspect_ai and lm-evaluation-harness wrote themselves (made by tests/real/logs.py), read as they are."""

from pathlib import Path

import pytest

import certiformer
from certiformer.certification.looking import look
from certiformer.certification.sample import Sample
from certiformer.theory.core.errors import CertiformerError

LOGS = Path(__file__).parent / "logs"
STAMP = "2026-01-01T00-00-00.000000"


def losses(name, metric, **more):
    return Sample.of(LOGS / name, {"metric": (metric,), **more})


def test_epochs_and_scorers_of_inspect():
    with pytest.raises(CertiformerError, match=r"--metric match or --metric graded\.exact or --metric graded\.share"):
        Sample.of(LOGS / "inspect-epochs.eval")
    for metric in ("match", "graded.exact"):
        found = losses("inspect-epochs.eval", metric)
        # Sample 4 is wrong in both epochs, sample 2 in the second.
        assert found.outcomes[0].losses.sum() == 3.0
        assert len(set(found.units.groups.tolist())) == 8
        assert len(found.outcomes[0].losses) == 16
    shares = losses("inspect-epochs.eval", "graded.share", better="higher", range=(0, 1))
    assert shares.outcomes[0].losses.sum() == pytest.approx(3 * 0.75)
    (warning,) = (text for text in losses("inspect-epochs.eval", "match").warnings if "match takes the mode" in text)
    assert "accuracy 0.875" in warning


def test_a_sample_that_broke_is_no_outcome_and_one_at_its_limit_is():
    with pytest.raises(CertiformerError, match="--unscored wrong"):
        Sample.of(LOGS / "inspect-errors.json")
    found = Sample.of(LOGS / "inspect-errors.json", {"unscored": "wrong"})
    assert found.n == 9
    assert found.outcomes[0].losses.sum() == 3.0  # wrong, broken, at its limit
    assert any("limit = 9" in text for text in found.conditions)


def test_an_evaluation_that_stopped_early_is_read_at_any_time_only(tmp_path):
    path = LOGS / "inspect-stopped.eval"
    for read in (
        Sample.of,
        lambda it: certiformer.gate(it, error=0.05),
        lambda it: certiformer.certify(predictions=it),
    ):
        with pytest.raises(CertiformerError, match="stopped early by its outcomes"):
            read(path)
    assert ["--anytime" in one.command for one in look(path).questions] == [True]
    report = certiformer.gate(path, error=0.05, anytime=tmp_path / "state.json")
    assert report.verdict == "fail"
    assert any(one.subject == "stopped early" for one in report.decisions)
    with pytest.raises(CertiformerError, match="right or wrong of independent samples"):
        certiformer.gate(path, error=0.05, anytime=tmp_path / "other.json", declaration={"group": "part"})


def test_another_manager_s_choice_is_a_selection(tmp_path):
    text = (LOGS / "inspect-errors.json").read_text()
    stops = '{"manager": "luck", "early_stops": [{"id": "q09", "epoch": 1}], "metadata": {}}'
    assert '"total_samples"' in text
    (tmp_path / "log.json").write_text(text.replace('"total_samples"', f'"early_stopping": {stops}, "total_samples"'))
    with pytest.raises(CertiformerError, match="luck"):
        Sample.of(tmp_path / "log.json")


def test_a_folder_of_the_harness_is_one_table_and_pairs_with_another():
    found = Sample.of(LOGS / "harness" / "tasks")
    assert found.n == 15
    assert sorted(set(found.slices[1].tolist())) == ["doubles", "sums"]
    report = certiformer.gate(LOGS / "harness" / "tasks", against=LOGS / "harness" / "tasks", margin=0.3)
    assert (report.verdict, report.observed["wins"], report.observed["losses"]) == ("pass", 0, 0)


def test_filters_of_the_harness():
    path = LOGS / "harness" / "filters" / f"samples_words_{STAMP}.jsonl"
    with pytest.raises(CertiformerError, match="--filter flexible or --filter strict"):
        Sample.of(path)
    assert Sample.of(path, {"filter": "strict"}).n == 8


def test_results_alone_are_refused_with_what_helps(tmp_path):
    results = LOGS / "harness" / "tasks" / f"results_{STAMP}.json"
    (tmp_path / results.name).write_text(results.read_text())
    for given in (results, tmp_path):
        with pytest.raises(CertiformerError, match="lm_eval --log_samples"):
            Sample.of(given)
