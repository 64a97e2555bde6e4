"""What travels with a model: a block for its model card, and a badge."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from markupsafe import escape

from certiformer.report.numbers import percent_up, rounded_up


def model_card(document: Mapping[str, Any]) -> str:
    """A Hugging Face model card block: `model-index` metadata with the guarantees, and the answer in words."""
    metrics = []
    for row in document["certificates"]:
        value = row["value"]
        if row["version"] != "sound" or row["verdict"] != "informative" or not isinstance(value, (int, float)):
            continue
        if row["evidence"] is None:
            continue
        metrics.append(
            {
                "type": row["bounds"],
                "name": f"{row['evidence']['key']}: {row['title']}, upper limit for {row['subject']}",
                "value": rounded_up(float(value), 6),
                "verified": False,
            }
        )
    title = str(document["title"])
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
    provenance = document["provenance"]
    body = [
        "",
        "## Certified evaluation",
        "",
        f"**{document['headline']}**",
        "",
        *([f"Evidence: {document['basis']}.", ""] if document["basis"] else []),
        *(f"- NOT CHECKED: {text}." for text in document["not_checked"]),
        *(["", "Conditions (for a person to vouch for):", ""] if document["conditions"] else []),
        *(f"- [ ] {text}" for text in document["conditions"]),
        "",
        f"Written by certiformer {provenance['certiformer']} on {provenance.get('date', '')}.",
        "Recompute it with `certiformer verify report.json`.",
        "",
    ]
    return "\n".join([*index, *body])


def badge(document: Mapping[str, Any]) -> str:
    """A badge (SVG): the guaranteed error rate or mean loss, and the confidence."""
    text, good = badge_text(document)
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


def badge_text(document: Mapping[str, Any]) -> tuple[str, bool]:
    """`error <= 1.05 % (95 %)`, and whether it says more than guessing."""
    row = next((row for row in document["certificates"] if decides(row, document)), None)
    if row is None:
        return "nothing yet", False
    value = float(row["value"])
    shown = percent_up(value) if is_rate(row) else f"{rounded_up(value):.4g}"
    what = "error" if is_rate(row) else "mean loss"
    return f"{what} <= {shown} ({100 * (1 - document['delta']):g} %)", row["verdict"] == "informative"


def is_rate(row: Mapping[str, Any]) -> bool:
    """Whether a row bounds an error rate: of examples, or its mean over groups."""
    what = str((row["evidence"] or {}).get("what", ""))
    return row["bounds"].endswith("risk_01") or what.endswith("rate")


def decides(row: Mapping[str, Any], document: Mapping[str, Any]) -> bool:
    """Whether a row is the one that the headline is about."""
    evidence = row["evidence"]
    return (
        row["version"] == "sound"
        and isinstance(row["value"], (int, float))
        and evidence is not None
        and evidence["key"] == document["decisive"]
    )
