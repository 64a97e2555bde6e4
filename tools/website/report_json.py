"""report.json as a page: its fields and a JSON Schema, from the classes that write it."""

from __future__ import annotations

import inspect
import json
import re
import types
import typing
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from certiformer.theory.core import Hypothesis
from certiformer.theory.core.report import FORMAT, Decision, Report, Statement
from website.markup import fenced, folded, page, table, words

FILE = "reference/report-json.md"
NUMBER = {"type": ["number", "null"]}
WRITTEN: dict[type, dict[str, Any]] = {
    Report: {"format": {"const": FORMAT}},
    Statement: {
        "key": {"type": "string"},
        **{name: {"anyOf": [NUMBER, {"enum": ["inf", "-inf"]}]} for name in ("value", "log10", "lower", "n_needed")},
        "terms": {"type": "object", "additionalProperties": {"anyOf": [NUMBER, {"enum": ["inf", "-inf"]}]}},
        "evidence": {"type": ["object", "null"]},
    },
    Hypothesis: {},
    Decision: {},
}
"""The classes of the document, and the fields that are written otherwise than they are kept."""
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
}
"""What a field means, where its class does not say it."""
LEFT_OUT = {Report: ("files",), Hypothesis: ("statable",)}


def schema() -> dict[str, Any]:
    """The JSON Schema of report.json."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "report.json of certiformer",
        **_object(Report),
        "$defs": {kind.__name__: _object(kind) for kind in WRITTEN if kind is not Report},
    }


def schema_page() -> str:
    """One table for each class, then the schema to copy."""
    parts = [
        "# report.json: fields and JSON Schema",
        (
            "What `certify` writes beside the page, and what `certify --json`, `gate --json` and `demo --json` print. "
            "Infinite numbers are the words `inf` and `-inf`; what does not exist is `null`."
        ),
    ]
    for kind in WRITTEN:
        told = comments(kind)
        rows = [
            (f"<code>{name}</code>", words(_shown(entry)), words(told.get(name) or MEANINGS[name]))
            for name, entry in _properties(kind).items()
        ]
        title = "The report" if kind is Report else {"Hypothesis": "A condition"}.get(kind.__name__, kind.__name__)
        parts += [f"## {title}", f"<p>{words(_first(kind))}</p>", table(("field", "type", "meaning"), rows)]
    return page(*parts, folded("The JSON Schema", fenced(json.dumps(schema(), indent=1), "json")))


def comments(kind: type) -> dict[str, str]:
    """The string under a field in the source, by the field's name."""
    found = re.findall(r'^    (\w+): [^\n]*\n    """(.+?)"""', inspect.getsource(kind), re.MULTILINE | re.DOTALL)
    return {name: " ".join(text.split()) for name, text in found}


def _first(kind: type) -> str:
    return " ".join((inspect.getdoc(kind) or "").split())


def _object(kind: type) -> dict[str, Any]:
    properties = _properties(kind)
    return {"type": "object", "properties": properties, "required": list(properties)}


def _properties(kind: type) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    kept = {one.name: _schema(hints[one.name]) for one in fields(kind) if one.name not in LEFT_OUT.get(kind, ())}
    return {**kept, **WRITTEN[kind]}


def _schema(hint: Any) -> dict[str, Any]:
    """A type as JSON Schema."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [_schema(one) for one in inner]}
    if origin is typing.Literal:
        return {"enum": list(inner)}
    if origin is tuple:
        return {"type": "array", "items": _schema(inner[0])}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _schema(inner[1])}
    if hint in WRITTEN:
        return {"$ref": f"#/$defs/{hint.__name__}"}
    names = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
    return {"type": names[hint]} if hint in names else {}


def _shown(entry: Mapping[str, Any]) -> str:
    """A schema in a few words."""
    if "$ref" in entry:
        return str(entry["$ref"].rpartition("/")[2])
    if "const" in entry or "enum" in entry:
        return ", ".join(f"`{one}`" for one in entry.get("enum", [entry.get("const")]))
    if "anyOf" in entry:
        return " or ".join(dict.fromkeys(_shown(one) for one in entry["anyOf"]))
    kind = entry.get("type", "anything")
    if kind == "array":
        return f"list of {_shown(entry['items'])}"
    return " or ".join(kind) if isinstance(kind, list) else str(kind)
