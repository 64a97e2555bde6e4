"""One reading for all formats: from columns to outcomes, ids, groups and slices. What is ambiguous is asked.

Every refusal names the options that settle it, ready to paste. What was decided is written down.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from certiformer.certification.declaration import Declaration, Judging
from certiformer.certification.sources import metrics
from certiformer.certification.sources.arrow_files import Coded, cells_of
from certiformer.certification.sources.files import Column, Table, filtered
from certiformer.certification.sources.rows import rows_of, whole
from certiformer.certification.split import whole_numbers
from certiformer.evaluation.judge import Blocks
from certiformer.theory.core.errors import InputError, UnknownNameError
from certiformer.theory.core.report import RATES, Decision

Array = npt.NDArray[np.float64]

NAMES: Mapping[str, tuple[str, ...]] = {
    "label": (
        "label", "labels", "y_true", "target", "gold", "reference", "truth", "ground_truth", "true_label", "actual"
    ),
    "prediction": (
        "prediction", "predictions", "pred", "y_pred", "predicted", "output", "model_output", "predicted_label", "y_hat"
    ),
    "id": ("id", "example_id", "sample_id", "doc_id", "idx", "question_id"),
    "group": ("group", "group_id", "cluster", "document", "doc", "writer", "patient", "subject", "template"),
    "confidence": ("confidence", "prob", "max_prob"),
    "input": ("input", "text", "question", "prompt", "instruction", "sentence", "review", "query"),
    "weight": ("weight", "weights", "sample_weight", "sampling_weight"),
}  # fmt: skip
"""What a column is by default, whatever its case, with blanks or hyphens for underscores."""
WORDS = dict.fromkeys(("true", "yes", "t", "y", *"✓✔✅☑"), 1.0)
WORDS |= dict.fromkeys(("false", "no", "f", "n", *"✗✘❌☒"), 0.0)
JUDGED = dict.fromkeys(("right", "correct", "pass", "passed"), 1.0)
JUDGED |= dict.fromkeys(("wrong", "incorrect", "fail", "failed"), 0.0)

FORMS = ("logits", "probabilities", "predictions")
SEVERAL = "heldout_losses_"
ARRAYS = (
    *(f"{part}_{form}" for part in ("heldout", "train") for form in (*FORMS, "labels", "inputs", "ids", "groups")),
    "heldout_correct",
    "heldout_losses",
    "heldout_label_probabilities",
    "heldout_log_losses",
    "heldout_sizes",
    "heldout_slices",
    "heldout_confidences",
    "progressive_losses",
    "progressive_bytes",
    "progressive_cut",
    "progressive_skip",
    "unlabelled_predictions",
    "unlabelled_final_predictions",
    "unlabelled_inputs",
    "head_features",
    "head_labels",
    "classes",
)
"""The names of arrays; heldout_losses_NAME is a metric of this name."""

_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.0*)?")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcome:
    """One number for each row, of which less is better.

    `kind`: a rate (0 right, 1 wrong, by construction), a number in [low, high], or a log-loss. `what` it is the mean
    of, in words: "error rate", "wer", "of 1 - f1". `label` names it among several. `sizes`: how many words each has.
    `blocks`: the losses are human labels, and a judge's verdicts on these and other items are used beside them.
    `asks`: the mean in words, where it is a probability of its own.
    """

    name: str
    losses: Array
    kind: metrics.Kind
    what: str
    low: float = 0.0
    high: float | None = 1.0
    label: str = ""
    sizes: Array | None = None
    blocks: Blocks | None = None
    asks: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class Given:
    """What a file or an object holds: arrays by name, and outcomes that were told without labels and predictions."""

    name: str
    arrays: Mapping[str, Any]
    outcomes: tuple[Outcome, ...] = ()
    prompts: npt.NDArray[Any] | None = None
    items: npt.NDArray[Any] | None = None
    slices: str | None = None
    """What the slices are called: label, file, or their column."""
    candidate: str | None = None
    """A column that may name groups."""
    decisions: tuple[Decision, ...] = ()
    warnings: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()


def given_of(table: Table, declared: Declaration) -> Given:
    """What the table says, as declared."""
    if table.arrays is not None:
        arrays = dict(table.arrays)
        if any(name in ARRAYS or name.startswith(("heldout_", "train_", "head_", "unlabelled_")) for name in arrays):
            return _named_arrays(arrays, table, declared)
        columns = {name: whole(value) for name, value in arrays.items()}
        single = next((name for name, value in columns.items() if np.ndim(value) == 0), None)
        if single is not None:
            fix = "A figure of the whole set is no evidence: give an outcome of every example"
            raise InputError(single, columns[single], "a value for each example", fix)
        table = Table(table.name, columns, decisions=table.decisions)
    table = filtered(table, declared.filter)
    sizes = {len(column) for column in table.columns.values()}
    if not sizes or sizes == {0}:
        raise InputError("file", table.name, "a table with at least one row")
    if len(sizes) > 1:
        raise InputError("columns", {name: len(c) for name, c in table.columns.items()}, "columns of equal length")
    return _Reading(table, declared).given()


def _named_arrays(arrays: dict[str, Any], table: Table, declared: Declaration) -> Given:
    """Arrays under the names of `certify`: what they are is in their names."""
    for name in arrays:
        if name not in ARRAYS and not (name.startswith(SEVERAL) and len(name) > len(SEVERAL)):
            raise UnknownNameError("array", name, ARRAYS, place=f" in {table.name} (known: {', '.join(ARRAYS)})")
    for option in ("label", "prediction", "id", "group", "confidence_column", "filter", "better", "judging"):
        if getattr(declared, option) is not None:
            raise InputError(
                option, getattr(declared, option), "a table or a log",
                f"The arrays of {table.name} have fixed names: heldout_labels, heldout_ids, heldout_groups, ...",
            )  # fmt: skip
    chosen = [f"{SEVERAL}{name}" for name in declared.metric]
    several = chosen or [name for name in arrays if name.startswith(SEVERAL)]
    outcomes = []
    for name in several:
        if name not in arrays:
            if not any(other.startswith(SEVERAL) for other in arrays):
                fix = f"A metric of arrays is called {name}; one of a table is its column"
                raise InputError("metric", name.removeprefix(SEVERAL), f"losses of {table.name} by name", fix)
            known = [other.removeprefix(SEVERAL) for other in arrays if other.startswith(SEVERAL)]
            raise UnknownNameError("metric", name.removeprefix(SEVERAL), known, place=f" in {table.name}")
        own = name.removeprefix(SEVERAL)
        metric = metrics.known(own)
        if metric is not None and metric.better == "higher":
            raise InputError(
                name, f"a loss called {own}, of which more is better", "a loss, of which less is better",
                f"If it is 1 - {own}, call it {SEVERAL}one_minus_{own}; a table takes {own} as it is: --metric {own}",
            )  # fmt: skip
        if metric is not None and metric.high is None and declared.range is None and declared.clip is None:
            expected = f"the range that {own} cannot leave, or where to cut it off"
            raise InputError("range", None, expected, "For example range=(0, 2) (--range 0 2), or clip=2 (--clip 2)")
        outcomes.append(_of_array(name, arrays[name], own, own, declared))
    kept = {name: value for name, value in arrays.items() if not name.startswith(SEVERAL)}
    if "heldout_losses" in kept:
        outcomes.insert(0, _of_array("heldout_losses", kept.pop("heldout_losses"), "loss", "", declared))
    if "heldout_log_losses" in kept:
        values = _checked_numbers("heldout_log_losses", kept.pop("heldout_log_losses"))
        sizes = np.asarray(whole(kept["heldout_sizes"]), np.float64) if "heldout_sizes" in kept else None
        outcomes.append(
            Outcome(name="heldout_log_losses", losses=values, kind="log", what="log-loss", high=None, sizes=sizes)
        )
    slices = "slice" if "heldout_slices" in kept else None
    if declared.slices is not None:
        if declared.slices == "label" and "heldout_labels" in kept:
            kept["heldout_slices"], slices = whole(kept["heldout_labels"]), "label"
        elif declared.slices == "group":
            raise _sliced_by_group("group")
        elif not (declared.slices == "slice" and slices):
            raise InputError(
                "slices", declared.slices, "label, beside heldout_labels; or an array heldout_slices",
                "There are no labels for slices" if declared.slices == "label" else "It has a name for every row",
            )  # fmt: skip
    return Given(
        name=table.name, arrays=kept, outcomes=tuple(outcomes), slices=slices, decisions=table.decisions,
        warnings=table.warnings, conditions=table.conditions,
    )  # fmt: skip


def _sliced_by_group(name: str) -> InputError:
    return InputError(
        "slices", name, "slices that hold several groups",
        "A group is a single draw: nothing follows about one of them. If the groups are fixed by design, and the rows "
        "inside are independent, they are slices: heldout_slices (--slice COLUMN), without groups",
    )  # fmt: skip


def _of_array(name: str, rows: Any, what: str, label: str, declared: Declaration) -> Outcome:
    low, high = declared.range or (0.0, 1.0)
    values = _checked_numbers(name, rows)
    return Outcome(name=name, losses=values, kind="number", what=_in_words(what), low=low, high=high, label=label)


def _in_words(name: str) -> str:
    """What a loss is called; a name that would be taken for words of ours is called a column."""
    return f"column {name}" if name in RATES or name.startswith(("of ", "clipped ", "smoothed")) else name


def _checked_numbers(name: str, rows: Any) -> Array:
    values = whole(rows_of(rows))
    if values.dtype.kind not in "fiub" or values.ndim != 1:
        raise InputError(name, f"type {values.dtype}, shape {values.shape}", "one number per example, at least one")
    if not np.all(np.isfinite(values)):
        raise InputError(name, f"nan or infinity at example {int(np.flatnonzero(~np.isfinite(values))[0])}", "numbers")
    return values.astype(np.float64)


def usual_name(kind: str, columns: Iterable[str]) -> str | None:
    """The first column with a usual name of its kind; two that may be labels, or answers, are asked about."""
    known = list(columns)
    found = [name for usual in NAMES[kind] for name in known if metrics.spelled(name) == usual]
    if len(found) > 1 and kind in ("label", "prediction"):
        fix = f"Choose with {' or '.join(f'--{kind} {quote(name)}' for name in found)}"
        if kind == "label" and usual_name("prediction", known) is None:
            fix += f"; if one is the prediction, say both, as --label {quote(found[-1])} --prediction {quote(found[0])}"
        raise InputError("columns", found, f"one {kind}", fix)
    return found[0] if found else None


def _fields(name: str, cell: Mapping[str, Any]) -> str:
    """What to say of a cell that holds fields: their paths."""
    return f"{name} holds fields: say {' or '.join(quote(f'{name}.{key}') for key in cell)}"


class _Reading:
    """The one reading of a table: roles, outcomes, decisions."""

    def __init__(self, table: Table, declared: Declaration) -> None:
        self.table, self.declared, self.where = table, declared, table.name
        self.columns = table.columns
        self.decisions: list[Decision] = list(table.decisions)
        self.warnings: list[str] = list(table.warnings)

    def given(self) -> Given:
        declared, arrays = self.declared, dict[str, Any]()
        self._refuse_totals()
        confidence = self._role("confidence", declared.confidence_column)
        if confidence is not None and declared.confidence_column is None:
            cells = self._different(confidence)
            gaps = any(map(is_missing, cells))
            if gaps or any(isinstance(cell, str) and not _NUMBER.fullmatch(cell.strip()) for cell in cells):
                odd = "empty cells" if gaps else "cells that are no numbers"
                self.warnings.append(f"the column {confidence} has {odd}, and is not used")
                confidence = None
        roles = {"ids": self._role("id", declared.id), "inputs": self._input(), "confidences": confidence}
        arrays |= {
            f"heldout_{role}": self._filled(name, nested=role == "inputs")
            for role, name in roles.items()
            if name is not None
        }
        group, candidate = declared.group, None
        if group is not None:
            self._decide("unit", f"groups by {group}", "declared")
        elif self.table.groups is not None:
            group = self.table.groups[0]
            self._decide("unit", f"groups by {group}", self.table.groups[1])
        else:
            candidate = self._role("group", None, quiet=True) or self._repeated_id(roles["ids"])
        if group is not None:
            arrays["heldout_groups"] = self._filled(group)
        slices = declared.slices or self.table.roles.get("slice")
        if slices == "label" and "label" not in self.columns:
            slices = self._role("label", declared.label) or slices
        if slices is not None and slices == group:
            raise _sliced_by_group(slices)
        if slices is not None:
            arrays["heldout_slices"] = self._filled(slices)
        weight = self._role("weight", None, quiet=True)
        if weight is not None and weight not in (group, slices, *declared.metric):
            self.warnings.append(f"the column {weight} is not used: every row counts once")
        self._warn_of_parts((group, slices))
        prompts, items = (
            None if name is None else np.array([str(cell) for cell in self.columns[name]])
            for name in map(self.table.roles.get, ("prompt", "input"))
        )
        if items is None and (said := roles["inputs"]) is not None:  # how a model is asked may differ, what about not
            given = arrays["heldout_inputs"]
            prompts, items = (given, None) if said.lower() == "prompt" else (None, given)
        told, outcomes = self._outcomes(confidence)
        if outcomes and outcomes[0].sizes is not None:
            arrays["heldout_sizes"] = outcomes[0].sizes
            if declared.estimand != "rows":
                self.warnings.append("the log's own figure weighs documents by their length: so does --estimand rows")
        return Given(
            name=self.where,
            arrays={**arrays, **told},
            outcomes=outcomes,
            prompts=prompts,
            items=items,
            slices=slices,
            candidate=candidate,
            decisions=tuple(self.decisions),
            warnings=tuple(self.warnings),
            conditions=self.table.conditions,
        )

    def _warn_of_parts(self, said: tuple[str | None, str | None]) -> None:
        """Rows that a plain table itself says are of the training set, or of several models."""
        for name in () if self.table.metrics else self.columns:
            if metrics.spelled(name) in ("model", "model_name", "model_id") and name not in said:
                kinds = len({str(cell) for cell in self._different(name)})
                if kinds > 1:
                    self.warnings.append(
                        f"the column {name} has {kinds:,} values: if these are the models that answered, every limit "
                        "is about their mixture, and each needs a file of its own"
                    )
            if metrics.spelled(name) in ("split", "partition", "subset"):
                rows = sum(str(cell).strip().lower() in ("train", "training") for cell in self.columns[name])
                if rows:
                    self.warnings.append(
                        f"the column {name} says that {rows:,} rows are for training, and they count: keep the others "
                        "if the model was trained on these"
                    )

    def _refuse_totals(self) -> None:
        """A first or last row that sums up the others, as spreadsheets have it, is no example."""
        classes = self.declared.classes
        for name, cells in () if self.table.metrics else self.columns.items():
            for row in (len(cells) - 1, 0):
                cell = cells[row]
                word = cell.strip().rstrip(":").lower() if isinstance(cell, str) else ""
                meant = isinstance(classes, tuple) and str(cell).strip() in classes
                if word in TOTALS and not meant and sum(other == cell for other in cells) == 1:
                    raise InputError(
                        f"column {name}", cell, "an example in every row",
                        f"{self._place(row)} seems to sum up the others: delete it. If it is an example, call it "
                        "something else; if a class is called so, name all of them: --classes A,B,...",
                    )  # fmt: skip

    def _decide(self, subject: str, choice: str, why: str) -> None:
        self.decisions.append(Decision(subject, choice, why))

    # --- columns ------------------------------------------------------------------------------------------------------

    def _role(self, kind: str, chosen: str | None, *, quiet: bool = False) -> str | None:
        """The column of one kind: the declared one, what the format says, or the only one with a usual name."""
        if chosen is not None:
            self._column(chosen)
            self._decide(kind, f"column {chosen}", "declared")
            return chosen
        if kind in self.table.roles:
            return self.table.roles[kind]
        if self.table.metrics and kind in ("label", "prediction", "confidence", "group"):
            return None  # a log says itself what is what
        found = usual_name(kind, self.columns)
        if found is not None and not quiet:
            self._decide(kind, f"column {found}", "by its name")
        return found

    def _input(self) -> str | None:
        """The column of inputs: of several with usual names the first without an empty cell."""
        if "input" in self.table.roles:
            return self.table.roles["input"]
        found = [name for usual in NAMES["input"] for name in self.columns if metrics.spelled(name) == usual]
        whole = [name for name in found if not self._gaps(name)]
        for name in (whole or found)[:1]:
            self._decide("input", f"column {name}", "by its name")
            return name
        return None

    def _gaps(self, name: str) -> bool:
        return any(map(is_missing, self._different(name)))

    def _different(self, name: str) -> Sequence[Any]:
        """The different cells of a column, where that is known at once, or all of them."""
        column = self.columns[name]
        cells = list(column) if isinstance(column, np.ndarray) else cells_of(column)
        return cells if isinstance(cells, (list, tuple)) else list(cells)

    def _repeated_id(self, own: str | None) -> str | None:
        """Another column of names, of which some occur several times: rows may belong together there."""
        usual = (*NAMES["id"], *NAMES["group"], "task", "problem")
        for name, cells in self.columns.items():
            called = metrics.spelled(name)
            if name != own and (called in usual or called.endswith("_id")) and not self.table.metrics:
                kinds = len({str(cell) for cell in self._different(name) if not isinstance(cell, (list, dict))})
                if 1 < kinds < len(cells):
                    return name
        return None

    def _column(self, name: str) -> Column:
        if name in self.columns:
            return self.columns[name]
        inside = None if self.table.lookup is None else self.table.lookup(name)
        if inside is not None:
            return inside
        known = ", ".join(map(str, self.columns))
        raise UnknownNameError("column", name, map(str, self.columns), place=f" in {self.where} (it has {known})")

    def _filled(self, name: str, *, nested: bool = False) -> npt.NDArray[Any]:
        """A column without gaps: an empty cell is named by its row, never dropped.

        `nested`: inputs, of which lists count as their hash, and an empty one is an input like others.
        """
        column = self._column(name)
        if nested and any(isinstance(cell, (list, dict)) for cell in column):
            texts = (json.dumps(cell, sort_keys=True, default=str) for cell in column)
            return np.array([hashlib.sha256(text.encode()).hexdigest() for text in texts])
        if nested and any(map(is_missing, column)):
            return np.array(["" if is_missing(cell) else str(cell) for cell in column])
        cells, codes = self._distinct(name)
        return cells if codes is None else cells[codes]

    def _distinct(self, name: str) -> tuple[npt.NDArray[Any], npt.NDArray[np.int32] | None]:
        """The cells of a column without gaps, or the different ones and which of them each row has."""
        column = self._column(name)
        kind = column.dtype.kind if isinstance(column, np.ndarray) else ""
        if kind in ("b", "i", "u") or (kind == "f" and not np.isnan(column).any()):
            return np.asarray(column), None
        coded = column if isinstance(column, Coded) else None
        some = column if coded is None else coded.cells
        cells = some.tolist() if isinstance(some, np.ndarray) else list(some)
        kinds = set(map(type, cells))
        if kinds == {str}:
            cells = list(map(str.strip, cells))
            whole = _GAPS.isdisjoint(cells)
        else:
            whole = kinds <= {bool, int, float} and all(cell == cell for cell in cells)
        for place, cell in enumerate(() if whole else cells):
            if is_missing(cell):
                row = place if coded is None else coded.row_of(place)
                fix = f"{self._place(row)}"
                if name in (self.declared.prediction, usual_name("prediction", self.columns)):
                    fix += ". Where the model gave no answer, write a word for it and name it: --abstain WORD"
                raise InputError(f"column {name}", _written(cell), "a value in every row", fix)
            if isinstance(cell, dict):
                fix = f"{self._place(place)}. {_fields(name, cell)}"
                raise InputError(f"column {name}", "fields", "a plain value", fix)
            if isinstance(cell, list):
                fix = f"{self._place(place)}. Say yourself which rows are right: a column `correct` of true and false"
                raise InputError(f"column {name}", "a list", "a plain value", fix)
        if all(issubclass(kind, (bool, int, float)) for kind in kinds):
            return np.array(cells), None
        texts = cells if kinds == {str} else [str(cell).strip() for cell in cells]
        longest, letters = max(map(len, texts), default=0), sum(map(len, texts))
        if 4 * longest * len(texts) > max(MOST_WIDE, min(200 * letters, 2**33)):
            raise InputError(
                f"column {name}", f"{len(texts):,} cells, the longest of {longest:,} characters",
                "shorter names or answers", "Shorten the long ones, give hashes of them, or leave the column out",
            )  # fmt: skip
        return np.array(texts), None if coded is None else coded.codes

    def _place(self, row: int) -> str:
        return f"Row {row + 1} of {self.where}"

    # --- outcomes -----------------------------------------------------------------------------------------------------

    def _outcomes(self, confidence: str | None) -> tuple[dict[str, Any], tuple[Outcome, ...]]:
        """The metrics that were named, or labels with predictions, or the one metric there is."""
        declared = self.declared
        if declared.judging is not None:
            return self._judged(declared.judging)
        if declared.metric:
            self._refuse_unread()
            return {}, self._metrics(declared.metric, "declared")
        taken = {confidence, declared.id, declared.group, declared.slices, declared.label, declared.prediction}
        told = tuple(name for name in self.table.metrics or self._called_metrics() if name not in taken)
        if not self.table.metrics:
            told = tuple(name for name in told if not all(map(is_missing, self.columns[name])))  # `error` of no failure
        label, prediction = (self._role(kind, getattr(declared, kind)) for kind in ("label", "prediction"))
        both = label is not None and prediction is not None
        if both and (not told or declared.label is not None or declared.prediction is not None):
            return self._answers(str(label), str(prediction)), ()
        options = [f"--metric {quote(name)}" for name in told]
        if both:
            said = f"--label {quote(str(label))} --prediction {quote(str(prediction))}"
            raise InputError(
                "columns", [label, prediction, *told], "one way to tell right from wrong",
                f"Say which is meant: {' or '.join([said, *options])}",
            )  # fmt: skip
        if len(told) > 1:
            every = " ".join(options)
            raise InputError(
                "--metric",
                list(told),
                "one metric, or all by name",
                f"Say which: {' or '.join(options)}; or all: {every}",
            )
        if len(told) == 1 and (self.table.metrics or metrics.spelled(told[0]) in metrics.COLUMNS):
            if metrics.spelled(told[0]) == "score" and label is not None:
                fix = (
                    f"A score beside {label} may be a confidence, and then nothing here is the truth. Add a column of "
                    f"true labels: --label TRUTH --prediction {quote(label)} --confidence-column {told[0]}; or say "
                    f"--metric {told[0]}"
                )
                if declared.label is not None:
                    fix = (
                        f"A score beside {label} may be a confidence. Name the predictions: --label {quote(label)} "
                        f"--prediction COLUMN; or, if it is the outcome, say only --metric {told[0]}"
                    )
                raise InputError("columns", [label, told[0]], "outcomes", fix)
            return {}, self._metrics(told, "by its name")
        if prediction is not None:
            name = f"{prediction} is read as the predictions. Name the true labels: --label COLUMN"
        elif label is not None:
            name = f"{label} is read as the labels (--label for another). {self._answering(label)}"
        else:
            name = "Name them: --label COLUMN --prediction COLUMN"
        nested = next((cell for cell in self.columns.items() if isinstance(cell[1][0], dict)), None)
        inside = "" if nested is None else f". {_fields(nested[0], nested[1][0])}"
        raise InputError(
            "columns", list(map(str, self.columns)), "labels with predictions, a loss, or a score",
            f"{name}, or {''.join(options) or '--metric COLUMN'}; in Python declaration={{'label': ...}}{inside}",
        )  # fmt: skip

    def _answering(self, label: str) -> str:
        """Which columns beside the labels may be the answers."""
        others = {name: self._different(name) for name in self.columns if name != label}
        known = {str(cell).strip() for cell in self._different(label)}
        alike = [name for name, cells in others.items() if {str(cell).strip() for cell in cells} <= known]
        said = " or ".join(f"--prediction {quote(name)}" for name in alike) or "--prediction COLUMN"
        several = " (models are certified one by one, and compared from a file for each)" if len(alike) > 1 else ""
        shares = [name for name in others if self._is_share(name)]
        if not alike and len(shares) in (1, len(known)):
            said += (
                f" (of {' and '.join(shares)}, if they are probabilities, write the class that they choose into a "
                "column, or give arrays in Python: heldout_labels and heldout_probabilities)"
            )
        return f"Name the predicted ones: {said}{several}"

    def _is_share(self, name: str) -> bool:
        """Whether the cells of a column are numbers from 0 to 1, and not all whole."""
        try:
            values, _, _ = self._parsed(name, self.columns[name])
        except InputError:
            return False
        return bool(np.all((values >= 0.0) & (values <= 1.0)) and np.any(values % 1.0))

    def _refuse_unread(self) -> None:
        """Columns of labels and answers are not read beside a metric (but for slices by label)."""
        for name in ("label", "prediction"):
            chosen = getattr(self.declared, name)
            if chosen is not None and not (name == "label" and self.declared.slices == "label"):
                fix = f"Leave out --{name}, or --metric: answers are compared where no metric is named"
                raise InputError(name, chosen, f"nothing beside --metric {self.declared.metric[0]}", fix)

    def _called_metrics(self) -> list[str]:
        """The columns of a plain table that may be meant: usual names of outcomes, and metrics by name and values."""
        names = [name for name in self.columns if isinstance(name, str)]
        return [name for name in names if metrics.spelled(name) in metrics.COLUMNS or self._seems_metric(name)]

    def _seems_metric(self, name: str) -> bool:
        """Whether a column is called like a metric, and every cell that is filled is a value of it."""
        metric = metrics.known(name)
        if metric is None:
            return False
        try:
            values, missing, _ = self._numbers(name, self.columns[name], gaps=True)
        except InputError:
            return False
        kept = values[~missing]
        high = np.inf if metric.high is None else metric.high
        inside = np.all((kept >= metric.low) & (kept <= high))
        return bool(inside and (metric.kind != "rate" or np.all((kept == 0.0) | (kept == 1.0) | (kept == 0.5))))

    def _answers(self, label: str, prediction: str) -> dict[str, Any]:
        told = [self._distinct(name) for name in (label, prediction)]
        both = [cells for cells, _ in told]
        classes = self.declared.classes
        meant = {self.declared.abstain, *(classes if isinstance(classes, tuple) else ())}
        for name, cells in zip((label, prediction), both, strict=True):
            if odd := sorted({str(cell) for cell in np.unique(cells).tolist()} & (NO_VALUES - meant)):
                raise InputError(
                    f"column {name}", odd[0], "a label in every row",
                    "It is what some programs write where there is none. If it is a class, name all of them: --classes "
                    f"A,B,{odd[0]}; if the model gave no answer there: --abstain {odd[0]}",
                )  # fmt: skip
        if isinstance(self.declared.abstain, str) and any(cells.dtype.kind in "biu" for cells in both):
            both = [cells.astype(str) for cells in both]  # a word for no answer among numbers makes them names
        if all(map(_is_truth, both)):
            true = ("true", "1", "1.0")
            both = [np.array([str(cell).lower() in true for cell in column], np.int64) for column in both]
        elif all(map(_is_whole, both)):
            # whole numbers above 2^53 are not all floats: two different ones would become equal
            both = [(c if c.dtype.kind in "iub" else c.astype(np.float64)).astype(np.int64) for c in both]
        elif not isinstance(classes, tuple) and any(map(_is_real, both)) and all(map(_is_number, both)):
            real, column = next(pair for pair in zip((label, prediction), both, strict=True) if _is_real(pair[1]))
            cell = str(next(cell for cell in np.unique(column) if float(cell) % 1.0))
            fix = (
                "Of probabilities or scores, write the class that they choose into a column. Of numbers to predict, "
                "write how far off each is: --metric abs_error --lower-is-better --clip C. Of answers that are "
                f"numbers, a column `correct`. If these are names of classes: --classes A,B,{cell}"
            )
            if column.ndim > 1:
                fix = "Call arrays by what they are: heldout_labels, with heldout_logits or heldout_probabilities"
            raise InputError(f"column {real}", cell, "one whole number or name per example", fix)
        both = [cells if codes is None else cells[codes] for cells, (_, codes) in zip(both, told, strict=True)]
        self._decide("answers", f"{label} against {prediction}", "right where they agree")
        found = {"heldout_labels": both[0], "heldout_predictions": both[1]}
        return found if label != prediction else {"heldout_labels": both[0]}

    def _metrics(self, names: Sequence[str], why: str) -> tuple[Outcome, ...]:
        if len(set(names)) < len(names):
            raise InputError("--metric", list(names), "different metrics")
        found = tuple(self._metric(name, why, several=len(names) > 1) for name in names)
        if len(found) > 1 and any(one.kind == "log" for one in found):
            raise InputError("--metric", list(names), "a log-loss alone", "It has a unit and a range of its own")
        known = [metrics.known(name) for name in names]
        if len(found) > 1 and self.declared.better is not None and None not in known:
            fix = "Certify them apart"
            raise InputError("better", self.declared.better, "a metric whose direction nobody knows by name", fix)
        if len(found) > 1 and self.declared.range is not None and all(map(_own_range, known)):
            raise InputError("range", self.declared.range, "a metric without a range of its own", "Certify them apart")
        return found

    def _metric(self, name: str, why: str, *, several: bool) -> Outcome:
        column, metric = self._told(name), metrics.known(name)
        label = name if several else ""
        if metric is not None and metric.kind == "log" and any(isinstance(cell, (list, tuple)) for cell in column):
            return self._log(name, column, label)
        if metric is not None and metric.kind == "log" and name == "perplexity" and self.table.metrics:
            return self._log(name, [[cell, 1] for cell in column], label)
        values, missing, form = self._numbers(name, column)
        better = self._direction(name, metric, form, several=several)
        kind: metrics.Kind = "rate" if form != "numbers" or (metric is not None and metric.kind == "rate") else "number"
        low, high = (0.0, 1.0) if metric is None or metric.kind == "log" else (metric.low, metric.high)
        if self.declared.range is not None and not (several and _own_range(metric)):
            kind, (low, high) = "number", self.declared.range
        elif kind == "number" and (metric is None or high is None) and self.declared.clip is None:
            paste = self._paste(name, None if metric is not None else better)
            unit = not np.any((values[~missing] < 0.0) | (values[~missing] > 1.0))
            options = (
                [f"{paste} --range {'0 1' if unit else 'LOW HIGH'}"] if metric is None or better == "higher" else []
            )
            options += [f"{paste} --clip 2 (larger ones count as 2)"] if better == "lower" else []
            fix = f"For example {' or '.join(options)}"
            raise InputError("range", None, f"the range that {name} cannot leave, or where to cut it off", fix)
        kept = values[~missing]
        if kind == "rate" and np.any((kept != 0.0) & (kept != 1.0)):
            row = int(np.flatnonzero((values != 0.0) & (values != 1.0) & ~missing)[0])
            span = "LOW HIGH" if np.any((kept < 0.0) | (kept > 1.0)) else "0 1"
            raise InputError(
                f"column {name}", float(values[row]), "right or wrong (1 or 0)",
                f"{self._place(row)}. A score between is certified as a number: --metric {quote(name)} --range {span}",
            )  # fmt: skip
        if better == "higher":
            if high is None or self.declared.clip is not None:
                raise InputError(
                    "clip", self.declared.clip, f"a range for {name}, of which more is better", "--range LOW HIGH"
                )
            self._inside(name, values, missing, low, high, above=True)
            losses, low, high, what = high - values, 0.0, high - low, f"of {high:g} - {name}"
        else:
            if kind == "number" and high is not None and self.declared.clip is None:
                self._inside(name, values, missing, low, high)
            losses, what = values, _in_words(name)
        what = "error rate" if kind == "rate" else what
        if missing.any():
            losses[missing] = high if self.declared.clip is None else self.declared.clip
            self._decide("rows without an outcome", f"{int(missing.sum())} counted as wrong", "declared")
            counted = "wrong" if kind == "rate" else "the worst loss"
            self.warnings.append(
                f"{int(missing.sum()):,} of {len(missing):,} rows have no {name} and count as {counted}"
            )
        said = "right or wrong: the error rate" if kind == "rate" else f"the mean {what}"
        self._decide("outcome", f"column {name}: {said}, {better} is better", why)
        return Outcome(name=name, losses=losses, kind=kind, what=what, low=low, high=high, label=label)

    def _judged(self, asked: Judging) -> tuple[dict[str, Any], tuple[Outcome, ...]]:
        """Human labels of some rows, 1 where wrong, and a judge's verdicts on all; an empty cell is no label."""
        human, judge = str(asked.human), str(asked.judge)
        found = {}
        for name, gaps in ((human, True), (judge, False)):
            values, missing, form = self._numbers(name, self._column(name), gaps=gaps)
            better = "higher" if form in ("judged", "letters") else self.declared.better
            if better is None:
                raise InputError(
                    f"column {name}", form, "a column whose direction is known",
                    "If 1 means right, say --higher-is-better; if it means wrong, --lower-is-better",
                )  # fmt: skip
            odd = ~missing & ((values < 0.0) | (values > 1.0) if name == judge else (values != 0.0) & (values != 1.0))
            if odd.any():
                row = int(np.flatnonzero(odd)[0])
                expected = "a verdict in [0, 1]" if name == judge else "right or wrong (1 or 0)"
                raise InputError(f"column {name}", float(values[row]), expected, self._place(row))
            found[name] = (1.0 - values if better == "higher" else values), ~missing
            self._decide(
                name, f"{int(np.sum(~missing)):,} {'verdicts' if name == judge else 'human labels'}", "declared"
            )
        losses, labelled = found[human]
        verdicts = found[judge][0]
        if asked.correlation is not None and asked.correlation < 0.0:
            verdicts = 1.0 - verdicts
        outcome = Outcome(name=human, losses=np.where(labelled, losses, 0.0), kind="rate", what="error rate")
        return {"heldout_judge": verdicts, "heldout_labelled": labelled}, (outcome,)

    def _told(self, name: str) -> Column:
        """The column of a metric; a scorer with several values is asked about."""
        # A log says itself what its metrics are; in a plain table one may stand inside a field.
        inside = None if self.table.lookup is None or self.table.metrics else self.table.lookup(name)
        if name not in self.columns and inside is None:
            parts = [other for other in self.table.metrics if other.startswith(f"{name}.")]
            if parts:
                options = " or ".join(f"--metric {other}" for other in parts)
                raise InputError("--metric", name, "a single value", f"It has several: choose one of {options}")
            if name in self.table.partial:
                where = ", ".join(self.table.partial[name])
                raise InputError(
                    "--metric", name, f"a metric that all files of {self.where} have",
                    f"Only {where} has it: certify that file alone",
                )  # fmt: skip
            known = self.table.metrics or tuple(map(str, self.columns))
            raise UnknownNameError("metric", name, known, place=f" in {self.where} (it has {', '.join(known)})")
        return self._column(name)

    def _paste(self, name: str, better: str | None) -> str:
        return f"--metric {quote(name)}" + (f" --{better}-is-better" if better else "")

    def _direction(
        self, name: str, metric: metrics.Metric | None, form: str, *, several: bool
    ) -> Literal["higher", "lower"]:
        declared = self.declared.better
        if form == "judged":
            if declared == "lower":
                raise InputError("--lower-is-better", name, "a column of numbers", "right and wrong say it already")
            return "higher"
        if form == "letters":
            if declared == "lower" or (metric is not None and metric.better == "lower"):
                raise InputError(
                    f"column {name}", "grades C, P, I, N, of which C is right", "numbers of which less is better",
                    "Call the column something else, or write 0 for right and 1 for wrong",
                )  # fmt: skip
            return "higher"
        if declared is not None and (metric is None or not several):
            return declared
        if metric is not None:
            return metric.better
        open_ended = form == "numbers" and self.declared.range is None and self.declared.clip is None
        ranged = "; and the range that it cannot leave: --range LOW HIGH" if open_ended else ""
        raise InputError(
            "--metric", name, "a metric whose direction is known",
            f"Say it: {self._paste(name, 'higher')} or {self._paste(name, 'lower')}{ranged}",
        )  # fmt: skip

    def _inside(
        self, name: str, values: Array, missing: npt.NDArray[np.bool_], low: float, high: float, *, above: bool = False
    ) -> None:
        """Every value is in its range; `above`: more of it is better, so that it cannot be cut off."""
        outside = ~missing & ((values < low) | (values > high))
        if outside.any():
            row = int(np.flatnonzero(outside)[0])
            raise InputError(
                f"column {name}", float(values[row]), f"a number in [{low:g}, {high:g}]",
                f"{self._place(row)}. Declare the range that it cannot leave: {self._paste(name, None)} --range LOW "
                + ("HIGH" if above else "HIGH; or cut off a loss: --clip C"),
            )  # fmt: skip

    def _numbers(self, name: str, column: Column, *, gaps: bool = False) -> tuple[Array, npt.NDArray[np.bool_], str]:
        """Numbers, which are missing, and what form they have: truths, judged, letters (C, P, I, N) or numbers."""
        values, missing, form = self._parsed(name, column)
        if gaps and not missing.all():
            return values, missing, form
        if missing.any() and self.declared.unscored != "wrong":
            raise InputError(
                f"column {name}", _written(column[int(np.argmax(missing))]), "an outcome in every row",
                f"{self._place(int(np.flatnonzero(missing)[0]))} and {int(missing.sum()) - 1} others. Dropping them is "
                "a selection; count them as wrong with --unscored wrong",
            )  # fmt: skip
        if not missing.any() and self.declared.unscored == "wrong":
            raise InputError("unscored", "wrong", "rows without an outcome", f"Every row of {self.where} has one")
        if missing.all():
            raise InputError(f"column {name}", "empty cells", "outcomes")
        return values, missing, form

    def _parsed(self, name: str, column: Column) -> tuple[Array, npt.NDArray[np.bool_], str]:
        """The numbers of the cells, which have none, and their form."""
        if isinstance(column, np.ndarray) and column.dtype.kind in "biuf":
            values = column.astype(np.float64)
            return values, np.isnan(values), "truths" if column.dtype.kind == "b" else "numbers"
        coded = column if isinstance(column, Coded) else None
        some = column if coded is None else coded.cells
        cells = some.tolist() if isinstance(some, np.ndarray) else some
        values, missing = np.zeros(len(cells)), np.zeros(len(cells), np.bool_)
        forms = set()
        graded = bool(self.table.metrics) or not {"C", "P", "I"}.isdisjoint(map(str, cells))  # else N is no
        for row, cell in enumerate(cells):
            if is_missing(cell):
                missing[row] = True
                continue
            text = str(cell).strip().removesuffix(_AS_PICTURE)
            if isinstance(cell, (bool, np.bool_)) or (text.lower() in WORDS and not (graded and text == "N")):
                values[row], form = WORDS[text.lower()], "truths"
            elif text.lower() in JUDGED:
                values[row], form = JUDGED[text.lower()], "judged"
            elif isinstance(cell, str) and text.upper() in metrics.LETTERS:
                values[row], form = metrics.LETTERS[text.upper()], "letters"
            elif isinstance(cell, (int, float, np.number)) or _NUMBER.fullmatch(text) or text.lower() in _INFINITE:
                values[row], form = float(text), "numbers"
            else:
                raise self._no_number(name, cell, row if coded is None else coded.row_of(row))
            forms.add(form)
            if "judged" in forms and len(forms) > 1:
                place = self._place(row if coded is None else coded.row_of(row))
                raise InputError(f"column {name}", str(cell)[:40], "right or wrong in every row", place)
        if coded is not None:
            values, missing = values[coded.codes], missing[coded.codes]
        return values, missing, forms.pop() if len(forms) == 1 else "numbers"

    def _no_number(self, name: str, cell: Any, row: int) -> InputError:
        if isinstance(cell, dict) and not self.table.metrics:
            return InputError(f"column {name}", "fields", "a number for each row", _fields(name, cell))
        if isinstance(cell, (list, tuple, dict)):
            return InputError(
                "--metric", f"{name}: {cell!r}"[:80], "a number for each row",
                "Pairs are parts of a corpus figure (F1, perplexity), which is no mean of documents: no bound of a "
                "mean speaks about it",
            )  # fmt: skip
        text = str(cell).strip()
        hint = ". Decimals are written with a point" if re.fullmatch(r"-?[0-9]+,[0-9]+", text) else ""
        hint = ". Write the number alone" if re.fullmatch(r"[0-9.]+ ?(%|/ ?[0-9]+)", text) else hint
        expected = "a number, true or false, yes or no (T, F, Y, N), right or wrong, pass or fail, ✓ or ✗"
        return InputError(f"column {name}", str(cell)[:40], expected, f"{self._place(row)}{hint}")

    def _log(self, name: str, column: Column, label: str) -> Outcome:
        """-ln p per word (byte) of every document, and how many it has."""
        if self.declared.better == "higher":
            raise InputError("better", "higher", f"nothing beside {name}", "Sums of ln p say it themselves")
        sums, sizes = np.empty(len(column)), np.ones(len(column))
        for row, pair in enumerate(column):
            numbers = isinstance(pair, (list, tuple)) and len(pair) == 2
            if not numbers or not all(isinstance(part, (int, float)) and np.isfinite(part) for part in pair):
                expected = "[sum of ln p, number of words]" if name != "perplexity" else "ln p"
                raise InputError("--metric", f"{name}: {pair!r}"[:80], expected, self._place(row))
            if not (pair[0] <= 0.0 and pair[1] > 0):
                raise InputError("--metric", pair, "ln p <= 0, and words", self._place(row))
            sums[row], sizes[row] = -float(pair[0]), float(pair[1])
        what = metrics.LOG_UNITS[name]
        self._decide("outcome", f"{name}: the mean {what}", "sums of ln p and counts")
        losses = sums / sizes / (np.log(2.0) if name == "bits_per_byte" else 1.0)
        counts = None if name == "perplexity" else sizes
        return Outcome(name=name, losses=losses, kind="log", what=what, high=None, label=label, sizes=counts)


def _own_range(metric: metrics.Metric | None) -> bool:
    """Whether the table of metrics says in which range it lies."""
    return metric is not None and metric.high is not None


MOST_WIDE = 2**29
"""Bytes of a column in memory, where every cell takes as much as the longest one."""
_GAPS = frozenset(("", "nan", "NaN", "<NA>", "NaT"))
TOTALS = frozenset(
    ("total", "totals", "grand total", "subtotal", "sum", "mean", "average", "avg", "median", "overall", "std", "count")
)
"""What the row of a summary is called."""
_AS_PICTURE = "\ufe0f"
"""What follows a sign such as ✔ that is shown as a picture."""
_INFINITE = frozenset(("inf", "-inf", "infinity", "-infinity"))
"""As programs write -ln 0 into a table; only a clip gives it a meaning."""
NO_VALUES = frozenset(("NA", "N/A", "n/a", "#N/A", "NULL", "null"))
"""Texts that data frames and spreadsheets read as no value; a class may be called so, too."""


def is_missing(cell: Any) -> bool:
    """No value: nothing, nan, a blank, or what pandas calls NA and NaT; these also as the text they are written as."""
    if isinstance(cell, str):
        return cell.strip() in _GAPS
    return cell is None or (isinstance(cell, float) and cell != cell) or type(cell).__name__ in ("NAType", "NaTType")


def _written(cell: Any) -> str:
    """A missing value as it stands in the file."""
    return cell.strip() if isinstance(cell, str) and cell.strip() else "an empty cell"


def _is_whole(column: npt.NDArray[Any]) -> bool:
    """Whether all cells are whole numbers, written plainly: 3, -1, 2.0 (but not 007, which is a name)."""
    if column.dtype.kind not in "US":
        return whole_numbers(column)
    return all(_WHOLE.fullmatch(cell) for cell in np.unique(column).tolist())


def _is_number(column: npt.NDArray[Any]) -> bool:
    """Whether all cells are numbers, in whatever form they are written."""
    if column.dtype.kind not in "US":
        return column.dtype.kind in "iuf"
    return all(_NUMBER.fullmatch(cell) for cell in np.unique(column).tolist())


def _is_real(column: npt.NDArray[Any]) -> bool:
    """Whether all cells are numbers, and some not whole."""
    if not _is_number(column):
        return False
    values = column.astype(np.float64)
    return not np.all(np.isfinite(values) & (values == np.trunc(values)))


def _is_truth(column: npt.NDArray[Any]) -> bool:
    """Whether all cells are true, false, 0 or 1."""
    return {str(cell).lower() for cell in np.unique(column).tolist()} <= {"true", "false", "0", "1", "0.0", "1.0"}
