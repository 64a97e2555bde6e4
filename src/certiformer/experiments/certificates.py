"""Which certificate wins at which n: on zeros and ones, and on sparse majority, next to what they bound."""

from __future__ import annotations

from certiformer.experiments import _certificate_runs
from certiformer.experiments.study import Scale
from certiformer.sweep import Experiment
from certiformer.sweep.run import Config

DELTA = 0.05
SOURCES = (
    "certiformer.calculus.allocation",
    "certiformer.calculus.betting",
    "certiformer.calculus.covers",
    "certiformer.calculus.quantised",
    "certiformer.calculus.strata",
    "certiformer.calculus.tails",
    "certiformer.certification.delta",
    "certiformer.certification.evidence",
    "certiformer.certification.recipes.mnist",
    "certiformer.certification.recipes.sparse_majority",
    "certiformer.experiments._certificates_majority",
    "certiformer.experiments._certificates_mnist",
    "certiformer.models.shallow_encoder",
    "certiformer.tasks.mnist",
    "certiformer.tasks.sparse_majority",
    "certiformer.theorems.certificates",
    "certiformer.training.subspace",
)

Sizes = tuple[int, ...]
GRID: dict[Scale, dict[str, tuple[Sizes, int]]] = {
    "smoke": {"mnist": ((60,), 1), "sparse majority": ((100,), 2)},
    "quick": {
        "mnist": ((100, 300, 1000, 3000, 10_000), 5),
        "sparse majority": ((100, 300, 1000, 3000, 10_000, 30_000), 5),
    },
    "paper": {
        "mnist": ((100, 200, 300, 500, 1000, 2000, 3000, 5000, 10_000), 20),
        "sparse majority": ((100, 200, 300, 500, 1000, 2000, 3000, 5000, 10_000, 30_000, 100_000), 20),
    },
}
"""For each task the sizes of the sample, and the number of seeds."""
DEMO = {"encoder_steps": 3000, "head_steps": 400, "occam_steps": 9000, "occam_seeds": 2, "progressive_steps": 300}
SHORT = {"encoder_steps": 400, "head_steps": 400, "occam_steps": 2000, "occam_seeds": 1, "progressive_steps": 40}
TINY = {"encoder_steps": 20, "head_steps": 20, "occam_steps": 20, "occam_seeds": 1, "progressive_steps": 2}
MNIST: dict[Scale, dict[str, int]] = {"smoke": TINY, "quick": SHORT, "paper": DEMO}
"""How long the networks are trained: at the paper's scale as in the demo. Other settings are the demo's throughout."""
MAJORITY = {"tokens": 20, "restarts": 64, "match_steps": 3000, "posterior_noise": 0.03, "posterior_steps": 200}
"""The recipe's; the posterior's noise was chosen on tasks of other seeds."""


def experiment(scale: Scale) -> Experiment:
    """One run per task, n and seed, each with all certificates."""
    chosen: dict[str, dict[str, float]] = {"mnist": dict(MNIST[scale]), "sparse majority": dict(MAJORITY)}
    configs: list[Config] = [
        {"task": task, "n": n, "seed": seed, "delta": DELTA, **chosen[task]}
        for task, (sizes, seeds) in GRID[scale].items()
        for n in sizes
        for seed in range(seeds)
    ]
    return Experiment("certificates", run=f"{_certificate_runs.__name__}:run", configs=configs, sources=SOURCES)
