"""Arda et al.: projected gradient descent for shallow Transformers in the kernel regime."""

from certiformer.theory.core import Paper

ARDA = Paper(
    "arda",
    "Enes Arda, Semih Cayci and Atilla Eryilmaz",
    "Finite-Time Analysis of Gradient Descent for Shallow Transformers",
)
