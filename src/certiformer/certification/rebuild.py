"""What a report says was counted, counted again, and the report made again from that.

From the files beside it, the data it was certified with, and what it declares.
"""

from __future__ import annotations

import hashlib
import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from certiformer.certificates import Evidence, Predictor, certificates
from certiformer.certificates.betting import Betting
from certiformer.certificates.compression import Compression
from certiformer.certificates.disagreement import Disagreement
from certiformer.certificates.progressive import Progressive
from certiformer.certificates.surrogate import Surrogate
from certiformer.certificates.surrogate_loss import SurrogateLoss
from certiformer.certification.declaration import Declaration
from certiformer.certification.predictors import file_name, read_predictor, read_trace
from certiformer.certification.sample import Sample, class_names
from certiformer.certification.split import data_hash
from certiformer.theory.core.errors import CertiformerError, InputError
from certiformer.theory.core.report import Report

Labels = npt.NDArray[np.int64]
RECIPES = ("mnist", "sparse_majority")
"""The recipes whose examples come with the package: a report names one of these, or is refused."""
NO_POOL = "the unlabelled examples (unlabelled_inputs) are not in the data"
NO_PICKS = "its surrogate does not show its picks"
T = TypeVar("T")
NAME = r"[A-Za-z0-9][A-Za-z0-9.-]*\.safetensors"


class Examples(NamedTuple):
    """What a row was counted on: labelled examples (labels are classes from 0), and unlabelled ones for a transfer."""

    inputs: Any
    labels: Labels
    pool: Any = None


class Counted(NamedTuple):
    """A record counted again, what was taken on trust, and how far figures of the same arithmetic may differ."""

    record: Evidence
    trusted: str = ""
    tolerance: float = 1e-9


class CannotCount(Exception):
    """Why the counts of a row, or the report as a whole, cannot be made again."""


class Written(NamedTuple):
    """A statement of a report: its entry, its record where the entry holds all of it, what was handed over."""

    entry: Mapping[str, Any]
    record: Evidence | None
    predictor: Predictor | None
    through: Predictor | None

    @property
    def counted(self) -> Evidence:
        """The record, where it can be read."""
        return _needed(self.record, "its record does not hold what was counted")

    @property
    def sibling(self) -> Predictor:
        """The certified model that a transfer goes through."""
        return _functional(_needed(self.through, _not_handed("certified sibling")))

    @property
    def target(self) -> Predictor:
        """The model that a transfer leads to."""
        return _functional(_needed(self.predictor, _not_handed("target")))


def recorded(entry: Mapping[str, Any]) -> Evidence | None:
    """The record of a statement; None where the entry does not hold all that was counted."""
    written = {name: value for name, value in entry["evidence"].items() if name != "key"}
    return certificates()[entry["id"]].from_record(written)


def worded(record: Evidence, entry: Mapping[str, Any]) -> Evidence:
    """The record with the words of whoever counted, which are not part of it: subject, label and note."""
    label = entry["evidence"]["key"][len(entry["id"]) :].strip().removeprefix("(").removesuffix(")")
    return replace(record, subject=entry["subject"], label=label, note=entry["reason"])


class Recount:
    """Counts rows again. `replay` runs pick loops on their picks as well, which takes as long as their training."""

    def __init__(
        self,
        document: Mapping[str, Any],
        folder: Path,
        data: Path | None,
        apply: Callable[..., Any] | None,
        replay: bool,
    ) -> None:
        self.provenance: Mapping[str, Any] = document["provenance"]
        self.declaration: Mapping[str, Any] = document["declaration"]
        self.folder, self.data, self.apply, self.replay = folder, data, apply, replay
        if (recipe := self.provenance.get("recipe", RECIPES[0])) not in RECIPES:
            raise InputError("recipe", recipe, f"one of {', '.join(RECIPES)}")
        self._read: dict[str, tuple[Predictor, str]] = {}

    def again(self, entry: Mapping[str, Any]) -> Counted:
        """The record of a row counted anew; CannotCount says what is missing."""
        row = Written(entry, recorded(entry), self.predictor(entry, "predictor"), self.predictor(entry, "through"))
        trace = self.trace(entry)
        flow = self.provenance.get("flow", "")
        if entry["id"] == Progressive.id and trace is not None:
            return _progressive(trace, row.counted)
        if "recipe" in self.provenance:
            return self._counted(row, self._of_recipe)
        if flow == "predictions":
            return self._of_predictions(row)
        if flow in ("model", "training"):
            return self._of_model(row)
        if flow == "procedures":
            return self._counted(row, self._of_procedures)
        raise CannotCount("its counts were handed to certify as they are; there are no data to count again")

    # --- files beside the report --------------------------------------------------------------------------------------

    def _place(self, entry: Mapping[str, Any], role: str) -> Path | None:
        handed = entry.get(role)
        if handed is None:
            return None
        place = self._beside(role, str(handed["file"]))
        if not place.is_file():
            raise CannotCount(f"{place.name} is not beside the report")
        return place

    def _beside(self, role: str, name: str) -> Path:
        """A file of the report's own folder: no link that leads out of it is followed."""
        place = self.folder / plain_name(role, name)
        if place.is_symlink():
            raise InputError(
                role, name, "a file beside the report, not a link", "Copy what it leads to into the folder"
            )
        return place

    def digest(self, role: str, name: str) -> str | None:
        """The SHA-256 of a file beside the report; None where it is not there."""
        place = self._beside(role, name)
        return hashlib.sha256(place.read_bytes()).hexdigest() if place.is_file() else None

    def predictor(self, entry: Mapping[str, Any], role: str) -> Predictor | None:
        """The predictor that a statement names, its hash compared."""
        place = self._place(entry, role)
        if place is None:
            return None
        if place.name not in self._read:
            self._read[place.name] = read_predictor(place, apply=self.apply)
        found, digest = self._read[place.name]
        _refuse_other(entry[role], digest)
        return found

    def trace(self, entry: Mapping[str, Any]) -> Mapping[str, npt.NDArray[Any]] | None:
        """What was recorded while counting."""
        place = self._place(entry, "trace")
        if place is None:
            return None
        found, digest = read_trace(place)
        _refuse_other(entry["trace"], digest)
        return found

    # --- data ---------------------------------------------------------------------------------------------------------

    @property
    def given(self) -> Path:
        """The file of the data."""
        return _needed(self.data, "its counts come from the report: give the data it was certified with (--data FILE)")

    @cached_property
    def declared(self) -> Declaration:
        """What was declared when it was certified."""
        return Declaration.recorded(self.declaration)

    @cached_property
    def arrays(self) -> Mapping[str, Any]:
        """The arrays of the examples that a model was certified or trained with."""
        from certiformer.certification import api
        from certiformer.certification.sources.rows import read_npz

        return read_npz(self.given, (*api.DATA_ARRAYS, "unlabelled_inputs"))

    @cached_property
    def divided(self) -> tuple[Any, Any]:
        """The examples that were divided, in their order."""
        if not {"inputs", "labels"} <= set(self.arrays):
            raise CannotCount("the data that were divided are needed: inputs and labels, in their order")
        return self.arrays["inputs"], self.arrays["labels"]

    @cached_property
    def heldout(self) -> tuple[Any, Any]:
        """The examples that a model was certified on."""
        from certiformer.certification import api, counting

        if self.provenance["flow"] != "training":
            return api.heldout_and_train(self.arrays, str(self.data))[0]
        x, y = self.divided
        division = counting.division(len(x), float(self.provenance["fraction"]), int(self.provenance["seed"]))
        return x[division["certify"]], y[division["certify"]]

    @property
    def other_data(self) -> bool:
        """Whether the examples have another hash than those that a model was certified on."""
        said = self.provenance.get("heldout_data")
        known = self.data is not None and said is not None and self.provenance.get("flow") == "model"
        return known and data_hash(*self.heldout) != said

    @cached_property
    def sample(self) -> Sample:
        """What was predicted."""
        return Sample.of(self.given, self.declared)

    @cached_property
    def evidence(self) -> tuple[Evidence, ...]:
        """What follows from the predictions, but for heads that are trained."""
        from certiformer.certification import predictions

        rest = {name: rows for name, rows in self.sample.parts.items() if not name.startswith("head_")}
        return predictions.of_sample(replace(self.sample, parts=rest)).evidence

    def _of_recipe(self, key: str) -> Examples:
        module = importlib.import_module(f"certiformer.lab.recipes.{self.provenance['recipe']}")
        examples: Callable[..., Mapping[str, Examples]] | None = getattr(module, "examples", None)
        found = {} if examples is None else examples(self.provenance)
        if key not in found:
            raise CannotCount("the recipe does not say on which examples it was certified")
        return found[key]

    def _of_procedures(self, key: str) -> Examples:
        from certiformer.certification.procedure import classes_of

        arrays = self.arrays
        if not {"train_inputs", "train_labels"} <= set(arrays):
            raise CannotCount("train_inputs and train_labels are not in the data")
        labels = classes_of(arrays["train_labels"])[0]
        return Examples(arrays["train_inputs"], labels, arrays.get("unlabelled_inputs"))

    def _of_predictions(self, row: Written) -> Counted:
        from certiformer.certification import predictions

        if row.predictor is None:
            return _known(self.evidence, row)
        parts = self.sample.parts
        if row.record is None or not {"head_features", "head_labels"} <= set(parts):
            raise CannotCount("head_features and head_labels are not in the data")
        features, labels, _ = predictions.head_data(parts, class_names(parts, self.declared))
        return Counted(row.predictor.recount(row.record, features, labels), tolerance=row.predictor.tolerance)

    def _of_model(self, row: Written) -> Counted:
        predictor = _functional(_needed(row.predictor, "the model was not handed over: this package cannot write it"))
        if row.entry["id"] != Disagreement.id:
            return _known(self._counted_with(predictor), row, predictor.tolerance)
        # Labels in the coding of the report: what the sibling's hold-out row was counted with.
        evidence = self._counted_with(_needed(row.through, _not_handed("certified sibling")))
        first: Any = next(one for one in evidence if one.id == "holdout")
        record: Any = row.counted
        apart, pool = _apart(row, self.arrays.get("unlabelled_inputs")), len(self.arrays["unlabelled_inputs"])
        return Counted(replace(record, errors=first.errors, n=first.n, disagreements=apart, unlabelled=pool))

    def _counted_with(self, predictor: Predictor) -> tuple[Evidence, ...]:
        from certiformer.certification import counting
        from certiformer.certification.predictors.estimator import NamedEstimator

        named = isinstance(predictor, NamedEstimator)
        subject = counting.Subject(predictor if named else predictor.outputs, batched=not named)
        return counting.of_model(subject, self.heldout, reading=self.declared).evidence

    # --- predictor and examples ---------------------------------------------------------------------------------------

    def _counted(self, row: Written, examples: Callable[[str], Examples]) -> Counted:
        kind, key, predictor = row.entry["id"], row.entry["evidence"]["key"], row.predictor
        if kind == Surrogate.id:
            return self._surrogate(row, examples(key))
        if kind == SurrogateLoss.id:
            return self._surrogate_loss(row, examples(key))
        if predictor is None:
            raise CannotCount("its predictor was not handed over")
        if predictor.reads != "inputs":
            raise CannotCount(f"its predictor reads {predictor.reads}, which are not in the data")
        found = examples(key)
        _functional(predictor)
        if kind == Betting.id:
            return _betting(predictor, found, row.entry["evidence"])
        record = row.counted
        trusted = predictor.kept(record)
        if trusted and "errors" not in record.record():
            raise CannotCount(f"examples and predictor do not show {', '.join(trusted)}")
        if trusted and record.size != len(found.labels):
            raise CannotCount("it was certified on a part of the examples that the report does not name")
        why = f"its errors were counted again, but this was taken from the report: {', '.join(trusted)}"
        again = predictor.recount(record, found.inputs, found.labels)
        return Counted(again, why if trusted else self._replayed(predictor, found), predictor.tolerance)

    def _surrogate(self, row: Written, found: Examples) -> Counted:
        record: Any = row.counted
        _needed(found.pool, NO_POOL)
        sibling = row.sibling
        counts: dict[str, Any] = {"n": len(found.labels), "m": len(found.pool)}
        if record.k is None:
            counts["errors"], trusted = sibling.errors(found.inputs, found.labels), ""
        elif hasattr(sibling, "counted"):
            counts["k"] = sum(sibling.counted(found.inputs, found.labels))
            trusted = self._replayed(sibling, found)
        else:
            raise CannotCount(NO_PICKS)
        return Counted(replace(record, disagreements=_apart(row, found.pool), **counts), trusted)

    def _surrogate_loss(self, row: Written, found: Examples) -> Counted:
        from certiformer.lab.procedures._surrogate_losses import LOSSES, loss_record

        written = row.entry["evidence"]
        if written["loss"] not in LOSSES:
            raise CannotCount("its losses were handed to certify as they are; there are no data to count again")
        _needed(found.pool, NO_POOL)
        sibling, target = row.sibling, row.target
        picked, trusted = None, ""
        if written["k"] is not None:
            if not (hasattr(sibling, "counted") and hasattr(sibling, "loop")):
                raise CannotCount(NO_PICKS)
            sibling.counted(found.inputs, found.labels)
            picked, trusted = sibling.loop.rows, self._replayed(sibling, found)
        pool = sibling.outputs(found.pool), target.outputs(found.pool)
        outputs = sibling.outputs(found.inputs)
        record = loss_record(
            written["loss"], outputs, found.labels, pool, picked=picked, outputs=str(written["outputs"])
        )
        record = replace(record, models=int(written["models"]), two_sided=bool(written["two_sided"]))
        return Counted(record, trusted, max(sibling.tolerance, target.tolerance))

    def _replayed(self, predictor: Predictor, found: Examples) -> str:
        """What is left to trust of a pick loop; "" for other predictors, and after it was run again."""
        if not hasattr(predictor, "replay"):
            return ""
        if not self.replay:
            return "its picks and errors were counted again, but not that training picks them: --replay trains again"
        said: str = predictor.replay(np.asarray(found.inputs), found.labels)
        return said


def plain_name(role: str, name: str) -> str:
    """A name without any path: what a report may name lies beside it."""
    if re.fullmatch(NAME, name) is None:
        raise InputError(role, name, "the plain name of a .safetensors file beside the report")
    return name


def _known(evidence: tuple[Evidence, ...], row: Written, tolerance: float = 1e-9) -> Counted:
    """The record of the row among those that were counted."""
    for one in evidence:
        if one.key == row.entry["evidence"]["key"]:
            return Counted(replace(one, note=""), tolerance=tolerance)
    raise CannotCount("the data do not hold what it was counted from")


def _needed(value: T | None, why: str) -> T:
    """What the report came with; without it nothing can be counted."""
    if value is None:
        raise CannotCount(why)
    return value


def _not_handed(model: str) -> str:
    return f"the {model} was not handed over: it is a function that this package cannot write"


def _refuse_other(handed: Mapping[str, str], digest: str) -> None:
    if digest != handed["sha256"]:
        raise InputError(handed["file"], f"sha256 {digest}", f"sha256 {handed['sha256']}, as in the report")


def _functional(predictor: Predictor) -> Predictor:
    """The predictor, unless it is the weights of a model from elsewhere without the function that belongs to them."""
    from certiformer.certification.predictors.model import Weights

    for part in (predictor, getattr(predictor, "network", None)):
        if isinstance(part, Weights) and part.apply is None:
            raise CannotCount("its predictor is a set of weights: verify(..., apply=function) in Python counts it")
    return predictor


def _progressive(trace: Mapping[str, npt.NDArray[Any]], record: Any) -> Counted:
    losses = trace["losses"]
    if losses.ndim != 1 or not len(losses) or np.any((losses != 0) & (losses != 1)):
        raise InputError("trace", f"shape {losses.shape}", "the 0-1 losses of one pass")
    why = "its losses were counted again, but not that each came before its example was learnt: that takes another pass"
    return Counted(replace(record, mean_loss=float(np.mean(losses.astype(np.float64))), n=len(losses)), why)


def _betting(predictor: Predictor, found: Examples, written: Mapping[str, Any]) -> Counted:
    from certiformer.certification.losses import betting

    if not hasattr(predictor, "probabilities"):
        raise CannotCount("its predictor has no probabilities")
    probabilities = predictor.probabilities(found.inputs, found.labels)
    return Counted(betting(probabilities, int(written["classes"]), int(written["models"])), "", predictor.tolerance)


def _apart(row: Written, pool: Any) -> int:
    """On how many unlabelled examples a model and its certified sibling differ."""
    _needed(pool, NO_POOL)
    return int(np.sum(row.target.predict(pool) != row.sibling.predict(pool)))


NOT_REPEATED = "the training was not repeated: its predictor was counted again"


@dataclass(frozen=True)
class Rebuilt:
    """The report again; by field why it could not be made again; how far figures of a network drift."""

    report: Report
    missing: Mapping[str, str] = field(default_factory=dict)
    tolerance: float = 1e-9
    computed: tuple[str, ...] = ()
    """Hashes of computed outputs."""


def rebuild(document: Mapping[str, Any], sources: Recount) -> Rebuilt:
    """The report again from `sources` and what the document declares; CannotCount says what is missing."""
    flow = document["provenance"].get("flow")
    if "recipe" in document["provenance"]:
        return _recipe(document, sources)
    if "verb" in document["provenance"]:
        raise CannotCount("what was trained on the way is not trained again: its statements are counted one by one")
    if flow == "predictions":
        if "checkpoint" in document["machine"]:
            raise CannotCount("the checkpoint beside the predictions is not at hand: certify again to compare")
        from certiformer.certification.api import certify

        return Rebuilt(certify(predictions=sources.given, **_options(document)))
    if flow in ("model", "training"):
        return _of_model(document, sources)
    if flow == "procedures":
        return _of_procedures(document, sources)
    raise CannotCount("its counts were handed to certify as they are; there are no data to count again")


def _options(document: Mapping[str, Any]) -> dict[str, Any]:
    """What a report may declare to be read in its way: a closed list, none of which names a file or a function."""
    written = document["declaration"]
    found = {name: written[name] for name in ("delta", "only") if name in written}
    return {**found, "declaration": Declaration.recorded(written)}


def _of_model(document: Mapping[str, Any], sources: Recount) -> Rebuilt:
    """The handed-over model on the data: all of it but the training and what was known about it."""
    from certiformer.certification.api import certify, heldout_and_train
    from certiformer.certification.counting import UNSEEN, Subject
    from certiformer.certification.predictors.estimator import NamedEstimator
    from certiformer.certification.predictors.model import HouseModel

    entries = [entry for entry in document["statements"] if entry["predictor"] is not None]
    carried = [entry for entry in document["statements"] if entry["id"] == "disagreement" and entry["evidence"]]
    if any(entry["predictor"] is None for entry in carried):
        raise CannotCount("the final model was not handed over: this package cannot write it")
    model = final = None
    for entry in entries:
        sides = ("through", "predictor") if entry["id"] == "disagreement" else ("predictor",)
        found: list[Any] = [sources.predictor(entry, side) for side in sides]
        if not all(isinstance(one, HouseModel) for one in found) and not isinstance(found[-1], NamedEstimator):
            raise CannotCount("its model is not one of this package: its statements are counted one by one")
        model = found[0]
        final = found[1] if len(found) > 1 else final
    if model is None:
        raise CannotCount("the model was not handed over: this package cannot write it")
    arrays = sources.arrays
    if document["declaration"].keys() & {"initial", "training"}:
        raise CannotCount("the initial model and the facts about its training are not in the files")
    options, missing = _options(document), {}
    house = model.model if isinstance(model, HouseModel) else model
    if document["provenance"]["flow"] == "training":
        made = certify(fit=lambda *_: house, data=sources.divided, **options)
        missing = {"the training": NOT_REPEATED}
        if UNSEEN not in document["not_checked"]:
            # An estimator was fitted afresh, the report says; what stands for it here comes from a function.
            made = replace(made, not_checked=tuple(one for one in made.not_checked if one != UNSEEN))
    else:
        heldout, train = heldout_and_train(arrays, str(sources.data))
        more = {} if final is None else {"final": final.model, "unlabelled": arrays.get("unlabelled_inputs")}
        made = certify(Subject(house, **more), heldout=heldout, train=train, **options)
    computed = tuple(f"provenance.heldout_{form}_sha256" for form in ("logits", "probabilities"))
    return Rebuilt(made, missing, model.tolerance, computed)


@dataclass
class Stored:
    """A procedure that has been run: its records, counted again."""

    records: Sequence[Evidence]
    pretrained_on: Any = None

    def start(self, model: Any) -> str:
        """What it started from is not in the files."""
        return ""

    def certify(self, model: Any, inputs: Any, labels: Any, classes: int) -> Sequence[Evidence]:
        return self.records


def _of_procedures(document: Mapping[str, Any], sources: Recount) -> Rebuilt:
    """Every record counted again with its predictor; the training itself only by a replay."""
    from certiformer.certification.counting import Subject
    from certiformer.certification.pipeline import DELTA, build
    from certiformer.certification.procedure import of_procedures

    kept: dict[str, str] = {}
    found: list[Evidence] = []
    tolerance = 1e-9
    for index, entry in enumerate(document["statements"]):
        if entry["evidence"] is None or entry["id"] not in certificates():
            continue
        key = entry["evidence"]["key"]
        try:
            counted = sources.again(entry)
        except (CannotCount, CertiformerError, TypeError) as reason:
            raise CannotCount(f"{key}: {reason}") from reason
        record = worded(counted.record, entry)
        if entry["id"] == "compression" and sources.replay and not counted.trusted:
            record = replace(record, subject=counted.record.subject, note=Compression.replayed)
        else:
            why = counted.trusted or NOT_REPEATED
            kept |= {f"statements[{index}].subject": why}
        predictor, through = sources.predictor(entry, "predictor"), sources.predictor(entry, "through")
        record = replace(record, predictor=predictor, through=through, trace=sources.trace(entry))
        tolerance = max(tolerance, counted.tolerance)
        own = [entry[side] is not None and entry[side]["file"] == file_name(side, key) for side in _SIDES]
        found.insert(0 if any(own) else len(found), record)  # a file has the name of the first that it belongs to
    options = _options(document)
    examples = (sources.arrays["train_inputs"], sources.arrays["train_labels"])
    findings = of_procedures(Subject(None), examples, [Stored(found)], reading=options["declaration"])
    findings = replace(
        findings,
        configuration={**findings.configuration, "by": document["declaration"].get("by", [])},
        declaration={"by": document["declaration"].get("by", [])},
    )
    made = build(findings, options.get("delta", DELTA), only=options.get("only"))
    for name, known in (("conditions", made.conditions), ("not_checked", made.not_checked)):
        # What training started from adds to them: more than is known here may be said, less may not.
        if set(known) < set(document[name]):
            kept[name] = "what the training started from, and what was said of it, is not in the files"
    return Rebuilt(made, kept, tolerance)


_SIDES = ("predictor", "through", "trace")


def _recipe(document: Mapping[str, Any], sources: Recount) -> Rebuilt:
    """The demo, whose training results come with the package."""
    from certiformer.certification.pipeline import DELTA, build
    from certiformer.lab.recipes import mnist

    provenance = document["provenance"]
    seed = provenance.get("seed")
    if provenance["recipe"] != "mnist" or seed != mnist.SHIPPED_SEED or "shipped" not in str(provenance.get("trained")):
        raise CannotCount("it was trained in the run itself: its statements are counted one by one")
    options, findings = _options(document), mnist.findings()
    if not document["profile"]:
        findings = replace(findings, model=None, sample=None, initial=None)
    made = build(findings, options.get("delta", DELTA), only=options.get("only"))
    missing = {}
    for entry in document["statements"]:
        if entry["id"] in ("compression", "progressive") and entry["evidence"] is not None:
            try:
                missing[entry["key"]] = sources.again(entry).trusted
            except (CannotCount, TypeError) as reason:
                missing[entry["key"]] = str(reason)
    return Rebuilt(made, {key: why for key, why in missing.items() if why}, 1e-5)
