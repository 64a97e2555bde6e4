"""Li et al.: excess risk by offset Rademacher complexity, norm- and rank-based, bounded and unbounded inputs."""

from certiformer.theory.core import Paper

LI = Paper(
    "li",
    "Yawen Li, Tao Hu, Zhouhui Lian, Wan Tian, Yijie Peng, Huiming Zhang and Zhongyi Li",
    "Sharper Generalization Bounds for Transformer",
    2026,
    "arXiv:2603.21541v1",
    {"eprint": "2603.21541", "archiveprefix": "arXiv", "primaryclass": "cs.LG"},
)
