"""A result is a class: its fields are the inputs, its docstring is the statement, its two methods are its two sides."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self, dataclass_transform

from certiformer.theory.core import docstring_sections, notebook
from certiformer.theory.core.bound import Bound, json_number
from certiformer.theory.core.errors import CertiformerError, FormulaError, RangeError, UnknownNameError
from certiformer.theory.core.hypothesis import Hypothesis, assumed, together
from certiformer.theory.core.inputs import Input, InputTable, check_inputs, choice, count, flag, integers, real, reals
from certiformer.theory.core.quantity import Direction, Quantity
from certiformer.theory.core.report import Report, Statement, confidence_text

_NOTHING: Mapping[str, str] = MappingProxyType({})

Variants = Mapping[str, Bound]
"""One side of a result: its bounds by the name of the variant."""


@dataclass(frozen=True, slots=True)
class Paper:
    """Where a result comes from; the year is left out where our copy of the paper does not tell it.

    `identifiers` are further BibTeX fields (eprint, url, ...), as this paper or one that cites it prints them.
    """

    key: str
    authors: str
    title: str
    year: int | None = None
    venue: str = ""
    identifiers: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def short(self) -> str:
        """`Trauger & Tewari`, or `Li et al.`"""
        surnames = [name.split()[-1] for name in self.authors.replace(" and ", ", ").split(", ")]
        return " & ".join(surnames) if len(surnames) <= 2 else f"{surnames[0]} et al."

    @property
    def reference(self) -> str:
        """Authors, year, title and venue in one line."""
        when = "" if self.year is None else f" ({self.year})"
        return f"{self.authors}{when}. {self.title}." + (f" {self.venue}." if self.venue else "")


class Status(Enum):
    """What became of a printed statement when it was checked."""

    TRUE = "true"
    FALSE = "false"
    CONSTANT = "constant missing"
    UNPROVEN = "unproven"
    RECONSTRUCTED = "reconstructed"
    NONE = "not in a paper"

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]


_MEANINGS = {
    Status.TRUE: "holds as printed",
    Status.FALSE: "an explicit counterexample is known",
    Status.CONSTANT: "right up to a constant that is not given, so the printed number bounds nothing",
    Status.UNPROVEN: "statement and proof disagree; no counterexample is known",
    Status.RECONSTRUCTED: "the printed formula is lost in our copy and was rebuilt from the proof",
    Status.NONE: "a tool of the trade; nothing was printed",
}


@dataclass_transform(
    kw_only_default=True, frozen_default=True, field_specifiers=(real, count, reals, integers, choice, flag)
)
class Result:
    """One numbered result; an instance is the result at given inputs.

    A subclass names its `paper`, `place`, `bounds` and `status`, and is registered when it has a `place`; without one
    it
    is a setting that results share: fields and assumptions are inherited. `monotone` says how the sound side answers
    to an input (`"+Bx -n"`: non-decreasing in Bx, non-increasing in n), a promise that the tests keep. What the
    docstring assumes is a hypothesis of every sound variant: `sound` cannot forget it. `elementwise` names inputs that
    both sides take as arrays too: along those a sweep is evaluated at once.
    """

    paper: ClassVar[Paper]
    place: ClassVar[str] = ""
    bounds: ClassVar[Quantity]
    status: ClassVar[Status]
    id: ClassVar[str] = ""
    monotone: ClassVar[str] = ""
    elementwise: ClassVar[tuple[str, ...]] = ()
    proof: ClassVar[str] = ""

    sections: ClassVar[docstring_sections.DocstringSections]
    title: ClassVar[str] = ""
    reason: ClassVar[str] = ""
    example: ClassVar[str] = ""
    counterexample: ClassVar[str] = ""
    inputs: ClassVar[tuple[Input, ...]] = ()
    named_inputs: ClassVar[InputTable] = InputTable(())
    assumptions: ClassVar[tuple[str, ...]] = ()
    defects: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        inherited = [base for base in cls.__bases__ if issubclass(base, Result)]
        cls.sections = docstring_sections.read(cls.__doc__)
        told = next((base.sections for base in inherited if base is not Result and base.sections.sound), None)
        if not cls.sections.sound and told is not None:
            # What holds is told once, by the setting that several results share.
            cls.sections = replace(cls.sections, sound=told.sound, sound_latex=told.sound_latex)
        cls.title, cls.reason = cls.sections.title, cls.sections.because
        cls.inputs = _fields(cls)
        cls.named_inputs = InputTable(cls.inputs)
        cls.assumptions = _unique(cls.sections.assumes, *(base.assumptions for base in inherited))
        cls.defects = _unique(cls.sections.defects, *(base.defects for base in inherited))
        if "place" in vars(cls) and "id" not in vars(cls):
            cls.id = f"{cls.paper.key}.{short_place(cls.place)}"
        words = " ".join(entry.sample for entry in cls.inputs if entry.required)
        cls.example = f"certiformer bound {cls.id} {words}"
        refuted = getattr(cls, "status", None) is Status.FALSE
        if "counterexample" not in vars(cls):
            cls.counterexample = f"certiformer audit {cls.id}" if refuted else ""
        if not cls.proof and hasattr(cls, "paper"):
            cls.proof = f"docs/proofs/{cls.paper.key}.md"
        if "sound" in vars(cls):
            setattr(cls, "sound", _with_assumptions(cls.sound))  # noqa: B010

    def __init__(self, **given: Any) -> None:
        self.__dict__.update(check_inputs(self.named_inputs, given, self.example))
        self._derive()

    def _derive(self) -> None:
        """What was left out and follows from the rest."""
        values, derived = self.__dict__, {}
        for entry, factory in self.named_inputs.derived:
            if values[entry.name] is None:
                values[entry.name] = entry.parse(factory.rule(self))
                derived[entry.name] = factory.how
        values["derived"] = MappingProxyType(derived) if derived else _NOTHING

    derived: ClassVar[Mapping[str, str]]

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: {name} cannot be set; use .at(...) for other inputs")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.as_inputs() == other.as_inputs()

    def __hash__(self) -> int:
        return hash((type(self), tuple(self.as_inputs().items())))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.as_inputs().items() if value is not None)
        return f"{type(self).__name__}({shown})"

    def as_inputs(self) -> dict[str, Any]:
        """Every input by name, derived ones included."""
        return {entry.name: self.__dict__[entry.name] for entry in self.inputs}

    def at(self, **numbers: Any) -> Self:
        """The same result at other numbers, which alone are checked; what was derived is derived again.

        None leaves an optional input out.
        """
        known, found = self.named_inputs, object.__new__(type(self))
        values = found.__dict__
        values.update(self.__dict__)
        values.update(dict.fromkeys(self.derived))
        for name, number in numbers.items():
            entry = known.get(name)
            if entry is None:
                raise UnknownNameError("input", name, known)
            if type(number) is float and entry.kind == "real" and entry.low < number < entry.high:
                values[entry.name] = number  # what most are, without the many questions of `parse`
            else:
                left_out = number is None and entry.optional
                values[entry.name] = known.blank[entry.name] if left_out else entry.parse(number)
        if known.derived:
            found._derive()
        return found

    def printed(self) -> Variants:
        """The formula exactly as the paper has it, by variant; empty where nothing was printed."""
        return {}

    def sound(self) -> Variants:
        """What holds, with every constant, by variant."""
        raise NotImplementedError(f"{type(self).__name__} has no sound side")

    @classmethod
    def listing(cls) -> dict[str, Any]:
        """The result in a list: what `certiformer theorems --json` prints of it."""
        return {
            "id": cls.id,
            "title": cls.title,
            "paper": cls.paper.key,
            "place": cls.place,
            "bounds": cls.bounds.value,
            "printed": cls.status.value,
            "reason": cls.reason,
            "inputs": [entry.name for entry in cls.inputs],
        }

    @classmethod
    def has_printed(cls) -> bool:
        """Whether a paper printed something."""
        return cls.printed is not Result.printed

    @classmethod
    def directions(cls) -> dict[str, int]:
        """The promise of `monotone`: +1 where the sound side does not fall with an input, -1 where it does not rise."""
        return {word[1:]: 1 if word[0] == "+" else -1 for word in cls.monotone.split()}

    @classmethod
    def evaluate(cls, given: Mapping[str, Any]) -> Evaluation:
        """Both sides at the given inputs (text or numbers), after checking them."""
        return cls(**given).evaluated()

    def evaluated(self) -> Evaluation:
        """Both sides here."""
        return Evaluation(self, _side(self, self.printed), _side(self, self.sound))

    def with_entries(self, name: str, values: Any) -> Self:
        """The same result with an array, already checked, in place of an input that is `elementwise`."""
        if name not in self.elementwise:
            raise TypeError(f"{self.id} does not take arrays of {name}")
        found = object.__new__(type(self))
        found.__dict__.update(self.__dict__)
        found.__dict__[name] = values
        return found


def _side(at: Result, side: Callable[[], Variants]) -> Variants:
    try:
        return dict(side())
    except CertiformerError:
        raise
    except MemoryError as error:
        raise RangeError(at.id, error) from error
    except (ArithmeticError, ValueError) as error:
        # Squares of numbers beyond 1e150 leave the floats; anything else that has no value is a defect of ours.
        sizes = [abs(value) for value in at.as_inputs().values() if isinstance(value, float) and value != 0.0]
        extreme = any(not 1e-150 < size < 1e150 for size in sizes)
        kind = RangeError if extreme or isinstance(error, OverflowError) else FormulaError
        raise kind(at.id, error) from error


def _fields(cls: type[Result]) -> tuple[Input, ...]:
    """The inputs in the order of declaration, those of the bases first; a redeclared one keeps its place."""
    found: dict[str, Input] = {}
    for base in reversed(cls.__mro__):
        found |= {name: entry for name, entry in vars(base).items() if isinstance(entry, Input)}
    return tuple(found.values())


def _unique(*groups: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item for group in groups for item in group))


def _with_assumptions(sound: Callable[[Any], Variants]) -> Callable[[Any], Variants]:
    """The same side, every variant with the hypotheses that the class assumes."""

    @functools.wraps(sound)
    def complete(self: Any) -> Variants:
        shared = _assumed(self.assumptions)
        return {
            name: bound if bound.bounds is Quantity.CONSTANT else bound.resting_on(_together(bound.hypotheses, shared))
            for name, bound in sound(self).items()
        }

    return complete


def _together(own: tuple[Hypothesis, ...], shared: tuple[Hypothesis, ...]) -> tuple[Hypothesis, ...]:
    """Those of one variant, and those of all: most variants have but the latter."""
    return together(own, shared) if own else shared


@functools.lru_cache(maxsize=1024)
def _assumed(assumptions: tuple[str, ...]) -> tuple[Hypothesis, ...]:
    return together(assumed(words) for words in assumptions)


PLACE_KINDS = {
    "Lemma": "lem",
    "Theorem": "thm",
    "Corollary": "cor",
    "Proposition": "prop",
    "Definition": "def",
    "Assumption": "ass",
    "Remark": "rem",
    "Equation": "eq",
    "Section": "sec",
    "Appendix": "app",
    "Fact": "fact",
}


def short_place(place: str) -> str:
    """`Theorem 4.1` is `thm4.1`, `Corollary D.0.1` is `corD.0.1`."""
    match = re.match(rf"({'|'.join(PLACE_KINDS)}) ([A-Z](?:\.\d+)*|\d+(?:\.\d+)*)(?=$|,)", place)
    if match is None:
        raise ValueError(f"{place!r} gives no id: write `id = ...` in the class")
    return PLACE_KINDS[match[1]] + match[2]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A result at given inputs: every variant of both sides, and the best sound one."""

    at: Result
    printed: Variants
    sound: Variants

    @property
    def result(self) -> type[Result]:
        """The result that was evaluated."""
        return type(self.at)

    @property
    def inputs(self) -> Mapping[str, Any]:
        """Every input by name, derived ones included."""
        return self.at.as_inputs()

    @property
    def best(self) -> str | None:
        """The tightest sound variant with nothing failing and nothing open that an input could have stated."""
        eligible = self.eligible
        if not eligible:
            return None
        lower = self.result.bounds.direction is Direction.LOWER
        return (max if lower else min)(eligible, key=lambda name: _rank(self.sound[name]))

    @property
    def eligible(self) -> list[str]:
        """The sound variants that may be offered."""
        if self.result.bounds.direction is Direction.NEITHER:
            return []
        return [
            name for name, bound in self.sound.items() if bound.applies and bound.bounds in (None, self.result.bounds)
        ]

    def as_json(self) -> dict[str, Any]:
        """The document that `certiformer bound --json` prints."""
        derived = self.at.derived
        return {
            "id": self.result.id,
            "title": self.result.title,
            "bounds": self.result.bounds.value,
            "inputs": {name: value for name, value in self.inputs.items() if value is not None and name not in derived},
            "derived": {name: {"value": _plain(self.inputs[name]), "how": how} for name, how in derived.items()},
            "printed": {name: bound.as_json() for name, bound in self.printed.items()},
            "sound": {name: bound.as_json() for name, bound in self.sound.items()},
            "best": self.best,
            "status": {"printed": self.result.status.value, "reason": self.result.reason},
        }

    def report(self) -> Report:
        """The evaluation as a report: the best sound variant leads, every variant of both sides is a statement."""
        result, delta = self.result, self.inputs.get("delta")
        sides: list[tuple[Literal["sound", "printed"], str, Bound]]
        sides = [("sound", name, bound) for name, bound in self.sound.items()]
        sides.sort(key=lambda side: side[1] != self.best)
        sides += [("printed", name, bound) for name, bound in self.printed.items()]
        statements = tuple(self._statement(*side) for side in sides)
        best = None if self.best is None else self.sound[self.best]
        up = result.bounds.direction is not Direction.LOWER
        word = "at most" if up else "at least"
        known = "" if not isinstance(delta, float) else f", with confidence {confidence_text(delta)}"
        headline = (
            f"{result.id}: no sound form of it applies to these inputs."
            if best is None
            else f"By {result.id} the {result.bounds.value} is {word} {best.text(result.bounds, 6)}{known}."
        )
        needed = () if best is None else tuple(one.requires for one in best.hypotheses if one.state != "verified")
        return Report(
            title=result.title,
            headline=headline,
            statements=statements,
            decisive=None if best is None else result.id,
            summary=f"{len(self.sound)} sound and {len(self.printed)} printed forms were evaluated.",
            conditions=needed,
            delta=delta if isinstance(delta, float) else None,
            declaration={name: _plain(value) for name, value in self.inputs.items() if value is not None},
        )

    def _statement(self, side: Literal["sound", "printed"], name: str, bound: Bound) -> Statement:
        vacuous = "vacuous" if bound.vacuous else "informative"
        return Statement(
            id=self.result.id,
            version=side,
            title=self.result.title,
            bounds=(bound.bounds or self.result.bounds).value,
            value=bound.value,
            log10=bound.log10,
            trivial=bound.trivial,
            verdict=vacuous if bound.applies else "does not apply",
            quantity=(bound.bounds or self.result.bounds).value,
            conditions=bound.hypotheses,
            terms=dict(bound.terms),
            reason=bound.note,
            variant=name,
        )

    def __str__(self) -> str:
        return str(self.report())

    def _repr_html_(self) -> str:
        result = self.result
        rows = [
            (
                side,
                name,
                bound.text(result.bounds, 6),
                "best" if side == "sound" and name == self.best else "",
                _rests_on(bound),
            )
            for side, variants in (("printed", self.printed), ("sound", self.sound))
            for name, bound in variants.items()
        ]
        title = f"{result.id}: {result.title} ({result.bounds.value})"
        note = f"{result.status.value}: {result.reason}" if result.has_printed() else ""
        return notebook.table(title, ("side", "variant", "value", "", "rests on"), rows, note)


def _rests_on(bound: Bound) -> str:
    """What fails, what is open, and what the caller stated; what was verified needs no word."""
    told = [f"{each.state}: {each.requires}" for each in bound.hypotheses if each.state != "verified"]
    return "; ".join(told)


def _plain(value: Any) -> Any:
    return json_number(value) if isinstance(value, float) else value


def _rank(bound: Bound) -> tuple[float, float]:
    """Order by value, and by logarithm among the values that overflow."""
    return bound.value, bound.ln if bound.overflowed and bound.ln is not None else 0.0
