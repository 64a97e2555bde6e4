"""Arda et al., figure 2: one network trained on windows of a series whose memory reaches L steps back."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import numpy as np

from certiformer.lab.models.independent_heads import IndependentHeads, IndependentHeadsConfig
from certiformer.lab.models.indrnn import IndRNN, IndRNNConfig
from certiformer.lab.tasks.autoregressive import autoregressive
from certiformer.lab.training import kernels
from certiformer.reproduction.papers._arda_lag_grid import ALPHA, COEFFICIENT, SHORT, VARIANCE, precision
from certiformer.reproduction.sweep import Config, Outcome

BLOCK = {"indrnn": "u", "transformer": "W"}  # recurrent weights, attention weights
NAMES_OF_WEIGHTS = {"indrnn": ("c", "u", "w"), "transformer": ("c", "u", "W")}


class Batches(NamedTuple):
    """What a run reads: training windows, validation windows of both kinds, windows for the Jacobian."""

    train: kernels.Windows
    shared: kernels.Windows
    fresh: kernels.Windows
    probe: kernels.Windows


def run(config: Config) -> Outcome:
    """Train one network with plain gradient descent, watching the norms of its memory's gradients.

    `gradient_short`, `jacobian_short`: the largest over the first 500 steps; `gradient`, `jacobian`: over all steps.
    """
    network, steps, every = config["network"], config["steps"], config["every"]
    data, weights = _batches(config), _weights(config)
    descent = (kernels.WindowUnits if network == "indrnn" else kernels.WindowHeads)(data.train)
    jacobian = kernels.units_jacobian if network == "indrnn" else kernels.heads_jacobian
    block, rate = BLOCK[network], weights["c"].dtype.type(config["rate"])
    losses: list[float] = []
    norms: list[float] = []
    memory: list[float] = []
    looks: dict[str, list[float]] = {name: [] for name in ("validation", "fresh", "jacobian", "jacobian_largest")}
    diverged = -1
    for step in range(steps):
        loss, gradient = descent.gradient(weights)
        if not math.isfinite(loss) or (losses and loss > BLOWUP * (1.0 + losses[0])):
            diverged = step
            break
        losses.append(loss)
        norms.append(float(np.linalg.norm(gradient[block].astype(np.float64))))
        memory.append(float(np.max(np.abs(weights[block]))))
        if step % every == 0:
            each = jacobian(weights, data.probe).astype(np.float64)
            looks["validation"].append(descent.loss(weights, data.shared))
            looks["fresh"].append(descent.loss(weights, data.fresh))
            looks["jacobian"].append(float(np.sqrt(np.mean(each**2))))
            looks["jacobian_largest"].append(float(np.max(each)))
        weights = {name: value - rate * gradient[name] for name, value in weights.items()}
    best_step = every * int(np.argmin(looks["validation"]))
    few = -(-SHORT // every)
    return Outcome(
        {
            "gradient": max(norms),
            "gradient_short": max(norms[:SHORT]),
            "gradient_at_start": norms[0],
            "jacobian": max(looks["jacobian"]),
            "jacobian_short": max(looks["jacobian"][:few]),
            "jacobian_at_start": looks["jacobian"][0],
            "jacobian_largest": max(looks["jacobian_largest"]),
            "validation": min(looks["validation"]),
            "validation_fresh": min(looks["fresh"]),
            "best_step": best_step,
            "still_falling": best_step + every >= steps,
            "training": min(losses),
            "memory": max(memory),
            "diverged": diverged,
        },
        {name: np.array(_thinned(looks[name]), np.float32) for name in ("validation", "fresh", "jacobian")},
    )


BLOWUP = 1e6
"""A loss this many times larger than the first counts as divergence."""
CURVE = 100


def _thinned(values: list[float]) -> list[float]:
    """At most 100 points of a curve, evenly spaced from the first on."""
    return values[:: max(1, -(-len(values) // CURVE))]


def _weights(config: Config) -> dict[str, Any]:
    """The same key starts the network whatever the lag."""
    network = config["network"]
    key, dtype = jax.random.fold_in(jax.random.key(config["seed"]), 1), precision(config)
    channels = 1 + 2 * config["pairs"]
    with jax.enable_x64(dtype == "float64"):
        if network == "indrnn":
            model: Any = IndRNN.init(key, IndRNNConfig(channels, config["width"], alpha=ALPHA), dtype=dtype)
        else:
            model = IndependentHeads.init(key, IndependentHeadsConfig(channels, config["width"]), dtype=dtype)
    return {name: np.array(getattr(model, name)) for name in NAMES_OF_WEIGHTS[network]}


def _batches(config: Config) -> Batches:
    """Windows of one series split at random, as released, and validation windows of a series of their own."""
    key, n_test, dtype = jax.random.key(config["seed"]), config["n_test"], precision(config)
    with jax.enable_x64(dtype == "float64"):
        task = autoregressive(
            key,
            n=config["n"],
            n_test=n_test,
            split="random",
            lag=config["lag"],
            coefficient=COEFFICIENT,
            variance=VARIANCE,
            pairs=config["pairs"],
            dtype=dtype,
        )
        apart = task.source.windows(jax.random.fold_in(key, 2), n_test)
        labels = (np.asarray(apart.labels) - task.meta["centre"]) / task.meta["spread"]
    train = kernels.split_windows(task.train.inputs, task.train.labels, dtype)
    few = slice(0, config["n_jacobian"])
    return Batches(
        train,
        kernels.split_windows(task.test.inputs, task.test.labels, dtype),
        kernels.split_windows(apart.inputs, labels, dtype),
        kernels.Windows(train.values[few], train.positions, train.y[few]),
    )
