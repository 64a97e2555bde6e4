"""Trauger and Tewari, section 6: the runs, networks on sequences of several lengths. One run: `_trauger_runs`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from certiformer.reproduction.study import Scale
from certiformer.reproduction.sweep import Config, Experiment

NAME = "trauger.sparse_majority"
PAPER_LENGTHS = tuple(range(20, 201, 20))  # the paper's T
FIRST_LENGTHS = (20, 60, 100, 140, 200)  # those that are run first
PAPER_RUNS = 5  # the paper's runs for each T
BATCH, RATE, EPOCHS = 128, 0.01, 200_000  # as released, and in the preset of `certiformer train`
QUICK_LENGTHS = (20, 40, 80, 120, 200)
TEXT_LOSS = "cross_entropy"  # the loss of the paper's text; runs that name none have the released program's
TEXT_LENGTHS = (40, 120, 200)


def experiment(scale: Scale) -> Experiment:
    """The runs that all studies of this paper share; seed by seed over the lengths, those of the text's loss last."""
    common = {"batch": BATCH, "rate": RATE, "relevant": 9, "d": 64, "heads": 2}
    sizes = {"samples": 300, "validation": 10_000}
    looks = {"validated_every": 20, "window": 100, "replayed": 100}
    small = {"samples": 256, "validation": 1_000, "validated_every": 10, "window": 20, "replayed": 2}
    grids: dict[Scale, tuple[tuple[tuple[int, ...], ...], int, Config]] = {
        "smoke": (((20, 40),), 2, {**small, "epochs": 100}),
        "quick": ((QUICK_LENGTHS,), PAPER_RUNS, {**sizes, **looks, "replayed": 3, "epochs": 4_000}),
        "paper": (
            (FIRST_LENGTHS, tuple(T for T in PAPER_LENGTHS if T not in FIRST_LENGTHS)),
            PAPER_RUNS,
            {**sizes, **looks, "epochs": EPOCHS},
        ),
    }
    stages, runs, grid = grids[scale]
    released = [
        {"tokens": T, "seed": seed, **common, **grid} for lengths in stages for seed in range(runs) for T in lengths
    ]
    lengths = () if scale == "smoke" else TEXT_LENGTHS
    text = [{**common, **grid, "tokens": T, "seed": seed, "loss": TEXT_LOSS} for seed in range(runs) for T in lengths]
    return Experiment(NAME, f"{__package__}._trauger_runs:run", [*released, *text], version=2)


def released(scale: Scale) -> Experiment:
    """The runs with the released program's loss."""
    whole = experiment(scale)
    return dataclasses.replace(whole, configs=[config for config in whole.configs if "loss" not in config])


def gap(values: Mapping[str, Any]) -> float:
    """Validation minus training loss, both at the weights that were kept."""
    return float(values["validation_loss"] - values["train_loss"])
