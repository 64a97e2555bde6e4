"""`Sample`: what was observed, on which units, decided how. The one way in for every verb that reads outcomes.

Files, arrays, frames, pairs and rows become one value, after the same checks: repeats by id and by input, overlap with
training, one coding of labels and predictions, missing outcomes, columns that look like groups. What is ambiguous is
refused with the options that settle it; every decision is written down (docs/sample.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.certification import answers, frameworks
from certiformer.certification.declaration import Declaration, Judging
from certiformer.certification.losses import Units
from certiformer.certification.sources import files, metrics, repeats, scores
from certiformer.certification.sources.coding import Coding, decide, distinct
from certiformer.certification.sources.rows import Rows, hash_of_rows, rows_of, whole
from certiformer.certification.sources.table import FORMS, NAMES, Given, Outcome, given_of
from certiformer.certification.split import data_hash, refuse_overlap
from certiformer.evaluation.judge import LEAST_ERRORS, judge_helps, paired_blocks
from certiformer.evaluation.order import hash_order, refuse_sorted
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
        if isinstance(given, (str, Path)):
            return cls.read(given, declared, stopped=stopped)
        if frameworks.is_trainer_output(given):
            arrays = answers.trainer_output(given, declared)
            return cls.of_arrays(arrays, answers.spent(declared, arrays))
        if isinstance(given, Mapping):
            return cls.of_arrays(given, declared)
        if hasattr(given, "columns") and hasattr(given, "__getitem__"):
            return cls.of_frame(given, declared)
        if isinstance(given, tuple) and len(given) == 2:
            return cls.of_pairs(*given, declared)
        if isinstance(given, list) and given and all(isinstance(row, Mapping) for row in given):
            return cls.of_rows(given, declared)
        raise InputError(
            "predictions", type(given).__name__, "outcomes or predictions",
            "Pass a file name, a dict of arrays, a data frame, (y_true, y_pred), a list of rows, or the output of "
            "Trainer.predict",
        )  # fmt: skip

    @classmethod
    def read(cls, path: str | Path, declaration: Declared = None, *, stopped: bool = False) -> Sample:
        """The sample in a file (npz, npy, CSV, JSONL, Parquet, a log), or in a folder of logs."""
        table = files.read(path)
        if table.stopped and not stopped:
            raise InputError(
                "samples", f"{table.name}, stopped early by its outcomes ({table.stopped})",
                "a number of samples that was fixed beforehand",
                "Only a gate that may stop at any time can read it: certiformer gate LOG --error X --anytime STATE",
            )  # fmt: skip
        found = _of_table(table, declaration)
        return replace(found, facts={**found.facts, "stopped_early": table.stopped}) if table.stopped else found

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, Any], declaration: Declared = None, *, name: str = "predictions") -> Sample:
        """Arrays under the names of `certify` (heldout_labels, ...), or columns under the names people give them."""
        table = files.Table(name, {}, arrays={key: frameworks.array_of(value, key) for key, value in arrays.items()})
        return _of_table(table, declaration)

    @classmethod
    def of_frame(cls, frame: Any, declaration: Declared = None, *, name: str = "data frame") -> Sample:
        """The columns of a data frame (pandas, polars, pyarrow)."""
        names = frame.column_names if hasattr(frame, "column_names") else list(frame.columns)
        if len(set(map(str, names))) < len(names):
            raise InputError("columns", list(map(str, names)), "different names", "Rename one of those that are equal")
        return _of_table(files.Table(name, {str(key): _column(frame[key]) for key in names}), declaration)

    @classmethod
    def of_pairs(cls, truth: Any, answers: Any, declaration: Declared = None) -> Sample:
        """True labels and predictions; rows of a text pipeline count as their label, with the score as confidence."""
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
        return _of_table(files.Table("(y_true, y_pred)", columns), declaration)

    @classmethod
    def of_rows(cls, rows: Sequence[Mapping[str, Any]], declaration: Declared = None, *, name: str = "rows") -> Sample:
        """A list of rows, such as the lines of a log."""
        return _of_table(files.of_objects(rows, name), declaration)

    @staticmethod
    def stream(lines: Iterable[str], declaration: Declared = None, *, skip: int = 0) -> Iterator[float | None]:
        """Losses line by line, in the words of the same table of metrics; None stands for a blank line.

        A line is a number (a loss, or 1 for an error), right or wrong, or a JSON object with one outcome. The first
        `skip` outcomes are passed over: they were seen before. Equal lines are read once.
        """
        declared = Declaration.of(declaration)
        known: dict[str, float] = {}
        seen = 0
        for number, line in enumerate(lines, 1):
            value = known.get(line)
            if value is None:
                text = line.strip()
                if text and seen < skip:
                    seen += 1
                    continue
                if text:
                    value = _streamed(text, number, declared)
                    if len(known) < KNOWN_LINES:
                        known[line] = value
            yield value


KNOWN_LINES = 1000
"""Different lines of a stream that are remembered with what they mean."""


def _column(value: Any) -> Any:
    found = frameworks.array_of(value)
    if isinstance(found, np.ndarray):
        if found.ndim == 2 and found.shape[1] == 1:
            found = found[:, 0]
        return found.tolist() if found.dtype.kind == "O" else found
    return value


def _of_table(table: files.Table, declaration: Declared) -> Sample:
    """The sample in a table, after all checks."""
    declared = Declaration.of(declaration)
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
    units, looked, facts, not_checked = _units(rows, n, declared, any(one.kind != "rate" for one in outcomes))
    if given.candidate is not None and units.groups is None:
        said = f"whether rows of one {given.candidate} are independent: say --group {given.candidate} if they are not"
        not_checked.append(said)
    facts |= {"coding": coding.said} if coding is not None else {}
    if scored is not None and scored.note:
        facts["note"] = scored.note
    hashes = {name: hash_of_rows(value) for name, value in rows.items() if name in HASHED}
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
        warnings=(*looked.warnings, *given.warnings),
    )
    _refuse_idle(found)
    return found if declared.judging is None else _by_humans(found, rows, declared.judging)


def _by_humans(sample: Sample, rows: Mapping[str, Rows], asked: Judging) -> Sample:
    """The rows with a human label as the sample; the judge's verdicts on the others in blocks, if the rule says so."""
    units = sample.units
    assert asked.expect is not None
    assert asked.correlation is not None
    if units.groups is not None:
        raise InputError("group", "rows that belong together", "independent rows", "A judge is paired with single rows")
    labelled, verdicts = (np.asarray(whole(rows[f"heldout_{name}"])) for name in ("labelled", "judge"))
    ids = units.ids
    if ids is None:
        refuse_sorted("judge", verdicts)
    parts = []
    for chosen in (labelled, ~labelled):
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
        why = "for rare errors no judge improves this limit" if rare else "it is not expected to follow the humans"
        said = f"not used, humans alone: {why}; a limit from {m:,} labels is at least about {3 / m:.2g}"
    chance = f"the {m:,} rows with a human label were drawn at random, blind to the judge and to all else"
    return replace(
        sample,
        outcomes=(outcome,),
        units=Units(m, None if ids is None else [ids[place] for place in mine]),
        decisions=(*sample.decisions, Decision("judge", said, f"{why}: {hoped}")),
        conditions=sample.conditions if used else (chance, *sample.conditions),
        warnings=sample.warnings if used else (f"the judge is {said}", *sample.warnings),
    )


KEPT = (
    *("train_", "unlabelled_", "head_", "progressive_"),
    *("heldout_inputs", "heldout_labels", "heldout_logits", "heldout_predictions"),
)
"""Arrays that a sample hands on beside its outcomes."""
HASHED = (
    *("heldout_labels", "heldout_predictions", "heldout_logits", "heldout_probabilities", *OUTCOMES),
    *("heldout_judge", "heldout_labelled"),
)
"""What the page identifies by hash: the data, and what the model said about them."""


def _refuse_idle(sample: Sample) -> None:
    """An option that would change nothing here was meant for something else."""
    declared, kinds = sample.declaration, {one.kind for one in sample.outcomes}
    if declared.outputs is not None and not {"heldout_logits", "heldout_probabilities"} & set(sample.hashes):
        fix = "These are predicted classes" if "heldout_predictions" in sample.hashes else "There are none"
        raise InputError("outputs", declared.outputs, "logits or probabilities", fix)
    numbers = kinds - {"rate"}
    grouped = sample.units.groups is not None
    idle = {
        "clip": declared.clip is not None and not numbers,
        "range": declared.range is not None and kinds <= {"rate", "log"},
        "abstain": declared.abstain is not None and sample.coding is None,
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
    rows: Mapping[str, Rows], n: int, declared: Declaration, losses: bool
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
    if "overlap_with_training" in facts:
        not_checked.append("whether a held-out example was seen in training: no training inputs or ids were given")
    if ids is None and inputs is None:
        not_checked.append("whether held-out examples repeat: neither inputs nor ids were given")
    if found.groups is None:
        not_checked.append("whether examples belong together (documents, writers, patients): no groups were given")
    if found.names is None and (losses or found.groups is not None):
        not_checked.append("the order of the rows: no ids were given, so it must have been made before scoring")
    return Units(n, found.names, found.groups, sizes), found, facts, not_checked


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
            raise InputError("confidence", f"type {found.dtype}", "a number for every row") from None
    for form in ("logits", "probabilities"):
        if f"heldout_{form}" in rows:
            return scores.largest_probability(rows[f"heldout_{form}"], form)
    return None


# --- streams ----------------------------------------------------------------------------------------------------------


def _streamed(text: str, number: int, declared: Declaration) -> float:
    """The loss in a line; a score counts from the other end of the range."""
    low, high = declared.range or (0.0, 1.0)
    place, word = f"line {number}", text.lower()
    if word in ("right", "wrong"):
        value, better = float(word == "wrong"), "lower"
    elif text.startswith("{"):
        value, better = _from_object(files.parsed(text, place), place, declared)
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
        raise InputError(place, visible(text[:40]), "a number, or a JSON object with loss or correct")
    if declared.range is None and value not in (0.0, 1.0):
        raise InputError(place, value, "0 or 1", "For losses declare their range: --range 0 1")
    if not low <= value <= high:
        raise InputError(place, value, f"a number in [{low:g}, {high:g}]")
    return low + high - value if better == "higher" else value


def _from_object(entry: Any, place: str, declared: Declaration) -> tuple[float, str]:
    names = declared.metric or tuple(name for name in entry if str(name).lower() in metrics.COLUMNS)
    if len(names) != 1 or names[0] not in entry:
        raise InputError(place, sorted(map(str, entry)), f"one of {', '.join(names or metrics.COLUMNS)}")
    (name,) = names
    metric = metrics.known(name)
    better = declared.better or (None if metric is None else metric.better)
    if better is None:
        raise InputError(
            "--metric", name, "a metric whose direction is known", "Say --higher-is-better or --lower-is-better"
        )
    value = entry[name]
    if not isinstance(value, (bool, int, float)):
        raise InputError(place, f"{name}: {value!r}"[:60], "a number, true or false")
    return float(value), better


# --- labels and answers apart: what a ledger keeps and is asked -------------------------------------------------------


def labels_of(path: str | Path, declaration: Declared = None) -> tuple[npt.NDArray[Any], tuple[str, ...]]:
    """The labels in a file, after the checks for repeats, and what was not checked."""
    declared = Declaration.of(declaration)
    rows = _apart(path, declared, "label", "heldout_labels")
    _, found, _, not_checked = _units(rows, rows["heldout_labels"].shape[0], declared, False)
    if found.groups is not None:
        raise InputError("groups", "labels of grouped rows", "independent examples", "A ledger counts errors of rows")
    not_checked.append("whether predictions stand in the order of these labels: they are matched by their place")
    return whole(rows["heldout_labels"]), tuple(not_checked)


def answers_of(path: str | Path, declaration: Declared = None) -> npt.NDArray[Any]:
    """The predictions, or logits, in a file."""
    rows = _apart(path, Declaration.of(declaration), "prediction", "heldout_predictions", "heldout_logits")
    given = [name for name in ("heldout_predictions", "heldout_logits") if name in rows]
    if len(given) != 1:
        raise InputError("predictions", sorted(rows), "one of heldout_predictions and heldout_logits")
    return whole(rows[given[0]])


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
    name = getattr(declared, kind) or next((n for n in table.columns if n.lower() in NAMES[kind]), None)
    if name is None:
        raise InputError("columns", list(table.columns), f"a {kind}", f"Name it: --{kind} COLUMN")
    given = given_of(table, replace(declared, label=name, prediction=name))
    return {arrays[0] if key == "heldout_labels" else key: rows_of(value) for key, value in given.arrays.items()}
