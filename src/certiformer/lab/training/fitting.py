"""From a model, a task and a recipe to a trained model: what `certiformer train` runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import optax
from jaxtyping import Array

from certiformer.lab import models, tasks
from certiformer.lab.training.loop import Rules, Run, Saving, Select, Step, reached, run
from certiformer.lab.training.losses import Loss, named_loss
from certiformer.lab.training.optimisers import adam, gradient_descent, momentum_sgd, trauger_schedule
from certiformer.lab.training.presets import Recipe
from certiformer.lab.training.projection import onto_omega
from certiformer.lab.training.steps import Data, Objective, State, begin, epochs, full_batch, functional, stochastic
from certiformer.lab.training.steps import supervised as supervised_objective
from certiformer.lab.training.token_table import token_table
from certiformer.theory.core.errors import InputError


@dataclass(frozen=True)
class Fitted:
    """A trained model, the record of its run, and what a checkpoint says about it."""

    model: models.Model
    run: Run
    facts: dict[str, Any]
    task: tasks.Task
    """What it was trained on, and the part that training never saw."""


Look = Callable[[int, models.Model, tuple[Array, Array], tuple[Array, Array]], None]
"""`look(step, model, (inputs, labels) of training, (inputs, labels) of the test part)`."""


def fit(
    model_name: str,
    task_name: str,
    recipe: Recipe,
    *,
    seed: int = 0,
    model_settings: Mapping[str, Any] | None = None,
    task_settings: Mapping[str, Any] | None = None,
    chunk: int = 100,
    running: Path | None = None,
    every_seconds: float = 60.0,
    resume: bool = True,
    progress: bool | None = None,
    look: Look | None = None,
) -> Fitted:
    """Draw the task, build the model, train it. Everything random comes from `seed`.

    running: where to keep the running state; with `resume`, an interrupted run continues.
    look: called with the step, the model and the two samples before the first step, after every `chunk` steps, and
    after the last.
    """
    key_task, key_model, key_train, key_signs = jax.random.split(jax.random.key(seed), 4)
    task = tasks.build(task_name, key_task, **dict(task_settings or {}))
    settings = _filled(model_name, dict(model_settings or {}), task)
    model = models.build(model_name, key_model, dtype=task.train.inputs.dtype, **settings)
    train, model = _after_first_phase(model, task, recipe, key_signs)
    plan = _plan(model, task, train, recipe)
    seen = tuple((part.inputs, part.labels) for part in (train, task.test))
    optimiser = _optimiser(recipe, len(train))
    step = _step(plan, optimiser, recipe, len(train))
    rules = Rules(
        stop=reached("accuracy", 1.0) if recipe.stop_when_fitted else None,
        select=None if recipe.select == "last" else Select("validation_loss", plan.measured),
        kept=_params,
        look=None if look is None else lambda done, state: look(done, eqx.combine(state.params, model), *seen),
    )
    if recipe.stop_when_fitted and not plan.decides:
        raise InputError("stop_when_fitted", task.labels, "a task with classes or signs as labels")
    identity = {
        "model": model_name,
        "model_settings": settings,
        "task": task_name,
        "recipe": asdict(recipe),
        "seed": seed,
        "data": task.train.fingerprint(),
        "dtype": str(task.train.inputs.dtype),
    }
    state = begin(plan.params, optimiser, key_train, projected=recipe.optimiser.startswith("projected"))
    saving = None if running is None else Saving(running, identity, every_seconds, resume)
    record = run(
        step,
        state,
        plan.data,
        steps=recipe.steps,
        chunk=min(chunk, recipe.steps),
        rules=rules,
        saving=saving,
        progress=progress,
        label=model_name,
    )
    params = record.state.params if recipe.select == "last" else record.best
    trained = eqx.combine(params, model)
    facts = {**identity, "task_settings": dict(task_settings or {}), "test_data": task.test.fingerprint()}
    known = {name: value for name, value in task.meta.items() if name.endswith("_accuracy")}
    facts |= {"final": _final(plan, params), "compare_with": known}
    facts |= {"run": summary(record, recipe), "metrics": _thinned(record)}
    return Fitted(trained, record, facts, task)


def summary(record: Run, recipe: Recipe) -> dict[str, Any]:
    """What happened: steps taken, why they ended, and which iterate was kept."""
    stopped = int(record.stopped)
    kept: dict[str, Any] = {"iterate": "last"}
    if recipe.select == "best":
        kept = {"iterate": "best validation loss", "step": int(record.best_step)}
        kept["validation_loss"] = float(record.best_value)
    return {
        "steps": stopped + 1 if stopped >= 0 else record.steps,
        "ended": "training accuracy reached 1" if stopped >= 0 else "all steps taken",
        "kept": kept,
        "seconds": round(record.seconds, 3),
    }


@dataclass(frozen=True)
class _Plan:
    params: Any
    objective: Objective
    data: Data
    measured: str
    decides: bool


def _params(state: State) -> Any:
    return state.params


def _filled(name: str, settings: dict[str, Any], task: tasks.Task) -> dict[str, Any]:
    """Sizes that the data decide, where the caller has not."""
    tokens, d = task.train.inputs.shape[1:]
    known = {field.name for field in fields(models.model_type(name).config_type)}
    for setting, value in (("d", int(d)), ("tokens", int(tokens))):
        if setting in known:
            settings.setdefault(setting, value)
    return settings


def _after_first_phase(
    model: models.Model, task: tasks.Task, recipe: Recipe, key: Array
) -> tuple[tasks.Dataset, models.Model]:
    """Deora's first phase, one step from zero with a random sign per head, on samples that the second never sees.

        theta_h(1) = 0 - alpha_h sqrt(H) grad_h L_{n1}(0),      alpha_h = +1 or -1

    With the same samples theta(1) would depend on them, and the stability argument behind the generalization bound
    would no longer apply.
    """
    n1 = recipe.first_phase
    if n1 == 0:
        return task.train, model
    if not isinstance(model, models.MultiHeadAttention):
        raise InputError("first_phase", n1, "0, or the model multi_head_attention")
    if n1 >= len(task.train):
        raise InputError("first_phase", n1, f"fewer than the {len(task.train)} training samples")
    loss = _loss(recipe, "logistic")
    first, rest = task.train.take(slice(0, n1)), task.train.take(slice(n1, None))

    def mean_loss(m: Any) -> Array:
        return jnp.mean(jax.vmap(loss)(jax.vmap(m)(first.inputs), first.labels))

    heads = model.config.heads
    step = jax.random.rademacher(key, (heads,), dtype=jnp.result_type(float)) * float(heads) ** 0.5
    zero = jax.tree.map(jnp.zeros_like, model)

    def move(leaf: Array, slope: Array) -> Array:
        scale: Array = step.astype(leaf.dtype).reshape((-1,) + (1,) * (leaf.ndim - 1))
        return leaf - scale * slope

    return rest, jax.tree.map(move, zero, jax.grad(mean_loss)(zero))


def _plan(model: models.Model, task: tasks.Task, train: tasks.Dataset, recipe: Recipe) -> _Plan:
    """The objective and the data in the form it reads: the bits of sparse majority, or the examples as they are."""
    shape = jax.eval_shape(model, train.inputs[0]).shape
    decides = task.labels in ("signs", "classes")
    scalar = shape == ()
    automatic = "squared" if task.labels == "real" else "logistic" if scalar else "cross_entropy"
    if isinstance(model, models.KerasClsTransformer):
        automatic = "two_sigmoids"
    if task.labels == "real" and not scalar:
        raise InputError("model", f"{model.name} with {shape[-1]} outputs", "a scalar output for real labels")
    loss = _loss(recipe, automatic)
    labels = _coder(task.labels, scalar)
    full = recipe.optimiser in ("gd", "projected_gd")
    params, apply = functional(model)
    measured = "before" if full or recipe.optimiser.endswith("sgd") else "after"

    objective = supervised_objective(apply, loss, accuracy=decides)
    data = Data(*((part.inputs, labels(part.labels)) for part in (train, task.test)))
    if isinstance(model, models.KerasClsTransformer) and "bits" in train.meta and model.config.cls == -1:
        objective = token_table(loss)
        kind = train.inputs.dtype
        bits, held_out = ((part.meta["bits"].astype(kind), labels(part.labels)) for part in (train, task.test))
        data = Data(bits, held_out, task.source.table)
    return _Plan(params, objective, data, measured, decides)


def _loss(recipe: Recipe, automatic: str) -> Loss:
    return named_loss(automatic if recipe.loss == "auto" else recipe.loss)


def _coder(kind: str, scalar: bool) -> Callable[[Array], Array]:
    """Labels as the loss wants them: signs for a scalar output, class indices for several."""
    if kind == "classes" and scalar:
        return lambda y: 2.0 * y - 1.0
    if kind == "signs" and not scalar:
        return lambda y: (y > 0).astype(jnp.int32)
    return lambda y: y


def _optimiser(recipe: Recipe, samples: int) -> optax.GradientTransformation:
    rate: Any = recipe.rate
    if recipe.schedule == "trauger":
        rate = trauger_schedule(-(-samples // recipe.batch), recipe.rate, floor=recipe.rate / 10)
    if recipe.optimiser in ("gd", "projected_gd", "sgd", "projected_sgd"):
        if recipe.schedule != "constant":
            raise InputError("schedule", recipe.schedule, '"constant" for this optimiser', "Use momentum or adam.")
        return gradient_descent(recipe.rate)
    return adam(rate) if recipe.optimiser == "adam" else momentum_sgd(rate)


def _step(plan: _Plan, optimiser: optax.GradientTransformation, recipe: Recipe, samples: int) -> Step:
    project = None
    if recipe.optimiser.startswith("projected"):
        if not isinstance(plan.params, models.IndependentHeads):
            raise InputError("optimiser", recipe.optimiser, "the model independent_heads, whose set Omega_rho is")
        project = onto_omega(dict(zip(("c", "u", "W"), recipe.rho, strict=True)), plan.params.config.heads)
    if recipe.optimiser in ("gd", "projected_gd"):
        return full_batch(plan.objective, optimiser, project=project, validation=plan.objective)
    if recipe.optimiser in ("sgd", "projected_sgd"):
        if recipe.select == "best":
            raise InputError("select", "best", '"last" with stochastic steps, which have no validation pass')
        return stochastic(plan.objective, optimiser, batch=recipe.batch, project=project)
    return epochs(plan.objective, optimiser, batch=min(recipe.batch, samples), validation=plan.objective)


def _final(plan: _Plan, params: Any) -> dict[str, float]:
    """Losses (and accuracies) of the parameters that are kept."""
    shared = () if isinstance(plan.data.shared, tuple) else (plan.data.shared,)
    evaluate = jax.jit(plan.objective)
    result = {}
    for name, part in (("train", plan.data.train), ("test", plan.data.validation)):
        loss, metrics = evaluate(params, (*part, *shared) if shared else part)
        result[f"{name}_loss"] = float(loss)
        result |= {f"{name}_{metric}": float(value) for metric, value in metrics.items()}
    return result


def _thinned(record: Run, most: int = 200) -> dict[str, Any]:
    """The curves at up to 200 steps, the last one included."""
    count = record.steps if int(record.stopped) < 0 else int(record.stopped) + 1
    chosen: npt.NDArray[Any] = np.unique(np.linspace(0, count - 1, min(most, count)).round().astype(int))
    curves = {name: [float(v) for v in values[chosen]] for name, values in record.metrics.items()}
    return {"step": chosen.tolist(), **curves}
