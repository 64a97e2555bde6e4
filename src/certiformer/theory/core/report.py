"""What every verb returns: statements about a model or a network, with what they rest on, as one value.

A report is made once. It prints itself in a dozen lines, draws itself, and is written as JSON (`format` 2,
`report.schema.json`), from which `certiformer verify` makes it again and compares all of it but `machine`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Literal

from certiformer.theory.core import notebook
from certiformer.theory.core.bound import json_number
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.hypothesis import Hypothesis
from certiformer.theory.core.quantity import Direction, Quantity
from certiformer.theory.core.rounding import outward
from certiformer.theory.core.whole_files import write_folder

FORMAT = 2
SHOWN = 3
"""Conditions that are printed; the others are counted."""
HEADLINE = 30
"""Words of a headline; names in a longer one are cut."""
_FROM_BELOW = frozenset(one.value for one in Quantity if one.direction is Direction.LOWER)
RATES = ("error rate", "human-judged error rate")
"""Means of right and wrong, which are read in percent; a metric that somebody calls a rate has a unit of its own."""
WORDS = 25
"""Words of a condition on the screen; a longer one is cut there and whole in the report."""


@dataclass(frozen=True)
class Decision:
    """What a reader of files decided: about which column, coding or direction, what, and why."""

    subject: str
    choice: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One limit: of which quantity, for whom, at which confidence, under which conditions, from what evidence.

    `value` None means that the result says nothing here; `reason` then says why. `jointly`: it is part of the joint
    confidence of the report. `claim` and `seen` are the statement and its evidence as half-sentences.
    """

    id: str
    version: Literal["sound", "printed"] = "sound"
    title: str
    bounds: str
    value: float | None = None
    log10: float | None = None
    trivial: float | None = None
    confidence: float | None = None
    verdict: str = "does not apply"
    subject: str = ""
    quantity: str = ""
    lower: float | None = None
    jointly: bool = False
    claim: str = ""
    seen: str = ""
    dominating: str = ""
    n_needed: float | None = None
    conditions: tuple[Hypothesis, ...] = ()
    terms: Mapping[str, float] = field(default_factory=dict)
    guarantee: str = ""
    reason: str = ""
    variant: str = ""
    evidence: Any = None
    """The record of what was counted (`certiformer.certificates.Evidence`); a paper's statement has none."""
    predictor: Mapping[str, str] | None = None
    """Where the certified predictor was written: `file` beside the report, and its `sha256`."""
    through: Mapping[str, str] | None = None
    """The same for the certified sibling that a transfer goes through."""
    trace: Mapping[str, str] | None = None
    """The same for what was recorded while counting."""

    @property
    def key(self) -> str:
        """The name of its share of delta: the id, and which slice or metric."""
        return self.id if self.evidence is None else str(self.evidence.key)

    @property
    def says(self) -> bool:
        """Whether there is a number at all."""
        return self.value is not None or self.log10 is not None

    @property
    def informative(self) -> bool:
        """A guarantee (not a printed formula) below the trivial value."""
        return self.version == "sound" and self.verdict == "informative"

    @property
    def rate(self) -> bool:
        """Whether it limits a rate of errors, which people read in percent."""
        return self.bounds.endswith("risk_01") or getattr(self.evidence, "what", "") in RATES

    @property
    def relation(self) -> str:
        """How what is limited lies to the value."""
        return "at least" if self.bounds in _FROM_BELOW else "at most"

    @property
    def guessing(self) -> float | None:
        """What guessing attains; None where it is not known, and the trivial value is the worst possible one."""
        unknown = self.trivial == 1.0 if self.rate else getattr(self.evidence, "guess", 0.0) is None
        return None if unknown else self.trivial

    def as_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        overflowed = self.value == math.inf and self.log10 is not None and math.isfinite(self.log10)
        for name in ("value", "log10", "lower", "n_needed"):
            found[name] = None if found[name] is None else json_number(found[name])
        found["value"] = None if overflowed else found["value"]
        found["conditions"] = [one.as_json() for one in self.conditions]
        found["terms"] = {name: json_number(term) for name, term in self.terms.items()}
        found["evidence"] = None if self.evidence is None else {"key": self.key, **self.evidence.record()}
        for name in ("predictor", "through", "trace"):
            found[name] = None if found[name] is None else dict(found[name])
        return {"id": self.id, "key": self.key, **found}


@dataclass(frozen=True, eq=False, kw_only=True)
class Report:
    """Statements, what they rest on, what was declared and decided, and where and when it was made (`machine`)."""

    elsewhere: ClassVar[str] = "in the report"
    """Where the sentences are that do not fit on the screen."""
    title: str
    headline: str
    statements: tuple[Statement, ...]
    decisive: str | None = None
    """The key of the statement that the headline is about."""
    basis: str = ""
    summary: str = ""
    advice: str = ""
    conditions: tuple[str, ...] = ()
    """What the headline rests on and only a person can know."""
    not_checked: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    observed: Mapping[str, float | int | None] = field(default_factory=dict)
    delta: float | None = None
    shares: Mapping[str, float] = field(default_factory=dict)
    classes: int = 0
    declaration: Mapping[str, Any] = field(default_factory=dict)
    """What the caller said, where it is not the default: the report can be made again from it and the data."""
    decisions: tuple[Decision, ...] = ()
    profile: tuple[Mapping[str, Any], ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """Hashes of data and configuration, seeds, divisions of the data."""
    machine: Mapping[str, Any] = field(default_factory=dict)
    """Date, versions, paths, the command: all that may differ when the report is made again."""
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """The certified predictors, by the names of their files."""

    def __getitem__(self, id: str) -> Statement:
        """The sound statement of a result, by its id or, for one of several, by its key: "holdout (slice 3)"."""
        for one in self.statements:
            if one.version == "sound" and id in (one.id, one.key):
                return one
        raise InputError("statement", id, f"one of {', '.join(dict.fromkeys(one.id for one in self.statements))}")

    @property
    def best(self) -> Statement | None:
        """The statement that the headline is about."""
        sound = (one for one in self.statements if one.version == "sound" and one.says)
        return next((one for one in sound if one.key == self.decisive), None)

    @property
    def value(self) -> float | None:
        """The limit in the headline; None where there is none."""
        return None if self.best is None else self.best.value

    @property
    def lower(self) -> float | None:
        """The lower limit in the headline, where both were asked for."""
        return None if self.best is None else self.best.lower

    @property
    def confidence(self) -> float | None:
        """With what probability all statements of the report that hold jointly are true."""
        return None if self.delta is None else min(1.0 - self.delta, math.nextafter(1.0, 0.0))

    @property
    def document(self) -> dict[str, Any]:
        """The report as report.json has it."""
        found: dict[str, Any] = {"format": FORMAT}
        for entry in fields(self):
            if entry.name != "files":
                value = getattr(self, entry.name)
                found[entry.name] = dict(value) if isinstance(value, Mapping) else value
        found["statements"] = [one.as_json() for one in self.statements]
        found["decisions"] = [asdict(one) for one in self.decisions]
        for name in ("conditions", "not_checked", "warnings"):
            found[name] = list(found[name])
        found["profile"] = [dict(one) for one in self.profile]
        return found

    def lines(self) -> list[str]:
        """The answer, what it rests on, what was not checked, what else there is: at most twelve lines."""
        found = [self.headline, *([f"Seen: {self.basis}."] if self.basis else [])]
        found += shown("It holds if ", self.conditions, "conditions", SHOWN, self.elsewhere)
        found += shown("NOT CHECKED: ", self.not_checked, "things", 2, self.elsewhere)
        found += shown("Warning: ", self.warnings, "warnings", 1, self.elsewhere)
        found += [text for text in (self.advice, self.summary) if text]
        return [visible(text) for text in found]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def rows(self) -> list[dict[str, Any]]:
        """Every statement with a number as a plain row."""
        names = ("id", "key", "version", "quantity", "subject", "value", "lower", "log10", "confidence", "trivial")
        more = ("verdict", "n_needed", "seen")
        return [{name: getattr(one, name) for name in (*names, *more)} for one in self.statements if one.says]

    def to_frame(self) -> Any:
        """Every statement with a number as a row of a pandas DataFrame."""
        from certiformer.theory.core.arrays import frame

        return frame(self.rows())

    def plot(self) -> Any:
        """The limits that say more than guessing, with what was observed, as a matplotlib figure."""
        from certiformer.report.figure import report_figure

        return report_figure(self)

    def _repr_html_(self) -> str:
        head = ("statement", "side", "limits", "", "value", "verdict", "about")
        listed = (
            (one.key, one.version, one.quantity, one.relation, _in_print(one), one.verdict, one.subject)
            for one in self.statements
            if one.says
        )
        return notebook.table(self.headline, head, listed, " ".join(self.lines()[1:]))

    def page(self) -> str:
        """report.html as text."""
        from certiformer.report.page import certificate_page

        return certificate_page(self)

    def write(self, folder: str | Path) -> tuple[Path, Path]:
        """Write report.html, report.json, model-card.md, badge.svg and the predictors, each whole or not at all.

        Two processes with one folder leave the files of one of them: a lock holds it until the last file is written.
        """
        from certiformer.report.card import badge, model_card

        texts = {
            "report.html": self.page(),
            "report.json": json.dumps(self.document, indent=2, allow_nan=False) + "\n",
            "model-card.md": model_card(self),
            "badge.svg": badge(self),
        }
        target = write_folder(folder, {**self.files, **texts})
        return target / "report.html", target / "report.json"


class Reported:
    """An answer that carries its report: it prints, lists and shows itself as the report does."""

    @property
    def report(self) -> Report:
        """The answer as a report."""
        raise NotImplementedError

    @property
    def headline(self) -> str:
        """The answer in one sentence."""
        return self.report.headline

    @property
    def value(self) -> float | None:
        """The limit in the headline; None where there is none."""
        return self.report.value

    @property
    def confidence(self) -> float | None:
        """With what probability all that is said holds."""
        return self.report.confidence

    def to_frame(self) -> Any:
        """Every statement with a number as a row of a pandas DataFrame."""
        return self.report.to_frame()

    def plot(self) -> Any:
        """The limits that say more than guessing, with what was observed, as a matplotlib figure."""
        return self.report.plot()

    def _repr_html_(self) -> str:
        return self.report._repr_html_()

    def __str__(self) -> str:
        return str(self.report)


def _in_print(one: Statement) -> float | None:
    """The value at six digits, rounded outward."""
    return one.value and outward(one.value, 6, up=one.relation == "at most")


def shown(head: str, sentences: tuple[str, ...], what: str, most: int, where: str) -> list[str]:
    """The first few sentences, a line each, and how many more there are, and where."""
    found = [f"{head}{cut(text)}." for text in sentences[:most]]
    rest = len(sentences) - most
    if rest > 0:
        found[-1] += f" ({rest} more {what if rest > 1 else what.removesuffix('s')} {where})"
    return found


def cut(text: str, most: int = WORDS) -> str:
    """A sentence of at most so many words."""
    words = text.rstrip(".").split()
    return " ".join(words) if len(words) <= most else f"{' '.join(words[:most])} ..."


def fitting(sentence: Callable[[Callable[[str], str]], str], most: int = HEADLINE) -> str:
    """A sentence of at most so many words, if names in it can be cut short enough."""
    text = ""
    for words in (14, 10, 8, 6, 5, 4, 3, 2, 1):
        text = sentence(lambda name, words=words: cut(name, words))  # type: ignore[misc]
        if len(text.split()) <= most:
            break
    return text


def confidence_text(delta: float) -> str:
    """1 - delta in percent, rounded down; as 1 - delta itself where percents would need many nines."""
    if delta < 1e-6:
        return f"1 - {outward(delta, 3):.3g}"
    return f"{math.floor(1e6 * (1.0 - delta) + 1e-9) / 1e4:g} %"


def visible(text: str) -> str:
    """Words from files on one line of the screen: control characters are written out, never sent."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)
