"""Arda et al., figure 2: a recurrent network and a Transformer on a series whose memory reaches L steps back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import special

from certiformer.core import find
from certiformer.experiments import statistics
from certiformer.experiments._arda_lag_runs import ALPHA, COEFFICIENT, NETWORKS, cost, experiment, probe
from certiformer.experiments.statistics import Interval
from certiformer.experiments.study import Analysis, Finding, Plot, Study
from certiformer.report import plots
from certiformer.sweep import Row
from certiformer.sweep.run import Config

NAMES = {"indrnn": "IndRNN", "transformer": "Transformer"}
ROUGHLY_CONSTANT = 0.1  # our reading of "roughly constant": doubling the lag changes the number by at most 7 %

Cells = Mapping[tuple[str, int], Mapping[int, Config]]
MEASURES = {
    "gradient": "gradient norm of the loss",
    "jacobian": "Jacobian norm",
    "validation": "validation loss",
}


def analyse(rows: Sequence[Row]) -> Analysis:
    """Growth with the lag, network by network, and the two networks against each other at each lag."""
    cells: dict[tuple[str, int], dict[int, Config]] = {}
    # of a seed's short and long run, the long one has both runs' numbers
    for row in sorted(rows, key=lambda r: int(r.config["steps"])):
        cells.setdefault((row.config["network"], row.config["lag"]), {})[row.config["seed"]] = row.values
    exponents = {(m, network): _growth(cells, m, network) for m in MEASURES for network in NETWORKS}
    ratios = {m: _ratios(cells, m) for m in MEASURES}
    spreads = {m: _spread(cells, m) for m in ("gradient", "jacobian")}
    overlap = {network: _overlap(cells, network) for network in NETWORKS}
    findings = [
        *_growth_findings(exponents),
        *_ratio_findings(ratios),
        *(
            Finding(
                f"largest {MEASURES[m]}: spread of its logarithm between seeds, IndRNN / Transformer",
                "> 1",
                found.value,
                found.ends,
                settled(found, statistics.Prediction(1.0, ">=")),
            )
            for m, found in spreads.items()
        ),
        *(
            Finding(
                f"lowest validation loss, {NAMES[network]}: on a series of its own / on the released split",
                None,
                found.value,
                found.ends,
                settled(found, statistics.Prediction(1.0, "=", ROUGHLY_CONSTANT)),
                sound="1 if the overlap leaks nothing",
            )
            for network, found in overlap.items()
        ),
    ]
    fits: dict[str, Any] = {
        "exponent_in_lag": {f"{m}/{network}": found.as_json() for (m, network), found in exponents.items()},
        "ratio_by_lag": {m: {str(lag): found.as_json() for lag, found in by.items()} for m, by in ratios.items()},
        "variation_ratio": {m: found.as_json() for m, found in spreads.items()},
        "fresh_over_shared": {network: found.as_json() for network, found in overlap.items()},
    }
    plotted = {"figure_2": _plot(cells, ratios)} if cells else {}
    return Analysis(tuple(findings), fits, plotted, _remarks(cells, exponents, ratios))


def settled(found: Interval, claim: statistics.Prediction) -> str:
    """A claim about a direction is met when the whole interval meets it, missed when none of it does."""
    low, high = claim.allowed
    if low <= found.low and found.high <= high:
        return "agrees"
    return "does not agree" if found.high < low or found.low > high else "inconclusive"


def recurrent_bound(lag: int) -> float:
    """Sound bound on |dh_T/du| at the start: T = lag + 1 inputs and |u| = 1.5; that part asks nothing of the inputs."""
    small: dict[str, Any] = dict.fromkeys(("rho_c", "rho_u", "rho_w", "nu_c", "nu_u", "nu_w"), 1e-09)
    run = {"activation": "tanh", "m": 64, "T": lag + 1, "alpha": ALPHA, "n": 1, "delta": 0.5, "eta": 0.05, "tau": 1}
    return find("arda.prop2").evaluate({**run, **small}).sound["Lu"].value


def _growth(cells: Cells, measure: str, network: str) -> Interval:
    """The exponent b of L^b: each seed's own least squares on logarithms, since a seed is one draw for all lags."""
    points: dict[int, list[tuple[float, float]]] = {}
    for (name, lag), seeds in sorted(cells.items()):
        for seed, values in seeds.items():
            if name == network and values[measure] > 0.0:
                points.setdefault(seed, []).append((math.log(lag), math.log(values[measure])))
    lines = [np.array(line).T for line in points.values() if len(line) > 1]
    return statistics.mean_interval([float(np.polyfit(x, y, 1)[0]) for x, y in lines])


def _ratios(cells: Cells, measure: str) -> dict[int, Interval]:
    """IndRNN / Transformer at each lag: geometric mean over seeds; both saw the same series, so Student's is paired."""
    found: dict[int, Interval] = {}
    for lag in sorted({lag for _, lag in cells}):
        one, other = (cells.get((network, lag), {}) for network in NETWORKS)
        logs = [math.log(one[s][measure] / other[s][measure]) for s in sorted(one.keys() & other.keys())]
        if logs:
            found[lag] = _geometric(logs)
    return found


def _geometric(logs: Sequence[float]) -> Interval:
    """exp of the mean and of the ends of its interval."""
    found = statistics.mean_interval(logs)
    return Interval(_exp(found.value), _exp(found.low), _exp(found.high))


def _exp(value: float) -> float:
    return math.inf if value > 700.0 else math.exp(value)


def _spread(cells: Cells, measure: str) -> Interval:
    """Standard deviation of the logarithm between seeds, IndRNN over Transformer, with Fisher's interval."""
    variances, freedoms = [], []
    for name in NETWORKS:
        groups = [
            np.log([v[measure] for v in seeds.values()]) for (network, _), seeds in cells.items() if network == name
        ]
        freedom = sum(len(logs) - 1 for logs in groups)
        around = sum(float(np.sum((logs - logs.mean()) ** 2)) for logs in groups)
        variances.append(around / freedom if freedom else 0.0)
        freedoms.append(freedom)
    if min(variances) == 0.0:
        return Interval(math.nan, -math.inf, math.inf)
    quotient = variances[0] / variances[1]
    tail = (1.0 - statistics.LEVEL) / 2
    below, above = (float(special.fdtri(freedoms[0], freedoms[1], p)) for p in (1.0 - tail, tail))
    return Interval(math.sqrt(quotient), math.sqrt(quotient / below), math.sqrt(quotient / above))


def _overlap(cells: Cells, network: str) -> Interval:
    """Validation on a fresh series over validation on overlapping windows: geometric mean over the lags of a seed."""
    logs: dict[int, list[float]] = {}
    for (name, _), seeds in cells.items():
        for seed, values in seeds.items():
            if name == network:
                logs.setdefault(seed, []).append(math.log(values["validation_fresh"] / values["validation"]))
    return _geometric([float(np.mean(each)) for each in logs.values()])


def _growth_findings(exponents: Mapping[tuple[str, str], Interval]) -> list[Finding]:
    grows, stays = statistics.Prediction(0.0, ">="), statistics.Prediction(0.0, "=", ROUGHLY_CONSTANT)
    findings = []
    for (measure, network), found in exponents.items():
        claim, said = (grows, "grows: > 0") if network == "indrnn" else (stays, f"stable: {stays}")
        sound = None
        if measure == "jacobian":
            sound = "may grow like 1.5^L" if network == "indrnn" else "bounded for every L"
        best = "lowest" if measure == "validation" else "largest"
        findings.append(
            Finding(
                f"{best} {MEASURES[measure]} over training, {NAMES[network]}: exponent in the lag L",
                said,
                found.value,
                found.ends,
                settled(found, claim),
                sound,
            )
        )
    return findings


def _ratio_findings(ratios: Mapping[str, Mapping[int, Interval]]) -> list[Finding]:
    above = statistics.Prediction(1.0, ">=")
    findings = []
    for measure, by_lag in ratios.items():
        for lag, found in by_lag.items():
            # Of the validation loss the paper says that it degrades, not where the curves cross.
            claimed = measure != "validation"
            findings.append(
                Finding(
                    f"{MEASURES[measure]}, IndRNN / Transformer at L = {lag}",
                    "> 1" if claimed else None,
                    found.value,
                    found.ends,
                    settled(found, above) if claimed else _who(found),
                )
            )
    return findings


def _who(ratio: Interval) -> str:
    """Which network has the lower loss, if the interval says."""
    if ratio.high < 1.0:
        return "IndRNN is better"
    return "Transformer is better" if ratio.low > 1.0 else "inconclusive"


def _remarks(
    cells: Cells,
    exponents: Mapping[tuple[str, str], Interval],
    ratios: Mapping[str, Mapping[int, Interval]],
) -> tuple[str, ...]:
    remarks = []
    for measure in ("gradient", "jacobian"):
        by_lag = ratios[measure]
        if by_lag:
            above = [str(lag) for lag, found in by_lag.items() if found.low > 1.0]
            remarks.append(
                f"The IndRNN's largest {MEASURES[measure]} exceeds the Transformer's beyond doubt at "
                f"{len(above)} of {len(by_lag)} lags ({', '.join(above) or 'none'}); growth exponents "
                f"{_span(exponents[measure, 'indrnn'])} against {_span(exponents[measure, 'transformer'])}."
            )
    starts = [
        (lag, max(values["jacobian_at_start"] for values in seeds.values()))
        for (network, lag), seeds in sorted(cells.items())
        if network == "indrnn"
    ]
    if starts:
        lag, largest = starts[-1]
        remarks.append(
            f"At the start the recurrent Jacobian is far from its worst case: at L = {lag} at most {largest:.3g}, "
            f"where the recursion allows {recurrent_bound(lag):.3g}."
        )
    flat = [values for seeds in cells.values() for values in seeds.values()]
    if flat:
        falling: dict[str, list[bool]] = {}
        for (network, _), seeds in sorted(cells.items()):
            falling.setdefault(NAMES[network], []).extend(values["still_falling"] for values in seeds.values())
        counts = ", ".join(f"{sum(each)} of {len(each)} for the {name}" for name, each in falling.items())
        remarks.append(
            f"Runs whose validation loss was lowest at the very end, so that more steps would lower it further: "
            f"{counts}. {sum(values['diverged'] >= 0 for values in flat)} runs diverged."
        )
    return tuple(remarks)


def _span(found: Interval) -> str:
    return f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"


def _plot(cells: Cells, ratios: Mapping[str, Mapping[int, Interval]]) -> Plot:
    figure, axes = plots.panels(2, 2)
    lags = sorted({lag for _, lag in cells})
    titles = {
        "gradient": "as released: gradient of the loss",
        "jacobian": "as in the text: Jacobian of the network",
        "validation": "lowest validation loss",
    }
    labels = {
        "gradient": "largest norm over training",
        "jacobian": "largest norm over training",
        "validation": "loss (labels of variance 1)",
    }
    for (measure, title), panel in zip(titles.items(), axes, strict=False):
        centres: list[float] = []
        for index, network in enumerate(NETWORKS):
            here = [lag for lag in lags if (network, lag) in cells]
            found = [_geometric([math.log(v[measure]) for v in cells[network, lag].values()]) for lag in here]
            _band(panel, here, found, NAMES[network], index)
            centres += [f.value for f in found]
        if measure == "jacobian":
            plots.theory(panel, lags, [recurrent_bound(lag) for lag in lags], label="sound bound at the start, IndRNN")
        if measure == "validation":
            noise = 1.0 - COEFFICIENT**2
            plots.theory(panel, lags, [noise] * len(lags), label="noise: nobody does better")
        plots.label(panel, "lag L (steps)", labels[measure], title=title, log="x" if measure == "validation" else "xy")
        if measure == "jacobian":
            # The bound leaves the panel at the top; below there is room for the legend.
            panel.set_ylim(min(centres) / 40, 10 * max(centres))
            panel.legend(fontsize=7.5, frameon=False, loc="lower right")
        if measure == "validation":
            panel.set_ylim(0.0, 1.6 * max(centres))  # room for the legend
        _lag_ticks(panel, lags)
    for index, (measure, by_lag) in enumerate(ratios.items()):
        _band(axes[3], list(by_lag), list(by_lag.values()), MEASURES[measure], index + 2)
    axes[3].axhline(1.0, color="0.5", lw=0.8)
    plots.label(axes[3], "lag L (steps)", "ratio", title="IndRNN / Transformer", log="xy")
    _lag_ticks(axes[3], lags)
    caption = (
        "Largest gradient norm of the memory's weights (recurrent or attention weights) and lowest validation loss, "
        "against the lag. Lines: geometric means over seeds; bands: 95 % intervals."
    )
    return Plot(figure, caption)


def _band(panel: Any, lags: Sequence[int], found: Sequence[Interval], name: str, index: int) -> None:
    """Intervals of a single seed, (0, inf), are left out."""
    low = [f.low if f.low > 0.0 else f.value for f in found]
    plots.band(panel, lags, [f.value for f in found], low, [f.high for f in found], label=name, index=index)


def _lag_ticks(panel: Any, lags: Sequence[int]) -> None:
    panel.set_xticks(lags, [str(lag) for lag in lags])
    panel.set_xticks([], minor=True)


STUDIES = (
    Study(
        "arda.fig2",
        "arda",
        "Gradient norms and validation loss against the lag: IndRNN and Transformer on AR(L)",
        "As the lag grows, the recurrent network shows larger and more variable gradient norms and its validation loss "
        "gets worse; the Transformer's norms stay stable and its validation loss roughly constant.",
        experiment,
        analyse,
        cost,
        probe,
        readings=(
            (
                "The text calls the norm a Jacobian; the released program logs the gradient of the training loss. We "
                "show both: the loss gradient with respect to the recurrent or attention weights, largest over all "
                "steps, and the root mean square over training windows of ||df/dweights||, largest over the steps "
                "looked at."
            ),
            (
                "Windows have L + 1 tokens of 17 channels (the value, 8 sines, 8 cosines), are not scaled into the "
                "unit ball, and labels are standardised, as released. The theory's constants for unit tokens do not "
                "apply."
            ),
            (
                "The released split is at random among overlapping windows, so that validation shares points with "
                "training. We train on it and validate on both: those windows, and windows of a second series."
            ),
            (
                "Validation loss and Jacobian are looked at every few steps, not at every one. At the quick scale "
                "training is shorter and on fewer windows, and lags reach 48 instead of 96."
            ),
            "The IndRNN runs in double precision, since single precision blurs its gradients at long lags.",
            (
                "Norms have heavy tails, so curves are geometric means and exponents are fitted to logarithms. "
                f"Roughly constant means an exponent within {ROUGHLY_CONSTANT} of 0; a direction counts as settled "
                "when the whole interval shows it."
            ),
        ),
    ),
)
