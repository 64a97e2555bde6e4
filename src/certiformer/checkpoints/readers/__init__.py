"""From a path to named tensors. Nothing in a file is ever executed."""

from certiformer.checkpoints.readers.open import open_checkpoint

__all__ = ["open_checkpoint"]
