r"""Pass, fail or undecided: whether an error rate or a mean loss is at most a threshold declared beforehand.

Right/wrong outcomes, n fixed: with k errors, a = P(Bin(n, eps) <= k) and b = P(Bin(n, eps) >= k), PASS iff a <= delta
and FAIL iff b <= delta. At any rate only one of the verdicts can be wrong, so neither needs half of delta. Losses: the
same by the capital of `target_betting` against a mean of eps, on either side. At any time: by `running_mean`, which
needs no constant rate. Proofs: docs/proofs/gates.md.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from certiformer.evaluation._given import binary, counted, losses_in, probability, require_state
from certiformer.evaluation.mean import walked
from certiformer.evaluation.pairs import sign_test
from certiformer.theory.calculus.running_mean import ln_capital, running_limits, squares_after
from certiformer.theory.calculus.tails import binomial_cdf, largest_count, log_binomial_cdf, log_binomial_pmf
from certiformer.theory.calculus.target_betting import evidence_against
from certiformer.theory.core.errors import InputError

Verdict = Literal["pass", "fail", "undecided"]
MOST_ITEMS = 10_000_000
SCANNED = 65_536
"""Up to here every number of items is tried, and the least one that decides is exact."""
ROUNDING = 2.0**-49
"""More than losses and a threshold together round by when they become fractions of a range: a few units of 2^-53."""


@dataclass(frozen=True, slots=True)
class Gate:
    """The verdict about "the mean is at most `threshold`", wrong with probability at most `delta`.

    `ln_pass` and `ln_fail` are upper bounds of ln of the p-values against "above" and "at most": a verdict is given
    when its own is at most ln(delta).
    """

    verdict: Verdict
    threshold: float
    delta: float
    n: int
    mean: float
    ln_pass: float
    ln_fail: float
    method: str


def gate_rate(errors: int, n: int, threshold: float, delta: float) -> Gate:
    """The gate for `errors` among `n` independent items, n decided without a look at the outcomes.

    >>> [gate_rate(k, n, 0.05, 0.05).verdict for k, n in ((0, 59), (0, 58), (10, 100))]
    ['pass', 'undecided', 'fail']
    """
    eps, level = probability("threshold", threshold), _below_half(delta)
    errors, n = counted(errors, n)
    ln_pass = log_binomial_cdf(errors, n, eps)
    ln_pass += 1e-15 * (math.lgamma(n + 1.0) + max(40.0, -ln_pass)) + 1e-13
    ln_fail = _ln_at_least(errors, n, eps)
    verdict = verdict_of(ln_pass, ln_fail, level)
    return Gate(verdict, threshold, delta, n, errors / n, ln_pass, ln_fail, "exact binomial")


def _ln_at_least(errors: int, n: int, eps: float) -> float:
    """ln P(Bin(n, eps) >= errors), rounded up, at eps itself: 1 - eps would round."""
    if errors == 0:
        return 0.0
    from scipy.special import betainc

    tail = float(betainc(errors, n - errors + 1.0, eps))
    if tail > 1e-200:  # near the smallest numbers there are betainc is off by a hundredth
        return math.log(tail) + 5e-10
    # Far out the largest term bounds the sum: the ratios of terms from there on are at most r < 1.
    ratio = (n - errors) * eps / ((errors + 1.0) * (1.0 - eps))
    slack = 1e-15 * (math.lgamma(n + 1.0) + 40.0) + 1e-9
    return log_binomial_pmf(errors, n, eps) - math.log1p(-min(ratio, 1.0 - 1e-9)) + slack


def gate_mean(
    losses: npt.ArrayLike,
    threshold: float,
    delta: float,
    low: float = 0.0,
    high: float = 1.0,
    *,
    weights: npt.ArrayLike | None = None,
    ids: Sequence[str] | None = None,
    order: Literal["average", "given"] = "average",
    in_order: bool = False,
) -> Gate:
    """The gate for the mean of losses in the declared [low, high]: units, weights and order as for `mean_limits`."""
    level = _below_half(delta)
    w, y, orders, method = walked(losses_in("losses", losses, low, high), weights, ids, order, in_order)
    if not low < threshold < high:
        raise InputError("threshold", threshold, f"a mean strictly between {low:g} and {high:g}")
    eps = (threshold - low) / (high - low)
    ln_pass = -math.log(max(1.0, evidence_against(eps - ROUNDING * eps, w, y, level, orders)))
    ln_fail = -math.log(max(1.0, evidence_against(1.0 - eps - ROUNDING, w, w - y, level, orders)))
    mean = low + (high - low) * float(np.sum(y) / np.sum(w))
    verdict = verdict_of(ln_pass, ln_fail, level)
    return Gate(verdict, threshold, delta, len(w), mean, ln_pass, ln_fail, f"betting, {method}")


def verdict_of(ln_pass: float, ln_fail: float, level: float) -> Verdict:
    """Pass or fail where one p-value is at most the level; undecided where none is, or both."""
    passed, failed = ln_pass <= math.log(level), ln_fail <= math.log(level)
    return "undecided" if passed == failed else "pass" if passed else "fail"


def _below_half(delta: float) -> float:
    if not 0.0 < delta < 0.5:
        raise InputError("delta", delta, "a number in (0, 0.5)", "For example 0.05")
    return float(delta)


@functools.lru_cache(maxsize=4096)
def items_to_decide(rate: float, threshold: float, delta: float, power: float = 0.8) -> int | None:
    """The least number of new items at which the gate decides with this chance, if errors come at this `rate`.

    Beyond `SCANNED` a crossing of the chance, found by bisection. None where the rate is the threshold, or so near to
    it that ten million items are not enough.

    >>> items_to_decide(0.025, 0.05, 0.05), items_to_decide(0.1, 0.05, 0.05)
    (361, 169)
    """
    eps, level, wish = probability("threshold", threshold), _below_half(delta), probability("power", power)
    if not 0.0 <= rate <= 1.0:
        raise InputError("rate", rate, "a number in [0, 1]")
    if rate == eps:
        return None
    start = 1
    while start < SCANNED:
        sizes = np.arange(start, min(2 * start + 256, SCANNED + 1), dtype=np.float64)
        reached = np.flatnonzero(chance_of_verdict(sizes, rate, eps, level) >= wish)
        if len(reached):
            return int(sizes[reached[0]])
        start = int(sizes[-1]) + 1
    low, high = SCANNED, MOST_ITEMS
    if chance_of_verdict([high], rate, eps, level)[0] < wish:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if chance_of_verdict([middle], rate, eps, level)[0] >= wish else (middle, high)
    return high


def chance_of_verdict(sizes: npt.ArrayLike, rate: float, threshold: float, delta: float) -> npt.NDArray[np.float64]:
    """P(the right verdict) of `gate_rate` at each number of items, if errors come at this `rate`."""
    n = np.asarray(sizes, dtype=np.float64)
    if rate < threshold:
        return binomial_cdf(largest_count(delta, n, threshold), n, rate)
    # P(Bin(n, eps) >= k) = P(Bin(n, 1 - eps) <= n - k): the verdict fails from n - largest_count on.
    least = n - largest_count(delta, n, 1.0 - threshold)
    return np.asarray(np.where(least <= n, binomial_cdf(n - least, n, 1.0 - rate), 0.0), dtype=np.float64)


class AnytimeGate:
    """A gate that may be asked after every item: peek, stop, go on. The first verdict stands.

    PASS is false with probability at most delta while the average of the rates so far is above the threshold, FAIL
    while it is at most the threshold, whatever the rates did; with one constant rate a wrong verdict has probability
    at most delta in all. `binary` declares outcomes 0 and 1.

    >>> gate = AnytimeGate(0.05, 0.05)
    >>> gate.update([0] * 75)
    'pass'
    """

    def __init__(
        self, threshold: float, delta: float = 0.05, *, binary: bool = True, low: float = 0.0, high: float = 1.0
    ) -> None:
        self.delta, self.binary = _below_half(delta), binary
        self.low, self.high = float(low), float(high)
        if not low < threshold < high:
            raise InputError("threshold", threshold, f"a mean strictly between {low:g} and {high:g}")
        self.threshold = float(threshold)
        self.n, self.total, self.squares = 0, 0.0, 0.0
        self.decided: Verdict = "undecided"
        self.decided_at: int | None = None

    def update(self, outcomes: float | npt.ArrayLike) -> Verdict:
        """Take in outcomes in the order in which they came; the verdict so far."""
        x = losses_in("outcomes", np.atleast_1d(np.asarray(outcomes, dtype=np.float64)), self.low, self.high)
        if self.binary:
            binary("outcomes", x)
        self.squares += squares_after(x, self.n, self.total)
        self.n += len(x)
        self.total += float(np.sum(x))
        if self.decided == "undecided":
            ln_pass, ln_fail = self.ln_capital
            bar = math.log(1.0 / self.delta)
            passed, failed = ln_pass >= bar, ln_fail >= bar
            if passed != failed:
                self.decided, self.decided_at = ("pass" if passed else "fail"), self.n
        return self.decided

    @property
    def ln_capital(self) -> tuple[float, float]:
        """ln of the capital for PASS and for FAIL, rounded down."""
        if not self.n:
            return 0.0, 0.0
        eps = (self.threshold - self.low) / (self.high - self.low)
        squares = None if self.binary else self.squares
        return (
            ln_capital(self.n, self.total, eps - ROUNDING * eps, -1, squares),
            ln_capital(self.n, self.total, eps + ROUNDING * eps, 1, squares),
        )

    @property
    def limits(self) -> tuple[float, float]:
        """Limits of the average of the rates so far, at all times at once, at a confidence 1 - delta of their own."""
        squares = None if self.binary else self.squares
        low, high = running_limits(self.n, min(self.total, self.n), self.delta, squares)
        width = self.high - self.low
        return self.low + width * low, self.low + width * high

    def decides_at(self, n: int) -> bool:
        """Whether n outcomes with the mean and the spread so far would decide."""
        eps = (self.threshold - self.low) / (self.high - self.low)
        total, squares = n * self.total / self.n, None if self.binary else n * self.squares / self.n
        reached = (ln_capital(n, total, eps, -1, squares), ln_capital(n, total, eps, 1, squares))
        return max(reached) >= math.log(1.0 / self.delta)

    @property
    def mean(self) -> float:
        """The observed mean; the middle of the range before anything came."""
        return self.low + (self.high - self.low) * (self.total / self.n if self.n else 0.5)

    def state(self) -> dict[str, Any]:
        """All that is needed to go on after a restart; the settings belong to it."""
        names = ("threshold", "delta", "binary", "low", "high", "n", "total", "squares", "decided", "decided_at")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def resume(cls, state: Mapping[str, Any]) -> Self:
        """The gate as `state` left it."""
        require_state(
            state, threshold="number", delta="number", binary="boolean", low="number", high="number", n="integer",
            total="number", squares="number", decided="string", decided_at=["integer", "null"],
        )  # fmt: skip
        found = cls(state["threshold"], state["delta"], binary=state["binary"], low=state["low"], high=state["high"])
        found.n, found.total, found.squares = state["n"], float(state["total"]), float(state["squares"])
        found.decided, found.decided_at = state["decided"], state["decided_at"]
        known = found.decided in ("pass", "fail", "undecided")
        if not (known and 0.0 <= found.total <= found.n and 0.0 <= found.squares <= found.n):
            raise InputError("state", (found.decided, found.total, found.squares), f"sums of {found.n:,} outcomes")
        return found


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is shown about Delta = mean loss of the candidate - mean loss of the baseline, all of it together.

    `wins` are items that only the baseline got wrong, `losses` those that only the candidate did; None for real losses.
    """

    non_inferior: bool
    superior: bool
    better_by_margin: bool
    no_better: bool
    inferior: bool
    worse_by_margin: bool
    margin: float
    delta: float
    n: int
    difference: float
    wins: int | None = None
    losses: int | None = None
    both_right: int | None = None
    both_wrong: int | None = None

    @property
    def equivalent(self) -> bool:
        """|Delta| <= margin is shown."""
        return self.non_inferior and self.no_better


def compare_with_baseline(
    candidate: npt.ArrayLike,
    baseline: npt.ArrayLike,
    margin: float,
    delta: float,
    low: float = 0.0,
    high: float = 1.0,
    *,
    weights: npt.ArrayLike | None = None,
    ids: Sequence[str] | None = None,
    independent_rows: bool = True,
) -> Comparison:
    """Two chains of claims, each at delta/2, tested in order until one is not shown: all made are right with 1 - delta.

    Down: Delta <= margin, Delta < 0, Delta < -margin. Up: Delta >= -margin, Delta > 0, Delta > margin. The claims of a
    chain grow stronger, so that a false one implies that the first false one passed its own test at delta/2. The links
    at 0 of right/wrong outcomes are exact sign tests where rows are independent (not where they come in groups).
    """
    level = _below_half(delta) / 2.0
    a, b = (
        losses_in("losses of the candidate", candidate, low, high),
        losses_in("losses of the baseline", baseline, low, high),
    )
    if len(a) != len(b):
        raise InputError("losses of the baseline", f"{len(b)} losses", f"one for each of {len(a)} items")
    g = margin / (high - low)
    if not 0.0 < g < 1.0:
        raise InputError("margin", margin, f"a difference strictly between 0 and {high - low:g}")
    w, y, orders, _ = walked(np.clip((1.0 + a - b) / 2.0, 0.0, 1.0), weights, ids, "average")
    exact = independent_rows and weights is None and bool(np.all((a == 0) | (a == 1)) and np.all((b == 0) | (b == 1)))
    wins, lost = int(np.sum(a < b)), int(np.sum(a > b))
    test = sign_test(lost, wins) if exact else None

    def shown(c: float, outcomes: npt.NDArray[np.float64], p_at_zero: float | None) -> bool:
        """Delta < c for these outcomes, at `level`; exactly at c = 0 where there is a sign test."""
        if c == 0.0 and p_at_zero is not None:
            return p_at_zero * (1.0 + 1e-12) <= level
        against = (1.0 + c) / 2.0 - ROUNDING
        return evidence_against(against, w, outcomes, level, orders) >= 1.0 / level

    def chain(outcomes: npt.NDArray[np.float64], p_at_zero: float | None) -> tuple[bool, bool, bool]:
        first = shown(g, outcomes, None)
        second = first and shown(0.0, outcomes, p_at_zero)
        return first, second, second and shown(-g, outcomes, None)

    down = chain(y, None if test is None else test.b_worse)
    up = chain(w - y, None if test is None else test.a_worse)
    counts = (wins, lost, int(np.sum((a == 0) & (b == 0))), int(np.sum((a == 1) & (b == 1)))) if exact else (None,) * 4
    difference = (high - low) * (2.0 * float(np.sum(y) / np.sum(w)) - 1.0)
    return Comparison(*down, *up, margin, delta, len(a), difference, *counts)


def share_of_run(run: int, delta: float) -> float:
    """What run number `run` (from 1) of a pipeline may spend, so that any number of runs spends delta: delta/(r(r+1)).

    >>> sum(share_of_run(r, 0.05) for r in range(1, 10**4)) < 0.05
    True
    """
    if run < 1 or run != int(run):
        raise InputError("run", run, "a whole number of at least 1")
    return probability("delta", delta) / (run * (run + 1.0))
