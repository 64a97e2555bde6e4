"""For inspect_ai: stop an evaluation as soon as a gate is decided, and a metric with exact limits (docs/gates.md).

    Task(..., early_stopping=EarlyGate(error=0.05))
    Task(..., metrics=[accuracy(), limits()])

One or the other: `limits` are for an evaluation that runs to its end. The package announces this module by an entry
point: a log with the metric `certiformer/limits` can be scored again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from certiformer.evaluation import mean_limits, rate_limits
from certiformer.evaluation.gates import AnytimeGate
from certiformer.report.numbers import percent
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.report import confidence_text
from certiformer.theory.core.rounding import down, up

MANAGER = "certiformer"
"""The name under which a log tells who stopped it."""
WORDS = {"C": 1.0, "I": 0.0, "N": 0.0, "P": 0.5}
"""What inspect_ai's scorers write for correct, incorrect, no answer and partly correct."""


def score_of(value: Any) -> float | None:
    """A score as a number in [0, 1], as inspect_ai itself takes it; None for what is no such number."""
    if isinstance(value, str):
        return WORDS.get(value)
    if isinstance(value, (bool, int, float)) and 0.0 <= value <= 1.0:
        return float(value)
    return None


class EarlyGate:
    """Stops an evaluation when the error rate on new samples is shown to be at most `error`, or above it.

    By inspect_ai's protocol of early stopping. A verdict is wrong with probability at most delta, however often it was
    asked for, if the samples are independent draws (shuffle the dataset). Outcomes count in the order in which samples
    were *begun*, each when all before it are known: those that end first are not a sample of all. Of several epochs
    the first counts. `scorer` names the one that is meant where there are several; `binary=False` declares scores
    between 0 and 1 instead of right or wrong.
    """

    def __init__(self, error: float, delta: float = 0.05, *, scorer: str | None = None, binary: bool = True) -> None:
        self.gate = AnytimeGate(error, delta, binary=binary)
        self.scorer = scorer
        self._begun: list[str | int] = []
        self._known: set[str | int] = set()
        self._outcomes: dict[str | int, float | None] = {}
        self._counted = 0
        self._held = ""

    async def start_task(self, task: Any, samples: list[Any], epochs: int) -> str:
        """One gate belongs to one evaluation, and to one of its scorers."""
        if self._begun:
            raise InputError(
                "EarlyGate", "a second evaluation", "a gate of its own", "Make one for each task and model"
            )
        names = [one.name for one in task.scorers or ()]
        if self.scorer is None and len(names) > 1:
            raise InputError("scorer", names, "the one that is gated", f"EarlyGate(..., scorer={names[0]!r})")
        return MANAGER

    async def schedule_sample(self, id: str | int, epoch: int) -> Any:
        """None to run the sample; what inspect_ai takes for "no" after a verdict."""
        if self.gate.decided != "undecided":
            from inspect_ai.util import EarlyStop

            return EarlyStop(id=id, epoch=epoch, reason=self._said)
        if epoch == 1 and id not in self._known:  # a sample that is tried again is no new one
            self._known.add(id)
            self._begun.append(id)
        return None

    async def complete_sample(self, id: str | int, epoch: int, scores: dict[str, Any]) -> None:
        """Count what is known without a gap."""
        if epoch != 1 or id in self._outcomes:
            return
        name = self.scorer or next(iter(scores), "")
        found = scores.get(name)
        self._outcomes[id] = None if found is None else score_of(found.score.value)
        while self._counted < len(self._begun) and self._begun[self._counted] in self._outcomes and not self._held:
            place = self._begun[self._counted]
            score = self._outcomes[place]
            if score is None or (self.gate.binary and score not in (0.0, 1.0)):
                wished = "right or wrong" if self.gate.binary else "a number in [0, 1]"
                self._held = f"the score of sample {place} is not {wished}: nothing from there on was counted"
                break
            self._counted += 1
            self.gate.update(1.0 - score)

    @property
    def _said(self) -> str:
        at = percent(self.gate.threshold)
        says = {"pass": f"the error rate is at most {at}", "fail": f"the error rate is above {at}"}
        told = says.get(self.gate.decided, f"an error rate of at most {at} is neither shown nor refuted")
        return f"{self.gate.decided.upper()}: {told} (confidence {confidence_text(self.gate.delta)})"

    async def complete_task(self) -> dict[str, Any]:
        """What the log keeps."""
        gate = self.gate
        waiting = "" if self._counted == len(self._begun) else "a sample that ended without a score holds up the others"
        return {
            "verdict": gate.decided,
            "says": self._said,
            "error": gate.threshold,
            "delta": gate.delta,
            "samples": gate.n,
            "observed": gate.mean if gate.n else None,
            "decided_at": gate.decided_at,
            "limits": list(gate.limits),
            "held_up": self._held or (waiting if gate.decided == "undecided" else ""),
        }


def _registered(make: Callable[..., Any]) -> Callable[..., Any]:
    """Known to inspect_ai, where it is installed."""
    try:
        from inspect_ai.scorer import metric
    except ImportError:
        return make
    found: Callable[..., Any] = metric(scores="reduced")(make)
    return found


@_registered
def limits(delta: float = 0.05, binary: bool = True) -> Any:
    """`lower` and `upper`: limits of the accuracy on new samples, together with confidence 1 - delta.

    Exact binomial limits of right or wrong; a score in between counts as wrong for the lower limit and as right for
    the upper one, so that they hold for any score in [0, 1]. `binary=False` declares such scores: betting limits of
    their mean. The unit is the sample, whatever its epochs. They hold for the whole evaluation, planned beforehand:
    not for what the screen shows on the way, nor if it was stopped early, or samples ended in an error.
    """

    def measured(scores: list[Any]) -> dict[str, float]:
        values = []
        for one in scores:
            value = score_of(one.score.value)
            if value is None:
                raise InputError(
                    f"score of sample {one.sample_id}", one.score.value, "correct, incorrect, or in [0, 1]"
                )
            values.append(value)
        n = len(values)
        if not n:
            return {"lower": 0.0, "upper": 1.0}
        if binary:
            most, least = sum(value < 1.0 for value in values), sum(value == 0.0 for value in values)
            highest = rate_limits(most, n, delta, two_sided=True).upper
            lowest = rate_limits(least, n, delta, two_sided=True).lower
        else:
            losses, ids = [1.0 - value for value in values], [str(one.sample_id) for one in scores]
            found = mean_limits(losses, delta, two_sided=True, order="hash", ids=ids)
            lowest, highest = found.lower, found.upper
        return {"lower": max(0.0, down(1.0 - highest)), "upper": min(1.0, up(1.0 - lowest))}

    return measured
