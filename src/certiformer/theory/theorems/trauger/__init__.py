"""Trauger & Tewari: norm-based bounds that do not grow with the sequence length."""

from certiformer.theory.core import Paper

TRAUGER = Paper(
    "trauger",
    "Jacob Trauger and Ambuj Tewari",
    "Sequence Length Independent Norm-Based Generalization Bounds for Transformers",
    2024,
    "AISTATS",
    {
        "booktitle": "Proceedings of the 27th International Conference on Artificial Intelligence and Statistics",
        "series": "Proceedings of Machine Learning Research",
        "volume": "238",
        "eprint": "2310.13088",
        "archiveprefix": "arXiv",
    },
)
