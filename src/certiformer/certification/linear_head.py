r"""K, K1 and O for a linear head on frozen features: any encoder, any framework, only the features are needed.

The encoder must not have seen the labelled examples given here (it was pretrained elsewhere); the heads are trained
here and handed over (`predictors.linear_head`). Features are scaled to unit length, which is a fixed map, and get a
constant coordinate as intercept.

O: heads whose coordinates in a fixed random subspace are multiples of a step, under the discrete Gaussian prior. The
number of coordinates, the step and the prior's spacing are on grids that the prior pays for uniformly.
K and K1: the prior is a Gaussian around a head trained on half of the examples, with its scale on a paid grid, and
the certificate is computed on the other half.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import log_softmax

from certiformer.certificates import Evidence
from certiformer.certificates.occam import Occam
from certiformer.certificates.pacbayes_gibbs import Gibbs
from certiformer.certificates.pacbayes_single import SingleDraw
from certiformer.certification.predictors.gaussian import error_by_pairs, exact_error, mistakes
from certiformer.certification.predictors.linear_head import (
    SCALES,
    STEPS,
    DrawnHead,
    GaussianHead,
    QuantisedHead,
    code_length,
    halves,
    prepared,
    sizes,
    subspace,
)
from certiformer.theory.calculus.tails import kl_inverse

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

PENALTY = 1e-2


def certificates(features: npt.ArrayLike, labels: Labels, classes: int, seed: int) -> tuple[Evidence, ...]:
    """The records for O, K and K1, each about a head that was trained here on features and class indices."""
    scaled = prepared(features)
    return (occam(scaled, labels, classes, seed), *pac_bayes(scaled, labels, classes, seed))


def fit(
    features: Array,
    labels: Labels,
    classes: int,
    penalty: float = PENALTY,
    start: Array | None = None,
    centre: Array | None = None,
) -> Array:
    """Softmax regression, ridge-penalised around `centre` (zero, if not given).

    Two classes have one column, the logit of class 1 over class 0, unless the centre has two.
    """
    columns = centre.shape[1] if centre is not None else 1 if classes == 2 else classes
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
        away = w if centre is None else w - centre
        value = -float(np.mean(logs[rows, labels])) + 0.5 * penalty / len(labels) * float(np.sum(away * away))
        return value, (features.T @ slope / len(labels) + penalty / len(labels) * away).ravel()

    first = np.zeros(shape) if start is None else start
    found = minimize(objective, first.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 300})
    return np.asarray(found.x).reshape(shape)


def occam(features: Array, labels: Labels, classes: int, seed: int) -> Occam:
    """The best quantised head: every size, step and spacing of the grids, all paid for by the prior."""
    width = features.shape[1]
    n, best, best_limit = len(labels), None, math.inf
    for size in sizes(width):
        basis = subspace(width, size, seed)
        seen = features @ basis
        for penalty in (1e-2, 1.0, 10.0):
            coordinates = fit(seen, labels, classes, penalty)
            for step in STEPS:
                z = np.rint(coordinates / step).astype(np.int64)
                wrong = int(np.sum(mistakes(seen @ (step * z), labels)))
                nats = math.fsum(code_length(z, width).values())
                limit = kl_inverse(wrong / n, (nats + math.log(1.0 / 0.01)) / n)
                if limit < best_limit:
                    best_limit, best = limit, QuantisedHead(z, width, step, seed)
    assert best is not None
    parts = code_length(best.z, width)
    return Occam(
        # Counted with the weights that are handed over, whose rounding may differ from that of the search.
        errors=int(np.sum(mistakes(features @ best.weights, labels))),
        n=n,
        code_length=math.fsum(parts.values()),
        parts=parts,
        subject=f"a linear head with {len(best.z)} quantised coordinates per logit",
        note=f"{len(best.z)} coordinates in multiples of {best.step:g}, trained here on the frozen features.",
        predictor=best,
    )


def pac_bayes(features: Array, labels: Labels, classes: int, seed: int) -> tuple[Gibbs, SingleDraw]:
    """Prior from one half, posterior from all, certified on the other half; one draw with a seed of its own."""
    first, second = halves(len(labels), seed)
    prior = fit(features[first], labels[first], classes)
    whole = fit(features, labels, classes, start=prior)
    features, labels, m = features[second], labels[second], len(second)
    best, best_limit = None, math.inf
    for mean in (prior, *(whole * t + prior * (1 - t) for t in (0.25, 0.5, 1.0))):
        for scale in SCALES:
            head = GaussianHead(mean, prior, seed, scale)
            rate = _estimate(head, features, labels)
            limit = kl_inverse(min(rate, 1.0), (head.divergence + math.log(2.0 * math.sqrt(m) / 0.01)) / m)
            if best is None or limit < best_limit:
                best_limit, best = limit, head
    assert best is not None
    rate, pairs = best.rate(features, labels)
    drawn = DrawnHead(best.mean, best.prior, seed, best.scale)
    return (
        Gibbs(
            error=rate,
            n=m,
            KL=best.divergence,
            pairs=pairs,
            subject="a linear head with Gaussian weights",
            note=f"Scale {best.scale:g}.",
            predictor=best,
        ),
        SingleDraw(
            errors=int(np.sum(mistakes(features @ drawn.weights, labels))),
            n=m,
            log_ratio=drawn.log_ratio,
            seed=seed,
            subject="a linear head drawn once",
            note="The rule from the sample to the posterior, and the seed of the draw, were fixed beforehand.",
            predictor=drawn,
        ),
    )


def _estimate(head: GaussianHead, features: Array, labels: Labels) -> float:
    """What the search for a posterior goes by: exact for two classes, few pairs of its own for more."""
    if head.mean.shape[1] == 1:
        return exact_error(head.mean, head.scale, features, labels)
    return error_by_pairs(head.mean, head.scale, features, labels, np.random.default_rng([head.seed, 3]), 2000)
