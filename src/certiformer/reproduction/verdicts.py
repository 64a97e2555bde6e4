"""What may be said, in a few fixed words, by rules that were written down before the runs (but for `small effect`).

A number theta0 of the paper against ours, theta from n seeds, with a margin delta that the study declares:
    agrees        the 90 % interval lies within theta0 +- delta (two one-sided tests of level 5 %);
    differs       the 95 % interval lies at or beyond the margin;
    small effect  neither, but the 95 % interval leaves theta0 out, and its half-width is at most two margins: something
                  was found, of a size near our margin; the remark says of what size;
    cannot tell   the interval is too wide, with the number of seeds that would tell.
A direction (below 0, above 1) by the 95 % interval; "no increase" by the upper end of the 90 % interval (agrees) and
the lower end of the 95 % one (differs), against a margin.
One single run of the paper against where one more run of ours would fall:
    compatible    inside the 95 % prediction interval, whose half-width is at most log 2;
    incompatible  outside the 99 % one.
A bound, printed or sound, by the same reading:
    violated      more runs above it than its confidence allows (or one, if it is deterministic);
    holds         so few that the claimed confidence is confirmed (or: an upper end that stays below); never said of a
                  deterministic bound, of which no number of runs is a confirmation;
    not violated  neither.
    measured      nothing is claimed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy import special

from certiformer.reproduction.statistics import FEWEST, Interval, Vector

WORDS = (
    "agrees", "small effect", "differs", "cannot tell", "compatible", "incompatible", "holds", "violated",
    "not violated", "measured",
)  # fmt: skip
SLOPE_MARGIN = 0.05
MOST_SEEDS = 200  # beyond it a number of seeds is arithmetic, and no advice
WIDE = 2.0  # margins: an interval of a larger half-width says nothing about a size near the margin
MORE = f"needs more than {MOST_SEEDS} seeds"
Relation = Literal["=", "<=", "<", ">"]
SHARPEST = math.log(2.0)  # the half-width beyond which a prediction interval says nothing
ROUNDING = 1e-9


@dataclass(frozen=True)
class Verdict:
    """One of the words, a remark such as "needs 14 seeds", the margin it rests on, and the p-value of a difference.

    `small`: its interval is narrow, so that a difference that may be chance leaves a small effect.
    """

    word: str
    detail: str = ""
    margin: float | None = None
    p: float | None = None
    small: bool = False

    def __post_init__(self) -> None:
        if self.word not in WORDS:
            raise ValueError(f"{self.word!r} is no verdict; one of: {', '.join(WORDS)}")


MEASURED = Verdict("measured")


def number(found: Interval, truth: float, margin: float) -> Verdict:
    """Our estimate against the paper's number: equivalence within the margin, a difference beyond it, or neither."""
    (low, high), effect = found.inner, found.value - truth
    reaches, surely = max(truth - low, high - truth), max(found.low - truth, truth - found.high)
    return _beside(found, margin, effect, gap=abs(effect), reaches=reaches, surely=surely)


def seeds_needed(gap: float, deviation: float, margin: float) -> int | None:
    """The smallest n with t_{n-1,0.95} s/sqrt(n) <= delta - g, or t_{n-1,0.975} s/sqrt(n) <= g - delta."""
    room, level = abs(margin - gap), 0.95 if gap < margin else 0.975
    if room == 0.0 or not math.isfinite(deviation):
        return None

    def enough(n: int) -> bool:
        return float(special.stdtrit(n - 1, level)) * deviation / math.sqrt(n) <= room

    if not enough(MOST_SEEDS):
        return None
    below, above = 1, MOST_SEEDS
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if enough(middle) else (middle, above)
    return max(2, above)


def sign(found: Interval, level: float, *, below: bool = True) -> Verdict:
    """The claim that something lies below a level (an exponent below 0, a ratio below 1), or above it."""
    if not (math.isfinite(found.low) and math.isfinite(found.high)):
        return _without_interval(found)
    side = 1.0 if below else -1.0
    away = side * (found.value - level)
    p = _p_beyond(found, away)
    if max(side * (found.low - level), side * (found.high - level)) < 0.0:
        return Verdict("agrees", "", p=p)
    if min(side * (found.low - level), side * (found.high - level)) > 0.0:
        return Verdict("differs", "", p=p)
    return Verdict("cannot tell", _needs(found, abs(away), 0.0), p=p)


def no_more_than(found: Interval, margin: float) -> Verdict:
    """The claim that there is no increase: one of more than the margin is excluded, found, or neither."""
    return _beside(found, margin, found.value, gap=found.value, reaches=found.inner[1], surely=found.low)


def _beside(found: Interval, margin: float, effect: float, *, gap: float, reaches: float, surely: float) -> Verdict:
    """A gap to what is claimed, which at 90 % reaches so far and at 95 % is surely so large, against the margin."""
    if not (math.isfinite(found.low) and math.isfinite(found.high)):
        return _without_interval(found, margin)
    p = _p_beyond(found, gap - margin)
    if reaches <= margin:
        return Verdict("agrees", "", margin, p)
    if surely >= margin:
        return Verdict("differs", "", margin, p, _narrow(found, margin))
    if surely > 0.0 and _narrow(found, margin):
        return small_effect(effect, margin, p)
    return Verdict("cannot tell", _needs(found, gap, margin), margin, p)


def _narrow(found: Interval, margin: float) -> bool:
    return found.high - found.low <= 2.0 * WIDE * margin


def small_effect(effect: float, margin: float, p: float | None) -> Verdict:
    """An effect that was found, of a size near the margin."""
    return Verdict("small effect", f"{effect:+.2g}, our margin is {margin:g}", margin, p)


def one_run(
    values: Sequence[float] | Vector, truth: float, deviation: float | None = None, freedom: int | None = None
) -> Verdict:
    """The paper's single positive number against where one more run of ours would fall, on the logarithmic scale.

    The standard deviation is that of these runs, or one pooled over several cells with its degrees of freedom.
    """
    logs = np.log(np.asarray(values, float))
    n = len(logs)
    if deviation is None or freedom is None:
        deviation, freedom = (float(logs.std(ddof=1)) if n > 1 else math.inf), n - 1
    if n < 1 or freedom < 1:
        return Verdict("cannot tell", "too few seeds for an interval: needs 2 seeds")
    spread = deviation * math.sqrt(1.0 + 1.0 / n)
    away = abs(math.log(truth) - float(logs.mean()))
    half, wide = (float(special.stdtrit(freedom, level)) * spread for level in (0.975, 0.995))
    if away > wide:
        return Verdict("incompatible")
    if away <= half and half <= SHARPEST:
        return Verdict("compatible")
    if 1.96 * deviation > SHARPEST:
        return Verdict("cannot tell", "runs differ too much: no number of seeds would do")
    if away > half:
        return Verdict("cannot tell", "between the 95 % and the 99 % interval")
    enough = _sharp_enough(deviation, freedom, n)
    needs = MORE if enough is None else f"needs {enough} seeds"
    return Verdict("cannot tell", f"the interval is too wide: {needs}")


def _sharp_enough(deviation: float, freedom: int, n: int) -> int | None:
    """The number of seeds, more than n, with which a prediction interval is sharp enough, if they vary as these do."""
    for more in range(n + 1, MOST_SEEDS + 1):
        # each of them is one more degree of freedom, of these runs or of all that are pooled
        t = float(special.stdtrit(freedom + more - n, 0.975))
        if t * deviation * math.sqrt(1.0 + 1.0 / more) <= SHARPEST:
            return more
    return None


def bound_frequency(violations: int, runs: int, delta: float) -> Verdict:
    """A bound claimed with probability 1 - delta, broken in k of n independent runs: Clopper and Pearson's limits."""
    detail = f"{violations} of {runs} runs above it"
    low, high = clopper_pearson(violations, runs)
    if low > delta:
        return Verdict("violated", detail)
    return Verdict("holds" if high <= delta else "not violated", detail)


def clopper_pearson(k: int, n: int) -> tuple[float, float]:
    """One-sided 95 % limits for a probability: BetaInv(0.05; k, n - k + 1) and BetaInv(0.95; k + 1, n - k)."""
    low = float(special.betaincinv(k, n - k + 1, 1.0 - 0.95)) if k > 0 else 0.0
    high = float(special.betaincinv(k + 1, n - k, 0.95)) if k < n else 1.0
    return low, high


def bound_always(ratios: Sequence[float] | Vector) -> Verdict:
    """A deterministic bound, from measured over bound: one violation beyond rounding is enough."""
    broken = sum(float(ratio) > 1.0 + ROUNDING for ratio in ratios)
    return Verdict("violated" if broken else "not violated", f"{broken} of {len(ratios)} above it")


def rate_allowed(found: Interval, allowed: float) -> Verdict:
    """A rate as a bound, "at most n^-a": by the ends of the slope's interval. How sharp it is is another question."""
    if found.high <= allowed:
        return Verdict("holds")
    if found.low > allowed:
        return Verdict("violated")
    infinite = not (math.isfinite(found.low) and math.isfinite(found.high))
    return Verdict("not violated", "too few seeds for an interval" if infinite else "the interval reaches beyond it")


def holm(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Those of one experiment together: a "differs" that does not survive Holm's correction becomes "cannot tell".

    Where the interval is narrow it is beyond the margin that may be chance: a "small effect" is left.
    """
    tested = sorted((v.p, i) for i, v in enumerate(verdicts) if v.p is not None)
    out = list(verdicts)
    why = f"alone it differs, among {len(tested)} comparisons it may be chance"
    rejecting = True
    for rank, (p, index) in enumerate(tested):
        rejecting = rejecting and p <= 0.05 / (len(tested) - rank)
        if not rejecting and out[index].word == "differs":
            out[index] = replace(out[index], word="small effect" if out[index].small else "cannot tell", detail=why)
    return out


def _p_beyond(found: Interval, beyond: float) -> float:
    """Two-sided p-value for a gap that exceeds its margin by `beyond`; normal, if the number of seeds is not known."""
    half = (found.high - found.low) / 2.0
    if not math.isfinite(half):
        return 1.0
    if half == 0.0:
        return 0.0 if beyond > 0.0 else 1.0
    if found.seeds < 2:
        return min(1.0, 2.0 * float(special.ndtr(-beyond * float(special.ndtri(0.975)) / half)))
    freedom = found.seeds - 1
    return min(1.0, 2.0 * float(special.stdtr(freedom, -beyond * float(special.stdtrit(freedom, 0.975)) / half)))


def _needs(found: Interval, gap: float, margin: float) -> str:
    """More seeds than there are: these have not told, whatever a symmetric interval of the same width would say."""
    if found.seeds < 2:
        return "the interval reaches both sides"
    seeds = seeds_needed(gap, found.deviation, margin)
    return MORE if seeds is None else f"needs {max(seeds, found.seeds + 1)} seeds"


def _without_interval(found: Interval, margin: float | None = None) -> Verdict:
    """What so few seeds, or points, say."""
    if 0 < found.seeds < FEWEST:
        return Verdict("cannot tell", f"too few seeds for an interval: needs {FEWEST} seeds", margin)
    return Verdict("cannot tell", "too few points for an interval", margin)


@dataclass(frozen=True)
class Claim:
    """What is said of a number: it is ("="), is at most ("<=", a bound on a rate), lies below ("<") or above (">")."""

    value: float
    relation: Relation = "="

    def __str__(self) -> str:
        return {"=": "", "<=": "≤ ", "<": "< ", ">": "> "}[
            self.relation
        ] + f"{0.0 if abs(self.value) < ROUNDING else self.value:.3g}"

    def judge(self, found: Interval, margin: float) -> Verdict:
        """The rule that belongs to the relation; the margin is for "=" alone."""
        if self.relation == "=":
            return number(found, self.value, margin)
        if self.relation == "<=":
            return rate_allowed(found, self.value)
        return sign(found, self.value, below=self.relation == "<")
