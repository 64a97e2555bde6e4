"""Trauger and Tewari, section 6: one network trained on sparse majority, as the released program does it.

The program validates after every epoch, which takes most of the time and steers nothing: training ends by its metrics.
Here validation is looked at after every K-th epoch, the state at the start of each window of epochs is kept, and those
windows that may hold the lowest validation loss are trained again, bit for bit, with a look after each epoch
(`_screening`).
"""

from __future__ import annotations

import functools
import math
import tempfile
from collections.abc import Callable
from typing import IO, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array

from certiformer.lab.models import KerasClsTransformer, KerasClsTransformerConfig, weights
from certiformer.lab.tasks.sparse_majority import SparseMajority, sparse_majority
from certiformer.lab.training import kernels
from certiformer.lab.training.losses import cross_entropy, two_sigmoids
from certiformer.lab.training.steps import Data
from certiformer.lab.training.token_table import token_table
from certiformer.reproduction._screening import lowest
from certiformer.reproduction.papers._trauger_grid import TEXT_LOSS
from certiformer.reproduction.sweep import Config, Outcome
from certiformer.theory.core.errors import CertiformerError
from certiformer.theory.measure.norms import entrywise_l1, mixed_norm
from certiformer.theory.measure.tokens import half_diameter, token_norm

Matrix = npt.NDArray[np.float64]

POINTS = 200
"""The most points kept of a curve."""
MOMENTUM, DECAY, FLOOR = 0.9, 0.999, 0.1


def run(config: Config) -> Outcome:
    """Train until the sample is fitted or the epochs are over; take the weights with the lowest validation loss."""
    problem = _problem(config)
    descent = _descent(problem, config)
    with tempfile.TemporaryFile() as file:
        trained = _train(descent, problem, config, file)
        kept = _Kept(math.inf, 0.0, 0.0, 0, trained.weights)

        def through(window: int) -> float:
            nonlocal kept
            best = _replay(descent, problem, config, trained, window)
            kept = min(kept, best, key=lambda each: each.validation_loss)
            return best.validation_loss

        lows = [min(loss for epoch, loss in looks) for looks in trained.windows]
        found = lowest(lows, through, most=config["replayed"])
    shape = problem.model.config
    best, last = kernels.unflatten(kept.weights, shape), kernels.unflatten(trained.weights, shape)
    objective = jax.jit(token_table(cross_entropy if _text(config) else two_sigmoids))
    train_loss, more = objective(best, (*problem.data.train, problem.data.shared))
    gaps = np.array(trained.curves["validation_loss"]) - np.array(trained.curves["loss"])
    values = {
        "train_loss": float(train_loss),
        "train_accuracy": float(more["accuracy"]),
        "validation_loss": kept.validation_loss,
        "validation_accuracy": kept.validation_accuracy,
        "running_loss": kept.running_loss,
        "l1": _total(best),
        "l1_start": _total(problem.model),
        "l1_last": _total(last),
        "largest_gap": float(np.max(np.abs(gaps))),
        "last_gap": float(gaps[-1]),
        "last_train_accuracy": trained.curves["accuracy"][-1],
        "best_epoch": kept.epoch,
        "epochs": trained.epochs,
        "fitted": trained.fitted,
        "replayed": found.windows,
        "excess": found.excess,
        "exact_by_rule": found.by_rule,
        "below": found.below,
        "token_sizes": token_sizes(problem.table),
        "norms": theorem_norms(best, problem.table),
        "norms_last": theorem_norms(last, problem.table),
    }
    taken = len(gaps)
    chosen = np.unique(np.linspace(0, taken - 1, min(POINTS, taken)).round().astype(int))
    curves = {name: np.array(values, np.float32)[chosen] for name, values in trained.curves.items()}
    return Outcome(values, {"epoch": np.array(trained.looked)[chosen], **curves})


Flat = npt.NDArray[np.float32]


class _Kept(NamedTuple):
    """An epoch that was looked at."""

    validation_loss: float
    validation_accuracy: float
    running_loss: float
    epoch: int
    weights: Flat


class _Trained(NamedTuple):
    """A run to its end: the last weights, the epochs it took, those evaluated, and the windows' starting states."""

    weights: Flat
    epochs: int
    fitted: bool
    looked: list[int]
    curves: dict[str, list[float]]
    windows: list[list[tuple[int, float]]]
    starts: npt.NDArray[np.float32]


def _train(descent: kernels.TableDescent, problem: _Problem, config: Config, file: IO[bytes]) -> _Trained:
    """Epochs up to the first whose running accuracy is 1; a look after every K-th and after the last."""
    length, every, last = config["window"], config["validated_every"], config["epochs"]
    weights = kernels.flatten(problem.model)
    velocity = np.zeros_like(weights)
    size = -(-last // length) * 2 * len(weights)
    file.truncate(4 * size)
    starts = np.memmap(file, np.float32, shape=(-(-last // length), 2, len(weights)))
    curves: dict[str, list[float]] = {name: [] for name in CURVES}
    looked: list[int] = []
    windows: list[list[tuple[int, float]]] = []
    done, fitted = 0, False
    while done < last and not fitted:
        starts[len(windows)] = weights, velocity
        end = min(done + length, last)
        orders, rates = _orders(problem.key, done, end, config["samples"]), _rates(config, done, end)
        first, looks = done, []
        while done < end and not fitted:
            upto = min(done + every, end)
            before = weights.copy(), velocity.copy()
            part = slice(done - first, upto - first)
            losses, accuracies = descent.epochs(weights, velocity, orders[part], rates[part])
            fits = np.flatnonzero(accuracies >= 1.0)
            if len(fits):  # the program ends there: what came after it never happened
                weights, velocity = before
                upto, fitted = done + int(fits[0]) + 1, True
                part = slice(done - first, upto - first)
                losses, accuracies = descent.epochs(weights, velocity, orders[part], rates[part])
            done = upto
            loss, accuracy = descent.validate(weights)
            looks.append((done, loss))
            looked.append(done)
            total = float(np.sum(np.abs(weights), dtype=np.float64))
            now = (float(losses[-1]), float(accuracies[-1]), loss, accuracy, total)
            for name, value in zip(CURVES, now, strict=True):
                curves[name].append(value)
            if not math.isfinite(loss):
                raise CertiformerError(f"training diverged by epoch {done}: validation loss {loss:g}")
        windows.append(looks)
    return _Trained(weights, done, fitted, looked, curves, windows, starts)


CURVES = ("loss", "accuracy", "validation_loss", "validation_accuracy", "l1")


def _replay(descent: kernels.TableDescent, problem: _Problem, config: Config, trained: _Trained, window: int) -> _Kept:
    """The epoch of a window with the lowest validation loss; its looks must give the bits they gave before."""
    first = window * config["window"]
    end = min(first + config["window"], trained.epochs)
    orders, rates = _orders(problem.key, first, end, config["samples"]), _rates(config, first, end)
    weights, velocity = (np.array(part) for part in trained.starts[window])
    before, best = dict(trained.windows[window]), None
    for k in range(end - first):
        losses, _ = descent.epochs(weights, velocity, orders[k : k + 1], rates[k : k + 1])
        loss, accuracy = descent.validate(weights)
        if before.get(first + k + 1, loss) != loss:
            raise CertiformerError(
                f"epoch {first + k + 1} trained again has validation loss {loss!r}, it had {before[first + k + 1]!r}: "
                "this machine does not compute the same bits twice"
            )
        if best is None or loss < best.validation_loss:
            best = _Kept(loss, accuracy, float(losses[-1]), first + k + 1, weights.copy())
    assert best is not None
    return best


class _Problem(NamedTuple):
    """What a seed decides: data, starting weights, and the key that shuffles."""

    data: Data
    table: Matrix
    model: KerasClsTransformer
    key: Array


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


def _descent(problem: _Problem, config: Config) -> kernels.TableDescent:
    train, validation = (
        kernels.Bits(np.array(bits, np.float32), np.array(labels, np.int64))
        for bits, labels in (problem.data.train, problem.data.validation)
    )
    shape = problem.model.config
    settings = {"batch": config["batch"], "momentum": MOMENTUM, "joint": _text(config)}
    return kernels.TableDescent(train, validation, problem.data.shared, shape, **settings)


def _text(config: Config) -> bool:
    """Whether the loss is the cross-entropy of the paper's text; runs of the released program's loss do not name it."""
    return bool(config.get("loss") == TEXT_LOSS)


def _orders(key: Array, first: int, end: int, samples: int) -> npt.NDArray[np.int64]:
    """The order of the samples in every epoch."""
    return np.asarray(_permutations(samples)(key, jnp.arange(first, end)), np.int64)


@functools.cache
def _permutations(samples: int) -> Callable[[Array, Array], Array]:
    """One compiled program; each epoch's permutation is that of the key folded with the epoch."""
    each = jax.vmap(lambda key, epoch: jax.random.permutation(jax.random.fold_in(key, epoch), samples), (None, 0))
    return jax.jit(each)


def _rates(config: Config, first: int, end: int) -> Flat:
    """The rate falls by a factor 0.999 at the start of every epoch, to a tenth of the first."""
    epoch = np.arange(first, end) + 1.0
    rates: Flat = np.maximum(FLOOR * config["rate"], config["rate"] * DECAY**epoch).astype(np.float32)
    return rates


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
