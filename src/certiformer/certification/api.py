"""`certiformer.certify`: one call from a model and data, or from predictions, to a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy.typing as npt

from certiformer.certificates import Evidence
from certiformer.certification.counting import Pair, Subject, of_model, of_training
from certiformer.certification.declaration import MOVED, Declaration
from certiformer.certification.pipeline import Findings, build
from certiformer.certification.predictions import of_sample
from certiformer.certification.procedure import of_procedures
from certiformer.certification.sample import Sample
from certiformer.certification.sources.rows import read_npz
from certiformer.evaluation._given import failure_probability
from certiformer.theory.core.errors import InputError, refuse_unknown_options
from certiformer.theory.core.report import Report

DATA_ARRAYS = ("inputs", "labels", "train_inputs", "train_labels", "heldout_inputs", "heldout_labels")


_SUBJECT = {one.name: f"certify(Subject(model, {one.name}=...), ...)" for one in fields(Subject) if one.name != "model"}
_MOVED = {
    **MOVED,
    **_SUBJECT,
    "params": "certify((apply, params), ...)",
    "retrain": "certiformer.demo(retrain=...)",
    "progress": "certiformer.demo(progress=...)",
    "command": "nothing: the command line says it itself",
}


USED: Mapping[str, tuple[str, ...]] = {
    "by": ("model", "train"),
    "fit": ("data",),
    "evidence": (),
    "predictions": ("model",),
    "a model file": ("model", "data"),
    "a model": ("model", "heldout", "train"),
}
"""What each way to certify reads: anything beside it would be ignored, and is refused."""


@refuse_unknown_options(moved=_MOVED)
def certify(
    model: Any = None,
    *,
    heldout: Any = None,
    train: Any = None,
    data: Pair | str | Path | None = None,
    predictions: Any = None,
    evidence: Evidence | Sequence[Evidence] | None = None,
    fit: Any = None,
    by: Sequence[Any] | None = None,
    only: str | None = None,
    delta: float | None = None,
    confidence: float | None = None,
    declaration: Declaration | Mapping[str, Any] | None = None,
) -> Report:
    """What theory guarantees about a model's error on new data.

    - `certify(predictions="preds.csv")` (npz, npy, CSV, JSONL, Parquet, logs of lm-evaluation-harness, inspect_ai,
      folders of them), a `Sample`, a mapping of arrays, a data frame, `(y_true, y_pred)`, a list of rows or the output
      of `Trainer.predict` certifies any model from its predictions or losses; with the path of a recognised checkpoint
      beside it, the covering bound of that architecture is listed, too;
    - `certify(model, heldout=(x, y), train=(x, y))` certifies a model: one of this package, any Equinox module or
      function, `(apply, params)`, a scikit-learn estimator, a torch module with a loader; what else belongs to the
      model (before training, a final one) is said by a `Subject`;
    - `certify("model.safetensors", data="data.npz")` does so from files;
    - `certify(fit=estimator, data=(x, y))` plans the data: `fit` sees one part, the other certifies;
    - `certify(evidence=HoldOut(errors=28, n=5000))` certifies what was counted elsewhere (`certiformer.certificates`);
    - `certify(model, train=(x, y), by=[PickToLearn(), ...])` trains and certifies on the same examples, by procedures
      of `certiformer.lab.procedures`; `certify(fit="recipe.toml")` reads all that from a file.

    All guarantees hold together with the `confidence` (0.95), that is, all but with probability `delta` (0.05). `only`
    gives one certificate, decided beforehand, the whole of it. What the numbers mean, what the unit is, and how many
    models were compared is said in the `declaration` (`certiformer.Declaration`, or its fields by name). A number of
    models does not pay for one that was made after somebody looked at a score on these examples; adaptive use needs
    `certiformer holdout`, or fresh examples.
    """
    level, declared, subject = failure_probability(delta, confidence), Declaration.of(declaration), Subject.of(model)
    model = subject.model
    a_file = isinstance(model, (str, Path))
    ways = {"by": by, "fit": fit, "evidence": evidence, "predictions": predictions}
    beside = {"model": model, "heldout": heldout, "train": train, "data": data}
    way = next((name for name, value in ways.items() if value is not None), "a model file" if a_file else "a model")
    if way == "a model" and model is None:
        if any(value is not None for value in beside.values()):
            raise InputError("model", None, "a model, a checkpoint or predictions to go with the data")
        raise InputError(
            "certify", "nothing", "a model with examples, or predictions",
            "For example certify(predictions=...), or certiformer certify preds.csv; the demo is certiformer demo",
        )  # fmt: skip
    for name, value in {**ways, **beside}.items():
        if value is not None and name not in (way, *USED[way]):
            used = f"It goes with {' and '.join(USED[way])}" if USED[way] else ""
            raise InputError(name, f"given beside {way}", "one way to certify", used)
    if (subject.final is not None or subject.unlabelled is not None) and (heldout is None or model is None):
        raise InputError(
            "final, unlabelled", "given", "a model and heldout examples beside them", "Predictions have unlabelled_..."
        )
    if way == "by":
        if train is None or a_file:
            raise InputError("by", "procedures", "train=(inputs, labels), and a model that is not a file")
        found = of_procedures(subject, train, by or (), reading=declared.for_verb("certify(by=...)"))
    elif way == "fit" and isinstance(fit, (str, Path)):
        if data is not None or declared.as_json():
            raise InputError("fit", str(fit), "a recipe alone", "It says itself what it reads")
        from certiformer.lab.procedures.recipe import findings as from_recipe

        found = from_recipe(fit)
    elif way == "fit":
        if not isinstance(data, tuple):
            raise InputError("fit", "no data", "data=(inputs, labels)")
        found = of_training(Subject.of(fit), data, reading=declared)
    elif evidence is not None:
        found = _counted(evidence, declared.for_verb("certify(evidence=...)"))
    elif way == "predictions":
        if model is not None and not a_file:
            raise InputError(
                "predictions", "both a model and predictions", "one of the two, or the path of a checkpoint"
            )
        found = _from_predictions(predictions, declared, checkpoint=model)
    elif a_file:
        if data is None or isinstance(data, tuple):
            raise InputError(
                "data", data if data is None else "arrays", "a file of held-out examples (data.npz)",
                "For a file of predictions write certify(predictions=...)",
            )  # fmt: skip
        found = _from_checkpoint(subject, data, declared)
    else:
        if heldout is None:
            raise InputError(
                "heldout", None, "held-out examples (inputs, labels) to certify on",
                "If these are predictions, write certify(predictions=...)",
            )  # fmt: skip
        found = of_model(subject, heldout, train, reading=declared)
    return build(found, level, only=only)


@refuse_unknown_options
def demo(
    *,
    seed: int | None = None,
    retrain: bool = False,
    progress: bool | None = False,
    only: str | None = None,
    delta: float | None = None,
    confidence: float | None = None,
) -> Report:
    """The embedded demo: a small Transformer on digits, certified in every way there is (`retrain` trains it anew)."""
    from certiformer.lab.recipes import mnist

    level, chosen = failure_probability(delta, confidence), {} if seed is None else {"seed": seed}
    return build(mnist.findings(**chosen, retrain=retrain, progress=progress), level, only=only)


def _counted(evidence: Evidence | Sequence[Evidence], declared: Declaration) -> Findings:
    """Records that were counted elsewhere; what they rest on is the caller's to state."""
    records = (evidence,) if isinstance(evidence, Evidence) else tuple(evidence)
    classes = declared.classes if declared.classes is not None else 2
    return Findings(
        title=declared.title or "counts",
        classes=classes if isinstance(classes, int) else len(classes),
        evidence=records,
        configuration={"flow": "evidence", "records": [record.key for record in records]},
        seed=declared.draws,
        tried=max((record.models for record in records), default=1),
        not_checked=("anything about the examples: only counts were given",),
    )


def _from_predictions(predictions: Any, declared: Declaration, *, checkpoint: str | Path | None) -> Findings:
    """Findings from a sample; with a checkpoint, the covering bound of its class too."""
    sample = Sample.of(predictions, declared)
    facts = {"predictions": str(predictions)} if isinstance(predictions, (str, Path)) else {}
    found = of_sample(sample, provenance=facts)
    if checkpoint is None:
        return found
    from certiformer.certification.composition import composed

    return replace(
        found, composed=composed(checkpoint, sample), provenance={**found.provenance, "checkpoint": str(checkpoint)}
    )


def _from_checkpoint(subject: Subject, data: str | Path, declared: Declaration) -> Findings:
    from certiformer.lab import models

    path = Path(subject.model)
    loaded, extra = models.load(path) if subject.config is None else (models.load_bare(path, subject.config), {})
    arrays = read_npz(data, DATA_ARRAYS)
    heldout, train = heldout_and_train(arrays, str(data))
    training = extra.get("training", {})
    return of_model(
        Subject(loaded, initial=subject.initial),
        heldout,
        train,
        reading=replace(declared, title=declared.title or f"{getattr(loaded, 'name', 'model')} from {path.name}"),
        training=training if isinstance(training, dict) else {},
        provenance={"checkpoint": str(path), "data": str(data)},
    )


def heldout_and_train(arrays: Mapping[str, npt.NDArray[Any]], source: str) -> tuple[Pair, Pair | None]:
    """Held-out examples, and those the model was trained on; bare `inputs` and `labels` are held-out."""
    names = ("heldout_inputs", "heldout_labels") if "heldout_inputs" in arrays else ("inputs", "labels")
    if not all(name in arrays for name in names):
        raise InputError(
            "data",
            sorted(arrays),
            "heldout_inputs and heldout_labels (and train_inputs, train_labels), or inputs and labels, all held out",
            f"In {source}",
        )
    known = "train_inputs" in arrays
    if known != ("train_labels" in arrays):
        raise InputError("data", sorted(arrays), "both train_inputs and train_labels, or neither", f"In {source}")
    heldout = (arrays[names[0]], arrays[names[1]])
    return heldout, (arrays["train_inputs"], arrays["train_labels"]) if known else None
