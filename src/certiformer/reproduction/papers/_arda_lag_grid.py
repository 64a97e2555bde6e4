"""Arda et al., figure 2: the runs, two kinds of networks on series of several lags. What one does: `_arda_lag_runs`."""

from __future__ import annotations

from certiformer.reproduction.study import Scale
from certiformer.reproduction.sweep import Config, Experiment

NETWORKS = ("indrnn", "transformer")
ALPHA = 1.5  # |u_i| at the start, as released
COEFFICIENT, VARIANCE = 0.9, 0.1  # x_t = 0.9 x_{t-L} + N(0, 0.1)
PRECISION = {"indrnn": "float64", "transformer": "float32"}
"""Where a configuration does not name its precision."""
RELEASED = "float32"
"""The precision of the released program; gradients through 97 steps at |u| = 1.5 carry some noise there."""

PAPER_LAGS = (4, 16, 72, 96)  # the paper's, from its figure
SHORT, LONG = 500, 5000
"""Steps behind the figure's upper panel (gradient norms) and lower panel (validation loss), as released.

The released short runs are runs of their own; here they are the first steps of the long ones, which are the same.
"""


def precision(config: Config) -> str:
    """In which a network is trained."""
    return str(config.get("precision", PRECISION[config["network"]]))


def experiment(scale: Scale) -> Experiment:
    """Seeds times lags times networks, as released; rivals see the same series. Then a few in double precision."""
    common: Config = {"width": 64, "pairs": 8, "rate": 0.05}
    lags, seeds, size = {
        "smoke": ((2, 4), 2, {"n": 48, "n_test": 16, "n_jacobian": 8, "steps": 20, "every": 10}),
        "quick": ((4, 8, 16, 32, 48), 5, {"n": 500, "n_test": 250, "n_jacobian": 64, "steps": 500, "every": 20}),
        "paper": (PAPER_LAGS, 20, {"n": 4000, "n_test": 1000, "n_jacobian": 256, "steps": LONG, "every": 10}),
    }[scale]
    released = {"indrnn": {"precision": RELEASED}, "transformer": {}}
    configs = [
        {"network": network, "lag": lag, "seed": seed, **size, **common, **released[network]}
        for seed in range(1, seeds + 1)
        for lag in lags
        for network in NETWORKS
    ]
    doubled = [
        {"network": "indrnn", "lag": lag, "seed": seed, **size, **common}
        for seed in range(1, min(seeds, CONTROLS) + 1)
        for lag in lags
    ]
    return Experiment("arda.fig2", f"{__package__}._arda_lag_runs:run", [*configs, *doubled])


CONTROLS = 3
"""Seeds of the IndRNN that are also run in double precision."""
