r"""Copy this file to add a result: one file per numbered result, named as a reader says it (`lemma_3_6.py`).

Begin with the claim in a sentence, then the printed formula, then the sound one and, in two or three lines, what
changed and why. The proof note goes to docs/proofs/. See docs/add-a-bound.md for the five steps.
"""

from __future__ import annotations

from certiformer.core import Paper, Quantity, Result, Status, Variants, count, printed_value, real, upper_bound

PAPER = Paper("example", "A. Author", "A Paper", 2026)  # real papers: in the package's __init__.py


def printed(c: float, n: int) -> Variants:
    """The formula exactly as the paper has it."""
    return {"value": printed_value(c / n)}


def sound(c: float, n: int) -> Variants:
    """What holds, with every constant. One entry per variant; by-products go through `side_number`."""
    return {"value": upper_bound(c / n**0.5, clip=c)}


RESULT = Result(
    id="example.thm1",
    title="What it is about, in a few words",
    paper=PAPER,
    place="Theorem 1",
    bounds=Quantity.GAP,
    statement="gap <= c/n",
    latex=r"\mathrm{gap} \le c/n",
    sound_statement="gap <= c/sqrt(n)",
    inputs=(real("c", "range of the loss", example=1), count("n", "sample size", aliases=("m", "N"), example=1000)),
    status=Status.FALSE,
    reason="one line: why",
    printed=printed,
    sound=sound,
    assumptions=("what the caller must make sure of",),
    defects=("what is wrong with the printed statement, with the counterexample",),
    monotone={"c": 1, "n": -1},
    proof="docs/proofs/example.md",
)
