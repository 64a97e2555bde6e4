r"""K, K1 and O for a linear head on frozen features: any encoder, any framework, only the features are needed.

The encoder must not have seen the labelled examples given here (it was pretrained elsewhere); the heads are trained
here. Features are scaled to unit length, which is a fixed map, and get a constant coordinate as intercept.

O: heads whose coordinates in a fixed random subspace are multiples of a step, under the discrete Gaussian prior. The
number of coordinates, the step and the prior's spacing are on grids that the prior pays for uniformly.
K and K1: the prior is a Gaussian around a head trained on half of the examples, with its scale on a paid grid, and
the certificate is computed on the other half.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import log_softmax, ndtr

from certiformer.calculus.quantised import gaussian_nats
from certiformer.calculus.tails import kl_inverse
from certiformer.certificates import Evidence
from certiformer.certificates.occam import Occam
from certiformer.certificates.pacbayes_gibbs import Gibbs
from certiformer.certificates.pacbayes_single import SingleDraw
from certiformer.certification.split import split

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

SIZES = (4, 8, 16, 32, 64, 128)
STEPS = tuple(2.0**j for j in range(-2, 6))
SPACINGS = tuple(2.0 ** (0.5 * j) for j in range(-6, 3))
SCALES = tuple(2.0 ** (0.5 * j) for j in range(-8, 9))
PENALTY = 1e-2
PAIRS = 20_000


@dataclass(frozen=True)
class HeadData:
    """Features of unit length with a constant coordinate, and class indices."""

    features: Array
    labels: Labels
    classes: int


def prepare(features: npt.ArrayLike, labels: Labels, classes: int) -> HeadData:
    """Scale each row to unit length (zero rows stay) and append 1."""
    values = np.asarray(features, np.float64)
    sizes = np.linalg.norm(values, axis=1, keepdims=True)
    unit = values / np.where(sizes > 0, sizes, 1.0)
    return HeadData(np.hstack([unit, np.ones((len(unit), 1))]), labels, classes)


def certificates(data: HeadData, seed: int) -> tuple[Evidence, ...]:
    """The records for O, K and K1, each about a head that was trained here."""
    return (occam(data, seed), *pac_bayes(data, seed))


def fit(features: Array, labels: Labels, classes: int, penalty: float = PENALTY, start: Array | None = None) -> Array:
    """Ridge-penalised softmax regression; two classes have one column, the logit of class 1 over class 0."""
    columns = 1 if classes == 2 else classes
    shape = (features.shape[1], columns)

    def objective(flat: Array) -> tuple[float, Array]:
        w = flat.reshape(shape)
        scores = features @ w
        full = np.hstack([np.zeros_like(scores), scores]) if columns == 1 else scores
        logs = log_softmax(full, axis=1)
        rows = np.arange(len(labels))
        slope = np.exp(logs)
        slope[rows, labels] -= 1.0
        if columns == 1:
            slope = slope[:, 1:]
        value = -float(np.mean(logs[rows, labels])) + 0.5 * penalty / len(labels) * float(np.sum(w * w))
        return value, (features.T @ slope / len(labels) + penalty / len(labels) * w).ravel()

    first = np.zeros(shape) if start is None else start
    found = minimize(objective, first.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 300})
    return np.asarray(found.x).reshape(shape)


def errors(head: Array, data: HeadData) -> int:
    """Mistakes of a head; ties are mistakes."""
    return int(np.sum(_mistakes(data.features @ head, data.labels)))


def _mistakes(scores: Array, labels: Labels) -> npt.NDArray[np.bool_]:
    if scores.shape[1] == 1:
        return np.asarray((2 * labels - 1) * scores[:, 0] <= 0)
    rows = np.arange(len(labels))
    rest = scores.copy()
    rest[rows, labels] = -np.inf
    return np.asarray(scores[rows, labels] <= np.max(rest, axis=1))


def occam(data: HeadData, seed: int) -> Occam:
    """The best quantised head: every size, step and spacing of the grids, all paid for by the prior."""
    width = data.features.shape[1]
    sizes = (*(size for size in SIZES if size < width), width)
    paid = math.log(len(sizes)) + math.log(len(STEPS)) + math.log(len(SPACINGS))
    n, best, best_limit = len(data.labels), None, math.inf
    for size in sizes:
        basis = subspace(width, size, seed)
        seen = data.features @ basis
        for penalty in (1e-2, 1.0, 10.0):
            coordinates = fit(seen, data.labels, data.classes, penalty)
            for step in STEPS:
                z = np.rint(coordinates / step).astype(np.int64)
                wrong = int(np.sum(_mistakes(seen @ (step * z), data.labels)))
                nats = paid + min(gaussian_nats(z.ravel(), spacing, 1.0) for spacing in SPACINGS)
                limit = kl_inverse(wrong / n, (nats + math.log(1.0 / 0.01)) / n)
                if limit < best_limit:
                    best_limit, best = limit, (wrong, nats, size, step)
    assert best is not None
    wrong, nats, size, step = best
    return Occam(
        errors=wrong,
        n=n,
        code_length=nats,
        parts={"grids of sizes, steps and spacings": paid, "coordinates": nats - paid},
        subject=f"a linear head with {size} quantised coordinates per logit",
        note=f"{size} coordinates in multiples of {step:g}, trained here on the frozen features.",
    )


def subspace(width: int, size: int, seed: int) -> Array:
    """A fixed random subspace, drawn from a seed and never from the data; all of it when size is the width."""
    if size == width:
        return np.eye(width)
    return np.random.default_rng([seed, size]).standard_normal((width, size)) / math.sqrt(size)


def pac_bayes(data: HeadData, seed: int) -> tuple[Gibbs, SingleDraw]:
    """Prior from one half, posterior from all, certified on the other half; one draw with a seed of its own."""
    n = len(data.labels)
    halves = split(n, {"prior": n // 2, "certify": n - n // 2}, seed)
    first, second = halves["prior"], halves["certify"]
    prior = fit(data.features[first], data.labels[first], data.classes)
    certified = HeadData(data.features[second], data.labels[second], data.classes)
    m, paid = len(second), math.log(len(SCALES))
    candidates = [prior] + [
        fit(data.features, data.labels, data.classes, start=prior) * t + prior * (1 - t) for t in (0.25, 0.5, 1.0)
    ]
    best: tuple[float, Array, float, float] | None = None
    for mean in candidates:
        square = float(np.sum((mean - prior) ** 2))
        for scale in SCALES:
            divergence = square / (2.0 * scale * scale) + paid
            rate = gibbs_error(mean, scale, certified, seed)
            limit = kl_inverse(min(rate, 1.0), (divergence + math.log(2.0 * math.sqrt(m) / 0.01)) / m)
            if best is None or limit < best[0]:
                best = (limit, mean, scale, divergence)
    assert best is not None
    _, mean, scale, divergence = best
    exact = data.classes == 2
    if exact:
        rate, pairs = gibbs_error(mean, scale, certified, seed), None
    else:
        rate, pairs = _by_pairs(mean, scale, certified, np.random.default_rng([seed, 2]), PAIRS), PAIRS
    drawn = mean + scale * np.random.default_rng([seed, 1]).standard_normal(mean.shape)
    ratio = float(np.sum((drawn - prior) ** 2) - np.sum((drawn - mean) ** 2)) / (2.0 * scale * scale) + paid
    subject = "a linear head with Gaussian weights"
    return (
        Gibbs(error=rate, n=m, KL=divergence, pairs=pairs, subject=subject, note=f"Scale {scale:g}."),
        SingleDraw(
            errors=errors(drawn, certified),
            n=m,
            log_ratio=ratio,
            seed=seed,
            subject="a linear head drawn once",
            note="The rule from the sample to the posterior, and the seed of the draw, were fixed beforehand.",
        ),
    )


def gibbs_error(mean: Array, scale: float, data: HeadData, seed: int) -> float:
    """Error of N(mean, scale^2 I): the mean of Phi(-y <w,x>/(scale ||x||)) for two classes; an estimate for more."""
    if data.classes == 2:
        sizes = np.linalg.norm(data.features, axis=1)
        signs = 2 * data.labels - 1
        return float(np.mean(ndtr(-signs * (data.features @ mean)[:, 0] / (scale * sizes))))
    return _by_pairs(mean, scale, data, np.random.default_rng([seed, 3]), 2000)


def _by_pairs(mean: Array, scale: float, data: HeadData, rng: np.random.Generator, pairs: int) -> float:
    """Fresh weights and an example drawn with replacement for every pair; scores of a Gaussian head are Gaussian."""
    rows = rng.integers(len(data.labels), size=pairs)
    chosen = data.features[rows]
    noise = rng.standard_normal((pairs, mean.shape[1])) * np.linalg.norm(chosen, axis=1, keepdims=True)
    return float(np.mean(_mistakes(chosen @ mean + scale * noise, data.labels[rows])))
