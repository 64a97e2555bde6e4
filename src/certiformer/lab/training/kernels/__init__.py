"""The papers' inner loops, compiled by Numba on this machine: one file for each network that an experiment trains.

attentions      Deora's attention layer, many runs at once (leave-one-out)
heads           Arda's shallow Transformer on any tokens
patches         Mwigo's shallow encoder on images
table_descent   Trauger's network on sequences of bits
windows         Arda's Transformer and IndRNN on windows in which one channel varies

Each has the class or function that an experiment calls, on NumPy arrays by name, and below it the loops. The networks
themselves, as `models` has them, are what they are tested against.
"""

from certiformer.lab.training.kernels.attentions import AttentionRuns, attention_runs, leave_one_out_weights
from certiformer.lab.training.kernels.heads import HeadDescent, onto_ball
from certiformer.lab.training.kernels.patches import PatchDescent, Patches, distinct_patches
from certiformer.lab.training.kernels.table_descent import Bits, TableDescent, flatten, unflatten
from certiformer.lab.training.kernels.windows import (
    WindowHeads,
    Windows,
    WindowUnits,
    heads_jacobian,
    split_windows,
    units_jacobian,
)

__all__ = [
    "AttentionRuns", "Bits", "HeadDescent", "PatchDescent", "Patches", "TableDescent", "WindowHeads", "WindowUnits",
    "Windows", "attention_runs", "distinct_patches", "flatten", "heads_jacobian", "leave_one_out_weights",
    "onto_ball", "split_windows", "unflatten", "units_jacobian",
]  # fmt: skip
