"""Files as people have them: tables, logs, arrays; and what is refused, with what to do about it."""

import csv
import json
import zipfile

import numpy as np
import pytest

import certiformer
from certiformer.certification.sources import rows as rows_module
from certiformer.certification.sources.repeats import as_text, plain
from certiformer.theory.core.errors import CertiformerError, InputError
from declaring import certified as certify

RANDOM = np.random.default_rng(0)
NAMES = np.array(["ham", "spam", "eggs"])
LABELS = RANDOM.integers(3, size=120)
PREDICTED = np.where(RANDOM.random(120) < 0.1, (LABELS + 1) % 3, LABELS)
ERRORS = int(np.sum(LABELS != PREDICTED))


def write_csv(path, header, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def write_lines(path, objects):
    path.write_text("".join(json.dumps(entry) + "\n" for entry in objects))
    return path


def same_table(folder):
    """The same answers in every format."""
    rows = [(k, NAMES[LABELS[k]], NAMES[PREDICTED[k]]) for k in range(120)]
    yield write_csv(folder / "a.csv", ("id", "Label", "pred"), rows)
    path = folder / "a.tsv"
    path.write_text("\n".join("\t".join(map(str, row)) for row in [("id", "label", "pred"), *rows]) + "\n")
    yield path
    yield write_lines(folder / "a.jsonl", ({"id": k, "label": a, "prediction": b} for k, a, b in rows))
    np.savez(folder / "a.npz", heldout_labels=NAMES[LABELS], heldout_predictions=NAMES[PREDICTED])
    yield folder / "a.npz"
    np.savez_compressed(folder / "b.npz", heldout_labels=LABELS + 1, heldout_predictions=PREDICTED + 1)
    yield folder / "b.npz"
    np.save(folder / "right.npy", LABELS == PREDICTED)
    yield folder / "right.npy"


def test_every_format_says_the_same(tmp_path):
    found = [certify(path)["holdout"].evidence for path in same_table(tmp_path)]
    assert {(record.errors, record.n) for record in found} == {(ERRORS, 120)}


def test_parquet(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = arrow.table({"id": np.arange(120), "label": NAMES[LABELS], "prediction": NAMES[PREDICTED]})
    parquet.write_table(table, tmp_path / "a.parquet")
    assert certify(tmp_path / "a.parquet")["holdout"].evidence.errors == ERRORS
    (tmp_path / "torn.parquet").write_bytes((tmp_path / "a.parquet").read_bytes()[:100])
    with pytest.raises(CertiformerError, match="cannot be read"):
        certify(tmp_path / "torn.parquet")


def harness_line(k, filter="strict-match", value=1.0, **more):
    return {
        "doc_id": k,
        "doc": {"q": f"{k}?", "subject": "abc"[k % 3]},
        "target": "4",
        "resps": [["4"]],
        "filtered_resps": ["4"],
        "filter": filter,
        "metrics": ["exact_match"],
        "doc_hash": f"a{k}",
        "prompt_hash": f"b{k}",
        "exact_match": value,
        **more,
    }


def test_lm_evaluation_harness(tmp_path):
    lines = [
        harness_line(k, filter, float(k % 10 != 0 or filter == "flexible-extract"))
        for k in range(50)
        for filter in ("strict-match", "flexible-extract")
    ]
    path = write_lines(tmp_path / "samples_gsm8k.jsonl", lines)
    with pytest.raises(CertiformerError, match="--filter: got"):
        certify(path)
    with pytest.raises(CertiformerError, match="did you mean strict-match"):
        certify(path, filter="strict")
    strict, loose = (certify(path, filter=name) for name in ("strict-match", "flexible-extract"))
    assert (strict["holdout"].evidence.errors, loose["holdout"].evidence.errors) == (5, 0)
    sliced = certify(path, filter="strict-match", slices="doc.subject")
    assert {row.evidence.label for row in sliced.statements if row.evidence} == {"", "slice a", "slice b", "slice c"}
    grouped = certify(path, filter="strict-match", group="doc.subject")
    assert grouped["mean_loss"].evidence.size == 3
    assert any("only 3 groups" in text for text in grouped.document["warnings"])
    old = [{k: v for k, v in line.items() if k not in ("filter", "metrics")} for line in lines]
    with pytest.raises(CertiformerError, match="50 of 100 rows repeat"):
        certify(write_lines(tmp_path / "old.jsonl", old))


@pytest.mark.parametrize(
    ("more", "choice", "message"),
    [
        ({"f1": [1, 0], "metrics": ["f1"]}, {}, "corpus figure"),
        ({"metrics": ["acc", "acc_norm"], "acc": 1.0, "acc_norm": 1.0}, {}, "one metric"),
        ({"metrics": ["perplexity"], "perplexity": 12.0}, {}, "ln p"),
        ({"metrics": ["ter"], "ter": 0.4}, {}, "the range that ter cannot leave"),
        ({"metrics": ["bleu"], "bleu": 31.0}, {}, "--metric bleu --range"),
        ({}, {"metric": ("exakt_match",)}, "did you mean exact_match"),
    ],
)
def test_what_the_harness_writes_but_no_bound_covers(tmp_path, more, choice, message):
    path = write_lines(tmp_path / "s.jsonl", (harness_line(k, **more) for k in range(20)))
    with pytest.raises(CertiformerError, match=message):
        certify(path, **choice)


def inspect_log(samples=40, epochs=1, **more):
    return {
        "version": 2,
        "status": "success",
        "eval": {"task": "sums", "model": "m"},
        "samples": [
            {
                "id": k,
                "epoch": epoch,
                "input": f"{k}+{k}?",
                "scores": {"match": {"value": "CIP"[(k % 10 == 0) + (k % 10 == 1) * 2]}},
                "metadata": {"doc": f"d{k // 2}"},
            }
            for k in range(samples)
            for epoch in range(1, epochs + 1)
        ],
        **more,
    }


def test_inspect_logs(tmp_path):
    path = tmp_path / "log.json"
    path.write_text(json.dumps(inspect_log()))
    with pytest.raises(CertiformerError, match="--metric match --range 0 1"):
        certify(path)  # some are partially correct
    report = certify(path, range=(0, 1))
    assert report["mean_loss"].evidence.observed == pytest.approx((4 + 4 * 0.5) / 40)
    assert "The mean of 1 - match of the model" in report.headline
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as archive:
        log = inspect_log()
        archive.writestr("header.json", json.dumps({k: v for k, v in log.items() if k != "samples"}))
        for sample in log["samples"]:
            archive.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
    assert certify(tmp_path / "log.eval", range=(0, 1))["mean_loss"].evidence.observed == pytest.approx(0.15)
    path.write_text(json.dumps(inspect_log(epochs=3)))
    assert certify(path, range=(0, 1))["mean_loss"].evidence.unit == "group"
    assert certify(path, group="doc", range=(0, 1))["mean_loss"].evidence.size == 20


def test_inspect_logs_that_are_selections(tmp_path):
    path = tmp_path / "log.json"
    path.write_text(json.dumps(inspect_log(status="error")))
    with pytest.raises(CertiformerError, match="did not finish"):
        certify(path)
    log = inspect_log()
    log["samples"][3]["scores"] = {}
    path.write_text(json.dumps(log))
    with pytest.raises(CertiformerError, match="--unscored wrong"):
        certify(path)
    assert certify(path, unscored="wrong", range=(0, 1))["mean_loss"].evidence.observed == pytest.approx(0.175)
    log["samples"][3]["scores"] = {"match": {"value": {"a": 1, "b": 0}}}
    path.write_text(json.dumps(log))
    with pytest.raises(CertiformerError, match=r"--metric match or --metric match\.a or --metric match\.b"):
        certify(path)


@pytest.mark.parametrize(
    ("header", "row", "options", "message"),
    [
        (("a", "b"), ("1", "2"), {}, "Name them: --label"),
        (("label", "labels", "pred"), ("1", "1", "1"), {}, "Choose with --label"),
        (("label", "pred", "y_pred"), ("1", "1", "1"), {}, "Choose with --prediction"),
        (("label", "pred"), ("1", ""), {}, "Row 1 of"),
        (("label", "pred"), ("1", "1"), {"label": "lable"}, "did you mean label"),
        (("loss",), ("2.5",), {}, r"--range LOW HIGH"),
        (("loss",), ("x",), {}, "a number"),
        (("score", "loss"), ("1", "0"), {}, "--metric score or --metric loss"),
    ],
)
def test_tables_that_leave_something_open(tmp_path, header, row, options, message):
    path = write_csv(tmp_path / "t.csv", header, [row] * 20)
    with pytest.raises(CertiformerError, match=message):
        certify(path, **options)


def test_tables_of_losses(tmp_path):
    losses = RANDOM.beta(0.5, 3, size=80)
    path = write_csv(
        tmp_path / "t.csv", ("id", "loss", "other", "doc"), [(k, x, x / 2, k // 4) for k, x in enumerate(losses)]
    )
    report = certify(path, two_sided=True)
    row = report["mean_loss"]
    assert row.lower < losses.mean() < row.value
    assert [entry["lower"] for entry in report.document["statements"] if entry["lower"] is not None] == [row.lower]
    assert any("--group doc" in text for text in report.document["not_checked"])
    both = certify(path, metric=("loss", "other"), better="lower", range=(0, 1))
    assert both["mean_loss (other)"].value < both["mean_loss (loss)"].value
    assert sum(both.document["shares"].values()) == pytest.approx(0.05)
    assert certify(path, group="doc")["mean_loss"].evidence.size == 20
    assert certify(path, group="doc", estimand="rows", max_size=4)["mean_loss"].evidence.of.startswith("rows")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.text", b"hello", "unknown kind of file"),
        ("a.npz", b"hello", "It is not one"),
        ("a.npz", b"\x80\x04]", "pickled objects"),
        ("a.jsonl", b"{bad\n", "Line 1"),
        ("a.jsonl", b"[1]\n", "an object on every line"),
        ("a.json", b"{}", "inspect_ai"),
        ("a.csv", b"", "header"),
        ("a.csv", b"a,b\n1\n", "Line 2 has 1"),
        ("a.csv", b"\xff\xfe\x00", "cannot be read"),
        ("a.npy", b"junk", "numpy.save"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CertiformerError, match=message):
        certiformer.Sample.of(tmp_path / name)


def test_arrays_are_read_in_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(rows_module, "BLOCK_BYTES", 1000)
    logits = RANDOM.normal(size=(500, 3)) + 3 * np.eye(3)[np.arange(500) % 3]
    given = {"heldout_logits": logits, "heldout_labels": np.arange(500) % 3}
    expected = certiformer.certify(predictions=given)
    np.savez(tmp_path / "stored.npz", **given)
    np.savez_compressed(tmp_path / "packed.npz", **given)
    np.savez(tmp_path / "columns.npz", heldout_logits=np.asfortranarray(logits), heldout_labels=given["heldout_labels"])
    for name in ("stored", "packed", "columns"):
        found = certify(tmp_path / f"{name}.npz")
        assert found["holdout"].value == expected["holdout"].value
        assert found["betting"].value == expected["betting"].value


def test_whole_numbers_in_a_table_are_numbers(tmp_path):
    """3 and 3.0 are one class, -1 an abstention; 007 is a name."""
    write_csv(tmp_path / "a.csv", ["label", "pred"], zip(LABELS, [f"{k}.0" for k in PREDICTED], strict=True))
    assert certify(tmp_path / "a.csv")["holdout"].evidence.errors == ERRORS
    gaps = np.where(np.arange(120) < 5, -1, LABELS)
    write_csv(tmp_path / "b.csv", ["label", "pred"], zip(LABELS, gaps, strict=True))
    with pytest.raises(CertiformerError, match="--abstain -1"):
        certify(tmp_path / "b.csv")
    assert certify(tmp_path / "b.csv", abstain=-1)["holdout"].evidence.errors == 5
    write_csv(tmp_path / "c.csv", ["label", "pred"], zip([f"0{k}" for k in LABELS], LABELS, strict=True))
    with pytest.raises(CertiformerError, match="same names"):
        certify(tmp_path / "c.csv")


def perplexities(tmp_path, **change):
    pair = {"word_perplexity": [-30.0, 20], "bits_per_byte": [-30.0, 90], "perplexity": -3.0}
    samples = [
        {"doc_id": k, "doc": {}, "resps": [], "doc_hash": f"h{k}", "metrics": list(pair), **pair} for k in range(40)
    ]
    samples[3] |= change
    return write_lines(tmp_path / "samples_wikitext.jsonl", samples)


def test_perplexities_of_the_harness(tmp_path):
    path = perplexities(tmp_path, word_perplexity=[-60.0, 60])
    words = certify(path, metric=("word_perplexity",), clip=5.0)["mean_loss"]
    assert words.evidence.observed == pytest.approx((39 * 1.5 + 1.0) / 40)
    corpus = certify(path, metric=("word_perplexity",), clip=5.0, estimand="rows", max_size=100)
    assert corpus["mean_loss"].evidence.observed == pytest.approx((39 * 30 + 60) / (39 * 20 + 60))
    assert corpus.warnings == ()
    assert "log-loss per word of the model over new words (at most 100 in an example)" in corpus.headline
    parts = certify(path, metric=("bits_per_byte",), classes=256, estimand="rows", max_size=100)
    assert "bits per byte of the smoothed predictor over new bytes" in parts.headline
    assert "perplexity" not in parts.headline
    with pytest.raises(CertiformerError, match="a log-loss alone"):
        certify(path, metric=("word_perplexity", "bits_per_byte"), clip=9.0, estimand="rows", max_size=100)
    bits = certify(path, metric=("bits_per_byte",), classes=256)
    assert "the log's own figure weighs documents by their length" in " ".join(bits.warnings)
    assert "The mean bits per byte of the smoothed predictor" in bits.headline
    assert bits["mean_loss"].evidence.observed == pytest.approx((30 / 90 - np.log(0.99)) / np.log(2))
    tokens = certify(path, metric=("word_perplexity",), classes=50_000, estimand="rows", max_size=100)
    assert "a perplexity of at most" in tokens.headline
    assert certify(path, metric=("perplexity",), clip=9.0)["mean_loss"].evidence.observed == pytest.approx(3.0)


@pytest.mark.parametrize("odd", [[-30.0], [3.0, 20], [-3.0, 0], 1.0, None])
def test_pairs_that_are_no_perplexity(tmp_path, odd):
    with pytest.raises(CertiformerError, match=r"word_perplexity|ln p"):
        certify(perplexities(tmp_path, word_perplexity=odd), metric=("word_perplexity",), clip=5.0)


@pytest.mark.parametrize("line", ['{"a": 1} {"a": 2}', '{"a": 1, "a": 1}', '{"a": 1', "[1]", '{"a": 1},', "\ufeff{}"])
def test_a_line_that_is_no_object_is_named(tmp_path, line):
    (tmp_path / "x.jsonl").write_text('\n  {"correct": 1}  \n\n' + line + '\n{"correct": 0}\n')
    with pytest.raises(InputError, match="Line 4"):
        certiformer.certify(predictions=tmp_path / "x.jsonl")


@pytest.mark.parametrize(
    "values",
    [["3", " 3.0 ", "03", "3.50", ".", "-0.0", "1e3", "x.0"], [3, -1], [3.0, 0.5], [True, False], [b"3", b"x"]],
)
def test_ids_are_written_in_one_way(values):
    assert as_text(np.array(values)) == [str(plain(value)) for value in np.array(values).tolist()]


def test_logs_of_different_tasks_are_not_compared(tmp_path):
    files = {}
    for name in ("arc", "boolq"):
        rows = [{"doc_id": k, "resps": [], "doc_hash": f"{name} {k}", "acc": float(k % 5 > 0)} for k in range(60)]
        files[name] = tmp_path / f"samples_{name}.jsonl"
        files[name].write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(InputError, match=r"60 items .* another content"):
        certiformer.compare(files["arc"], files["boolq"])
    assert certiformer.compare(files["arc"], files["arc"]).value is not None


def test_a_score_beside_truth_and_answers_is_asked_about(tmp_path):
    table = tmp_path / "answers.csv"
    table.write_text("truth,model_output,score\n" + "a,a,0.5\nb,a,0.7\n" * 60)
    with pytest.raises(InputError, match="--label truth --prediction model_output or --metric score"):
        certiformer.certify(predictions=table)
