"""Trauger and Tewari, section 6: one network trained on sparse majority, as the released program does it.

Seeds are run one after another: on a core a batch of five by `vmap` took 1.3 (T = 20) to 1.9 times (T = 200) as long
for each of them (measured), because both forms of the attention are then computed.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import optax
from jaxtyping import Array

from certiformer.experiments.study import Scale
from certiformer.measure.norms import entrywise_l1, mixed_norm
from certiformer.measure.tokens import half_diameter, token_norm
from certiformer.models import KerasClsTransformer, KerasClsTransformerConfig, weights
from certiformer.sweep import Experiment, Outcome
from certiformer.sweep.run import Config
from certiformer.tasks.sparse_majority import SparseMajority, sparse_majority
from certiformer.training import fast, loop
from certiformer.training.optimisers import momentum_sgd, trauger_schedule
from certiformer.training.presets import preset
from certiformer.training.steps import Data, Objective, State, begin, epochs

Matrix = npt.NDArray[np.float64]

NAME = "trauger.sparse_majority"
PAPER_LENGTHS = tuple(range(20, 201, 20))  # the paper's T
PAPER_RUNS = 5  # the paper's runs for each T
QUICK_LENGTHS = (20, 40, 80, 120, 200)
QUICK_EPOCHS, QUICK_EVERY = 5_000, 25
POINTS = 200
"""The most points kept of a curve."""
BETWEEN_LOOKS = 500
"""Epochs between two looks of the host, where a run that has fitted its sample ends."""

# Measured on one core (2.5 GHz, AVX-512), float32: seconds for an epoch of 300 samples in three batches, and for a
# validation sample; each with its part for every token. Compilation (about 7 s for each T) is left out.
EPOCH, EPOCH_TOKEN = 6.0e-4, 9.0e-6
SAMPLE, SAMPLE_TOKEN = 1.3e-7, 2.1e-9


def experiment(scale: Scale) -> Experiment:
    """The runs that all studies of this paper share."""
    recipe = preset("trauger").recipe
    common = {"batch": recipe.batch, "rate": recipe.rate, "relevant": 9, "d": 64, "heads": 2}
    sizes = {"samples": 300, "validation": 10_000}
    # whole batches only, which saves compiling a third of the program
    small = {"samples": 256, "validation": 1_000}
    grids: dict[Scale, tuple[tuple[int, ...], int, Config]] = {
        "smoke": ((20, 40), 2, {**small, "epochs": 100, "validated_every": 10}),
        "quick": (QUICK_LENGTHS, PAPER_RUNS, {**sizes, "epochs": QUICK_EPOCHS, "validated_every": QUICK_EVERY}),
        "paper": (PAPER_LENGTHS, PAPER_RUNS, {**sizes, "epochs": recipe.steps, "validated_every": 1}),
    }
    lengths, runs, grid = grids[scale]
    return Experiment(
        NAME,
        run=f"{__name__}:run",
        configs=[{"tokens": T, "seed": seed, **common, **grid} for T in lengths for seed in range(runs)],
    )


def cost(config: Config) -> float:
    """Seconds on one core if training goes through to the last epoch."""
    T = config["tokens"]
    epoch = (EPOCH + EPOCH_TOKEN * T) * config["samples"] / 300
    validation = config["validation"] * (SAMPLE + SAMPLE_TOKEN * T)
    return float(config["epochs"] * (epoch + validation / config["validated_every"]))


def probe(config: Config) -> float:
    """The same, from twenty validated blocks of epochs here and now."""
    program, problem = _program_of(config), _problem(config)
    state = begin(problem.model, program.optimiser, problem.key)

    def blocks(count: int) -> None:
        loop.run(program.step, state, problem.data, steps=count, chunk=count, rules=program.rules, progress=False)

    blocks(20)
    began = time.perf_counter()
    blocks(20)
    return float((time.perf_counter() - began) / 20 * config["epochs"] / config["validated_every"])


def run(config: Config) -> Outcome:
    """Train until the sample is fitted or the epochs are over; take the weights with the lowest validation loss."""
    program, problem, every = _program_of(config), _problem(config), config["validated_every"]
    steps = config["epochs"] // every
    record = loop.run(
        program.step,
        begin(problem.model, program.optimiser, problem.key),
        problem.data,
        steps=steps,
        chunk=min(steps, max(1, BETWEEN_LOOKS // every)),
        rules=program.rules,
        progress=False,
        kept=_params,
    )
    taken = int(record.stopped) + 1 if record.stopped >= 0 else record.steps
    history = {name: np.asarray(values[:taken], np.float64) for name, values in record.metrics.items()}
    best, kept, last = int(record.best_step), record.best, record.state.params
    train_loss, more = jax.jit(program.objective)(kept, (*problem.data.train, problem.data.shared))
    gaps = history["validation_loss"] - history["loss"]
    values = {
        "train_loss": float(train_loss),
        "train_accuracy": float(more["accuracy"]),
        "validation_loss": float(history["validation_loss"][best]),
        "validation_accuracy": float(history["validation_accuracy"][best]),
        "l1": _total(kept),
        "l1_start": _total(problem.model),
        "l1_last": _total(last),
        "largest_gap": float(np.max(np.abs(gaps))),
        "last_gap": float(gaps[-1]),
        "last_train_accuracy": float(history["accuracy"][-1]),
        "best_epoch": (best + 1) * every,
        "epochs": taken * every,
        "fitted": bool(record.stopped >= 0),
        "token_sizes": token_sizes(problem.table),
        "norms": theorem_norms(kept, problem.table),
        "norms_last": theorem_norms(last, problem.table),
    }
    chosen = np.unique(np.linspace(0, taken - 1, min(POINTS, taken)).round().astype(int))
    curves = {name: values[chosen].astype(np.float32) for name, values in history.items()}
    return Outcome(values, {"epoch": (chosen + 1) * every, **curves})


class _Problem(NamedTuple):
    """What a seed decides: data, starting weights, and the key that shuffles."""

    data: Data
    table: Matrix
    model: KerasClsTransformer
    key: Array


class _Program(NamedTuple):
    optimiser: optax.GradientTransformation
    objective: Objective
    step: loop.Step
    rules: loop.Rules


def _problem(config: Config) -> _Problem:
    key_task, key_model, key_train = jax.random.split(jax.random.key(config["seed"]), 3)
    task = sparse_majority(
        key_task,
        n=config["samples"],
        n_test=config["validation"],
        tokens=config["tokens"],
        relevant=config["relevant"],
        d=config["d"],
        embedded=False,
    )
    source: SparseMajority = task.source
    train, validation = ((part.inputs.astype(jnp.float32), part.labels) for part in (task.train, task.test))
    shape = KerasClsTransformerConfig(config["d"], config["heads"], key_size=config["d"])
    model = KerasClsTransformer.init(key_model, shape)
    data = Data(train, validation, source.table)
    return _Problem(data, np.asarray(source.table, np.float64), model, key_train)


def _program_of(config: Config) -> _Program:
    return _program(config["samples"], config["batch"], config["rate"], config["validated_every"])


@functools.cache
def _program(samples: int, batch: int, rate: float, every: int) -> _Program:
    """One compiled program for all runs of a shape. A step is `every` epochs and one validation after them."""
    optimiser = momentum_sgd(trauger_schedule(-(-samples // batch), rate, floor=rate / 10))
    objective = fast.token_table()
    epoch = epochs(objective, optimiser, batch=batch)

    def step(state: State, index: Array, data: Data) -> tuple[State, dict[str, Array]]:
        state, metrics = jax.lax.scan(lambda s, k: epoch(s, k, data), state, index * every + jnp.arange(every))
        loss, more = objective(state.params, (*data.validation, data.shared))
        total = sum(jnp.sum(jnp.abs(leaf)) for leaf in jax.tree.leaves(state.params))
        looked = {"validation_loss": loss, "validation_accuracy": more["accuracy"], "l1": jnp.asarray(total)}
        return state, {**{name: value[-1] for name, value in metrics.items()}, **looked}

    rules = loop.Rules(stop=loop.reached("accuracy", 1.0), select=loop.Select("validation_loss", "after"))
    return _Program(optimiser, objective, step, rules)


def _params(state: State) -> Any:
    return state.params


def _total(model: KerasClsTransformer) -> float:
    return entrywise_l1(dict(weights(model))).value


class OneLayer(NamedTuple):
    """A network f(X) = w^T W_c^T relu( sum_h W_v,h^T X^T softmax(X W_QK,h^T x_CLS) ), one column of `w` per logit."""

    w: Matrix
    W_c: Matrix
    W_v: list[Matrix]
    W_QK: list[Matrix]


def without_biases(model: KerasClsTransformer) -> OneLayer:
    """The same function on tokens with one more coordinate, which is 1 everywhere, and without biases.

    Attention averages leave that coordinate alone, so its weights are the biases of query, value and output
    projection (the key's cancels in the softmax); one hidden unit carries it on for the two biases that follow.
    """
    get = {name: np.asarray(value, np.float64) for name, value in weights(model).items()}
    d, heads, key_size = get["W_Q"].shape
    constant = get["b_O"] + np.einsum("hk,hkj->j", get["b_V"], get["W_O"])
    W_v, W_QK = [], []
    for h in range(heads):
        value, scores = np.zeros((d + 1, d + 1)), np.zeros((d + 1, d + 1))
        value[:d, :d] = get["W_V"][:, h] @ get["W_O"][h]
        query = np.concatenate([get["W_Q"][:, h], get["b_Q"][h][None]])
        scores[:, :d] = query @ get["W_K"][:, h].T / math.sqrt(key_size)
        W_v.append(value)
        W_QK.append(scores)
    W_v[0][d] = [*constant, 1.0]
    W_c = np.zeros((d + 1, d + 1))
    W_c[:d, :d], W_c[d] = get["W_1"], [*get["b_1"], 1.0]
    return OneLayer(np.concatenate([get["W_2"], get["b_2"][None]]), W_c, W_v, W_QK)


def with_constant(table: Matrix) -> Matrix:
    """Tokens with the coordinate that carries the biases."""
    return np.concatenate([table, np.ones((len(table), 1))], axis=1)


def token_sizes(table: Matrix) -> dict[str, float]:
    """Sizes of all tokens that can occur, so that they hold on the support and not only on a sample."""
    tokens = with_constant(table)
    return {
        "Bx": token_norm(tokens).value,
        "D": token_norm(tokens, math.inf).value,
        "rho": half_diameter(tokens).value,
        "cls_inf": float(np.max(np.abs(tokens[-1]))),
    }


def theorem_norms(model: KerasClsTransformer, table: Matrix) -> dict[str, Any]:
    """The norms Theorem 4.1 asks for, each head its own; those of the transposes are what its statement names.

    `scores` is ||W_QK^T x_CLS||_1: with one CLS token for all inputs, no more of W_QK matters.
    """
    layer, cls = without_biases(model), with_constant(table)[-1]

    def columns(matrix: Matrix, *, transposed: bool = False) -> float:
        return mixed_norm(matrix, 1, math.inf, transposed=transposed).value

    return {
        "Bw": columns(layer.w),
        "Bc": columns(layer.W_c),
        "Bc_transposed": columns(layer.W_c, transposed=True),
        "Bv": [columns(matrix) for matrix in layer.W_v],
        "Bv_transposed": [columns(matrix, transposed=True) for matrix in layer.W_v],
        "BQK": [mixed_norm(matrix, 1, 1).value for matrix in layer.W_QK],
        "scores": [columns(matrix.T @ cls) for matrix in layer.W_QK],
    }


def gap(values: Mapping[str, Any]) -> float:
    """Validation minus training loss, both at the weights that were kept."""
    return float(values["validation_loss"] - values["train_loss"])
