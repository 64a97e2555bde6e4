"""Training: one compiled, resumable loop and the papers' optimisers, losses, projections and schemes around it.

`kernels` has the papers' own experiments, compiled by Numba; they are imported by those who train with them.
"""

from certiformer.lab.training.fitting import Fitted, fit
from certiformer.lab.training.loop import DivergenceError, Rules, Run, Saving, Select, Step, reached, run
from certiformer.lab.training.losses import LOSSES, named_loss, of_residual
from certiformer.lab.training.optimisers import adam, gradient_descent, momentum_sgd, trauger_schedule
from certiformer.lab.training.presets import PRESETS, Preset, Recipe, preset
from certiformer.lab.training.projection import onto_heads_ball, onto_omega
from certiformer.lab.training.steps import Data, State, begin, epochs, full_batch, functional, stochastic, supervised

__all__ = [
    "LOSSES", "PRESETS", "Data", "DivergenceError", "Fitted", "Preset", "Recipe", "Rules", "Run", "Saving",
    "Select", "State", "Step", "adam", "begin", "epochs", "fit", "full_batch", "functional",
    "gradient_descent", "momentum_sgd", "named_loss", "of_residual", "onto_heads_ball", "onto_omega", "preset",
    "reached", "run", "stochastic", "supervised", "trauger_schedule",
]  # fmt: skip
