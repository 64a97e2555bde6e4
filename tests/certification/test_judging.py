"""Few human labels and a judge's verdicts, from a file to `certify` and `gate`: what is asked, said and verified."""

import csv
import json

import numpy as np
import pytest

import certiformer
from certiformer.certification.verify import verify
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.report import cut

ASKED = {"human": "human", "judge": "judge", "labelled": "random", "expect": 0.15, "correlation": 0.8}
SAID = {"judging": ASKED}


def table(path, rows=1200, labelled=200, rate=0.15, seed=0, ids=True, turned=False):
    draw = np.random.default_rng(seed)
    wrong = draw.random(rows) < rate
    judge = np.where(wrong, draw.random(rows) < 0.95, draw.random(rows) < 0.02)
    chosen = set(draw.permutation(rows)[:labelled].tolist())
    with path.open("w", newline="") as file:
        write = csv.writer(file)
        write.writerow(["id", "human", "judge"][not ids :])
        for row in range(rows):
            label = ("wrong" if wrong[row] else "right") if row in chosen else ""
            write.writerow([row, label, ("wrong" if judge[row] ^ turned else "right")][not ids :])
    return path


@pytest.fixture
def file(tmp_path):
    return table(tmp_path / "j.csv", turned=True)


def test_a_judge_shortens_the_limit_and_humans_stand_beside_it(file, tmp_path):
    # in this file the judge says right where it means wrong: expected beforehand, by a negative correlation
    report = certiformer.certify(predictions=file, declaration={"judging": {**ASKED, "correlation": -0.8}})
    found = report["mean_loss"]
    assert found.value < found.terms["humans alone"]
    assert found.value > 0.1
    assert "human labels, and a judge's verdicts on them and on 1,000 other items; humans alone" in report.basis
    assert "drawn at random among all of them, blind to the judge" in report.conditions[0]
    assert "human labels and a judge" in report["holdout"].reason
    report.write(tmp_path / "out")
    checked = verify(tmp_path / "out" / "report.json", data=file)
    assert checked.exit_code == 0, checked


@pytest.mark.parametrize("name", ["expect", "correlation"])
def test_what_was_expected_cannot_be_changed_afterwards(file, tmp_path, name):
    certiformer.certify(predictions=file, declaration=SAID).write(tmp_path / "out")
    document = json.loads((tmp_path / "out" / "report.json").read_text())
    document["declaration"]["judging"][name] *= 1 - 1e-6
    (tmp_path / "out" / "changed.json").write_text(json.dumps(document))
    assert certiformer.verify(tmp_path / "out" / "changed.json", data=file).exit_code == 1


def test_a_wrong_expectation_costs_width_only(file):
    plain = certiformer.certify(predictions=file, declaration=SAID)["mean_loss"]
    assert plain.terms["humans alone"] < plain.value < 1.2 * plain.terms["humans alone"]


def test_rare_errors_are_left_to_humans(file):
    report = certiformer.certify(predictions=file, declaration={"judging": {**ASKED, "expect": 0.01}})
    assert report["holdout"].evidence.n == 200
    assert "for rare errors no judge improves this limit" in report.warnings[0]
    assert cut(report.warnings[0]).endswith("at least about 3/m = 0.015 at 95 %"), "on one line of the screen"
    assert any("drawn at random" in text for text in report.conditions)


def test_why_the_judge_is_not_used(tmp_path):
    given = table(tmp_path / "j.csv", rows=400, labelled=150)  # one other item for each label
    for correlation, why in ((0.8, "250 rows without a label are too few"), (0.5, "not expected to follow the humans")):
        report = certiformer.certify(predictions=given, declaration={"judging": {**ASKED, "correlation": correlation}})
        assert why in report.warnings[0]


def test_labels_that_chance_would_not_draw_are_warned_of(tmp_path):
    first, *rest = table(tmp_path / "j.csv").read_text().splitlines()
    said = "of rows drawn at random less than once in 10,000 times"
    assert not any(said in text for text in certiformer.gate(tmp_path / "j.csv", error=0.2, declaration=SAID).warnings)
    fine = [line for line in rest if line.endswith(",right")]  # humans look where the judge says fine
    chosen = [
        f"{line.split(',')[0]},right,right" if line in fine[:200] else f"{line.split(',')[0]},,{line.split(',')[2]}"
        for line in rest
    ]
    (tmp_path / "chosen.csv").write_text("\n".join([first, *chosen]) + "\n")
    assert said in certiformer.gate(tmp_path / "chosen.csv", error=0.2, declaration=SAID).warnings[0]


def test_a_gate_uses_the_judge(tmp_path):
    given = table(tmp_path / "j.csv")
    far = certiformer.gate(given, error=0.25, declaration=SAID)
    assert (far.verdict, far.exit_code) == ("pass", 0)
    assert "humans alone would give" in far.basis
    assert certiformer.gate(given, error=0.05, declaration=SAID).verdict == "fail"
    near = certiformer.gate(given, error=0.15, declaration=SAID)
    assert near.verdict == "undecided"
    assert "new items with a human label" in near.advice


def test_the_order_of_the_rows_does_not_matter_where_there_are_ids(file, tmp_path):
    first, *rest = file.read_text().splitlines()
    other = tmp_path / "other.csv"
    other.write_text("\n".join([first, *reversed(rest)]) + "\n")
    both = [certiformer.certify(predictions=one, declaration=SAID)["mean_loss"].value for one in (file, other)]
    assert both[0] == both[1]


@pytest.mark.parametrize("place", [0, 1])
def test_without_ids_neither_labels_nor_verdicts_are_sorted(tmp_path, place):
    first, *rest = table(tmp_path / "j.csv", ids=False).read_text().splitlines()
    certiformer.certify(predictions=tmp_path / "j.csv", declaration=SAID)
    rest.sort(key=lambda line: (line.split(",")[0] != "", line.split(",")[1]) if place else line.split(",")[0])
    (tmp_path / "sorted.csv").write_text("\n".join([first, *rest]) + "\n")
    with pytest.raises(InputError, match="sorted by its own values"):
        certiformer.certify(predictions=tmp_path / "sorted.csv", declaration=SAID)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"judge": None}, "--human COLUMN --judge COLUMN"),
        ({"labelled": None}, "--labelled random"),
        ({"expect": None}, "a wrong guess costs width, never validity"),
        ({"correlation": 2.0}, r"\[-1, 1\]"),
        ({"group": "id"}, "nothing beside human labels"),
        ({"human": "judge"}, "two columns"),
        ({"expect": "often"}, r"a rate, and a number in"),
        ({"unscored": "wrong"}, "what the judge is for"),
    ],
)
def test_what_is_missing_is_asked(file, change, word):
    inside = {**ASKED, **{name: value for name, value in change.items() if name in ASKED}}
    beside = {name: value for name, value in change.items() if name not in ASKED}
    with pytest.raises(InputError, match=word):
        certiformer.certify(predictions=file, declaration={"judging": inside, **beside})


def test_its_fields_stand_together(file):
    with pytest.raises(InputError, match="judging"):
        certiformer.certify(predictions=file, declaration=ASKED)
    with pytest.raises(InputError, match="judging"):
        certiformer.certify(predictions=file, human="human")


def test_columns_are_checked(tmp_path):
    many = table(tmp_path / "many.csv", rows=300, labelled=200)
    with pytest.raises(InputError, match="at least as many rows without a label"):
        certiformer.certify(predictions=many, declaration=SAID)
    numbers = {"human": [1, 0, None, None, 1, None], "judge": [0.2, 0.9, 0.1, 0.4, 0.8, 0.7]}
    with pytest.raises(InputError, match="If 1 means right, say --higher-is-better"):
        certiformer.Sample.of(numbers, SAID)
    read = certiformer.Sample.of(numbers, {**SAID, "better": "lower"})
    assert read.outcomes[0].losses.tolist() == [1.0, 0.0, 1.0]
    with pytest.raises(InputError, match=r"a verdict in \[0, 1\]"):
        certiformer.Sample.of({**numbers, "judge": [0.2, 9, 0.1, 0.4, 0.8, 0.7]}, {**SAID, "better": "lower"})
    in_order = table(tmp_path / "sorted.csv", ids=False)
    head, *rows = in_order.read_text().splitlines()
    in_order.write_text("\n".join([head, *sorted(rows, key=lambda row: row.split(",")[1])]) + "\n")
    with pytest.raises(InputError, match="judge"):
        certiformer.certify(predictions=in_order, declaration=SAID)
    for beside in ({"anytime": tmp_path / "state.json"}, {"ledger": tmp_path / "ledger.json"}):
        with pytest.raises(InputError, match="a fixed gate with --error alone"):
            certiformer.gate(table(tmp_path / "j.csv"), error=0.2, declaration=SAID, **beside)
