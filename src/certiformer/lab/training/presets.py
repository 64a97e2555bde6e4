"""How the papers train: presets by name, and the recipe they fill in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from certiformer.theory.core.errors import InputError, UnknownNameError

OPTIMISERS = ("gd", "sgd", "momentum", "adam", "projected_gd", "projected_sgd")
SELECTIONS = ("last", "best")


@dataclass(frozen=True)
class Recipe:
    """Settings of one training run.

    optimiser: `gd` (full batch), `sgd` (uniform batches with replacement), `momentum` and `adam` (epochs of shuffled
        batches; one step is one epoch), `projected_gd` and `projected_sgd` (onto Omega_rho with the radii `rho`).
    rate: learning rate; `schedule` "trauger" multiplies it by 0.999 each epoch, down to a tenth.
    first_phase: begin with Deora's randomised step on this many samples of their own (0: none).
    stop_when_fitted: end at the first epoch with running training accuracy 1.
    select: keep the `last` iterate, or the one with the `best` validation loss.
    loss: by name; "auto" takes the one that fits the labels.
    """

    optimiser: str = "gd"
    rate: float = 0.1
    steps: int = 100
    batch: int = 128
    schedule: str = "constant"
    rho: tuple[float, float, float] = (3.0, 3.0, 3.0)
    first_phase: int = 0
    stop_when_fitted: bool = False
    select: str = "last"
    loss: str = "auto"

    def __post_init__(self) -> None:
        if self.optimiser not in OPTIMISERS:
            raise UnknownNameError("optimiser", self.optimiser, OPTIMISERS, hint=f"(known: {', '.join(OPTIMISERS)})")
        if self.select not in SELECTIONS:
            raise UnknownNameError("selection", self.select, SELECTIONS, hint=f"(known: {', '.join(SELECTIONS)})")
        if self.schedule not in ("constant", "trauger"):
            raise UnknownNameError("schedule", self.schedule, ("constant", "trauger"))
        for name in ("steps", "batch"):
            if getattr(self, name) < 1:
                raise InputError(name, getattr(self, name), "a positive integer")
        if self.first_phase < 0:
            raise InputError("first_phase", self.first_phase, "a number of samples, or 0")


@dataclass(frozen=True)
class Preset:
    """A paper's experiment: which model, on which task, trained how."""

    what: str
    model: str
    task: str
    recipe: Recipe
    model_settings: Mapping[str, Any] = field(default_factory=dict)
    task_settings: Mapping[str, Any] = field(default_factory=dict)


PRESETS: dict[str, Preset] = {
    "mwigo": Preset(
        "Mwigo, Table 1 (d_m=64, N=400): full-batch GD at 0.1, lowest test loss",
        "shallow_encoder",
        "mnist",
        Recipe("gd", 0.1, 600, select="best"),
        {"d_m": 64},
        {"n": 400},
    ),
    "certificate": Preset(
        "shallow encoder for certificates: Adam at 0.001, batches of 128, 30 epochs",
        "shallow_encoder",
        "mnist",
        Recipe("adam", 1e-3, 30),
        {"d_m": 64},
        {"n": 10_000},
    ),
    "trauger": Preset(
        "Trauger, figures 1-3 (T=20): momentum SGD with decay, up to 200,000 epochs, best validation loss",
        "keras_cls_transformer",
        "sparse_majority",
        Recipe("momentum", 0.01, 200_000, 128, schedule="trauger", stop_when_fitted=True, select="best"),
        {},
        {"tokens": 20},
    ),
    "trauger-words": Preset(
        "Trauger, section 5 (the paper has no run): masked words, vocabulary 1,000, clipped cross-entropy",
        "cls_transformer",
        "masked_words",
        Recipe("adam", 3e-3, 20, loss="clipped_cross_entropy"),
        {"k": 64, "readout": "classes", "classes": 1000},
        {},
    ),
    "deora": Preset(
        "Deora, two phases: a randomised step on 100 samples, then GD at 0.1 on 100 others",
        "multi_head_attention",
        "tokenized_mixture",
        Recipe("gd", 0.1, 400, first_phase=100),
        {"heads": 16},
        {"n": 200},
    ),
    "arda-width": Preset(
        "Arda, figure 1 (m=256): projected GD, 4,000 steps of 1.75/sqrt(4000), radii 3",
        "independent_heads",
        "ntk_teacher",
        Recipe("projected_gd", 1.75 / 4000**0.5, 4000),
        {"heads": 256},
        {},
    ),
    "arda-transformer": Preset(
        "Arda, figure 2: Transformer with 64 heads on AR(L), GD at 0.05, 5,000 steps",
        "independent_heads",
        "autoregressive",
        Recipe("gd", 0.05, 5000, select="best"),
        {"heads": 64},
        {},
    ),
    "arda-indrnn": Preset(
        "Arda, figure 2: IndRNN with 64 units on AR(L), GD at 0.05, 5,000 steps",
        "indrnn",
        "autoregressive",
        Recipe("gd", 0.05, 5000, select="best"),
        {"units": 64},
        {},
    ),
    "li": Preset(
        "Li (the paper has no experiment): one head on a Transformer teacher, Adam at 0.003, 300 epochs",
        "cls_transformer",
        "heavy_tails",
        Recipe("adam", 3e-3, 300),
        {},
        {},
    ),
}
"""The papers' settings by name."""


def preset(name: str) -> Preset:
    """The preset of this name, or an error that suggests the nearest."""
    if name not in PRESETS:
        raise UnknownNameError("preset", name, PRESETS, hint=f"(known: {', '.join(PRESETS)})")
    return PRESETS[name]
