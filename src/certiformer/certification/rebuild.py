"""A report made again from its data and what it declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from certiformer.certificates import Evidence, certificates
from certiformer.certificates.compression import Compression
from certiformer.certification.declaration import Declaration
from certiformer.certification.predictors import file_name
from certiformer.certification.recount import CannotCount, Recount, worded
from certiformer.theory.core.errors import CertiformerError
from certiformer.theory.core.report import Report

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

        return Rebuilt(certify(predictions=sources.given(), **_options(document)))
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
    sources.given()
    if document["declaration"].keys() & {"initial", "training"}:
        raise CannotCount("the initial model and the facts about its training are not in the files")
    arrays, options, missing = sources.arrays(), _options(document), {}
    house = model.model if isinstance(model, HouseModel) else model
    if document["provenance"]["flow"] == "training":
        if not {"inputs", "labels"} <= set(arrays):
            raise CannotCount("the data that were divided are needed: inputs and labels, in their order")
        made = certify(fit=lambda *_: house, data=(arrays["inputs"], arrays["labels"]), **options)
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
            kept |= {f"statements[{index}].{name}": why for name in ("subject", "reason", "claim", "guarantee")}
        predictor, through = sources.predictor(entry, "predictor"), sources.predictor(entry, "through")
        record = replace(record, predictor=predictor, through=through, trace=sources.trace(entry))
        tolerance = max(tolerance, counted.tolerance)
        own = [entry[side] is not None and entry[side]["file"] == file_name(side, key) for side in _SIDES]
        found.insert(0 if any(own) else len(found), record)  # a file has the name of the first that it belongs to
    arrays = sources.arrays()
    options = _options(document)
    examples = (arrays["train_inputs"], arrays["train_labels"])
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
