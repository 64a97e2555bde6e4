"""Certificates and what they bound, against n."""

from __future__ import annotations

import math
from collections.abc import Mapping

from certiformer.experiments._certificate_cells import LETTERS, OTHERS, TITLES, Cell
from certiformer.experiments.panel import Panel, Plot, Series

WORDS = {
    "holdout": "H: hold-out",
    "pacbayes.single": "K1: one draw",
    "occam": "O: Occam",
    "margin": "M: margin",
    "pacbayes.gibbs": "K: fresh draws",
    "progressive": "V: iterates of a pass",
    "betting": "B: betting",
}


def _curve(line: list[Cell], id: str, label: str, what: str = "alone") -> Series:
    return Series.measured(label, {float(cell.n): cell.mean(id, what) for cell in line if id in cell.ids})


def _true(line: list[Cell], id: str) -> Series:
    means = {float(cell.n): cell.mean(id, "true").value for cell in line if id in cell.ids}
    return Series.theory(f"true, what {LETTERS[id]} bounds", means)


def risk_plot(tasks: Mapping[str, list[Cell]], delta: float) -> Plot:
    ids = [id for id in LETTERS if id != "betting" and any(id in c.ids for line in tasks.values() for c in line)]
    panels = [
        Panel(
            "examples n",
            "error rate",
            [*(_curve(line, id, WORDS[id]) for id in ids), _true(line, "holdout")],
            TITLES[task],
            "xy",
            {"guessing": 0.5},
        )
        for task, line in tasks.items()
    ]
    others = "; ".join(f"{LETTERS[id]} bounds {what}" for id, what in OTHERS.items() if id in ids)
    return Plot(
        panels,
        f"Certificates at delta = {delta:g} each against the number of examples, means over seeds with 95 % bands, and "
        f"the true error rate of H's network. H, K1, O and M bound the error rate of one network; {others}.",
        height=3.1,
    )


def cross_entropy_plot(tasks: Mapping[str, list[Cell]], delta: float) -> Plot:
    panels = [
        Panel(
            "examples n",
            "cross-entropy (nats)",
            [_curve(line, "betting", WORDS["betting"]), _true(line, "betting")],
            TITLES[task],
            "xy",
            {"guessing": math.log(2.0)},
        )
        for task, line in tasks.items()
    ]
    return Plot(
        panels,
        f"The betting certificate at delta = {delta:g} for the smoothed cross-entropy of H's network, and its true "
        "value; means over seeds with 95 % bands.",
    )
