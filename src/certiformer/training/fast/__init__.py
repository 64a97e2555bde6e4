"""Objectives that use the structure of a paper's experiment; each computes what the plain model computes, faster.

The plain form (`steps.supervised` on the model itself) stays the reference they are tested against. They are drop-in
objectives for the steps, give first derivatives only, and work on blocks of samples small enough for the cache.
"""

from certiformer.training.fast._attention_runs import AttentionRuns as AttentionRuns
from certiformer.training.fast._attention_runs import attention_runs as attention_runs
from certiformer.training.fast._blocks import Blocks as Blocks
from certiformer.training.fast._blocks import blocks as blocks
from certiformer.training.fast._head_descent import HeadDescent as HeadDescent
from certiformer.training.fast._head_descent import head_descent as head_descent
from certiformer.training.fast._head_descent import onto_ball as onto_ball
from certiformer.training.fast._independent_heads import independent_heads as independent_heads
from certiformer.training.fast._indrnn import indrnn as indrnn
from certiformer.training.fast._many_attentions import many_attentions as many_attentions
from certiformer.training.fast._merged_patches import MergedPatches as MergedPatches
from certiformer.training.fast._merged_patches import merge_patches as merge_patches
from certiformer.training.fast._merged_patches import merged_patches as merged_patches
from certiformer.training.fast._patch_epochs import PatchEpochs as PatchEpochs
from certiformer.training.fast._patch_epochs import Patches as Patches
from certiformer.training.fast._patch_epochs import distinct_patches as distinct_patches
from certiformer.training.fast._patch_epochs import patch_epochs as patch_epochs
from certiformer.training.fast._table_descent import Bits as Bits
from certiformer.training.fast._table_descent import TableDescent as TableDescent
from certiformer.training.fast._table_descent import flatten as flatten
from certiformer.training.fast._table_descent import table_descent as table_descent
from certiformer.training.fast._table_descent import unflatten as unflatten
from certiformer.training.fast._token_table import token_table as token_table
from certiformer.training.fast._token_table import token_table_logits as token_table_logits
from certiformer.training.fast._windows import WindowDescent as WindowDescent
from certiformer.training.fast._windows import Windows as Windows
from certiformer.training.fast._windows import heads_jacobian as heads_jacobian
from certiformer.training.fast._windows import units_jacobian as units_jacobian
from certiformer.training.fast._windows import window_heads as window_heads
from certiformer.training.fast._windows import window_units as window_units
from certiformer.training.fast._windows import windows as windows
