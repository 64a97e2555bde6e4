"""Training: one compiled, resumable loop and the papers' optimisers, losses, projections and schemes around it.

`kernels` has the papers' own experiments, compiled by Numba; they are imported by those who train with them.
"""

from certiformer.training.checkpoint import CheckpointError as CheckpointError
from certiformer.training.fitting import Fitted as Fitted
from certiformer.training.fitting import fit as fit
from certiformer.training.loop import DivergenceError as DivergenceError
from certiformer.training.loop import Rules as Rules
from certiformer.training.loop import Run as Run
from certiformer.training.loop import Saving as Saving
from certiformer.training.loop import Select as Select
from certiformer.training.loop import Step as Step
from certiformer.training.loop import reached as reached
from certiformer.training.loop import run as run
from certiformer.training.loop import stack as stack
from certiformer.training.losses import LOSSES as LOSSES
from certiformer.training.losses import named_loss as named_loss
from certiformer.training.losses import of_residual as of_residual
from certiformer.training.optimisers import adam as adam
from certiformer.training.optimisers import gradient_descent as gradient_descent
from certiformer.training.optimisers import momentum_sgd as momentum_sgd
from certiformer.training.optimisers import trauger_schedule as trauger_schedule
from certiformer.training.presets import PRESETS as PRESETS
from certiformer.training.presets import Preset as Preset
from certiformer.training.presets import Recipe as Recipe
from certiformer.training.presets import preset as preset
from certiformer.training.projection import onto_heads_ball as onto_heads_ball
from certiformer.training.projection import onto_omega as onto_omega
from certiformer.training.steps import Data as Data
from certiformer.training.steps import State as State
from certiformer.training.steps import begin as begin
from certiformer.training.steps import epochs as epochs
from certiformer.training.steps import full_batch as full_batch
from certiformer.training.steps import functional as functional
from certiformer.training.steps import stochastic as stochastic
from certiformer.training.steps import supervised as supervised
from certiformer.training.two_phase import first_phase as first_phase
from certiformer.training.two_phase import random_signs as random_signs
