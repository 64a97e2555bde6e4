"""report.json as a page: its fields, from the JSON Schema that `verify` holds reports to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from certiformer.certification.verify import schema
from website.markup import fenced, folded, page, table, words

FILE = "reference/report-json.md"
MEANINGS = {
    "format": "the version of this format",
    "title": "what was certified",
    "headline": "the answer in one sentence",
    "statements": "every limit, and every result that says nothing here",
    "basis": "what the headline was counted from",
    "summary": "how many limits hold together",
    "advice": "what would make the answer sharper",
    "not_checked": "what nobody checked",
    "warnings": "what a reader should know before using it",
    "observed": "rates and counts that were seen",
    "delta": "the probability that any of the joint limits is wrong",
    "shares": "how delta is divided: statement to probability",
    "classes": "the number of classes; 0 where there are none",
    "decisions": "how columns and codings were read",
    "profile": "how limits were reached, where that was recorded",
    "id": "which result or condition",
    "key": "the id, and which slice or metric",
    "version": "a valid bound, or the formula as printed",
    "bounds": "what kind of quantity is limited",
    "value": "the limit",
    "log10": "its logarithm, also where the value is beyond floats",
    "trivial": "what is known without any bound",
    "confidence": "of this statement alone",
    "verdict": "informative, vacuous, or why not",
    "subject": "whose error is limited",
    "quantity": "what is limited, in words",
    "lower": "the lower limit, where one was asked for",
    "jointly": "whether it is part of the joint confidence",
    "claim": "the statement as half a sentence",
    "seen": "its evidence as half a sentence",
    "dominating": "which term is largest",
    "n_needed": "examples at which it would be better than guessing",
    "conditions": "what it rests on",
    "terms": "the numbers it was computed from",
    "guarantee": "what it guarantees and what not",
    "reason": "why it says nothing, where that is so",
    "variant": "which form of the result",
    "evidence": "the record of what was counted",
    "requires": "the condition in words",
    "state": "verified, stated by you, open, or failing",
    "why": "what was measured, or who said so",
    "choice": "what was decided",
    "trace": "where what was recorded while counting was written",
    "sha256": "its digest",
}
"""What a field means, where its class does not say it."""


def schema_page() -> str:
    """One table for each kind of object, then the schema to copy."""
    known = schema()
    kinds = {"The report": known, **{f"A {name}": one for name, one in known["$defs"].items()}}
    told = (
        "What `certify` writes beside the page, and what `certify --json`, `gate --json` and `demo --json` print. "
        "Infinite numbers are the words `inf` and `-inf`; what does not exist is `null`. "
    )
    parts = [f"# report.json: fields and JSON Schema\n\n{told}{known['description']}"]
    for title, kind in kinds.items():
        rows = [
            (f"<code>{name}</code>", words(_shown(entry)), words(entry.get("description") or MEANINGS.get(name, "")))
            for name, entry in kind.get("properties", {}).items()
        ]
        parts += [f"## {title}", table(("field", "type", "meaning"), rows)] if rows else []
    return page(*parts, folded("The JSON Schema", fenced(json.dumps(known, indent=1), "json")))


def _shown(entry: Mapping[str, Any]) -> str:
    """A schema in a few words."""
    if "$ref" in entry:
        return str(entry["$ref"].rpartition("/")[2])
    if "enum" in entry:
        return ", ".join(f"`{one}`" for one in entry["enum"])
    kind = entry.get("type", "anything")
    if kind == "array":
        return f"list of {_shown(entry['items'])}"
    return " or ".join(kind) if isinstance(kind, list) else str(kind)
