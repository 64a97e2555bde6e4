from __future__ import annotations

from certiformer.theory.core import Paper, Quantity, Result, Status, Variants, count, printed_value, real, upper_bound

PAPER = Paper("example", "A. Author", "A Paper", 2026)  # real papers: in the package's __init__.py


class Theorem1(Result):
    r"""What it is about, in a few words.

    Copy this file to add a result: one file per numbered result, named as a reader says it (`theorem_1.py`); see
    docs/add-a-bound.md. This paragraph tells the setting. The proof note goes to docs/proofs/.

    Printed: gap <= c/n
    .. math:: \mathrm{gap} \le c/n
    Sound: gap <= c/sqrt(n)
    .. math:: \mathrm{gap} \le c/\sqrt n
    Because: one line: why the printed claim is not true as it stands
    Assumes:
    - what the caller must make sure of
    Defects:
    - what is wrong with the printed claim, with the counterexample
    """

    paper, place = PAPER, "Theorem 1"
    bounds, status = Quantity.GAP, Status.FALSE
    monotone = "+c -n"

    c: float = real("range of the loss", example=1)
    n: int = count("sample size", aliases=("m", "N"), example=1000)

    def printed(self) -> Variants:
        """The formula exactly as the paper has it."""
        return {"value": printed_value(self.c / self.n)}

    def sound(self) -> Variants:
        """What holds, with every constant. One entry per variant; by-products go through `side_number`."""
        return {"value": upper_bound(self.c / self.n**0.5, clip=self.c)}
