"""Mwigo and Dasgupta, appendix B: one shallow encoder trained on handwritten zeros and ones, on batches."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import numpy as np
import numpy.typing as npt

from certiformer.lab.models.shallow_encoder import ShallowEncoder, ShallowEncoderConfig
from certiformer.lab.tasks.mnist import mnist
from certiformer.lab.training import kernels
from certiformer.reproduction.papers._mwigo_grid import part_loss
from certiformer.reproduction.sweep import Config, Outcome

HARD = 300
"""So many test images of a run are kept one by one."""
CHECKED, DRAWS = (100, 300, 1000), 50
"""Sizes of test sets, and how many of each, for which a run measures what keeping so few leaves out."""


def run(config: Config) -> Outcome:
    """Train once; losses on the training and on all test images at every recorded epoch, and the best iterate."""
    return _trained(config)[0]


def run_by_image(config: Config) -> Outcome:
    """The same run, with the losses of the hardest test images one by one, and sums over the rest.

    An image's hardness is its largest share of an epoch's sum of squared losses, over the epochs whose mean loss is at
    most twice the lowest: what the lowest loss on a part of the test images hangs on.
    """
    outcome, losses = _trained(config)
    mean, squares = losses.mean(axis=1), losses**2
    late = mean <= 2.0 * mean.min()
    share = (squares[late] / squares[late].sum(axis=1, keepdims=True)).max(axis=0)
    hard = np.sort(np.argsort(-share, kind="stable")[:HARD])
    easy = np.setdiff1d(np.arange(losses.shape[1]), hard)
    kept = {
        "hard": hard.astype(np.int16),
        "losses": losses[:, hard].astype(np.float16),
        "rest_sum": losses[:, easy].sum(axis=1),
        "rest_squares": squares[:, easy].sum(axis=1),
    }
    values = {**outcome.values, "images": losses.shape[1], "error": _left_out(losses, kept)}
    return Outcome(values, {**outcome.arrays, **kept})


def _left_out(losses: npt.NDArray[np.float64], kept: dict[str, npt.NDArray[Any]]) -> dict[str, Any]:
    """For random test sets: the largest relative error of their lowest loss; how many epochs are off by a tenth."""
    images, draw = losses.shape[1], np.random.default_rng(HARD)
    error = {}
    for m in CHECKED:
        apart, moved = 0.0, 0
        for _ in range(DRAWS if m < images else 0):
            part = draw.permutation(images)[:m]
            exact = losses[:, part].mean(axis=1)
            told = part_loss(kept, np.isin(kept["hard"], part)[None, :], m, images)[0]
            apart = max(apart, abs(told.min() / exact.min() - 1.0))
            moved += abs(int(told.argmin()) - int(exact.argmin())) > 0.1 * exact.argmin()
        error[str(m)] = {"loss": apart, "epochs": int(moved), "of": DRAWS}
    return error


def _trained(config: Config) -> tuple[Outcome, npt.NDArray[np.float64]]:
    """A run, and the loss of every test image at every recorded epoch."""
    images, weights = _prepared(config)
    test = _test_images(config["pixels"], config["tokens"])
    steps = _epochs(images, config)
    start = {name: value.copy() for name, value in weights.items()}
    shuffled = np.random.default_rng([SHUFFLES, config["seed"]])
    each = [np.empty(len(test.y), np.float32)]
    epoch, train, losses = [0], [steps.loss(weights, images)], [steps.loss(weights, test, each[0])]
    best, kept, diverged = 0, start, None
    for now in range(1, config["epochs"] + 1):
        running = steps.epoch(weights, _order(shuffled, config))
        if not math.isfinite(running):
            diverged = now
            break
        if now % config["every"] == 0:
            epoch.append(now)
            train.append(running)
            each.append(np.empty(len(test.y), np.float32))
            losses.append(steps.loss(weights, test, each[-1]))
            if losses[-1] < losses[best]:
                best, kept = len(epoch) - 1, {name: value.copy() for name, value in weights.items()}
    values = {
        "lowest": losses[best],
        "epoch": epoch[best],
        "train": steps.loss(kept, images),
        "falling": best == len(epoch) - 1,
        "diverged": diverged,
        "start": _norms(start),
        "moved": _distances(start, kept),
    }
    curves = {"train": np.array(train, np.float32), "test": np.array(losses, np.float32)}
    return Outcome(values, {"epoch": np.array(epoch), **curves}), np.array(each, float)


Weights = dict[str, npt.NDArray[np.float32]]
SHUFFLES = 20  # so that the order of the batches has a stream of its own


def _order(shuffled: np.random.Generator, config: Config) -> npt.NDArray[np.int64]:
    """The images of an epoch."""
    n, batch = config["n"], config["batch"]
    order = shuffled.permutation(n)
    whole = n if batch == "full" or config["last"] == "keep" else max(1, n // batch) * batch
    return order[:whole]


def _prepared(config: Config) -> tuple[kernels.Patches, Weights]:
    key_task, key_model = jax.random.split(jax.random.key(config["seed"]))
    seen = mnist(key_task, n=config["n"], pixels=config["pixels"], tokens=config["tokens"]).train
    model = ShallowEncoder.init(key_model, ShallowEncoderConfig(seen.inputs.shape[-1], config["d_m"]))
    weights = {name: np.array(getattr(model, name), np.float32) for name in ("W_Q", "W_K", "W_V", "w_O")}
    return kernels.distinct_patches(seen.inputs, seen.labels), weights


def _epochs(images: kernels.Patches, config: Config) -> kernels.PatchDescent:
    """Two outputs w_1.h and w_2.h with LeCun weights are one output w.h that counts sqrt(2) times.

    Only w_1 - w_2 matters. It starts as N(0, 2/d_m) and moves twice as fast as one readout would: so does sqrt(2) w.
    """
    batch = config["n"] if config["batch"] == "full" else config["batch"]
    gain = math.sqrt(2.0) if config["logits"] == "two" else 1.0
    return kernels.PatchDescent(images, batch=batch, rate=config["rate"], gain=gain)


@functools.lru_cache(maxsize=8)
def _test_images(pixels: str, tokens: str) -> kernels.Patches:
    test = mnist(jax.random.key(0), n=1, pixels=pixels, tokens=tokens).test
    return kernels.distinct_patches(test.inputs, test.labels)


def _norms(weights: Weights) -> dict[str, float]:
    """Frobenius (F) and spectral (2) norms of the initial weights, under the names that Theorem 5 takes."""
    matrices = {name: weights[f"W_{name}"].astype(float) for name in "QKV"}
    frobenius = {f"W{name}F": float(np.linalg.norm(matrix)) for name, matrix in matrices.items()}
    spectral = {f"W{name}2": float(np.linalg.norm(matrix, 2)) for name, matrix in matrices.items()}
    return frobenius | spectral | {"wOF": float(np.linalg.norm(weights["w_O"].astype(float)))}


def _distances(start: Weights, end: Weights) -> dict[str, float]:
    """How far each weight is from its initial value, in Frobenius norm."""
    names = {"RQ": "W_Q", "RK": "W_K", "RV": "W_V", "RO": "w_O"}
    return {
        radius: float(np.linalg.norm(end[name].astype(float) - start[name].astype(float)))
        for radius, name in names.items()
    }
