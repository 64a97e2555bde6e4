r"""Few human labels and many of a judge: the rate at which humans say wrong, with no assumption about the judge.

m of N items, drawn at random and blind to the judge, have a human label; all have the judge's verdict in [0, 1]. Every
labelled item gets r = floor((N-m)/m) unlabelled ones of its own (`block_betting`). Whether the judge is used is decided
before it is run on these items: m times the expected error rate >= 15, and correlation^2 r/(r+1) >= 0.35. Otherwise
humans alone are shorter: for rare errors no judge improves the limit of about 3/m. A wrong expectation costs width,
never validity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from certiformer.evaluation._given import binary, losses_in
from certiformer.evaluation.gates import Gate, verdict_of
from certiformer.theory.calculus.block_betting import block_evidence, block_upper
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.rounding import down, up

Array = npt.NDArray[np.float64]
LEAST_ERRORS = 15.0
LEAST_VARIANCE = 0.35


@dataclass(frozen=True, eq=False)
class Blocks:
    """Human labels (1 is wrong), the judge's verdict on each, the mean verdict on its block of `size` other items."""

    human: Array
    judge: Array
    means: Array
    size: int

    def limits(self, delta: float) -> tuple[float, float]:
        """Lower and upper limit of the rate at which humans say wrong, each at level 1 - delta."""
        given = (self.human, self.judge, self.means, self.size, delta)
        lower, upper = 1.0 - block_upper(*given, complement=True), block_upper(*given)
        return max(0.0, down(lower)), min(1.0, up(upper))

    def gate(self, threshold: float, delta: float) -> Gate:
        """The gate at a threshold in (0, 1): only one of the two verdicts can be wrong, so delta belongs to each."""
        given = (self.human, self.judge, self.means, self.size, delta)
        won = block_evidence(math.nextafter(threshold, 0.0), *given)
        lost = block_evidence(math.nextafter(1.0 - threshold, 0.0), *given, complement=True)
        ln_pass, ln_fail = (-math.log(max(1.0, one)) for one in (won, lost))
        verdict = verdict_of(ln_pass, ln_fail, delta)
        mean, method = float(np.mean(self.human)), "paired blocks, average of 16 orders"
        return Gate(verdict, threshold, delta, len(self.human), mean, ln_pass, ln_fail, method)


def paired_blocks(human: npt.ArrayLike, judge: npt.ArrayLike, others: npt.ArrayLike) -> Blocks:
    """The t-th labelled item with the t-th block of the other items, both in an order made before scoring."""
    z = binary("human labels", human).astype(np.float64)
    j, rest = losses_in("judge", judge, 0.0, 1.0), losses_in("judge (unlabelled)", others, 0.0, 1.0)
    m = len(z)
    if len(j) != m:
        raise InputError("judge", f"{len(j)} verdicts", f"one for each of {m} labelled items")
    size = len(rest) // m
    if size < 1:
        raise InputError("unlabelled items", len(rest), f"at least as many as the {m} labelled ones")
    return Blocks(z, j, np.mean(rest[: m * size].reshape(m, size), axis=1), size)


def judge_helps(labelled: int, size: int, expect: float, correlation: float) -> bool:
    """The rule: enough labelled errors are expected, and the judge is expected to tell about the humans."""
    if not 0.0 <= expect <= 1.0 or not -1.0 <= correlation <= 1.0:
        raise InputError("expect, correlation", (expect, correlation), "a rate in [0, 1] and a correlation in [-1, 1]")
    return labelled * expect >= LEAST_ERRORS and correlation**2 * size / (size + 1.0) >= LEAST_VARIANCE
