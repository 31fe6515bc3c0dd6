"""What all parts of the experiment schema share: the strict model, the quantity types, and unknown keys with a hint."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from bakeoff.experiment import units
from bakeoff.experiment.likely import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from bakeoff.experiment.catalogue import Catalogue

UNKNOWN_KEY = "unknown_key"
SENTENCE = "sentence"


def problem(sentence: str, *key: str | int) -> PydanticCustomError:
    """An error for a validator to raise.

    Args:
        sentence: what is wrong and what would be right, without the key.
        key: where, below the model or field being validated.
    """
    return PydanticCustomError(SENTENCE, "{sentence}", {"sentence": sentence, "key": list(key)})


def default(value: Any, text: str, description: str) -> Any:
    """A default that the JSON Schema shows as it would be written.

    Args:
        value: the default in the units of the core.
        text: the same as it stands in a file.
        description: what the key means.
    """
    return Field(default=value, description=description, json_schema_extra={"default": text})


class Model(BaseModel):
    """A table of the file: immutable, strictly typed, and closed to keys it does not know."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @classmethod
    def keys_of(cls, table: Mapping[str, Any], catalogue: Catalogue | None) -> Iterable[str]:  # noqa: ARG003
        """What to suggest in place of a key of the table that does not exist."""
        return cls.model_fields

    @model_validator(mode="before")
    @classmethod
    def _unknown_keys(cls, data: Any, info: ValidationInfo) -> Any:
        if isinstance(data, dict):
            known = cls.model_fields
            for key in data:
                if key not in known:
                    sentence = f"unknown key; {nearest(str(key), cls.keys_of(data, info.context))}"
                    raise PydanticCustomError(UNKNOWN_KEY, "{sentence}", {"sentence": sentence, "key": [str(key)]})
        return data


def name_like(pattern: str, words: str) -> tuple[Any, ...]:
    """What makes text a name: a pattern, which the JSON Schema shows, and the same in words, for people."""

    def fitting(name: str) -> str:
        if re.fullmatch(pattern, name) is None:
            raise problem(f"{units.shown(name)} does not fit; use {words}")
        return name

    return AfterValidator(fitting), WithJsonSchema({"type": "string", "pattern": pattern})


def _quantity(parse: Callable[[object], Any], pattern: str, example: str, what: str) -> tuple[Any, ...]:
    schema = {"type": "string", "pattern": pattern, "examples": [example], "description": what}
    return BeforeValidator(parse), WithJsonSchema(schema)


_MICRO = "[\N{MICRO SIGN}\N{GREEK SMALL LETTER MU}]"
_NUMBER = r"^[0-9]+(\.[0-9]+)? ?"

Time = Annotated[int, *_quantity(units.parse_time, _NUMBER + f"(ns|us|{_MICRO}s|ms|s|min|h)$", "80ms", "a time")]
Rate = Annotated[int, *_quantity(units.parse_rate, _NUMBER + "[kMGT]?bit/s$", "12Mbit/s", "a rate")]
RateOrZero = Annotated[
    int, *_quantity(units.parse_rate_or_zero, _NUMBER + "[kMGT]?bit/s$", "0bit/s", "a rate; zero is an outage")
]
Size = Annotated[int, *_quantity(units.parse_size, _NUMBER + "([kMG]|[KMG]i)?B$", "64kB", "a size")]
Packets = Annotated[int, *_quantity(units.parse_packets, "^[0-9]+ ?pkt$", "50pkt", "a number of packets")]

_LIMIT_PATTERN = _NUMBER + f"(pkt|([kMG]|[KMG]i)?B|ns|us|{_MICRO}s|ms|s|min|h|bdp)$|^infinite$"
_LIMIT_SCHEMA: dict[str, Any] = {
    "description": 'what the queue holds: packets, bytes, time, "1bdp", "infinite"; or a list of different limits',
    "anyOf": [
        {"type": "string", "pattern": _LIMIT_PATTERN, "examples": ["50pkt"]},
        {"type": "array", "items": {"type": "string", "pattern": _LIMIT_PATTERN}, "minItems": 1},
    ],
}

QueueKind = Annotated[str, WithJsonSchema({"type": "string", "examples": ["fq_codel"]})]

QueueLimit = Annotated[units.Limit, PlainValidator(units.parse_limit), WithJsonSchema(_LIMIT_SCHEMA)]

_RATIO_SCHEMA: dict[str, Any] = {
    "description": 'a ratio, 0 <= ratio < 1, or a text such as "1%"',
    "anyOf": [
        {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
        {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)? ?%$", "examples": ["1%"]},
    ],
}
Ratio = Annotated[float, BeforeValidator(units.parse_ratio), WithJsonSchema(_RATIO_SCHEMA)]

_PROBABILITY_SCHEMA: dict[str, Any] = {
    "description": 'a probability, 0 <= probability <= 1, or a text such as "1%"',
    "anyOf": [
        {"type": "number", "minimum": 0, "maximum": 1},
        {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)? ?%$", "examples": ["1%"]},
    ],
}
Probability = Annotated[float, BeforeValidator(units.parse_probability), WithJsonSchema(_PROBABILITY_SCHEMA)]

Word = Annotated[Any, WithJsonSchema({"type": "string"})]
"""One of the words that only the catalogue or the references know; they refuse everything else, and name them."""

Dscp = Annotated[int, Field(ge=0, le=63)]
