"""`certiformer.certify`: one call from a model and data, or from predictions, to a report."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy.typing as npt

from certiformer.certificates import Evidence
from certiformer.certification import answers, frameworks, sources
from certiformer.certification.counting import Pair, of_model, of_training
from certiformer.certification.evidence import Findings
from certiformer.certification.pipeline import build
from certiformer.certification.predictions import margins_of, of_predictions, refuse_unknown
from certiformer.certification.procedure import of_procedures
from certiformer.certification.reading import Outputs, Reading
from certiformer.certification.sources.npz import read_npz
from certiformer.certification.sources.repeats import Repeats
from certiformer.core.errors import InputError, refuse_unknown_options
from certiformer.core.report import Report

DATA_ARRAYS = ("inputs", "labels", "train_inputs", "train_labels", "heldout_inputs", "heldout_labels")


@refuse_unknown_options
def certify(
    model: Callable[..., Any] | str | Path | None = None,
    *,
    heldout: Any = None,
    train: Any = None,
    data: Pair | str | Path | None = None,
    predictions: Any = None,
    columns: sources.Choice | None = None,
    evidence: Evidence | Sequence[Evidence] | None = None,
    fit: Any = None,
    by: Sequence[Any] | None = None,
    params: Any = None,
    batched: bool = False,
    initial: Any = None,
    final: Callable[..., Any] | None = None,
    unlabelled: npt.ArrayLike | None = None,
    config: str | Path | Mapping[str, Any] | None = None,
    models: int = 1,
    classes: int | Sequence[str] | None = None,
    outputs: Outputs | None = None,
    abstain: int | str | None = None,
    low: float = 0.0,
    high: float | None = None,
    clip: float | None = None,
    two_sided: bool = False,
    order: Literal["average", "hash"] = "average",
    estimand: Literal["groups", "rows"] = "groups",
    max_size: int | None = None,
    repeats: Repeats = "refuse",
    slices: str | None = None,
    only: str | None = None,
    delta: float = 0.05,
    seed: int | None = None,
    allow_twins: bool = False,
    retrain: bool = False,
    progress: bool | None = False,
    title: str = "",
    command: str = "",
) -> Report:
    """What theory guarantees about a model's error on new data.

    - `certify()` runs the embedded demo (`retrain` trains it anew);
    - `certify(model, heldout=(x, y), train=(x, y))` certifies a model: one of this package, any Equinox module or
      function of one example, a function of a whole batch with `batched`, or `apply(params, x)` with `params`;
    - `certify("model.safetensors", data="data.npz")` does so from files;
    - `certify(estimator, heldout=(x, y))` and `certify(module, heldout=loader)` take scikit-learn estimators and torch
      modules as they are, `certify(fit=estimator, data=(x, y))` plans, fits and certifies;
    - `certify(predictions="preds.csv")` (npz, npy, CSV, JSONL, Parquet, logs of lm-evaluation-harness, inspect_ai), a
      mapping of arrays or the output of `Trainer.predict` certifies any model from its predictions or losses; with the
      path of a recognised checkpoint beside it, the covering bound of that architecture is listed, too;
    - `certify(evidence=HoldOut(errors=28, n=5000))` certifies what was counted elsewhere (`certiformer.certificates`),
      for `classes` classes;
    - `certify(model, train=(x, y), by=[PickToLearn(), ...])` trains and certifies on the same examples, by procedures
      of `certiformer.certification.procedures`; `certify(fit="recipe.toml")` reads all that from a file;
    - `certify(fit=train_it, data=(x, y))` plans the data: `fit(x, y, seed)` sees one part, the other certifies.

    `models` is the number of models that were compared on the held-out examples, all of them fixed before any was
    scored there: they divide delta. It does not pay for a model that was made after somebody looked at a score on
    these examples; adaptive use needs `certiformer holdout`, or fresh examples. `only` gives one certificate, decided
    beforehand, the whole of delta. What the other options declare: `certiformer.certification.reading.Reading`; which
    columns of a table are meant: `columns`, a `certiformer.certification.sources.Choice`.
    """
    if not 0.0 < delta < 1.0:
        raise InputError("delta", delta, "a number in (0, 1)", "For example 0.05")
    if (final is not None or unlabelled is not None) and (heldout is None or model is None):
        raise InputError(
            "final, unlabelled", "given", "a model and heldout examples beside them", "Predictions have unlabelled_..."
        )
    reading = Reading(
        models=models,
        allow_twins=allow_twins,
        seed=0 if seed is None else seed,
        title=title,
        outputs=outputs,
        classes=classes,
        abstain=abstain,
        low=low,
        high=high,
        clip=clip,
        two_sided=two_sided,
        order=order,
        estimand=estimand,
        max_size=max_size,
        repeats=repeats,
        slices=slices,
    )
    if by is not None:
        found = _by_procedures(model, train, by, reading=reading, params=params, batched=batched)
    elif isinstance(fit, (str, Path)):
        from certiformer.certification.procedures.recipe import findings as from_recipe

        found = from_recipe(fit)
    elif fit is not None:
        if model is not None or not isinstance(data, tuple):
            raise InputError("fit", "no data, or a model too", "data=(inputs, labels) and no model")
        found = of_training(fit, data, batched=batched, reading=reading)
    elif evidence is not None:
        if model is not None or predictions is not None or models != 1:
            raise InputError("evidence", "given", "records alone", "Count compared models in the records")
        found = _counted(evidence, reading)
    elif predictions is not None:
        if model is not None and not isinstance(model, (str, Path)):
            raise InputError(
                "predictions", "both a model and predictions", "one of the two, or the path of a checkpoint"
            )
        found = _from_predictions(predictions, columns, reading, checkpoint=model)
    elif isinstance(model, (str, Path)):
        if data is None or isinstance(data, tuple):
            raise InputError("data", data if data is None else "arrays", "a file of held-out examples (data.npz)")
        found = _from_checkpoint(model, data, config, initial, reading)
    elif model is not None:
        if heldout is None:
            raise InputError("heldout", None, "held-out examples (inputs, labels) to certify on")
        found = of_model(
            model,
            heldout,
            train,
            reading=reading,
            params=params,
            batched=batched,
            initial=initial,
            final=final,
            unlabelled=unlabelled,
        )
    elif data is not None or heldout is not None or train is not None:
        raise InputError("model", None, "a model, a checkpoint or predictions to go with the data")
    else:
        if models != 1:
            raise InputError("models", models, "1 for the demo", "Its recipe counts and pays for its configurations")
        found = _demo(seed, retrain, progress)
    return build(found, delta, only=only, command=command)


def _counted(evidence: Evidence | Sequence[Evidence], reading: Reading) -> Findings:
    """Records that were counted elsewhere; what they rest on is the caller's to vouch for."""
    records = (evidence,) if isinstance(evidence, Evidence) else tuple(evidence)
    classes = reading.classes if reading.classes is not None else 2
    return Findings(
        title=reading.title or "counts",
        classes=classes if isinstance(classes, int) else len(classes),
        observed={"train_error": None, "heldout_error": None},
        evidence=records,
        configuration={"flow": "evidence", "records": [record.key for record in records]},
        splits={},
        seed=reading.seed,
        tried=max((record.models for record in records), default=1),
        not_checked=("anything about the examples: only counts were given",),
    )


def _by_procedures(model: Any, train: Pair | None, by: Sequence[Any], **options: Any) -> Findings:
    if train is None or isinstance(model, (str, Path)):
        raise InputError("by", "procedures", "train=(inputs, labels), and a model that is not a file")
    return of_procedures(model, train, by, **options)


def _demo(seed: int | None, retrain: bool, progress: bool | None) -> Findings:
    from certiformer.certification.recipes import mnist

    chosen = {} if seed is None else {"seed": seed}
    return mnist.findings(**chosen, retrain=retrain, progress=progress)


def _from_predictions(
    predictions: Any, columns: sources.Choice | None, reading: Reading, *, checkpoint: str | Path | None = None
) -> Findings:
    """Findings from a file, a mapping of arrays, or the output of Trainer.predict; with a checkpoint, its class too."""
    candidate, facts = None, {}
    if isinstance(predictions, (str, Path)):
        path = Path(predictions)
        arrays: Mapping[str, Any] = sources.read(path, columns)
        candidate = arrays.get("group_candidate")
        arrays = {name: value for name, value in arrays.items() if name not in sources.ASIDE}
        refuse_unknown(arrays, path.name)
        reading = replace(reading, title=reading.title or path.name)
        facts = {"predictions": str(predictions), **({} if columns is None else {"columns": columns.as_text()})}
    elif frameworks.is_trainer_output(predictions):
        arrays = answers.trainer_output(predictions, reading)
    elif isinstance(predictions, Mapping):
        refuse_unknown(predictions, "predictions")
        arrays = {name: frameworks.array_of(value) for name, value in predictions.items()}
    else:
        raise InputError("predictions", type(predictions).__name__, "a file, a mapping of arrays, or Trainer.predict's")
    found = of_predictions(arrays, reading, provenance=facts)
    if candidate is not None:
        said = f"whether rows of one {candidate} are independent: say --group {candidate} if they are not"
        found = replace(found, not_checked=(*found.not_checked, said))
    if checkpoint is None:
        return found
    from certiformer.certification.composition import composed

    architecture = composed(checkpoint, margins_of(arrays, reading))
    return replace(found, composed=architecture, provenance={**found.provenance, "checkpoint": str(checkpoint)})


def _from_checkpoint(
    path: str | Path,
    data: str | Path,
    config: str | Path | Mapping[str, Any] | None,
    initial: Any,
    reading: Reading,
) -> Findings:
    loaded, extra = _load(Path(path), config)
    arrays = read_npz(data, DATA_ARRAYS)
    heldout, train = heldout_and_train(arrays, str(data))
    training = extra.get("training", {})
    return of_model(
        loaded,
        heldout,
        train,
        reading=replace(reading, title=reading.title or f"{getattr(loaded, 'name', 'model')} from {Path(path).name}"),
        initial=initial,
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


def _load(path: Path, config: str | Path | Mapping[str, Any] | None) -> tuple[Any, dict[str, Any]]:
    """The model in a checkpoint of this package, or bare weights with a config given apart."""
    from certiformer import models

    if config is None:
        return tuple(models.load(path))  # type: ignore[return-value]
    settings = dict(config) if isinstance(config, Mapping) else _read_config(Path(config))
    name = settings.pop("model", None)
    if not isinstance(name, str):
        raise InputError("config", name, '"model" with the name of an architecture', f"Known: {models.names()}")
    cls = models.model_type(name)
    tensors = _tensors(path)
    import jax.numpy as jnp

    described = models.config(name, **settings)
    try:
        return cls(config=described, **{key: jnp.asarray(value) for key, value in tensors.items()}), {}
    except TypeError as error:
        raise InputError("checkpoint", sorted(tensors), f"the tensors of {name}", f"({error})") from error


def _read_config(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError("config", str(path), "a readable JSON file", str(error.strerror)) from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError("config", str(path), "a JSON object", str(error)) from error
    if not isinstance(found, dict):
        raise InputError("config", type(found).__name__, "a JSON object with model and its settings")
    return found


def _tensors(path: Path) -> dict[str, Any]:
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise InputError("checkpoint", str(path), "an existing file")
    try:
        with safe_open(path, framework="numpy") as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
    except (SafetensorError, OSError) as error:
        raise InputError("checkpoint", str(path), "a complete safetensors file", f"({error})") from error
