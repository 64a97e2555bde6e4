"""Files, frames and models as people have them: what is odd is asked about, named, or read as it was meant."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeRegressor

import certiformer
from certiformer.theory.core.errors import InputError

N = 60
RANDOM = np.random.default_rng(26)
X = RANDOM.normal(size=(N, 3))
Y = (X[:, 0] > 0).astype(int)


class Frame(SimpleNamespace):
    """As much of a data frame as is asked for: names, and the columns behind them."""

    def __init__(self, columns, cells):
        super().__init__(columns=columns, cells=cells)

    def __getitem__(self, name):
        return np.stack([cell for key, cell in zip(self.columns, self.cells, strict=True) if key == name], 1).squeeze()


def of(given, **declared):
    return certiformer.certify(predictions=given, declaration=declared or None)


def table(path, **columns):
    rows = zip(*columns.values(), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]), encoding="utf-8")
    return path


def lines(path, rows):
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def errors(report):
    return report["holdout"].evidence.errors


# --- columns ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [["label", "prediction", "prediction"], ["label", "0", 0]])
def test_columns_of_a_frame_have_different_names(names):
    with pytest.raises(InputError, match="different names"):
        of(Frame(names, [Y, Y, 1 - Y]), prediction=str(names[1]))


def test_a_masked_entry_is_no_value():
    masked = np.ma.array(Y, mask=np.arange(N) == 2)
    for given in [(Y, masked), (masked, Y), {"label": Y, "prediction": masked}]:
        with pytest.raises(InputError, match="row 3"):
            of(given)
    with pytest.raises(InputError, match="row 3"):
        certiformer.certify(lambda x: (x[:, 0] > 0).astype(int), heldout=(X, masked))


def test_a_figure_of_the_whole_set_is_no_evidence():
    with pytest.raises(InputError, match="every example"):
        of({"accuracy": 0.9})


def test_labels_are_not_their_own_predictions(tmp_path):
    path = table(tmp_path / "rows.csv", id=range(N), label=Y, prediction=1 - Y)
    for declared in [{"label": "label", "prediction": "label"}, {"label": "prediction"}]:
        with pytest.raises(InputError, match="two columns"):
            of(path, **declared)


def test_groups_are_no_slices(tmp_path):
    path = table(tmp_path / "rows.csv", id=range(N), label=Y, prediction=Y, doc=np.arange(N) // 3)
    with pytest.raises(InputError, match="single draw"):
        of(path, group="doc", slices="doc")


def test_weights_are_said_to_be_unused(tmp_path):
    path = table(tmp_path / "rows.csv", id=range(N), label=Y, prediction=Y, weight=RANDOM.random(N))
    assert "the column weight is not used: every row counts once" in of(path).warnings
    assert not of(path, metric="weight", better="lower", range=(0, 1)).warnings


def test_blank_lines_between_rows_are_counted(tmp_path):
    rows = [f"{row},1" for row in range(N)]
    for name, text, blank in [
        ("a.csv", "id,correct\n" + "\n".join([*rows[:9], "", "", *rows[9:]]) + "\n\n", 2),
        ("b.csv", "id,correct\n" + "\n".join(rows) + "\n\n\n", 0),
        ("c.jsonl", "\n\n".join(json.dumps({"id": row, "correct": 1}) for row in range(N)), N - 1),
    ]:
        (tmp_path / name).write_text(text, encoding="utf-8")
        said = [text for text in of(tmp_path / name).warnings if "blank lines" in text]
        assert [text.split()[0] for text in said] == ([str(blank)] if blank else [])


def test_encodings_and_decimals_have_a_hint(tmp_path):
    (tmp_path / "bom.jsonl").write_text("".join(f'{{"id": {k}, "correct": 1}}\n' for k in range(N)), "utf-8-sig")
    assert errors(of(tmp_path / "bom.jsonl")) == 0
    (tmp_path / "latin.csv").write_text("id,label,prediction\n1,é,é", encoding="latin-1")
    with pytest.raises(InputError, match="Save it as UTF-8"):
        of(tmp_path / "latin.csv")
    (tmp_path / "comma.csv").write_text("id;loss\n1;0,5", encoding="utf-8")
    with pytest.raises(InputError, match="with a point"):
        of(tmp_path / "comma.csv")
    with pytest.raises(InputError, match="--metric wer --clip 2"):  # a word error rate may exceed 1
        of(table(tmp_path / "wer.csv", id=range(N), wer=Y), metric="wer")


def test_fields_inside_of_fields(tmp_path):
    inside = [{"id": k, "truth": {"label": int(y)}, "answer": {"label": int(y)}} for k, y in enumerate(Y)]
    path = lines(tmp_path / "nested.jsonl", inside)
    assert errors(of(path, label="truth.label", prediction="answer.label")) == 0
    path = lines(tmp_path / "metrics.jsonl", [{"id": k, "metrics": {"acc": int(y)}} for k, y in enumerate(Y)])
    assert errors(of(path, metric="metrics.acc")) == N - Y.sum()
    chats = [{"input": [{"role": "user", "content": str(k // 2)}], "correct": 1} for k in range(N)]
    with pytest.raises(InputError, match=f"{N // 2} of {N} inputs repeat"):
        of(lines(tmp_path / "chats.jsonl", chats))


def test_samples_of_different_logs_are_different_units(tmp_path):
    """The first sample of one task and that of another are two units, also where one of the logs has epochs."""
    for folder, epochs in [("both", (2, 2)), ("first", (2, 1)), ("second", (1, 2))]:
        (tmp_path / folder).mkdir()
        for task, count in zip("ab", epochs, strict=True):
            samples = [
                {"id": k, "epoch": e, "input": f"{task} {k}", "scores": {"match": {"value": "C"}}}
                for k in range(N)
                for e in range(count)
            ]
            log = {"status": "success", "eval": {}, "samples": samples}
            (tmp_path / folder / f"{task}.json").write_text(json.dumps(log), encoding="utf-8")
        assert f"over {2 * N} groups" in of(tmp_path / folder).basis


def test_a_population_has_a_name():
    with pytest.raises(InputError, match="For example: reviews"):
        of((Y, Y), population=" ")


# --- codings ----------------------------------------------------------------------------------------------------------


def test_names_in_other_letters_are_asked_about():
    names = np.array(["no", "yes"])[Y]
    with pytest.raises(InputError, match="one spelling"):
        of((names, np.where(Y == 1, "Yes", "no")))
    assert errors(of((names, np.where(Y == 1, "perhaps", "no")))) == Y.sum()


def test_answers_that_are_no_labels_make_guessing_no_harder():
    names = np.array(["a", "b"])[Y]
    strange = np.where(np.arange(N) < N // 2, names, [f"answer {k}" for k in range(N)])
    assert of((names, strange))["holdout"].trivial == 0.5
    assert of((Y, np.where(np.arange(N) < N // 2, Y, np.arange(N) + 5)))["holdout"].trivial == 0.5


def test_smoothing_is_over_all_classes_not_those_seen():
    arrays = {"heldout_labels": Y, "heldout_predictions": Y, "heldout_label_probabilities": np.full(N, 0.9)}
    with pytest.raises(InputError, match="how many labels there are"):
        of(arrays)
    assert of(arrays, classes=10)["betting"].value is not None


def test_limits_are_better_than_guessing_only_where_that_is_known(tmp_path):
    path = table(tmp_path / "rows.csv", id=range(N), exact_match=Y, f1=RANDOM.random(N))
    report = of(path, metric=("exact_match", "f1"))
    assert "all are below the worst possible value" in report.summary
    assert {row.guessing for row in report.statements if row.says} == {None}
    report = of((Y, Y))
    assert report["holdout"].guessing == 0.5


# --- models -----------------------------------------------------------------------------------------------------------


def test_a_model_and_its_labels_have_one_coding():
    for coding in (lambda y: 2 * y - 1, lambda y: y + 1, lambda y: np.array(["a", "b"])[y]):
        model = LogisticRegression().fit(X, coding(Y))
        with pytest.raises(InputError, match="one coding"):
            certiformer.certify(model, heldout=(X, Y))
    unseen = np.where(np.arange(N) < 5, 2, Y)
    assert errors(certiformer.certify(LogisticRegression().fit(X, Y), heldout=(X, unseen))) >= 5


def test_numbers_of_a_regressor_are_no_classes():
    counts = np.round(5 + 3 * np.abs(X[:, 0])).astype(int)
    tree = DecisionTreeRegressor(random_state=0).fit(X, counts)
    with pytest.raises(InputError, match="clip=C"):
        certiformer.certify(tree, heldout=(X, counts))
    report = certiformer.certify(tree, heldout=(X, counts), declaration={"clip": 4.0})
    assert "absolute error" in report.headline


def test_numbers_of_clusters_are_no_classes():
    model = KMeans(2, n_init=1, random_state=0).fit(X)
    with pytest.raises(InputError, match="clusters have numbers"):
        certiformer.certify(model, heldout=(X, Y))


def test_one_hot_labels_beside_scores_are_asked_about():
    with pytest.raises(InputError, match="argmax"):
        certiformer.certify(lambda x: np.stack([-x[:, 0], x[:, 0]], axis=1), heldout=(X, np.eye(2)[Y]))
    decided = certiformer.certify(lambda x: np.eye(2)[(x[:, 0] > 0).astype(int)], heldout=(X, np.eye(2)[Y]))
    assert errors(decided) == 0


def test_a_function_of_rows_gets_the_rows_that_were_given():
    rows = [{"x": float(value), "name": str(k)} for k, value in enumerate(X[:, 0])]
    assert errors(certiformer.certify(lambda row: int(row["x"] > 0), heldout=(rows, Y))) == 0
    assert errors(certiformer.certify(lambda batch: [int(row["x"] > 0) for row in batch], heldout=(rows, Y))) == 0


def test_a_function_that_looks_at_other_rows_is_refused():
    ascending = X[np.argsort(X[:, 0])]  # the first is below the mean, and not above itself
    with pytest.raises(InputError, match="than to this example alone"):
        certiformer.certify(lambda x: (x[:, 0] > x[:, 0].mean()).astype(int), heldout=(ascending, Y))


# --- two files --------------------------------------------------------------------------------------------------------


def test_two_files_are_about_the_same_items(tmp_path):
    """Equal ids are not enough: another truth, or another text, is another item."""
    one = table(tmp_path / "one.csv", id=range(N), label=Y, prediction=Y)
    for name, columns in {
        "other.csv": {"id": range(N), "label": 1 - Y, "prediction": Y},
        "order.csv": {"label": Y[::-1], "prediction": Y[::-1]},
    }.items():
        for ask in (certiformer.compare, lambda a, b: certiformer.gate(b, against=a, margin=0.1)):
            with pytest.raises(InputError, match="another true label"):
                ask(one, table(tmp_path / name, **columns))
    named = table(tmp_path / "named.csv", id=range(N), label=np.array(["n", "y"])[Y], prediction=["n"] * N)
    assert certiformer.compare(one, named)[0].discordant == (0, Y.sum())  # in another coding nothing is known
    texts = [
        table(tmp_path / f"{kind}{k}.csv", id=range(N), correct=Y, **{kind: [f"{k} {row}" for row in range(N)]})
        for kind in ("text", "prompt")
        for k in "ab"
    ]
    with pytest.raises(InputError, match="another content"):
        certiformer.compare(*texts[:2])
    assert any("different prompts" in text for text in certiformer.compare(*texts[2:])[0].warnings)


# --- one way to certify -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"fit": LogisticRegression(), "data": (X, Y), "heldout": (X, Y)}, "heldout"),
        ({"fit": LogisticRegression(), "data": (X, Y), "train": (X, Y)}, "train"),
        ({"predictions": (Y, Y), "heldout": (X, Y)}, "heldout"),
        ({"predictions": (Y, Y), "train": (X, Y)}, "train"),
        ({"model": LogisticRegression().fit(X, Y), "heldout": (X, Y), "data": (X, Y)}, "data"),
        ({"by": [], "train": (X, Y), "heldout": (X, Y)}, "heldout"),
    ],
)
def test_what_would_be_ignored_is_refused(given, name):
    with pytest.raises(InputError, match=f"{name}: got 'given beside"):
        certiformer.certify(**given)


def test_what_an_estimator_cannot_do_is_one_line():
    model = LogisticRegression().fit(X, Y)
    for inputs in (X[:, :2], np.where(X > 1, np.nan, X)):
        with pytest.raises(InputError, match="what predict of LogisticRegression takes"):
            certiformer.certify(model, heldout=(inputs, Y))
    with pytest.raises(InputError, match="what SVC has: predict, decision_function"):
        certiformer.certify(SVC().fit(X, Y), heldout=(X, Y), declaration={"outputs": "probabilities"})
    with pytest.raises(InputError, match="an object, not its class"):
        certiformer.certify(fit=LogisticRegression, data=(X, Y))
