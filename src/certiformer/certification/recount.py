"""What a report says was counted, counted again: from the files beside it and the data it was certified with."""

from __future__ import annotations

import hashlib
import importlib
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from certiformer.certificates import Evidence, Predictor
from certiformer.certificates.betting import Betting
from certiformer.certificates.disagreement import Disagreement
from certiformer.certificates.progressive import Progressive
from certiformer.certificates.surrogate import Surrogate
from certiformer.certificates.surrogate_loss import SurrogateLoss
from certiformer.certification.predictors import read_predictor, read_trace
from certiformer.theory.core.errors import InputError

if TYPE_CHECKING:
    from certiformer.certification.declaration import Declaration
    from certiformer.certification.findings import Findings

Labels = npt.NDArray[np.int64]
RECIPES = ("mnist", "sparse_majority")
"""The recipes whose examples come with the package: a report names one of these, or is refused."""
NO_RECORD = "its record does not hold what was counted"
NO_SIBLING = "the certified sibling was not handed over: it is a function that this package cannot write"
NO_TARGET = "the target was not handed over: it is a function that this package cannot write"
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
    """Why the counts of a row could not be made again."""


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
        self._evidence: Mapping[str, Evidence] | None = None
        self._arrays: Any = None
        self._read: dict[str, tuple[Predictor, str]] = {}

    def again(self, key: str, entry: Mapping[str, Any], kind: type[Evidence], recorded: Evidence | None) -> Counted:
        """The record of a row counted anew; CannotCount says what is missing."""
        predictor, through = self.predictor(entry, "predictor"), self.predictor(entry, "through")
        trace = self.trace(entry)
        flow = self.provenance.get("flow", "")
        if issubclass(kind, Progressive) and trace is not None:
            return _progressive(trace, recorded)
        if "recipe" in self.provenance:
            return self._counted(kind, predictor, through, recorded, lambda: self._of_recipe(key), entry)
        if flow == "predictions":
            return self._of_predictions(key, predictor, recorded)
        if flow in ("model", "training"):
            return self._of_model(key, kind, predictor, through, recorded, entry)
        if flow == "procedures":
            return self._counted(kind, predictor, through, recorded, self._of_procedures, entry)
        raise CannotCount("its counts were handed to certify as they are; there are no data to count again")

    # --- files beside the report --------------------------------------------------------------------------------------

    def _place(self, entry: Mapping[str, Any], role: str) -> Path | None:
        handed = entry.get(role)
        if handed is None:
            return None
        place = self.folder / plain_name(role, str(handed["file"]))
        if not place.is_file():
            raise CannotCount(f"{place.name} is not beside the report")
        return place

    def digest(self, role: str, name: str) -> str | None:
        """The SHA-256 of a file beside the report; None where it is not there."""
        place = self.folder / plain_name(role, name)
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

    def arrays(self) -> Mapping[str, Any]:
        """The arrays of the examples that a model was certified or trained with."""
        from certiformer.certification import api
        from certiformer.certification.sources.npz import read_npz

        found: Mapping[str, Any] = self._file(lambda path: read_npz(path, (*api.DATA_ARRAYS, "unlabelled_inputs")))
        return found

    def _file(self, read: Callable[[Path], Any]) -> Any:
        if self.data is None:
            raise CannotCount("its counts come from the report: give the data it was certified with (--data FILE)")
        if self._arrays is None:
            self._arrays = read(self.data)
        return self._arrays

    def _declared(self) -> Declaration:
        """What was declared when it was certified."""
        from certiformer.certification.declaration import Declaration

        return Declaration.recorded(self.declaration)

    def _of_recipe(self, key: str) -> Examples:
        module = importlib.import_module(f"certiformer.lab.recipes.{self.provenance['recipe']}")
        examples: Callable[..., Mapping[str, Examples]] | None = getattr(module, "examples", None)
        found = {} if examples is None else examples(self.provenance)
        if key not in found:
            raise CannotCount("the recipe does not say on which examples it was certified")
        return found[key]

    def _of_procedures(self) -> Examples:
        from certiformer.certification.procedure import classes_of

        arrays = self.arrays()
        if not {"train_inputs", "train_labels"} <= set(arrays):
            raise CannotCount("train_inputs and train_labels are not in the data")
        labels = classes_of(arrays["train_labels"])[0]
        return Examples(arrays["train_inputs"], labels, arrays.get("unlabelled_inputs"))

    def _of_predictions(self, key: str, predictor: Predictor | None, recorded: Evidence | None) -> Counted:
        from certiformer.certification import predictions
        from certiformer.certification.sample import Sample, class_names

        declared = self._declared()
        sample: Sample = self._file(lambda path: Sample.read(path, declared))
        if predictor is not None:
            if recorded is None or not {"head_features", "head_labels"} <= set(sample.parts):
                raise CannotCount("head_features and head_labels are not in the data")
            features, labels, _ = predictions.head_data(sample.parts, class_names(sample.parts, declared))
            return Counted(predictor.recount(recorded, features, labels), tolerance=predictor.tolerance)
        if self._evidence is None:
            rest = {name: rows for name, rows in sample.parts.items() if not name.startswith("head_")}
            self._evidence = _by_key(predictions.of_sample(replace(sample, parts=rest)).evidence)
        return self._known(key)

    def _of_model(
        self,
        key: str,
        kind: type[Evidence],
        predictor: Predictor | None,
        through: Predictor | None,
        recorded: Evidence | None,
        entry: Mapping[str, Any],
    ) -> Counted:
        from certiformer.certification import api, counting

        if predictor is None:
            raise CannotCount("the model was not handed over: this package cannot write it")
        arrays = self.arrays()
        if self.provenance["flow"] == "training":
            x, y = arrays.get("inputs"), arrays.get("labels")
            if x is None or y is None:
                raise CannotCount("the data that were divided are needed: inputs and labels, in their order")
            division = counting.division(len(x), float(self.provenance["fraction"]), int(self.provenance["seed"]))
            heldout: counting.Pair = (x[division["certify"]], y[division["certify"]])
        else:
            heldout, _ = api.heldout_and_train(arrays, str(self.data))
        _refuse_functionless(predictor)
        if issubclass(kind, Disagreement):
            # Labels in the coding of the report: what the sibling's hold-out row was counted with.
            sibling = self._counted_with(_needed(through, NO_SIBLING), heldout)
            errors = next(one for one in sibling.evidence if one.id == "holdout")
            return _transferred(
                _needed(recorded, NO_RECORD), predictor, through, arrays.get("unlabelled_inputs"), errors
            )
        found = self._counted_with(predictor, heldout)
        self._evidence = _by_key(found.evidence)
        return self._known(key, predictor.tolerance)

    def _counted_with(self, predictor: Predictor, heldout: Any) -> Findings:
        from certiformer.certification import counting
        from certiformer.certification.predictors.estimator import NamedEstimator

        if isinstance(predictor, NamedEstimator):
            return counting.of_model(predictor, heldout, reading=self._declared())
        return counting.of_model(predictor.outputs, heldout, reading=self._declared(), batched=True)

    def _known(self, key: str, tolerance: float = 1e-9) -> Counted:
        assert self._evidence is not None
        if key not in self._evidence:
            raise CannotCount("the data do not hold what it was counted from")
        return Counted(replace(self._evidence[key], note=""), tolerance=tolerance)

    # --- predictor and examples ---------------------------------------------------------------------------------------

    def _counted(
        self,
        kind: type[Evidence],
        predictor: Predictor | None,
        through: Predictor | None,
        recorded: Evidence | None,
        examples: Callable[[], Examples],
        entry: Mapping[str, Any],
    ) -> Counted:
        if issubclass(kind, Surrogate):
            return self._surrogate(_needed(recorded, NO_RECORD), predictor, through, examples())
        if issubclass(kind, SurrogateLoss):
            return self._surrogate_loss(entry["evidence"], predictor, through, examples())
        if predictor is None:
            raise CannotCount("its predictor was not handed over")
        if predictor.reads != "inputs":
            raise CannotCount(f"its predictor reads {predictor.reads}, which are not in the data")
        found = examples()
        _refuse_functionless(predictor)
        if issubclass(kind, Betting):
            return _betting(predictor, found, int(entry["evidence"]["classes"]), int(entry["evidence"]["models"]))
        record = _needed(recorded, NO_RECORD)
        trusted = predictor.kept(record)
        if trusted and "errors" not in record.record():
            raise CannotCount(f"examples and predictor do not show {', '.join(trusted)}")
        if trusted and record.size != len(found.labels):
            raise CannotCount("it was certified on a part of the examples that the report does not name")
        why = f"its errors were counted again, but this was taken from the report: {', '.join(trusted)}"
        again = predictor.recount(record, found.inputs, found.labels)
        return Counted(again, why if trusted else self._replayed(predictor, found), predictor.tolerance)

    def _surrogate(
        self, record: Evidence, predictor: Predictor | None, through: Predictor | None, found: Examples
    ) -> Counted:
        assert isinstance(record, Surrogate)
        if found.pool is None:
            raise CannotCount("the unlabelled examples (unlabelled_inputs) are not in the data")
        sibling, n = _needed(through, NO_SIBLING), len(found.labels)
        _refuse_functionless(sibling)
        if record.k is None:
            first = replace(record, errors=sibling.errors(found.inputs, found.labels), n=n)
            trusted = ""
        elif hasattr(sibling, "counted"):
            first = replace(record, k=sum(sibling.counted(found.inputs, found.labels)), n=n)
            trusted = self._replayed(sibling, found)
        else:
            raise CannotCount("its surrogate does not show its picks")
        again = _transferred(first, _needed(predictor, NO_TARGET), sibling, found.pool)
        return again._replace(trusted=trusted)

    def _surrogate_loss(
        self, written: Mapping[str, Any], predictor: Predictor | None, through: Predictor | None, found: Examples
    ) -> Counted:
        from certiformer.lab.procedures._surrogate_losses import LOSSES, loss_record

        if written["loss"] not in LOSSES:
            raise CannotCount("its losses were handed to certify as they are; there are no data to count again")
        if found.pool is None:
            raise CannotCount("the unlabelled examples (unlabelled_inputs) are not in the data")
        sibling, target = _needed(through, NO_SIBLING), _needed(predictor, NO_TARGET)
        for one in (sibling, target):
            _refuse_functionless(one)
        picked, trusted = None, ""
        if written["k"] is not None:
            if not (hasattr(sibling, "counted") and hasattr(sibling, "loop")):
                raise CannotCount("its surrogate does not show its picks")
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


def _by_key(evidence: tuple[Evidence, ...]) -> Mapping[str, Evidence]:
    return {record.key: record for record in evidence}


def _needed(value: T | None, why: str) -> T:
    """What the report came with; without it nothing can be counted."""
    if value is None:
        raise CannotCount(why)
    return value


def _refuse_other(handed: Mapping[str, str], digest: str) -> None:
    if digest != handed["sha256"]:
        raise InputError(handed["file"], f"sha256 {digest}", f"sha256 {handed['sha256']}, as in the report")


def _refuse_functionless(predictor: Predictor) -> None:
    """Weights of a model from elsewhere predict only with the function that belongs to them."""
    from certiformer.certification.predictors.model import Weights

    for part in (predictor, getattr(predictor, "network", None)):
        if isinstance(part, Weights) and part.apply is None:
            raise CannotCount("its predictor is a set of weights: verify(..., apply=function) in Python counts it")


def _progressive(trace: Mapping[str, npt.NDArray[Any]], recorded: Evidence | None) -> Counted:
    losses = trace["losses"]
    if losses.ndim != 1 or not len(losses) or np.any((losses != 0) & (losses != 1)):
        raise InputError("trace", f"shape {losses.shape}", "the 0-1 losses of one pass")
    record = _needed(recorded, NO_RECORD)
    assert isinstance(record, Progressive)
    why = "its losses were counted again, but not that each came before its example was learnt: that takes another pass"
    return Counted(replace(record, mean_loss=float(np.mean(losses.astype(np.float64))), n=len(losses)), why)


def _betting(predictor: Predictor, found: Examples, classes: int, models: int) -> Counted:
    from certiformer.certification.losses import betting

    if not hasattr(predictor, "probabilities"):
        raise CannotCount("its predictor has no probabilities")
    return Counted(
        betting(predictor.probabilities(found.inputs, found.labels), classes, models), "", predictor.tolerance
    )


def _transferred(
    record: Evidence, predictor: Predictor, through: Predictor | None, pool: Any, holdout: Any = None
) -> Counted:
    """Disagreements of a model and its certified sibling, on unlabelled examples."""
    if pool is None:
        raise CannotCount("the unlabelled examples (unlabelled_inputs) are not in the data")
    _refuse_functionless(predictor)
    apart = int(np.sum(predictor.predict(pool) != _needed(through, NO_SIBLING).predict(pool)))
    if isinstance(record, Disagreement):
        counts = {"errors": holdout.errors, "n": holdout.n}
        return Counted(replace(record, disagreements=apart, unlabelled=len(pool), **counts))
    assert isinstance(record, Surrogate)
    return Counted(replace(record, disagreements=apart, m=len(pool)))
