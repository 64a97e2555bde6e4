r"""K and K1 for a linear readout on frozen features: a prior that saw other examples, a posterior, one draw.

Without `prior` the examples are divided: one half gives the prior, the other certifies. With `prior` (the readout of a
network that was trained elsewhere, on other examples) all of them certify: posterior mean = the minimiser of the loss
plus KL/m.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.certificates import Evidence, Predictor
from certiformer.certificates.pacbayes_gibbs import Gibbs
from certiformer.certificates.pacbayes_single import SingleDraw
from certiformer.certification.linear_head import certificates, fit
from certiformer.certification.predictors.linear_head import DrawnReadout, GaussianReadout
from certiformer.certification.predictors.model import FrozenHead, HouseModel, predictor_of
from certiformer.lab.procedures._model import Labels
from certiformer.theory.core.errors import InputError

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class HeadPosterior:
    """`features(batch)` of a frozen network (default: the model's own `features`), which saw none of the examples.

    `noise` is the deviation of prior and posterior in units of |prior|/sqrt(size). `pretrained_on`: inputs that the
    network (and the prior) have seen, or "nothing".
    """

    features: Callable[[npt.NDArray[Any]], npt.ArrayLike] | None = None
    prior: npt.ArrayLike | None = None
    noise: float = 0.15
    seed: int = 0
    pretrained_on: Any = None

    def start(self, model: Any) -> str:
        return "the frozen network" if self.prior is None else "the frozen network, and the prior of its readout,"

    def certify(self, model: Any, inputs: npt.NDArray[Any], labels: Labels, classes: int) -> tuple[Evidence, ...]:
        """K and K1, with a predictor of inputs where the network is one of this package, of features elsewhere."""
        network = None if self.features is not None else _network(model)
        frozen = self.features if self.features is not None else _own_features(model)
        h = network.features(inputs) if network is not None else np.asarray(frozen(inputs), np.float64)
        if self.prior is None:
            heads = certificates(h, labels, classes, self.seed)
            found: tuple[Evidence, ...] = tuple(record for record in heads if record.id != "occam")
        else:
            found = self.records(h, labels, np.asarray(self.prior, np.float64).reshape(h.shape[1], -1))
        if network is None:
            return found
        return tuple(replace(record, predictor=FrozenHead(network, _head(record))) for record in found)

    def records(self, h: Array, labels: Labels, prior: Array) -> tuple[Gibbs, SingleDraw]:
        """The error of Q, exactly for one logit and from pairs for several, and the errors of the draw of the seed."""
        gibbs = GaussianReadout(prior, prior, self.seed, self.noise)
        # the minimiser of the mean cross-entropy plus KL/m
        mean = fit(h, labels, prior.shape[1], gibbs.sigma**-2, start=prior, centre=prior)
        gibbs = replace(gibbs, mean=mean)
        drawn = DrawnReadout(gibbs.mean, prior, self.seed, self.noise)
        error, pairs = gibbs.rate(h, labels)
        return (
            Gibbs(
                error=error,
                n=len(labels),
                KL=gibbs.divergence,
                pairs=pairs,
                subject="the network with a random readout",
                predictor=gibbs,
            ),
            SingleDraw(
                errors=drawn.errors(h, labels),
                n=len(labels),
                log_ratio=drawn.log_ratio,
                seed=self.seed,
                subject="the network with a readout drawn once from the posterior",
                predictor=drawn,
                note="The rule from the sample to the posterior, and the seed of the draw, were fixed beforehand.",
            ),
        )


def _head(record: Evidence) -> Predictor:
    assert record.predictor is not None
    return record.predictor


def _network(model: Any) -> HouseModel | None:
    found = predictor_of(model)
    return found if isinstance(found, HouseModel) else None


def _own_features(model: Any) -> Callable[[npt.NDArray[Any]], npt.ArrayLike]:
    if not hasattr(model, "features"):
        raise InputError("features", None, "a function of a batch", "The model has no features(x) of its own")
    import jax

    compiled = jax.jit(jax.vmap(model.features))
    return lambda batch: np.concatenate([np.asarray(compiled(batch[i : i + 1000])) for i in range(0, len(batch), 1000)])
