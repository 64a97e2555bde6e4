"""L, mean loss: any loss in a known range, of examples or of groups of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from certiformer.certificates._evidence import THE_MODEL, LossBound, LossEvidence, hashed, scaled
from certiformer.certificates._law import EXAMPLES, Law, Random, Trial
from certiformer.theory.calculus.block_betting import block_upper
from certiformer.theory.calculus.tail_check import exact_upper
from certiformer.theory.calculus.target_betting import fixed_orders, target_upper
from certiformer.theory.core import Bound, Variants, assumed, choice, count, reals, upper_bound
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.hypothesis import Hypothesis
from certiformer.theory.core.lazy import np, npt
from certiformer.theory.core.report import RATES
from certiformer.theory.core.rounding import down, up


class MeanLossBound(LossBound):
    r"""Mean of a bounded loss (target betting).

    A gambler bets against the mean m with a capital K_t = K_{t-1} + G_t (m w_t - y_t), the hedge of an option that pays
    at a target of 1.3/delta (on the average of 16 orders, 1.5/delta); means at which it reaches 1/delta are rejected.
    Nearly as short as the z-test's limit, and valid at every n. Weights in (0, 1] ask for E[w loss]/E[w]. Where the
    losses are right or wrong and a judge has an opinion on these units and on further ones, the bets are on
    Y = loss - l (judge - its mean on a block of further units), l from earlier units: nothing is assumed of the judge.

    Sound: E[w loss]/E[w] <= the smallest m against which the gambler reaches 1/delta, with probability 1 - delta
    .. math:: \sup\{m : \max_t K_t(m) < 1/\delta\},\ K_t = K_{t-1} + G_t (m w_t - y_t)
    Because: any loss in a known range: regression, scores, cross-entropy per document, error rates of groups
    Assumes:
    - units are drawn independently from the population the claim is about
    """

    id = "mean_loss"
    place = "certificate L"
    proof = "docs/proofs/evaluation.md"

    losses: tuple[float, ...] = reals(
        "losses of independent units, in an order made before they were scored",
        low=-math.inf,
        low_open=False,
        example=(0.1, 0.0, 0.3, 0.05, 0.2, 0.0, 0.1, 0.0),
    )
    weights: tuple[float, ...] = reals("weights in (0, 1] of the units; one number for all", default=(1.0,))
    order: str = choice("average of 16 fixed orders, or the order given", ("average", "given"), default="average")
    judge: tuple[float, ...] = reals(
        "a judge's verdict in [0, 1] on each unit; none: no judge", high=1.0, low_open=False, default=()
    )
    blocks: tuple[float, ...] = reals(
        "the judge's mean verdict on each unit's block of further units", high=1.0, low_open=False, default=()
    )
    block: int = count("units in a block", default=1, example=1)

    def sound(self) -> Variants:
        x, width = self.fractions(), self.high - self.low
        w = np.asarray(self.weights, dtype=np.float64)
        if w.size not in (1, len(x)) or np.any((w <= 0.0) | (w > 1.0)):
            raise InputError("weights", w.tolist()[:5], f"one number in (0, 1], or one for each of {len(x)} losses")
        w = np.broadcast_to(w, x.shape)
        if len(self.judge):
            return {"value": self._judged(x)}
        value = target_upper(w, w * x, self.delta, fixed_orders(len(x)) if self.order == "average" else None)
        hypotheses = (
            assumed("the units (examples or groups) are independent draws; the model was fixed before scoring them"),
            assumed(range_needed(self.low, self.high)),
            assumed("the order of the units was made without looking at their losses"),
        )
        mean = self.low + width * float(np.sum(w * x) / np.sum(w))
        return {
            "value": upper_bound(
                self.low + width * value, clip=self.high, hypotheses=hypotheses, terms={"observed": mean}
            )
        }

    def _judged(self, x: npt.NDArray[np.float64]) -> Bound:
        """Human labels with a judge's verdicts: betting in blocks."""
        j, means = (np.asarray(given, dtype=np.float64) for given in (self.judge, self.blocks))
        plain = (self.low, self.high, self.order) == (0.0, 1.0, "average") and tuple(self.weights) == (1.0,)
        if not plain or np.any((x != 0.0) & (x != 1.0)):
            raise InputError("judge", "given", "losses 0 or 1, in the average of 16 orders, without weights")
        if j.shape != x.shape or means.shape != x.shape:
            raise InputError("judge, blocks", (len(j), len(means)), f"one number for each of {len(x)} losses")
        hypotheses = (
            assumed("the labelled items were drawn at random among all of them, blind to the judge and to all else"),
            assumed(
                "the judge was fixed before these items were seen, and works item by item, blind to who is labelled"
            ),
            assumed("the items are independent draws; the model was fixed before they were scored"),
            assumed("whether the judge is used was decided before it was run on these items; humans tell the truth"),
        )
        value = up(block_upper(x, j, means, self.block, self.delta))
        return upper_bound(value, clip=1.0, hypotheses=hypotheses, terms={"observed": float(np.mean(x))})


def range_needed(low: float, high: float, what: str = "loss") -> str:
    """What must hold of losses that were not seen: of those that are cut off, only that none lies below."""
    if what.startswith("clipped "):
        return f"no loss lies below {low:g}, not only of those seen here; what lies above {high:g} counts as {high:g}"
    return f"every loss lies in [{low:g}, {high:g}], not only the losses seen here"


MOST_PROJECTED = 2_000
"""Beyond this many units the limit at a larger sample is not projected: it would take longer than the answer."""


@dataclass(frozen=True, kw_only=True, eq=False)
class MeanLoss(LossEvidence):
    """Losses of independent units in [low, high], declared beforehand, in an order made without looking at them.

    `weights` ask for E[w loss]/E[w]. `unit` is what was drawn independently, `of` what the mean is taken over; `what`
    is the loss in words ("loss", "error rate", the name of a metric). `perplexity`: the loss is -ln p, so that exp of
    its limit is one. `guess` is the loss of a predictor that knows nothing, where there is one. `judge` holds a judge's
    verdicts on the units, whose losses are human labels, `blocks` its mean verdicts on `block` further items for each.
    """

    bound = MeanLossBound
    bounds = "mean_loss"
    measures = "mean loss"
    weight = 4.0
    guarantee = (
        "Guarantees the mean loss of {subject} over the population from which the units (examples, or groups of them) "
        "were drawn independently, for a loss that cannot leave the range shown. It does not bound a loss beyond that "
        "range, single examples, other populations, or a mean over something else than the unit named: a mean over "
        "documents is not a mean over tokens."
    )
    absent = "it needs heldout_losses with a declared range, or groups"

    weights: npt.NDArray[np.float64] | None = None
    order: str = "average"
    what: str = "loss"
    unit: str = "example"
    perplexity: bool = False
    guess: float | None = None
    judge: npt.NDArray[np.float64] | None = None
    blocks: npt.NDArray[np.float64] | None = None
    block: int = 1

    @property
    def about(self) -> str:
        smoothed = self.what.startswith("smoothed") and self.subject == THE_MODEL
        return "the smoothed predictor" if smoothed else self.subject

    @property
    def quantity(self) -> str:
        return f"mean {self.what} over new {self.of}"

    def seen(self) -> str:
        units = f"{self.size:,} {self.unit}{'' if self.size == 1 else 's'}{self.at_a_time}"
        rate = self.what in RATES
        if self.judge is not None:
            more = f"a judge's verdicts on them and on {self.size * self.block:,} other items"
            return f"{int(np.sum(self.losses)):,} errors among {self.size:,} human labels, and {more}"
        if self.weights is not None:
            units = f"the {self.of.partition(' (')[0]} of {units}"
        return (
            f"a mean {self.what} of {f'{100 * self.observed:.2f} %' if rate else f'{self.observed:.4g}'} over {units}"
        )

    @property
    def observed(self) -> float:
        """The mean of the sample."""
        return float(np.average(self.losses, weights=self.weights))

    def lower(self, delta: float) -> float:
        if self.judge is not None and self.blocks is not None:
            mirrored = block_upper(self.losses, self.judge, self.blocks, self.block, delta, complement=True)
            return max(0.0, down(1.0 - up(mirrored)))
        x = (np.asarray(self.losses) - self.low) / (self.high - self.low)
        w = np.ones(len(x)) if self.weights is None else np.asarray(self.weights)
        orders = fixed_orders(len(x)) if self.order == "average" else None
        mirrored = target_upper(w, w * (1.0 - x), delta, orders)
        return max(self.low, self.high - (self.high - self.low) * mirrored * (1.0 + 1e-12))

    def grown(self, factor: float) -> Self | None:
        wanted = scaled(len(self.losses), factor)
        if wanted > MOST_PROJECTED or self.judge is not None:
            return None
        weights = None if self.weights is None else np.resize(self.weights, wanted)
        return replace(self, losses=np.resize(self.losses, wanted), weights=weights)

    def terms(self, delta: float) -> dict[str, float]:
        found = super().terms(delta)
        return found if self.judge is None else {**found, "humans alone": self.alone(delta)}

    def alone(self, delta: float) -> float:
        """The upper limit that human labels alone would give, at a confidence of its own."""
        return exact_upper(self.id, int(np.sum(self.losses)), self.size, delta)

    def beside(self, delta: float) -> str:
        if self.judge is None:
            return ""
        most = math.ceil(1e4 * self.alone(delta)) / 100
        return f"; humans alone would give at most {most:g} %, at a confidence of its own"

    def settled(self, hypothesis: Hypothesis) -> Hypothesis:
        if hypothesis.requires == range_needed(self.low, self.high):
            hypothesis = assumed(range_needed(self.low, self.high, self.what))
        return super().settled(hypothesis)

    def record(self) -> dict[str, Any]:
        """Losses are as many as units: the report keeps their hash, the data give them again."""
        digest = hashed(self.losses, self.weights, self.judge, self.blocks)
        found = {**super().record(), "losses": digest, "weights": self.weights is not None, "n": self.size}
        judged = found.pop("judge") is not None
        for name in ("blocks", "block"):
            found.pop(name)
        return {**found, "judged by blocks of": self.block} if judged else found

    @classmethod
    def laws(cls) -> Mapping[str, Law]:
        return {
            "a rare large loss": Law(rare),
            "few levels, two metrics": Law(two_metrics),
            "groups that fail together": Law(groups),
            "rows of groups": Law(rows),
            "repeats that are grouped": Law(repeats),
            "a loss clipped beforehand": Law(clipped),
            "few human labels and a judge": Law(judged),
            "repeats taken for independent draws": Law(natural_repeats, valid=False),
            "the range read off the losses": Law(observed_range, valid=False),
            "human labels where the judge says fine": Law(judged_where_fine, valid=False),
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


def _labelled(random: Random, wrong: npt.NDArray[np.bool_], judge: npt.NDArray[Any], chosen: Any) -> dict[str, Any]:
    """A table of items: all have a verdict, the chosen ones a human label."""
    label = [("wrong" if one else "right") if known else "" for one, known in zip(wrong, chosen, strict=True)]
    return {"id": random.integers(2**60, size=len(wrong)), "human": label, "judge": judge.astype(np.float64)}


ASKED = {"human": "human", "judge": "judge", "labelled": "random", "expect": 0.5, "correlation": 0.8}
SAID = {"judging": ASKED, "better": "lower"}


def judged(random: Random) -> Trial:
    """Thirty of 150 items are labelled; the judge errs on one in ten, and misses more than it raises false alarms."""
    wrong = random.random(5 * FEW) < 0.3
    judge = np.where(wrong, random.random(5 * FEW) < 0.85, random.random(5 * FEW) < 0.05)
    return Trial(_labelled(random, wrong, judge, np.arange(5 * FEW) < FEW), 0.3, SAID)


def judged_where_fine(random: Random) -> Trial:
    """Broken: humans look where the judge says fine, and nobody says so."""
    wrong = random.random(5 * FEW) < 0.3
    judge = np.where(wrong, random.random(5 * FEW) < 0.85, random.random(5 * FEW) < 0.05)
    first = np.argsort(judge, kind="stable")[:FEW]
    return Trial(_labelled(random, wrong, judge, np.isin(np.arange(5 * FEW), first)), 0.3, SAID)


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
