"""Learning problems small enough to enumerate: every sample of size n from a law on at most eight points."""

from __future__ import annotations

import itertools
import math

import numpy as np

from certiformer.theory.calculus.covers import Cover


def samples(probabilities, n):
    """All multisets of n atoms as (counts, probability)."""
    atoms = len(probabilities)
    counts, weights = [], []
    for bars in itertools.combinations(range(n + atoms - 1), atoms - 1):
        edges = np.array([-1, *bars, n + atoms - 1])
        count = np.diff(edges) - 1
        ways = math.factorial(n) / math.prod(math.factorial(c) for c in count)
        counts.append(count)
        weights.append(ways * math.prod(p**c for p, c in zip(probabilities, count, strict=True)))
    return np.array(counts), np.array(weights)


def erm(probabilities, losses, risks, n):
    """E of the worst `risks` among the minimisers of the empirical loss, and E of the minimum itself.

    `losses` is (functions, atoms), `risks` one number per function.
    """
    counts, weights = samples(probabilities, n)
    empirical = counts @ losses.T / n
    least = empirical.min(axis=1)
    minimises = empirical <= least[:, None] + 1e-12
    worst = np.where(minimises, np.asarray(risks)[None, :], -np.inf).max(axis=1)
    return float(weights @ worst), float(weights @ least)


def miscoverage(probabilities, losses, risks, limit, n):
    """P(some function has a risk above limit(its empirical loss))."""
    counts, weights = samples(probabilities, n)
    empirical = counts @ losses.T / n
    bad = [any(r > limit(e) + 1e-12 for r, e in zip(risks, row, strict=True)) for row in empirical]
    return float(weights @ np.array(bad, dtype=float))


def law(rng, atoms):
    return rng.dirichlet(np.full(atoms, 0.7))


def greedy_cover(predictions, radius):
    """Indices of a proper sup-norm cover, first come first served."""
    centres: list[int] = []
    for i, f in enumerate(predictions):
        if not centres or min(np.max(np.abs(f - predictions[j])) for j in centres) > radius:
            centres.append(i)
    return centres


def class_cover(predictions, distance=None):
    """The proper covers of a finite class that contains zero, at every radius."""
    metric = distance or (lambda f: float(np.max(np.abs(f))))
    top = max(metric(f) for f in predictions)

    def log_size(x):
        eps = top * math.exp(-x)
        centres: list[int] = []
        for i, f in enumerate(predictions):
            if not centres or min(metric(f - predictions[j]) for j in centres) > eps:
                centres.append(i)
        return math.log(len(centres))

    return Cover("greedy", math.log(top), log_size)
