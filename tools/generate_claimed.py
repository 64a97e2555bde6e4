"""Claimed and actual: usual 95 % intervals and ours before the same populations, as docs/claimed-and-actual.md.

`make claimed` measures everything again (some minutes) and writes docs/data/claimed.json and the page; `--redraw`
writes the page alone. Right and wrong answers are not simulated: all counts are gone through with their probabilities.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom, norm, t

from certiformer.evaluation import mean_limits, rate_limits
from certiformer.evaluation.judge import judge_helps, paired_blocks

DOCS = Path(__file__).parent.parent / "docs"
DATA, PAGE = DOCS / "data" / "claimed.json", DOCS / "claimed-and-actual.md"
DELTA = 0.05
REPETITIONS, WITH_A_JUDGE = 500, 100
"""Samples of each law; fewer where our rule uses the judge: its limits take half a second."""
RESAMPLES = 1000
Z = float(norm.ppf(1 - DELTA / 2))
Interval = tuple[float, float]
Row = dict[str, Any]

ERROR, STUDENT, BOOTSTRAP, WILSON = (
    "mean ± 1.96 standard errors",
    "Student's t",
    "percentile bootstrap",
    "Wilson's score",
)
EXACT, BETTING = "ours: exact binomial", "ours: betting"
PPI, TUNED, HUMANS, JUDGED = (
    "prediction-powered",
    "prediction-powered, tuned",
    "humans, 1.96 standard errors",
    "ours: by the rule",
)
FORMULAS = {
    ERROR: "m ± z s/√n, z = 1.96, s² with n - 1 below. Laplace 1812; the “stderr” of many evaluation logs",
    STUDENT: "m ± t s/√n with the quantile of n - 1 degrees of freedom. Student, Biometrika 6, 1908",
    BOOTSTRAP: "quantiles 2.5 % and 97.5 % of the mean of n draws from the sample. Efron, Ann. Statist. 7, 1979; "
    "for right and wrong answers without resampling error",
    WILSON: "{p : |m - p| ≤ z √(p(1-p)/n)}. Wilson, JASA 22, 1927",
    EXACT: "`certify --two-sided`. Clopper and Pearson, Biometrika 26, 1934",
    BETTING: "`certify --two-sided --order hash` of losses ([evaluation](proofs/evaluation.md))",
    PPI: "mean of the judge on all others + mean of (human - judge) on the labelled, ± z √(sum of both variances). "
    "Angelopoulos, Bates, Fannjiang, Jordan, Zrnic, Science 382, 2023",
    TUNED: "the same with the judge times the factor that minimises the estimated variance. Angelopoulos, Duchi, "
    "Zrnic, arXiv:2311.01453, 2023 (PPI++)",
    HUMANS: "m ± z s/√m of the human labels alone",
    JUDGED: "`certify --human --judge --two-sided`: whether the judge is used was said beforehand ([gates](gates.md))",
}


def about_normal(mean: float, variance: float, n: float, z: float = Z) -> Interval:
    half = z * math.sqrt(max(variance, 0.0) / n)
    return mean - half, mean + half


# --- right and wrong, exactly -----------------------------------------------------------------------------------------


def wilson(k: int, n: int) -> Interval:
    m = k / n
    middle, half = m + Z * Z / (2 * n), Z * math.sqrt(m * (1 - m) / n + Z * Z / (4 * n * n))
    return (middle - half) / (1 + Z * Z / n), (middle + half) / (1 + Z * Z / n)


def bootstrap_of_counts(k: int, n: int) -> Interval:
    """The mean of n draws from k ones and n - k zeros is Bin(n, k/n)/n."""
    low, high = binom.ppf([DELTA / 2, 1 - DELTA / 2], n, k / n) / n
    return float(low), float(high)


def exact(k: int, n: int) -> Interval:
    found = rate_limits(k, n, DELTA, two_sided=True)
    return found.lower, found.upper


COUNTED: dict[str, Callable[[int, int], Interval]] = {
    ERROR: lambda k, n: about_normal(k / n, k / n * (1 - k / n), n - 1),
    STUDENT: lambda k, n: about_normal(k / n, k / n * (1 - k / n), n - 1, float(t.ppf(1 - DELTA / 2, n - 1))),
    BOOTSTRAP: bootstrap_of_counts,
    WILSON: wilson,
    EXACT: exact,
}


def counts(sizes: tuple[int, ...] = (30, 100, 500)) -> list[Row]:
    """Every method at every rate: the probability of each count times what the interval does there."""
    rows = []
    for n in sizes:
        for rate in (0.01, 0.02, 0.05, 0.2):
            weights = binom.pmf(np.arange(n + 1), n, rate)
            for name, method in COUNTED.items():
                ends = np.array([method(k, n) for k in range(n + 1)])
                above, below = weights @ (rate > ends[:, 1]), weights @ (rate < ends[:, 0])
                width = weights @ (np.minimum(ends[:, 1], 1.0) - np.maximum(ends[:, 0], 0.0))
                rows.append(_row(f"rate {100 * rate:g} %, n = {n}", name, above, below, width))
    return rows


def _row(case: str, method: str, above: float, below: float, width: float) -> Row:
    return {
        "case": case,
        "method": method,
        "missed": float(above + below),
        "dangerous": float(above),
        "width": float(width),
    }


# --- losses -----------------------------------------------------------------------------------------------------------

LAWS: dict[str, tuple[Callable[..., Any], float]] = {
    "rare large losses": (lambda random, n: np.where(random.random(n) < 0.02, random.uniform(0.5, 1.0, n), 0.0), 0.015),
    "Beta(1, 19)": (lambda random, n: random.beta(1, 19, n), 0.05),
    "Beta(10, 30)": (lambda random, n: random.beta(10, 30, n), 0.25),
}


def of_losses(x: Any, random: np.random.Generator) -> dict[str, Interval]:
    n, mean, variance = len(x), float(np.mean(x)), float(np.var(x, ddof=1))
    means = x[random.integers(n, size=(RESAMPLES, n))].mean(axis=1)
    low, high = np.quantile(means, [DELTA / 2, 1 - DELTA / 2])
    ours = mean_limits(x, DELTA, two_sided=True, order="hash", ids=[str(place) for place in range(n)])
    return {
        ERROR: about_normal(mean, variance, n),
        STUDENT: about_normal(mean, variance, n, float(t.ppf(1 - DELTA / 2, n - 1))),
        BOOTSTRAP: (float(low), float(high)),
        BETTING: (ours.lower, ours.upper),
    }


def _losses(law: Callable[..., Any], n: int, random: np.random.Generator) -> dict[str, Interval]:
    return of_losses(law(random, n), random)


# --- a judge ----------------------------------------------------------------------------------------------------------

ITEMS, LABELLED, MISS, FALSE_ALARM = 2000, 100, 0.05, 0.02


def correlation(theta: float) -> float:
    """Of the judge with the truth: what a good pilot would have said."""
    said = theta * (1 - MISS) + (1 - theta) * FALSE_ALARM
    return (theta * (1 - MISS) - theta * said) / math.sqrt(theta * (1 - theta) * said * (1 - said))


def used(theta: float) -> bool:
    """Whether our rule uses the judge."""
    return judge_helps(LABELLED, (ITEMS - LABELLED) // LABELLED, theta, correlation(theta))


def of_judge(theta: float, random: np.random.Generator) -> dict[str, Interval]:
    truth = random.random(ITEMS) < theta
    judge = np.where(truth, random.random(ITEMS) >= MISS, random.random(ITEMS) < FALSE_ALARM).astype(float)
    z, mine, others = truth[:LABELLED].astype(float), judge[:LABELLED], judge[LABELLED:]

    def powered(factor: float) -> Interval:
        rest = z - factor * mine
        spread = factor**2 * np.var(others, ddof=1) / len(others) + np.var(rest, ddof=1) / LABELLED
        return about_normal(float(factor * others.mean() + rest.mean()), float(spread), 1.0)

    own = np.cov(z, mine)[0, 1] / max(float(np.var(judge, ddof=1)), 1e-300)
    if used(theta):
        ours = paired_blocks(z, mine, others).limits(DELTA / 2)
    else:
        ours = exact(int(z.sum()), LABELLED)
    return {
        HUMANS: about_normal(float(z.mean()), float(np.var(z, ddof=1)), LABELLED),
        PPI: powered(1.0),
        TUNED: powered(float(np.clip(own / (1 + LABELLED / len(others)), 0.0, 1.0))),
        JUDGED: ours,
    }


def simulated(
    case: str, truth: float, one: Callable[[np.random.Generator], dict[str, Interval]], repetitions: int
) -> list[Row]:
    found: dict[str, list[Interval]] = {}
    for seed in range(repetitions):
        for name, ends in one(np.random.default_rng([seed, len(case)])).items():
            found.setdefault(name, []).append(ends)
    rows = []
    for name, intervals in found.items():
        low, high = np.array(intervals).T
        width = np.mean(np.minimum(high, 1.0) - np.maximum(low, 0.0))
        rows.append(_row(case, name, float(np.mean(truth > high)), float(np.mean(truth < low)), float(width)))
    return rows


# --- the page ---------------------------------------------------------------------------------------------------------


def measured() -> dict[str, list[Row]]:
    losses, judges = [], []
    for n in (50, 200):
        for name, (law, truth) in LAWS.items():
            losses += simulated(f"{name}, n = {n}", truth, partial(_losses, law, n), REPETITIONS)
    for theta in (0.02, 0.05, 0.2):
        judges += simulated(
            f"rate {100 * theta:g} %", theta, partial(of_judge, theta), WITH_A_JUDGE if used(theta) else REPETITIONS
        )
    return {"counts": counts(), "losses": losses, "judges": judges}


def table(rows: list[Row], repetitions: float = math.inf) -> str:
    lines = ["| truth | method | missed | on the dangerous side | mean width |", "|---|---|---|---|---|"]
    last = ""
    for row in rows:
        case, last = ("" if row["case"] == last else row["case"]), row["case"]
        bad = "**" if row["dangerous"] > DELTA / 2 + 3 * math.sqrt(DELTA / 2 / repetitions) else ""
        figures = (f"{100 * row['missed']:.2f} %", f"{bad}{100 * row['dangerous']:.2f} %{bad}", f"{row['width']:.4f}")
        lines.append(f"| {case} | {row['method']} | {' | '.join(figures)} |")
    return "\n".join(lines)


def page(data: dict[str, list[Row]]) -> str:
    """The whole page, from what was measured."""
    worst = max((row for row in data["counts"] if row["method"] == ERROR), key=lambda row: row["dangerous"])
    example = worst["case"].replace(",", " and")
    named = "\n".join(f"- **{name}**: {words}." for name, words in FORMULAS.items())
    half = f"{100 * DELTA / 2:g} %"
    return f"""# Claimed and actual

An interval that says 95 % should miss the truth in at most 5 of 100 cases, and on each side in at most {half}.
Here usual formulas and ours stand before the same populations, whose truth is known. **On the dangerous side** means:
the true error is *above* the upper end, so that a model is thought better than it is. Bold: more than {half}, and not
by chance. For example, {ERROR} at a {example} misses on the dangerous side in {100 * worst["dangerous"]:.1f} % of all
cases: with no error seen its width is 0, and so is that of Student's t and of the bootstrap. Widths are of the
part of an interval that lies between 0 and 1.

This page is about formulas, by name and reference; no tool was run. It is written by `make claimed`.

## Right and wrong answers

Exact: every count with its probability, nothing is simulated.

{table(data["counts"])}

Ours never misses more often than claimed, and pays with width: the more, the fewer errors there are. Wilson's score is
right on average over rates, not at each.

## Losses between 0 and 1

{REPETITIONS:,} samples of each law.

{table(data["losses"], REPETITIONS)}

## Few human labels and a judge

{ITEMS:,} items, {LABELLED} of them with a human label; the judge misses {100 * MISS:g} % of the errors and calls
{100 * FALSE_ALARM:g} % of the right answers wrong. {REPETITIONS:,} repetitions, {WITH_A_JUDGE:,} where our rule
uses the judge. For rare errors it leaves the judge out: the limit is that of the human labels.

{table(data["judges"], WITH_A_JUDGE)}

## Formulas

{named}
"""


if __name__ == "__main__":
    if sys.argv[1:] != ["--redraw"]:
        DATA.write_text(json.dumps(measured(), indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(json.loads(DATA.read_text(encoding="utf-8"))), encoding="utf-8")
