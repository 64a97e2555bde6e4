"""Arda et al., figure 2: one network trained on windows of a series whose memory reaches L steps back."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import numpy as np

from certiformer.experiments.study import Scale
from certiformer.models.independent_heads import IndependentHeads, IndependentHeadsConfig
from certiformer.models.indrnn import IndRNN, IndRNNConfig
from certiformer.sweep import Experiment, Outcome, Shortened, two_lengths
from certiformer.sweep.run import Config
from certiformer.tasks.autoregressive import autoregressive
from certiformer.training import kernels

NETWORKS = ("indrnn", "transformer")
BLOCK = {"indrnn": "u", "transformer": "W"}  # recurrent weights, attention weights
NAMES_OF_WEIGHTS = {"indrnn": ("c", "u", "w"), "transformer": ("c", "u", "W")}
ALPHA = 1.5  # |u_i| at the start, as released
COEFFICIENT, VARIANCE = 0.9, 0.1  # x_t = 0.9 x_{t-L} + N(0, 0.1)
PRECISION = {"indrnn": "float64", "transformer": "float32"}
"""Where a configuration does not name its precision."""
RELEASED = "float32"
"""The precision of the released program; gradients through 97 steps at |u| = 1.5 carry some noise there."""

PAPER_LAGS = (4, 16, 72, 96)  # the paper's, from its figure
SHORT, LONG = 500, 5000
"""Steps behind the figure's upper panel (gradient norms) and lower panel (validation loss), as released.

The released short runs are runs of their own; here they are the first steps of the long ones, which are the same.
"""


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


def precision(config: Config) -> str:
    """In which a network is trained."""
    return str(config.get("precision", PRECISION[config["network"]]))


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


def experiment(scale: Scale) -> Experiment:
    """Seeds times lags times networks, as released; rivals see the same series. Then a few in double precision."""
    common: Config = {"width": 64, "pairs": 8, "rate": 0.05}
    lags, seeds, size = {
        "smoke": ((2, 4), 2, {"n": 48, "n_test": 16, "n_jacobian": 8, "steps": 20, "every": 10}),
        "quick": ((4, 8, 16, 32, 48), 5, {"n": 500, "n_test": 250, "n_jacobian": 64, "steps": 500, "every": 20}),
        "paper": (PAPER_LAGS, 20, {"n": 4000, "n_test": 1000, "n_jacobian": 256, "steps": LONG, "every": 10}),
    }[scale]
    released = {"indrnn": {"precision": RELEASED}, "transformer": {}}
    configs = [
        {"network": network, "lag": lag, "seed": seed, **size, **common, **released[network]}
        for seed in range(1, seeds + 1)
        for lag in lags
        for network in NETWORKS
    ]
    doubled = [
        {"network": "indrnn", "lag": lag, "seed": seed, **size, **common}
        for seed in range(1, min(seeds, CONTROLS) + 1)
        for lag in lags
    ]
    return Experiment("arda.fig2", run=f"{__name__}:run", version=1, shorten=_shorten, configs=[*configs, *doubled])


CONTROLS = 3
"""Seeds of the IndRNN that are also run in double precision."""


def _shorten(config: Config) -> Shortened:
    return two_lengths(config, "steps", 2 * config["every"], 8 * config["every"])
