"""The proof kernel itself: library, certificates, refutations, and what it must refuse. `make proofs`."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path

import pytest

from certiformer.auditing import kernel, proofs
from certiformer.auditing.proof_claims import HEADER, proof_text
from certiformer.certificates._refutations import refutations
from certiformer.theory.calculus.tail_check import tail_at_least, tail_at_most
from proving import FALSE, TRUE, run, table, text_of

pytestmark = [
    pytest.mark.coq,
    pytest.mark.skipif(kernel.found_coqc() is None, reason="there is no coqc (apt-get install coq)"),
]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the library, compiled once."""
    folder = tmp_path_factory.mktemp("library")
    for name, text in kernel.library().items():
        kernel._compile("coqc", folder, name, text)
    return folder


def accepted(folder: Path, text: str) -> tuple[str, ...]:
    return kernel._axioms(kernel._compile("coqc", folder, "proof", text), kernel.LIMITS_REST_ON)


def test_a_certificate_of_every_kind_is_accepted(compiled: Path) -> None:
    found = accepted(compiled, proof_text(TRUE.values()))
    assert found == ("sig_forall_dec", "functional_extensionality_dep")


@pytest.mark.parametrize("name", FALSE)
def test_a_false_one_of_every_kind_is_refused(compiled: Path, name: str) -> None:
    (theorem,) = FALSE[name].theorems()
    with pytest.raises(kernel.Refused, match=r"NOT checked: .*Error"):
        accepted(compiled, text_of(theorem))


def test_what_is_left_unproved_is_named(compiled: Path) -> None:
    (theorem,) = FALSE["gate"].theorems()
    with pytest.raises(kernel.Refused, match="assumed without proof: it"):
        accepted(compiled, text_of(theorem).replace("Qed", "Admitted"))


def test_the_mirror_in_python_says_what_the_kernel_says(compiled: Path) -> None:
    """At the edge: delta is the tail itself, up to parts in 2^90."""
    draw = random.Random(8)
    rows = []
    for _ in range(60):
        n = draw.randint(1, 40)
        k, p = draw.randint(0, n - 1), Fraction(draw.randint(1, 63), 64)
        tail = Fraction(proofs_tail(n, k, p)) + Fraction(draw.randint(-99, 99), 2**97)
        high = tail_at_most(n, k, p, tail)
        low = tail_at_least(n, k + 1, p, 1 - tail)
        given = f"{p.numerator} {p.denominator}"
        rows.append((f"check {n} {k} {given} ({tail.numerator}) {tail.denominator}", high))
        rest = 1 - tail
        rows.append((f"check_low {n} {k + 1} {given} ({rest.numerator}) {rest.denominator}", low))
    assert {answer for _, answer in rows} == {True, False}
    listed = "; ".join(call for call, _ in rows)
    answers = "; ".join(str(answer).lower() for _, answer in rows)
    text = HEADER.replace("Import Statements", "Import Statements Check")
    text += f"Theorem same : [{listed}] = [{answers}].\nProof. vm_compute. reflexivity. Qed.\nPrint Assumptions same.\n"
    assert accepted(compiled, text) == ()


def proofs_tail(n: int, k: int, p: Fraction) -> Fraction:
    term = total = (1 - p) ** n
    for i in range(k):
        term = term * (n - i) * p / ((i + 1) * (1 - p))
        total += term
    return total


def test_a_report_is_checked_from_end_to_end(tmp_path: Path) -> None:
    run("certify", table(tmp_path / "p.csv"), "--two-sided", "--out", tmp_path, "--proof=count")
    told = run("verify", tmp_path / "report.json", "--data", tmp_path / "p.csv", "--proof")
    assert told.startswith("kernel: checked; rests on: the axioms of Coq's reals (sig_forall_dec, functional_ext")
    assert len(told.splitlines()) == 1


def test_a_comparison_is_checked_from_end_to_end(tmp_path: Path) -> None:
    a, b = table(tmp_path / "a.csv", 5, every=7), table(tmp_path / "b.csv", 24, every=11)
    (tmp_path / "comparison.json").write_text(run("compare", a, b, "--json"))
    assert json.loads(run("verify", tmp_path / "comparison.json", "--proof", "--json"))["checked"] is True


@pytest.mark.parametrize("id", refutations())
def test_a_printed_statement_is_refuted(id: str) -> None:
    assert proofs.check_refutation(id).startswith("kernel: checked")
