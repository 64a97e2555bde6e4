"""Deora et al.: optimization and generalization of multi-head attention under gradient descent."""

from certiformer.theory.core import Paper

DEORA = Paper(
    "deora",
    "Puneesh Deora, Rouzbeh Ghaderi, Hossein Taheri and Christos Thrampoulidis",
    "On the Optimization and Generalization of Multi-head Attention",
    2024,
)
