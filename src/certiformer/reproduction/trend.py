"""How something grows: measured beside what the printed and the sound theory say, from one declaration.

A `Trend` is a column of a table against a key. From it come the exponent with its interval, a row of findings for each
theory by the same reading, the numbers behind them, and the curves of a panel with the fitted slope in the legend.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from certiformer.reproduction.panel import Plot, Series
from certiformer.reproduction.runs_table import Key, Table, Value
from certiformer.reproduction.statistics import Centre, Interval, Vector, bootstrap, mean_interval, power_law
from certiformer.reproduction.study import Analysis, Finding
from certiformer.reproduction.verdicts import MEASURED, SLOPE_MARGIN, Claim, Relation, Verdict, holm


@dataclass(frozen=True)
class Theory:
    """One side's say: a curve (a function of the runs at one x), whose exponent is read off, or an exponent.

    relation  "=": the measured exponent is this one, within the study's margin; "<=": it is at most this one.
    scaled    draw the curve through the first measured point, where only its growth matters.
    claimed   whether the exponent is a claim. That of a bound with its constants is none: what stays below the bound
              may fall more slowly than it. Its values are put to the test instead.
    """

    name: str
    curve: Callable[[Table], float] | None = None
    exponent: float | None = None
    relation: Relation = "="
    scaled: bool = False
    claimed: bool = True


@dataclass(frozen=True)
class Trend:
    """y against x over the runs of `table`: y = a x^b.

    name      the setting of its findings, "rank one: exponent in d";
    centre    means over seeds, or medians where the paper fits those;
    paired    a seed is one draw for every x, and resampled as one.
    """

    name: str
    table: Table
    x: Key
    y: Value
    printed: Theory | None = None
    sound: Theory | None = None
    centre: Centre = "mean"
    paired: bool = False
    margin: float = SLOPE_MARGIN
    label: str = ""

    @functools.cached_property
    def points(self) -> dict[float, Vector]:
        """The values at every x."""
        return self.table.points(self.x, self.y, paired=self.paired)

    @functools.cached_property
    def slope(self) -> Interval:
        """The exponent of a power law through the points."""
        same = len({len(values) for values in self.points.values()}) == 1
        return power_law(self.points, centre=self.centre, paired=self.paired and same)

    def said(self, theory: Theory) -> float:
        """The exponent a theory states, or that of its curve by the same least squares as for the measured points."""
        if theory.exponent is not None:
            return theory.exponent
        curve = self._curve(theory)
        return fitted_exponent(list(curve), list(curve.values()))

    def findings(self) -> list[Finding]:
        """A row for each theory; one that is merely measured where there is none."""
        if len(self.points) < 2:
            return []
        if self.printed is None and self.sound is None:
            return [Finding.of(self.name, self.slope)]
        rows = []
        for side, theory in (("paper", self.printed), ("sound", self.sound)):
            if theory is not None:
                claim = Claim(self.said(theory), theory.relation)
                verdict = claim.judge(self.slope, self.margin) if theory.claimed else MEASURED
                if verdict.word == "small effect":
                    verdict = replace(verdict, detail=self._size(claim.value))
                rows.append(Finding.of(f"{self.name}: {theory.name}", self.slope, verdict, **{side: str(claim)}))
        return rows

    def _size(self, exponent: float) -> str:
        """The factor between the first and the last x by which y departs from x^exponent."""
        first, last = min(self.points), max(self.points)
        apart = "" if exponent == 0.0 else " beside the claim"
        return f"a factor {(last / first) ** (self.slope.value - exponent):.3g}{apart} from {first:g} to {last:g}"

    def fit(self) -> dict[str, Any]:
        """The numbers behind it, for the document."""
        said = {
            side: self.said(theory)
            for side, theory in (("printed", self.printed), ("sound", self.sound))
            if theory is not None and len(self.points) > 1
        }
        by_x = {f"{x:g}": mean_interval(y).as_json() for x, y in self.points.items()}
        return {self.name: {**self.slope.as_json(), **said, "at": by_x}}

    def series(self) -> list[Series]:
        """The measured curve with its slope in the legend, if it has one, then the theories."""
        if not self.points:
            return []
        middle = {x: self._middle(y) for x, y in self.points.items()}
        name = self.label or "measured"
        slope = f"{name}: slope {self.slope.value:z.2f}" if self._one_way(middle) else self.label
        out = [Series.measured(slope, middle, name=name)]
        first = next(iter(middle))
        for theory, printed in ((self.printed, True), (self.sound, False)):
            if theory is None:
                continue
            curve = self._curve(theory)
            if theory.scaled or theory.curve is None:
                curve = {x: middle[first].value * y / curve[first] for x, y in curve.items()}
            exponent = f": slope {self.said(theory):z.2f}" if theory.curve is not None and len(curve) > 1 else ""
            out.append(Series.theory(f"{theory.name}{exponent}", curve, printed=printed, name=theory.name))
        return out

    def _one_way(self, middle: Mapping[float, Interval]) -> bool:
        """Whether there is a slope to show: the curve does not go clearly up and clearly down."""
        steps = [(a, b) for a, b in itertools.combinations(middle.values(), 2) if a.high < b.low or b.high < a.low]
        return len(middle) > 1 and len({a.value < b.value for a, b in steps}) < 2

    def _middle(self, values: Vector) -> Interval:
        if self.centre == "mean":
            return mean_interval(values)
        return bootstrap([values], lambda c: np.asarray(c[..., 0]), centre="median")

    def _curve(self, theory: Theory) -> dict[float, float]:
        if theory.curve is not None:
            return self.table.curve(self.x, theory.curve)
        exponent = theory.exponent or 0.0
        return {x: x**exponent for x in self.points}


SPOKEN = {"paper": "printed", "sound": "sound"}


@dataclass
class Notes:
    """What an analysis gathers on its way: findings, fits and remarks; a trend that is noted gives its curves."""

    findings: list[Finding] = field(default_factory=list)
    fits: dict[str, Any] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    def note(self, trend: Trend) -> list[Series]:
        """Note a trend: its findings, its fit, and the series to draw."""
        if trend.points:
            self.findings += trend.findings()
            self.fits |= trend.fit()
        return trend.series()

    def found(self, setting: str, found: Interval, verdict: Verdict = MEASURED, **said: float | str | None) -> None:
        """An estimate that is no trend."""
        self.findings.append(Finding.of(setting, found, verdict, **said))
        self.fits[setting] = found.as_json()

    def sides(self, setting: str, found: Interval, judge: Callable[[Interval, float], Verdict], **said: float) -> None:
        """An estimate beside what the printed and the sound theory say, `paper` and `sound`, by the same reading."""
        for side, value in said.items():
            self.found(f"{setting}, {SPOKEN[side]}", found, judge(found, value), **{side: value})

    def word(self, setting: str) -> str:
        """The verdict of the first row whose setting begins so, as the table will have it: among all comparisons."""
        said = holm([finding.verdict for finding in self.findings])
        found = (v.word for f, v in zip(self.findings, said, strict=True) if f.setting.startswith(setting))
        return next(found, MEASURED.word)

    def analysis(self, headline: str, **plots: Plot) -> Analysis:
        """All that was noted, as one analysis."""
        return Analysis(tuple(self.findings), headline, self.fits, plots, tuple(self.remarks))


def told(slope: Interval) -> str:
    """-0.52 [-0.55, -0.49]; without ends that are not known."""
    if math.isinf(slope.low) and math.isinf(slope.high):
        return f"{slope.value:z.2f}"
    return f"{slope.value:z.2f} [{slope.low:z.2f}, {slope.high:z.2f}]"


def fitted_exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """The slope on logarithmic axes by least squares; nan where a curve is not positive and finite."""
    if len(x) < 2 or not all(0.0 < value < math.inf for value in y):
        return math.nan
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])
