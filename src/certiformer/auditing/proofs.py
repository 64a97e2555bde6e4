"""From a report to its proof and back: `proof_of` writes proof.v, `check` makes it again and asks the kernel.

The only place that knows how a report stores what the proof needs is `claims_of`.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from certiformer.auditing import kernel
from certiformer.auditing.proof_claims import (
    Claim,
    Counted,
    Gate,
    NotShown,
    SignTest,
    Together,
    Transfer,
    TwoSided,
    UpperLimit,
    proof_text,
    refuse_many,
)
from certiformer.certificates._refutations import refutation_of
from certiformer.certification.declaration import Declaration
from certiformer.certification.sample import Sample
from certiformer.certification.sources.rows import whole
from certiformer.certification.verify import verify
from certiformer.report.numbers import percent, percent_down, percent_up
from certiformer.theory.core.errors import CertiformerError, InputError
from certiformer.theory.core.json_reader import read_json
from certiformer.theory.core.report import confidence_text
from certiformer.theory.core.whole_files import write_text

Pairs = Sequence[tuple[int, int]]

LIMITS, COUNT = "limits", "count"
"""What `--proof` and `--proof=count` ask for."""
MOST_DISCORDANT = 1_000_000
"""Beyond this many examples on which two models differ, the exact p-value takes long."""
LEAST_P = Fraction(1, 10**300)
"""A smaller p-value is stated as this."""
KINDS = ("holdout", "disagreement")
"""The certificates that the kernel reads; the others are numbers of other theorems."""
CONDITIONS = "independent draws and models fixed beforehand"
"""What no kernel can know."""


def proof_of(document: Mapping[str, Any], pairs: Pairs | None = None) -> str:
    """proof.v for a report, or for the sign tests of a comparison; with `pairs` the kernel counts the errors itself."""
    return proof_text(claims_of(document, pairs))


def check(document: Mapping[str, Any], pairs: Pairs | None = None, handed: str | None = None) -> str:
    """The proof made again from the numbers and checked by the kernel: one line, or an error that says why not.

    `handed` is the proof.v that came with the report. It is compared, never compiled.
    """
    try:
        text = proof_of(document, pairs)
    except NotShown as error:
        raise kernel.Refused(f"kernel: NOT checked: {error}") from error
    if handed is not None and handed not in (text, proof_of(document)):
        raise kernel.Refused(
            "kernel: NOT checked: the proof.v beside the report is not the one that follows from its numbers; "
            "it was not run. Remove it, or write it again with --proof"
        )
    line = kernel.check_text(text).line(CONDITIONS)
    left = [] if "comparison" in document else _left_out(document)
    return f"{line}; not read by it: {', '.join(left)}" if left else line


def check_refutation(id: str) -> str:
    """The refutation of a printed statement, checked by the kernel: one line."""
    return kernel.check_text(refutation_of(id), needs=(), allowed=kernel.REFUTATIONS_REST_ON).line()


def verdict_on(checked: Callable[[], str]) -> tuple[str, int]:
    """The kernel's line, and the exit code: 0 checked, 1 refused, 3 there is no kernel here."""
    try:
        return checked(), 0
    except kernel.Refused as error:
        return str(error), 1
    except kernel.NoKernel as error:
        return f"kernel: NOT checked: {error}", 3


def check_file(path: str | Path, data: str | Path | None = None, *, count: bool = False) -> str:
    """`check` of a report.json, or of what `compare --json` printed, with the proof.v beside it if there is one."""
    source = Path(path)
    document = read_json(source, "a report.json, or what `compare --json` or `gate --json` printed")
    if "comparison" not in document and not _is_gate(document):
        # The kernel reads numbers: words and shares of delta that do not follow from them are found here.
        found = verify(source, data=data)
        if found.differences or not found.rows:
            raise kernel.Refused(f"kernel: NOT checked: {next(iter(found.differences), found.sentence)}")
    elif _is_gate(document):
        _refuse_other_words(document)
    beside = source.parent / "proof.v"
    handed = beside.read_text(encoding="utf-8", errors="replace") if beside.is_file() else None
    # The file is read as text only, to see whether the counting was part of it.
    counts = count or (handed is not None and "Theorem counted_" in handed)
    if counts and data is None:
        data = document.get("machine", {}).get("predictions")
        if data is None or not Path(data).is_file():
            raise InputError("--data", data, "the file with labels and predictions, for the kernel to count")
    return check(document, pairs_of(document, data) if counts and data is not None else None, handed)


def claims_of(document: Mapping[str, Any], pairs: Pairs | None = None) -> list[Claim]:
    """What a report states, as far as the kernel reads it; what is no report is refused."""
    try:
        return _claims(document, pairs)
    except CertiformerError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        told = f"a report.json, or what `compare --json` printed, with the numbers of a proof ({error!r})"
        raise InputError("report", sorted(map(str, document))[:8], told) from error


def _claims(document: Mapping[str, Any], pairs: Pairs | None) -> list[Claim]:
    """The adapter: nothing else here knows how a report stores its numbers."""
    if "comparison" in document:
        return [
            sign_claim(int(one["discordant"][0]), int(one["discordant"][1]), float(one["p"]))
            for one in document.get("comparisons", [document["comparison"]])
            if one["p"] is not None
        ] or _nothing("a comparison of right and wrong answers on independent items")
    if _is_gate(document):
        return _gates(document)
    rows = [row for row in _rows(document) if row["id"] in KINDS]
    if not rows:
        _nothing(f"a report with one of these certificates: {', '.join(KINDS)}")
    claims: list[Claim] = [_claim(row) for row in rows]
    if pairs is not None:
        claims.insert(0, _counted(rows, pairs))
    total = Fraction(repr(float(document["delta"])))
    return [*claims, Together(tuple(Fraction(float(share)) for share in document["shares"].values()), total)]


def _rows(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    rows = document.get("statements")
    if not isinstance(rows, list):
        raise InputError("report", sorted(document), "a report.json, or what `compare --json` or `gate --json` printed")
    return [row for row in rows if row["version"] == "sound" and row["value"] is not None and row["evidence"]]


def _is_gate(document: Mapping[str, Any]) -> bool:
    return "verdict" in document


def _shown(row: Mapping[str, Any]) -> bool:
    """Whether a verdict of a gate is one that the kernel reads: right and wrong answers that pass."""
    return bool(row["verdict"] == "pass" and row["variant"] == "exact binomial")


def _gates(document: Mapping[str, Any]) -> list[Claim]:
    rows = document["statements"]
    several = len(rows) * int(document["declaration"].get("models", 1))
    return [
        gate_claim(round(terms["observed"] * terms["items"]), int(terms["items"]), terms["threshold"],
                   document["delta"], several)
        for terms in (row["terms"] for row in rows if _shown(row))
    ] or _nothing("a gate of right and wrong answers that is passed")  # fmt: skip


def _refuse_other_words(document: Mapping[str, Any]) -> None:
    """What a gate's report says of threshold, verdict and confidence must follow from the numbers the kernel reads."""
    try:
        rows, sure = document["statements"], confidence_text(float(document["delta"]))
        level = float(document["delta"]) / (len(rows) * int(document["declaration"].get("models", 1)))
        for row in filter(_shown, rows):
            at = percent(float(row["terms"]["threshold"]))
            said = _ends(row["claim"], f" is at most {at}") and row["title"] == f"Gate at {at}"
            if not said or row["confidence"] > 1.0 - level:
                raise kernel.Refused(f"kernel: NOT checked: {row['claim']!r} does not follow from the gate at {at}")
        verdicts = [row["verdict"] for row in rows]
        verdict = "fail" if "fail" in verdicts else "undecided" if "undecided" in verdicts else "pass"
        said = document["verdict"] == verdict
        if verdict == "pass" and _shown(rows[0]):
            at, one = percent(float(rows[0]["terms"]["threshold"])), len(rows) == 1
            head = "PASS: " if one else f"PASS ({len(rows)} pass; together {sure}): "
            end = f" is at most {at}, with confidence {sure}." if one else f" is at most {at}."
            said = said and document["headline"].startswith(head) and _ends(document["headline"], end)
        if any(map(_shown, rows)) and not said:
            raise kernel.Refused(f"kernel: NOT checked: {document['headline']!r} does not follow from the statements")
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise InputError("--proof", f"{type(error).__name__}: {error}", "what `gate --json` printed") from error


def _ends(text: str, limit: str) -> bool:
    """Whether the words end with a limit, and name no other one."""
    return text.endswith(limit) and text.count(" at most ") == 1


def _left_out(document: Mapping[str, Any]) -> list[str]:
    if _is_gate(document):
        return sorted(str(row["id"]) for row in document["statements"] if not _shown(row))
    return sorted({str(row["id"]) for row in _rows(document)} - set(KINDS))


def _nothing(expected: str) -> list[Claim]:
    raise InputError("--proof", "no number that the kernel reads", expected)


def _claim(row: Mapping[str, Any]) -> Claim:
    record, terms, value = row["evidence"], row["terms"], float(row["value"])
    share, models = Fraction(float(terms["share of delta"])), int(record["models"])
    errors, n, two_sided = int(record["errors"]), int(record["n"]), bool(record["two_sided"])
    upper, printed = Fraction(value), _decimal(percent_up(value))
    if row["id"] == "disagreement":
        return Transfer(
            errors=errors,
            n=n,
            disagreements=int(record["disagreements"]),
            unlabelled=int(record["unlabelled"]),
            share=share / 2 if two_sided else share,
            models=models,
            first=Fraction(float(terms["risk of h1"])),
            second=Fraction(float(terms["disagreement"])),
            limit=upper,
            printed=printed,
        )
    if two_sided:
        lower = float(row["lower"])
        both = (_decimal(percent_down(lower)), printed)
        return TwoSided(errors, n, share, models, Fraction(lower), upper, both)
    return UpperLimit(errors, n, share, models, upper, printed)


def sign_claim(only_a: int, only_b: int, p: float) -> Claim:
    """The sign test at four digits, rounded up from its exact p-value; `p` is that of the comparison."""
    m, few = only_a + only_b, min(only_a, only_b)
    refuse_many("discordant examples", few)
    if not 0 <= few <= m <= MOST_DISCORDANT:
        raise InputError("discordant", [only_a, only_b], f"two counts of together at most {MOST_DISCORDANT:,} examples")
    term = total = 1
    for i in range(few):
        term = term * (m - i) // (i + 1)
        total += term
    exact = min(Fraction(1), Fraction(2 * total, 2**m))
    if not abs(exact - Fraction(p)) <= exact / 10**9 + LEAST_P:
        raise InputError("p", p, f"{float(exact)!r}, the p-value of {only_a} against {only_b}")
    up = Context(prec=4, rounding=ROUND_CEILING)
    rounded = Fraction(up.divide(Decimal(exact.numerator), Decimal(exact.denominator)))
    return SignTest(only_a, only_b, max(rounded, LEAST_P))


def gate_claim(errors: int, n: int, threshold: float, delta: float, models: int = 1) -> Claim:
    """A gate at n examples fixed beforehand that `errors` pass; threshold and delta are meant as they are typed."""
    share, limit = Fraction(repr(float(delta))), Fraction(repr(float(threshold)))
    return Gate(errors, n, share, models, limit)


def pairs_of(document: Mapping[str, Any], path: str | Path) -> Pairs:
    """Labels and predictions of the file that a report was made from, coded as whole numbers."""
    parts = Sample.of(path, Declaration.recorded(document.get("declaration", {}))).parts
    names = ("heldout_labels", "heldout_predictions")
    if any(name not in parts for name in names):
        raise InputError("--proof=count", sorted(parts), "labels and predictions in the file, for the kernel to count")
    labels, predictions = (np.asarray(whole(parts[name])).ravel() for name in names)
    if len(labels) != len(predictions):
        raise InputError("--proof=count", [len(labels), len(predictions)], "as many predictions as labels")
    if labels.dtype.kind not in "iub" or predictions.dtype.kind not in "iub":
        codes = {text: place for place, text in enumerate(sorted({*map(str, labels), *map(str, predictions)}))}
        return [(codes[str(a)], codes[str(b)]) for a, b in zip(labels, predictions, strict=True)]
    return [(int(a), int(b)) for a, b in zip(labels, predictions, strict=True)]


def _counted(rows: Sequence[Mapping[str, Any]], pairs: Pairs) -> Claim:
    errors, n = sum(a != b for a, b in pairs), len(pairs)
    for row in rows:
        record = row["evidence"]
        if row["id"] == "holdout" and (int(record["errors"]), int(record["n"])) == (errors, n):
            return Counted(pairs, errors)
    raise InputError(
        "--proof=count", f"{errors} differences between labels and predictions among {n}", "the counts of the report"
    )


def _decimal(text: str) -> Fraction:
    """12.34 % as 1234/10000."""
    return Fraction(text.removesuffix("%").strip()) / 100


def write_proof(document: Mapping[str, Any], path: str | Path, data: str | Path | None, asked: str = LIMITS) -> str:
    """Write proof.v whole, or refuse; what to say about it. `asked` is `--proof`: limits, or count."""
    if asked not in (LIMITS, COUNT):
        raise InputError("--proof", asked, "nothing, or count", f"Write --proof or --proof={COUNT}")
    if asked == COUNT and data is None:
        raise InputError("--proof=count", None, "a file of labels and predictions, for the kernel to count")
    pairs = pairs_of(document, data) if asked == COUNT and data is not None else None
    text, target = proof_of(document, pairs), Path(path)
    write_text(target, text)
    if "comparison" in document or _is_gate(document):
        again = "save what --json prints as numbers.json, then certiformer verify numbers.json --proof"
    else:
        again = f"certiformer verify {shlex.quote(str(target.parent / 'report.json'))} --proof"
    return f"wrote {target}. To have it made again and checked by a proof kernel: {again}"
