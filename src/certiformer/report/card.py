"""What travels with a model: a block for its model card, and a badge."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from markupsafe import escape

from certiformer.report.numbers import percent_up, rounded_up
from certiformer.theory.core.report import Report, confidence_text


def model_card(report: Report) -> str:
    """A Hugging Face model card block: `model-index` metadata with the guarantees, and the answer in words."""
    metrics = [
        {
            "type": row.quantity,
            "name": f"{row.key}: {row.title}, upper limit for {row.subject}",
            "value": rounded_up(row.value, 6),
        }
        for row in report.statements
        if row.informative and row.evidence is not None and row.value is not None
    ]
    title = report.title
    index = [
        "---",
        "model-index:",
        f"- name: {json.dumps(title)}",
        "  results:",
        "  - task:",
        "      type: other",
        "      name: certified evaluation",
        "    dataset:",
        "      name: held-out examples",
        "      type: private",
        "    metrics:",
        *(
            f"    - type: {json.dumps(one['type'])}\n      name: {json.dumps(one['name'])}\n      value: {one['value']}"
            for one in metrics
        ),
        "---",
    ]
    conditions = ["", "Valid only if the following hold (sign to confirm):", ""] if report.conditions else []
    body = [
        *("", "## Certified evaluation", "", f"**{report.headline}**", ""),
        *([f"Seen: {report.basis}.", ""] if report.basis else []),
        *(f"- NOT CHECKED: {text}." for text in report.not_checked),
        *conditions,
        *(f"- [ ] {text}" for text in report.conditions),
        "",
        *(_made_again(report.machine) if report.machine else ()),
    ]
    return "\n".join([*index, *body])


def _made_again(machine: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        f"Written by certiformer {machine['certiformer']} on {machine['date']}.",
        "Recompute it with `certiformer verify report.json --data FILE`.",
        "",
    )


def badge(report: Report) -> str:
    """A badge (SVG): the guaranteed error rate or mean loss, and the confidence."""
    text, good = badge_text(report)
    left = "certified"
    widths = [10 + 6.6 * len(word) for word in (left, text)]
    total = sum(widths)
    colour = "#0072b2" if good else "#6a6f76"
    name = escape(f"{left}: {text}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total:.0f}" height="20" role="img" aria-label="{name}">'
        f"<title>{name}</title>"
        f'<rect width="{total:.0f}" height="20" rx="3" fill="#444"/>'
        f'<path d="M{widths[0]:.0f} 0h{widths[1] - 3:.0f}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3H{widths[0]:.0f}z" '
        f'fill="{colour}"/>'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f'<text x="{widths[0] / 2:.0f}" y="14">{left}</text>'
        f'<text x="{widths[0] + widths[1] / 2:.0f}" y="14">{escape(text)}</text></g></svg>\n'
    )


def badge_text(report: Report) -> tuple[str, bool]:
    """`error <= 1.05 % (95 %)`, and whether it says more than guessing."""
    row = report.best
    if row is None or row.value is None or report.delta is None:
        return "nothing yet", False
    limit = percent_up(row.value) if row.rate else f"{rounded_up(row.value):.4g}"
    what = "error" if row.quantity.startswith("error rate on new") else row.quantity.partition(" (")[0]
    return f"{what.replace(' over new ', ' over ')} <= {limit} ({confidence_text(report.delta)})", row.informative
