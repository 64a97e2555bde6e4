r"""K and K1 for a linear readout on frozen features: a prior that saw other examples, a posterior, one draw.

Without `prior` the examples are divided: one half gives the prior, the other certifies. With `prior` (the readout of a
network that was trained elsewhere, on other examples) all of them certify: posterior mean = the minimiser of the loss
plus KL/m.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import log_softmax, ndtr

from certiformer.certificates import Evidence
from certiformer.certificates.pacbayes_gibbs import Gibbs
from certiformer.certificates.pacbayes_single import SingleDraw
from certiformer.certification.handover.model import predictor_of
from certiformer.certification.linear_head import certificates, prepare
from certiformer.certification.procedures._model import Labels, margins
from certiformer.core.errors import InputError

Array = npt.NDArray[np.float64]
PAIRS = 20_000


@dataclass(frozen=True, eq=False)
class HeadPosterior:
    """`features(batch)` of a frozen network (default: the model's own `features`), which saw none of the examples.

    `noise` is the prior's deviation in units of |prior|/sqrt(size); `rebuild(w)` is the network with that readout.
    """

    features: Callable[[npt.NDArray[Any]], npt.ArrayLike] | None = None
    prior: npt.ArrayLike | None = None
    noise: float = 0.15
    rebuild: Callable[[Array], Any] | None = None
    seed: int = 0

    def certify(self, model: Any, inputs: npt.NDArray[Any], labels: Labels, classes: int) -> tuple[Evidence, ...]:
        frozen = self.features if self.features is not None else _own_features(model)
        h = np.asarray(frozen(inputs), np.float64)
        if self.prior is None:
            return tuple(
                record for record in certificates(prepare(h, labels, classes), self.seed) if record.id != "occam"
            )
        prior = np.asarray(self.prior, np.float64).reshape(h.shape[1], -1)
        sigma = self.noise * float(np.linalg.norm(prior)) / math.sqrt(prior.size)
        mean = _posterior(h, labels, prior, sigma)
        return self.records(h, labels, prior, mean, sigma)

    def records(self, h: Array, labels: Labels, prior: Array, mean: Array, sigma: float) -> tuple[Gibbs, SingleDraw]:
        """The error of Q, exactly for one logit and from pairs for several, and the errors of the draw of the seed."""
        divergence = float(np.sum((mean - prior) ** 2)) / (2 * sigma**2)
        random = np.random.default_rng([self.seed, 1])
        draw = mean + sigma * random.standard_normal(mean.shape)
        ratio = float(np.sum((draw - prior) ** 2) - np.sum((draw - mean) ** 2)) / (2 * sigma**2)
        error, pairs = _gibbs(h, labels, mean, sigma, np.random.default_rng([self.seed, 2]))
        network = None if self.rebuild is None else self.rebuild(draw)
        return (
            Gibbs(error=error, n=len(labels), KL=divergence, pairs=pairs, subject="the network with a random readout"),
            SingleDraw(
                errors=int(np.sum(margins(_scores(h, draw), labels) <= 0)),
                n=len(labels),
                log_ratio=ratio,
                seed=self.seed,
                subject="the network with a readout drawn once from the posterior",
                predictor=None if network is None else predictor_of(network),
                note="The rule from the sample to the posterior, and the seed of the draw, were fixed beforehand.",
            ),
        )


def _own_features(model: Any) -> Callable[[npt.NDArray[Any]], npt.ArrayLike]:
    if not hasattr(model, "features"):
        raise InputError("features", None, "a function of a batch", "The model has no features(x) of its own")
    import jax

    compiled = jax.jit(jax.vmap(model.features))

    def frozen(batch: npt.NDArray[Any]) -> npt.ArrayLike:
        return np.concatenate([np.asarray(compiled(batch[i : i + 1000])) for i in range(0, len(batch), 1000)])

    return frozen


def _scores(h: Array, w: Array) -> Array:
    found = h @ w
    return found[:, 0] if found.shape[1] == 1 else found


def _posterior(h: Array, labels: Labels, prior: Array, sigma: float) -> Array:
    """argmin of the mean cross-entropy plus KL/m."""
    m, rows = len(labels), np.arange(len(labels))

    def objective(flat: Array) -> tuple[float, Array]:
        w = flat.reshape(prior.shape)
        scores = h @ w
        full = np.hstack([np.zeros_like(scores), scores]) if scores.shape[1] == 1 else scores
        logs = log_softmax(full, axis=1)
        slope = np.exp(logs)
        slope[rows, labels] -= 1.0
        slope = slope[:, 1:] if scores.shape[1] == 1 else slope
        value = -float(np.mean(logs[rows, labels])) + float(np.sum((w - prior) ** 2)) / (2 * sigma**2 * m)
        return value, (h.T @ slope / m + (w - prior) / (sigma**2 * m)).ravel()

    return np.asarray(minimize(objective, prior.ravel(), jac=True, method="L-BFGS-B").x).reshape(prior.shape)


def _gibbs(
    h: Array, labels: Labels, mean: Array, sigma: float, random: np.random.Generator
) -> tuple[float, int | None]:
    """One logit: the mean of Phi(-y <mean, h>/(sigma |h|)), dead features being wrong. Several: fresh pairs."""
    sizes = np.linalg.norm(h, axis=1)
    if mean.shape[1] == 1:
        scaled = margins(_scores(h, mean), labels) / np.where(sizes > 0, sigma * sizes, 1.0)
        return float(np.mean(np.where(sizes > 0, ndtr(-scaled), 1.0))), None
    rows = random.integers(len(labels), size=PAIRS)
    noise = sigma * sizes[rows, None] * random.standard_normal((PAIRS, mean.shape[1]))
    return float(np.mean(margins(h[rows] @ mean + noise, labels[rows]) <= 0)), PAIRS
