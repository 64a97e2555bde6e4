"""Sweeps: many runs of a pure function, remembered in a ledger, done here or on a cluster. Knows no Transformers."""

from certiformer.reproduction.sweep.dask import Dask
from certiformer.reproduction.sweep.engine import Engine, Swept, sweep
from certiformer.reproduction.sweep.exports import export
from certiformer.reproduction.sweep.grids import extended, part
from certiformer.reproduction.sweep.ledger import Ledger, LedgerError, Row, Status, counting
from certiformer.reproduction.sweep.local import Inline, Local
from certiformer.reproduction.sweep.published_runs import PublishedRuns, publish, read
from certiformer.reproduction.sweep.replicate import Repeated, verify
from certiformer.reproduction.sweep.run import Config, Experiment, Failure, Outcome, Run, canonical
from certiformer.reproduction.sweep.time_estimate import Estimate, estimate

__all__ = [
    "Config", "Dask", "Engine", "Estimate", "Experiment", "Failure", "Inline", "Ledger", "LedgerError", "Local",
    "Outcome", "PublishedRuns", "Repeated", "Row", "Run", "Status", "Swept", "canonical", "counting", "estimate",
    "export", "extended", "part", "publish", "read", "sweep", "verify",
]  # fmt: skip
