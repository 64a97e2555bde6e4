"""`Sample`: what was observed, on which units, decided how. The one way in for every verb that reads outcomes.

Files, arrays, frames, pairs and rows become one value, after the same checks: repeats by id and by input, overlap with
training, one coding of labels and predictions, missing outcomes, columns that look like groups. What is ambiguous is
refused with the options that settle it; every decision is written down (docs/sample.md).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.certification import answers, frameworks
from certiformer.certification.declaration import Declaration, Judging
from certiformer.certification.losses import Asked, Units
from certiformer.certification.sources import files, repeats, scores
from certiformer.certification.sources.coding import Coding, decide, distinct
from certiformer.certification.sources.rows import Rows, hash_of_rows, rows_of, whole
from certiformer.certification.sources.table import FORMS, Given, Outcome, given_of, usual_name
from certiformer.certification.split import data_hash, refuse_overlap
from certiformer.evaluation.judge import LEAST_ERRORS, LEAST_VARIANCE, judge_helps, paired_blocks
from certiformer.evaluation.order import hash_order, refuse_sorted
from certiformer.theory.calculus.tails import binary_kl
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.report import Decision, visible

Array = npt.NDArray[np.float64]
Declared = Declaration | Mapping[str, Any] | None

OUTCOMES = ("heldout_correct", "heldout_label_probabilities")
"""Arrays that tell how examples went without predictions; labels beside them only name slices."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Sample:
    """Outcomes of independent units, with the record of how they were read.

    `outcomes`: right or wrong, or losses with their range and what they are the mean of, in words. `units`: rows, or
    groups (connected components of id, input and group column). `slices` name a part for every row. `scores`: the
    model's confidence in each answer; `probabilities`: what it gave the true label. `parts`: what else was handed over
    (the training part, unlabelled examples, frozen features). `items`: what each row of a log is about. `decisions`:
    what was chosen on the way, and why.
    """

    name: str
    outcomes: tuple[Outcome, ...]
    units: Units
    slices: tuple[str, npt.NDArray[Any]] | None = None
    scores: Array | None = None
    probabilities: Array | None = None
    classes: int = 0
    coding: Coding | None = None
    parts: Mapping[str, Rows] = field(default_factory=dict)
    prompts: npt.NDArray[Any] | None = None
    items: npt.NDArray[Any] | None = None
    declaration: Declaration = field(default_factory=Declaration)
    decisions: tuple[Decision, ...] = ()
    hashes: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    not_checked: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """How many units there are."""
        return self.units.n

    @property
    def weights(self) -> Array | None:
        """How many tokens (words, ...) each row is about, where that was said."""
        return self.units.sizes

    @property
    def ids(self) -> list[str] | None:
        """The ids of the units, where they have some."""
        return self.units.ids

    def outcome(self) -> Outcome:
        """The one outcome, for verbs that take one."""
        if len(self.outcomes) != 1:
            options = " or ".join(f"--metric {one.label or one.name}" for one in self.outcomes)
            raise InputError("--metric", [one.name for one in self.outcomes], "one outcome", f"Say which: {options}")
        return self.outcomes[0]

    def asked(self) -> Iterator[Asked]:
        """Every outcome of all rows, then of the rows of each slice.

        Which rows are in a slice is decided without looking at their losses. Given that, the errors of rows in a slice
        are independent draws. Of grouped rows, the groups that have any row in the slice are independent draws from
        such groups, and the mean of each over its rows in the slice is its loss.
        """
        for outcome in self.outcomes:
            yield Asked(outcome, self.units)
        if self.slices is None:
            return
        kind, names = self.slices
        for name in np.unique(names).tolist():
            inside = names == name
            part = self.units.part(inside)
            for outcome in self.outcomes:
                yield Asked(replace(outcome, losses=outcome.losses[inside]), part, f"{kind} {name}")

    def refuse_idle_order(self) -> None:
        """An order that was declared where errors are counted."""
        counted = self.units.groups is None and all(one.kind == "rate" for one in self.outcomes)
        if counted and self.declaration.order != "average":
            why = "Errors are counted: their order does not matter"
            raise InputError("order", self.declaration.order, "losses or groups", why)

    # --- ways in ------------------------------------------------------------------------------------------------------

    @classmethod
    def of(cls, given: Any, declaration: Declared = None, *, stopped: bool = False) -> Sample:
        """Whatever people have: a file, a folder, arrays by name, a frame, (y_true, y_pred), rows, Trainer's output.

        `stopped`: logs of evaluations that a gate ended by their outcomes are taken, too.
        """
        declared = Declaration.of(declaration)
        if isinstance(given, Sample):
            if declared not in (Declaration(), given.declaration):
                raise InputError(
                    "declaration", "another one than the sample was read with", "one declaration",
                    "Hand it over when the sample is read: Sample.of(data, declaration)",
                )  # fmt: skip
            return given
        if frameworks.is_trainer_output(given):
            given = answers.trainer_output(given, declared)
            declared = answers.spent(declared, given)
        table = _table(given)
        if table.stopped and not stopped:
            raise InputError(
                "samples", f"{table.name}, stopped early by its outcomes ({table.stopped})",
                "a number of samples that was fixed beforehand",
                "Only a gate that may stop at any time can read it: certiformer gate LOG --error X --anytime STATE",
            )  # fmt: skip
        return _of_table(table, declared)

    @staticmethod
    def stream(lines: Iterable[str], declaration: Declared = None) -> Stream:
        """Losses line by line, in the words of the same table of metrics; None stands for a blank line.

        A line is a number (a loss, or 1 for an error), right or wrong, or a JSON object with one outcome.
        """
        return Stream(lines, Declaration.of(declaration))


class Stream:
    """Losses of lines, None for a blank one. `what` they are the mean of is the same in all of them.

    Equal lines are read once.
    """

    def __init__(self, lines: Iterable[str], declared: Declaration, what: str = "") -> None:
        self._lines, self._declared, self.what = enumerate(lines, 1), declared, what
        self._known: dict[str, float] = {}

    def __iter__(self) -> Iterator[float | None]:
        return self

    def __next__(self) -> float | None:
        number, line = next(self._lines)
        value = self._known.get(line)
        if value is not None or not (text := line.strip()):
            return value
        value, what = _streamed(text, number, self._declared)
        if what != (self.what or what):
            fix = "A stream has one outcome: --metric NAME"
            raise InputError(f"line {number}", f"the {mean_of(what)}", f"the {mean_of(self.what)}, as before", fix)
        self.what = what
        if len(self._known) < KNOWN_LINES:
            self._known[line] = value
        return value


def mean_of(what: str) -> str:
    """What a mean is of, in words: the error rate, or the mean of a loss; empty where nothing came."""
    return what if what in ("", "error rate") else f"mean {what}"


KNOWN_LINES = 1000
"""Different lines of a stream that are remembered with what they mean."""


def _table(given: Any) -> files.Table:
    """What people have as columns, or as arrays under the names of `certify` (heldout_labels, ...)."""
    if isinstance(given, files.Table):
        return given
    if isinstance(given, (str, Path)):
        return files.read(given)
    if isinstance(given, Mapping):
        for name, value in given.items():
            frameworks.refuse_other_order(name, next(iter(given.values())), value)
        arrays = {key: frameworks.array_of(value, key) for key, value in given.items()}
        return files.Table("predictions", {}, arrays=arrays)
    given = given.collect() if hasattr(given, "collect") else given  # a lazy frame
    # a frame of pandas, polars, pyarrow, or a data set of Hugging Face
    if (hasattr(given, "columns") or hasattr(given, "column_names")) and hasattr(given, "__getitem__"):
        if any(name is not None for name in getattr(getattr(given, "index", None), "names", ())):
            given = given.reset_index(allow_duplicates=True)  # an index with a name is a column
        names = given.column_names if hasattr(given, "column_names") else list(given.columns)
        if len(set(map(str, names))) < len(names):
            raise InputError("columns", list(map(str, names)), "different names", "Rename one of those that are equal")
        return files.Table("data frame", {str(key): _column(given[key]) for key in names})
    if isinstance(given, tuple) and len(given) == 2:
        return files.Table("(y_true, y_pred)", _pair(*given))
    if isinstance(given, list) and given and all(isinstance(row, Mapping) for row in given):
        return files.of_objects(given, "rows")
    raise InputError(
        "predictions", type(given).__name__, "outcomes or predictions",
        "Pass a file name, a dict of arrays ({'correct': ...}), a data frame, (y_true, y_pred), a list of rows, or the "
        "output of Trainer.predict",
    )  # fmt: skip


def _pair(truth: Any, answers: Any) -> dict[str, Any]:
    """True labels and predictions; rows of a text pipeline count as their label, with the score as confidence."""
    frameworks.refuse_other_order("y_true, y_pred", truth, answers)
    columns: dict[str, Any] = {"label": _column(truth)}
    if isinstance(answers, (list, tuple)) and answers and all(isinstance(one, Mapping) for one in answers):
        if not all("label" in one for one in answers):
            raise InputError("y_pred", sorted(answers[0]), "predicted labels: rows with `label` (and `score`)")
        columns["prediction"] = [one["label"] for one in answers]
        if all("score" in one for one in answers):
            columns["confidence"] = [one["score"] for one in answers]
    else:
        columns["prediction"] = _column(answers)
    for key, cells in columns.items():
        shape = np.shape(cells)
        if len(shape) != 1 and not (len(shape) == 2 and shape[1] == 1):
            raise InputError(
                f"y_true, y_pred: {key}", f"shape {shape}", "one label per example",
                "Outputs have names: {'heldout_labels': y, 'heldout_probabilities': p}; several labels per example "
                "are certified one by one, or by a loss: {'heldout_losses': ...}",
            )  # fmt: skip
    return columns


def _column(value: Any) -> Any:
    found = frameworks.array_of(value)
    if isinstance(found, np.ndarray):
        if found.ndim == 2 and found.shape[1] == 1:
            found = found[:, 0]
        return found.tolist() if found.dtype.kind == "O" else found
    return value


def _of_table(table: files.Table, declared: Declaration) -> Sample:
    """The sample in a table, after all checks."""
    given = given_of(table, declared)
    rows = {name: rows_of(value) for name, value in given.arrays.items() if name != "classes"}
    n = _examples(rows, given)
    named = class_names(given.arrays, declared)
    coding = coding_of(rows, named, declared)
    scored = _scored("heldout", rows, coding, declared, given.outcomes)
    outcomes = given.outcomes
    if scored is not None:
        wrong = scored.wrong.astype(np.float64)
        outcomes = (Outcome(name="errors", losses=wrong, kind="rate", what="error rate"), *outcomes)
    probabilities = None if scored is None else scored.probability
    if probabilities is None and "heldout_label_probabilities" in rows:
        probabilities = scores.label_probabilities("heldout_label_probabilities", rows["heldout_label_probabilities"])
    units, looked, facts, not_checked = _units(rows, n, declared, outcomes)
    if given.candidate is not None and units.groups is None:
        said = f"whether rows of one {given.candidate} are independent: say --group {given.candidate} if they are not"
        not_checked.insert(0, said)
    facts |= {"coding": coding.said} if coding is not None else {}
    noted = () if scored is None or not scored.note else (scored.note,)
    if table.stopped:
        facts["stopped_early"] = table.stopped
    hashes = {name: _hash(name, value) for name, value in rows.items() if name in HASHED}
    hashes |= {one.name: data_hash(one.losses) for one in given.outcomes}
    parts = {name: value for name, value in rows.items() if name.startswith(KEPT)}
    if "classes" in given.arrays:
        parts["classes"] = rows_of(given.arrays["classes"])
    found = Sample(
        name=given.name,
        outcomes=outcomes,
        units=units,
        slices=_slices(rows, given),
        scores=_confidences(rows),
        probabilities=probabilities,
        classes=coding.classes if coding is not None else named if isinstance(named, int) else len(named or ()),
        coding=coding,
        parts=parts,
        prompts=given.prompts,
        items=given.items,
        declaration=declared,
        decisions=given.decisions,
        hashes=hashes,
        facts=facts,
        not_checked=tuple(not_checked),
        conditions=(*looked.conditions, *given.conditions),
        warnings=(*looked.warnings, *given.warnings, *noted),
    )
    _refuse_idle(found)
    return found if declared.judging is None else _by_humans(found, rows, declared.judging)


def _hash(name: str, value: Rows) -> str:
    """The hash of an array; of names as text, for a table writes numbers as text, too."""
    if name not in ("heldout_ids", "heldout_groups"):
        return hash_of_rows(value)
    return hashlib.sha256("\0".join(repeats.as_text(whole(value))).encode("utf-8", "backslashreplace")).hexdigest()


def _by_humans(sample: Sample, rows: Mapping[str, Rows], asked: Judging) -> Sample:
    """The rows with a human label as the sample; the judge's verdicts on the others in blocks, if the rule says so."""
    units = sample.units
    assert asked.expect is not None
    assert asked.correlation is not None
    if units.groups is not None:
        raise InputError("group", "rows that belong together", "independent rows", "A judge is paired with single rows")
    labelled, verdicts = (np.asarray(whole(rows[f"heldout_{name}"])) for name in ("labelled", "judge"))
    ids = units.ids
    parts = []
    for chosen in (labelled, ~labelled):
        if ids is None:
            refuse_sorted("human", sample.outcomes[0].losses[chosen])
            refuse_sorted("judge", verdicts[chosen])
        places = np.flatnonzero(chosen)
        parts.append(places if ids is None else places[hash_order([ids[place] for place in places])])
    mine, others = parts
    m, r = len(mine), len(others) // max(1, len(mine))
    if r < 1:
        raise InputError(
            "human", f"labels of {m:,} of {len(labelled):,} rows", "at least as many rows without a label as with one",
            f"With so many labels the judge adds little: take the labelled rows alone, --metric {asked.human}",
        )  # fmt: skip
    outcome = replace(sample.outcomes[0], losses=sample.outcomes[0].losses[mine])
    used = judge_helps(m, r, asked.expect, asked.correlation)
    said, why = f"used: each of {m:,} labels with {r:,} other items of its own", "as expected beforehand"
    hoped = f"an error rate of {asked.expect!r} and a correlation of {asked.correlation!r} were expected"
    if used:
        blocks = paired_blocks(outcome.losses, verdicts[mine], verdicts[others])
        outcome = replace(outcome, blocks=blocks, what="human-judged error rate")
    else:
        rare = m * asked.expect < LEAST_ERRORS
        why = "it is not expected to follow the humans"
        if rare:
            why = "for rare errors no judge improves this limit"
        elif asked.correlation**2 >= LEAST_VARIANCE:
            why = f"{len(others):,} rows without a label are too few for it to shorten the limit"
        floor = f", at least about 3/m = {3 / m:.2g} at 95 %" if rare else ""
        said = f"not used, humans alone: {why}{floor}"
    chance = f"the {m:,} rows with a human label were drawn at random, blind to the judge and to all else"
    here, everywhere = float(np.mean(verdicts[mine])), float(np.mean(verdicts))
    noted = sample.warnings if used else (f"the judge is {said}", *sample.warnings)
    # Hoeffding's bound holds for draws without replacement, too.
    if 2.0 * math.exp(-m * binary_kl(here, everywhere)) < 1e-4:
        unlike = f"the judge's mean verdict is {here:.3g} on the labelled rows and {everywhere:.3g} on all"
        noted = (f"{unlike}: of rows drawn at random less than once in 10,000 times", *noted)
    return replace(
        sample,
        outcomes=(outcome,),
        units=Units(m, None if ids is None else [ids[place] for place in mine]),
        decisions=(*sample.decisions, Decision("judge", said, f"{why}: {hoped}")),
        conditions=sample.conditions if used else (chance, *sample.conditions),
        warnings=noted,
    )


KEPT = (
    *("train_", "unlabelled_", "head_", "progressive_"),
    *("heldout_inputs", "heldout_labels", "heldout_logits", "heldout_predictions"),
)
"""Arrays that a sample hands on beside its outcomes."""
HASHED = (
    *("heldout_labels", "heldout_predictions", "heldout_logits", "heldout_probabilities", *OUTCOMES),
    *("heldout_judge", "heldout_labelled", "heldout_ids", "heldout_inputs", "heldout_groups"),
)
"""What the page identifies by hash: the data, and what the model said about them."""


def _refuse_idle(sample: Sample) -> None:
    """An option that would change nothing here was meant for something else."""
    declared, kinds = sample.declaration, {one.kind for one in sample.outcomes}
    if declared.outputs is not None and not {"heldout_logits", "heldout_probabilities"} & set(sample.hashes):
        fix = "These are predicted classes" if "heldout_predictions" in sample.hashes else "There are none"
        raise InputError("outputs", declared.outputs, "logits or probabilities", fix)
    if declared.outputs is not None and f"heldout_{declared.outputs}" not in set(sample.hashes) - {"heldout_labels"}:
        raise InputError("outputs", declared.outputs, "what the array is called", "It has its kind in its name")
    numbers = kinds - {"rate"}
    grouped = sample.units.groups is not None
    idle = {
        "clip": declared.clip is not None and not numbers,
        "range": declared.range is not None and kinds <= {"rate", "log"},
        "abstain": declared.abstain is not None
        and not {"heldout_predictions", "train_predictions"} & {*sample.hashes, *sample.parts},
        "classes": declared.classes is not None
        and kinds == {"number"}
        and sample.coding is None
        and sample.probabilities is None
        and "head_labels" not in sample.parts,
        "slices": declared.slices is not None and kinds == {"log"} and declared.clip is None,
        "estimand": declared.estimand == "rows" and not grouped and sample.weights is None,
        "better": declared.better is not None
        and declared.judging is None
        and not any(one.subject == "outcome" for one in sample.decisions),
        "unscored": declared.unscored != "refuse"
        and not any(one.subject == "rows without an outcome" for one in sample.decisions),
    }
    for name, is_idle in idle.items():
        if is_idle:
            raise InputError(
                name, getattr(declared, name), "something that it changes", f"{sample.name} has nothing of it"
            )


def class_names(arrays: Mapping[str, Any], declared: Declaration) -> int | list[str] | None:
    """The number of classes, or their names, as declared."""
    if declared.classes is not None:
        return declared.classes if isinstance(declared.classes, int) else list(declared.classes)
    if "classes" not in arrays:
        return None
    value = np.atleast_1d(whole(arrays["classes"]))
    if value.dtype.kind in "US":
        return [str(name) for name in value.tolist()]
    if value.size != 1 or value.dtype.kind not in "iuf" or int(value.item()) < 2:
        raise InputError("classes", value.tolist(), "a whole number of at least 2, or names")
    return int(value.item())


def _examples(rows: Mapping[str, Rows], given: Given) -> int:
    """The number of held-out examples, on which everything agrees."""
    told = [(name, rows[name].shape) for name in ("heldout_labels", *OUTCOMES) if name in rows]
    told += [(one.name, one.losses.shape) for one in given.outcomes]
    if not told:
        raise InputError(
            "arrays",
            sorted(rows),
            "heldout_labels and exactly one of heldout_logits, heldout_probabilities, heldout_predictions; or "
            "heldout_correct, heldout_losses, heldout_label_probabilities or heldout_log_losses",
        )
    for name, shape in told:
        if len(shape) != 1 or shape[0] == 0:
            raise InputError(name, f"shape {shape}", "one label, or number, per example, at least one")
    first, (n,) = told[0]
    told += [(name, value.shape) for name, value in rows.items() if name.startswith("heldout_")]
    for name, shape in told:
        if shape[0] != n and name.removeprefix("heldout_") not in FORMS:
            raise InputError(name, f"{shape[0]} rows", f"one for each of {n} examples in {first}")
    return int(n)


def coding_of(rows: Mapping[str, Rows], named: int | list[str] | None, declared: Declaration) -> Coding | None:
    """One coding for the labels of all parts and for all hard predictions."""
    labels = {name: rows[name] for name in ("heldout_labels", "train_labels") if name in rows}
    if "heldout_labels" not in labels:
        return None
    values = set().union(*(distinct(name, value) for name, value in labels.items()))
    given: set[int | str] | None = None
    columns: int | None = None
    for part in ("heldout", "train"):
        for form in ("logits", "probabilities"):
            if f"{part}_{form}" in rows and columns is None:
                shape = rows[f"{part}_{form}"].shape
                columns = shape[1] if len(shape) == 2 and shape[1] > 1 else 2
        if f"{part}_predictions" in rows:
            given = (given or set()) | distinct(f"{part}_predictions", rows[f"{part}_predictions"])
    if columns is not None and isinstance(named, int) and named != columns:
        raise InputError("classes", named, f"{columns}, for there are {columns} columns")
    return decide(values, given, columns=columns, classes=named, abstain=declared.abstain)


def _scored(
    part: str,
    rows: Mapping[str, Rows],
    coding: Coding | None,
    declared: Declaration,
    outcomes: Sequence[Outcome] = (),
) -> scores.Scored | None:
    """Right or wrong for every example of a part, and the probabilities of the labels where they are known."""
    given = [form for form in FORMS if f"{part}_{form}" in rows]
    correct, labelled = f"{part}_correct" in rows, f"{part}_labels" in rows
    told_otherwise = part == "heldout" and (bool(outcomes) or any(name in rows for name in OUTCOMES))
    if len(given) > 1 or (given and (correct or not labelled)) or (labelled and not given and not told_otherwise):
        raise InputError(
            f"{part} arrays",
            sorted(name for name in rows if name.startswith(part)),
            f"{part}_labels and exactly one of {', '.join(f'{part}_{form}' for form in FORMS)}",
            "Labels and predictions are two columns" if declared.label or declared.prediction else "",
        )
    if correct:
        return scores.of_correct(f"{part}_correct", rows[f"{part}_correct"])
    if not given or coding is None:
        return None
    form, labels = given[0], rows[f"{part}_labels"]
    name = f"{part}_{form}"
    if form == "predictions":
        found = scores.of_predictions(name, rows[name], f"{part}_labels", labels, coding)
    else:
        said = declared.outputs == "logits"
        found = scores.of_outputs(name, rows[name], f"{part}_labels", labels, coding, form=form, declared=said)
    extra = f"{part}_label_probabilities"
    return found if extra not in rows else replace(found, probability=scores.label_probabilities(extra, rows[extra]))


def training_errors(sample: Sample) -> tuple[int, int] | None:
    """Errors among the training examples, where labels and answers were handed over."""
    if "train_labels" not in sample.parts:
        return None
    train = _scored("train", sample.parts, sample.coding, sample.declaration)
    return None if train is None else (train.errors, sample.parts["train_labels"].shape[0])


def _units(
    rows: Mapping[str, Rows], n: int, declared: Declaration, outcomes: Sequence[Outcome]
) -> tuple[Units, repeats.Found, dict[str, Any], list[str]]:
    """What the rows are: ids, groups, repeats and overlap with training; what was not checked is said."""
    ids = whole(rows["heldout_ids"]) if "heldout_ids" in rows else None
    inputs = whole(rows["heldout_inputs"]) if "heldout_inputs" in rows else None
    given = np.asarray(whole(rows["heldout_groups"])) if "heldout_groups" in rows else None
    sizes = np.asarray(whole(rows["heldout_sizes"]), dtype=np.float64) if "heldout_sizes" in rows else None
    facts = _overlap(rows, declared.allow_twins)
    found = repeats.look(ids, inputs, given, declared.repeats)
    facts |= found.facts
    not_checked = []
    if any(one.what == answers.WRONG_TOKENS for one in outcomes):
        not_checked.append(
            "whether labels stand at the places of their answers: those of a causal language model stand one further on"
        )
    if "overlap_with_training" in facts:
        not_checked.append("whether a held-out example was seen in training: no training inputs or ids were given")
    if ids is None and inputs is None:
        not_checked.append("whether held-out examples repeat: neither inputs nor ids were given")
    elif inputs is None:
        not_checked.append("whether an example stands under two ids: only the ids were compared")
    if found.groups is None:
        not_checked.append("whether examples belong together (documents, writers, patients): no groups were given")
    losses = any(one.kind != "rate" for one in outcomes)
    if found.names is None and (losses or found.groups is not None):
        not_checked.append("the order of the rows: no ids were given, so it must have been made before scoring")
    pieces = [one.what.partition(" per ")[2] for one in outcomes if one.sizes is not None]
    return Units(n, found.names, found.groups, sizes, piece="".join(pieces[:1]) or "token"), found, facts, not_checked


def _overlap(rows: Mapping[str, Rows], allow_twins: bool) -> dict[str, Any]:
    """Compare held-out with training examples by inputs, ids or groups, where both are given."""
    facts: dict[str, Any] = {}
    for kind in ("inputs", "ids", "groups"):
        heldout, train = rows.get(f"heldout_{kind}"), rows.get(f"train_{kind}")
        if heldout is None or train is None:
            continue
        mine, seen = whole(heldout), whole(train)
        if kind != "inputs":
            mine, seen = (np.array(repeats.as_text(part)) for part in (mine, seen))
        what = "certified examples" if kind != "groups" else "rows of groups"
        twins = refuse_overlap(mine, seen, allow_twins=allow_twins and kind == "inputs", what=what)
        facts[f"heldout_{kind}_seen_in_training"] = twins
    if not facts:
        facts["overlap_with_training"] = "not checked: give heldout_inputs and train_inputs, or ids"
    return facts


def _slices(rows: Mapping[str, Rows], given: Given) -> tuple[str, npt.NDArray[Any]] | None:
    if "heldout_slices" not in rows:
        return None
    kind = given.slices if given.slices in ("label", "file") else "slice"
    return kind, np.array([visible(text) for text in repeats.as_text(whole(rows["heldout_slices"]))])


def _confidences(rows: Mapping[str, Rows]) -> Array | None:
    """The confidence that was given, or the largest probability."""
    if "heldout_confidences" in rows:
        found = np.asarray(whole(rows["heldout_confidences"]))
        try:
            return np.asarray(found, dtype=np.float64)
        except ValueError:
            cells = map(str, found.ravel().tolist())
            odd = next((cell for cell in cells if "," in cell or "%" in cell), f"type {found.dtype}")
            fix = "Write the number alone, with a point for decimals"
            raise InputError("confidence", odd, "a number for every row", fix) from None
    for form in ("logits", "probabilities"):
        if f"heldout_{form}" in rows:
            return scores.largest_probability(rows[f"heldout_{form}"], form)
    return None


# --- streams ----------------------------------------------------------------------------------------------------------


def _streamed(text: str, number: int, declared: Declaration) -> tuple[float, str]:
    """The loss in a line, and what it is; a score counts from the other end of the range."""
    low, high = declared.range or (0.0, 1.0)
    place, word = f"line {number}", text.lower()
    what = "error rate" if declared.range is None else "loss"
    if word in ("right", "wrong"):
        value, better, what = float(word == "wrong"), "lower", "error rate"
    elif text.startswith("{"):
        (value, what), better = _of_line(files.parsed(text, place), place, declared), "lower"
    elif word in ("true", "false"):
        if declared.better is None:
            fix = "If true means right, say --higher-is-better; if it means wrong, --lower-is-better"
            raise InputError(place, text, "right or wrong, or 0 or 1", fix)
        value, better = float(word == "true"), declared.better
    else:
        try:
            value, better = float(text) if "_" not in text else float("nan"), declared.better or "lower"
        except ValueError:
            value, better = float("nan"), "lower"
    if not np.isfinite(value):
        fix = "Of a table, give the column alone, without its name; or rows of JSON, one in a line"
        raise InputError(place, visible(text[:40]), "a number, or a JSON object with loss or correct", fix)
    if declared.range is None and value not in (0.0, 1.0):
        raise InputError(place, value, "0 or 1", "For losses declare their range: --range 0 1")
    if not low <= value <= high:
        raise InputError(place, value, f"a number in [{low:g}, {high:g}]")
    if better == "higher" and declared.range is not None:
        what = f"of {low + high:g} - the score"
    return (low + high - value if better == "higher" else value), what


def _of_line(entry: Mapping[str, Any], place: str, declared: Declaration) -> tuple[float, str]:
    """The loss of an object as a table of one row has it, counted from the lower end of the stream's range."""
    found = given_of(files.of_objects([entry], place), declared).outcomes
    if len(found) != 1:
        fix = "A stream has one outcome: --metric NAME"
        if not found:
            fix = "Labels and predictions are compared before: write correct, true or false"
        raise InputError(place, sorted(map(str, entry)), "an object with one outcome", fix)
    (one,), (low, high) = found, declared.range or (0.0, 1.0)
    if one.high is None or one.high - one.low != high - low:
        raise InputError(place, one.name, "a metric in [0, 1], or a range", "Declare it: --range LOW HIGH")
    what = f"of {low + high:g} - {one.name}" if one.what.startswith("of ") else one.what
    return low + float(one.losses[0]) - one.low, what


# --- labels and answers apart: what a ledger keeps and is asked -------------------------------------------------------


def labels_of(
    path: str | Path, declaration: Declared = None
) -> tuple[npt.NDArray[Any], npt.NDArray[Any] | None, tuple[str, ...]]:
    """The labels in a file, after the checks for repeats, their ids if it has some, and what was not checked."""
    declared = Declaration.of(declaration)
    rows = _apart(path, declared, "label", "heldout_labels")
    _, found, _, not_checked = _units(rows, rows["heldout_labels"].shape[0], declared, ())
    if found.groups is not None:
        raise InputError("groups", "labels of grouped rows", "independent examples", "A ledger counts errors of rows")
    if "heldout_ids" not in rows:
        not_checked.append("whether predictions stand in the order of these labels: they are matched by their place")
    return whole(rows["heldout_labels"]), _ids(rows), tuple(not_checked)


def answers_of(path: str | Path, declaration: Declared = None) -> tuple[npt.NDArray[Any], npt.NDArray[Any] | None]:
    """The predictions, or logits, in a file, and their ids if it has some."""
    rows = _apart(path, Declaration.of(declaration), "prediction", "heldout_predictions", "heldout_logits")
    given = [name for name in ("heldout_predictions", "heldout_logits") if name in rows]
    if len(given) != 1:
        raise InputError("predictions", sorted(rows), "one of heldout_predictions and heldout_logits")
    return whole(rows[given[0]]), _ids(rows)


def _ids(rows: Mapping[str, Rows]) -> npt.NDArray[Any] | None:
    return whole(rows["heldout_ids"]) if "heldout_ids" in rows else None


def _apart(path: str | Path, declared: Declaration, kind: str, *arrays: str) -> dict[str, Rows]:
    """Arrays by name from a file that holds labels, or answers, alone."""
    table = files.read(path)
    if table.arrays is not None:
        known = (*arrays, "heldout_inputs", "heldout_ids", "heldout_groups")
        found = {name: rows_of(value) for name, value in table.arrays.items() if name in known}
        if not any(name in found for name in arrays) or len(found) < len(table.arrays):
            other = sorted(name for name in table.arrays if name not in known)
            fix = f"Take {', '.join(other)} out of {table.name}" if other else f"In {table.name}"
            raise InputError("file", sorted(table.arrays), f"{' or '.join(arrays)} alone, beside ids or groups", fix)
        return found
    # The column stands for both, and is read once: nothing is counted here.
    name = getattr(declared, kind) or usual_name(kind, table.columns)
    if name is None:
        raise InputError("columns", list(table.columns), f"a {kind}", f"Name it: --{kind} COLUMN")
    given = given_of(table, replace(declared, label=name, prediction=name))
    return {arrays[0] if key == "heldout_labels" else key: rows_of(value) for key, value in given.arrays.items()}
