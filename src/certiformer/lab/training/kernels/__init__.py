"""The papers' inner loops, compiled by Numba on this machine: one file for each network that an experiment trains.

attentions   Deora's attention layer, many runs at once (leave-one-out)
heads        Arda's shallow Transformer on any tokens
majority     Trauger's network on sequences of bits
patches      Mwigo's shallow encoder on images
windows      Arda's Transformer and IndRNN on windows in which one channel varies

Each has the class or function that an experiment calls, on NumPy arrays by name, and below it the loops. The networks
themselves, as `models` has them, are what they are tested against.
"""

from certiformer.lab.training.kernels.attentions import AttentionRuns as AttentionRuns
from certiformer.lab.training.kernels.attentions import attention_runs as attention_runs
from certiformer.lab.training.kernels.attentions import leave_one_out_weights as leave_one_out_weights
from certiformer.lab.training.kernels.heads import HeadDescent as HeadDescent
from certiformer.lab.training.kernels.heads import onto_ball as onto_ball
from certiformer.lab.training.kernels.majority import Bits as Bits
from certiformer.lab.training.kernels.majority import TableDescent as TableDescent
from certiformer.lab.training.kernels.majority import flatten as flatten
from certiformer.lab.training.kernels.majority import unflatten as unflatten
from certiformer.lab.training.kernels.patches import PatchDescent as PatchDescent
from certiformer.lab.training.kernels.patches import Patches as Patches
from certiformer.lab.training.kernels.patches import distinct_patches as distinct_patches
from certiformer.lab.training.kernels.windows import WindowHeads as WindowHeads
from certiformer.lab.training.kernels.windows import Windows as Windows
from certiformer.lab.training.kernels.windows import WindowUnits as WindowUnits
from certiformer.lab.training.kernels.windows import heads_jacobian as heads_jacobian
from certiformer.lab.training.kernels.windows import split_windows as split_windows
from certiformer.lab.training.kernels.windows import units_jacobian as units_jacobian
