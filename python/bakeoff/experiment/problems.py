"""What is wrong with a key of an experiment: the errors that say so, and what the schema found as one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bakeoff.experiment.base import SENTENCE, UNKNOWN_KEY
from bakeoff.experiment.keys import COUNTED_FROM_ONE
from bakeoff.experiment.units import UnitError, parse_limit, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

_SENTENCES = {
    "missing": "missing",
    "string_type": "must be a text, not {input}",
    "int_type": "must be a whole number, not {input}",
    "float_type": "must be a number, not {input}",
    "bool_type": "must be true or false, not {input}",
    "list_type": "must be a list, not {input}",
    "dict_type": "must be a table, not {input}",
    "model_type": "must be a table, not {input}",
    "model_attributes_type": "must be a table, not {input}",
    "literal_error": "{input} is not known; write {expected}",
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be at least {ge}, not {input}",
    "less_than_equal": "must be at most {le}, not {input}",
    "string_too_short": "must not be empty",
    "too_short": "must not be empty",
    "too_long": "has {actual_length} entries; the most is {max_length}",
}
_TABLE_LISTS = {
    ("flow",): "[[flow]]",
    ("probe",): "[[probe]]",
    ("path", "forward"): "[[path.forward]]",
    ("path", "reverse"): "[[path.reverse]]",
}


class KeyProblem(Exception):  # noqa: N818 - becomes a UserError where the file is known
    """A sentence about a key of the experiment."""

    def __init__(self, key: str, sentence: str) -> None:
        super().__init__(f"{key}: {sentence}")
        self.key = key
        self.sentence = sentence


class FileWanted(KeyProblem):
    """A file that the user has to give."""


def first_problem(error: ValidationError) -> tuple[str, str]:
    """The key and the sentence of what to mend first: misspelt keys come before what is missing for lack of them."""
    details = error.errors(include_url=False)
    chosen = min(details, key=lambda detail: detail["type"] != UNKNOWN_KEY)
    context = chosen.get("ctx", {})
    location = [part for part in chosen["loc"] if not _is_tag(part)]
    location += context.get("key", [])
    return key_path(location), _sentence(chosen, location)


def _is_tag(part: str | int) -> bool:
    # The schema names the forms of a value "<poisson>" and so on, and the name of a table "[key]"; nobody writes those.
    return isinstance(part, str) and (part.startswith("<") or part == "[key]")


def key_path(location: Sequence[str | int]) -> str:
    """The key as a person writes it: hops count from 0, flows, probes and claims from 1."""
    parts = [str(part) for part in location]
    if len(location) > 1 and location[0] in COUNTED_FROM_ONE and isinstance(location[1], int):
        parts[1] = str(location[1] + 1)
    return ".".join(parts)


def _sentence(detail: ErrorDetails, location: list[str | int]) -> str:
    context: dict[str, Any] = detail.get("ctx", {})
    kind = detail["type"]
    header = _TABLE_LISTS.get(tuple(str(part) for part in location))
    if kind in {SENTENCE, UNKNOWN_KEY}:
        return str(context["sentence"])
    if kind == "value_error" and isinstance(context.get("error"), UnitError):
        return str(context["error"])
    if kind == "missing" or (kind == "too_short" and header):
        return f"missing; add a table {header}" if header else "missing; this key is needed"
    template = _SENTENCES.get(kind)
    if template is None:
        return f"{shown(detail['input'])}: {detail['msg'][:1].lower()}{detail['msg'][1:]}"
    sentence = template.format(**{**context, "input": shown(detail["input"])}).replace("'", '"')
    if kind == "list_type" and header:
        sentence += f"; write {header}"
    if kind == "model_type" and location == ["path"]:
        sentence += "; write [[path.forward]]"
    if kind == "model_type" and location[-1] == "queue":
        limit = detail["input"] if _is_limit(detail["input"]) else "34pkt"
        sentence += f'; write {{ limit = "{limit}" }}, with a kind where it is no fifo'
    return sentence


def _is_limit(value: object) -> bool:
    try:
        parse_limit(value)
    except UnitError:
        return False
    return isinstance(value, str)
