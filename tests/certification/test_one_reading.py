"""What was counted and what is said are one: of groups, of rows of groups, of clipped losses, of what was declared."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import certiformer
from certiformer.certificates.holdout import HoldOut
from certiformer.lab.procedures import PickToLearn
from certiformer.theory.core.errors import InputError


def table(path, **columns):
    rows = zip(*columns.values(), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]), encoding="utf-8")
    return path


def log(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


@pytest.fixture
def grouped(tmp_path):
    """Sixty groups of one row, all right, and twenty of twenty rows, half of them wrong: 12.5 %, or 43 % of rows."""
    groups = np.repeat(np.arange(80), [1] * 60 + [20] * 20)
    wrong = np.where(groups >= 60, np.arange(len(groups)) % 2, 0)
    other = np.where(groups >= 60, 1 - wrong, 1)  # nearly alike on rows, much worse on groups
    return tuple(
        table(tmp_path / f"{name}.csv", id=range(len(groups)), doc=groups, correct=1 - errors)
        for name, errors in (("a", wrong), ("b", other))
    )


ROWS = {"group": "doc", "estimand": "rows", "max_size": 20}


def test_a_gate_names_the_mean_that_it_is_about(grouped):
    """The mean over groups is 12.5 %: "above 28 %" is true of the mean over rows alone."""
    first, second = grouped
    of_rows = certiformer.gate(first, error=0.28, declaration=ROWS)
    of_groups = certiformer.gate(first, error=0.28, declaration={"group": "doc"})
    assert of_rows.headline.startswith("FAIL: the error rate of the model, a mean over rows, is above 28 %")
    assert "the rows of 80 groups" in of_rows.basis
    assert of_groups.headline.startswith("PASS: the error rate of the model, a mean over groups, is at most 28 %")
    against = {
        name: certiformer.gate(second, against=first, margin=0.5, declaration=declared).headline
        for name, declared in (("rows", ROWS), ("groups", {"group": "doc"}))
    }
    assert against["rows"].startswith("PASS: the error rate over rows is at most")
    assert against["groups"].startswith("FAIL: the error rate over groups is more than")
    for name, declared in (("rows", ROWS), ("groups", {"group": "doc"})):
        (one,) = certiformer.compare(first, second, declaration=declared)
        assert one.over == name
        report = certiformer.compare(first, second, declaration=declared)
        assert f"error rate over {name} of a.csv minus that of b.csv is between" in report.headline


def words(path, scale):
    """Documents of 5 and of 1,000 words; the long ones have most of the loss."""
    return log(
        path,
        [
            {
                "doc_id": number, "doc_hash": f"d{number}", "filtered_resps": [], "metrics": ["word_perplexity"],
                "word_perplexity": [-scale[number % 2] * (5, 1000)[number % 2], (5, 1000)[number % 2]],
            }
            for number in range(60)
        ],
    )  # fmt: skip


def test_a_comparison_weighs_and_cuts_as_it_says(tmp_path):
    """One model is better on short documents, the other on long ones, which have nearly all words."""
    short, long = words(tmp_path / "a.jsonl", (0.2, 1.5)), words(tmp_path / "b.jsonl", (4.0, 0.5))
    (documents,) = certiformer.compare(short, long, declaration={"clip": 5.0})
    tokens = {"clip": 5.0, "estimand": "rows", "max_size": 1000}
    (by_words,) = certiformer.compare(short, long, declaration=tokens)
    assert documents.verdict == "a.jsonl is better"
    assert by_words.verdict == "b.jsonl is better"
    assert (documents.over, by_words.over) == ("", "words")
    assert documents.what == "clipped log-loss per word"
    said = certiformer.compare(short, long, declaration=tokens).headline
    assert "mean clipped log-loss per word over words" in said
    assert certiformer.gate(long, against=short, margin=0.1, declaration=tokens).verdict == "pass"
    assert certiformer.gate(long, against=short, margin=0.1, declaration={"clip": 5.0}).verdict == "fail"
    state = tmp_path / "state.json"  # documents have one weight each: nobody asked for words
    assert certiformer.gate(long, error=4.0, anytime=state, declaration={"clip": 5.0}).verdict == "pass"


def test_a_range_that_nobody_proved_is_a_condition(tmp_path):
    losses = np.linspace(0.1, 0.5, 60)[np.random.default_rng(0).permutation(60)]
    first = table(tmp_path / "a.csv", id=range(60), loss=losses)
    second = table(tmp_path / "b.csv", id=range(60), loss=losses / 2)
    said = "every loss lies in [0, 1], not only the losses seen here"
    assert said in certiformer.gate(first, error=0.6).conditions
    assert said in certiformer.gate(first, error=0.6, anytime=tmp_path / "state.json").conditions
    assert said in certiformer.gate(second, against=first, margin=0.3).conditions
    assert said in certiformer.compare(first, second).conditions
    assert said in certiformer.certify(predictions=first).conditions


def test_a_clipped_loss_may_lie_above_its_clip(tmp_path):
    losses = np.linspace(0.1, 5.0, 60)[np.random.default_rng(0).permutation(60)]
    first = table(tmp_path / "a.csv", id=range(60), loss=losses)
    second = table(tmp_path / "b.csv", id=range(60), loss=losses / 2)
    clip = {"clip": 2.0}
    said = "no loss lies below 0, not only of those seen here; what lies above 2 counts as 2"
    for report in (
        certiformer.certify(predictions=first, declaration=clip),
        certiformer.gate(first, error=0.6, declaration=clip),
        certiformer.gate(first, error=0.6, anytime=tmp_path / "state.json", declaration=clip),
        certiformer.gate(second, against=first, margin=0.3, declaration=clip),
        certiformer.compare(first, second, declaration=clip),
    ):
        assert said in report.conditions
        assert not any("every loss lies in" in one for one in report.conditions)
    below = table(tmp_path / "c.csv", id=range(60), loss=losses - 1.0)
    for verb in (
        lambda: certiformer.certify(predictions=below, declaration=clip),
        lambda: certiformer.gate(below, error=0.6, declaration=clip),
        lambda: certiformer.gate(below, error=0.6, anytime=tmp_path / "other.json", declaration=clip),
        lambda: certiformer.gate(below, against=first, margin=0.3, declaration=clip),
        lambda: certiformer.compare(first, below, declaration=clip),
    ):
        with pytest.raises(InputError, match="A clip cuts off above only"):
            verb()


def test_groups_have_the_name_of_the_population(grouped):
    for declared, words_ in (({"group": "doc"}, "groups of reviews"), (ROWS, "reviews (at most 20 in a group)")):
        report = certiformer.certify(predictions=grouped[0], declaration={**declared, "population": "reviews"})
        assert f"over new {words_}" in report.headline


def test_what_a_way_to_certify_does_not_read_is_refused():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(60, 2))
    train = x, (x[:, 0] > 0).astype(int)
    learner = LogisticRegression(random_state=0)
    for declared in ({"models": 30}, {"two_sided": True}, {"population": "reviews"}, {"clip": 0.5}):
        (name,) = declared
        with pytest.raises(InputError, match=name):
            certiformer.certify(learner, train=train, by=[PickToLearn()], declaration=declared)
        with pytest.raises(InputError, match=name):
            certiformer.certify(evidence=HoldOut(errors=3, n=200), declaration=declared)


@pytest.mark.parametrize(
    ("declared", "name"),
    [
        ({"metric": ["acc"], "label": "label"}, "label"),
        ({"metric": ["acc"], "prediction": "prediction"}, "prediction"),
        ({"metric": ["acc", "f1"], "better": "lower"}, "better"),
        ({"label": "label", "prediction": "prediction", "abstain": 1}, "abstain"),
    ],
)
def test_what_a_table_does_not_need_is_refused(tmp_path, declared, name):
    rows = range(40)
    given = table(
        tmp_path / "t.csv", id=rows, acc=[int(row % 9 > 0) for row in rows], f1=[0.5] * 40,
        label=[row % 2 for row in rows], prediction=[row % 2 for row in rows],
    )  # fmt: skip
    with pytest.raises(InputError, match=name):
        certiformer.certify(predictions=given, declaration=declared)


def test_an_array_is_what_it_is_called():
    given = {"heldout_labels": np.arange(40) % 2, "heldout_logits": np.random.default_rng(0).normal(size=(40, 2))}
    assert certiformer.certify(predictions=given, declaration={"outputs": "logits"}).value
    with pytest.raises(InputError, match="outputs"):
        certiformer.certify(predictions=given, declaration={"outputs": "labels"})
    losses = np.linspace(0, 0.9, 40)
    with pytest.raises(InputError, match="the range that mae cannot leave"):
        certiformer.certify(predictions={"heldout_losses_mae": losses, "heldout_ids": np.arange(40)})


def test_what_may_be_a_missing_label_is_asked_about(tmp_path):
    answers = ["NA", "ham", "spam"] * 20
    given = table(tmp_path / "t.csv", id=range(60), label=answers, prediction=answers)
    with pytest.raises(InputError, match="--classes A,B,NA"):
        certiformer.certify(predictions=given)
    named = certiformer.certify(predictions=given, declaration={"classes": ("ham", "spam", "NA")})
    assert named["holdout"].evidence.errors == 0
    left_out = table(tmp_path / "u.csv", id=range(60), label=["ham", "ham", "spam"] * 20, prediction=answers)
    with pytest.raises(InputError, match="--abstain NA"):
        certiformer.certify(predictions=left_out)
    assert certiformer.certify(predictions=left_out, declaration={"abstain": "NA"})["holdout"].evidence.errors == 20


@pytest.mark.parametrize(
    ("label", "answer"),
    [
        ("07", "7"), ("\u00e9", "e\u0301"), ("not spam", "not_spam"), ("Not-Spam", "not spam"),
        ("\u0667", "7"), ("0" + "9" * 5000, "9" * 5000),
    ],
)  # fmt: skip
def test_one_class_in_two_spellings_is_asked_about(tmp_path, label, answer):
    given = table(tmp_path / "t.csv", label=[label, "x"] * 20, prediction=[answer, "x"] * 20)
    with pytest.raises(InputError, match="one spelling for both"):
        certiformer.certify(predictions=given)


def test_a_number_beyond_all_floats_is_no_class(tmp_path):
    given = table(tmp_path / "t.csv", label=[0, 1] * 20, prediction=[0, 1] * 19 + [0, "1e999"])
    with pytest.raises(InputError, match="1e999"):
        certiformer.certify(predictions=given)


def test_a_column_without_a_value_is_no_outcome(tmp_path):
    rows = [{"id": row, "label": row % 2, "prediction": row % 2, "error": None} for row in range(40)]
    assert certiformer.certify(predictions=log(tmp_path / "t.jsonl", rows))["holdout"].evidence.errors == 0


@pytest.mark.parametrize("name", ["question_id", "patient_id", "session_id", "task"])
def test_names_that_repeat_may_be_groups(tmp_path, name):
    columns = {"id": range(100), name: [row % 20 for row in range(100)], "correct": [1] * 100}
    report = certiformer.certify(predictions=table(tmp_path / "t.csv", **columns))
    assert report.not_checked[0] == f"whether rows of one {name} are independent: say --group {name} if they are not"


# --- logs of runs -----------------------------------------------------------------------------------------------------


def inspect_log(path, model, task="arc", config=None, void=()):
    samples = [
        {
            "id": row, "epoch": 1, "input": f"{task} {row}",
            "scores": {"match": {"value": "CI"[row % 9 == 0]}},
            **({"invalidation": {"reason": "a broken tool"}} if row in void else {}),
        }
        for row in range(40)
    ]  # fmt: skip
    document = {
        "status": "success", "eval": {"model": model, "task": task, "config": config or {}},
        "results": {"total_samples": 40}, "samples": samples,
    }  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_a_folder_of_logs_is_of_one_model(tmp_path):
    inspect_log(tmp_path / "one" / "a.json", "openai/gpt", "arc")
    inspect_log(tmp_path / "one" / "b.json", "openai/gpt", "gsm")
    report = certiformer.certify(predictions=tmp_path / "one")
    assert report["holdout"].evidence.n == 80
    assert any("the 2 files are of one model" in text for text in report.conditions)
    inspect_log(tmp_path / "one" / "c.json", "meta/llama", "mmlu")
    with pytest.raises(InputError, match="meta/llama, openai/gpt"):
        certiformer.certify(predictions=tmp_path / "one")


def test_columns_of_some_tables_of_a_folder_are_named(tmp_path):
    folder = tmp_path / "days"
    folder.mkdir()
    table(folder / "monday.csv", correct=[1] * 40, doc=[row // 2 for row in range(40)])
    table(folder / "tuesday.csv", correct=[1] * 40)
    report = certiformer.certify(predictions=folder)
    assert report["holdout"].evidence.n == 80
    assert "doc is only in monday: not part of this table" in report.warnings
    table(folder / "tuesday.csv", error=[0] * 40)
    with pytest.raises(InputError, match="correct: monday; doc: monday; error: tuesday"):
        certiformer.certify(predictions=folder)


def test_samples_that_somebody_chose_or_declared_invalid(tmp_path):
    chosen = inspect_log(tmp_path / "a.json", "m", config={"sample_id": list(range(40))})
    assert any("that sample_id chose" in text for text in certiformer.certify(predictions=chosen).conditions)
    void = inspect_log(tmp_path / "b.json", "m", void=(1, 2))
    with pytest.raises(InputError, match="--unscored wrong"):
        certiformer.certify(predictions=void)
    counted = certiformer.certify(predictions=void, declaration={"unscored": "wrong"})
    assert counted["holdout"].evidence.errors == 5 + 2


# --- one meaning in every format --------------------------------------------------------------------------------------


def test_numbers_of_groups_are_the_same_groups_in_every_format(tmp_path):
    """A column of whole numbers with a gap somewhere else becomes one of floats on its way."""
    wrong = [int(row % 7 == 0) for row in range(90)]
    found = [
        certiformer.certify(
            predictions={"id": np.arange(90), "doc": np.arange(90) // 3 * unit, "correct": 1 - np.array(wrong)},
            declaration={"group": "doc"},
        ).value
        for unit in (1, 1.0)
    ]
    assert found[0] == found[1]
    state = tmp_path / "state.json"
    for unit in (1, 1.0):
        given = {"doc": np.arange(90) // 3 * unit, "correct": 1 - np.array(wrong)}
        report = certiformer.gate(given, error=0.4, anytime=state, declaration={"group": "doc"})
    assert "0 outcomes were new" in report.summary


def test_an_infinite_loss_is_cut_in_every_format(tmp_path):
    losses = [float("inf"), *[0.25] * 39]
    rows = log(tmp_path / "t.jsonl", [{"id": row, "loss": loss} for row, loss in enumerate(losses)])
    text = table(tmp_path / "t.csv", id=range(40), loss=losses)
    values = {certiformer.certify(predictions=given, declaration={"clip": 1.0}).value for given in (rows, text)}
    assert len(values) == 1
    with pytest.raises(InputError, match="inf"):
        certiformer.certify(predictions=text)


# --- one sentence wherever it stands ----------------------------------------------------------------------------------


def test_the_badge_names_what_is_limited(grouped, tmp_path):
    f1 = table(tmp_path / "f1.csv", id=range(60), f1=[0.5 + row % 2 / 2 for row in range(60)])
    cases = (
        (grouped[0], {"group": "doc"}, "mean error rate over groups <= "),
        (grouped[0], ROWS, "mean error rate over rows <= "),
        (f1, {"metric": ["f1"]}, "mean of 1 - f1 over examples <= "),
    )
    for given, declared, words_ in cases:
        report = certiformer.certify(predictions=given, declaration=declared)
        report.write(tmp_path / "out")
        assert words_ in (tmp_path / "out" / "badge.svg").read_text().replace("&lt;", "<")
        assert report.headline in (tmp_path / "out" / "model-card.md").read_text()
    report = certiformer.certify(predictions={"heldout_correct": np.ones(60)}, declaration={"population": "reviews"})
    assert report.statements[0].quantity == "error rate on new reviews"


def test_nothing_that_was_declared_or_found_is_rounded_to_more(tmp_path):
    """1 - 1e-15 is no certainty, a threshold of 1.2345678 % no smaller one, and another threshold answers others."""
    first, second = (
        table(
            tmp_path / name, id=range(300), correct=[int(row % odd > 0) for row in range(300)],
            confidence=[0.9 + (row % odd > 0) * (0.05 + row * 1.234567e-9) for row in range(300)],
        )
        for name, odd in (("a.csv", 5), ("b.csv", 3))
    )  # fmt: skip
    for delta in (1e-15, 1e-9):
        report = certiformer.certify(predictions={"heldout_correct": np.ones(5000)}, delta=delta)
        report.write(tmp_path / "out")
        found = (
            certiformer.compare(first, second, delta=delta).report,
            certiformer.select(first, error=0.5, delta=delta).report,
            certiformer.gate(first, error=0.9, delta=delta),
        )
        for one in found:
            assert "100 %" not in one.headline
            assert all(statement.confidence < 1.0 for statement in one.statements)
        assert "(100 %)" not in (tmp_path / "out" / "badge.svg").read_text()
    gate = certiformer.gate(first, error=0.312345678)
    assert "at most 31.2345678 %" in gate.headline
    chosen = certiformer.select(first, error=0.1)
    assert (
        f">= {chosen.selection.threshold!r}:" in chosen.headline
        or f"> {chosen.selection.threshold!r}:" in chosen.headline
    )


def test_rows_that_count_as_wrong_without_an_answer_are_said(tmp_path):
    """Most of these errors are rows that nobody scored, or that the model did not answer."""
    empty = ["" if row % 5 == 0 else int(row % 11 > 0) for row in range(100)]
    unscored = table(tmp_path / "u.csv", id=range(100), correct=empty)
    answers = [-1 if row % 5 == 0 else row % 2 for row in range(100)]
    abstained = table(tmp_path / "a.csv", id=range(100), label=[row % 2 for row in range(100)], prediction=answers)
    cases = (
        (unscored, {"unscored": "wrong"}, "20 of 100 rows have no correct and count as wrong"),
        (abstained, {"abstain": -1}, "20 abstentions counted as errors"),
    )
    for given, declared, words_ in cases:
        gate = certiformer.gate(given, error=0.05, declaration=declared)
        assert gate.verdict == "fail"
        report = certiformer.certify(predictions=given, declaration=declared)
        for one in (gate, report, certiformer.compare(given, given, declaration=declared).report):
            assert words_ in one.warnings
            assert f"Warning: {words_}." in str(one)


def test_probabilities_in_text_are_no_names(tmp_path):
    """R writes 1, 0.97 and 0: as names nearly all of them would be wrong."""
    labels, given = np.arange(60) % 2, ["1", "0.97", "0"] * 20
    text = table(tmp_path / "t.csv", id=range(60), label=labels, prediction=given)
    rows = log(tmp_path / "t.jsonl", [{"label": row % 2, "prediction": float(given[row])} for row in range(60)])
    for one in (text, rows):
        with pytest.raises(InputError, match=r"column prediction: got '0.97'"):
            certiformer.certify(predictions=one)
    sections = table(tmp_path / "s.csv", id=range(60), label=["1.1", "1.2"] * 30, prediction=["1.1", "1.2"] * 30)
    named = certiformer.certify(predictions=sections, declaration={"classes": ("1.1", "1.2")})
    assert named["holdout"].evidence.errors == 0
    codes = table(tmp_path / "c.csv", id=range(60), label=["01", "75"] * 30, prediction=["01", "75"] * 30)
    assert certiformer.certify(predictions=codes)["holdout"].evidence.errors == 0


def test_an_empty_input_is_an_input_and_a_column_nobody_asked_for_refuses_nothing(tmp_path):
    """Instructions with an empty input, a review without a word, a confidence that is missing somewhere."""
    tasks = [{"instruction": f"do {row}", "input": "", "output": "x", "label": "x"} for row in range(40)]
    reviews = [{"id": row, "text": "" if row == 3 else f"t {row}", "prediction": 1, "label": 1} for row in range(40)]
    unsure = [{"id": row, "confidence": row or None, "prediction": 1, "label": 1} for row in range(40)]
    found = [certiformer.certify(predictions=log(tmp_path / "t.jsonl", rows)) for rows in (tasks, reviews, unsure)]
    assert [report["holdout"].evidence.n for report in found] == [40, 40, 40]
    assert [one.choice for one in found[0].decisions if one.subject == "input"] == ["column instruction"]
    assert found[2].warnings == ("the column confidence has empty cells, and is not used",)
    with pytest.raises(InputError, match="Row 1 of"):
        certiformer.select(
            log(tmp_path / "t.jsonl", unsure), error=0.5, declaration={"confidence_column": "confidence"}
        )
    twice = [*reviews, {"id": 40, "text": " ", "prediction": 1, "label": 1}]
    with pytest.raises(InputError, match="1 of 41 inputs repeat another one"):
        certiformer.certify(predictions=log(tmp_path / "t.jsonl", twice))


def test_a_report_is_verified_with_the_same_data_in_another_format(tmp_path):
    """Certified from arrays, checked with the table that was sent along."""
    rows = range(60)
    columns = {"id": list(rows), "doc": [row // 2 for row in rows], "label": [row % 2 for row in rows]}
    columns["prediction"] = [int(row % 2 and row % 7 > 0) for row in rows]
    arrays = {name: np.array(cells) for name, cells in columns.items()}
    certiformer.certify(predictions=arrays, declaration={"group": "doc"}).write(tmp_path)
    lines = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    np.savez(tmp_path / "t.npz", **arrays)
    for data in (table(tmp_path / "t.csv", **columns), log(tmp_path / "t.jsonl", lines), tmp_path / "t.npz"):
        found = certiformer.verify(tmp_path / "report.json", data=data)
        assert found.exit_code == 0, found.differences


def test_tokens_that_labels_leave_out_are_not_wrong():
    """Many scripts keep the tokens instead of their logits: padding is no answer there either."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 5, (40, 8))
    labels[:, 5:] = -100
    logits = rng.normal(size=(40, 8, 5)) + 6.0 * np.eye(5)[np.maximum(labels, 0)]
    found = [
        certiformer.certify(predictions=SimpleNamespace(predictions=given, label_ids=labels, metrics={}))
        for given in (logits, np.argmax(logits, axis=2))
    ]
    assert {report.headline for report in found} == {found[0].headline}
    assert "mean fraction of wrong tokens" in found[0].headline
    # Beside labels that are not shifted a weak language model looks like a weak tagger.
    assert "those of a causal language model stand one further on" in found[0].not_checked[0]


# --- streams ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "declared", "quantity", "mean"),
    [
        ('{"f1": 0.75}', {"metric": ["f1"], "range": (0, 1)}, "mean of 1 - f1", 0.25),
        ('{"m": -0.5}', {"metric": ["m"], "better": "higher", "range": (-1, 1)}, "mean of 0 - m", 0.5),
        ('{"correct": true}', {}, "error rate", 0.0),
        ("0.75", {"range": (0, 1), "better": "higher"}, "mean of 1 - the score", 0.25),
        ("0.75", {"range": (0, 1)}, "mean loss", 0.75),
        ("wrong", {}, "error rate", 1.0),
    ],
)
def test_a_stream_says_what_its_mean_is_of(line, declared, quantity, mean):
    (now,) = certiformer.watch([line] * 5, declaration=declared)
    assert (now.quantity, now.mean) == (quantity, mean)


def test_a_stream_has_one_outcome(tmp_path):
    """Right and wrong, then a loss of 0 or 1: the mean of both together is neither."""
    with pytest.raises(InputError, match="line 2: got 'the mean loss'"):
        list(certiformer.watch(['{"correct": true}', '{"loss": 0}']))
    state = tmp_path / "state.json"
    assert [now.n for now in certiformer.watch(["1", "wrong", '{"correct": true}'], state=state)] == [3]
    with pytest.raises(InputError, match="line 1: got 'the mean of 1 - score'"):
        list(certiformer.watch(['{"score": 0}'], state=state))
