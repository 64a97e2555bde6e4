"""Mwigo & Dasgupta: a shallow encoder trained by gradient descent."""

from certiformer.theory.core import Paper

MWIGO = Paper(
    "mwigo",
    "Mwigo and Dasgupta",
    "Generalization bound for a Shallow Transformer trained using Gradient Descent",
    identifiers={  # from the references of Li et al.: our copy is anonymous
        "journal": "Transactions on Machine Learning Research",
        "year": "2026",
        "issn": "2835-8856",
        "url": "https://openreview.net/forum?id=t3iUeMOT8Z",
    },
)
