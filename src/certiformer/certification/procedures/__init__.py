"""Procedures: what trains or counts to produce evidence, for any model with parameters or any estimator.

Each is a frozen description with one method, `certify(model, inputs, labels, classes)`, that returns records of
`certiformer.certificates`, with the predictor they speak about. `certiformer.certify(model, train=..., by=[...])` runs
them and divides delta; `certiformer certify --fit recipe.toml` reads them from a file (docs/recipes.md).
"""

from certiformer.certification.procedures.pick_to_learn import PickToLearn as PickToLearn
