"""`certify(model, train=(x, y), by=[...])`: procedures on labelled examples that nobody set aside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from certiformer.certificates import Evidence
from certiformer.certification.betting import enough
from certiformer.certification.counting import Pair, pair
from certiformer.certification.evidence import Findings
from certiformer.certification.procedures._model import Labels, parametrised
from certiformer.certification.sources.repeats import refuse_repeats
from certiformer.core.errors import InputError


class Procedure(Protocol):
    """What `by` holds."""

    def certify(self, model: Any, inputs: npt.NDArray[Any], labels: Labels, classes: int) -> Sequence[Evidence]: ...


def classes_of(labels: npt.NDArray[Any]) -> tuple[Labels, int]:
    """Classes from 0, and their number: -1/+1 and 0/1 are two classes, whole numbers from 0 are several."""
    if labels.ndim != 1 or labels.dtype.kind not in "fiub" or not np.all(labels == np.round(labels)):
        raise InputError("train labels", f"type {labels.dtype}, shape {labels.shape}", "one whole number per example")
    whole = labels.astype(np.int64)
    found = set(np.unique(whole).tolist())
    if found <= {-1, 1}:
        return (whole + 1) // 2, 2
    if min(found) < 0:
        raise InputError("train labels", sorted(found)[:5], "classes from 0, or -1 and +1")
    return whole, max(2, max(found) + 1)


def of_procedures(
    model: Any, train: Pair, by: Sequence[Procedure], *, params: Any = None, batched: bool = False, title: str = ""
) -> Findings:
    """Run every procedure on the same examples; their records share delta."""
    x, y = pair("train", train)
    enough("train", len(x))
    labels, classes = classes_of(y)
    if not by:
        raise InputError("by", [], "at least one procedure", "For example by=[PickToLearn()]")
    given = model if params is None else parametrised(model, params, batched=batched)
    repeated = refuse_repeats("train", x, allowed=True)
    records = [record for procedure in by for record in procedure.certify(given, x, labels, classes)]
    return Findings(
        title=title or f"trained and certified on {len(x)} examples",
        classes=classes,
        observed={"train_error": None, "heldout_error": None, "examples": len(x)},
        evidence=tuple(records),
        configuration={"flow": "procedures", "by": [described(procedure) for procedure in by]},
        splits={},
        seed=0,
        conditions=(f"the {repeated} examples that repeat another one are independent draws, not copies",)
        if repeated
        else (),
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
