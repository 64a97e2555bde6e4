"""The report as one self-contained page: no network, no script from elsewhere, readable on a phone and in print."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

from certiformer.core.errors import CertiformerError
from certiformer.report.chart import Line, Mark, panel
from certiformer.report.numbers import percent_up, rounded_up

QUANTITY_TITLES = {
    "risk_01": "Error rate on new examples",
    "gibbs_risk_01": "Error rate of a randomised predictor, averaged over its draws",
    "mean_iterate_risk_01": "Average error rate of the iterates of one training pass",
    "smoothed_cross_entropy": "Cross-entropy of the smoothed predictor",
    "gap": "Gap between test and training loss",
    "excess_risk": "Excess risk",
    "training_loss": "Training loss",
    "rademacher": "Rademacher complexity",
}
# Rates of error share an axis; the legend says what each of them is the error rate of.
TOGETHER = ("risk_01", "gibbs_risk_01", "mean_iterate_risk_01")


def environment() -> jinja2.Environment:
    """Templates of this package; everything that comes from files or names is escaped."""
    found = jinja2.Environment(
        loader=jinja2.PackageLoader("certiformer.report"), autoescape=True, undefined=jinja2.StrictUndefined
    )
    found.filters["number"] = number
    found.filters["percent"] = percent
    found.filters["percent_up"] = percent_up
    found.filters["guaranteed"] = guaranteed
    return found


def certificate_page(document: Mapping[str, Any]) -> str:
    """The certificate's page from the same document that report.json holds."""
    return (
        environment()
        .get_template("certificate.html")
        .render(report=document, panels=_panels(document), quantity_titles=QUANTITY_TITLES)
    )


def number(value: Any) -> str:
    """A number as people read it; text and infinities pass."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return "∞" if value == "inf" else value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) or (float(value).is_integer() and abs(value) < 1e6):
        return f"{int(value):,}"
    if abs(value) >= 1e6 or 0 < abs(value) < 1e-4:
        exponent = math.floor(math.log10(abs(value)))
        return f"{value / 10.0**exponent:.2f}·10^{exponent}"
    return f"{value:.4g}"


def guaranteed(value: Any) -> str:
    """A number that is an upper bound: rounded up before it is shown."""
    return number(rounded_up(value)) if isinstance(value, float) else number(value)


def percent(value: Any) -> str:
    """0.0123 as 1.23 %."""
    return "–" if value is None else f"{100 * float(value):.2f} %"


def _panels(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in document["certificates"]:
        if row["log10"] is None or isinstance(row["log10"], str):
            continue
        key = "error rates" if row["bounds"] in TOGETHER else row["bounds"]
        groups.setdefault(key, []).append(row)
    order = sorted(groups, key=lambda key: (key != "error rates", key))
    return [_panel(key, groups[key], document["observed"]) for key in order]


def _panel(key: str, rows: Sequence[Mapping[str, Any]], observed: Mapping[str, Any]) -> dict[str, Any]:
    marks = [
        Mark(_label(row), row["log10"], _kind(row), _text(row))
        for row in sorted(rows, key=lambda row: (row["version"], row["log10"]))
    ]
    lines = []
    if key == "error rates" and observed.get("heldout_error"):
        lines.append(Line("observed", math.log10(observed["heldout_error"]), "observed"))
    trivial = [row["trivial"] for row in rows if row["trivial"]]
    if trivial:
        lines.append(Line("trivial", math.log10(max(trivial)), "trivial"))
    title = "Error rates" if key == "error rates" else QUANTITY_TITLES.get(key, key)
    mixed = key == "error rates" and len({row["bounds"] for row in rows}) > 1
    note = "Not all of these bound the same thing; the table says of what each is the error rate." if mixed else ""
    return {"title": title, "svg": panel(title, marks, lines), "note": note}


def _label(row: Mapping[str, Any]) -> str:
    return f"{row['id']} (printed)" if row["version"] == "printed" else str(row["id"])


def _kind(row: Mapping[str, Any]) -> str:
    if row["version"] == "printed":
        return "printed"
    return "informative" if row["verdict"] == "informative" else "vacuous"


def _text(row: Mapping[str, Any]) -> str:
    value = row["value"]
    if isinstance(value, (int, float)) and row["bounds"] in TOGETHER and value <= 1:
        return percent_up(value)
    return f"10^{row['log10']:.1f}" if row["log10"] > 4 else guaranteed(value)


def write_text(path: Path, text: str) -> None:
    """Write a text file completely or not at all."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file completely or not at all: an existing one survives a run that fails."""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise CertiformerError(f"cannot write {path}: {error.strerror}. Choose another folder with --out") from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        raise CertiformerError(f"cannot write {path}: {error.strerror}") from error
    finally:
        Path(temporary).unlink(missing_ok=True)
