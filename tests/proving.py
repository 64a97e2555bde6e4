"""For tests of proofs: claims of every kind that hold, ones beside them that do not, a command, a table."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from typer.testing import CliRunner

from certiformer.auditing.proof_claims import (
    HEADER,
    Claim,
    Counted,
    Gate,
    SignTest,
    Theorem,
    Together,
    Transfer,
    TwoSided,
    UpperLimit,
)
from certiformer.cli import application

SHARE = Fraction(0.04999999999995)

TRUE: dict[str, Claim] = {
    "hold-out": UpperLimit(5, 5000, SHARE, 1, Fraction(0.0021014479784120838), Fraction(22, 10_000)),
    "best of twenty": UpperLimit(5, 5000, SHARE, 20, Fraction(303, 100_000)),
    "no error": UpperLimit(0, 1, Fraction(1, 20), 1, Fraction(0.9500000000000002)),
    "every answer wrong": UpperLimit(7, 7, SHARE, 1, Fraction(1)),
    "both limits": TwoSided(5, 5000, SHARE, 1, Fraction(32, 100_000), Fraction(234, 100_000)),
    "both limits, nothing wrong": TwoSided(0, 50, SHARE, 1, Fraction(0), Fraction(8, 100)),
    "both limits, nothing right": TwoSided(50, 50, SHARE, 1, Fraction(92, 100), Fraction(1)),
    "disagreement": Transfer(
        5, 2000, 4, 3000, SHARE, 2, Fraction(7, 1000), Fraction(4, 1000), Fraction(11, 1000), Fraction(12, 1000)
    ),
    "sign test": SignTest(12, 30, Fraction(8, 1000)),
    "gate": Gate(5, 5000, Fraction(1, 20), 1, Fraction(22, 10_000)),
    "shares": Together((SHARE / 2, SHARE / 3, SHARE / 6), Fraction(1, 20)),
    "count": Counted([(0, 0), (1, 0), (-1, -1), (3, 3)], 1),
}
FALSE: dict[str, Claim] = {
    "hold-out": UpperLimit(5, 5000, SHARE, 1, Fraction(0.0021014479784120838) * Fraction(999_999, 1_000_000)),
    "best of twenty": UpperLimit(5, 5000, SHARE, 20, Fraction(300, 100_000)),
    "both limits, lower": TwoSided(5, 5000, SHARE, 1, Fraction(33, 100_000), Fraction(234, 100_000)),
    "both limits, upper": TwoSided(5, 5000, SHARE, 1, Fraction(32, 100_000), Fraction(233, 100_000)),
    "disagreement": Transfer(
        5, 2000, 4, 3000, SHARE, 2, Fraction(7, 1000), Fraction(4, 1000), Fraction(10_999_999, 10**9)
    ),
    "disagreement, a part": Transfer(
        5, 2000, 4, 3000, SHARE, 2, Fraction(5, 1000), Fraction(4, 1000), Fraction(11, 1000)
    ),
    "sign test": SignTest(12, 30, Fraction(7, 1000)),
    "gate": Gate(5, 5000, Fraction(1, 20), 1, Fraction(21, 10_000)),
    "shares": Together((SHARE / 2, SHARE / 2, SHARE / 1000), Fraction(1, 20)),
    "count": Counted([(0, 0), (1, 0), (-1, -1), (3, 3)], 2),
}


def text_of(theorem: Theorem) -> str:
    """A proof.v of one theorem, whether it is true or not."""
    return (
        f"{HEADER}Theorem it : {theorem.statement}.\nProof. apply {theorem.arguments}; computed. Qed.\n"
        "Print Assumptions it.\n"
    )


def run(*words: str | Path, code: int = 0) -> str:
    found = CliRunner().invoke(application((str(words[0]),)), [str(word) for word in words])
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    assert found.exit_code == code, found.output
    return found.output


def table(path: Path, errors: int = 5, n: int = 400, every: int = 7) -> Path:
    labels = [place % 2 for place in range(n)]
    wrong = {place * every for place in range(errors)}
    rows = [f"{i},{y},{1 - y if i in wrong else y}" for i, y in enumerate(labels)]
    path.write_text("id,label,prediction\n" + "\n".join(rows) + "\n")
    return path
