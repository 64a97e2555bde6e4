"""Mwigo & Dasgupta: a shallow encoder trained by gradient descent."""

from certiformer.theory.core import Paper

MWIGO = Paper(
    "mwigo",
    "Mwigo and Dasgupta",
    "Generalization bound for a Shallow Transformer trained using Gradient Descent",
)
