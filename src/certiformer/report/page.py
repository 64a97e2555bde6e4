"""The report as one self-contained page: no network, no script from elsewhere, readable on a phone and in print."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jinja2

from certiformer.report.chart import Mark, panel
from certiformer.report.numbers import percent_down, percent_up
from certiformer.theory.core.report import Report, Statement, confidence_text
from certiformer.theory.core.rounding import outward, power_of_ten

# Rates of error share an axis; the legend says what each of them is the error rate of.
TOGETHER = ("risk_01", "gibbs_risk_01", "mean_iterate_risk_01")


SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def environment() -> jinja2.Environment:
    """Templates of this package; everything that comes from files or names is escaped."""
    found = jinja2.Environment(
        loader=jinja2.PackageLoader("certiformer.report"), autoescape=True, undefined=jinja2.StrictUndefined
    )
    found.filters["number"] = number
    found.filters["percent"] = percent
    found.filters["sure"] = confidence_text
    found.filters["percent_up"] = percent_up
    found.filters["guaranteed"] = guaranteed
    found.filters["limit"] = limit
    found.filters["relation"] = lambda row: row.relation
    found.filters["at_least"] = at_least
    found.filters["label"] = _label
    return found


def certificate_page(report: Report) -> str:
    """The page of a report: the answer and what it rests on on one sheet, everything else below it."""
    drawn = [row for row in report.statements if row.log10 is not None and math.isfinite(row.log10)]
    saying = [row for row in drawn if row.informative]
    return (
        environment()
        .get_template("certificate.html")
        .render(
            report=report,
            best=report.best,
            seen=None if report.best is None else _observed_text(report.best),
            saying=_panels(saying),
            rest=_panels([row for row in drawn if not row.informative]),
            hashes=_hashes(report),
        )
    )


def _hashes(report: Report) -> dict[str, str]:
    """What exactly was certified: the files handed over and the data, by their hashes."""
    handed = [row.predictor for row in report.statements if row.predictor is not None]
    found = {f"predictor {one['file']}": one["sha256"] for one in handed}
    hashed = [name for name in report.provenance if name.startswith("heldout_") and name.endswith("_sha256")]
    for name in ("heldout_data", "train_data", *hashed, "configuration"):
        if name in report.provenance:
            found[name.replace("_", " ").removesuffix(" sha256")] = str(report.provenance[name])
    return found


def number(value: Any) -> str:
    """A number as people read it; text and infinities pass."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return "∞" if value == "inf" else value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if isinstance(value, int) or (float(value).is_integer() and abs(value) < 1e6):
        return f"{int(value):,}"
    if _with_power(value):
        exponent = math.floor(math.log10(abs(value)))
        return f"{value / 10.0**exponent:.2f} × 10{str(exponent).translate(SUPERSCRIPT)}"
    return f"{value:.4g}"


def guaranteed(value: Any) -> str:
    """A number that is an upper bound: rounded up before it is shown."""
    return _in_print(value, up=True) if isinstance(value, float) else number(value)


def _in_print(value: float, *, up: bool) -> str:
    """A limit rounded outward at as many digits as `number` shows: three beside a power of ten, else four."""
    rounded = outward(value, 4, up=up)
    return number(outward(value, 3, up=up) if _with_power(rounded) else rounded)


def _with_power(value: float) -> bool:
    return abs(value) >= 1e6 or 0 < abs(value) < 1e-4


def at_least(row: Statement) -> str:
    """The lower limit of a statement: rounded down before it is shown."""
    lower = row.lower or 0.0
    return percent_down(lower) if row.rate else _in_print(lower, up=False)


def percent(value: Any) -> str:
    """0.0123 as 1.23 %."""
    return "–" if value is None else f"{100 * float(value):.2f} %"


def _panels(rows: Sequence[Statement]) -> list[dict[str, Any]]:
    groups: dict[str, list[Statement]] = {}
    for row in rows:
        groups.setdefault("error rates" if row.bounds in TOGETHER else row.quantity, []).append(row)
    order = sorted(groups, key=lambda key: (key != "error rates", key))
    return [_panel(key, groups[key]) for key in order]


def _panel(key: str, rows: Sequence[Statement]) -> dict[str, Any]:
    marks = [
        Mark(_label(row), row.log10 or 0.0, _kind(row), limit(row), observed(row))
        for row in sorted(rows, key=lambda row: (row.version, row.log10 or 0.0))
    ]
    trivial = [row.guessing for row in rows if row.guessing and row.guessing > 0]
    guessing = math.log10(max(trivial)) if trivial else None
    title = f"{key[:1].upper()}{key[1:]}"
    mixed = len({row.bounds for row in rows}) > 1
    note = "These limits concern different predictors; see the table." if mixed else ""
    unit = "%" if all(row.rate for row in rows) else ""
    return {"title": title, "svg": panel(title, marks, guessing, unit), "note": note}


def observed(row: Statement) -> float | None:
    """The rate that was seen on the examples behind a certificate; a paper's statement has none."""
    if row.evidence is None:
        return None
    return next((row.terms[name] for name in ("observed", "empirical error of Q") if name in row.terms), None)


def _observed_text(row: Statement) -> str:
    seen = observed(row)
    if seen is None:
        return "–"
    return percent(seen) if row.rate else number(seen)


def _label(row: Statement) -> str:
    return f"{row.key} (printed)" if row.version == "printed" else row.key


def _kind(row: Statement) -> str:
    if row.version == "printed":
        return "printed"
    return "informative" if row.informative else "vacuous"


def limit(row: Statement) -> str:
    """The limit as people read it, rounded outward."""
    if row.relation == "at least" and row.value is not None:
        return _in_print(row.value, up=False)
    if row.value is not None and row.rate and row.value <= 1:
        return percent_up(row.value)
    if row.log10 is not None and math.isfinite(row.log10) and row.log10 > 4:
        return power_of_ten(row.log10)
    return guaranteed(row.value)
