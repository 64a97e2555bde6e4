"""A report is made again and compared, all of it; what it says is short and says what was counted."""

import copy
import dataclasses
import importlib
import json
import math
import sys

import numpy as np
import pytest
from scipy.stats import beta
from typer.testing import CliRunner

import certiformer
from certiformer.certificates import certificates
from certiformer.certificates.betting import Betting
from certiformer.certificates.compression import Compression
from certiformer.certificates.disagreement import Disagreement
from certiformer.certificates.holdout import HoldOut
from certiformer.certificates.mean_loss import MeanLoss
from certiformer.certificates.occam import Occam
from certiformer.certificates.pacbayes_gibbs import Gibbs
from certiformer.certificates.pacbayes_single import SingleDraw
from certiformer.certificates.progressive import Progressive
from certiformer.certificates.surrogate import Surrogate
from certiformer.certification.verify import schema
from certiformer.cli import application
from certiformer.theory.core.errors import CertiformerError
from certiformer.theory.core.report import SHOWN, WORDS, Decision, Report
from certiformer.theory.core.schema import violations

RANDOM = np.random.default_rng(0)
LABELS = RANDOM.integers(2, size=60)
GIVEN = {
    "heldout_labels": LABELS,
    "heldout_predictions": np.where(np.arange(60) < 5, 1 - LABELS, LABELS),
    "heldout_ids": np.arange(60),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("made")
    np.savez(place / "preds.npz", **GIVEN)
    certiformer.certify(
        predictions=place / "preds.npz",
        declaration={"models": 3, "two_sided": True, "seed": 4, "title": "mine"},
    ).write(place)
    return place


def document_of(folder):
    return json.loads((folder / "report.json").read_text())


def checked(folder, document, **given):
    (folder / "changed.json").write_text(json.dumps(document))
    return certiformer.verify(folder / "changed.json", **{"data": folder / "preds.npz", **given})


def leaves(value, place=()):
    if isinstance(value, dict) and value:
        for name, part in value.items():
            yield from leaves(part, (*place, name))
    elif isinstance(value, list) and value:
        for index, part in enumerate(value):
            yield from leaves(part, (*place, index))
    else:
        yield place


def another(value):
    """A value of the same kind, so that no schema notices."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * (1 - 1e-6) if value else 1e-6
    if isinstance(value, str):
        return f"{value}x"
    return {"type": "other"} if value == {} else ["other"] if value == [] else 0.5


def put(document, place, value):
    inside = copy.deepcopy(document)
    at = inside
    for name in place[:-1]:
        at = at[name]
    at[place[-1]] = value
    return inside


def test_the_schema_holds(folder):
    document = document_of(folder)
    assert list(violations(document, schema())) == []
    assert document["format"] == 2
    assert set(schema()["required"]) == set(document)
    for name in ("value", "conditions", "predictor"):
        entry = {key: value for key, value in document["statements"][0].items() if key != name}
        broken = {**document, "statements": [entry]}
        assert [place for place, *_ in violations(broken, schema())] == [f"statements[0].{name}"]
        assert checked(folder, broken).exit_code == 1


def test_no_leaf_outside_machine_can_be_changed(folder, monkeypatch):
    """Every leaf is changed once. The report is made again only where what it is made from was changed."""
    module = importlib.import_module("certiformer.certification.verify")
    document, known, rebuild = document_of(folder), {}, module.rebuild

    def once(changed, sources):
        key = json.dumps([changed[name] for name in ("declaration", "provenance", "machine")])
        if key not in known:
            known[key] = rebuild(changed, sources)
        return known[key]

    monkeypatch.setattr(module, "rebuild", once)
    whole = checked(folder, document)
    assert whole.exit_code == 0, whole
    passed = [
        place
        for place in leaves({name: part for name, part in document.items() if name != "machine"})
        if checked(folder, put(document, place, another(_at(document, place)))).exit_code == 0
    ]
    assert passed == []
    assert whole.compared > 400


def _at(document, place):
    for name in place:
        document = document[name]
    return document


def test_machine_may_differ(folder):
    document = document_of(folder)
    for name, value in document["machine"].items():
        if name not in ("checkpoint",):
            assert checked(folder, put(document, ("machine", name), f"{value}x")).exit_code == 0, name


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda d: d["statements"][0].update(id="holdout2"), "statements[0].id"),
        (lambda d: d["statements"][0].update(subject="GPT-9"), "statements[0].subject"),
        (lambda d: d.update(conditions=[]), "conditions[0]"),
        (lambda d: d.update(not_checked=[]), "not_checked[0]"),
        (
            lambda d: [c.update(state="verified") for c in d["statements"][0]["conditions"]],
            "statements[0].conditions[0].state",
        ),
        (lambda d: d["observed"].update(heldout_error=0.0), "observed.heldout_error"),
        (lambda d: d["statements"].pop(), "statements["),
        (lambda d: d["provenance"].pop("flow"), ""),
    ],
)
def test_forgeries_are_named(folder, change, field):
    document = document_of(folder)
    change(document)
    found = checked(folder, document)
    assert found.exit_code in ((1,) if field else (1, 3))
    assert not field or any(one.field.startswith(field) for one in found.differences)


def test_a_report_made_from_nothing_is_refused_without_data_too(folder):
    """An id that no registry knows, a small value, and a headline that goes with it."""
    document = document_of(folder)
    row = document["statements"][0]
    row |= {
        "id": "holdout2",
        "key": "holdout2",
        "value": 1e-4,
        "claim": "the model errs on at most 0.01 % of new examples",
    }
    document |= {"headline": "The model errs on at most 0.01 % of new examples, with confidence 95 %."}
    found = checked(folder, document, data=None)
    assert found.exit_code == 1
    assert "statements[0].id" in {one.field for one in found.differences}


def test_another_file_with_as_many_errors_is_another_file(folder, tmp_path):
    other = {**GIVEN, "heldout_labels": 1 - LABELS, "heldout_predictions": 1 - GIVEN["heldout_predictions"]}
    np.savez(tmp_path / "preds.npz", **other)
    found = certiformer.verify(folder / "report.json", data=tmp_path / "preds.npz")
    assert found.exit_code == 1
    assert {one.field for one in found.differences} >= {"provenance.heldout_labels_sha256"}


@pytest.mark.parametrize("name", ["ids", "inputs", "groups"])
def test_other_items_with_the_same_answers_are_another_file(tmp_path, name):
    given = {**GIVEN, "heldout_inputs": np.arange(60.0), "heldout_groups": np.arange(60) // 2}
    np.savez(tmp_path / "one.npz", **given)
    certiformer.certify(predictions=tmp_path / "one.npz").write(tmp_path)
    np.savez(tmp_path / "two.npz", **{**given, f"heldout_{name}": given[f"heldout_{name}"] + 1000})
    found = certiformer.verify(tmp_path / "report.json", data=tmp_path / "two.npz")
    assert f"provenance.heldout_{name}_sha256" in {one.field for one in found.differences}
    assert certiformer.verify(tmp_path / "report.json", data=tmp_path / "one.npz").exit_code == 0


@pytest.mark.parametrize("metric", [[None], [3], [["acc"]]])
def test_a_metric_is_a_name(folder, metric):
    document = document_of(folder)
    assert checked(folder, {**document, "declaration": {**document["declaration"], "metric": metric}}).exit_code == 1


def test_a_declaration_cannot_name_files_or_functions(folder):
    document = document_of(folder)
    for name in ("fit", "model", "by", "evidence"):
        assert checked(folder, put(document, ("declaration", name), "recipe.toml")).exit_code == 1


def test_a_report_of_another_verb_is_not_said_to_differ(folder, tmp_path):
    data = {**GIVEN, "heldout_confidences": np.linspace(0, 1, 60)}
    other = {**GIVEN, "heldout_predictions": LABELS}
    for found in (certiformer.compare(data, other), certiformer.select(data, error=0.5)):
        found.report.write(tmp_path)
        with pytest.raises(CertiformerError, match="the report of another verb"):
            certiformer.verify(tmp_path / "report.json", data=folder / "preds.npz")


def test_a_report_of_the_first_version_is_not_verified(tmp_path):
    (tmp_path / "report.json").write_text(json.dumps({"certificates": [], "provenance": {"certiformer": "0.1.0"}}))
    done = CliRunner().invoke(application(), ["verify", str(tmp_path / "report.json")])
    assert done.exit_code == 3
    assert "written by 0.1.0" in done.stdout


DEEP, LONG = "[" * 100_000, '{"format": ' + "9" * 5000 + "}"


@pytest.mark.parametrize("text", [DEEP, LONG, "\x00", "[]"], ids=["deep", "long", "zero", "list"])
def test_broken_json_is_one_line(tmp_path, text):
    (tmp_path / "report.json").write_text(text)
    with pytest.raises(CertiformerError, match="report"):
        certiformer.verify(tmp_path / "report.json")


@pytest.mark.parametrize(("text", "code"), [('{"format": 2}', 1), ('{"format": [2]}', 3)])
def test_json_that_is_no_report_does_not_pass(tmp_path, text, code):
    (tmp_path / "report.json").write_text(text)
    assert certiformer.verify(tmp_path / "report.json").exit_code == code


@pytest.mark.parametrize(
    "change",
    [
        {"n": 10**18, "errors": 10**17},
        {"models": 10**30},
        {"n": "many"},
        {"n": [1]},
        {"predictor": {"a": 1}},
        {"record": 1},
    ],
    ids=str,
)
def test_hostile_counts_end_at_once(tmp_path, change):
    certiformer.certify(evidence=HoldOut(errors=3, n=100)).write(tmp_path)
    document = json.loads((tmp_path / "report.json").read_text())
    document["statements"][0]["evidence"] |= change
    (tmp_path / "report.json").write_text(json.dumps(document))
    assert certiformer.verify(tmp_path / "report.json").exit_code == 1


# Words


RECORDS = (
    HoldOut(errors=10, n=1000, models=7),
    Betting(losses=(0.01,) * 300, low=0.005, high=5.3, smoothing=0.01, classes=2),
    Occam(errors=0, n=150, code_length=5.0, subject="the model named by 4 integers"),
    Gibbs(error=0.01, n=5000, KL=20.0, subject="a randomised network"),
    SingleDraw(errors=50, n=5000, log_ratio=10.0, subject="a network drawn once"),
    Disagreement(errors=10, n=1000, disagreements=3, unlabelled=900, subject="the final model"),
    Surrogate(errors=1, n=500, disagreements=3, m=900, subject="the encoder trained on all 10,000 images"),
    Progressive(mean_loss=0.01, n=10_000, subject="an iterate drawn at random"),
    Compression(k=12, n=2000),
    MeanLoss(losses=np.full(300, 0.1), what="1 - f1", two_sided=True),
    MeanLoss(losses=np.full(300, 0.1), what="error rate", unit="group", of="groups", models=4, label="g"),
)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.key)
def test_a_report_is_short(record):
    report = certiformer.certify(evidence=record)
    assert len(report.headline.split()) <= 30
    assert "95 %" in report.headline
    assert "at most" in report.headline
    lines = str(report).splitlines()
    assert len(lines) <= 12
    held = [line.removeprefix("It holds if ") for line in lines if line.startswith("It holds if ")]
    assert len(held) == min(SHOWN, len(report.conditions))
    assert all(len(line.partition(" (")[0].split()) <= WORDS for line in held)
    assert all(len(text.split()) <= WORDS for text in report.conditions), report.conditions
    assert report.value == report[record.id].value
    assert report.confidence == pytest.approx(0.95)
    assert "<table>" in report._repr_html_()


def test_examples_are_what_they_are_to_the_predictor():
    assert "held-out" not in certiformer.certify(evidence=RECORDS[2]).basis
    assert certiformer.certify(evidence=RECORDS[2]).basis == "0 errors among 150 examples it was trained on"
    assert certiformer.certify(evidence=RECORDS[0]).basis == "10 errors among 1,000 held-out examples"
    assert "fitted to" in certiformer.certify(evidence=RECORDS[4]).basis


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (Progressive(mean_loss=0.01, n=10_000), "The models of one training pass err on at most"),
        (Gibbs(error=0.01, n=5000, KL=20.0, subject="a randomised network"), "averaged over its random weights"),
        (RECORDS[1], "The cross-entropy of the smoothed predictor on new examples is at most"),
    ],
)
def test_what_says_something_leads_in_its_own_words(record, words):
    report = certiformer.certify(evidence=record)
    assert words in report.headline
    assert report[record.id].informative


@pytest.mark.parametrize(
    ("what", "of", "named"),
    [
        ("log-loss", "tokens (at most 9 in an example)", True),
        ("smoothed log-loss", "tokens (at most 9 in an example)", True),
        ("clipped log-loss", "tokens (at most 9 in an example)", False),
        ("log-loss", "groups", False),
        ("smoothed log-loss", "examples", False),
    ],
)
def test_a_perplexity_is_one_of_tokens_and_not_clipped(what, of, named):
    record = MeanLoss(losses=np.full(200, 0.5), high=9.0, what=what, of=of, perplexity=True)
    report = certiformer.certify(evidence=record)
    assert ("perplexity" in report.headline) is named
    assert ("the smoothed predictor" in report.headline) is what.startswith("smoothed")


def test_limits_that_are_two_sided_say_both():
    report = certiformer.certify(evidence=HoldOut(errors=30, n=100, two_sided=True))
    low, high = 100 * beta.ppf(0.025, 30, 71), 100 * beta.ppf(0.975, 31, 70)
    shown = f"at least {math.floor(100 * low) / 100:.2f} % and at most {math.ceil(100 * high) / 100:.2f} %"
    assert report.headline.startswith(f"The model errs on {shown} of new examples")
    assert report.lower == report["holdout"].lower


def test_every_certificate_says_what_it_limits():
    words = {kind.measures for kind in certificates().values()}
    assert all(len(text.split()) >= 2 for text in words)


def test_long_names_do_not_make_long_headlines():
    record = HoldOut(errors=1, n=100, subject=" ".join(["name"] * 60))
    assert len(certiformer.certify(evidence=record).headline.split()) <= 30


def test_headlines_of_all_verbs_are_short():
    many = "a name of many words that somebody gave once and nobody changed since"
    rng = np.random.default_rng(0)
    table = {"id": np.arange(300), "place": [f"{many} {k % 2}" for k in range(300)], "doc": np.arange(300) // 3}
    table |= {"acc": rng.integers(0, 2, 300), many: rng.random(300)}
    said = {"metric": many, "better": "lower", "range": (0, 1), "slices": "place", "group": "doc"}
    one = certiformer.Sample.of(table, {"metric": "acc"})
    two = dataclasses.replace(one, name=f"the second {many}")
    reports = [certiformer.certify(predictions=table, declaration=said)]
    reports += [certiformer.gate(table, error=error, declaration=said) for error in (0.2, 0.5, 0.8)]
    reports += [
        certiformer.gate(table, error=0.5, declaration={**said, "metric": ("acc",), "range": None, "better": None})
    ]
    reports += [certiformer.compare(one, two).report, certiformer.compare(two, one, margin=0.1).report]
    reports += [certiformer.gate(one, against=two, margin=0.1)]
    for report in reports:
        assert len(report.headline.split()) <= 30, report.headline
        assert "95 %" in report.headline
        assert len(str(report).splitlines()) <= 12


def test_control_characters_are_written_out():
    record = HoldOut(errors=1, n=100, subject="a\x1b[31m\x1b]0;owned\x07 model")
    text = str(certiformer.certify(evidence=record))
    assert "\x1b" not in text
    assert "\\x1b" in text


# The object


def test_a_frame_needs_pandas_and_says_so(monkeypatch):
    report = certiformer.certify(evidence=RECORDS[0])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(CertiformerError, match="pip install pandas"):
        report.to_frame()
    monkeypatch.setitem(sys.modules, "pandas", type(sys)("pandas"))
    sys.modules["pandas"].DataFrame = lambda rows: rows
    (row,) = report.to_frame()
    assert row["value"] == report.value
    assert row["quantity"] == "error rate on new examples"


def test_a_report_draws_itself():
    report = certiformer.certify(evidence=RECORDS[:6])
    figure = report.plot()
    assert [axes.get_xlabel().partition(" ")[0] for axes in figure.axes] == ["error", "cross-entropy"]
    assert len(figure.axes[0].get_yticks()) == 5


def test_an_evaluation_is_a_report_too():
    found = certiformer.bound("trauger.lem3.6", Bw=1, Bx=1, eps=0.5, d=4, k=4)
    report = found.report()
    assert isinstance(report, Report)
    assert report.value == found.sound[found.best].value
    assert len(str(found).splitlines()) <= 12
    assert {row.version for row in report.statements} == {"sound", "printed"}
    assert list(violations(json.loads(json.dumps(report.document)), schema())) == []


def test_decisions_are_written():
    from certiformer.certification.pipeline import Findings, build

    nothing = {"observed": {}, "configuration": {}, "splits": {}, "seed": 0}
    told = (Decision("loss", "1 - column f1", "higher is better"),)
    report = build(Findings(title="a test", classes=2, evidence=(RECORDS[0],), decisions=told, **nothing))
    assert report.document["decisions"] == [{"subject": "loss", "choice": "1 - column f1", "why": "higher is better"}]
    assert "1 - column f1" in report.page()


# The first screen


def test_the_first_screen(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("preds.npz", **GIVEN, heldout_slices=np.array(["a", "b"])[np.arange(60) % 2])
    monkeypatch.setenv("COLUMNS", "130")  # a terminal that breaks none of these lines
    done = CliRunner().invoke(application(), ["certify", "preds.npz", "--out", "out"])
    lines = done.stdout.splitlines()
    assert lines[0].startswith("The model errs on at most")
    assert lines[1] == "Seen: 5 errors among 60 held-out examples."
    assert len(lines) <= 12
    assert "  --all shows the table" in done.stdout
    assert "verdict" not in done.stdout
    assert any(line.startswith("Report:  out/report.html") for line in lines)
    assert any("certiformer verify out/report.json --data preds.npz" in line for line in lines)
    table = CliRunner().invoke(application(), ["certify", "preds.npz", "--out", "out", "--all"]).stdout
    assert "holdout (slice a)" in table
    again = CliRunner().invoke(application(), ["verify", "out/report.json", "--data", "preds.npz"])
    assert again.exit_code == 0
    assert again.stdout.splitlines()[-1].startswith("Verified:")
