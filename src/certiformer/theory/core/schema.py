"""The part of JSON Schema that `report.schema.json` uses: where a document departs from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}


def violations(value: Any, schema: Mapping[str, Any], place: str = "", root: Any = None) -> Iterator[tuple[str, str]]:
    """Place and expectation of everything that is not as the schema says."""
    root = schema if root is None else root
    if "$ref" in schema:
        schema = root["$defs"][str(schema["$ref"]).rpartition("/")[2]]
    allowed = schema.get("type", list(_TYPES))
    names = [allowed] if isinstance(allowed, str) else allowed
    if not any(_is(value, name) for name in names):
        yield place or "report", " or ".join(names)
        return
    if "enum" in schema and value not in schema["enum"]:
        yield place, f"one of {schema['enum']}"
    if isinstance(value, dict):
        known = schema.get("properties", {})
        for name in schema.get("required", ()):
            if name not in value:
                yield _at(place, name), "to be there"
        rest = schema.get("additionalProperties", True)
        for name, part in value.items():
            inner = known.get(name, rest)
            if inner is False:
                yield _at(place, name), "not to be there"
            elif isinstance(inner, Mapping):
                yield from violations(part, inner, _at(place, name), root)
    if isinstance(value, list) and "items" in schema:
        for index, part in enumerate(value):
            yield from violations(part, schema["items"], f"{place}[{index}]", root)


def _is(value: Any, name: str) -> bool:
    return isinstance(value, _TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def _at(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name
