"""P, compression: a model trained on examples that it picked itself, certified on all of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from certiformer.certificates._evidence import THE_MODEL, CertificateBound, Evidence
from certiformer.certificates._law import Law, Random, Trial
from certiformer.theory.calculus.compression import compression_upper, published_with_a_plus, windowed_upper
from certiformer.theory.core import Status, Variants, assumed, choice, count, printed_value, real, stated, upper_bound
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.lazy import np

FORMS = ("value", "window")


class CompressionBound(CertificateBound):
    r"""Compression certificate (pick-to-learn).

    All n examples train and certify; no split, no prior. A loop picks examples its model gets wrong and learns from
    those it picked; k were picked when no other was wrong. If the loop was stopped earlier, by a rule that reads the
    picks only, those still wrong count as picks. With probability at least 1 - delta.

    Printed: public code: eps is the root of n eps P(Bin(n, eps) = k) = delta + P(Bin(n, eps) >= k + 1), 0 at k = 0
    .. math:: n\varepsilon P(\mathrm{Bin}(n,\varepsilon)=k)=\delta+P(\mathrm{Bin}(n,\varepsilon)\ge k+1)
    Sound: risk <= eps(k + left, n, delta), the root of n eps P(Bin(n, eps) = k) = delta P(Bin(n, eps) >= k + 1);
    window: the same with weights on n/2 <= m < 0.8 n only, smaller where 10 to 100 of 10,000 were picked
    .. math:: n\varepsilon P(\mathrm{Bin}(n,\varepsilon)=k)=\delta\,P(\mathrm{Bin}(n,\varepsilon)\ge k+1)
    Because: a sum where the proof has a product: 2.53 % is published where 2.80 % holds (k = 237, n = 10,612)
    Assumes:
    - the n examples are independent draws, and all of them were offered to the loop
    - the learner is a deterministic function of the ordered list of picked examples, seeds fixed before
    - initial model, features, settings and preference do not depend on the n examples
    - the loop ended because no example was wrong, or by a rule that reads the picks only; it is defined for every n
    Defects:
    - delta and the incomplete beta function are added, not multiplied
    - with k = 0 the published program returns 0: a risk of zero from finitely many examples
    """

    id = "compression"
    place = "certificate P"
    status = Status.FALSE
    monotone = "+k +left -delta"
    proof = "docs/proofs/compression.md"

    k: int = count("examples that were picked", low=0, example=237)
    n: int = count("examples, all of them", example=10_612, aliases=("m", "N"))
    delta: float = real("failure probability", high=1.0, example=0.01)
    left: int = count("examples still wrong at a stop that depends on the picks only", low=0, example=0, default=0)
    form: str = choice("the form that was declared before the loop ran", FORMS, default="value")

    def printed(self) -> Variants:
        return {"published": printed_value(published_with_a_plus(self._counted(), self.n, self.delta))}

    def sound(self) -> Variants:
        terms = {"observed": self.left / self.n, "examples picked": self.k, "examples left wrong": self.left}
        replayed = assumed("the loop, run on the picks alone, returns the same picks and the same model")
        found = {}
        for form, limit in (("value", compression_upper), ("window", windowed_upper)):
            declared = stated("this form was chosen before the loop ran", self.form == form or None, f"form={form}")
            hypotheses = (replayed,) if form == self.form == "value" else (replayed, declared)
            value = limit(self._counted(), self.n, math.log(self.delta))
            found[form] = upper_bound(value, clip=1.0, hypotheses=hypotheses, terms=terms)
        return found

    def _counted(self) -> int:
        if self.k + self.left > self.n:
            raise InputError("k, left", (self.k, self.left), f"together at most n = {self.n}", "They are among the n")
        return self.k + self.left


@dataclass(frozen=True, kw_only=True)
class Compression(Evidence):
    """`k` of `n` examples were picked, `left` others are still wrong, at one of `stages` stages of a declared grid.

    `form` "window" is declared before the loop runs, in place of the other.
    """

    bound = CompressionBound
    weight = 3.0
    grows = ("n", "left")  # the picks of a learnable problem do not
    cost = "examples picked"
    guarantee = (
        "Guarantees the error rate of {subject}. Every example serves for training and for the certificate; what "
        "counts is how few had to be learnt from. It rests on a learner that sees the picked examples only, in the "
        "order of picking: the loop was replayed on them alone. It does not speak about a model that was trained "
        "further."
    )
    absent = (
        "it needs a model that was trained by picking its examples one after another; certify(model, train=..., "
        "by=[PickToLearn()]) trains one"
    )

    k: int
    n: int
    left: int = 0
    stages: int = 1
    form: str = "value"

    replayed = "The loop was replayed on the picks alone with the same result."
    """The note of a loop that was run again."""

    @property
    def about(self) -> str:
        if self.subject != THE_MODEL:
            return self.subject
        return f"the model trained on {self.k:,} of {self.n:,} examples that it picked itself"

    def seen(self) -> str:
        return f"it was trained on {self.k:,} of {self.n:,} examples, and errs on {self.left:,} of the others"

    def inputs(self, delta: float) -> dict[str, Any]:
        return {"k": self.k, "left": self.left, "n": self.n, "delta": delta / self.stages, "form": self.form}

    def terms(self, delta: float) -> dict[str, float]:
        return {"stages paid for": float(self.stages)}

    @classmethod
    def laws(cls) -> Mapping[str, Law]:
        return {
            "boxes in five dimensions": Law(boxes),
            "label noise, the stage chosen afterwards and paid": Law(noisy),
            "the best stage, unpaid": Law(unpaid_stage, valid=False),
            "a learner that peeks": Law(peeking, valid=False),
            "the best of many seeds": Law(best_seed, valid=False),
            "picks that depend on the order of the file": Law(look_ahead, valid=False),
        }


def _box(points: Any) -> tuple[int, Any, Any]:
    """The loop that learns the bounding box, worst violation first: picks, low, high."""
    low, high = np.full(points.shape[1], 0.5), np.full(points.shape[1], 0.5)
    picks = 0
    while True:
        beyond = np.maximum(low - points, points - high)
        worst = int(np.argmax(np.max(beyond, axis=1)))
        if np.max(beyond[worst]) <= 0:
            return picks, low, high
        low, high = np.minimum(low, points[worst]), np.maximum(high, points[worst])
        picks += 1


def boxes(random: Random) -> Trial:
    """Points in a cube, learnt as a box: its risk is the volume outside, in closed form."""
    points = random.random((100, 5))
    picks, low, high = _box(points)
    return Trial(Compression(k=picks, n=100), 1.0 - float(np.prod(high - low)))


def _threshold(random: Random, n: int, noise: float) -> tuple[list[tuple[int, int]], list[float]]:
    """Picks the extreme wrong one and learns the largest pick; (picks, left) and the risk of each stage.

    x is uniform and right below the threshold; with label noise an example is wrong for any threshold.
    """
    x, bad = random.random(n), random.random(n) < noise
    score = np.where(bad, 2.0 + x, x)
    order = np.argsort(-score)
    stages, risks = [], []
    for j in (0, 2, 4, 8, 16):
        # After j picks the model calls right what is clean and below the smallest clean pick.
        clean = [i for i in order[:j] if not bad[i]]
        level = min((x[i] for i in clean), default=1.0) if j else 0.0
        level = float(level) if clean or j == 0 else 0.0
        wrong = (bad | (x > level)) & ~np.isin(np.arange(n), order[:j])
        stages.append((j, int(np.sum(wrong))))
        risks.append(noise + (1 - noise) * (1.0 - level))
    return stages, risks


def noisy(random: Random) -> Trial:
    stages, risks = _threshold(random, 100, 0.1)
    best = min(range(5), key=lambda i: sum(stages[i]))
    return Trial(Compression(k=stages[best][0], left=stages[best][1], n=100, stages=5), risks[best])


def unpaid_stage(random: Random) -> Trial:
    """Broken: of a thousand independent models, each a stage nobody declared, the one with the fewest leftovers."""
    risk, n = 0.05, 200
    left = int(random.binomial(n, risk, size=1000).min())
    return Trial(Compression(k=0, left=left, n=n), risk)


def peeking(random: Random) -> Trial:
    """Broken: h_0 was fitted to the sample, coin labels: no picks, risk one half."""
    return Trial(Compression(k=0, n=100), 0.5)


def best_seed(random: Random) -> Trial:
    """Broken: the k largest of n numbers, for two thousand seeds; the one that suits is kept, delta not divided."""
    n, picks = 100, 3
    risks = np.sort(random.beta(picks, n - picks + 1, size=2000))
    return Trial(Compression(k=picks, n=n), float(risks[-1]))


def look_ahead(random: Random) -> Trial:
    """Broken: rows are tried in the order of the file until one alone leaves nobody wrong, and counted as one pick.

    A hash learner errs independently with probability 0.2: among 20,000 rows a lucky one exists.
    """
    n, risk = 40, 0.2
    lucky = bool(random.binomial(20_000, (1 - risk) ** n) > 0)
    return Trial(Compression(k=1 if lucky else n, n=n), risk)
