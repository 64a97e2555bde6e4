"""Arda et al., figure 1: the runs, networks of several widths and two teachers. What a run does: `_arda_width_runs`."""

from __future__ import annotations

import math

from certiformer.reproduction.study import Scale
from certiformer.reproduction.sweep import Experiment

RUN = f"{__package__}._arda_width_runs:run"
TEACHERS = ("paper", "released_diagonal")
DIMENSION, TOKENS, ANCHORS = 8, 16, 16
RADIUS = 3.0  # rho and nu, the same for every block
RADII = {"c": RADIUS, "u": RADIUS, "W": RADIUS}
STEP_SCALE = 1.75  # the step is 1.75/sqrt(number of steps), as released
PARTS = tuple(2**k for k in range(4, -1, -1))  # the training loss is also read after 1/16, 1/8, ... of the steps

PAPER_WIDTHS = (8, 16, 32, 64, 128, 256)  # the paper's


def step_size(steps: int) -> float:
    """1.75/sqrt(number of steps), as released."""
    return STEP_SCALE / math.sqrt(steps)


def experiment(scale: Scale) -> Experiment:
    """Seeds times widths, for the released teacher, which made the figure, and then for the paper's."""
    widths, seeds, sizes = {
        "smoke": ((4, 8), 2, {"n": 48, "n_more": 16, "pool": 64, "steps": 32}),
        "quick": (PAPER_WIDTHS[:5], 5, {"n": 500, "n_more": 750, "pool": 2048, "steps": 1200}),
        "paper": (PAPER_WIDTHS, 10, {"n": 4000, "n_more": 1000, "pool": 8192, "steps": 4000}),
    }[scale]
    configs = [
        {"teacher": teacher, "width": width, "seed": seed, **sizes}
        for teacher in reversed(TEACHERS)
        for seed in range(1, seeds + 1)
        for width in widths
    ]
    return Experiment("arda.fig1", RUN, configs)
