"""Laws that run the real procedures: a split, a linear head, a pick loop, a surrogate, through `certify` to the end.

Populations are small enough for the risk of whatever was trained to be computed exactly. The laws that stand with the
certificates (`certificates/*.py`) draw counts and predictions; these draw data and let the program train.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.certificates import Law, Trial
from certiformer.certificates._law import Random
from certiformer.certification.api import certify
from certiformer.certification.counting import CERTIFY_FRACTION, Subject, division
from certiformer.certification.predictors.gaussian import exact_error, mistakes
from certiformer.certification.predictors.linear_head import GaussianHead, prepared

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

CELLS, NOISE = 12, 0.2
LOGITS: Mapping[str, Any] = {"outputs": "logits"}


def _cells(random: Random, n: int) -> tuple[Array, Labels]:
    """x uniform on [0, 1), the label that of its cell (odd or even) with noise."""
    x = random.random(n)
    truth = (np.floor(CELLS * x).astype(np.int64)) % 2
    return x, np.where(random.random(n) < NOISE, 1 - truth, truth)


def _histogram(x: Array, y: Labels) -> Array:
    """The majority vote of every cell, as a logit; an empty cell says 1."""
    cells = np.floor(CELLS * x).astype(np.int64)
    return np.array([1.0 if np.sum(2 * y[cells == cell] - 1) >= 0 else -1.0 for cell in range(CELLS)])


def _risk(table: Array) -> float:
    right = (table > 0) == (np.arange(CELLS) % 2 == 1)
    return float(np.mean(np.where(right, NOISE, 1.0 - NOISE)))


def _looked_up(table: Array) -> Callable[[Array], Array]:
    return lambda batch: table[np.floor(CELLS * batch).astype(np.int64)]


def split_and_fit(random: Random) -> Trial:
    """`certify(fit=..., data=...)`: the program divides, the learner sees one part."""
    x, y = _cells(random, 60)
    trained: list[Array] = []

    def fit(inputs: Array, labels: Labels, seed: int) -> Callable[[Array], Array]:
        trained.append(_histogram(inputs, labels))
        return _looked_up(trained[-1])

    def run(delta: float) -> tuple[float | None, float]:
        report = certify(fit=Subject(fit, batched=True), data=(x, y), only="holdout", delta=delta, declaration=LOGITS)
        return report["holdout"].value, _risk(trained[-1])

    return Trial(run, 0.0)


def peeked_split(random: Random) -> Trial:
    """Broken: the learner remembers the labels of all examples, also of those that certify; labels are coins."""
    x, y = random.random(60), random.integers(2, size=60)
    known = dict(zip(x.tolist(), (2.0 * y - 1.0).tolist(), strict=True))

    def run(delta: float) -> tuple[float | None, float]:
        def fit(inputs: Array, labels: Labels, seed: int) -> Callable[[Array], Array]:
            return lambda batch: np.array([known[one] for one in np.asarray(batch).tolist()])

        return certify(fit=Subject(fit, batched=True), data=(x, y), only="holdout", delta=delta, declaration=LOGITS)[
            "holdout"
        ].value, 0.5

    return Trial(run, 0.0)


def _best_guess(random: Random, x: Array, y: Labels, among: npt.NDArray[np.int64]) -> Callable[[Array], Array]:
    """Two thousand models that toss a coin for every input; the one that suits the rows `among` best."""
    tosses = random.integers(2, size=(2000, len(x)))
    best = tosses[np.argmax(np.sum(tosses[:, among] == y[among], axis=1))]
    known = dict(zip(x.tolist(), (2.0 * best - 1.0).tolist(), strict=True))
    return lambda batch: np.array([known[one] for one in np.asarray(batch).tolist()])


def reused_split(random: Random) -> Trial:
    """Broken: two thousand coins, every one scored on the part that certifies; the best is reported, one is counted."""
    x, y = random.random(60), random.integers(2, size=60)
    best = _best_guess(random, x, y, division(60, CERTIFY_FRACTION, 0)["certify"])

    def run(delta: float) -> tuple[float | None, float]:
        report = certify(
            fit=Subject(lambda *_: best, batched=True), data=(x, y), only="holdout", delta=delta, declaration=LOGITS
        )
        return report["holdout"].value, 0.5

    return Trial(run, 0.0)


# Linear heads on frozen features: 16 points on a circle, one half of it class 1 with probability 0.85, else 0.15

POINTS = np.stack([np.cos(2 * np.pi * np.arange(16) / 16), np.sin(2 * np.pi * np.arange(16) / 16)], axis=1)
CHANCE = np.where(np.arange(16) < 8, 0.85, 0.15)


def _head(id: str) -> Callable[[Random], Trial]:
    def draw(random: Random) -> Trial:
        rows = random.integers(16, size=40)
        labels = (random.random(40) < CHANCE[rows]).astype(np.int64)
        seed = int(random.integers(2**31))
        given = {"heldout_correct": np.ones(10), "head_features": POINTS[rows], "head_labels": labels}

        def run(delta: float) -> tuple[float | None, float]:
            row = certify(predictions=given, only=id, delta=delta, declaration={"classes": 2, "seed": seed})[id]
            assert row.evidence is not None
            return row.value, _head_risk(row.evidence.predictor)

        return Trial(run, 0.0)

    return draw


def _head_risk(head: Any) -> float:
    """The error of a head, exactly: over all points and both labels."""
    features, total = prepared(POINTS), 0.0
    for label, chances in ((1, CHANCE), (0, 1.0 - CHANCE)):
        for row in range(16):
            one, labels = features[row : row + 1], np.array([label])
            if isinstance(head, GaussianHead):
                wrong = exact_error(head.mean, head.scale, one, labels)
            else:
                wrong = float(mistakes(one @ head.weights, labels)[0])
            total += chances[row] * wrong / 16
    return total


# Pick loops: boxes in two dimensions; everything inside the box of the picks is right


def _learner() -> Any:
    from certiformer.lab.procedures import Learner

    class Box(Learner):
        """Right inside the bounding box of the picks; with noise, examples of class 0 are wrong for every box."""

        def __init__(self) -> None:
            self.states: dict[int, Array] = {0: np.full((2, 2), 0.5)}

        def begin(self) -> Any:
            return self.states[0]

        def learn(self, state: Any, inputs: npt.NDArray[Any], labels: Labels) -> Any:
            clean = inputs[labels == 1]
            found = self.states[0] if len(clean) == 0 else np.stack([clean.min(axis=0), clean.max(axis=0)])
            self.states[len(labels)] = found
            return found

        def outputs(self, state: Any, inputs: npt.NDArray[Any]) -> Array:
            beyond = np.max(np.maximum(state[0] - inputs, inputs - state[1]), axis=1)
            return np.where(beyond > 0, -beyond, 1.0)

        def fingerprint(self, state: Any) -> str:
            return hashlib.sha256(np.ascontiguousarray(state).tobytes()).hexdigest()

    return Box()


def _boxes(noise: float, stages: tuple[int, ...]) -> Callable[[Random], Trial]:
    """Right: clean points inside the box. Points of class 0 (noise) are wrong inside it, right outside."""

    def draw(random: Random) -> Trial:
        x = random.random((40, 2))
        y = (random.random(40) >= noise).astype(np.int64)

        def run(delta: float) -> tuple[float | None, float]:
            from certiformer.lab.procedures import PickToLearn

            learner = _learner()
            row = certify(train=(x, y), by=[PickToLearn(learner, stages=stages)], delta=delta)["compression"]
            assert row.evidence is not None
            low, high = learner.states[row.evidence.k]
            inside = float(np.prod(high - low))
            return row.value, (1.0 - noise) * (1.0 - inside) + noise * inside

        return Trial(run, 0.0)

    return draw


def peeking_loop(random: Random) -> Trial:
    """Broken: h_0 was fitted to the sample, whose labels are coins; nothing is left to pick."""
    x, y = random.random((40, 2)), random.integers(2, size=40)
    known = {row.tobytes(): 2.0 * label - 1.0 for row, label in zip(x, y.tolist(), strict=True)}

    def run(delta: float) -> tuple[float | None, float]:
        from certiformer.lab.procedures import Learner, PickToLearn

        class Peeking(Learner):
            def begin(self) -> Any:
                return None

            def learn(self, state: Any, inputs: npt.NDArray[Any], labels: Labels) -> Any:
                return None

            def outputs(self, state: Any, inputs: npt.NDArray[Any]) -> Array:
                return np.array([known[row.tobytes()] for row in inputs])

            def fingerprint(self, state: Any) -> str:
                return ""

        return certify(train=(x, y), by=[PickToLearn(Peeking())], delta=delta)["compression"].value, 0.5

    return Trial(run, 0.0)


def unpaid_grid(random: Random) -> Trial:
    """Broken: two thousand settings of a loop stopped after two picks; that with the fewest leftovers is reported."""
    x, y = random.random(60), random.integers(2, size=60)
    best = _best_guess(random, x, y, np.arange(60))

    def run(delta: float) -> tuple[float | None, float]:
        from certiformer.lab.procedures import PickToLearn

        loop = PickToLearn(lambda inputs, labels: best, most=2)
        return certify(train=(x, y), by=[loop], delta=delta)["compression"].value, 0.5

    return Trial(run, 0.0)


def surrogate(random: Random) -> Trial:
    """A target that saw every label (it remembers them) and errs elsewhere, through a box; risk in closed form."""
    x, pool = random.random((40, 2)), random.random((30, 2))
    known = {row.tobytes() for row in x}

    def target(batch: npt.NDArray[Any]) -> Array:
        """Right on the sample, wrong where the first coordinate is below 0.1."""
        return np.array([1.0 if row.tobytes() in known or row[0] >= 0.1 else -1.0 for row in batch])

    def run(delta: float) -> tuple[float | None, float]:
        from certiformer.lab.procedures import PickToLearn, Surrogate

        by = [Surrogate(target, pool, PickToLearn(_learner()))]
        return certify(train=(x, np.ones(40, np.int64)), by=by, delta=delta)["surrogate"].value, 0.1

    return Trial(run, 0.0)


def surrogate_loss(random: Random) -> Trial:
    """The same box for a target with probabilities, sure of what it remembers; its mean loss in closed form."""
    x, pool = random.random((40, 2)), random.random((30, 2))
    known = {row.tobytes() for row in x}

    def target(batch: npt.NDArray[Any]) -> Array:
        """Logits: 9 on the sample; elsewhere 3, and -3 where the first coordinate is below 0.1. The label is 1."""
        return np.array([9.0 if row.tobytes() in known else 3.0 if row[0] >= 0.1 else -3.0 for row in batch])

    def run(delta: float) -> tuple[float | None, float]:
        from certiformer.lab.procedures import PickToLearn, Surrogate

        by = [Surrogate(target, pool, PickToLearn(_learner()), loss="brier")]
        found = certify(train=(x, np.ones(40, np.int64)), by=by, delta=delta)["surrogate.loss"].value
        miss = 1.0 / (1.0 + np.exp(3.0))
        return found, float(2 * (0.9 * miss**2 + 0.1 * (1 - miss) ** 2))

    return Trial(run, 0.0)


LAWS: Mapping[str, Mapping[str, Law]] = {
    "holdout": {
        "the program divides, a histogram learns": Law(split_and_fit),
        "a learner that peeks at the part that certifies": Law(peeked_split, valid=False),
        "the best of many learners on one split, one counted": Law(reused_split, valid=False),
    },
    "occam": {"linear heads trained on forty examples": Law(_head("occam"))},
    "pacbayes.gibbs": {"linear heads trained on forty examples": Law(_head("pacbayes.gibbs"))},
    "pacbayes.single": {"linear heads trained on forty examples": Law(_head("pacbayes.single"))},
    "compression": {
        "the pick loop on boxes": Law(_boxes(0.0, ())),
        "the pick loop with label noise, stages declared": Law(_boxes(0.1, (2, 4, 8))),
        "the pick loop from an initial model that peeked": Law(peeking_loop, valid=False),
        "the best of many loops, one counted": Law(unpaid_grid, valid=False),
    },
    "surrogate": {"a target that saw every label, through a pick loop": Law(surrogate)},
    "surrogate.loss": {"a target that saw every label, through a pick loop": Law(surrogate_loss)},
}
"""By certificate: real procedures under which it has to cover, and some that break a rule."""
