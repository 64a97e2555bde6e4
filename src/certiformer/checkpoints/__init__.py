"""Checkpoints people have, as named tensors, roles and a network. Nothing is executed, nothing imports JAX."""

from certiformer.checkpoints.checkpoint_error import CheckpointError
from certiformer.checkpoints.inspection import Inspection, Options, inspect
from certiformer.checkpoints.readers import open_checkpoint
from certiformer.checkpoints.tensors import Checkpoint, Tensor

__all__ = ["Checkpoint", "CheckpointError", "Inspection", "Options", "Tensor", "inspect", "open_checkpoint"]
