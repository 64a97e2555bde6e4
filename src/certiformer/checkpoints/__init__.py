"""Checkpoints people have, as named tensors, roles and a network. Nothing is executed, nothing imports JAX."""

from certiformer.checkpoints.errors import CheckpointError as CheckpointError
from certiformer.checkpoints.inspection import Inspection as Inspection
from certiformer.checkpoints.inspection import Options as Options
from certiformer.checkpoints.inspection import inspect as inspect
from certiformer.checkpoints.readers import open_checkpoint as open_checkpoint
from certiformer.checkpoints.tensors import Checkpoint as Checkpoint
from certiformer.checkpoints.tensors import Tensor as Tensor
