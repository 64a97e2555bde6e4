"""L, mean loss: any loss in a known range, of examples or of groups of them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from certiformer.certificates._evidence import THE_MODEL, Evidence, scaled
from certiformer.certificates._law import EXAMPLES, Law, Random, Trial
from certiformer.certificates._paper import CERTIFICATES
from certiformer.theory.calculus.target_betting import fixed_orders, target_upper
from certiformer.theory.core import Quantity, Result, Status, Variants, assumed, choice, real, reals, upper_bound
from certiformer.theory.core.errors import InputError


class MeanLossBound(Result):
    r"""Mean of a bounded loss (target betting).

    A gambler bets against the mean m with a capital K_t = K_{t-1} + G_t (m w_t - y_t), the hedge of an option that pays
    at a target of 1.3/delta (on the average of 16 orders, 1.5/delta); means at which it reaches 1/delta are rejected.
    Nearly as short as the z-test's limit, and valid at every n. Weights in (0, 1] ask for E[w loss]/E[w].

    Sound: E[w loss]/E[w] <= the smallest m against which the gambler reaches 1/delta, with probability 1 - delta
    .. math:: \sup\{m : \max_t K_t(m) < 1/\delta\},\ K_t = K_{t-1} + G_t (m w_t - y_t)
    Because: any loss in a known range: regression, scores, cross-entropy per document, error rates of groups
    Assumes:
    - units are drawn independently from the population the claim is about
    """

    id = "mean_loss"
    paper, place = CERTIFICATES, "certificate L"
    bounds, status = Quantity.RISK, Status.NONE
    monotone = "-delta"
    proof = "docs/proofs/evaluation.md"

    losses: tuple[float, ...] = reals(
        "losses of independent units, in an order made before they were scored",
        low=-math.inf,
        low_open=False,
        example=(0.1, 0.0, 0.3, 0.05, 0.2, 0.0, 0.1, 0.0),
    )
    delta: float = real("failure probability", high=1.0, example=0.05)
    low: float = real("least possible loss", low=-math.inf, example=0.0, default=0.0)
    high: float = real("largest possible loss", low=-math.inf, default=1.0)
    weights: tuple[float, ...] = reals("weights in (0, 1] of the units; one number for all", default=(1.0,))
    order: str = choice("average of 16 fixed orders, or the order given", ("average", "given"), default="average")

    def sound(self) -> Variants:
        if not self.low < self.high:
            raise InputError("high", self.high, f"a number above low = {self.low}")
        losses, width = np.asarray(self.losses, dtype=np.float64), self.high - self.low
        x = (losses - self.low) / width
        outside = (x < 0.0) | (x > 1.0)
        if outside.any():
            raise InputError("losses", float(losses[outside][0]), f"numbers in [{self.low}, {self.high}]")
        w = np.asarray(self.weights, dtype=np.float64)
        if w.size not in (1, len(x)) or np.any((w <= 0.0) | (w > 1.0)):
            raise InputError("weights", w.tolist()[:5], f"one number in (0, 1], or one for each of {len(x)} losses")
        w = np.broadcast_to(w, x.shape)
        value = target_upper(w, w * x, self.delta, fixed_orders(len(x)) if self.order == "average" else None)
        hypotheses = (
            assumed("the units (examples or groups) are independent draws; the model was fixed before scoring them"),
            assumed(f"every loss lies in [{self.low:g}, {self.high:g}], not only the losses seen here"),
            assumed("the order of the units was made without looking at their losses"),
        )
        mean = self.low + width * float(np.sum(w * x) / np.sum(w))
        return {
            "value": upper_bound(
                self.low + width * value, clip=self.high, hypotheses=hypotheses, terms={"observed": mean}
            )
        }


MOST_PROJECTED = 2_000
"""Beyond this many units the limit at a larger sample is not projected: it would take longer than the answer."""


@dataclass(frozen=True, kw_only=True, eq=False)
class MeanLoss(Evidence):
    """Losses of independent units in [low, high], declared beforehand, in an order made without looking at them.

    `weights` ask for E[w loss]/E[w]. `unit` is what was drawn independently, `of` what the mean is taken over; `what`
    is the loss in words ("loss", "error rate", the name of a metric). `perplexity`: the loss is -ln p, so that exp of
    its limit is one. `guess` is the loss of a predictor that knows nothing, where there is one.
    """

    bound: ClassVar[type[Result]] = MeanLossBound
    bounds: ClassVar[str] = "mean_loss"
    measures: ClassVar[str] = "mean loss"
    weight: ClassVar[float] = 4.0
    guarantee: ClassVar[str] = (
        "Guarantees the mean loss of {subject} over the population from which the units (examples, or groups of them) "
        "were drawn independently, for a loss that cannot leave the range shown. It does not bound a loss beyond that "
        "range, single examples, other populations, or a mean over something else than the unit named: a mean over "
        "documents is not a mean over tokens."
    )
    absent: ClassVar[str] = "it needs heldout_losses with a declared range, or groups"

    losses: npt.NDArray[np.float64]
    low: float = 0.0
    high: float = 1.0
    weights: npt.NDArray[np.float64] | None = None
    order: str = "average"
    what: str = "loss"
    unit: str = "example"
    perplexity: bool = False
    guess: float | None = None

    # The equality of other records looks at their fields; arrays have none, so that a record equals itself alone.
    __eq__, __hash__ = object.__eq__, object.__hash__

    @property
    def about(self) -> str:
        smoothed = self.what.startswith("smoothed") and self.subject == THE_MODEL
        return "the smoothed predictor" if smoothed else self.subject

    @property
    def quantity(self) -> str:
        return f"mean {self.what} over new {self.of}"

    def seen(self) -> str:
        units = f"{self.size:,} {self.unit}{'' if self.size == 1 else 's'}"
        rate = self.what.endswith("rate")
        return (
            f"a mean {self.what} of {f'{100 * self.observed:.2f} %' if rate else f'{self.observed:.4g}'} over {units}"
        )

    @property
    def size(self) -> int:
        return len(self.losses)

    @property
    def observed(self) -> float:
        """The mean of the sample."""
        return float(np.average(self.losses, weights=self.weights))

    def inputs(self, delta: float) -> dict[str, Any]:
        given = {"losses": self.losses, "low": self.low, "high": self.high, "delta": delta, "order": self.order}
        return given if self.weights is None else {**given, "weights": self.weights}

    def lower(self, delta: float) -> float:
        x = (np.asarray(self.losses) - self.low) / (self.high - self.low)
        w = np.ones(len(x)) if self.weights is None else np.asarray(self.weights)
        orders = fixed_orders(len(x)) if self.order == "average" else None
        mirrored = target_upper(w, w * (1.0 - x), delta, orders)
        return max(self.low, self.high - (self.high - self.low) * mirrored * (1.0 + 1e-12))

    def grown(self, factor: float) -> Self | None:
        wanted = scaled(len(self.losses), factor)
        if wanted > MOST_PROJECTED:
            return None
        weights = None if self.weights is None else np.resize(self.weights, wanted)
        return replace(self, losses=np.resize(self.losses, wanted), weights=weights)

    def trivial(self, classes: int) -> float:
        return self.high if self.guess is None else self.guess

    def terms(self, delta: float) -> dict[str, float]:
        return {"least possible": self.low, "largest possible": self.high}

    def record(self) -> dict[str, Any]:
        """Losses are as many as units: the report keeps their hash, the data give them again."""
        digest = hashlib.sha256(np.asarray(self.losses, "<f8").tobytes())
        if self.weights is not None:
            digest.update(np.asarray(self.weights, "<f8").tobytes())
        return {**super().record(), "losses": digest.hexdigest(), "weights": self.weights is not None, "n": self.size}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self | None:
        return None

    @classmethod
    def laws(cls) -> Mapping[str, Law]:
        return {
            "a rare large loss": Law(rare),
            "few levels, two metrics": Law(two_metrics),
            "groups that fail together": Law(groups),
            "rows of groups": Law(rows),
            "repeats that are grouped": Law(repeats),
            "a loss clipped beforehand": Law(clipped),
            "repeats taken for independent draws": Law(natural_repeats, valid=False),
            "the range read off the losses": Law(observed_range, valid=False),
        }


FEW = 30
"""Units in a simulated sample: betting is walked through unit by unit."""


def rare(random: Random) -> Trial:
    losses = np.where(random.random(FEW) < 0.1, random.uniform(5.0, 10.0, FEW), 0.0)
    given = {"heldout_losses": losses, "heldout_ids": random.integers(2**60, size=FEW)}
    return Trial(given, 0.75, {"range": (0.0, 10.0), "order": "hash"})


def two_metrics(random: Random) -> Trial:
    """Both share delta; the first of them is judged."""
    first = random.choice([0.0, 0.25, 0.5, 1.0], p=[0.7, 0.15, 0.1, 0.05], size=FEW)
    return Trial({"heldout_losses_first": first, "heldout_losses_second": 1.0 - first}, 0.1375, {"order": "hash"})


def _wrong_together(random: Random) -> dict[str, Any]:
    """Groups of 1 to 5 rows, all right or all wrong, large ones more often wrong."""
    sizes = random.integers(1, 6, size=FEW)
    wrong = random.random(FEW) < sizes / 10
    return {"heldout_correct": np.repeat(~wrong, sizes), "heldout_groups": np.repeat(np.arange(FEW), sizes)}


def groups(random: Random) -> Trial:
    return Trial(_wrong_together(random), 0.3)


def rows(random: Random) -> Trial:
    return Trial(_wrong_together(random), 55 / 10 / 15, {"estimand": "rows", "max_size": 5, "order": "hash"})


def _repeated(random: Random) -> dict[str, Any]:
    """Twenty distinct examples, each ten times: an oversampled set; the model errs on three in ten."""
    wrong = np.repeat(random.random(20) < 0.3, EXAMPLES // 20)
    return {"heldout_correct": ~wrong, "heldout_inputs": np.repeat(random.normal(size=(20, 2)), EXAMPLES // 20, axis=0)}


def repeats(random: Random) -> Trial:
    return Trial(_repeated(random), 0.3, {"repeats": "group"})


def clipped(random: Random) -> Trial:
    """min(loss, 2) of an exponential loss has mean 1 - e^-2."""
    losses = random.exponential(size=FEW)
    return Trial({"heldout_losses": losses}, 1.0 - float(np.exp(-2.0)), {"clip": 2.0, "order": "hash"})


def natural_repeats(random: Random) -> Trial:
    """Broken: an oversampled set, said to repeat by nature."""
    given = _repeated(random)
    losses = 1.0 - given.pop("heldout_correct")
    return Trial({"heldout_losses": losses, **given}, 0.3, {"repeats": "natural", "order": "hash"})


def observed_range(random: Random) -> Trial:
    """Broken: `high` is the largest loss seen."""
    losses = np.where(random.random(FEW) < 0.02, 100.0, random.random(FEW))
    declared = {"range": (0.0, float(losses.max())), "order": "hash"}
    return Trial({"heldout_losses": losses}, 0.02 * 100 + 0.98 * 0.5, declared)
