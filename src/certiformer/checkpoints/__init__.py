"""Checkpoints people have, as named tensors, roles and a network. Nothing is executed, nothing imports JAX."""
