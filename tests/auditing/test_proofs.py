"""Proofs for a kernel, as far as no kernel is needed: what is written, what is refused, what is never run."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certiformer
import quotations
from certiformer.auditing import kernel, proofs
from certiformer.auditing.proof_claims import MOST_COUNTED, Counted, UpperLimit, proof_text
from certiformer.certificates._refutations import refutation_of, refutations
from certiformer.theory.calculus.tails import binomial_upper
from certiformer.theory.core.errors import InputError
from proving import FALSE, TRUE, run, table

UNPROVED = re.compile(r"Admitted|admit|Axiom|Parameter|Conjecture|Hypothesis|Unset Guard|bypass_check|Declare ML|Load ")


@pytest.mark.parametrize("name", TRUE)
def test_what_is_true_is_shown(name: str) -> None:
    assert all(theorem.shown for theorem in TRUE[name].theorems())


@pytest.mark.parametrize("name", FALSE)
def test_what_is_false_is_not(name: str) -> None:
    with pytest.raises(InputError, match="whole numbers confirm"):
        proof_text([FALSE[name]])


def test_the_report_s_own_double_its_decimal_and_the_sum_of_shares_are_stated(tmp_path: Path) -> None:
    told = run("certify", table(tmp_path / "p.csv"), "--models", "3", "--out", tmp_path, "--proof")
    text = (tmp_path / "proof.v").read_text()
    report = json.loads((tmp_path / "report.json").read_text())
    row = report["statements"][0]
    value, share = Fraction(row["value"]), Fraction(report["shares"]["holdout"])
    assert f"certiformer verify {tmp_path}/report.json --proof" in told.replace("\n", "")
    sides = f"{share.numerator} {share.denominator}"
    assert f"holdout_1 : holdout 400 5 3 {value.numerator} {value.denominator} {sides}." in text
    printed = Fraction(re.search(r"at most (\d+\.\d\d) %", report["headline"]).group(1)) / 100  # type: ignore[union-attr]
    assert f"holdout_2 : holdout 400 5 3 {printed.numerator} {printed.denominator} {sides}." in text
    assert "jointly_3 : jointly [" in text


def test_both_limits_are_stated_together(tmp_path: Path) -> None:
    run("certify", table(tmp_path / "p.csv"), "--two-sided", "--out", tmp_path, "--proof")
    row = json.loads((tmp_path / "report.json").read_text())["statements"][0]
    low, high = Fraction(row["lower"]), Fraction(row["value"])
    limits = f"{high.numerator} {high.denominator} {low.numerator} {low.denominator}"
    assert f": two_sided 400 5 1 {limits} " in (tmp_path / "proof.v").read_text()


def test_disagreement_is_stated(tmp_path: Path) -> None:
    labels = np.arange(600) % 2
    np.savez(
        tmp_path / "p.npz",
        heldout_labels=labels,
        heldout_predictions=np.where(np.arange(600) < 4, 1 - labels, labels),
        unlabelled_predictions=labels,
        unlabelled_final_predictions=np.where(np.arange(600) < 3, 1 - labels, labels),
    )
    run("certify", tmp_path / "p.npz", "--out", tmp_path, "--proof")
    text = (tmp_path / "proof.v").read_text()
    assert ": disagreement 600 4 600 3 1 " in text
    assert ": holdout 600 4 1 " in text


def test_the_sign_test_is_stated_at_a_p_value_rounded_up(tmp_path: Path) -> None:
    a, b = table(tmp_path / "a.csv", 5, every=7), table(tmp_path / "b.csv", 24, every=11)
    told = run("compare", a, b, "--proof", tmp_path / "sign.v")
    assert "verify numbers.json --proof" in told.replace("\n", " ")
    claim = proofs.sign_claim(12, 32, 0.003657766827927844)
    assert claim.p == Fraction(3658, 10**6)
    assert re.search(r": sign_test \d+ \d+ \d+ \d+\.", (tmp_path / "sign.v").read_text())
    with pytest.raises(InputError, match="the p-value of 12 against 32"):
        proofs.sign_claim(12, 32, 0.0036)
    assert proofs.sign_claim(0, 1100, 0.0).p == Fraction(1, 10**300)
    with pytest.raises(InputError, match="needs no proof"):
        proof_text([proofs.sign_claim(3, 3, 1.0)])


def test_a_gate_is_stated_at_the_threshold_that_was_typed(tmp_path: Path) -> None:
    (theorem,) = proofs.gate_claim(5, 5000, 0.0022, 0.05).theorems()
    assert theorem.statement == "gate 5000 5 1 11 5000 1 20"
    assert theorem.shown
    predictions, proof = table(tmp_path / "p.csv"), tmp_path / "gate.v"
    said = run("gate", predictions, "--error", "0.05", "--slice", "label", "--proof", proof)
    assert "verify numbers.json --proof" in said.replace("\n", " ")
    slices = len(certiformer.gate(predictions, error=0.05, declaration={"slices": "label"}).statements)
    assert f": gate 400 5 {slices} 1 20 1 20." in proof.read_text()


@pytest.mark.parametrize("slices", [None, "label"])
def test_a_gate_whose_words_its_numbers_do_not_say_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slices: str | None
) -> None:
    """The kernel reads threshold, counts and delta: headline, claim, confidence and verdict must follow from them."""
    monkeypatch.setattr(kernel, "found_coqc", lambda: None)
    path = tmp_path / "numbers.json"
    true = json.loads(
        json.dumps(certiformer.gate(table(tmp_path / "p.csv"), error=0.05, declaration={"slices": slices}).document)
    )

    def told(change: Any, code: int) -> str:
        document = json.loads(json.dumps(true))
        change(document, document["statements"][0])
        path.write_text(json.dumps(document))
        return run("verify", path, "--proof", code=code)

    assert "apt-get" in told(lambda document, row: None, 3)
    for change in (
        lambda document, row: document.update(headline=document["headline"].replace("at most 5 %", "at most 1 %")),
        lambda document, row: document.update(headline=document["headline"].replace("95 %", "99 %")),
        lambda document, row: document.update(verdict="undecided"),
        lambda document, row: row.update(claim=row["claim"].replace("at most 5 %", "at most 1 %")),
        lambda document, row: row.update(title="Gate at 1 %"),
        lambda document, row: row.update(confidence=0.9999),
    ):
        assert "does not follow" in told(change, 1)


def test_a_gate_that_does_not_pass_is_not_stated(tmp_path: Path) -> None:
    predictions, proof = table(tmp_path / "p.csv", 100, every=4), tmp_path / "gate.v"
    assert "only a PASS" in run("gate", predictions, "--error", "0.05", "--proof", proof, code=1)
    assert not proof.exists()
    with pytest.raises(InputError, match="a gate of right and wrong answers that is passed"):
        proofs.proof_of(certiformer.gate(predictions, error=0.05).document)


def test_every_answer_wrong_gives_a_risk_of_at_most_one(tmp_path: Path) -> None:
    run("certify", table(tmp_path / "p.csv", 400, every=1), "--out", tmp_path, "--proof")
    assert ": holdout 400 400 1 1 1 " in (tmp_path / "proof.v").read_text()


def test_more_than_twenty_thousand_errors_are_refused() -> None:
    claim = UpperLimit(20_001, 10**6, Fraction(1, 20), 1, Fraction(1, 2))
    with pytest.raises(InputError, match=r"20,001 errors.*at most 20,000"):
        proof_text([claim])


def test_the_kernel_counts_labels_of_any_kind(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("label,prediction\n" + "cat,cat\ndog,cat\n" * 30)
    run("certify", tmp_path / "p.csv", "--out", tmp_path, "--proof=count")
    text = (tmp_path / "proof.v").read_text()
    assert "counted_1 : counted [(0, 0); (1, 0); " in text
    assert "dog" not in text


def test_what_cannot_be_counted_is_refused(tmp_path: Path) -> None:
    path = table(tmp_path / "p.csv")
    with pytest.raises(InputError, match="nothing, or count"):
        run("certify", path, "--out", tmp_path, "--proof=all")
    with pytest.raises(InputError, match=r"at most 10,000 examples"):
        list(Counted([(0, 0)] * (MOST_COUNTED + 1), 0).theorems())
    document = json.loads((tmp_path / "report.json").read_text())
    with pytest.raises(InputError, match="the counts of the report"):
        proofs.proof_of(document, [(0, 1)] * 400)


def test_what_the_kernel_does_not_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "losses.csv").write_text("id,losses\n" + "".join(f"{i},0.{i % 9}\n" for i in range(200)))
    within = ("--range", "0", "1", "--out", tmp_path)
    with pytest.raises(InputError, match="one of these certificates: holdout, disagreement"):
        run("certify", tmp_path / "losses.csv", "--metric", "losses", "--lower-is-better", *within, "--proof")


@pytest.fixture
def untouched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "check_text", lambda *given, **options: pytest.fail("the kernel was asked"))


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize(
    "forge",
    [
        lambda text: text.replace("Qed", "Admitted"),
        lambda text: text.replace("Open Scope", "Definition holdout (n k K a b dn dd : Z) := True.\nOpen Scope"),
        lambda text: text + 'Redirect "stolen" Print All.\n',
        lambda text: "",
    ],
)
def test_a_proof_that_was_handed_over_is_compared_and_never_run(tmp_path: Path, forge: Any) -> None:
    run("certify", table(tmp_path / "p.csv"), "--out", tmp_path, "--proof")
    (tmp_path / "proof.v").write_text(forge((tmp_path / "proof.v").read_text()))
    assert "not the one that follows from its numbers" in run("verify", tmp_path / "report.json", "--proof", code=1)


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize("field", ["value", "share", "errors", "delta", "confidence", "words", "format", "gate"])
def test_a_report_with_a_forged_number_is_refused(tmp_path: Path, field: str) -> None:
    run("certify", table(tmp_path / "p.csv"), "--out", tmp_path)
    path = tmp_path / "report.json"
    document = json.loads(path.read_text())
    row = document["statements"][0]
    if field == "value":
        row["value"] *= 0.999
    elif field == "share":
        row["terms"]["share of delta"] /= 2
    elif field == "errors":
        row["evidence"]["errors"] += 1
    elif field == "confidence":
        # A true limit at confidence 50 %, under a headline that says 95 %.
        row["terms"]["share of delta"], row["value"] = 0.5, binomial_upper(5, 400, math.log(0.5))
    elif field == "words":
        document["headline"] = document["headline"].replace("at most ", "at most 0.")
    elif field == "format":
        document |= {"format": 1, "headline": "The model never errs."}
    elif field == "gate":
        document["verdict"] = "pass"
    else:
        document["delta"] = 0.049
    path.write_text(json.dumps(document))
    if field == "gate":
        with pytest.raises(InputError, match="no number that the kernel reads"):
            run("verify", path, "--proof")
    else:
        assert "kernel: NOT checked" in run("verify", path, "--proof", code=1)


def test_without_the_compiler_it_is_said_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("certify", table(tmp_path / "p.csv"), "--out", tmp_path)
    monkeypatch.setattr(kernel, "found_coqc", lambda: None)
    told = run("verify", tmp_path / "report.json", "--proof", code=3)
    assert "apt-get install" in told
    assert "dpkg -x" in told


@pytest.mark.parametrize(
    "content",
    [
        "[]",
        "{}",
        "no json",
        '{"statements": 3}',
        '{"statements": [3]}',
        '{"statements": [{"id": "holdout", "version": "sound", "value": NaN, "evidence": {"n": 1}, "terms": {}}]}',
        '{"comparison": {"discordant": [1e9, 1e15], "p": 0.1}}',
        '{"comparison": {"discordant": [-1, 5], "p": 0.1}}',
        '{"comparison": {"discordant": null, "p": 0.1}}',
    ],
)
def test_what_is_no_report_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "report.json").write_text(content)
    with pytest.raises(InputError):
        run("verify", tmp_path / "report.json", "--proof")


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("Axioms:\nit\n  : holdout 1 2\n", "assumed without proof: it"),
        ("Axioms:\nClassical_Prop.classic : forall P : Prop, P\n", "assumed without proof: Classical_Prop.classic"),
        ("", "did not say"),
        ("Axioms:\n", "something unnamed"),
    ],
)
def test_an_axiom_that_is_not_pinned_is_refused(printed: str, expected: str) -> None:
    with pytest.raises(kernel.Refused, match=expected):
        kernel._axioms(printed, kernel.LIMITS_REST_ON)


def test_nothing_is_left_unproved_in_what_is_shipped() -> None:
    for text in (*kernel.library().values(), *map(refutation_of, refutations())):
        code = re.sub(r"\(\*.*?\*\)", "", text, flags=re.DOTALL)
        assert not UNPROVED.search(code)
        assert code.count("Proof.") == code.count("Qed.") + code.count("Defined.")


@pytest.mark.counterexample("deora.eq14", "deora.sec5.3", "deora.softmax", "li.lemB.6", "mwigo.lem4", "trauger.lem3.1")
@pytest.mark.parametrize("id", refutations())
def test_a_refutation_quotes_what_is_printed_and_explain_names_it(id: str) -> None:
    text = refutation_of(id)
    result = certiformer.explain(id)
    assert result.status.value == "false"
    assert text.startswith(f"(* {id}: ")
    head = text[: text.index("From Coq")]
    assert re.search(r'Printed, [^"]+: "', head)
    assert "Read here: " in head
    assert "~ printed" in text
    assert f"Refuted; checked by a proof kernel: certiformer explain {id} --proof" in run("explain", id)
    assert json.loads(run("explain", id, "--json"))["refutation"] == f"certiformer explain {id} --proof"


def test_every_quotation_of_a_refutation_was_compared_with_the_text() -> None:
    compared = json.loads(quotations.REFUTED.read_text())
    found = {id: [quotations.digest(words) for words in several] for id, several in quotations.refuted().items()}
    assert found == compared, "run tools/quotations.py --texts DIR"
    assert all(found.values())


def test_a_result_that_is_not_refuted_says_so() -> None:
    assert json.loads(run("explain", "li.lem6.1", "--json"))["refutation"] is None
    assert "proof kernel" not in run("explain", "li.lem6.1")
