"""Sweeps: many runs of a pure function, remembered in a ledger, done here or on a cluster. Knows no Transformers."""

from certiformer.sweep.choice import counting
from certiformer.sweep.dask import Dask
from certiformer.sweep.engine import Engine, Swept, sweep
from certiformer.sweep.exports import export
from certiformer.sweep.grids import extended, part
from certiformer.sweep.ledger import Ledger, LedgerError, Row, Status
from certiformer.sweep.local import Inline, Local
from certiformer.sweep.published_runs import PublishedRuns, publish, read
from certiformer.sweep.replicate import Repeated, verify
from certiformer.sweep.run import Experiment, Failure, Outcome, Run, Shortened
from certiformer.sweep.time_estimate import Estimate, as_it_is, estimate, two_lengths

__all__ = [
    "Dask",
    "Engine",
    "Estimate",
    "Experiment",
    "Failure",
    "Inline",
    "Ledger",
    "LedgerError",
    "Local",
    "Outcome",
    "PublishedRuns",
    "Repeated",
    "Row",
    "Run",
    "Shortened",
    "Status",
    "Swept",
    "as_it_is",
    "counting",
    "estimate",
    "export",
    "extended",
    "part",
    "publish",
    "read",
    "sweep",
    "two_lengths",
    "verify",
]
