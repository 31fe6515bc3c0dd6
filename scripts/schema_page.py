"""Turns the JSON Schema of experiment files into the sections of a page."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

Schema = dict[str, Any]
Row = tuple[str, str, str, str]


def sections(schema: Schema) -> Iterator[tuple[str, str, list[Row]]]:
    """Title, description and rows (key, values, default, meaning) of every object, the file itself first."""
    yield "The file", schema.get("description", ""), list(rows(schema))
    for name, inner in sorted(schema["$defs"].items()):
        yield name, inner.get("description", ""), list(rows(inner))


def rows(schema: Schema) -> Iterator[Row]:
    """One row for each key of an object."""
    required = schema.get("required", ())
    for key, inner in schema.get("properties", {}).items():
        default = "required" if key in required else shown_default(inner)
        yield f"`{key}`", values(inner), default, inner.get("description", "")


def shown_default(schema: Schema) -> str:
    """The default as it would stand in a file; empty where leaving the key out means something of its own."""
    value = schema.get("default")
    return "" if value in (None, {}, []) else f"`{json.dumps(value, ensure_ascii=False)}`"


def values(schema: Schema) -> str:
    """What a key takes, in words."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#{name.lower()})"
    for choice in ("anyOf", "oneOf"):
        if choice in schema:
            kinds = [values(inner) for inner in schema[choice] if inner.get("type") != "null"]
            return " or ".join(dict.fromkeys(kinds))
    if "const" in schema:
        return quoted(schema["const"])
    if "enum" in schema:
        return " or ".join(quoted(value) for value in schema["enum"])
    if "examples" in schema:
        return f"such as {quoted(schema['examples'][0])}"
    return kind_of(schema)


def kind_of(schema: Schema) -> str:
    """A plain type and its bounds, in words."""
    match schema.get("type"):
        case "array":
            return f"list of {values(schema.get('items', {}))}"
        case "object":
            return "table"
        case "string":
            return f"text like `{schema['pattern']}`" if "pattern" in schema else "text"
        case "boolean":
            return "`true` or `false`"
        case "integer" | "number" as kind:
            return f"{kind} {' and '.join(bounds(schema))}".rstrip()
        case _:
            return "any value"


def bounds(schema: Schema) -> Iterator[str]:
    """The bounds of a number."""
    words = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    for key, sign in words.items():
        if key in schema:
            yield f"{sign} {schema[key]}"


def quoted(value: object) -> str:
    """A value as code."""
    return f"`{json.dumps(value, ensure_ascii=False)}`"
