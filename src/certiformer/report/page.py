"""The report as one self-contained page: no network, no script from elsewhere, readable on a phone and in print."""

from __future__ import annotations

import math
import os
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

from certiformer.core.errors import CertiformerError
from certiformer.report.card import decides, is_rate
from certiformer.report.chart import Line, Mark, panel
from certiformer.report.numbers import percent_down, percent_up, rounded_up

QUANTITY_TITLES = {
    "risk_01": "Error rate on new examples",
    "gibbs_risk_01": "Error rate of a randomised predictor, averaged over its draws",
    "mean_iterate_risk_01": "Average error rate of the iterates of one training pass",
    "smoothed_cross_entropy": "Cross-entropy of the smoothed predictor",
    "mean_loss": "Mean loss on new examples",
    "mean_rate": "Mean error rate on new groups",
    "gap": "Gap between test and training loss",
    "excess_risk": "Excess risk",
    "training_loss": "Training loss",
    "rademacher": "Rademacher complexity",
}
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
    found.filters["percent_up"] = percent_up
    found.filters["guaranteed"] = guaranteed
    found.filters["limit"] = _text
    found.filters["at_least"] = at_least
    found.filters["rate"] = is_rate
    found.filters["quantity"] = _quantity
    found.filters["key"] = _label
    return found


def certificate_page(document: Mapping[str, Any]) -> str:
    """The certificate's page from the same document that report.json holds."""
    shown = [row for row in document["certificates"] if isinstance(row["log10"], (int, float))]
    saying = [row for row in shown if _kind(row) == "informative"]
    decisive = next((row for row in shown if decides(row, document)), None)
    return (
        environment()
        .get_template("certificate.html")
        .render(
            report=document,
            answer=None if decisive is None else _text(decisive),
            observed=None if decisive is None else _observed_text(decisive),
            saying=_panels(saying),
            rest=_panels([row for row in shown if row not in saying]),
            hashes=_hashes(document),
        )
    )


def _hashes(document: Mapping[str, Any]) -> dict[str, str]:
    """What exactly was certified: the files handed over and the data, by their hashes."""
    found = {}
    for row in document["certificates"]:
        handed = row.get("predictor")
        if handed:
            found[f"predictor {handed['file']}"] = handed["sha256"]
    provenance = document["provenance"]
    hashed = (name for name in provenance if name.startswith("heldout_") and name.endswith("_sha256"))
    names = ("heldout_data", "train_data", *hashed)
    found |= {name.replace("_", " ").removesuffix(" sha256"): provenance[name] for name in names if name in provenance}
    return {**found, "configuration": provenance["configuration"]}


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
        return f"{value / 10.0**exponent:.2f} × 10{str(exponent).translate(SUPERSCRIPT)}"
    return f"{value:.4g}"


def guaranteed(value: Any) -> str:
    """A number that is an upper bound: rounded up before it is shown."""
    return number(rounded_up(value)) if isinstance(value, float) else number(value)


def at_least(row: Mapping[str, Any]) -> str:
    """The lower limit of a row: rounded down before it is shown."""
    lower = float(row["lower"])
    if is_rate(row):
        return percent_down(lower)
    return number(-rounded_up(-lower))


def percent(value: Any) -> str:
    """0.0123 as 1.23 %."""
    return "–" if value is None else f"{100 * float(value):.2f} %"


def _panels(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault("error rates" if row["bounds"] in TOGETHER else _key(row), []).append(row)
    order = sorted(groups, key=lambda key: (key != "error rates", key))
    return [_panel(key, groups[key]) for key in order]


def _panel(key: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    marks = [
        Mark(_label(row), row["log10"], _kind(row), _text(row), _observed(row))
        for row in sorted(rows, key=lambda row: (row["version"], row["log10"]))
    ]
    trivial = [row["trivial"] for row in rows if row["trivial"] and row["trivial"] > 0]
    lines = [Line("guessing", math.log10(max(trivial)), "trivial")] if trivial else []
    title = "Error rates" if key == "error rates" else QUANTITY_TITLES.get(key, key)
    mixed = key == "error rates" and len({row["bounds"] for row in rows}) > 1
    note = "Not all of these bound the same thing; the table says of what each is the error rate." if mixed else ""
    unit = "%" if all(map(is_rate, rows)) else ""
    return {"title": title, "svg": panel(title, marks, lines, unit), "note": note}


def _key(row: Mapping[str, Any]) -> str:
    return "mean_rate" if row["bounds"] == "mean_loss" and is_rate(row) else str(row["bounds"])


def _quantity(row: Mapping[str, Any]) -> str:
    return QUANTITY_TITLES.get(_key(row), _key(row))


def _observed(row: Mapping[str, Any]) -> float | None:
    """The rate that was seen on the examples behind a certificate; a paper's row has none."""
    if row["evidence"] is None:
        return None
    seen = [row["terms"][name] for name in ("observed", "empirical error of Q") if name in row["terms"]]
    return float(seen[0]) if seen and isinstance(seen[0], (int, float)) else None


def _observed_text(row: Mapping[str, Any]) -> str:
    seen = _observed(row)
    if seen is None:
        return "–"
    return percent(seen) if is_rate(row) else number(seen)


def _label(row: Mapping[str, Any]) -> str:
    name = str(row["id"] if row["evidence"] is None else row["evidence"]["key"])
    return f"{name} (printed)" if row["version"] == "printed" else name


def _kind(row: Mapping[str, Any]) -> str:
    if row["version"] == "printed":
        return "printed"
    return "informative" if row["verdict"] == "informative" else "vacuous"


def _text(row: Mapping[str, Any]) -> str:
    value = row["value"]
    if isinstance(value, (int, float)) and is_rate(row) and value <= 1:
        return percent_up(value)
    return f"10^{row['log10']:.1f}" if row["log10"] > 4 else guaranteed(value)


def write_text(path: Path, text: str) -> None:
    """Write a text file completely or not at all."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file completely or not at all: an existing one survives a run that fails."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        handle = temporary.open("xb")
    except OSError as error:
        raise CertiformerError(f"cannot write {path}: {error.strerror}. Choose another folder with --out") from error
    try:
        with handle as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise CertiformerError(f"cannot write {path}: {error.strerror}") from error
    finally:
        Path(temporary).unlink(missing_ok=True)
