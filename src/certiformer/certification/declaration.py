"""What the caller says beforehand: which columns are meant, what their numbers mean, what the unit is.

`Declaration` is the one options type of `certify`, `compare`, `select`, `watch` and `holdout`. The options of the
command line and the reference page (docs/sample.md) are made from its fields.
"""

from __future__ import annotations

import functools
import numbers
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from typing import Any, Literal, Self, get_args, get_origin, get_type_hints

from certiformer.theory.core.errors import InputError, UnknownNameError

Repeats = Literal["refuse", "group", "natural"]

COLUMNS, MEANING = "Which columns are meant", "What the numbers mean"
UNITS, CLAIM = "What was drawn independently", "What is claimed"
JUDGE = "Human labels and a judge (judging)"
GROUPS = (COLUMNS, MEANING, UNITS, CLAIM, JUDGE)


def _said(default: Any, group: str, says: str, *, option: str = "", metavar: str = "") -> Any:
    """A field with its group, its sentence, and its name on the command line where that differs."""
    return field(default=default, metadata={"group": group, "says": says, "option": option, "metavar": metavar})


def _by_name(kind: Any, what: str, given: Mapping[str, Any]) -> Any:
    """A value from its fields by name."""
    known = [one.name for one in fields(kind)]
    for name in given:
        if name not in known:
            if kind is not Judging and name in {one.name for one in fields(Judging)}:
                raise InputError(name, given[name], f'declaration={{"judging": {{"{name}": ..., ...}}}}')
            raise UnknownNameError(what, name, known, f"(known: {', '.join(known)})")
    return kind(**given)


@functools.cache
def _choices(kind: type) -> dict[str, tuple[Any, ...]]:
    """The fields of a few words, with these words; None is one of them where the field may be left out."""
    found = {}
    for name, hint in get_type_hints(kind).items():
        parts = get_args(hint) if get_origin(hint) is not Literal else (hint,)
        words = [word for part in parts if get_origin(part) is Literal for word in get_args(part)]
        if words:
            found[name] = (*words, None) if type(None) in parts else tuple(words)
    return found


def _refuse_unknown_choices(declared: Any) -> None:
    """A field of a few words is one of them."""
    kind: Any = type(declared)
    for name, words in _choices(kind).items():
        if getattr(declared, name) not in words:
            raise InputError(name, getattr(declared, name), " or ".join(f'"{word}"' for word in words if word))


@dataclass(frozen=True, kw_only=True)
class Judging:
    """Human labels of some rows beside a judge's verdicts on all: what is random, and what was expected, is asked."""

    human: str | None = _said(
        None, JUDGE, "Human labels, right or wrong, of some rows; others are empty.", metavar="COLUMN"
    )
    judge: str | None = _said(
        None, JUDGE, "A judge's verdicts on all rows, in [0, 1], beside --human.", metavar="COLUMN"
    )
    labelled: Literal["random"] | None = _said(
        None, JUDGE, "How rows were chosen for human labels: random, blind to all else."
    )
    expect: float | None = _said(None, JUDGE, "The error rate expected before the judge was run.")
    correlation: float | None = _said(None, JUDGE, "The correlation of judge and humans expected before that.")

    def __post_init__(self) -> None:
        if not isinstance(self.human, str) or not isinstance(self.judge, str) or self.human == self.judge:
            given = ", ".join(one.name for one in fields(self) if getattr(self, one.name) is not None)
            raise InputError("human, judge", given, "two columns", "Say --human COLUMN --judge COLUMN")
        if self.labelled is None:
            raise InputError(
                "labelled", None, "how the rows with a human label were chosen",
                "If at random, blind to the judge's verdicts and to all else, say --labelled random; if more were "
                "taken where the judge says bad, or where it was easy, nothing here is valid",
            )  # fmt: skip
        _refuse_unknown_choices(self)
        if self.expect is None or self.correlation is None:
            raise InputError(
                "expect, correlation", (self.expect, self.correlation),
                "the error rate and the correlation of judge and humans that were expected beforehand",
                "From a pilot or a guess before the judge was run on these items: --expect 0.1 --correlation 0.8. They "
                "decide whether the judge is used; a wrong guess costs width, never validity",
            )  # fmt: skip
        numbers = all(isinstance(one, (int, float)) for one in (self.expect, self.correlation))
        if not numbers or not 0.0 <= self.expect <= 1.0 or not -1.0 <= self.correlation <= 1.0:
            raise InputError("expect, correlation", (self.expect, self.correlation), "a rate, and a number in [-1, 1]")


MOST_MODELS = 10**9
_WHOLE, _TEXT = "a whole number", "words"
KINDS: Mapping[str, tuple[Any, str]] = {
    "population": (str, _TEXT),
    "title": (str, _TEXT),
    "models": (numbers.Integral, _WHOLE),
    "two_sided": (bool, "true or false"),
    "seed": ((numbers.Integral, type(None)), _WHOLE),
    "max_size": ((numbers.Integral, type(None)), _WHOLE),
    "clip": ((numbers.Real, type(None)), "a number above 0"),
    "abstain": ((numbers.Integral, str, type(None)), "a label"),
}
"""What fields of one kind hold: they may come from a file."""


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """What is declared before anything is counted. A default is no statement: what it leaves open is asked."""

    metric: tuple[str, ...] = _said(
        (), COLUMNS, "The scores or losses to certify; several share delta.", metavar="NAME"
    )
    label: str | None = _said(None, COLUMNS, "The column of the true labels.", metavar="COLUMN")
    prediction: str | None = _said(None, COLUMNS, "The column of the predicted labels.", metavar="COLUMN")
    confidence_column: str | None = _said(
        None, COLUMNS, "The column of the model's confidence in its answer.", metavar="COLUMN"
    )
    id: str | None = _said(None, COLUMNS, "The column of the examples' ids.", metavar="COLUMN")
    group: str | None = _said(
        None, COLUMNS, "The column of what was drawn independently: document, patient, writer.", metavar="COLUMN"
    )
    slices: str | None = _said(
        None, COLUMNS, "A column whose values are certified each, too; `label` is each class.", option="--slice",
        metavar="COLUMN",
    )  # fmt: skip
    filter: str | None = _said(None, COLUMNS, "Which filter of a log of lm-evaluation-harness.", metavar="NAME")
    unscored: Literal["refuse", "wrong"] = _said(
        "refuse", COLUMNS, "Rows without an outcome: refuse, or count as wrong (the worst loss)."
    )
    better: Literal["higher", "lower"] | None = _said(
        None, MEANING, "Whether a metric that nobody knows by name is better when it is higher, or lower."
    )
    range: tuple[float, float] | None = _said(
        None, MEANING, "The range that the metric, or loss, cannot leave.", metavar="LOW HIGH"
    )
    clip: float | None = _said(None, MEANING, "Cut a loss off here; the rate beyond is certified beside it.")
    classes: int | tuple[str, ...] | None = _said(
        None, MEANING, "The number of classes, or their names in column order: ham,spam."
    )
    outputs: Literal["logits", "probabilities", "labels"] | None = _said(
        None, MEANING, "What a model's outputs are: logits, probabilities or labels."
    )
    abstain: int | str | None = _said(None, MEANING, "The prediction that is no answer; it counts as an error.")
    repeats: Literal["refuse", "group", "natural"] = _said(
        "refuse", UNITS, "Equal examples: refuse, group (copies), or natural (independent draws that coincide)."
    )
    estimand: Literal["groups", "rows"] = _said("groups", UNITS, "The mean over groups, or over their rows.")
    population: str = _said("examples", UNITS, "What the rows are, in words: reviews, images.", metavar="WORDS")
    max_size: int | None = _said(None, UNITS, "The most rows or tokens of a unit, for means over rows.")
    order: Literal["average", "hash"] = _said(
        "average", UNITS, "Order of the units for betting: average (of 16), or hash."
    )
    models: int = _said(1, CLAIM, "Models compared on these examples, all fixed before any was scored.")
    two_sided: bool = _said(False, CLAIM, "Lower limits as well.")
    seed: int | None = _said(None, CLAIM, "The seed of splits and draws.")
    title: str = _said("", CLAIM, "What stands above the report.", metavar="TEXT")
    judging: Judging | None = _said(None, JUDGE, "Human labels of some rows and a judge's verdicts on all.")  # noqa: RUF009 (as the others)

    @property
    def bounded(self) -> bool:
        """Whether a loss without an end was given one."""
        return self.clip is not None or self.range is not None

    def __post_init__(self) -> None:
        named: Any = self.metric
        if not isinstance(named, (str, list, tuple)):
            raise InputError("metric", named, "names of columns")
        object.__setattr__(self, "metric", (named,) if isinstance(named, str) else tuple(named))
        if not all(isinstance(name, str) for name in self.metric):
            raise InputError("metric", list(self.metric), "names of columns")
        if self.classes is not None and not isinstance(self.classes, int):
            given: Any = self.classes
            if isinstance(given, str) or not hasattr(given, "__iter__"):
                fix = 'For example 2, or ["ham", "spam"] (--classes ham,spam)'
                raise InputError("classes", given, "a whole number of at least 2, or names", fix)
            object.__setattr__(self, "classes", tuple(str(name) for name in self.classes))
        if self.range is not None:
            self._checked_range()
        for name in ("label", "prediction", "confidence_column", "id", "group", "slices", "filter"):
            if not isinstance(getattr(self, name), (str, type(None))):
                raise InputError(name, getattr(self, name), "the name of a column")
        for name, (kind, expected) in KINDS.items():
            value = getattr(self, name)
            if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
                raise InputError(name, value, expected)
            if isinstance(value, numbers.Integral) and kind is not bool:
                object.__setattr__(self, name, int(value))  # one of numpy, too
        _refuse_unknown_choices(self)
        if not self.population.strip():
            raise InputError("population", self.population, "what the rows are, in words", "For example: reviews")
        if not 1 <= self.models <= MOST_MODELS:
            expected = f"the number of models compared on the held-out examples, from 1 to {MOST_MODELS:,}"
            raise InputError("models", self.models, expected)
        if self.seed is not None and self.seed < 0:
            raise InputError("seed", self.seed, "a whole number of at least 0")
        if self.clip is not None and (self.range is not None or not self.clip > 0.0):
            raise InputError("clip", self.clip, "a number above 0, or a range; not both")
        self._checked_judging()
        if self.max_size is not None and self.estimand != "rows":
            raise InputError(
                "max_size", self.max_size, "a mean over rows beside it", 'Say estimand="rows" (--estimand rows)'
            )
        if isinstance(self.classes, int) and self.classes < 2:
            raise InputError("classes", self.classes, "a whole number of at least 2, or names")

    def _checked_judging(self) -> None:
        given: Any = self.judging
        if given is None:
            return
        if isinstance(given, Mapping):
            object.__setattr__(self, "judging", _by_name(Judging, "judging", given))
        elif not isinstance(given, Judging):
            raise InputError("judging", given, "its fields by name: human, judge, labelled, expect, correlation")
        if self.unscored != "refuse":
            raise InputError("unscored", self.unscored, "nothing: rows without a label are what the judge is for")
        beside = ("metric", "label", "prediction", "group", "slices", "clip", "range", "abstain", "classes", "outputs")
        for name in beside:
            if getattr(self, name) not in (None, ()):
                raise InputError(name, getattr(self, name), "nothing beside human labels and a judge")

    def _checked_range(self) -> None:
        given: Sequence[Any] = self.range or ()
        if len(given) != 2 or not all(isinstance(end, (int, float)) for end in given) or not given[0] < given[1]:
            raise InputError("range", self.range, "two numbers, the smaller one first")
        object.__setattr__(self, "range", (float(given[0]), float(given[1])))

    def for_verb(self, verb: str) -> Declaration:
        """The declaration, unless a field of it would change nothing in the answer of this verb."""
        for one, value in self.said():
            if one.name in UNUSED[verb]:
                raise InputError(one.name, value, f"nothing: {verb} has no use for it", WHY.get(verb, ""))
        return self

    @property
    def draws(self) -> int:
        """The seed that is used where none was said."""
        return 0 if self.seed is None else self.seed

    @property
    def allow_twins(self) -> bool:
        """Equal inputs are independent draws, also where one of them was trained on."""
        return self.repeats == "natural"

    def as_json(self) -> dict[str, Any]:
        """The fields that differ from their defaults, as JSON values: a report is made again from them."""
        found: dict[str, Any] = {}
        for one, value in self.said():
            part = found if one.metadata["group"] != JUDGE else found.setdefault("judging", {})
            part[one.name] = list(value) if isinstance(value, tuple) else value
        return found

    def said(self) -> Iterator[tuple[Field[Any], Any]]:
        """The options that differ from their defaults."""
        for one in self.options():
            value = getattr(self.judging if one.metadata["group"] == JUDGE else self, one.name, one.default)
            if value != one.default:
                yield one, value

    @classmethod
    def of(cls, given: Declaration | Mapping[str, Any] | None) -> Declaration:
        """A declaration as it is, from its fields by name, or the one that says nothing."""
        if isinstance(given, Declaration):
            return given
        found: Declaration = _by_name(cls, "declaration", given or {})
        return found

    @classmethod
    def of_options(cls, said: Mapping[str, Any]) -> Declaration:
        """The declaration that options of the command line make, by the names of their fields."""
        inside = {one.name: said[one.name] for one in fields(Judging) if said.get(one.name) is not None}
        own = {name: value for name, value in said.items() if name not in {one.name for one in fields(Judging)}}
        return cls(**own, judging=Judging(**inside) if inside else None)

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Self:
        """The declaration again from what `as_json` wrote."""
        found = cls.of({name: tuple(value) if isinstance(value, list) else value for name, value in given.items()})
        assert isinstance(found, cls)
        return found

    @classmethod
    def recorded(cls, written: Mapping[str, Any]) -> Self:
        """What a report declares of these fields; it says more (delta, by), which is not the reader's."""
        known = {one.name for one in fields(cls)}
        return cls.from_json({name: value for name, value in written.items() if name in known})

    @classmethod
    def options(cls) -> Iterator[Field[Any]]:
        """The fields in the order of their groups; those of `judging` in its place."""
        own = [one for one in fields(cls) if one.name != "judging"]
        yield from sorted(own, key=lambda one: GROUPS.index(one.metadata["group"]))
        yield from fields(Judging)

    @staticmethod
    def flag(one: Field[Any]) -> str:
        """The name of a field on the command line."""
        if one.name == "better":
            return "--higher-is-better, --lower-is-better"
        return one.metadata["option"] or f"--{one.name.replace('_', '-')}"


MOVED = {
    **{one.name: f"declaration=Declaration({one.name}=...)" for one in fields(Declaration)},
    **{one.name: f'declaration={{"judging": {{"{one.name}": ..., ...}}}}' for one in fields(Judging)},
    **dict.fromkeys(("low", "high"), "declaration=Declaration(range=(low, high))"),
    "columns": "declaration=Declaration(metric=..., label=..., group=...)",
    "allow_twins": 'declaration=Declaration(repeats="natural")',
}
"""What verbs were told beside their first argument, and where it is said now."""
_WORDS = ("title", "seed", "population")
_JUDGED = tuple(one.name for one in fields(Judging))


def _all_but(*used: str) -> tuple[str, ...]:
    return tuple(one.name for one in Declaration.options() if one.name not in used)


UNUSED: Mapping[str, tuple[str, ...]] = {
    "certify": (),
    "certify(by=...)": _all_but("title", "repeats"),
    "certify(evidence=...)": _all_but("title", "classes", "seed"),
    "gate": ("two_sided", "seed", "population"),
    "compare": ("models", "two_sided", "slices", "confidence_column", *_WORDS, *_JUDGED),
    "select": ("slices", "two_sided", "estimand", "max_size", "order", "range", "clip", *_WORDS, *_JUDGED),
    "look": ("two_sided", "seed", "title", "models", *_JUDGED),
    "watch": _all_but("metric", "better", "range"),
}
"""The options that a verb has no use for: it does not have them, and refuses them in Python."""
WHY = {
    "certify(by=...)": "What it certifies was trained by the procedures, whose settings say the rest",
    "certify(evidence=...)": "A record says it itself: HoldOut(..., models=3, two_sided=True)",
    "gate": "A gate has both sides",
    "compare": "Models are counted here, and both sides are given",
    "select": "A selection answers about the error rate among the answered",
    "watch": "A stream has no other columns: range, better or metric",
}
