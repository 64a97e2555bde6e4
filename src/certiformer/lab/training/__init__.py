"""Training: one compiled, resumable loop and the papers' optimisers, losses, projections and schemes around it.

`kernels` has the papers' own experiments, compiled by Numba; they are imported by those who train with them.
"""

from certiformer.lab.training.fitting import Fitted as Fitted
from certiformer.lab.training.fitting import fit as fit
from certiformer.lab.training.loop import DivergenceError as DivergenceError
from certiformer.lab.training.loop import Rules as Rules
from certiformer.lab.training.loop import Run as Run
from certiformer.lab.training.loop import Saving as Saving
from certiformer.lab.training.loop import Select as Select
from certiformer.lab.training.loop import Step as Step
from certiformer.lab.training.loop import reached as reached
from certiformer.lab.training.loop import run as run
from certiformer.lab.training.loop import stack as stack
from certiformer.lab.training.losses import LOSSES as LOSSES
from certiformer.lab.training.losses import named_loss as named_loss
from certiformer.lab.training.losses import of_residual as of_residual
from certiformer.lab.training.optimisers import adam as adam
from certiformer.lab.training.optimisers import gradient_descent as gradient_descent
from certiformer.lab.training.optimisers import momentum_sgd as momentum_sgd
from certiformer.lab.training.optimisers import trauger_schedule as trauger_schedule
from certiformer.lab.training.presets import PRESETS as PRESETS
from certiformer.lab.training.presets import Preset as Preset
from certiformer.lab.training.presets import Recipe as Recipe
from certiformer.lab.training.presets import preset as preset
from certiformer.lab.training.projection import onto_heads_ball as onto_heads_ball
from certiformer.lab.training.projection import onto_omega as onto_omega
from certiformer.lab.training.steps import Data as Data
from certiformer.lab.training.steps import State as State
from certiformer.lab.training.steps import begin as begin
from certiformer.lab.training.steps import epochs as epochs
from certiformer.lab.training.steps import full_batch as full_batch
from certiformer.lab.training.steps import functional as functional
from certiformer.lab.training.steps import stochastic as stochastic
from certiformer.lab.training.steps import supervised as supervised
from certiformer.lab.training.two_phase import first_phase as first_phase
from certiformer.lab.training.two_phase import random_signs as random_signs
