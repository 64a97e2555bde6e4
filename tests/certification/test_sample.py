"""One way in: every form of the same outcomes says the same, what is ambiguous is asked, nothing vanishes."""

import cProfile
import csv
import dataclasses
import importlib
import importlib.util
import inspect
import json
import pstats
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import certiformer
from certiformer.certification.declaration import GROUPS, Declaration
from certiformer.certification.sources import files, metrics
from certiformer.theory.core.errors import CertiformerError, InputError
from declaring import certified

N = 400
WRONG = np.random.default_rng(0).permutation(N) < 40
RIGHT = ~WRONG
IDS = [f"q{k}" for k in range(N)]


def write_csv(path, header, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def write_lines(path, objects):
    path.write_text("".join(json.dumps(entry) + "\n" for entry in objects))
    return path


def harness(path, n=N, ids=IDS, **metrics_of):
    """A log of lm-evaluation-harness: a function of the row for each metric."""
    lines = (
        {"doc_id": ids[k], "doc": {}, "resps": [], "filtered_resps": [], "metrics": list(metrics_of)}
        | {name: value(k) for name, value in metrics_of.items()}
        for k in range(n)
    )
    return write_lines(path, lines)


def inspect_log(score, n=N, scorer="match", **more):
    samples = [{"id": f"q{k}", "epoch": 1, "input": f"{k}?", "scores": {scorer: {"value": score(k)}}} for k in range(n)]
    return {"version": 2, "status": "success", "eval": {}, "samples": samples, **more}


def eval_archive(path, log):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps({k: v for k, v in log.items() if k != "samples"}))
        for place, sample in enumerate(log["samples"]):
            archive.writestr(f"samples/{place:05d}_epoch_1.json", json.dumps(sample))
    return path


class Frame:
    """As much of a data frame as is asked for."""

    def __init__(self, **columns):
        self.held = {name: np.asarray(column) for name, column in columns.items()}
        self.columns = list(columns)

    def __getitem__(self, name):
        return self.held[name]

    def to_numpy(self):
        return np.stack(list(self.held.values()), axis=1)


def forms(folder):
    """The same right and wrong answers, in every form."""
    right = RIGHT.tolist()
    np.savez(folder / "a.npz", heldout_correct=RIGHT, heldout_ids=np.array(IDS))
    yield folder / "a.npz"
    yield write_csv(folder / "a.csv", ("id", "correct"), zip(IDS, RIGHT.astype(int), strict=True))
    yield write_csv(folder / "b.csv", ("id", "acc"), zip(IDS, right, strict=True))
    yield write_csv(folder / "c.csv", ("id", "error"), zip(IDS, WRONG.astype(float), strict=True))
    yield write_lines(folder / "a.jsonl", ({"id": IDS[k], "correct": right[k]} for k in range(N)))
    yield write_lines(folder / "b.jsonl", ({"id": IDS[k], "accuracy": float(right[k])} for k in range(N)))
    yield harness(folder / "samples_x.jsonl", acc=lambda k: float(right[k]))
    (folder / "log.json").write_text(json.dumps(inspect_log(lambda k: "IC"[right[k]])))
    yield folder / "log.json"
    yield eval_archive(folder / "log.eval", inspect_log(lambda k: float(right[k])))
    yield {"heldout_correct": RIGHT, "heldout_ids": np.array(IDS)}
    yield {"id": IDS, "correct": RIGHT}
    yield Frame(id=IDS, correct=RIGHT)
    yield [{"id": IDS[k], "correct": right[k]} for k in range(N)]


def test_every_form_of_one_outcome_says_the_same(tmp_path):
    said = set()
    for form in forms(tmp_path):
        document = certified(form, two_sided=True).document
        rows = [(row["id"], row["value"], row["lower"], row["trivial"], row["subject"], row["claim"], row["seen"])
                for row in document["statements"]]  # fmt: skip
        said.add(json.dumps([document["headline"], document["basis"], document["observed"], rows]))
    assert len(said) == 1
    (only,) = said
    assert "The model errs on at least 7.24 % and at most 13.37 % of new examples" in only


def test_comparisons_do_not_depend_on_the_form(tmp_path):
    other = np.random.default_rng(1).random(N) < 0.93
    found = set()
    for place, form in enumerate(forms(tmp_path)):
        if place in (0, 1, 4):
            reference = {"heldout_correct": other, "heldout_ids": np.array(IDS)}
            (one,) = certiformer.compare(form, reference)
            found.add((one.interval, one.what, one.discordant))
    assert len(found) == 1
    assert next(iter(found))[1] == "error rate"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a.npz", {"slices": None}),
        ("b.csv", {"models": 3, "confidence": 0.9}),
        ("b.jsonl", {"metric": "accuracy", "range": (0, 1), "order": "hash"}),
        ("samples_x.jsonl", {"two_sided": True, "population": "questions"}),
        ("log.eval", {"only": "holdout"}),
    ],
)
def test_a_report_on_any_file_is_made_again(tmp_path, name, said):
    list(forms(tmp_path))
    certified(tmp_path / name, **{key: value for key, value in said.items() if value is not None}).write(tmp_path)
    found = certiformer.verify(tmp_path / "report.json", data=tmp_path / name)
    assert found.exit_code == 0, found.differences
    other = next(path for path in (tmp_path / "c.csv", tmp_path / "a.jsonl") if path.name != name)
    assert certiformer.verify(tmp_path / "report.json", data=other).exit_code == 1


# What is ambiguous is asked


AMBIGUOUS = {
    "labels, predictions and a confidence called score": (
        ("id", "label", "prediction", "score"),
        [(k, k % 2, (k // 2) % 2, 0.98 + k / 1e5) for k in range(200)],
        ("--label label --prediction prediction", "--metric score"),
    ),
    "an accuracy that contradicts the answers": (
        ("label", "pred", "accuracy"), [(1, 0, 1)] * 50, ("--label label --prediction pred", "--metric accuracy"),
    ),
    "what a text pipeline returns": (("text", "label", "score"), [(f"t{k}", "POS", 0.99) for k in range(50)],
        ("--label TRUTH --prediction label --confidence-column score", "--metric score")),
    "two metrics": (("loss", "score"), [(0.1, 0.9)] * 50, ("--metric loss", "--metric score")),
    "a metric that nobody knows": (("id", "passed"), [(k, "True") for k in range(50)], ("--metric COLUMN",)),
}  # fmt: skip


@pytest.mark.parametrize("name", AMBIGUOUS)
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_what_is_ambiguous_is_asked(tmp_path, name, ending):
    header, rows, options = AMBIGUOUS[name]
    if ending == "csv":
        path = write_csv(tmp_path / "t.csv", header, rows)
    else:
        path = write_lines(tmp_path / "t.jsonl", (dict(zip(header, row, strict=True)) for row in rows))
    with pytest.raises(InputError) as asked:
        certified(path)
    for option in options:
        assert option in str(asked.value)


def two_metrics(folder):
    """The same two metrics, one of which alone would be taken by its name, in every form."""
    told = {"exact_match": [float(k % 3 > 0) for k in range(60)], "f1": [k % 5 / 4 for k in range(60)]}
    rows = [{name: column[k] for name, column in told.items()} for k in range(60)]
    yield told
    yield rows
    np.savez(folder / "a.npz", **told)
    yield folder / "a.npz"
    yield write_csv(folder / "a.csv", told, (row.values() for row in rows))
    yield write_lines(folder / "a.jsonl", rows)
    yield harness(folder / "samples_x.jsonl", 60, **{name: column.__getitem__ for name, column in told.items()})
    (folder / "log.json").write_text(json.dumps(inspect_log(rows.__getitem__, 60, "grader")))
    yield folder / "log.json"
    if importlib.util.find_spec("pyarrow") is not None:
        importlib.import_module("pyarrow.parquet").write_table(
            importlib.import_module("pyarrow").table(told), folder / "a.parquet"
        )
        yield folder / "a.parquet"


def test_of_two_metrics_none_is_taken_unasked(tmp_path):
    for form in two_metrics(tmp_path):
        for verb in (certified, lambda data: certiformer.select(data, error=0.1), lambda a: certiformer.compare(a, a)):
            with pytest.raises(InputError, match=r"--metric (grader\.)?exact_match or --metric (grader\.)?f1"):
                verb(form)
        scorer = "grader." if str(form).endswith("log.json") else ""
        found = certified(form, metric=f"{scorer}exact_match")
        assert (found["holdout"].evidence.errors, found["holdout"].evidence.n) == (20, 60)
    with pytest.raises(InputError, match="--metric exact_match or --metric f1"):
        list(certiformer.watch(['{"exact_match": 1, "f1": 0.5}']))
    with pytest.raises(InputError, match="one way to tell right from wrong"):
        list(certiformer.watch(['{"label": 1, "prediction": 0, "score": 1}']))


def test_a_column_is_a_metric_by_its_name_and_its_values():
    """A gold answer of 42 and a choice of 3 are no scores; a known metric alone is asked about."""
    asked = {"correct": [1, 0] * 20, "answer": [42, 7] * 20, "choice": [3, 2] * 20, "math": ["x", "y"] * 20}
    assert certified(asked)["holdout"].evidence.errors == 20
    with pytest.raises(InputError, match="or --metric f1"):
        certified({"f1": [0.5, 1.0] * 20})
    with pytest.raises(InputError, match="--label label --prediction pred or --metric wer"):
        certified({"label": [0, 1] * 20, "pred": [0, 1] * 20, "wer": [1.5, 0.2] * 20})


def test_an_array_alone_is_called_as_its_file_is(tmp_path):
    """True may mean right or wrong: correct.npy and error.npy say which, any other name is asked about."""
    for name, values in {"correct": RIGHT, "error": WRONG, "mask": RIGHT}.items():
        np.save(tmp_path / f"{name}.npy", values)
    limits = {name: certified(tmp_path / f"{name}.npy")["holdout"].value for name in ("correct", "error")}
    with pytest.raises(InputError, match="--metric mask --higher-is-better or --metric mask --lower-is-better"):
        certified(tmp_path / "mask.npy")
    assert {*limits.values(), certified(tmp_path / "mask.npy", better="higher")["holdout"].value} == {limits["error"]}
    assert certified(tmp_path / "mask.npy", better="lower")["holdout"].value > 0.8
    np.save(tmp_path / "loss.npy", np.eye(3))
    with pytest.raises(InputError, match="one value for each example"):
        certified(tmp_path / "loss.npy")


def test_a_confidence_is_no_outcome_once_it_is_called_one(tmp_path):
    header, rows, _ = AMBIGUOUS["labels, predictions and a confidence called score"]
    path = write_csv(tmp_path / "t.csv", header, rows)
    report = certiformer.certify(predictions=path, declaration=Declaration(confidence_column="score"))
    assert report["holdout"].evidence.errors == 100
    chosen = certified(path, label="label", prediction="prediction")
    assert chosen["holdout"].evidence.errors == 100


@pytest.mark.parametrize("ending", ["csv", "jsonl", "eval"])
def test_the_direction_of_an_unknown_metric_is_asked(tmp_path, ending):
    """A pass rate of 10 % was certified as a loss of 10 % from CSV, and as 90 % from JSONL."""
    if ending == "csv":
        path = write_csv(tmp_path / "t.csv", ("id", "passed"), zip(IDS, WRONG.tolist(), strict=True))
    elif ending == "jsonl":
        path = write_lines(tmp_path / "t.jsonl", ({"id": IDS[k], "passed": bool(WRONG[k])} for k in range(N)))
    else:
        path = eval_archive(tmp_path / "t.eval", inspect_log(lambda k: bool(WRONG[k]), scorer="passed"))
    with pytest.raises(InputError, match="--metric passed --higher-is-better or --metric passed --lower-is-better"):
        certified(path, metric="passed")
    assert certified(path, metric="passed", better="higher")["holdout"].evidence.errors == N - 40
    assert certified(path, metric="passed", better="lower")["holdout"].evidence.errors == 40


@pytest.mark.parametrize("name", ["wer", "cer", "mae", "likelihood_diff", "toxicity", "pct_stereotype"])
def test_what_is_bad_is_not_called_good(tmp_path, name):
    """0.95 of each everywhere was certified as a mean loss of at most 0.0647."""
    bad = 1.0 if name == "pct_stereotype" else 0.95
    log = harness(tmp_path / "samples_x.jsonl", n=40, **{name: lambda k: bad})
    (tmp_path / "log.json").write_text(json.dumps(inspect_log(lambda k: bad, n=40, scorer=name)))
    table = write_csv(tmp_path / "t.csv", ("id", name), [(k, bad) for k in range(40)])
    said = set()
    for path in (log, tmp_path / "log.json", table):
        found = certified(path, metric=name, **({} if name in ("toxicity", "pct_stereotype") else {"range": (0, 2)}))
        said.add(found.headline)
        row = found["holdout"] if name == "pct_stereotype" else found["mean_loss"]
        assert row.value >= bad
    assert len(said) == 1
    if name != "pct_stereotype":
        assert f"The mean {name} of the model" in said.pop()


def test_several_metrics_mean_the_same_in_every_format(tmp_path):
    """An upper limit of the error was printed as one of the score; a second scorer was dropped."""
    acc, f1 = RIGHT.astype(float), np.where(RIGHT, 0.9, 0.1)
    columns = {"acc": lambda k: float(acc[k]), "f1": lambda k: float(f1[k])}
    log = inspect_log(lambda k: "C", n=N)
    for k, sample in enumerate(log["samples"]):
        sample["scores"] = {name: {"value": of(k)} for name, of in columns.items()}
    (tmp_path / "log.json").write_text(json.dumps(log))
    table = write_csv(tmp_path / "t.csv", ("id", "acc", "f1"), zip(IDS, acc, f1, strict=True))
    found = set()
    for path in (harness(tmp_path / "samples_x.jsonl", **columns), tmp_path / "log.json", table):
        report = certified(path, metric=("acc", "f1"))
        rows = {row.evidence.key: (row.value, row.subject) for row in report.statements if row.evidence is not None}
        assert set(rows) == {"holdout (acc)", "mean_loss (f1)"}
        assert report["mean_loss (f1)"].evidence.what == "of 1 - f1"
        assert report["holdout (acc)"].subject == "the model, judged by acc"
        found.add((json.dumps(rows, sort_keys=True), report.headline))
    assert len(found) == 1


@pytest.mark.parametrize("name", ["word_error_rate", "pass_rate", "error rate"])
def test_a_column_that_is_called_a_rate_has_its_own_unit(name):
    """It was read as a share: 31 of 100 was printed as 3100 %."""
    table = {"id": np.arange(60), name: 31.0 + np.random.default_rng(0).random(60)}
    report = certified(table, metric=name, better="lower", range=(0, 100))
    assert "%" not in report.headline.partition(", with confidence")[0] + report.basis
    assert f"{name} of the model" in report.headline


@pytest.mark.parametrize("name", ["smoothed_wer", "clipped error", "of mice"])
def test_a_column_is_not_called_by_words_of_ours(name):
    """The mean of a column smoothed_wer was said to be that of the smoothed predictor."""
    table = {"id": np.arange(60), name: np.random.default_rng(0).random(60)}
    report = certified(table, metric=name, better="lower", range=(0, 1))
    assert report.headline.startswith(f"The mean column {name} of the model over")
    assert "every loss lies in [0, 1], not only the losses seen here" in report.conditions
    arrays = certified({f"heldout_losses_{name}": table[name], "heldout_ids": table["id"]})
    assert arrays.headline == report.headline


def test_words_name_the_column_and_the_map(tmp_path):
    path = write_csv(tmp_path / "t.csv", ("id", "f1"), [(k, 0.03) for k in range(60)])
    report = certified(path, metric="f1")
    assert report.headline.startswith("The mean of 1 - f1 of the model over new examples is at most")
    assert report["mean_loss"].evidence.observed == pytest.approx(0.97)
    percent = write_csv(tmp_path / "p.csv", ("id", "quality"), [(k, 90.0) for k in range(60)])
    with pytest.raises(InputError, match="--metric quality --higher-is-better --range LOW HIGH"):
        certified(percent, metric="quality", better="higher")
    found = certified(percent, metric="quality", better="higher", range=(0, 100))
    assert "The mean of 100 - quality" in found.headline
    assert found["mean_loss"].evidence.observed == pytest.approx(10.0)


def test_a_range_is_for_metrics_that_have_none(tmp_path):
    rows = [(k, int(k % 5 > 0), 80.0, 0.5) for k in range(60)]
    path = write_csv(tmp_path / "t.csv", ("id", "acc", "bleu", "f1"), rows)
    report = certified(path, metric=("acc", "bleu"), range=(0, 100))
    assert report["holdout (acc)"].evidence.errors == 12
    assert report["mean_loss (bleu)"].evidence.observed == pytest.approx(20.0)
    with pytest.raises(InputError, match="without a range of its own"):
        certified(path, metric=("acc", "f1"), range=(0, 100))


def test_a_score_between_is_no_right_or_wrong(tmp_path):
    path = write_csv(tmp_path / "t.csv", ("id", "acc"), [(k, k % 3 / 2) for k in range(60)])
    with pytest.raises(InputError, match="--metric acc --range 0 1"):
        certified(path)
    assert "The mean of 1 - acc" in certified(path, range=(0, 1)).headline


# The same checks for every verb


def repeated(folder, name, *, by):
    """25 items, 40 rows each; the model errs on whole items."""
    rows = []
    for k in range(1000):
        item = k // 40
        rows.append(
            (item if by == "id" else k, f"text {item if by == 'text' else k}", int(item % 5 != 0), 0.5 + k / 2e3, item)
        )
    return write_csv(folder / f"{name}.csv", ("id", "text", "correct", "confidence", "patient"), rows)


@pytest.mark.parametrize("by", ["id", "text"])
def test_every_verb_refuses_repeats(tmp_path, by):
    a, b = (repeated(tmp_path, name, by=by) for name in "ab")
    for verb in (
        lambda **more: certified(a, **more),
        lambda **more: certiformer.select(a, error=0.5, declaration=more),
        lambda **more: certiformer.compare(a, b, declaration=more),
    ):
        with pytest.raises(InputError, match="--repeats group"):
            verb()
    chosen = certiformer.select(a, error=0.9, declaration={"repeats": "group"})
    assert (chosen.selection.n, chosen.unit) == (25, "groups, one example drawn from each")
    if by == "text":
        (found,) = certiformer.compare(a, b, declaration={"repeats": "group"})
        assert (found.items, found.unit) == (25, "group")


def test_groups_are_connected_components():
    """One text that occurs twice lost the groups of ids: 399 groups instead of 40."""
    ids = np.repeat(np.arange(40), 10)
    texts = np.array([f"paraphrase {k}" for k in range(400)])
    texts[399] = texts[0]
    given = {"heldout_correct": np.repeat(np.arange(40) % 3 != 0, 10), "heldout_ids": ids, "heldout_inputs": texts}
    assert certified(given, repeats="group")["mean_loss"].evidence.size == 39
    with_groups = {**given, "heldout_groups": ids // 2}
    with pytest.raises(InputError, match="more than one group"):
        certified(with_groups)
    assert certified(with_groups, repeats="group")["mean_loss"].evidence.size == 19


def test_what_a_verdict_rests_on_stands_beside_it(tmp_path, run):
    rows = [(k, int(RIGHT[k]), 0.5 + k / 1000, k // 4) for k in range(N)]
    for name in "ab":
        write_csv(tmp_path / f"{name}.csv", ("id", "correct", "confidence", "patient"), rows)
    for words in (("select", "a.csv", "--error", 0.3), ("compare", "a.csv", "b.csv")):
        told = run(*words)
        assert told.code == 0
        assert "Condition: " in told.out
        assert "NOT CHECKED: whether a held-out example was seen in training" in told.out
        assert "say --group patient if they are not" in " ".join(told.out.split())
    (tmp_path / "s.txt").write_text("0\n1\n" * 40)
    told = run("watch", "s.txt").out
    assert "Condition: the limits are for the average of the true means over all outcomes so far" in told
    assert "NOT CHECKED: whether outcomes repeat" in told
    np.savez(tmp_path / "labels.npz", heldout_labels=np.arange(N) % 2)
    np.savez(tmp_path / "answers.npz", heldout_predictions=np.arange(N) % 2)
    assert "NOT CHECKED: whether held-out examples repeat" in run("holdout", "new", "led", "--data", "labels.npz").out
    assert run("holdout", "ask", "led", "--predictions", "answers.npz").code == 0
    claimed = run("holdout", "claim", "led").out
    assert "Condition: nobody saw their labels" in claimed
    assert "NOT CHECKED: whether held-out examples repeat" in claimed


def test_a_ledger_takes_tables_and_refuses_repeats(tmp_path, run):
    write_csv(tmp_path / "y.csv", ("id", "label"), [(k, k % 3) for k in range(60)])
    write_csv(tmp_path / "p.csv", ("id", "pred"), [(k, k % 3) for k in range(60)])
    assert run("holdout", "new", "a", "--data", "y.csv").code == 0
    assert "better" in run("holdout", "ask", "a", "--predictions", "p.csv").out
    write_csv(tmp_path / "twice.csv", ("id", "label"), [(k // 2, k % 3) for k in range(60)])
    assert "repeat another one" in run("holdout", "new", "b", "--data", "twice.csv").err


# Nothing vanishes


def test_rows_do_not_vanish(tmp_path):
    lines = [harness_line(k, right=k % 2 == 0) for k in range(300)]
    for line in lines[1::2]:
        del line["filter"]
    with pytest.raises(InputError, match="150 samples without the field"):
        certified(write_lines(tmp_path / "samples_x.jsonl", lines), filter="none")
    (tmp_path / "one.csv").write_text("correct\n" + "1\n" * 100 + "\n" * 50)
    with pytest.raises(InputError, match=r"Row 101 .* and 49 others.*--unscored wrong"):
        certified(tmp_path / "one.csv")
    assert certified(tmp_path / "one.csv", unscored="wrong")["holdout"].evidence.errors == 50
    (tmp_path / "two.csv").write_text("id,correct\n" + "".join(f"{k},1\n\n" for k in range(30)))
    warnings = certiformer.Sample.of(tmp_path / "two.csv").warnings
    assert any(text.startswith("29 blank lines between rows") for text in warnings)


def harness_line(k, right):
    return {"doc_id": k, "resps": [], "filter": "none", "metrics": ["exact_match"], "exact_match": float(right)}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", '{"correct": false, "correct": true}\n' * 20, "stands twice"),
        ("a.jsonl", "[" * 100_000 + "\n", "nested too deeply"),
        ("a.jsonl", '{"loss": ' + "1" * 5000 + "}\n", "JSON"),
        ("a.csv", "id,loss\n" + "".join(f"{k},0_0.0_1\n" for k in range(20)), "a number"),
        ("a.csv", "id,correct\n" + "".join(f"{k % 10}{'.0' * (k > 9)},1\n" for k in range(20)), "10 of 20 rows repeat"),
        ("results.json", '{"results": {"gsm8k": {"acc": 1}}}', "samples_.*log_samples"),
        ("a.json", '{"status": "success", "eval": {}, "samples": [3]}', "a log with samples"),
        ("a.json", '{"status": "success", "eval": {}, "samples": [{"id": 1, "scores": 3}]}', "scores by scorer"),
    ],
)
def test_what_cannot_be_meant_is_one_line(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(CertiformerError, match=message):
        certified(tmp_path / name)


def test_groups_beyond_the_declared_size_are_refused():
    """Rows were left out: at most 14.95 % beside an observed 91.74 %."""
    groups = np.concatenate([np.repeat(np.arange(10), 100), 10 + np.repeat(np.arange(90), 10)])
    correct = np.arange(len(groups)) >= 1000
    given = {"heldout_correct": correct, "heldout_groups": groups}
    with pytest.raises(InputError, match="at least 100"):
        certified(given, estimand="rows", max_size=10)
    assert certified(given, estimand="rows", max_size=100)["mean_loss"].value > 0.5


@pytest.mark.parametrize("more", [{"clip": 2.0}, {"classes": 50_000}])
def test_perplexity_is_said_of_tokens_alone(tmp_path, more):
    words = harness(tmp_path / "samples_x.jsonl", n=60, word_perplexity=lambda k: [-30.0 - k, 10 + k])
    report = certified(words, **more)
    assert "perplexity" not in report.headline
    assert "log-loss per word" in report.headline
    if "classes" in more:
        assert "of the smoothed predictor" in report.headline
        assert "a perplexity of at most" in certified(words, estimand="rows", max_size=80, **more).headline


# Logs


def test_a_folder_of_logs(tmp_path, run):
    """Every task of a run is a slice, with the whole, at one confidence."""
    for task, right in (("arc", 0.9), ("gsm8k", 0.6)):
        path = tmp_path / f"samples_{task}_2025-01-01T00-00.jsonl"
        harness(path, n=50, acc=lambda k, r=right: float(k % 10 < 10 * r))
    (tmp_path / "results_2025.json").write_text("{}")
    report = certified(tmp_path)
    keys = {row.evidence.key for row in report.statements if row.evidence is not None}
    assert keys == {"holdout", "holdout (file arc)", "holdout (file gsm8k)"}
    assert report["holdout (file gsm8k)"].evidence.errors == 20
    assert any(one.subject == "files" for one in certiformer.Sample.of(tmp_path).decisions)
    assert run("certify", tmp_path, "--out", tmp_path / "out").code == 0
    (tmp_path / "empty").mkdir()
    assert "no file that can be read" in run("certify", tmp_path / "empty").err


def test_epochs_are_units_and_the_logs_own_figure_is_named(tmp_path):
    log = inspect_log(lambda k: "C", n=1)
    log["samples"] = [
        {"id": k, "epoch": epoch, "input": f"{k}", "scores": {"match": {"value": "CCI"[epoch]}}}
        for k in range(20)
        for epoch in range(3)
    ]
    log["results"] = {"scores": [{"name": "match", "reducer": "mode", "metrics": {"accuracy": {"value": 1.0}}}]}
    log["eval"] = {"config": {"limit": 20}}
    (tmp_path / "log.json").write_text(json.dumps(log))
    report = certified(tmp_path / "log.json")
    assert report["mean_loss"].evidence.size == 20
    assert any("takes the mode of the epochs (accuracy 1)" in text for text in report.document["warnings"])
    assert any("limit = 20" in text for text in report.document["conditions"])
    (found,) = certiformer.compare(tmp_path / "log.json", report_other(tmp_path, log))
    assert found.unit == "group"


def report_other(folder, log):
    (folder / "other.json").write_text(json.dumps({**log, "samples": log["samples"][::-1]}))
    return folder / "other.json"


def zstandard_archive(path, log, library):
    """What inspect_ai writes: members of a zip archive, each a frame of zstd (method 93)."""
    eval_archive(path, log)
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, library.ZstdCompressor().compress(content))
    packed = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        places = [(info.header_offset, contents[info.filename]) for info in archive.infolist()]
        directory = archive.start_dir
    for offset, content in places:
        packed[offset + 8 : offset + 10] = (93).to_bytes(2, "little")
        packed[directory + 10 : directory + 12] = (93).to_bytes(2, "little")
        packed[directory + 16 : directory + 20] = zlib.crc32(content).to_bytes(4, "little")
        packed[directory + 24 : directory + 28] = len(content).to_bytes(4, "little")
        directory += 46 + sum(int.from_bytes(packed[directory + k : directory + k + 2], "little") for k in (28, 30, 32))
    path.write_bytes(bytes(packed))
    return path


def test_logs_packed_with_zstd(tmp_path, monkeypatch):
    log = inspect_log(lambda k: "IC"[k % 10 != 0], n=60)
    same = SimpleNamespace(ZstdCompressor=lambda: SimpleNamespace(compress=lambda content: content))
    path = zstandard_archive(tmp_path / "log.eval", log, same)
    real = importlib.import_module

    def absent(name, *more):
        if name in ("compression.zstd", "zstandard", "backports.zstd"):
            raise ImportError(name)
        return real(name, *more)

    if importlib.util.find_spec("compression") is not None:  # from Python 3.14 on its zipfile reads them
        with pytest.raises(InputError, match="is broken"):
            certified(path)
        zstd = importlib.import_module("compression.zstd")
        library = SimpleNamespace(ZstdCompressor=lambda: SimpleNamespace(compress=zstd.compress))
    else:
        monkeypatch.setattr(importlib, "import_module", absent)
        with pytest.raises(InputError, match=r"pip install 'certiformer\[files\]'.*--output-dir"):
            certified(path)
        monkeypatch.undo()
        monkeypatch.setattr(files, "_zstandard", lambda path: lambda packed, size: packed)
        assert certified(path)["holdout"].evidence.errors == 6
        monkeypatch.undo()
        library = pytest.importorskip("zstandard")
    assert certified(zstandard_archive(tmp_path / "z.eval", log, library))["holdout"].evidence.errors == 6


# What people have


def test_pairs_rows_frames_and_pipelines():
    truth = np.where(np.arange(N) % 2, "spam", "ham")
    answer = np.where(WRONG, "spam", truth)
    errors = int(np.sum(answer != truth))
    pipeline = [{"label": name, "score": 0.5 + k / 1000} for k, name in enumerate(answer.tolist())]
    for given in (
        (truth, answer),
        (truth.tolist(), answer.tolist()),
        {"y_true": truth, "y_pred": answer},
        {"labels": truth, "predictions": answer},
        Frame(label=truth, pred=answer),
        [{"label": a, "prediction": b} for a, b in zip(truth.tolist(), answer.tolist(), strict=True)],
        (truth, pipeline),
    ):
        assert certified(given)["holdout"].evidence.errors == errors
    assert certiformer.select((truth, pipeline), error=0.4).selection.answered > 0
    with pytest.raises(InputError, match="one label per example"):
        certified((np.eye(3), np.eye(3)))
    with pytest.raises(InputError, match="a data frame"):
        certified(3)
    with pytest.raises(InputError, match="may be a confidence"):
        certified(pipeline)


class NAType:
    """What stands for a missing value in a data frame."""

    def __bool__(self):
        raise TypeError("boolean value of NA is ambiguous")


def test_missing_values_of_frames_are_not_names():
    labels = np.array(["a", "b"] * 30, dtype=object)
    labels[7] = NAType()
    with pytest.raises(InputError, match="Row 8 of data frame"):
        certified(Frame(label=labels, pred=["a", "b"] * 30))
    masked = np.ma.masked_array(np.ones(40), mask=np.arange(40) == 3)
    with pytest.raises(InputError, match="row 4"):
        certified({"heldout_correct": masked})
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({"label": ["a", "b"] * 30, "pred": ["a"] * 60})
    assert certified(table)["holdout"].evidence.errors == 30


def test_truths_beside_zeros_and_ones(tmp_path):
    rows = [(str(k % 2 == 0), int(k % 2 == 0) if k > 3 else 1) for k in range(60)]
    report = certified(write_csv(tmp_path / "t.csv", ("label", "prediction"), rows))
    assert report["holdout"].evidence.errors == 2


def test_labels_cost_memory_by_their_number(tmp_path):
    """One class id of 3e8 took 9 GB."""
    code = (
        "import resource, numpy as np, certiformer\n"
        "resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))\n"
        "y = np.arange(400) % 2; y[7] = 300_000_000\n"
        "print(certiformer.certify(predictions={'heldout_labels': y, 'heldout_predictions': y}).headline)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert "errs on at most" in done.stdout, done.stderr


def test_only_a_folder_makes_slices_of_its_files(tmp_path):
    path = write_csv(tmp_path / "t.csv", ("id", "correct", "file"), [(k, 1, f"f{k % 2}") for k in range(60)])
    assert certiformer.Sample.of(path).slices is None
    path = write_csv(tmp_path / "u.csv", ("Label", "label", "pred"), [(0, 1, 0)] * 30)
    with pytest.raises(InputError, match="--label Label or --label label"):
        certified(path)


def test_control_characters_are_made_visible(tmp_path, run):
    names = ["\x1b[31mred", "plain\x07"]
    rows = [(k, 1, names[k % 2]) for k in range(60)]
    path = write_csv(tmp_path / "t.csv", ("id", "correct", "part"), rows)
    told = run("certify", path, "--slice", "part", "--all", "--out", tmp_path / "out").out
    assert "\x1b[31m" not in told
    assert "\\x1b" in told
    odd = write_csv(tmp_path / "odd.csv", ("score", "lo\x1b[31mss", "loss"), [(1, 1, 1)] * 20)
    refused = run("certify", odd, "--metric", "x")
    assert refused.code == 2
    assert "\x1b[31m" not in refused.err
    assert "\\x1b" in refused.err


# Options


BASE = {"heldout_labels": np.arange(60) % 2, "heldout_predictions": np.arange(60) % 2, "heldout_ids": np.arange(60)}
TABLE = {"id": np.arange(60), "label": np.arange(60) % 2, "pred": np.arange(60) % 2 * (np.arange(60) > 9)}
LOSSES = {"heldout_losses": np.tile([0.1, 0.9, 0.4], 20)}
FILTERED = [
    {**harness_line(k, right=filter == "a"), "filter": filter} for k in range(40) for filter in ("a", "b")
]  # fmt: skip
OPINIONS = {
    "id": np.arange(360),
    "human": ["" if k % 6 else ("wrong" if k % 9 else "right") for k in range(360)],
    "again": ["" if k % 6 else ("wrong" if k % 12 else "right") for k in range(360)],
    "judge": ["wrong" if k % 9 or not k % 7 else "right" for k in range(360)],
    "other": ["wrong" if k % 5 else "right" for k in range(360)],
}
ASKED = {"human": "human", "judge": "judge", "labelled": "random", "expect": 0.5, "correlation": 0.9}


def judging(**other):
    return {"judging": ASKED}, {"judging": {**ASKED, **other}}


CHANGES = {
    "metric": ({"f1": LOSSES["heldout_losses"], "acc": TABLE["label"]}, {"metric": "f1"}, {"metric": "acc"}),
    "label": ({**TABLE, "turned": 1 - TABLE["label"]}, {}, {"label": "turned"}),
    "prediction": ({**TABLE, "other": TABLE["label"]}, {}, {"prediction": "other"}),
    "confidence_column": ({**TABLE, "score": TABLE["label"]}, {"label": "label"}, {"confidence_column": "score"}),
    "id": ({**TABLE, "key": np.arange(60) // 2}, {}, {"id": "key", "repeats": "group"}),
    "group": ({**TABLE, "doc": np.arange(60) // 3}, {}, {"group": "doc"}),
    "slices": (TABLE, {}, {"slices": "label"}),
    "human": (OPINIONS, *judging(human="again")),
    "judge": (OPINIONS, *judging(judge="other")),
    "labelled": (OPINIONS, None, {"judging": ASKED}),
    "expect": (OPINIONS, *judging(expect=0.01)),
    "correlation": (OPINIONS, *judging(correlation=0.1)),
    "filter": (FILTERED, {"filter": "a"}, {"filter": "b"}),
    "unscored": ([{"correct": 1 if k else None} for k in range(40)], None, {"unscored": "wrong"}),
    "better": ({"passed": TABLE["pred"] == 1}, {"metric": "passed", "better": "lower"},
               {"metric": "passed", "better": "higher"}),
    "range": (LOSSES, {}, {"range": (0, 2)}),
    "clip": (LOSSES, {}, {"clip": 0.5}),
    "classes": (BASE, {}, {"classes": 5}),
    "outputs": ({"heldout_labels": BASE["heldout_labels"], "heldout_logits": LOSSES["heldout_losses"]}, None,
                {"outputs": "logits"}),
    "abstain": ({**BASE, "heldout_predictions": np.where(np.arange(60) > 3, BASE["heldout_labels"], -1)}, None,
                {"abstain": -1}),
    "repeats": ({**LOSSES, "heldout_inputs": np.arange(60) // 2}, {"repeats": "natural"}, {"repeats": "group"}),
    "estimand": ({**LOSSES, "heldout_groups": np.sqrt(np.arange(60)).astype(int)}, {},
                 {"estimand": "rows", "max_size": 20}),
    "population": (BASE, {}, {"population": "reviews"}),
    "max_size": ({**LOSSES, "heldout_groups": np.sqrt(np.arange(60)).astype(int)}, {"estimand": "rows", "max_size": 20},
                 {"estimand": "rows", "max_size": 40}),
    "order": (LOSSES, {}, {"order": "hash"}),
    "models": (BASE, {}, {"models": 7}),
    "two_sided": (BASE, {}, {"two_sided": True}),
    "seed": (BASE, {}, {"seed": 3}),
    "title": (BASE, {}, {"title": "mine"}),
}  # fmt: skip


def leaves(document):
    """What a report says, without what was declared itself."""
    kept = {name: value for name, value in document.items() if name != "provenance"}
    own = ("seed", "coding", "note", "unit")
    return json.dumps({**kept, **{name: document["provenance"].get(name) for name in own}}, sort_keys=True)


@pytest.mark.parametrize("name", [one.name for one in Declaration.options()])
def test_every_option_changes_the_report(name):
    given, before, after = CHANGES[name]
    if before is None:
        with pytest.raises(InputError):
            certified(given)
        certified(given, **after)
    elif name == "confidence_column":  # which only a selection reads
        first, second = (certiformer.certify(predictions=given, declaration=said) for said in (before, after))
        assert first["holdout"].value == second["holdout"].value
        assert certiformer.select(given, error=0.9, declaration=after).selection.n == 60
        with pytest.raises(InputError, match="confidences"):
            certiformer.select(given, error=0.9, declaration=before)
    else:
        assert leaves(certified(given, **before).document) != leaves(certified(given, **after).document)


@pytest.mark.parametrize(
    "said",
    [{"clip": 2.0}, {"range": (0, 2)}, {"better": "higher"}, {"estimand": "rows"}, {"order": "hash"},
     {"slices": "nope"}, {"unscored": "wrong"}, {"outputs": "logits"}, {"filter": "strict"}, {"max_size": 3}],
)  # fmt: skip
@pytest.mark.parametrize("given", [TABLE, BASE], ids=["table", "arrays"])
def test_an_option_that_changes_nothing_is_refused(given, said):
    with pytest.raises(CertiformerError):
        certified(given, **said)


WORDS = [
    {"doc_id": k, "doc": {"part": "ab"[k % 2]}, "filtered_resps": [], "metrics": ["word_perplexity"],
     "word_perplexity": [-1.0 * (20 + k % 13), 5 + k % 17]} for k in range(60)
]  # fmt: skip
OUTPUTS = {"heldout_labels": np.arange(60) % 2, "heldout_logits": np.random.default_rng(0).normal(size=(60, 2))}


@pytest.mark.parametrize(
    ("given", "said", "name"),
    [
        (WORDS, {"clip": 5.0, "better": "higher"}, "better"),
        (WORDS, {"classes": 99, "slices": "doc.part"}, "slices"),
        (LOSSES, {"classes": 5}, "classes"),
        (OUTPUTS, {"abstain": -1}, "abstain"),
    ],
)
def test_what_is_said_of_another_kind_of_outcome_is_refused(given, said, name):
    with pytest.raises(InputError, match=f"^{name}"):
        certified(given, **said)


@pytest.mark.parametrize(
    "said",
    [{"population": None}, {"models": "3"}, {"models": True}, {"models": 10**400}, {"clip": "x"}, {"seed": 1.5},
     {"seed": -1}, {"title": 3}, {"two_sided": 1}, {"classes": 2.5}, {"classes": "ham"}, {"metric": 3}],
)  # fmt: skip
def test_what_is_declared_has_its_kind(said):
    """A word for classes became its letters; others ended in tracebacks, also from a report that was changed."""
    (name,) = said
    with pytest.raises(InputError, match=name):
        certified(LOSSES, **said)


def test_numbers_of_numpy_are_declared():
    assert certified(BASE, models=np.int64(7)).value == certified(BASE, models=7).value


def test_a_clipped_log_loss_is_certified_for_each_slice():
    report = certified(WORDS, clip=5.0, slices="doc.part")
    assert report["mean_loss (slice a)"].evidence.size == 30


@pytest.mark.parametrize("verb", ["gate", "select", "compare", "watch"])
def test_a_verb_refuses_what_it_has_no_use_for(verb, run, tmp_path):
    table = {**TABLE, "confidence": np.linspace(0.1, 0.9, 60)}
    calls = {
        "gate": lambda said: certiformer.gate(table, error=0.3, declaration=said),
        "select": lambda said: certiformer.select(table, error=0.3, declaration=said),
        "compare": lambda said: certiformer.compare(table, table, declaration=said),
        "watch": lambda said: certiformer.watch(["0", "1"], declaration=said),
    }
    calls[verb]({})
    for said in ({"two_sided": True}, {"seed": 3}, {"population": "reviews"}, {"order": "hash"}, {"outputs": "logits"}):
        if verb == "compare" and "order" in said:
            continue  # pairs are bet on
        with pytest.raises(InputError, match=next(iter(said))):
            calls[verb](said)
    (tmp_path / "s.txt").write_text("0\n1\n")
    assert "No such option" in run(verb, "s.txt", "--seed", "3").err


def test_a_declaration_is_small_and_explained():
    found = dataclasses.fields(Declaration)
    assert len(found) <= 25
    assert all(one.metadata["says"].endswith(".") and one.metadata["group"] for one in found)
    said = Declaration(metric="f1", range=(0, 2), classes=["a", "b"], models=3)
    assert Declaration.from_json(json.loads(json.dumps(said.as_json()))) == said
    assert Declaration().as_json() == {}
    with pytest.raises(InputError, match="the name of a column"):
        Declaration(group=3)
    with pytest.raises(CertiformerError, match="did you mean models"):
        Declaration.of({"modles": 3})


def test_the_reference_page_is_made_from_the_declaration():
    page = (Path(__file__).parents[2] / "docs" / "sample.md").read_text(encoding="utf-8")
    assert options_table() in page
    assert metrics_table() in page


def options_table():
    lines = ["| field | option | what it says |", "|---|---|---|"]
    for group in GROUPS:
        lines.append(f"| **{group}** | | |")
        inside = [one for one in Declaration.options() if one.metadata["group"] == group]
        lines += [f"| `{one.name}` | `{Declaration.flag(one)}` | {one.metadata['says']} |" for one in inside]
    return "\n".join(lines)


def metrics_table():
    lines = ["| metric | better | what is certified |", "|---|---|---|"]
    by_metric = {}
    for name, metric in metrics.METRICS.items():
        by_metric.setdefault(metric, []).append(name)
    for metric, names in by_metric.items():
        top = f"{metric.high:g}" if metric.high is not None else ""
        said = f"the mean of {top} - metric" if metric.better == "higher" else "the mean"
        said += f", for metrics in [{metric.low:g}, {top}]"
        if metric.kind == "rate":
            said = "right or wrong: the error rate, by the exact binomial"
        elif metric.kind == "log":
            said = "the mean log-loss (bits for `bits_per_byte`), with `--clip` or `--classes`"
        elif metric.corpus:
            said = "nothing, where it is a part of a corpus figure; a number for each row with `--range`"
        elif metric.high is None:
            said = "the mean, with `--range` or `--clip`"
        lines.append(f"| {', '.join(f'`{name}`' for name in names)} | {metric.better} | {said} |")
    return "\n".join(lines)


# The package


def test_public_functions_are_found_and_small():
    verbs = {"audit", "bound", "certify", "compare", "compose", "demo", "explain", "inspect", "plan", "reproduce",
             "select", "verify", "watch"}  # fmt: skip
    assert verbs <= set(dir(certiformer))
    assert not {"Any", "annotations", "importlib", "overload"} & set(dir(certiformer))
    for name in dir(certiformer):
        thing = getattr(certiformer, name)
        if callable(thing) and not inspect.isclass(thing):
            assert len(inspect.signature(thing).parameters) <= 12, name


def test_confidence_is_one_minus_delta():
    given = {"heldout_correct": RIGHT}
    one = certiformer.certify(predictions=given, confidence=0.99)
    other = certiformer.certify(predictions=given, delta=0.01)
    assert one.document["delta"] == 0.01
    assert one["holdout"].value == other["holdout"].value
    with pytest.raises(InputError, match="one of the two"):
        certiformer.certify(predictions=given, delta=0.01, confidence=0.99)
    with pytest.raises(InputError, match=r"in \(0, 1\)"):
        certiformer.certify(predictions=given, confidence=99)


@pytest.mark.parametrize(
    ("name", "place"),
    [("models", "Declaration(models=...)"), ("params", "certify((apply, params)"), ("high", "range=(low, high)"),
     ("allow_twins", 'repeats="natural"'), ("retrain", "certiformer.demo"), ("columns", "Declaration(metric")],
)  # fmt: skip
def test_old_keywords_name_the_new_place(name, place):
    with pytest.raises(InputError) as refused:
        certiformer.certify(**{name: 3})
    assert place in str(refused.value)


def test_plans_end():
    """A bisection between numbers that were not whole never ended."""
    assert certiformer.plan(error=0.3, expect=0.2, power=0.5).n == 53
    assert certiformer.plan(error=0.3, expect=0.2, delta=0.1).power >= 0.8
    assert certiformer.plan(difference=0.02, discordance=0.04).n == 843


# The command line


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    from certiformer.cli import main

    monkeypatch.chdir(tmp_path)

    def command(*words):
        monkeypatch.setattr(sys, "argv", ["certiformer", *map(str, words)])
        with pytest.raises(SystemExit) as left:
            main()
        captured = capsys.readouterr()
        return SimpleNamespace(code=left.value.code or 0, out=captured.out, err=" ".join(captured.err.split()))

    return command


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("certify",), "the demo is certiformer demo"),
        (("certify", "absent.csv"), "no file or folder of this name"),
        (("certify", "absent.pt"), "no file or folder of this name"),
        (("certify", "absent.pkl", "--data", "x.npz"), "no file or folder of this name"),
        (("certify", "p.npz", "--slice", "nope"), "slices"),
        (("certify", "p.npz", "--json", "--csv"), "--json --csv"),
        (("plan", "--error", "0.1", "--csv", "--json"), "one form of output"),
        (("certify", "p.npz", "--only", "foo"), "Known: "),
        (("theorems", "nope"), "Known: "),
        (("reproduce", "nope"), "Known: "),
        (("train", "nope"), "unknown model 'nope'"),
        (("compare", "trauger.thm4.1", "li.thm5.3"), "inputs to evaluate them at"),
        (("certify", "p.npz", "--higher-is-better", "--lower-is-better"), "one of the two"),
        (("certify", "p.npz", "--confidence", "0.9", "--delta", "0.1"), "one of the two"),
        (("compare", "holdout", "occam", "--margin", "0.1"), "files of predictions"),
        (("compare", "p.npz", "p.npz", "--sweep", "n=1:2:3"), "results (ids)"),
        (("plan", "--error", "0.1", "--discordance", "0.2"), "--difference"),
    ],
)
def test_misuse_is_one_line_and_exit_code_2(run, tmp_path, words, message):
    np.savez(tmp_path / "p.npz", **BASE)
    done = run(*words)
    assert done.code == 2
    assert message in done.err


def test_the_state_of_a_watch_knows_what_one_means(run, tmp_path):
    (tmp_path / "s.txt").write_text("0\n" * 100)
    assert run("watch", "s.txt", "--state", "k.json").code == 0
    assert "was begun with" in run("watch", "s.txt", "--higher-is-better", "--state", "k.json").err


def test_an_open_quotation_mark_swallows_no_rows(tmp_path):
    path = tmp_path / "preds.csv"
    lines = [f"{k},{k % 2},{k % 2},note {k}" for k in range(20)]
    lines[3] = '3,1,1,"note 3'
    path.write_text("\n".join(["id,label,prediction,note", *lines]) + "\n")
    with pytest.raises(InputError, match=r"preds\.csv"):
        certiformer.Sample.of(path)


@pytest.mark.parametrize("missing", ["nan", "NaN", "<NA>", "NaT"])
def test_what_pandas_writes_for_nothing_is_no_answer_and_no_group(tmp_path, missing):
    path = tmp_path / "preds.csv"
    path.write_text(f"label,prediction,doc\ncat,cat,a\n{missing},{missing},b\ndog,cat,c\n")
    with pytest.raises(InputError, match=r"column label.*Row 2"):
        certiformer.Sample.of(path)
    path.write_text(f"label,prediction,doc\ncat,cat,a\ndog,dog,{missing}\ndog,cat,{missing}\ncat,cat,b\n")
    with pytest.raises(InputError, match=r"column doc.*Row 2"):
        certiformer.Sample.of(path, {"group": "doc"})
    path.write_text(f"correct\n1\n{missing}\n0\n")
    with pytest.raises(InputError, match="--unscored wrong"):
        certiformer.Sample.of(path)
    assert certiformer.Sample.of(path, {"unscored": "wrong"}).outcome().losses.tolist() == [0.0, 1.0, 1.0]


def test_a_log_that_lost_samples_is_refused(tmp_path):
    log = inspect_log(lambda k: "C", n=5, results={"total_samples": 5})
    assert certiformer.Sample.of(eval_archive(tmp_path / "whole.eval", log)).n == 5
    log["results"]["total_samples"] = 10
    with pytest.raises(InputError, match="5 of the 10"):
        certiformer.Sample.of(eval_archive(tmp_path / "cut.eval", log))


@pytest.mark.parametrize(("column", "words"), [("error", ()), ("grade", ("--metric", "grade", "--lower-is-better"))])
def test_grades_are_never_turned_round(tmp_path, run, column, words):
    """C is right: in a column called error, or with less better, a file of I alone read as no error at all."""
    write_csv(tmp_path / "g.csv", ("id", column), [(k, "I") for k in range(60)])
    told = run("certify", "g.csv", *words)
    assert told.code == 2
    assert "of which C is right" in told.err
    write_csv(tmp_path / "g.csv", ("id", "grade"), [(k, "I") for k in range(60)])
    assert "60 errors among 60" in run("certify", "g.csv", "--metric", "grade").out


@pytest.mark.parametrize("what", ["slices", "metrics"])
def test_the_work_is_linear_in_slices_and_metrics(what, tmp_path):
    """By calls of functions: twice as many more cost about twice as much; four times would be the square."""

    def calls(count):
        path = tmp_path / f"{count}.csv"
        if what == "slices":
            path.write_text("correct,part\n" + "".join(f"{row % 9 > 0:d},{row % count}\n" for row in range(2000)))
            declared = {"slices": "part"}
        else:
            names = [f"m{column}" for column in range(count)]
            lines = [",".join(str((row + column) % 9 / 8) for column in range(count)) for row in range(60)]
            path.write_text("\n".join([",".join(names), *lines]))
            declared = {"metric": tuple(names), "range": (0.0, 1.0), "better": "higher"}
        profile = cProfile.Profile()
        profile.runcall(lambda: certiformer.certify(predictions=path, declaration=declared).document)
        return pstats.Stats(profile).total_calls

    few = 5 if what == "metrics" else 20
    calls(few)  # what is imported late is there
    one, two, four = (calls(times * few) for times in (1, 2, 4))
    assert four - two <= 3 * (two - one)
