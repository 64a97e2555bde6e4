"""Validity, shown: how often does a certificate fail on distributions whose risk is known?

Each experiment draws a sample (and a learner that does its worst within the rules), computes the certificate from the
same records the report uses, and says whether the true risk exceeds it. Over many repetitions that may happen in at
most a fraction delta of them; an exact binomial test judges. `BROKEN` holds procedures that break a rule in the way
people break it; the same test catches every one of them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import bdtrc

from certiformer.certification.evidence import (
    Betting,
    Disagreement,
    Evidence,
    Gibbs,
    HoldOut,
    Margin,
    MarginScale,
    Occam,
    Progressive,
    SingleDraw,
)
from certiformer.core import find

DELTA = 0.05
Random = np.random.Generator
Experiment = Callable[[Random], bool]
"""One repetition: True if the guarantee was false."""


@dataclass(frozen=True)
class Coverage:
    """`failures` among `repetitions`, and the probability of as many or more at failure rate delta."""

    failures: int
    repetitions: int
    p_value: float

    @property
    def rate(self) -> float:
        return self.failures / self.repetitions


def run(experiment: Experiment, repetitions: int, seed: int, delta: float = DELTA) -> Coverage:
    """Repeat an experiment with independent randomness."""
    failures = sum(experiment(np.random.default_rng([seed, index])) for index in range(repetitions))
    tail = float(bdtrc(failures - 1, repetitions, delta)) if failures else 1.0
    return Coverage(failures, repetitions, tail)


def limit(evidence: Evidence) -> float:
    """The certificate at the level of the experiments."""
    return _limit(evidence.id, tuple(sorted(evidence.inputs(DELTA).items())))


@functools.lru_cache(maxsize=4096)
def _limit(id: str, inputs: tuple[tuple[str, object], ...]) -> float:
    evaluation = find(id).evaluate(dict(inputs))
    return math.inf if evaluation.best is None else evaluation.sound[evaluation.best].value


# H, B, O, K, K1


RISK, EXAMPLES, MANY = 0.1, 200, 64


def holdout(random: Random) -> bool:
    return limit(HoldOut(errors=int(random.binomial(EXAMPLES, RISK)), n=EXAMPLES)) < RISK


def holdout_best_of_many(random: Random) -> bool:
    """The best of many models on the same examples, all of them counted."""
    errors = int(random.binomial(EXAMPLES, RISK, size=MANY).min())
    return limit(HoldOut(errors=errors, n=EXAMPLES, models=MANY)) < RISK


def reused_split(random: Random) -> bool:
    """Broken: the split that chose the best of many models certifies it, and nobody pays."""
    return limit(HoldOut(errors=int(random.binomial(EXAMPLES, RISK, size=MANY).min()), n=EXAMPLES)) < RISK


def betting(random: Random) -> bool:
    losses = random.choice([0.0, 0.1, 1.0], p=[0.7, 0.2, 0.1], size=EXAMPLES)
    return limit(Betting(losses=tuple(losses.tolist()), low=0.0, high=1.0, smoothing=0.0, classes=2)) < 0.12


def occam(random: Random) -> bool:
    """Empirical risk minimisation over a finite class with a uniform prior."""
    errors = int(random.binomial(EXAMPLES, RISK, size=MANY).min())
    return limit(Occam(errors=errors, n=EXAMPLES, code_length=math.log(MANY))) < RISK


def unpaid_grid(random: Random) -> bool:
    """Broken: the grid that was searched is left out of the code length."""
    return (
        limit(Occam(errors=int(random.binomial(EXAMPLES, RISK, size=MANY).min()), n=EXAMPLES, code_length=0.0)) < RISK
    )


def _posterior(random: Random) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Empirical errors of a finite class, all of risk RISK, and a posterior that leans to the smallest."""
    errors = random.binomial(EXAMPLES, RISK, size=MANY) / EXAMPLES
    weights = np.exp(-0.5 * EXAMPLES * (errors - errors.min()))
    return errors, weights / weights.sum()


def gibbs(random: Random) -> bool:
    errors, posterior = _posterior(random)
    divergence = float(np.sum(posterior * np.log(np.maximum(posterior, 1e-300) * MANY)))
    return limit(Gibbs(error=float(posterior @ errors), n=EXAMPLES, KL=max(0.0, divergence))) < RISK


def gibbs_by_pairs(random: Random) -> bool:
    """The empirical error from pairs of fresh weights and an example drawn with replacement."""
    errors, posterior = _posterior(random)
    divergence = float(np.sum(posterior * np.log(np.maximum(posterior, 1e-300) * MANY)))
    pairs = 500
    rate = random.binomial(pairs, min(1.0, float(posterior @ errors))) / pairs
    return limit(Gibbs(error=rate, n=EXAMPLES, KL=max(0.0, divergence), pairs=pairs)) < RISK


def single_draw(random: Random) -> bool:
    errors, posterior = _posterior(random)
    drawn = int(random.choice(MANY, p=posterior))
    ratio = math.log(posterior[drawn] * MANY)
    return limit(SingleDraw(errors=round(errors[drawn] * EXAMPLES), n=EXAMPLES, log_ratio=ratio)) < RISK


def best_of_many_draws(random: Random) -> bool:
    """Broken: ten thousand draws from Q = P, the best is kept, and one is counted."""
    errors = int(random.binomial(EXAMPLES, 0.5, size=10_000).min())
    return limit(SingleDraw(errors=errors, n=EXAMPLES, log_ratio=0.0)) < 0.5


# M


GRID = np.linspace(-1.0, 1.0, 101)
GAMMAS = (0.1, 0.2, 0.4)
NOISE = 0.1


def margin(random: Random) -> bool:
    """f(x) = w x + c with |w|, |c| <= 1 on [-1, 1]: every one of many candidates has to be covered at once.

    Steps of gamma/2 in w and in c give a cover at gamma/4 + gamma/4 = gamma/2 over the whole domain.
    """
    x = random.choice(GRID, size=EXAMPLES)
    y = np.where(x > 0.2, 1.0, -1.0) * np.where(random.random(EXAMPLES) < NOISE, -1.0, 1.0)
    w, c = random.uniform(-1, 1, size=(2, 200))
    clean = np.where(GRID > 0.2, 1.0, -1.0) * (w[:, None] * GRID + c[:, None])
    risks = np.mean(np.where(clean <= 0, 1.0 - NOISE, NOISE), axis=1)
    margins = y * (w[:, None] * x + c[:, None])
    limits = np.min([_margin_limits(gamma)[np.sum(margins <= gamma, axis=1)] for gamma in GAMMAS], axis=0)
    return bool(np.any(limits < risks))


@functools.cache
def _margin_limits(gamma: float) -> npt.NDArray[np.float64]:
    """The certificate at one margin of the grid, for every number of margin errors."""
    size, paid = 2 * math.log(math.ceil(4 / gamma)), math.log(len(GAMMAS))
    records = (Margin(n=EXAMPLES, scales=(MarginScale(gamma, k, size, paid),)) for k in range(EXAMPLES + 1))
    return np.array([limit(record) for record in records])


def sample_cover(random: Random) -> bool:
    """Broken: all sign functions on a million points, covered on the sample; right there, wrong everywhere else."""
    points = 1_000_000
    seen = len(np.unique(random.integers(points, size=100)))
    scales = (MarginScale(1.0, 0, 100 * math.log(2.0), 0.0),)
    return limit(Margin(n=100, scales=scales)) < 1.0 - seen / points


# D


def disagreement(random: Random) -> bool:
    """The final model errs where h1 errs and wherever it differs: the worst case."""
    return (
        limit(
            Disagreement(
                errors=int(random.binomial(EXAMPLES, RISK)),
                n=EXAMPLES,
                disagreements=int(random.binomial(EXAMPLES, 0.05)),
                unlabelled=EXAMPLES,
            )
        )
        < RISK + 0.05
    )


def seen_unlabelled(random: Random) -> bool:
    """Broken: the final model was trained on the unlabelled inputs; it agrees there and nowhere else."""
    errors = int(random.binomial(EXAMPLES, RISK))
    return limit(Disagreement(errors=errors, n=EXAMPLES, disagreements=0, unlabelled=EXAMPLES)) < 1.0 - RISK


# V


def improving(n: int = 2000) -> npt.NDArray[np.float64]:
    """Risks of a learner that understands after two hundred steps."""
    return np.where(np.arange(n) < 200, 0.5, 0.02)


def progressive(random: Random) -> bool:
    risks = improving()
    losses = random.random(len(risks)) < risks
    return limit(Progressive(mean_loss=float(np.mean(losses)), n=len(risks))) < float(np.mean(risks))


def progressive_adaptive(random: Random) -> bool:
    """A learner that stays bad until the limit looks too small, then becomes perfect."""
    n, risk = 500, 0.2
    losses = random.random(n) < risk
    seen, total = np.cumsum(losses), risk * np.arange(1, n + 1)
    # A normal limit is enough to find the moment; the certificate is computed at the end.
    too_small = total > seen + 1.7 * np.sqrt(n * risk * (1 - risk) / 4) + 3
    stop = int(np.argmax(too_small)) + 1 if too_small.any() else n
    mean = float(np.sum(losses[:stop])) / n
    return limit(Progressive(mean_loss=mean, n=n)) < risk * stop / n


def betting_under_progress(random: Random) -> bool:
    """Broken: the betting limit, which needs one fixed mean, on a learner that improves."""
    risks = improving()
    losses = tuple((random.random(len(risks)) < risks).astype(float).tolist())
    value = limit(Betting(losses=losses, low=0.0, high=1.0, smoothing=0.0, classes=2))
    return value < float(np.mean(risks))


VALID: Mapping[str, Experiment] = {
    "holdout": holdout,
    "holdout, best of many": holdout_best_of_many,
    "betting": betting,
    "occam": occam,
    "pacbayes.gibbs": gibbs,
    "pacbayes.gibbs, by pairs": gibbs_by_pairs,
    "pacbayes.single": single_draw,
    "margin": margin,
    "disagreement": disagreement,
    "progressive": progressive,
    "progressive, adaptive learner": progressive_adaptive,
}
BROKEN: Mapping[str, Experiment] = {
    "reused split": reused_split,
    "unpaid grid": unpaid_grid,
    "best of many draws": best_of_many_draws,
    "sample cover": sample_cover,
    "seen unlabelled examples": seen_unlabelled,
    "betting under progress": betting_under_progress,
}
