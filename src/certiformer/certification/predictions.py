"""Certificates for any model of any framework, from arrays of its predictions, losses or right/wrong answers.

One of these says how the held-out examples went:

    heldout_labels with heldout_logits, heldout_probabilities or heldout_predictions
    heldout_correct                          right or wrong, as found elsewhere
    heldout_losses, heldout_losses_NAME      any loss in a known range (`low`, `high`), one or several metrics
    heldout_label_probabilities              the probability of the true label (with `classes`), for language models
    heldout_log_losses                       -ln p per token, a mean per document (with `classes` = V, or `clip`)

the rest is optional and each part adds a certificate or a check:

    heldout_groups                           what was drawn independently: document, writer, patient, template
    heldout_slices                           a name for every row: each slice is certified too
    heldout_sizes                            tokens (words, ...) behind each loss, for a mean over them (`max_size`)
    heldout_inputs, train_inputs             to see that no example repeats or was trained on (or *_ids instead)
    train_labels with train_logits, ...      the training error
    progressive_losses                       0-1 losses of one training pass, each before it was learnt: V
    unlabelled_predictions, unlabelled_final_predictions    of this model and of the final one, on new examples: D
    head_features, head_labels               frozen features of labelled examples the encoder has not seen: O, K, K1
    classes                                  their number, or their names in the order of the columns
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.certificates import THE_MODEL, Evidence
from certiformer.certificates.disagreement import Disagreement
from certiformer.certificates.holdout import HoldOut
from certiformer.certificates.progressive import Progressive
from certiformer.certification.betting import LEAST_EXAMPLES, betting, enough
from certiformer.certification.evidence import Findings
from certiformer.certification.losses import SMOOTHING, Sample, log_losses, records
from certiformer.certification.reading import Reading
from certiformer.certification.sources import repeats, scores
from certiformer.certification.sources.coding import Coding, decide, distinct
from certiformer.certification.sources.rows import Rows, hash_of_rows, rows_of, whole
from certiformer.certification.split import refuse_overlap
from certiformer.core.errors import InputError, UnknownNameError

Arrays = Mapping[str, Any]

FORMS = ("logits", "probabilities", "predictions")
KNOWN = (
    *(f"{part}_{form}" for part in ("heldout", "train") for form in (*FORMS, "labels", "inputs", "ids", "groups")),
    "heldout_correct",
    "heldout_losses",
    "heldout_label_probabilities",
    "heldout_log_losses",
    "heldout_sizes",
    "heldout_slices",
    "heldout_confidences",
    "progressive_losses",
    "unlabelled_predictions",
    "unlabelled_final_predictions",
    "unlabelled_inputs",
    "head_features",
    "head_labels",
    "classes",
)
SEVERAL = "heldout_losses_"
OUTCOMES = ("heldout_correct", "heldout_losses", "heldout_label_probabilities", "heldout_log_losses")
"""What tells how examples went without predictions; labels beside them only name slices."""
HASHED = ("heldout_labels", "heldout_predictions", "heldout_logits", "heldout_probabilities", *OUTCOMES)
"""What the page identifies by hash: the data, and what the model said about them."""


@dataclass(frozen=True, eq=False)
class Margins:
    """f_y - max_j f_j (y f for one logit) on a sample, and the number of logits."""

    values: npt.NDArray[np.float64]
    logits: int
    sample: str


def refuse_unknown(names: Iterable[str], where: str) -> None:
    """A misspelt array would switch a check off in silence."""
    for name in names:
        if name not in KNOWN and not (name.startswith(SEVERAL) and len(name) > len(SEVERAL)):
            raise UnknownNameError("array", name, KNOWN, f"in {where} (known: {', '.join(KNOWN)})")


def of_predictions(arrays: Arrays, reading: Reading, *, provenance: Mapping[str, Any] | None = None) -> Findings:
    """The findings that the arrays support."""
    rows = {name: rows_of(value) for name, value in arrays.items() if name != "classes"}
    named = class_names(arrays, reading)
    n = examples(rows)
    enough("heldout", n)
    coding = _coding(rows, named, reading)
    classes = coding.classes if coding is not None else _count(named)
    heldout = _scored("heldout", rows, coding, reading)
    sample, facts, not_checked, conditions, warnings = _sample(rows, n, reading)
    evidence: list[Evidence] = []
    missing: dict[str, str] = {}
    observed: dict[str, Any] = {"train_error": None, "heldout_error": None}
    counted: HoldOut | None = None
    if heldout is not None:
        observed["heldout_error"] = heldout.errors / n
        if sample.groups is None:
            counted = HoldOut(errors=heldout.errors, n=n, models=reading.models, two_sided=reading.two_sided)
            evidence.append(counted)
        else:
            found, more = records(
                "errors", heldout.wrong.astype(np.float64), sample, _unit_range(reading), what="error rate"
            )
            evidence += found
            warnings += more
            missing["holdout"] = "rows of one group are not independent draws: the mean over groups is certified"
    sliced, more = _slices(rows, heldout, sample, reading)
    evidence += sliced
    warnings += more
    evidence += _betting(heldout, rows, classes, sample, reading, missing)
    losses, more = _losses(rows, sample, reading, classes, observed)
    evidence += losses
    warnings += more
    if not losses and sample.groups is None:
        missing["mean_loss"] = "no losses and no groups were given; it certifies any loss in a known range"
    if "train_labels" in rows:
        train = _scored("train", rows, coding, reading)
        if train is not None:
            size = rows["train_labels"].shape[0]
            observed |= {"train_error": train.errors / size, "train_examples": size}
    observed["heldout_examples"] = n
    if sample.groups is not None:
        observed["heldout_groups"] = len(np.unique(sample.groups))
    evidence += _progressive(rows, reading.models)
    evidence += _disagreement(rows, counted, reading.allow_twins)
    # Compared models, or seeds of the head, divide these shares as they divide that of the hold-out.
    evidence += [replace(record, models=reading.models) for record in _head(rows, named, reading.seed)]
    if not evidence:
        raise InputError(
            "arrays", sorted(arrays), "something that was counted", "Give heldout_losses beside the slices"
        )
    if reading.of != "examples":
        evidence = [replace(record, of=reading.of) if record.of == "examples" else record for record in evidence]
    facts |= {"coding": coding.said} if coding is not None else {}
    facts |= {"warnings": "; ".join(warnings)} if warnings else {}
    if heldout is not None and heldout.note:
        facts["note"] = heldout.note
    return Findings(
        title=reading.title or "predictions",
        classes=classes,
        observed=observed,
        evidence=tuple(evidence),
        configuration={
            "flow": "predictions",
            "smoothing": SMOOTHING,
            "models_compared": reading.models,
            "reading": reading.as_text(),
            "order": reading.order,
            "unit": "example" if sample.groups is None else "group",
            **({} if sample.groups is None else {"estimand": reading.estimand}),
        },
        splits={},
        seed=reading.seed,
        tried=reading.models,
        missing=missing,
        provenance={**facts, **(provenance or {})},
        not_checked=tuple(not_checked),
        conditions=tuple(conditions),
        warnings=tuple(warnings),
    )


def class_names(arrays: Arrays, reading: Reading) -> int | list[str] | None:
    """The number of classes, or their names, as declared."""
    if reading.classes is not None:
        return reading.classes if isinstance(reading.classes, int) else [str(name) for name in reading.classes]
    if "classes" not in arrays:
        return None
    value = np.atleast_1d(whole(arrays["classes"]))
    if value.dtype.kind in "US":
        return [str(name) for name in value.tolist()]
    if value.size != 1 or value.dtype.kind not in "iuf" or int(value.item()) < 2:
        raise InputError("classes", value.tolist(), "a whole number of at least 2, or names")
    return int(value.item())


def _count(named: int | list[str] | None) -> int:
    """The number of classes; 0 where nobody said it."""
    return 0 if named is None else named if isinstance(named, int) else len(named)


def examples(rows: Mapping[str, Rows]) -> int:
    """The number of held-out examples, on which all arrays agree."""
    outcomes = [name for name in rows if name in ("heldout_labels", *OUTCOMES) or name.startswith(SEVERAL)]
    if not outcomes:
        raise InputError(
            "arrays",
            sorted(rows),
            "heldout_labels and exactly one of heldout_logits, heldout_probabilities, heldout_predictions; or "
            "heldout_correct, heldout_losses, heldout_label_probabilities or heldout_log_losses",
        )
    for name in outcomes:
        if len(rows[name].shape) != 1 or rows[name].shape[0] == 0:
            raise InputError(name, f"shape {rows[name].shape}", "one label, or number, per example, at least one")
    n = rows[outcomes[0]].shape[0]
    for name, value in rows.items():
        if name.startswith("heldout_") and value.shape[0] != n and name.removeprefix("heldout_") not in FORMS:
            raise InputError(name, f"{value.shape[0]} rows", f"one for each of {n} examples in {outcomes[0]}")
    return n


def scored(rows: Mapping[str, Rows], arrays: Arrays, reading: Reading) -> scores.Scored | None:
    """Right or wrong for every held-out example; None where only losses are told."""
    return _scored("heldout", rows, _coding(rows, class_names(arrays, reading), reading), reading)


def margins_of(arrays: Arrays, reading: Reading) -> Margins | str:
    """Margins on the training sample where its logits are given, otherwise on the held-out one; or why none."""
    rows = {name: rows_of(value) for name, value in arrays.items() if name != "classes"}
    part = next((part for part in ("train", "heldout") if {f"{part}_logits", f"{part}_labels"} <= set(rows)), None)
    coding = _coding(rows, class_names(arrays, reading), reading)
    if part is None or coding is None:
        return "it needs margins: give train_logits and train_labels, or those of the held-out examples"
    logits = np.asarray(whole(rows[f"{part}_logits"]), dtype=np.float64)
    codes = coding.code(f"{part}_labels", whole(rows[f"{part}_labels"]))
    if not np.all(np.isfinite(logits)):
        return "some logits are infinite: the margins are not defined"
    if logits.ndim == 1 or logits.shape[1] == 1:
        values = np.where(codes == 1, 1.0, -1.0) * logits.reshape(-1)
        return Margins(values, 1, "training" if part == "train" else "held-out")
    own = logits[np.arange(len(codes)), codes]
    others = logits.copy()
    others[np.arange(len(codes)), codes] = -np.inf
    return Margins(own - others.max(axis=1), logits.shape[1], "training" if part == "train" else "held-out")


def told_by(rows: Mapping[str, Rows]) -> list[str]:
    """The names of the losses that were given."""
    return [name for name in rows if name in ("heldout_losses", "heldout_log_losses") or name.startswith(SEVERAL)]


def row_ids(ids: npt.NDArray[Any]) -> list[str]:
    """Ids as text in one way."""
    return [str(repeats.plain(value)) for value in ids.tolist()]


def _coding(rows: Mapping[str, Rows], named: int | list[str] | None, reading: Reading) -> Coding | None:
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
    return decide(values, given, columns=columns, classes=named, abstain=reading.abstain)


def _scored(part: str, rows: Mapping[str, Rows], coding: Coding | None, reading: Reading) -> scores.Scored | None:
    """Right or wrong for every example of a part, and the probabilities of the labels where they are known."""
    given = [form for form in FORMS if f"{part}_{form}" in rows]
    correct, labelled = f"{part}_correct" in rows, f"{part}_labels" in rows
    told_otherwise = part == "heldout" and _others(rows)
    if len(given) > 1 or (given and (correct or not labelled)) or (labelled and not given and not told_otherwise):
        raise InputError(
            f"{part} arrays",
            sorted(name for name in rows if name.startswith(part)),
            f"{part}_labels and exactly one of {', '.join(f'{part}_{form}' for form in FORMS)}",
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
        declared = reading.outputs == "logits"
        found = scores.of_outputs(name, rows[name], f"{part}_labels", labels, coding, form=form, declared=declared)
    extra = f"{part}_label_probabilities"
    return found if extra not in rows else replace(found, probability=scores.label_probabilities(extra, rows[extra]))


def _others(rows: Mapping[str, Rows]) -> bool:
    """Whether the outcomes are told by something else than predictions: labels then only name slices."""
    return any(name in OUTCOMES or name.startswith(SEVERAL) for name in rows)


def _sample(
    rows: Mapping[str, Rows], n: int, reading: Reading
) -> tuple[Sample, dict[str, Any], list[str], list[str], list[str]]:
    """What the rows are: ids, groups, repeats and overlap with training; what was not checked is said."""
    facts: dict[str, Any] = {}
    for name in (*HASHED, *(name for name in rows if name.startswith(SEVERAL))):
        if name in rows:
            facts[f"{name}_sha256"] = hash_of_rows(rows[name])
    ids = whole(rows["heldout_ids"]) if "heldout_ids" in rows else None
    inputs = whole(rows["heldout_inputs"]) if "heldout_inputs" in rows else None
    groups = np.asarray(whole(rows["heldout_groups"])) if "heldout_groups" in rows else None
    sizes = np.asarray(whole(rows["heldout_sizes"]), dtype=np.float64) if "heldout_sizes" in rows else None
    facts |= _overlap(rows, reading.allow_twins)
    if groups is None:
        found = repeats.look(ids, inputs, reading.same_inputs_allowed)
        groups = found.keys
    else:
        found = repeats.look(None, None, "refuse")
        facts |= _across_groups(ids, inputs, groups, reading)
    facts |= found.facts
    not_checked, conditions, warnings = [], list(found.conditions), list(found.warnings)
    if "overlap_with_training" in facts:
        not_checked.append("whether a held-out example was seen in training: no training inputs or ids were given")
    if ids is None and inputs is None:
        not_checked.append("whether held-out examples repeat: neither inputs nor ids were given")
    if groups is None:
        not_checked.append("whether examples belong together (documents, writers, patients): no groups were given")
    text = None if ids is None else row_ids(ids)
    if text is None and inputs is not None:
        text = [digest.hex() for digest in repeats.hashes(inputs)]
    if text is None and (told_by(rows) or groups is not None):
        not_checked.append("the order of the rows: no ids were given, so it must have been made before scoring")
    return Sample(n, text, groups, sizes), facts, not_checked, conditions, warnings


def _across_groups(
    ids: npt.NDArray[Any] | None, inputs: npt.NDArray[Any] | None, groups: npt.NDArray[Any], reading: Reading
) -> dict[str, Any]:
    """Repeats inside a group are harmless; a row that stands in two groups makes them dependent."""
    facts: dict[str, Any] = {}
    for kind, values in (("ids", ids), ("inputs", inputs)):
        if values is None:
            continue
        keys = (
            [str(repeats.plain(v)) for v in values.tolist()]
            if kind == "ids"
            else [d.hex() for d in repeats.hashes(values)]
        )
        crossing = len(set(zip(keys, groups.tolist(), strict=True))) - len(set(keys))
        facts[f"{kind}_in_several_groups"] = crossing
        if crossing and reading.same_inputs_allowed == "refuse":
            raise InputError(
                f"heldout_{kind}",
                f"{crossing} that stand in more than one group",
                "groups that share nothing",
                'Merge these groups, or say repeats="natural" (--repeats natural) if they were drawn independently',
            )
    return facts


def _overlap(rows: Mapping[str, Rows], allow_twins: bool) -> dict[str, Any]:
    """Compare held-out with training examples by inputs, ids or groups, where both are given."""
    facts: dict[str, Any] = {}
    for kind in ("inputs", "ids", "groups"):
        heldout, train = rows.get(f"heldout_{kind}"), rows.get(f"train_{kind}")
        if heldout is None or train is None:
            continue
        mine, seen = whole(heldout), whole(train)
        if kind != "inputs":
            mine, seen = (np.array([str(repeats.plain(value)) for value in part.tolist()]) for part in (mine, seen))
        twins = refuse_overlap(
            mine,
            seen,
            allow_twins=allow_twins and kind == "inputs",
            what="certified examples" if kind != "groups" else "rows of groups",
        )
        facts[f"heldout_{kind}_seen_in_training"] = twins
    if not facts:
        facts["overlap_with_training"] = "not checked: give heldout_inputs and train_inputs, or ids"
    return facts


def _unit_range(reading: Reading) -> Reading:
    """Error rates lie in [0, 1], whatever was declared for another loss."""
    return replace(reading, low=0.0, high=1.0, clip=None)


def _slices(
    rows: Mapping[str, Rows], heldout: scores.Scored | None, sample: Sample, reading: Reading
) -> tuple[list[Evidence], list[str]]:
    """Records for every slice, and warnings. Which rows are in a slice is decided without looking at their losses.

    Given that, the errors of rows in a slice are independent draws. Of grouped rows, the groups that have any row in
    the slice are independent draws from such groups, and the mean of each over its rows in the slice is its loss.
    """
    if reading.slices is None and "heldout_slices" not in rows:
        return [], []
    if "heldout_slices" in rows:
        kind, names = "slice", np.array([str(repeats.plain(value)) for value in whole(rows["heldout_slices"]).tolist()])
    elif reading.slices == "label" and "heldout_labels" in rows:
        kind, names = "label", np.array([str(repeats.plain(value)) for value in whole(rows["heldout_labels"]).tolist()])
    elif reading.slices == "group":
        raise InputError(
            "slices",
            "group",
            "slices that hold several groups",
            "A group is a single draw: nothing follows about one of them. If the groups are fixed by design, and the "
            "rows inside are independent, they are slices: heldout_slices (--slice COLUMN), without groups",
        )
    else:
        raise InputError("slices", reading.slices, "heldout_slices, or labels for slices by label")
    found: list[Evidence] = []
    warnings: list[str] = []
    for name in np.unique(names).tolist():
        inside = names == name
        part, label, subject = sample.part(inside), f"{kind} {name}", f"{THE_MODEL} on {kind} {name}"
        if part.groups is not None and len(np.unique(part.groups)) < 2:
            warnings.append(f"{label} has rows in one group only: nothing can be said about it")
            continue
        if heldout is not None and part.groups is None:
            found.append(
                HoldOut(
                    errors=int(np.sum(heldout.wrong[inside])),
                    n=part.n,
                    models=reading.models,
                    two_sided=reading.two_sided,
                    label=label,
                    subject=subject,
                )
            )
        elif heldout is not None:
            wrong = heldout.wrong[inside].astype(np.float64)
            more, said = records(
                "errors", wrong, part, _unit_range(reading), what="error rate", label=label, subject=subject
            )
            found += more
            warnings += [f"{label}: {text}" for text in said]
        for losses in told_by(rows):
            if losses == "heldout_log_losses":
                continue
            metric = losses.removeprefix(SEVERAL) if losses != "heldout_losses" else "loss"
            both = label if losses == "heldout_losses" else f"{metric}, {label}"
            more, said = records(
                losses, _numbers(losses, rows)[inside], part, reading, what=metric, label=both, subject=subject
            )
            found += more
            warnings += [f"{label}: {text}" for text in said]
    return found, warnings


def _numbers(name: str, rows: Mapping[str, Rows]) -> npt.NDArray[Any]:
    values = whole(rows[name])
    if values.dtype.kind not in "fiub":
        raise InputError(name, f"type {values.dtype}", "numbers")
    return values


def _betting(
    heldout: scores.Scored | None,
    rows: Mapping[str, Rows],
    classes: int,
    sample: Sample,
    reading: Reading,
    missing: dict[str, str],
) -> list[Evidence]:
    """The smoothed cross-entropy, where the probability of the label is known."""
    probability = None if heldout is None else heldout.probability
    if probability is None and "heldout_label_probabilities" in rows:
        probability = scores.label_probabilities("heldout_label_probabilities", rows["heldout_label_probabilities"])
        if not classes:
            raise InputError(
                "classes",
                None,
                "how many labels there are (the size of the vocabulary)",
                "Smoothing needs it: classes=K",
            )
    if probability is None:
        missing["betting"] = (
            "only hard predictions were given; it needs heldout_probabilities, heldout_logits or "
            "heldout_label_probabilities"
        )
        return []
    if sample.groups is not None:
        missing["betting"] = "rows of one group are not independent; give the loss of each row as heldout_losses"
        return []
    return [betting(probability, classes, reading.models)]


def _losses(
    rows: Mapping[str, Rows], sample: Sample, reading: Reading, classes: int, observed: dict[str, Any]
) -> tuple[list[Evidence], list[str]]:
    found: list[Evidence] = []
    warnings: list[str] = []
    for name in told_by(rows):
        values = _numbers(name, rows)
        if name == "heldout_log_losses":
            what = "log-loss"
            more, said = log_losses(name, values, sample, reading, classes)
        else:
            label = name.removeprefix(SEVERAL) if name != "heldout_losses" else ""
            what = label or "loss"
            more, said = records(name, values, sample, reading, what=what, label=label)
        found += more
        warnings += said
        observed[f"mean_{what}"] = float(np.mean(values))
    return found, list(dict.fromkeys(warnings))


def _progressive(rows: Mapping[str, Rows], models: int) -> list[Evidence]:
    if "progressive_losses" not in rows:
        return []
    losses = whole(rows["progressive_losses"])
    if losses.dtype.kind not in "fiub" or losses.ndim != 1 or len(losses) < LEAST_EXAMPLES:
        raise InputError("progressive_losses", f"shape {losses.shape}", f"at least {LEAST_EXAMPLES} losses")
    if np.any((losses != 0) & (losses != 1)):
        raise InputError("progressive_losses", float(np.max(losses)), "0 or 1 for every example")
    mean = float(np.mean(losses.astype(np.float64)))
    return [Progressive(mean_loss=mean, n=len(losses), models=models, subject="an iterate drawn at random")]


def _disagreement(rows: Mapping[str, Rows], counted: HoldOut | None, allow_twins: bool) -> list[Evidence]:
    names = ("unlabelled_predictions", "unlabelled_final_predictions")
    given = [name for name in names if name in rows]
    if not given:
        return []
    if len(given) == 1:
        raise InputError("unlabelled arrays", given, f"both {names[0]} and {names[1]}")
    if counted is None:
        raise InputError("unlabelled arrays", given, "errors on independent held-out examples beside them")
    mine, final = (_decided(name, whole(rows[name])) for name in names)
    if mine.shape != final.shape:
        raise InputError(names[1], f"shape {final.shape}", f"shape {mine.shape}, as {names[0]}")
    enough("unlabelled", len(mine))
    unchecked = "Nobody checked that the unlabelled examples are new: give unlabelled_inputs beside the others."
    if "unlabelled_inputs" in rows:
        repeats.refuse_repeats("unlabelled_inputs", whole(rows["unlabelled_inputs"]), allowed=allow_twins)
        unchecked = "" if {"heldout_inputs", "train_inputs"} & set(rows) else unchecked
        for other in ("heldout_inputs", "train_inputs"):
            if other in rows:
                refuse_overlap(
                    whole(rows["unlabelled_inputs"]),
                    whole(rows[other]),
                    allow_twins=allow_twins,
                    what="unlabelled examples",
                )
    return [
        Disagreement(
            errors=counted.errors,
            n=counted.n,
            disagreements=int(np.sum(mine != final)),
            unlabelled=len(mine),
            note=unchecked,
            models=counted.models,
            subject="the final model",
        )
    ]


def decisions(outputs: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """The class a model decides for: the sign of one logit (0 counts as negative), the first largest of several."""
    if outputs.ndim == 1:
        return np.asarray(outputs > 0, np.int64)
    return np.asarray(np.argmax(outputs, axis=1), np.int64)


def _decided(name: str, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """One decision per example: names, whole numbers, or the largest of several outputs."""
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.dtype.kind in "US" and values.ndim == 1:
        return np.char.strip(values.astype(str))
    if values.dtype.kind not in "fiub" or (values.dtype.kind == "f" and not np.all(np.isfinite(values))):
        raise InputError(name, f"type {values.dtype}", "finite numbers, or names")
    if values.ndim == 2:
        return decisions(values.astype(np.float64))
    if values.ndim != 1 or np.any(values != np.round(values)):
        raise InputError(name, f"shape {values.shape}", "one predicted class per example, or a column per class")
    return values.astype(np.int64)


def _head(rows: Mapping[str, Rows], named: int | list[str] | None, seed: int) -> list[Evidence]:
    given = [name for name in ("head_features", "head_labels") if name in rows]
    if not given:
        return []
    if len(given) == 1:
        raise InputError("head arrays", given, "both head_features and head_labels")
    from certiformer.certification import linear_head  # it optimises: scipy.optimize is slow to load

    features, labels, classes = head_data(rows, named)
    return list(linear_head.certificates(linear_head.prepare(features, labels, classes), seed))


def head_data(
    rows: Mapping[str, Rows], named: int | list[str] | None = None
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64], int]:
    """Frozen features, class indices and the number of classes."""
    features, raw = whole(rows["head_features"]), whole(rows["head_labels"])
    if features.dtype.kind not in "fiub" or (features.dtype.kind == "f" and not np.all(np.isfinite(features))):
        raise InputError("head_features", f"type {features.dtype}", "finite numbers", "Remove these examples")
    if features.ndim != 2 or raw.shape != (len(features),):
        raise InputError("head_features", f"shape {features.shape}", f"({len(raw)}, width), one row per label")
    enough("head_features", len(features))
    coding = decide(distinct("head_labels", rows["head_labels"]), None, columns=None, classes=named, abstain=None)
    return features, coding.code("head_labels", raw), coding.classes
