"""Files, frames and models as people have them: what is odd is asked about, named, or read as it was meant."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeRegressor

import certiformer
from certiformer.certification.sources import arrow_files
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


class Indexed(Frame):
    """With an index that has a name."""

    index = SimpleNamespace(names=["id"])

    def reset_index(self, allow_duplicates):
        assert allow_duplicates
        return Frame(["id", *self.columns], [np.arange(N) // 2, *self.cells])


def test_an_index_with_a_name_is_a_column():
    """As in the file that is written of it: its ids repeat."""
    with pytest.raises(InputError, match=f"{N // 2} of {N} rows repeat"):
        of(Indexed(["label", "prediction"], [Y, Y]))
    lazy = SimpleNamespace(collect=lambda: Frame(["label", "prediction"], [Y, 1 - Y]))
    assert errors(of(lazy)) == N


class Series(np.ndarray):
    """Values with names of their rows."""

    @property
    def iloc(self):
        return self

    @classmethod
    def of(cls, values, index):
        found = np.asarray(values).view(cls)
        found.index = index
        return found


def test_the_same_rows_in_another_order_are_asked_about():
    there, back, elsewhere = range(N), range(N)[::-1], range(9, N + 9)
    rule = lambda x: (np.asarray(x)[:, 0] > 0).astype(int)  # noqa: E731
    for index, asked in ((there, False), (elsewhere, False), (back, True)):
        for call in (
            lambda index=index: of((Series.of(Y, there), Series.of(Y, index))),
            lambda index=index: of({"label": Series.of(Y, there), "prediction": Series.of(Y, index)}),
            lambda index=index: certiformer.certify(rule, heldout=(Series.of(X, there), Series.of(Y, index))),
        ):
            if asked:
                with pytest.raises(InputError, match="the same index in another order"):
                    call()
            else:
                assert errors(call()) == 0


def test_rows_of_one_index_at_other_places_are_asked_about():
    rule = lambda x: (np.asarray(x)[:, 0] > 0).astype(int)  # noqa: E731
    for index, asked in ((range(40, N + 40), True), (range(N), False), (range(200, N + 200), False)):
        call = lambda index=index: certiformer.certify(  # noqa: E731
            rule, heldout=(Series.of(X, range(39, N + 39)), Series.of(Y, index))
        )
        if asked:
            with pytest.raises(InputError, match="59 of 60 rows of the index in both, at other places"):
                call()
        else:
            assert errors(call()) == 0


def test_frames_are_compared_column_by_column():
    """Equal rows in another order of columns, or beside one more, were not found among those trained on."""
    parts = {name: X[:, place : place + 1] for place, name in enumerate("abc")}
    model = lambda rows: (np.asarray(rows["a"]) > 0).astype(int)  # noqa: E731

    class Rows(Frame):
        shape = (N, 3)

        def to_numpy(self):
            return np.hstack(self.cells)

    def frame(names):
        return Rows(list(names), [parts.get(name, X[:, :1] * 0) for name in names])

    for names, said in (("cab", "another order"), ("abcz", "z")):
        with pytest.raises(InputError, match=rf"{said}.*same columns in the same order"):
            certiformer.certify(model, heldout=(frame("abc"), Y), train=(frame(names), Y))
    with pytest.raises(InputError, match="inputs of one shape"):
        certiformer.certify(lambda x: (x[:, 0] > 0).astype(int), heldout=(X, Y), train=(X[:, :2], Y))


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


def test_what_a_spreadsheet_leaves_of_its_grid_is_no_row(tmp_path, monkeypatch):
    rows = [f"{row};{int(row > 3)};;" for row in range(N)]
    for least in (0, 2**20):
        monkeypatch.setattr(arrow_files, "WORTH_IT", least)
        (tmp_path / "a.csv").write_text("\r\n".join(["id;correct;;", *rows, ";;;", ";;;"]), encoding="utf-8-sig")
        report = of(tmp_path / "a.csv")
        assert (errors(report), report["holdout"].evidence.n) == (4, N)
        assert [one.choice for one in report.decisions if one.subject == "rows"] == ["2 empty ones at the end left out"]
        for text in ["\n".join(["id;correct;;", *rows[:9], ";;;", *rows]), "id;correct;;\n0;1;x;y\n"]:
            (tmp_path / "b.csv").write_text(text, encoding="utf-8")
            with pytest.raises(InputError, match=r"an empty cell|a name for every column"):
                of(tmp_path / "b.csv")


@pytest.mark.parametrize("word", ["Total", "mean", " Average: "])
def test_a_row_that_sums_up_the_others_is_no_example(tmp_path, word):
    names = [f"q{row}" for row in range(N - 1)]
    for columns in [{"id": [*names, word], "correct": [1] * N}, {"question": [word, *names], "correct": [1] * N}]:
        with pytest.raises(InputError, match="seems to sum up the others: delete it"):
            of(table(tmp_path / "rows.csv", **columns))
    labels = ["a", "b"] * (N // 2 - 1) + ["a", "total"]
    named = table(tmp_path / "named.csv", id=range(N), label=labels, prediction=labels)
    with pytest.raises(InputError, match="--classes A,B"):
        of(named)
    assert errors(of(named, classes=("a", "b", "total"))) == 0


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


def test_names_of_numbers_are_declared():
    named = np.array(["no", "yes"])[Y]
    for given in [(Y, named), (named, Y), (Y.astype(str), named), (Y.astype(float), named)]:
        with pytest.raises(InputError, match="if 0 means no, 1 yes and so on, say --classes no,yes"):
            of(given)
        assert errors(of(given, classes=("no", "yes"))) == 0
        assert errors(of(given, classes=("yes", "no"))) == N
    for given in [(Y + 1, named), (Y[:20] * 0 + 1, named[:20])]:  # 1 may be the first of two
        with pytest.raises(InputError, match="one of the classes 'no', 'yes'"):
            of(given, classes=("no", "yes"))


def test_one_name_beside_one_number_is_asked_about(tmp_path):
    (tmp_path / "x.csv").write_text("label,prediction\n" + "0,ham\n" * 5)
    with pytest.raises(InputError, match="if 0 means ham, 1 the next"):
        certiformer.certify(predictions=tmp_path / "x.csv")


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


@pytest.mark.parametrize("first", ["late", "soon", "exact_match", "acc"])
def test_of_several_metrics_the_first_leads(tmp_path, first):
    """Also where another has the smaller limit: they are no limits of one thing."""
    columns = {"late": RANDOM.random(N) / 2, "soon": RANDOM.random(N) / 9, "exact_match": Y, "acc": np.arange(N) > 3}
    path = table(tmp_path / "rows.csv", id=range(N), **columns)
    others = [name for name in columns if name != first]
    report = of(path, metric=(first, *others), better="lower", range=(0, 1))
    assert f"({first})" in report.decisive


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


def moved(x):
    """The answers of all rows but three are turned round, as soon as there are many."""
    found = (x[:, 0] > 0).astype(int)
    kept = {0, len(x) // 2, len(x) - 1}
    return np.array([one if k in kept or len(x) < 10 else 1 - one for k, one in enumerate(found)])


def test_rows_drawn_at_random_are_asked_again():
    """Three fixed rows once stood for all; what was asked again stands in the conditions, or that nothing was."""
    with pytest.raises(InputError, match="than to this example alone"):
        certiformer.certify(moved, heldout=(X, Y))
    with pytest.raises(InputError, match="a function of one example"):
        certiformer.certify(SimpleNamespace(predict=moved), heldout=(X, Y))
    said = certiformer.certify(lambda x: (x[:, 0] > 0).astype(int), heldout=(X, Y)).document
    assert any("32 rows asked again apart, 8 of them alone" in text for text in said["conditions"])
    unnamed = SimpleNamespace(predict=lambda x: 5 * x[:, 0], classes_=[])
    assert errors(certiformer.certify(unnamed, heldout=(X, Y), declaration={"outputs": "logits"})) == 0
    declared = certiformer.certify(certiformer.Subject(moved, batched=True), heldout=(X, Y)).document
    assert any("depends on the others of its batch" in text for text in declared["not_checked"])


@pytest.mark.parametrize(
    "model",
    [
        lambda x: (2 * int(x[0] > 0) - 1, 93.0),
        lambda x: [2 * int(x[0] > 0) - 1, 93.0],
        lambda x: ("spam" if float(x[0]) > 0 else "ham", 0.93),
        lambda x: (np.abs(x[:, 0]), (x[:, 0] > 0).astype(int)),
        lambda x: (np.abs(x[:, 0]).tolist(), (x[:, 0] > 0).tolist()),
        lambda x: (np.sort(x[:, :2], axis=1), np.argsort(x[:, :2], axis=1)),
        lambda x: {"logits": np.stack([-x[:, 0], x[:, 0] - 1], axis=1), "label": (x[:, 0] > 0).astype(int)},
    ],
)
def test_an_answer_beside_a_confidence_is_asked_about(model):
    with pytest.raises(InputError, match=r"return the label alone|Return the labels alone|Return what decides"):
        certiformer.certify(model, heldout=(X, 2 * Y - 1))


SEVERAL = np.stack([Y, X[:, 1] > 0], axis=1).astype(int)
NUMBERS = X[:, 0] + 0.1 * X[:, 1]


@pytest.mark.parametrize(
    ("model", "labels", "declared"),
    [
        (Ridge().fit(X, NUMBERS), NUMBERS, {"clip": 2.0}),
        (KNeighborsClassifier(3).fit(X, SEVERAL), SEVERAL, {}),
        (lambda x: 2.0 * np.eye(3)[(x[:, :2] > 0).astype(int)], (X[:, :2] > 0).astype(int), {}),
    ],
    ids=["numbers", "several labels", "tokens"],
)
def test_what_was_trained_on_is_found_whatever_is_answered(model, labels, declared):
    """Beside losses the training examples were dropped unread, and certified on."""
    with pytest.raises(InputError, match=f"{N} of {N} that were also used for training"):
        certiformer.certify(model, heldout=(X, labels), train=(X, labels), declaration=declared)
    said = certiformer.certify(model, heldout=(X[:30], labels[:30]), train=(X[30:], labels[30:]), declaration=declared)
    assert said.document["provenance"]["heldout_inputs_seen_in_training"] == 0


def test_a_step_of_the_callers_in_a_pipeline_is_asked_again():
    """Rows of scikit-learn do not meet; those of a function inside its pipelines may."""
    for step, known in [(lambda x: x - x.mean(0), False), (lambda x: np.hstack([x, x**2]), True)]:
        model = make_pipeline(FunctionTransformer(step), LogisticRegression()).fit(X, Y)
        if not known:
            with pytest.raises(InputError, match="than in another batch"):
                certiformer.certify(model, heldout=(X + 1, Y))
            continue
        said = certiformer.certify(model, heldout=(X, Y)).document["conditions"]
        assert any("32 rows asked again apart" in text for text in said)
    plain = make_pipeline(FunctionTransformer(), LogisticRegression()).fit(X, Y)
    assert not any("asked again" in text for text in certiformer.certify(plain, heldout=(X, Y)).document["conditions"])


def test_sparse_matrices_of_every_kind_are_the_same_rows():
    cells = np.where(np.abs(X) > 0.3, X, 0.0)
    cells[:, 0] = X[:, 0]
    model = LogisticRegression().fit(cells, Y)
    kinds = [sparse.csr_matrix, sparse.csc_matrix, sparse.dok_matrix, sparse.csr_array, sparse.coo_array]
    found = {errors(certiformer.certify(model, heldout=(kind(cells), Y))) for kind in kinds}
    assert found == {int(np.sum(model.predict(cells) != Y))}
    twice = np.concatenate([cells, cells[:5]])
    with pytest.raises(InputError, match="5 of 65 inputs repeat"):
        certiformer.certify(model, heldout=(sparse.csr_array(twice), np.concatenate([Y, Y[:5]])))
    with pytest.raises(InputError, match="inputs of one kind"):
        certiformer.certify(model, heldout=(sparse.csr_matrix(cells), Y), train=(cells, Y))
    several = KNeighborsClassifier(3).fit(X, SEVERAL)
    one, other = (certiformer.certify(several, heldout=(X, kind)) for kind in (SEVERAL, sparse.csr_matrix(SEVERAL)))
    assert one["mean_loss"].value == other["mean_loss"].value


def test_arrays_by_name_are_rows_that_can_be_compared():
    given = {"a": X[:, 0], "b": X[:, 1:], "attention_mask": np.ones(N)}
    for model in (lambda batch: (batch["a"] > 0).astype(int), lambda row: int(row["a"] > 0)):
        assert errors(certiformer.certify(model, heldout=(given, Y))) == 0
        with pytest.raises(InputError, match="also used for training"):
            certiformer.certify(model, heldout=(given, Y), train=(given, Y))
    tokens = np.arange(4 * N).reshape(N, 4) % 61
    mask = np.arange(4) < 3
    padded = {"input_ids": np.where(mask, tokens, 0), "attention_mask": np.tile(mask, (N, 1))}
    shorter = {"input_ids": tokens[:, :3], "attention_mask": np.ones((N, 3))}
    with pytest.raises(InputError, match="also used for training"):
        certiformer.certify(lambda x: x["input_ids"][:, 0] % 2, heldout=(padded, Y), train=(shorter, Y))
    with pytest.raises(InputError, match="one array of inputs"):
        certiformer.certify(LogisticRegression(), train=(given, Y), by=[])


def test_one_number_for_each_place_is_no_row_of_scores():
    """Probabilities of shape (n, places, 1) were compared as scores of one class: every answer was 0."""
    places = (X > 0).astype(int)
    share = lambda x: 1 / (1 + np.exp(-5 * x[:, :, None]))  # noqa: E731
    with pytest.raises(InputError, match='outputs="probabilities"'):
        certiformer.certify(share, heldout=(X, places))
    for labels in (places, places[:, :, None]):
        found = certiformer.certify(share, heldout=(X, labels), declaration={"outputs": "probabilities"})
        assert found["mean_loss"].evidence.observed == 0
    with pytest.raises(InputError, match="a label, or a row of labels"):
        certiformer.certify(share, heldout=(X, np.eye(2)[places]))


def test_which_axis_has_the_classes_is_asked():
    with pytest.raises(InputError, match="Which axis has the classes"):
        certiformer.certify(lambda x: np.eye(3)[(x > 0).astype(int)], heldout=(X, (X > 0).astype(int)))


def test_labels_of_a_column_of_floats_are_labels():
    """Boosters answer classes given as floats in a column: they were taken for one logit."""
    truth = 1.0 + np.arange(N) % 3
    answers = np.where(np.arange(N) % 7 > 0, truth, 1 + truth % 3)
    place = {row.tobytes(): answer for row, answer in zip(X, answers, strict=True)}
    model = SimpleNamespace(
        predict=lambda x: np.array([[place[row.tobytes()]] for row in x]), classes_=np.array([1.0, 2.0, 3.0])
    )
    assert errors(certiformer.certify(model, heldout=(X, truth))) == int(np.sum(answers != truth)) == 9


def test_columns_of_classes_that_a_network_never_saw_have_no_names():
    """The second of three columns was taken for the probability of the second class that occurs."""
    table = np.stack([1.0 - Y, 0.0 * Y, 1.0 * Y], axis=1) * 0.98 + 0.01
    place = {row.tobytes(): cells for row, cells in zip(X, table, strict=True)}
    probabilities = lambda x: np.array([place[row.tobytes()] for row in x])  # noqa: E731
    model = SimpleNamespace(
        predict=lambda x: probabilities(x).argmax(1), predict_proba=probabilities, classes_=np.array([0, 2])
    )
    report = certiformer.certify(model, heldout=(X, 2 * Y))
    assert errors(report) == 0
    assert not any(one.id == "betting" and one.says for one in report.statements)


def test_a_missing_label_is_named_where_a_learner_is_fitted():
    labels = np.where(np.arange(N) == 7, np.nan, Y)
    with pytest.raises(InputError, match="Look at example 7"):
        certiformer.certify(fit=LogisticRegression(), data=(X, labels))
    with pytest.raises(InputError, match="It said"):
        certiformer.certify(fit=LogisticRegression(), data=(np.where(X > 1, np.nan, X), Y))

    class NAType:
        def __ne__(self, other):
            raise TypeError("boolean value of NA is ambiguous")

    labels = np.array(["a" if one else "b" for one in Y], dtype=object)
    labels[3] = NAType()
    with pytest.raises(InputError, match="Look at example 3"):
        certiformer.certify(lambda x: np.array(["a"] * len(x)), heldout=(X, labels))


class Loader:
    """Batches, as a loader gives them."""

    batch_size = 20

    def __init__(self, batches):
        self.batches = list(batches)

    def __iter__(self):
        return iter(self.batches)


def test_a_loader_is_read_by_any_model():
    parts = [slice(start, start + 20) for start in range(0, N, 20)]
    model = LogisticRegression().fit(X, Y)
    whole = errors(certiformer.certify(model, heldout=(X, Y)))
    plain = Loader((X[part], Y[part]) for part in parts)
    named = Loader({"a": X[part], "labels": Y[part]} for part in parts)
    assert errors(certiformer.certify(model, heldout=plain)) == whole
    assert errors(certiformer.certify(lambda batch: model.predict(batch["a"]), heldout=named)) == whole
    with pytest.raises(InputError, match="one shape of example"):
        certiformer.certify(model, heldout=Loader([plain.batches[0], (X[20:, :2], Y[20:])]))


def test_a_regressor_has_a_clip_or_a_range():
    model = Ridge().fit(X, NUMBERS + 1)
    off = np.abs(model.predict(X) - NUMBERS)
    report = certiformer.certify(model, heldout=(X, NUMBERS), declaration={"range": (0, 5)})
    assert "The mean absolute error" in report.headline
    assert report["mean_loss"].evidence.observed == pytest.approx(off.mean())
    with pytest.raises(InputError, match=r"losses in \[0, 0.5\]"):
        certiformer.certify(model, heldout=(X, NUMBERS), declaration={"range": (0, 0.5)})


def test_numbers_of_mixtures_are_no_classes():
    with pytest.raises(InputError, match="clusters have numbers"):
        certiformer.certify(GaussianMixture(2, random_state=0).fit(X), heldout=(X, Y))


def test_what_is_said_of_outputs_may_not_contradict_the_model():
    table = lambda x: {"probabilities": np.eye(2)[(x[:, 0] > 0).astype(int)]}  # noqa: E731
    assert errors(certiformer.certify(table, heldout=(X, Y))) == 0
    with pytest.raises(InputError, match="that is what a function of a batch gives"):
        certiformer.certify(table, heldout=(X, Y), declaration={"outputs": "logits"})


def test_scores_of_a_classifier_are_no_labels():
    """A bare CatBoost has classes_, and predicts raw scores."""
    model = SimpleNamespace(classes_=[0, 1], predict=lambda x: 3 * x[:, 0])
    with pytest.raises(InputError, match='Say outputs="probabilities"'):
        certiformer.certify(model, heldout=(X, Y))
    assert errors(certiformer.certify(model, heldout=(X, Y), declaration={"outputs": "logits"})) == 0


def test_what_has_no_one_table_is_one_line():
    several = KNeighborsClassifier(3).fit(X, SEVERAL)
    with pytest.raises(InputError, match='Say outputs="labels"'):
        certiformer.certify(several, heldout=(X, SEVERAL), declaration={"outputs": "probabilities"})
    with pytest.raises(InputError, match=r"arrays of shapes \(60, 2\), \(60, 3\)"):
        certiformer.certify(SimpleNamespace(predict=lambda x: [x[:, :2], x]), heldout=(X, Y))
    pool = SimpleNamespace(num_row=lambda: N, get_label=lambda: Y)
    with pytest.raises(InputError, match="Give what it was made of"):
        certiformer.certify(LogisticRegression().fit(X, Y), heldout=pool)


def test_answers_about_the_next_token_are_not_compared_with_this_one():
    labels = RANDOM.integers(5, size=(N, 8))
    answers = SimpleNamespace(predictions=np.eye(5)[np.roll(labels, -1, axis=1)], label_ids=labels)
    with pytest.raises(InputError, match="answers with the next token"):
        of(answers)
    moved = SimpleNamespace(predictions=answers.predictions[:, :-1], label_ids=labels[:, 1:])
    assert of(moved)["mean_loss"].evidence.observed == 0
    generated = SimpleNamespace(
        predictions=np.roll(labels, 1, axis=1), label_ids=np.where(np.arange(8) < 7, labels, -100)
    )
    with pytest.raises(InputError, match="begins with a start token"):
        of(generated)


@pytest.mark.parametrize("fit", [lambda x, y: LogisticRegression().fit(x, y), 3.0, SimpleNamespace(predict=len)])
def test_what_cannot_be_fitted_is_one_line(fit):
    with pytest.raises(InputError, match=r"fit\(inputs, labels, seed\)"):
        certiformer.certify(fit=fit, data=(X, Y))


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
        ({"fit": "recipe.toml", "model": LogisticRegression()}, "model"),
    ],
)
def test_what_would_be_ignored_is_refused(given, name):
    with pytest.raises(InputError, match=f"{name}: got 'given beside"):
        certiformer.certify(**given)
    with pytest.raises(InputError, match="a recipe alone"):
        certiformer.certify(fit="recipe.toml", declaration={"seed": 3})


def test_what_an_estimator_cannot_do_is_one_line():
    model = LogisticRegression().fit(X, Y)
    for inputs in (X[:, :2], np.where(X > 1, np.nan, X)):
        with pytest.raises(InputError, match="what predict of LogisticRegression takes"):
            certiformer.certify(model, heldout=(inputs, Y))
    with pytest.raises(InputError, match="what SVC has: predict, decision_function"):
        certiformer.certify(SVC().fit(X, Y), heldout=(X, Y), declaration={"outputs": "probabilities"})
    for pair in ((X, None), (None, Y), (X, Y, Y), X, {"x": X, "y": Y}):
        with pytest.raises(InputError, match=r"a pair \(inputs, labels\)"):
            certiformer.certify(model, heldout=pair)
    with pytest.raises(InputError, match="an object, not its class"):
        certiformer.certify(fit=LogisticRegression, data=(X, Y))


def rows_in(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_names_of_columns_may_have_blanks(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("True Label,Predicted-Label\n" + "a,a\nb,b\n" * 30, encoding="utf-8")
    assert of(path)["holdout"].evidence.errors == 0
    path.write_text("True Label,Label,Predicted\n" + "a,a,a\nb,b,b\n" * 30, encoding="utf-8")
    with pytest.raises(InputError, match=r"--label Label or --label 'True Label'$"):
        of(path)
    path.write_text("Id,Is Correct\n" + "".join(f"{row},{int(row > 2)}\n" for row in range(60)), encoding="utf-8")
    assert errors(of(path)) == 3
    path.write_text("Id,Exact-Match\n" + "".join(f"{row},{int(row > 2)}\n" for row in range(60)), encoding="utf-8")
    assert errors(of(path)) == 3


@pytest.mark.parametrize(("good", "bad"), ["YN", "yn", "TF", "✓✗", "✅❌", ("✔️", "❌"), ("Yes", "No")])
def test_outcomes_in_one_letter_or_sign(tmp_path, good, bad):
    cells = [bad if row < 7 else good for row in range(N)]
    assert errors(of(table(tmp_path / "a.csv", id=range(N), correct=cells))) == 7
    assert errors(of(table(tmp_path / "a.csv", id=range(N), error=cells))) == N - 7
    assert errors(of(table(tmp_path / "a.csv", id=range(N), error=[bad] * N))) == 0
    with pytest.raises(InputError, match="--metric passed --higher-is-better"):
        of(table(tmp_path / "a.csv", id=range(N), passed=cells), metric="passed")


@pytest.mark.parametrize(("good", "bad"), [("PASS", "FAIL"), ("passed", "failed")])
def test_tests_that_pass_are_right(tmp_path, good, bad):
    path = tmp_path / "tests.csv"
    path.write_text("test,status\n" + "".join(f"t{n},{bad if n == 7 else good}\n" for n in range(60)), encoding="utf-8")
    assert of(path, metric="status")["holdout"].evidence.errors == 1
    path.write_text("test,status\n" + "".join(f"t{n},{'SKIP' if n == 7 else good}\n" for n in range(60)))
    with pytest.raises(InputError, match=r"SKIP.*pass or fail"):
        of(path, metric="status")


@pytest.mark.parametrize(
    ("row", "declared", "said"),
    [
        (
            {"diagnosis": "a", "prediction": "a"},
            {},
            "prediction is read as the predictions. Name the true labels: --label COL",
        ),
        (
            {"target": "a", "guess": "a"},
            {},
            "target is read as the labels .*Name the predicted ones: --prediction guess",
        ),
        ({"label": "a", "gpt": "a", "claude": "a"}, {}, "--prediction gpt or --prediction claude .*a file for each"),
        ({"label": "a", "p_a": 0.7}, {}, "of p_a, if they are probabilities, write the class that they choose"),
        ({"label": 1, "prediction": "LABEL_1"}, {}, "if 0 means LABEL_0, 1 LABEL_1 .*--classes LABEL_0,LABEL_1"),
        ({"true_label": "a", "label": "a", "score": 0.9}, {}, "--label true_label --prediction label"),
        ({"truth": "a", "class": "a", "score": 0.9}, {"label": "truth"}, "--label truth --prediction COLUMN"),
        ({"label": "a", "prediction": {"label": "a"}}, {}, "prediction holds fields: say prediction.label"),
        ({"text": "a", "judge": {"score": 1}}, {}, "judge holds fields: say judge.score"),
        ({"text": "a", "judge": {"score": 1}}, {"metric": "judge"}, "judge holds fields: say judge.score"),
        ({"labels": ["a", "b"], "predictions": ["a"]}, {}, "a column `correct` of true and false"),
        ({"label": 3.25, "prediction": 3.5}, {}, "--metric abs_error --lower-is-better --clip C"),
        ({"rating": 4}, {"metric": "rating"}, "--metric rating --higher-is-better or .*--range LOW HIGH"),
        ({"rating": 4}, {"metric": "rating", "better": "higher"}, "--higher-is-better --range LOW HIGH"),
    ],
)
def test_what_is_missing_is_named(tmp_path, row, declared, said):
    with pytest.raises(InputError, match=said):
        of(rows_in(tmp_path / "rows.jsonl", *[row] * 60), **declared)


def test_outputs_with_several_numbers_have_names_of_their_own(tmp_path):
    np.savez(tmp_path / "outputs.npz", labels=np.zeros(60, int), predictions=RANDOM.normal(size=(60, 2)))
    with pytest.raises(InputError, match="heldout_labels, with heldout_logits"):
        of(tmp_path / "outputs.npz")


def test_a_word_for_no_answer_among_numbers(tmp_path):
    rows = [{"label": n % 2, "prediction": None if n == 3 else n % 2} for n in range(60)]
    with pytest.raises(InputError, match="--abstain WORD"):
        of(rows_in(tmp_path / "rows.jsonl", *rows))
    rows[3]["prediction"] = "none"
    report = of(rows_in(tmp_path / "rows.jsonl", *rows), abstain="none")
    assert report["holdout"].evidence.errors == 1


def test_rows_for_training_are_warned_of(tmp_path):
    rows = [{"split": "train" if n < 20 else "test", "label": n % 2, "prediction": n % 2} for n in range(60)]
    assert any("20 rows are for training" in said for said in of(rows_in(tmp_path / "a.jsonl", *rows)).warnings)
    assert not any("for training" in said for said in of(rows_in(tmp_path / "b.jsonl", *rows[20:])).warnings)


def test_rows_of_several_models_need_a_file_each(tmp_path):
    rows = [{"id": n % 30, "model": n // 30, "label": "a", "prediction": "a"} for n in range(60)]
    path = rows_in(tmp_path / "a.jsonl", *rows)
    with pytest.raises(InputError, match="Rows of several models or runs need a file each"):
        of(path)
    assert any("about their mixture" in said for said in of(path, repeats="group").warnings)
    assert not any("mixture" in said for said in of(path, repeats="group", slices="model").warnings)


def test_the_probability_of_one_class_is_no_confidence():
    rows = {"label": [0, 1] * 60, "prediction": [0, 1] * 60, "confidence": [0.1, 0.9] * 60}
    assert any("the larger of p and 1 - p" in said for said in certiformer.select(rows, error=0.1).warnings)
    rows["confidence"] = [0.9, 0.9] * 60
    assert not any("1 - p" in said for said in certiformer.select(rows, error=0.1).warnings)


def test_a_table_is_no_stream_and_needs_a_header(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("id,correct\n1,1\n", encoding="utf-8")
    with pytest.raises(InputError, match="give the column alone"):
        list(certiformer.Sample.stream(path.read_text(encoding="utf-8").splitlines()))
    path.write_text("1,1\n" * 60, encoding="utf-8")
    with pytest.raises(InputError, match="as in label,prediction"):
        of(path)
    path.write_text(",label,prediction\n" + "".join(f"{n},a,a\n" for n in range(60)), encoding="utf-8")
    assert "(no name)" in certiformer.look(path).columns


def test_look_offers_no_command_that_is_refused(tmp_path):
    rows = [{"id": n, "loss": 0.1 * n} for n in range(60)]
    found = certiformer.look(rows_in(tmp_path / "rows.jsonl", *rows))
    assert "--metric loss --range LOW HIGH; or cut off a loss: --clip C" in found.refused
    assert found.questions == ()


def test_a_clip_does_not_take_errors_with_a_sign():
    rows = {"residual": [-1.0, 1.0] * 60}
    with pytest.raises(InputError, match=r"A clip cuts off above only. Of an error with a sign, give its size"):
        of(rows, metric="residual", better="lower", clip=2.0)


def test_cells_are_separated_by_bars_too(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("label|prediction\n" + "a|a\nb|b\n" * 30, encoding="utf-8")
    assert of(path)["holdout"].evidence.errors == 0
    path.write_text("id,score\n" + "".join(f"{n},71%\n" for n in range(60)), encoding="utf-8")
    with pytest.raises(InputError, match="Write the number alone"):
        of(path)


def test_confidences_have_decimal_points(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("label;prediction;confidence\n" + "a;a;0,75\n" * 60, encoding="utf-8")
    with pytest.raises(InputError, match=r"0,75.*with a point for decimals"):
        certiformer.select(path, error=0.1, declaration={"confidence_column": "confidence"})
    report = of(path)
    assert report["holdout"].evidence.errors == 0
    assert "the column confidence has cells that are no numbers, and is not used" in report.warnings
