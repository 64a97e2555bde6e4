"""A certificate as statements that a proof kernel reads: the text of proof.v, from numbers only.

A claim is a plain value. Its theorems are instances of the statements in proofs/Statements.v; a double or a decimal
stands there as the fraction that it is. Each theorem is computed here first, in whole numbers, as the kernel will.
No word of a user's file gets into the text.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from certiformer.theory.calculus.tail_check import MOST_ERRORS, lower_shown, tail_at_most, upper_shown
from certiformer.theory.core.errors import InputError

MOST_COUNTED = 10_000
"""Beyond this many examples the kernel is not asked to count."""


@dataclass(frozen=True, slots=True)
class Theorem:
    """One statement: `words` for the reader, `statement` for the kernel, `shown` by the same check in Python."""

    words: str
    statement: str
    arguments: str
    """What the check needs and the statement does not say."""
    shown: bool

    @property
    def kind(self) -> str:
        """The first word of the statement."""
        return self.statement.partition(" ")[0]


class NotShown(InputError):
    """A statement that the check in whole numbers does not confirm."""


class Claim(ABC):
    """What a report says in one row."""

    @abstractmethod
    def theorems(self) -> Iterator[Theorem]:
        """The statement about the number itself, then that about the decimal that is printed."""


@dataclass(frozen=True)
class UpperLimit(Claim):
    """At most `limit` after `errors` among `n`, at the `share` of delta divided among `models`."""

    errors: int
    n: int
    share: Fraction
    models: int
    limit: Fraction
    printed: Fraction | None = None

    def theorems(self) -> Iterator[Theorem]:
        refuse_many("errors", self.errors)
        for words, value in (("the limit of the report", self.limit), ("the decimal that is printed", self.printed)):
            if value is not None:
                yield _theorem(
                    f"{words}: a risk of at most {_said(value)}, {self.errors} errors among {self.n}",
                    ("holdout", self.n, self.errors, self.models, *_pair(value), *_pair(self.share)),
                    upper_shown(self.n, self.errors, value, self.share / self.models),
                )


@dataclass(frozen=True)
class TwoSided(Claim):
    """Between `lower` and `upper`, each at half of the share; `printed` are the two decimals."""

    errors: int
    n: int
    share: Fraction
    models: int
    lower: Fraction
    upper: Fraction
    printed: tuple[Fraction, Fraction] | None = None

    def theorems(self) -> Iterator[Theorem]:
        refuse_many("errors", self.errors)
        part = self.share / (2 * self.models)
        for words, pair in (
            ("the limits of the report", (self.lower, self.upper)),
            ("the decimals that are printed", self.printed),
        ):
            if pair is not None:
                low, high = pair
                yield _theorem(
                    f"{words}: a risk between {_said(low)} and {_said(high)}, {self.errors} errors among {self.n}",
                    ("two_sided", self.n, self.errors, self.models, *_pair(high), *_pair(low), *_pair(self.share)),
                    upper_shown(self.n, self.errors, high, part) and lower_shown(self.n, self.errors, low, part),
                )


@dataclass(frozen=True)
class Transfer(Claim):
    """At most `limit` for a model that differs from a certified one on `disagreements` of `unlabelled` examples."""

    errors: int
    n: int
    disagreements: int
    unlabelled: int
    share: Fraction
    models: int
    first: Fraction
    """The limit of the certified model."""
    second: Fraction
    """The limit of the disagreement."""
    limit: Fraction
    printed: Fraction | None = None

    def theorems(self) -> Iterator[Theorem]:
        refuse_many("errors", self.errors)
        refuse_many("disagreements", self.disagreements)
        part = self.share / (2 * self.models)
        parts = upper_shown(self.n, self.errors, self.first, part) and upper_shown(
            self.unlabelled, self.disagreements, self.second, part
        )
        counts = (self.n, self.errors, self.unlabelled, self.disagreements, self.models)
        for words, value in (("the limit of the report", self.limit), ("the decimal that is printed", self.printed)):
            if value is not None:
                yield _theorem(
                    f"{words}: a risk of at most {_said(value)}, {self.errors} errors among {self.n} and "
                    f"{self.disagreements} disagreements among {self.unlabelled}",
                    ("disagreement", *counts, *_pair(value), *_pair(self.share)),
                    value >= 1 or (parts and self.first + self.second <= value),
                    f"(a1 := {self.first.numerator}) (b1 := {self.first.denominator}) "
                    f"(a2 := {self.second.numerator}) (b2 := {self.second.denominator})",
                )


@dataclass(frozen=True)
class SignTest(Claim):
    """A p-value of at most `p` for "neither is better", from the examples that only one of two models got wrong."""

    only_a: int
    only_b: int
    p: Fraction

    def theorems(self) -> Iterator[Theorem]:
        few = min(self.only_a, self.only_b)
        refuse_many("discordant examples", few)
        if self.p >= 1:
            raise InputError("--proof", "p = 1", "a sign test with p below 1", "A p-value of 1 needs no proof")
        yield _theorem(
            f"the sign test: p at most {_said(self.p)}, {self.only_a} examples only A got wrong, {self.only_b} only B",
            ("sign_test", self.only_a, self.only_b, *_pair(self.p)),
            tail_at_most(self.only_a + self.only_b, few, Fraction(1, 2), self.p / 2),
        )


@dataclass(frozen=True)
class Gate(Claim):
    """A gate at a number of examples fixed beforehand is passed: the risk is at most `threshold`."""

    errors: int
    n: int
    share: Fraction
    models: int
    threshold: Fraction

    def theorems(self) -> Iterator[Theorem]:
        refuse_many("errors", self.errors)
        yield _theorem(
            f"the gate at {_said(self.threshold)} is passed with {self.errors} errors among {self.n}",
            ("gate", self.n, self.errors, self.models, *_pair(self.threshold), *_pair(self.share)),
            tail_at_most(self.n, self.errors, self.threshold, self.share / self.models),
        )


@dataclass(frozen=True)
class Together(Claim):
    """The shares of all statements of a report are at most `total` together."""

    shares: tuple[Fraction, ...]
    total: Fraction

    def theorems(self) -> Iterator[Theorem]:
        whole = lcm(self.total.denominator, *(share.denominator for share in self.shares))
        parts = "; ".join(str(int(share * whole)) for share in self.shares)
        yield _theorem(
            f"all statements hold together but for a probability of {_said(self.total)}: the sum of the shares",
            ("jointly", f"[{parts}]", int(self.total * whole), whole),
            sum(self.shares) <= self.total,
        )


@dataclass(frozen=True)
class Counted(Claim):
    """The kernel counts: labels and predictions as whole numbers."""

    pairs: Sequence[tuple[int, int]]
    errors: int

    def theorems(self) -> Iterator[Theorem]:
        if len(self.pairs) > MOST_COUNTED:
            raise InputError(
                "--proof=count",
                f"{len(self.pairs):,} examples",
                f"at most {MOST_COUNTED:,} examples for the kernel to count",
                "Without =count the counts of the report are taken",
            )
        listed = "; ".join(f"({_whole(label)}, {_whole(prediction)})" for label, prediction in self.pairs)
        yield _theorem(
            f"counted from labels and predictions: {self.errors} errors among {len(self.pairs)}",
            ("counted", f"[{listed}]", len(self.pairs), self.errors),
            sum(label != prediction for label, prediction in self.pairs) == self.errors,
        )


def refuse_many(what: str, count: int) -> None:
    """The kernel takes half a millisecond for each error: beyond a limit there is no file."""
    if count > MOST_ERRORS:
        raise InputError(
            "--proof",
            f"{count:,} {what}",
            f"at most {MOST_ERRORS:,}, which a kernel checks in some ten seconds",
            "The number of examples does not matter; certify without --proof",
        )


def proof_text(claims: Iterable[Claim]) -> str:
    """proof.v: every theorem of the claims, and the axioms that they rest on."""
    found = [theorem for claim in claims for theorem in claim.theorems()]
    for theorem in found:
        if not theorem.shown:
            raise NotShown("--proof", theorem.words, "a number that whole numbers confirm", "It cannot be proved")
    names = [f"{theorem.kind}_{place}" for place, theorem in enumerate(found, 1)]
    parts = [HEADER]
    for name, theorem in zip(names, found, strict=True):
        parts.append(
            f"(* {theorem.words[:1].upper()}{theorem.words[1:]}. *)\n"
            f"Theorem {name} : {theorem.statement}.\n"
            f"Proof. apply {theorem.arguments}; computed. Qed.\n"
        )
    parts.append(f"Definition all := ({', '.join(names)}).\nPrint Assumptions all.\n")
    return "\n".join(parts)


HEADER = """\
(* Written by certiformer from the numbers of a report. The statements are defined, with comments, in Statements.v of
   certiformer/certificates/proofs. A double is the fraction that it is; 0.05 stands for 5/100.
   `certiformer verify report.json --proof` writes this file again from the report and checks that one.
   A stranger's copy proves nothing by itself: a file may define its own words. *)
From Coq Require Import ZArith List.
Import ListNotations.
From Certiformer Require Import Statements.
Open Scope Z_scope.
"""


def _theorem(words: str, statement: tuple[object, ...], shown: bool, extra: str = "") -> Theorem:
    kind = str(statement[0])
    text = " ".join(str(part) if isinstance(part, str) else _whole(part) for part in statement)
    apply = f"{kind}_holds with {extra}" if extra else f"{kind}_holds"
    return Theorem(words, text, apply, shown)


def _pair(value: Fraction) -> tuple[int, int]:
    return value.numerator, value.denominator


def _whole(value: object) -> str:
    """A whole number for Coq, negative ones in parentheses."""
    number = int(value)  # type: ignore[call-overload]
    return str(number) if number >= 0 else f"({number})"


def _said(value: Fraction) -> str:
    """A fraction as the decimal or double that it is, for a comment."""
    return f"{float(value):.17g}" if Fraction(repr(float(value))) != value else repr(float(value))
