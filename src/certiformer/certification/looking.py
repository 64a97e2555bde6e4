"""What is in a file of outcomes, how it would be read, and which questions it can answer, each with its command."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from certiformer.certification.declaration import MOVED, UNUSED, Declaration
from certiformer.certification.gating import keyed
from certiformer.certification.losses import LEAST_EXAMPLES
from certiformer.certification.sample import Sample
from certiformer.certification.sources import files
from certiformer.certification.sources.table import is_missing
from certiformer.theory.core.errors import InputError, refuse_unknown_options
from certiformer.theory.core.report import Decision, visible

MOST_SLICES, LEAST_ROWS = 20, 10
"""A column of more values, or of fewer rows for each, is not offered for slices."""


@dataclass(frozen=True)
class Question:
    """A question, the command that answers it, and what is missing where it cannot be answered."""

    asks: str
    command: str = ""
    missing: str = ""


@dataclass(frozen=True)
class Look:
    """The columns of a file in words, how they would be read (or why not), and the questions."""

    name: str
    columns: Mapping[str, str]
    reading: tuple[str, ...]
    refused: str
    decisions: tuple[Decision, ...]
    questions: tuple[Question, ...]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@refuse_unknown_options(moved=MOVED)
def look(path: str | Path, *, declaration: Declaration | Mapping[str, Any] | None = None) -> Look:
    """What is in a file, how it would be read, and what can be asked about it. No outcome is counted."""
    declared = Declaration.of(declaration)
    table = files.read(path)
    if str(path).startswith("-"):
        path = f"./{path}"  # in a command it would be an option
    if table.arrays is None:
        columns = {visible(name) or "(no name)": _column(list(cells)) for name, cells in table.columns.items()}
    else:
        columns = {visible(name): f"an array of shape {np.shape(value)}" for name, value in table.arrays.items()}
    try:
        sample = Sample.of(table, declared, stopped=True)
    except InputError as error:
        questions = (_judged(path),) if {"human", "judge"} <= set(table.columns) else ()
        return Look(visible(str(path)), columns, (), visible(str(error)), table.decisions, questions)
    unit = "examples" if sample.units.groups is None else f"rows in {len(np.unique(sample.units.groups)):,} groups"
    reading = [f"{sample.n:,} {unit}"]
    for one in sample.outcomes:
        end = "no end (say --clip)" if one.high is None else f"{one.high:g}"
        span = "right or wrong" if one.kind == "rate" else f"a number from {one.low:g} to {end}"
        asked = one.what if one.what == "error rate" else f"mean {one.what}"
        reading.append(f"outcome {visible(one.label or one.name)}: {span}; the {asked} is asked about")
    reading += [f"not checked: {text}" for text in sample.not_checked]
    return Look(
        visible(str(path)), columns, tuple(reading), "", sample.decisions, tuple(_questions(path, sample, table))
    )


def _judged(path: str | Path, human: str = "human", judge: str = "judge") -> Question:
    said = shlex.join(["certiformer", "certify", str(path), "--human", human, "--judge", judge, "--labelled", "random"])
    missing = "what was expected of the judge beforehand, and that labels were drawn at random"
    return Question("few human labels and a judge?", "", f"{missing}: {said} --expect RATE --correlation R")


def _column(cells: list[Any]) -> str:
    """How many different values, which, and how many are missing."""
    texts = [visible(str(cell)) for cell in cells if cell is not None and str(cell).strip()]
    distinct = list(dict.fromkeys(texts))
    shown = ", ".join(text if len(text) <= 20 else f"{text[:19]}…" for text in distinct[:3]) + (
        ", ..." if len(distinct) > 3 else ""
    )
    missing = f"; {len(cells) - len(texts):,} missing" if len(texts) < len(cells) else ""
    return f"{len(distinct):,} {'value' if len(distinct) == 1 else 'different values'} ({shown}){missing}"


def _said(declared: Declaration, verb: str) -> list[str]:
    """The options that were said, to be said again in every command that has a use for them."""
    words: list[str] = []
    for one, value in declared.said():
        if one.name in UNUSED[verb]:
            continue
        if one.name == "better":
            words.append(f"--{value}-is-better")
        elif isinstance(value, bool):
            words.append(Declaration.flag(one))
        elif one.name == "metric":
            words += [word for name in value for word in ("--metric", name)]
        elif one.name == "range":
            words += ["--range", *(f"{end:g}" for end in value)]
        else:
            text = ",".join(value) if isinstance(value, tuple) else str(value)
            words += [Declaration.flag(one), text]
    return words


def _questions(path: str | Path, sample: Sample, table: files.Table) -> list[Question]:
    declared, units = sample.declaration, sample.units

    def command(verb: str, *words: str) -> str:
        return shlex.join(["certiformer", verb, str(path), *_said(declared, verb), *words])

    rates = all(one.kind == "rate" for one in sample.outcomes)
    certified = Question("what is guaranteed on new examples?", command("certify"))
    if sample.n < LEAST_EXAMPLES:
        certified = replace(certified, command="", missing=f"at least {LEAST_EXAMPLES} examples")
    fixed = "is it at most a threshold, fixed beforehand (here 0.05)?"
    if declared.clip is None and any(one.kind == "log" or one.high is None for one in sample.outcomes):
        return [certified, Question(fixed, "", "where to cut the loss off, said beforehand: --clip C")]
    missing = ""
    try:
        keyed(next(sample.asked()), sample)
    except InputError as error:
        missing = visible(str(error))
    anytime = "" if missing else command("gate", "--error", "0.05", "--anytime", "state.json")
    looked = Question("the same, looked at while items come in?", anytime, missing)
    if "stopped_early" in sample.facts:
        return [replace(looked, asks="is it at most a threshold, fixed before the evaluation began (here 0.05)?")]
    found = [certified, Question(fixed, command("gate", "--error", "0.05")), looked]
    better, worse = "is another model better?", "is it at most a margin worse than another (here 0.02)?"
    other = "a file of another model on the same items: certiformer"
    plain = replace(declared, slices=None, order="average")  # of a gate against a baseline
    compared = ["compare", str(path), *_said(declared, "compare"), "OTHER"]
    gated = ["gate", str(path), *_said(plain, "gate"), "--against", "OTHER", "--margin", "0.02"]
    for asks, words in ((better, compared), (worse, gated)):
        missing = f"{other} {shlex.join(words)}" if len(sample.outcomes) == 1 else "one outcome: --metric NAME"
        found.append(Question(asks, "", missing))
    confident = "" if sample.scores is not None else "the model's confidence in its answers: --confidence-column COLUMN"
    if rates and len(sample.outcomes) == 1:
        found.append(
            Question(
                "where may it answer, where should it abstain?",
                "" if confident else command("select", "--error", "0.05"),
                confident,
            )
        )
    if sample.slices is None and table.arrays is None:
        used = {one.choice for one in sample.decisions} | {declared.label, declared.prediction, declared.id}
        for name, cells in table.columns.items():
            kinds = len({str(cell) for cell in cells})
            outcome = name in table.metrics or any(name in (one.name, one.label) for one in sample.outcomes)
            whole = not any(isinstance(cell, (dict, list)) or is_missing(cell) for cell in cells)
            offered = whole and 2 <= kinds <= min(MOST_SLICES, len(cells) // LEAST_ROWS)
            if offered and name not in used and not outcome and name != declared.group:
                found.append(Question(f"and for each {visible(name)}?", command("certify", "--slice", name)))
    if rates and len(sample.outcomes) == 1 and sample.slices is None and declared.estimand == "groups":
        least = 0 if units.groups is None else int(np.min(np.unique(units.groups, return_counts=True)[1]))
        tries = command("gate", "--pass-all", str(least), "--error", "0.05") if least > 1 else ""
        missing = "" if tries else "the task of every try, two of each or more: --group COLUMN --pass-all K"
        asks = f"if groups are tasks and rows are tries: do {least if tries else 'K'} fresh tries all succeed?"
        found.append(Question(asks, tries, missing))
    return [*found, _judged(path, "COLUMN", "COLUMN")]
