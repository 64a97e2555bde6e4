"""The papers' data: generators that take a key, say what they draw from, and give the true risk where it is known.

>>> import jax
>>> from certiformer.lab import tasks
>>> task = tasks.build("sparse_majority", jax.random.key(0), n=5, n_test=7, tokens=10)
>>> task.train.inputs.shape, task.test.labels.shape, task.bayes_risk
((5, 11, 64), (7,), 0.0)
"""

from certiformer.lab.tasks._task import Dataset, Task, check_finite
from certiformer.lab.tasks._tasks_by_name import build, names, settings
from certiformer.lab.tasks.autoregressive import Autoregressive
from certiformer.lab.tasks.heavy_tails import HeavyTails
from certiformer.lab.tasks.masked_words import MaskedWords
from certiformer.lab.tasks.ntk_teacher import NTKTeacher
from certiformer.lab.tasks.sparse_majority import SparseMajority
from certiformer.lab.tasks.tokenized_mixture import TokenizedMixture

__all__ = [
    "Autoregressive", "Dataset", "HeavyTails", "MaskedWords", "NTKTeacher", "SparseMajority", "Task",
    "TokenizedMixture", "build", "check_finite", "names", "settings",
]  # fmt: skip
