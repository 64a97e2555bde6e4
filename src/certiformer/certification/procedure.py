"""`certify(model, train=(x, y), by=[...])`: procedures that train and certify on examples that nobody set aside.

What a procedure starts from is the prior: it must not depend on the examples. `pretrained_on` of the procedure says
what the weights (or frozen parts) that were handed in have seen: "nothing", or the inputs they were trained on, none
of which may be among the examples. What nobody said stands among the conditions and under NOT CHECKED.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from certiformer.certificates import Evidence
from certiformer.certification import frameworks
from certiformer.certification.counting import Subject, pair
from certiformer.certification.declaration import Declaration
from certiformer.certification.losses import enough
from certiformer.certification.pipeline import Findings
from certiformer.certification.sources.repeats import refuse_repeats
from certiformer.certification.split import refuse_overlap, whole_numbers
from certiformer.theory.core.errors import InputError

Labels = npt.NDArray[np.int64]
MOST_CLASSES = 100_000
NOTHING = "nothing"


class Procedure(Protocol):
    """What `by` holds. `start` and `pretrained_on` may be missing: then nothing is known about where it starts."""

    pretrained_on: Any
    """None: nobody said. "nothing", or the inputs that what it starts from has seen."""

    def start(self, model: Any) -> str:
        """In words, what it starts from that somebody may have trained; "" if it starts from nothing."""

    def certify(self, model: Any, inputs: npt.NDArray[Any], labels: Labels, classes: int) -> Sequence[Evidence]:
        """Train, count, and return the records."""


def classes_of(labels: npt.NDArray[Any]) -> tuple[Labels, int]:
    """Classes from 0, and their number: names in their order, -1/+1 and 0/1 are two, whole numbers from 0 several."""
    if labels.ndim == 1 and labels.dtype.kind in "US":
        names, codes = np.unique(labels, return_inverse=True)
        return codes.astype(np.int64), max(2, len(names))
    if labels.ndim != 1 or not whole_numbers(labels):
        raise InputError(
            "train labels", f"type {labels.dtype}, shape {labels.shape}", "one whole number or name per example"
        )
    whole = labels.astype(np.int64)
    found = set(np.unique(whole).tolist())
    if found <= {-1, 1}:
        return (whole + 1) // 2, 2
    if min(found) < 0 or max(found) >= MOST_CLASSES:
        odd = [value for value in sorted(found) if not 0 <= value < MOST_CLASSES]
        raise InputError("train labels", odd[:5], "classes from 0 to K - 1, or -1 and +1", "Other labels: use names")
    return whole, max(2, max(found) + 1)


def of_procedures(subject: Subject, train: Any, by: Sequence[Procedure], *, reading: Declaration) -> Findings:
    """Run every procedure on the same examples; their records share delta."""
    x, y = pair("train", train)
    enough("train", len(x))
    labels, classes = classes_of(y)
    if not isinstance(by, Sequence) or not by or not all(_is_procedure(one) for one in by):
        raise InputError("by", by, "a list of procedures", "For example by=[PickToLearn()]")
    given = subject.model
    if subject.params is not None:
        given = frameworks.with_params(given, subject.params, batched=subject.batched)
    if reading.repeats not in ("refuse", "natural"):
        fix = "Procedures train on rows: keep one of each group"
        raise InputError("repeats", reading.repeats, '"refuse" or "natural"', fix)
    repeated = refuse_repeats("train", x, allowed=reading.allow_twins)
    conditions, not_checked = [], []
    if repeated:
        conditions.append(f"the {repeated} examples that repeat another one are independent draws, not copies")
    for procedure in by:
        said, unsaid = prior(procedure, given, x, allow_twins=reading.allow_twins)
        conditions += said
        not_checked += unsaid
    records = [record for procedure in by for record in procedure.certify(given, x, labels, classes)]
    not_checked += [
        "whether features, settings or seeds were chosen after a look at these examples",
        "whether examples belong together (documents, writers, patients)",
    ]
    return Findings(
        title=reading.title or f"trained and certified on {len(x)} examples",
        classes=classes,
        observed={"examples": len(x)},
        evidence=tuple(records),
        configuration={"flow": "procedures", "by": [described(procedure) for procedure in by]},
        provenance={"repeated_inputs": repeated},
        conditions=tuple(dict.fromkeys(conditions)),
        not_checked=tuple(dict.fromkeys(not_checked)),
    )


def _is_procedure(one: Any) -> bool:
    return hasattr(one, "certify") and not isinstance(one, type)


def prior(
    procedure: Any, model: Any, inputs: npt.NDArray[Any], *, allow_twins: bool = False
) -> tuple[list[str], list[str]]:
    """The condition on what a procedure starts from, and what was not checked; refuses what has seen the examples."""
    told = getattr(procedure, "start", None)
    what = told(model) if told is not None else f"what {type(procedure).__name__} starts from"
    seen = getattr(procedure, "pretrained_on", None)
    if isinstance(seen, str) and seen != NOTHING:
        raise InputError("pretrained_on", seen, f'"{NOTHING}", or the inputs that were trained on')
    if seen is not None and not isinstance(seen, str):
        paired = frameworks.is_loader(seen) or (isinstance(seen, tuple) and len(seen) == 2)
        known = frameworks.comparable(frameworks.examples_of(seen, "pretrained_on")[0] if paired else seen)
        if known.ndim == 0 or len(known) == 0 or known[0].size != inputs[0].size:
            fix = "They are compared with the examples: give them in the same form"
            raise InputError("pretrained_on", f"shape {known.shape}", f"inputs of shape {inputs.shape[1:]}", fix)
        refuse_overlap(
            inputs, known, allow_twins=allow_twins, what=f"examples that {what or 'the start'} was trained on"
        )
        return (
            [f"{what or 'what training starts from'} saw nothing but the {len(known):,} inputs of pretrained_on"],
            ["whether an example nearly equals one of pretrained_on: only exact copies were looked for"],
        )
    if not what:
        return [], []
    if seen == NOTHING:
        return [f"{what} had seen no data, as the caller says"], []
    return (
        [f"{what} had never seen these examples (nobody stated this)"],
        [f'whether {what} had seen these examples: say pretrained_on="{NOTHING}" or pretrained_on=inputs'],
    )


def described(procedure: Any) -> dict[str, Any]:
    """The settings of a procedure that JSON can hold; the rest by type."""
    found: dict[str, Any] = {"procedure": type(procedure).__name__}
    for entry in fields(procedure) if is_dataclass(procedure) else ():
        value = getattr(procedure, entry.name)
        if is_dataclass(value) and not isinstance(value, type):
            value = described(value)
        plain = value is None or isinstance(value, (bool, int, float, str, dict))
        if isinstance(value, tuple) and all(isinstance(item, (int, float, str)) for item in value):
            value, plain = list(value), True
        found[entry.name] = value if plain else type(value).__name__
    return found
