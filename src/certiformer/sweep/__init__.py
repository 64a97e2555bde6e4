"""Sweeps: many runs of a pure function, remembered in a ledger, done here or on a cluster. Knows no Transformers."""

from certiformer.sweep.again import Repeated, adopt, verify
from certiformer.sweep.choice import counting
from certiformer.sweep.dask import Dask
from certiformer.sweep.engine import Engine, Swept, sweep
from certiformer.sweep.estimate import Estimate, as_it_is, estimate, two_lengths
from certiformer.sweep.evidence import Evidence, publish, read
from certiformer.sweep.exports import export
from certiformer.sweep.grids import extended, part
from certiformer.sweep.ledger import Ledger, LedgerError, Row, Status
from certiformer.sweep.local import Inline, Local
from certiformer.sweep.run import Experiment, Failure, Outcome, Run, Shortened
from certiformer.sweep.version import code_version

__all__ = [
    "Dask",
    "Engine",
    "Estimate",
    "Evidence",
    "Experiment",
    "Failure",
    "Inline",
    "Ledger",
    "LedgerError",
    "Local",
    "Outcome",
    "Repeated",
    "Row",
    "Run",
    "Shortened",
    "Status",
    "Swept",
    "adopt",
    "as_it_is",
    "code_version",
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
