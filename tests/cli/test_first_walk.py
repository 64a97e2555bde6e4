"""What a newcomer meets in the first minutes: words, one-line errors, and no number that looks better than it is."""

from __future__ import annotations

import json
import shlex
import sys

import numpy as np
import pytest

import certiformer
from certiformer.cli import MOVED, main
from certiformer.theory.core.errors import InputError, UnknownNameError


@pytest.fixture
def told(monkeypatch, capsys):
    def command(*words):
        monkeypatch.setattr(sys, "argv", ["certiformer", *map(str, words)])
        with pytest.raises(SystemExit) as left:
            main()
        captured = capsys.readouterr()
        return left.value.code or 0, " ".join((captured.out + captured.err).split())

    return command


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "pred.csv"
    path.write_text("label,prediction\n" + "".join(f"{k % 2},{int(k % 25 == 0) ^ k % 2}\n" for k in range(200)))
    return path


def test_right_and_wrong_are_read_whatever_the_column_is_called(tmp_path):
    for column, words in (("result", ("right", "wrong")), ("error", ("Correct", "incorrect"))):
        path = tmp_path / f"{column}.jsonl"
        path.write_text("".join(json.dumps({column: words[k % 20 == 0]}) + "\n" for k in range(100)))
        report = certiformer.certify(predictions=path, declaration={"metric": column})
        assert report.basis == "5 errors among 100 held-out examples"
    with pytest.raises(InputError, match="right and wrong say it already"):
        certiformer.certify(predictions=path, declaration={"metric": "error", "better": "lower"})


def test_right_and_wrong_do_not_mix_with_numbers(tmp_path):
    path = tmp_path / "mixed.csv"
    path.write_text("error\n" + "right\n1\n" * 20)
    with pytest.raises(InputError, match="right or wrong in every row"):
        certiformer.certify(predictions=path, declaration={"metric": "error"})


def test_an_unknown_column_is_one_sentence(rows):
    with pytest.raises(UnknownNameError) as caught:
        certiformer.certify(predictions=rows, declaration={"slices": "nope"})
    assert str(caught.value) == "unknown column 'nope' in pred.csv (it has label, prediction)."


def test_gate_points_to_no_report_that_it_does_not_write(told, rows):
    code, output = told("gate", rows, "--error", "0.2")
    assert code == 0
    assert "with --json)" in output
    assert "in the report" not in output
    assert "confidence interval)" in output


def test_look_names_the_mean_that_is_asked_about(told, tmp_path):
    path = tmp_path / "score.csv"
    path.write_text("score\n" + "0.5\n" * 20)
    _, output = told("look", path)
    assert "the mean of 1 - score is asked about" in output
    assert "score: 1 value (0.5)" in output


def test_a_confidence_near_one_is_not_rounded_to_it(rows, tmp_path):
    report = certiformer.certify(predictions=rows, delta=1e-5)
    page, _ = report.write(tmp_path / "out")
    assert "<dd>99.999 %</dd>" in page.read_text()
    assert "100.00 %</dd>" not in page.read_text()


def test_verify_takes_the_folder_of_a_report(told, rows, tmp_path):
    out = tmp_path / "out"
    assert told("certify", rows, "--out", out)[0] == 0
    code, output = told("verify", out, "--data", rows)
    assert code == 0, output
    text = (out / "report.json").read_text()
    (out / "report.json").write_text(text.replace("8 errors among", "7 errors among"))
    code, output = told("verify", out, "--data", rows)
    assert code == 1
    assert "The report differs from what was made again in" in output


def test_predictions_in_the_place_of_a_model_are_told_where_they_go():
    labels = np.zeros(50, int)
    with pytest.raises(InputError, match=r"write certify\(predictions="):
        certiformer.certify((labels, labels))
    with pytest.raises(InputError, match=r"write certify\(predictions="):
        certiformer.certify("pred.csv")


def test_a_silent_watch_says_so(told, tmp_path):
    path = tmp_path / "stream.txt"
    path.write_text("0\n" * 50)
    code, output = told("watch", path, "--certified", "0.2")
    assert code == 0
    assert "No alarm: it is not shown that the mean is above 0.2." in output


def test_a_ledger_names_the_arrays_that_must_go(told, tmp_path):
    path = tmp_path / "both.npz"
    np.savez(path, heldout_labels=np.zeros(20, int), heldout_predictions=np.zeros(20, int))
    _, output = told("holdout", "new", tmp_path / "ledger", "--data", path)
    assert "Take heldout_predictions out of both.npz" in output


def test_what_was_stated_is_called_stated():
    found = certiformer.bound("trauger.thm4.1", Bw=1, Bc=2, L_sigma=1, Bv=1.5, Bx=1, C=0.5, n=1e6, d=64, odd=1)
    assert '"stated"' in json.dumps(found.as_json())


def test_limits_that_are_all_better_than_guessing_are_counted_once(rows):
    report = certiformer.certify(predictions=rows, declaration={"slices": "label"})
    assert report.summary.startswith("All 3 limits hold at once with 95 % confidence; all are better than guessing.")


def test_the_page_refers_to_itself_and_speaks_of_failure_probability(rows, tmp_path):
    page = certiformer.certify(predictions=rows).write(tmp_path / "out")[0].read_text()
    assert "the reasons are below" in page
    assert "share of delta" not in page


def test_columns_without_a_role_are_named_in_python_too():
    with pytest.raises(InputError, match=r"in Python declaration=\{'label'"):
        certiformer.certify(predictions={"foo": np.zeros(20, int), "bar": np.zeros(20, int)})


@pytest.mark.parametrize(("verb", "old"), [(verb, old) for verb, gone in MOVED.items() for old in gone])
def test_what_is_gone_is_an_error_that_names_the_new(told, verb, old):
    assert told(verb, "x.csv", old) == (2, f"error: {old} is gone since 0.2.0. Instead: {MOVED[verb][old]}")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("results.xlsx", "Save the sheet as .csv"),
        ("results.csv.gz", "Unpack it"),
        ("results.zip", "Unpack it"),
        ("results.pkl", "never loaded"),
        ("results.txt", "call it .csv, or .tsv"),
        ("results.model", "on, if it is a model. For example --data data.npz"),
    ],
)
def test_files_of_other_programs_have_a_way_on(told, tmp_path, name, said):
    path = tmp_path / name
    path.write_bytes(b"PK\3\4" + bytes(60))
    for verb in ("certify", "look") if name != "results.model" else ("certify",):
        code, answer = told(verb, path)
        assert code == 2
        assert said in answer


def test_the_next_command_runs_when_pasted(told, rows, tmp_path):
    mine = rows.rename(tmp_path / "my results.csv")
    code, said = told("certify", mine, "--out", tmp_path / "my report")
    assert code == 0
    command = shlex.split(said.partition("check this report ")[2])
    assert command[:2] == ["certiformer", "verify"]
    assert told(*command[1:5])[0] == 0


def test_an_option_has_one_value(told, tmp_path):
    path = tmp_path / "models.csv"
    path.write_text("id,label,pred_a,pred_b\n" + "".join(f"{n},{n % 2},{n % 2},0\n" for n in range(60)))
    two = ("--prediction", "pred_a", "--prediction", "pred_b")
    for words in (("compare", path, path), ("certify", path), ("holdout", "ask", path, path)):
        code, answer = told(*words, *two)
        assert code == 2
        assert "expected one value" in answer
    assert "are two files" in told("compare", path)[1]
