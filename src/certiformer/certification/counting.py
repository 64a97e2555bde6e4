"""From a model and data to what a report is made of: counts on held-out examples that are shown to be new."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.certificates import Evidence, Predictor
from certiformer.certificates.disagreement import Disagreement
from certiformer.certification import answers, frameworks, learners
from certiformer.certification.declaration import Declaration
from certiformer.certification.losses import LEAST_EXAMPLES
from certiformer.certification.pipeline import Findings
from certiformer.certification.predictions import of_sample
from certiformer.certification.predictors.estimator import NamedEstimator, named
from certiformer.certification.predictors.model import predictor_of
from certiformer.certification.sample import Sample
from certiformer.certification.split import Split, data_hash, refuse_overlap, split
from certiformer.theory.core.errors import InputError

Array = npt.NDArray[np.float64]
Pair = tuple[npt.ArrayLike, npt.ArrayLike]

CERTIFY_FRACTION = 0.25
FUNCTION = "the function `fit`"
UNSEEN = f"whether {FUNCTION} had seen the certified examples before it was called"


@dataclass(frozen=True, eq=False)
class Subject:
    """A model with what belongs to it, for `certify`.

    `model`: a function, a module, an estimator, or the path of a checkpoint. `params`: it is `apply(params, x)`, with
    these weights. `batched`: it takes a whole batch. `initial`: the same model before training. `config`: the
    architecture of bare weights. `final`, `unlabelled`: another model, to which the certificate is carried over by
    examples that are new to both.
    """

    model: Any
    params: Any = None
    batched: bool = False
    initial: Any = None
    config: str | Path | Mapping[str, Any] | None = None
    final: Callable[..., Any] | None = None
    unlabelled: npt.ArrayLike | None = None

    @classmethod
    def of(cls, model: Any) -> Subject:
        """The subject as it is, or (function, weights), or a bare model."""
        if isinstance(model, Subject):
            return model
        if isinstance(model, tuple) and len(model) == 2 and callable(model[0]):
            return cls(model[0], params=model[1])
        return cls(model)


def pair(name: str, data: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Inputs and labels as arrays of equal length, inputs finite: what is trained on here."""
    given, truth = frameworks.examples_of(data, name)
    if isinstance(given, Mapping):
        raise InputError(f"{name} inputs", sorted(given), "one array of inputs")
    given = given.toarray() if hasattr(given, "toarray") else given
    inputs = frameworks.finite(f"{name} inputs", frameworks.comparable(given))
    return inputs, frameworks.labels_of(f"{name} labels", truth)


def of_model(
    subject: Subject,
    heldout: Any,
    train: Any = None,
    *,
    reading: Declaration,
    training: Mapping[str, Any] | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> Findings:
    """Certify anything that predicts on held-out examples: an object, a module of any framework, a function.

    `train` is what it was trained on: it gives the training error, the profile and the papers' bounds, and is compared
    with the held-out examples. `final` and `unlabelled` carry the certificate over to another model.
    """
    model, batched, final, unlabelled = subject.model, subject.batched, subject.final, subject.unlabelled
    if subject.params is not None:
        model = frameworks.with_params(model, subject.params)
    known = frameworks.is_jax(model) and not batched  # its weights can be read
    handed: Predictor | str | None = None
    if known:
        frameworks.tensors_of(model)  # refuses weights that are not finite
    else:
        handed = _numbers(model, (heldout, train), reading)
    title = reading.title or _name(model)
    if isinstance(handed, NamedEstimator):
        model = handed.asked  # what is certified is what is handed over
    if frameworks.is_own(model) and reading.outputs is None:
        reading = replace(reading, outputs="logits")  # known, not guessed
    if all(isinstance(part, tuple) and len(part) == 2 for part in (heldout, train)):
        frameworks.refuse_other_columns(heldout[0], train[0])
    arrays, said, answered = answers.arrays_of(model, heldout, "heldout", reading, batched=batched)
    facts: dict[str, Any] = {"asked": answered.asked, **_hashed(arrays, "heldout")}
    if train is not None:
        seen, more, _ = answers.arrays_of(model, train, "train", reading, batched=batched)
        arrays |= seen
        facts |= _hashed(arrays, "train")
        if "classes" in more:
            said["classes"] = tuple(dict.fromkeys((*said["classes"], *more["classes"])))
    if (final is None) != (unlabelled is None):
        raise InputError("final, unlabelled", "one of the two", "both: a second model and examples new to both")
    if final is not None and unlabelled is not None:
        mine, theirs = (
            answers.decided(frameworks.answer(one, unlabelled, reading, "unlabelled", batched=batched))
            for one in (model, final)
        )
        arrays |= {
            "unlabelled_predictions": mine,
            "unlabelled_final_predictions": theirs,
            "unlabelled_inputs": frameworks.comparable(unlabelled),
        }
    chosen = reading if reading.classes is not None else replace(reading, **said)
    sample = Sample.of(arrays, replace(answers.spent(chosen, arrays), title=title))
    found = of_sample(sample)
    if known:
        handed = predictor_of(model)
    profiled = None
    if known and sample.coding is not None and "train_labels" in arrays:
        profiled = arrays["train_inputs"], sample.coding.code("train labels", arrays["train_labels"])
    return replace(
        found,
        evidence=_handed(found.evidence, handed, final),
        configuration={**found.configuration, "flow": "model"},
        model=model if known else None,
        sample=profiled,
        initial=subject.initial,
        training=dict(training or {}),
        provenance={**found.provenance, **facts, **(provenance or {})},
        conditions=(*found.conditions, *answered.conditions),
        not_checked=(*found.not_checked, *answered.not_checked),
    )


def _hashed(arrays: Mapping[str, Any], part: str) -> dict[str, str]:
    names = [f"{part}_{kind}" for kind in ("inputs", "labels")]
    return {f"{part}_data": data_hash(*(arrays[name] for name in names))} if all(n in arrays for n in names) else {}


def of_training(learner: Subject, data: Pair, *, reading: Declaration) -> Findings:
    """Plan the data, train on one part with `fit(inputs, labels, seed) -> model`, certify on the other.

    `fit` may be an estimator that was not fitted yet, or a function that returns any model.
    """
    fit = learner.model
    given, truth = frameworks.examples_of(data, "data")
    x, y = frameworks.comparable(given), frameworks.labels_of("labels", truth)
    parts = division(len(x), CERTIFY_FRACTION, reading.draws)
    train, certify = parts["train"], parts["certify"]
    refuse_overlap(x[certify], x[train], allow_twins=reading.allow_twins)
    seen, heldout = ((_taken(given, x, part), y[part]) for part in (train, certify))
    if isinstance(fit, type):
        raise InputError("fit", fit.__name__, "an object, not its class", f"Make one: {fit.__name__}(...)")
    code = learners.own_code(fit) if learners.is_learner(fit) else FUNCTION
    if learners.is_learner(fit):
        model = learners.fitted(fit, *seen, reading.draws)
    else:
        model = _called(fit, *seen, reading.draws)
    named = replace(reading, title=reading.title or f"a model trained on {len(train)} of {len(x)} examples")
    found = of_model(Subject(model, batched=learner.batched), heldout, seen, reading=named)
    return replace(
        found,
        splits={"data": parts.hash},
        configuration={**found.configuration, "flow": "training", "fraction": CERTIFY_FRACTION},
        not_checked=(*found.not_checked, *([UNSEEN.replace(FUNCTION, code)] if code else [])),
    )


def _called(fit: Any, *given: Any) -> Any:
    try:
        inspect.signature(fit).bind(*given)
        known = not frameworks.is_torch(fit)  # whose modules take anything
    except (TypeError, ValueError):
        known = False
    if not known:
        raise InputError(
            "fit", type(fit).__name__, "an estimator, or a function fit(inputs, labels, seed) that returns a model",
            "A trained model is certified on held-out examples: certify(model, heldout=(x, y))",
        )  # fmt: skip
    return fit(*given)


def _taken(given: Any, array: npt.NDArray[Any], part: npt.NDArray[Any]) -> Any:
    """Some of the rows; a frame stays one, for its columns have names, as do arrays by name and a sparse matrix."""
    kept = any(hasattr(given, name) for name in ("iloc", "columns", "tocsr")) or isinstance(given, Mapping)
    return frameworks.rows_at(given, part) if kept else array[part]


def division(n: int, fraction: float, seed: int) -> Split:
    """Which of n examples train, and which certify."""
    size = max(LEAST_EXAMPLES, round(fraction * n))
    if n - size < 1:
        raise InputError("data", f"{n} examples", f"more than {LEAST_EXAMPLES}: some to train, some to certify")
    return split(n, {"train": n - size, "certify": size}, seed)


def _numbers(model: Any, parts: Sequence[Any], reading: Declaration) -> NamedEstimator | str | None:
    """A classifier of scikit-learn as numbers that answer as it does, or why not; None for anything else."""
    if isinstance(model, NamedEstimator):
        return model
    if not frameworks.is_sklearn(model) or not hasattr(model, "predict"):
        return None
    names = frameworks.classes_of(model)
    if names is None or reading.outputs not in (None, "labels"):
        return f"{type(model).__name__} is not asked for one class per example"
    given = [frameworks.examples_of(part, "heldout")[0] for part in parts if part is not None]
    try:
        return named(model, names, [(inputs, frameworks.comparable(inputs)) for inputs in given])
    except ValueError as error:  # inputs that it does not take: it is asked below, and says so
        return f"{type(model).__name__} said: {error}"


def _handed(evidence: tuple[Evidence, ...], mine: Predictor | str | None, final: Any) -> tuple[Evidence, ...]:
    """The records with the predictor they are about, where that can be written; else why it was not."""
    if isinstance(mine, str):
        note = f"No predictor file was written ({mine}): verify cannot count this again."
        return tuple(replace(record, note=f"{record.note} {note}".strip()) for record in evidence)
    if mine is None:
        return evidence
    other = predictor_of(final) if frameworks.is_jax(final) else None
    return tuple(
        replace(record, predictor=other, through=mine)
        if isinstance(record, Disagreement)
        else replace(record, predictor=mine)
        for record in evidence
    )


def _name(model: Any) -> str:
    if frameworks.is_own(model):
        return str(model.name)
    return str(getattr(getattr(model, "func", model), "__name__", type(model).__name__))
