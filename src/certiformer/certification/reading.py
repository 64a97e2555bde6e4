"""How arrays and files are to be read: what the caller declares, before anything is counted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Literal, Self

from certiformer.certification.sources.repeats import Repeats
from certiformer.core.errors import InputError

Outputs = Literal["logits", "probabilities", "labels"]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The options of `certify` that say what the numbers mean.

    `models` compared, all fixed beforehand. `outputs` of a model: "logits", "probabilities" or "labels". `classes`:
    their number, or their names in the order of the columns. `abstain`: the prediction that is no answer. `low`,
    `high`: the range of a loss; `clip`: a loss is cut off there, and the rate beyond is certified beside it. `order` in
    which betting walks through the units. `estimand`: the mean over "groups" or over "rows" of groups of at most
    `max_size`. `of`: what the rows are, in words. `repeats` among the held-out examples: "refuse", "group" or
    "natural". `slices`: "label" certifies each class apart.
    """

    models: int = 1
    allow_twins: bool = False
    seed: int = 0
    title: str = ""
    outputs: Outputs | None = None
    classes: int | Sequence[str] | None = None
    abstain: int | str | None = None
    low: float = 0.0
    high: float | None = None
    clip: float | None = None
    two_sided: bool = False
    order: Literal["average", "hash"] = "average"
    estimand: Literal["groups", "rows"] = "groups"
    max_size: int | None = None
    repeats: Repeats = "refuse"
    slices: str | None = None
    of: str = "examples"

    def __post_init__(self) -> None:
        if self.models < 1:
            raise InputError(
                "models", self.models, "the number of models compared on the held-out examples, at least 1"
            )
        if self.outputs not in (None, "logits", "probabilities", "labels"):
            raise InputError("outputs", self.outputs, '"logits", "probabilities" or "labels"')
        if self.order not in ("average", "hash"):
            raise InputError("order", self.order, '"average" or "hash"', "A stream has `certiformer watch`")
        if self.clip is not None and self.high is not None:
            raise InputError("clip", self.clip, "a clip or a range, not both")
        if self.slices not in (None, "label", "group"):
            raise InputError("slices", self.slices, '"label" (or heldout_slices, a name for every row)')
        if isinstance(self.classes, int) and self.classes < 2:
            raise InputError("classes", self.classes, "a whole number of at least 2, or names")

    def as_text(self) -> str:
        """What was declared and is not the default, as JSON: a report can be counted again from it."""
        kept = {name: value for name, value in asdict(self).items() if name != "title" and value != _DEFAULTS[name]}
        return json.dumps(kept, sort_keys=True)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """The reading again from what `as_text` wrote."""
        return cls(**json.loads(text))

    @property
    def same_inputs_allowed(self) -> Repeats:
        """Twins that are independent draws repeat by nature inside the held-out set too."""
        return "natural" if self.allow_twins and self.repeats == "refuse" else self.repeats


_DEFAULTS = {field.name: field.default for field in fields(Reading)}
