"""Procedures: what trains or counts to produce evidence, for any model with parameters or any estimator.

Each is a frozen description with one method, `certify(model, inputs, labels, classes)`, that returns records of
`certiformer.certificates`, with the predictor they speak about. `certiformer.certify(model, train=..., by=[...])` runs
them and divides delta; `certiformer certify --fit recipe.toml` reads them from a file (docs/recipes.md).
"""

from certiformer.lab.coordinate_covers.attention_pooling import AttentionPooling
from certiformer.lab.procedures._learners import Descent, Learner, Refit
from certiformer.lab.procedures.coordinate_cover import CoordinateCover
from certiformer.lab.procedures.head_posterior import HeadPosterior
from certiformer.lab.procedures.occam import Code, Occam
from certiformer.lab.procedures.one_pass import OnePass
from certiformer.lab.procedures.pick_to_learn import PickToLearn
from certiformer.lab.procedures.surrogate import Surrogate

__all__ = [
    "AttentionPooling", "Code", "CoordinateCover", "Descent", "HeadPosterior", "Learner", "Occam", "OnePass",
    "PickToLearn", "Refit", "Surrogate",
]  # fmt: skip
