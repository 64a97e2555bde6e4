"""The part of JSON Schema that is used here: where a document, or what a file says, departs from its shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from certiformer.theory.core.errors import InputError

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list, tuple),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}
NUMBERS: Mapping[str, Any] = {"type": "array", "items": {"type": "number"}}
TEXTS: Mapping[str, Any] = {"type": "array", "items": {"type": "string"}}


def holding(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The shape of an object with these fields, and maybe others."""
    return {"type": "object", "properties": fields, "required": list(fields)}


def record(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The shape of an object with exactly these fields."""
    return {**holding(fields), "additionalProperties": False}


def tables(inner: Any = True) -> Mapping[str, Any]:
    """The shape of an object whose fields have any name and this shape."""
    return {"type": "object", "additionalProperties": inner}


def require_shape(value: Any, schema: Mapping[str, Any], name: str, fix: str = "") -> None:
    """An error about the first place of `name` that is not as the schema says."""
    for place, expected, got in violations(value, schema):
        raise InputError(f"{name}: {place}" if place else name, got, expected, fix)


def violations(
    value: Any, schema: Mapping[str, Any], place: str = "", root: Any = None
) -> Iterator[tuple[str, str, Any]]:
    """Place, expectation and value of everything that is not as the schema says."""
    root = schema if root is None else root
    if "$ref" in schema:
        schema = root["$defs"][str(schema["$ref"]).rpartition("/")[2]]
    allowed = schema.get("type", list(_TYPES))
    names = [allowed] if isinstance(allowed, str) else allowed
    if not any(_is(value, name) for name in names):
        yield place, " or ".join(names), value
        return
    if "enum" in schema and value not in schema["enum"]:
        yield place, f"one of {schema['enum']}", value
    if isinstance(value, dict):
        known = schema.get("properties", {})
        for name in schema.get("required", ()):
            if name not in value:
                yield _at(place, name), "to be there", None
        rest = schema.get("additionalProperties", True)
        for name, part in value.items():
            inner = known.get(name, rest)
            if inner is False:
                yield _at(place, name), "not to be there", part
            elif isinstance(inner, Mapping):
                yield from violations(part, inner, _at(place, name), root)
    if isinstance(value, (list, tuple)) and "items" in schema:
        for index, part in enumerate(value):
            yield from violations(part, schema["items"], f"{place}[{index}]", root)


def _is(value: Any, name: str) -> bool:
    return isinstance(value, _TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def _at(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name
