"""Dotted keys: `path.forward.0.rate`, and short words for the common ones.

Hops count from 0, flows, probes and claims from 1; `*` stands for all of them. `flow.2` is the second `[[flow]]` of the
file: a scheme or class that it names is that of all its copies (`count`), which have their own numbers in reports,
messages (`flow 3`) and claims (`flow3`). The short words but `scheme` are also allowed behind `path.` (`path.trace`),
and mean the only forward hop:

| word | sets |
|---|---|
| `scheme` | the scheme of every flow that names none |
| `rtt` | the base RTT: half of it in the first hop of each direction, none in the other hops |
| `rate`, `loss` | that key |
| `queue` | a limit ("50pkt"), a kind with its own defaults ("fq_codel"), or the whole queue |
| `trace` | the rate, as a mahimahi trace |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeGuard

from bakeoff.errors import UserError
from bakeoff.experiment.likely import nearest
from bakeoff.experiment.units import UnitError, format_time, is_queue_kind, parse_time, shown

SHORT_WORDS = ("scheme", "rtt", "rate", "queue", "loss", "trace")
SETTABLE = ("path", "flow", "probe", "duration", "record", "start_jitter")
"""First words of keys that an axis of the matrix may set."""

COUNTED_FROM_ONE = frozenset({"flow", "probe", "claim"})
"""Lists of tables whose numbers in keys begin with 1."""

USE = "path.use"
"""The key that names a path of the collection."""

RATE_FORMS = ("poisson", "trace", "schedule", "token_bucket")
"""Keys of the tables that a rate may be; each table has one of them."""


@dataclass(frozen=True)
class Setting:
    """A value for a key of the file.

    Attributes:
        key: the key as written.
        value: as TOML would read it.
        origin: who says so, for messages.
    """

    key: str
    value: Any
    origin: str

    def fail(self, sentence: str) -> UserError:
        """An error about this setting."""
        return UserError(f"{self.origin}: {sentence}")


def short_word(key: str) -> str | None:
    """The short word that a key is, or None."""
    word = key.removeprefix("path.")
    return word if word in SHORT_WORDS and (word != "scheme" or key == "scheme") else None


def copied(value: Any) -> Any:
    """A value of a file whose tables and lists may be changed; what else TOML has never changes."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    return [copied(item) for item in value] if isinstance(value, list) else value


def apply(raw: dict[str, Any], setting: Setting) -> list[str]:
    """Puts a setting into a file's content, in place.

    Returns:
        the full keys that it set, numbers as in `Setting.key`.

    Raises:
        UserError: there is no such place.
    """
    word = short_word(setting.key)
    if word == "scheme":
        return _fill_schemes(raw, setting)
    if word == "rtt":
        return _set_rtt(raw, setting)
    if word is not None:
        hops = _hops(raw, "forward", setting)
        if len(hops) != 1:
            key = f"path.forward.N.{word}"
            raise setting.fail(f'the path has {len(hops)} forward hops; say which one with "{key}"')
        value = setting.value
        if word == "trace":
            word, value = "rate", {"trace": value}
        elif word == "queue" and not isinstance(value, dict) and not is_queue_kind(value):
            word = "queue.limit"
        setting = Setting(f"path.forward.0.{word}", value, setting.origin)
    parts = setting.key.split(".")
    if not all(parts):
        raise setting.fail('not a key; write for example "path.forward.0.rate"')
    _check_known(setting)
    touched = _put(raw, parts, setting, "")
    if parts[0] in {"flow", "probe"} and not _is_list_of_tables(raw[parts[0]]):
        raise setting.fail(f"{parts[0]} is a list of tables, as in {parts[0]}=[{{}}] or {parts[0]}.1={{}}")
    return touched


def meant(key: str) -> str | None:
    """The whole of a key that lacks the hop or the flow that it is one of; None for any other."""
    from bakeoff.experiment.flow import Flow  # noqa: PLC0415 - only where something is set
    from bakeoff.experiment.path import Hop  # noqa: PLC0415

    of_path = key.removeprefix("path.")
    head = of_path.partition(".")[0]
    if head in {"forward", "reverse"}:
        return None if of_path != key else f"path.{key}"
    if head in Hop.model_fields:
        return f"path.forward.0.{of_path}"
    return f"flow.*.{key}" if head in Flow.model_fields and of_path == key else None


def _check_known(setting: Setting) -> None:
    """Refuses a first word that is none; what lies deeper is told when the file is checked."""
    from bakeoff.experiment.schema import ExperimentFile  # noqa: PLC0415 - only where something is set

    key, of_file = setting.key, ExperimentFile.model_fields
    if (whole := meant(key)) is not None:
        raise setting.fail(f'{key}: unknown key; write "{whole}"')
    if "." not in key and key not in of_file:
        raise setting.fail(f"{key}: unknown key; {nearest(key, (*SHORT_WORDS, *of_file))}")


def _is_list_of_tables(value: Any) -> TypeGuard[list[dict[str, Any]]]:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _put(node: Any, parts: list[str], setting: Setting, above: str) -> list[str]:
    head, rest = parts[0], parts[1:]
    here = f"{above}{head}"
    if isinstance(node, list):
        touched = []
        for index in _indices(node, head, setting, above.rstrip(".")):
            if rest:
                touched += _put(node[index], rest, setting, f"{above}{index + _base(above)}.")
            else:
                node[index] = copied(setting.value)
                touched.append(f"{above}{index + _base(above)}")
        return touched
    if not isinstance(node, dict):
        raise setting.fail(f"{above.rstrip('.')} is not a table")
    if not rest:
        node[head] = copied(setting.value)
        return [here]
    if here in {"flow", "probe", "path.forward", "path.reverse"} and not isinstance(node.get(head), list):
        raise setting.fail(f"the file has no [[{here}]] to set it in")
    if head == "queue" and is_queue_kind(node.get(head)):
        node[head] = {"kind": node[head]}
    if not isinstance(node.get(head), (dict, list)) or _other_form(node, head, rest[0]):
        node[head] = {}
    return _put(node[head], rest, setting, f"{here}.")


def _other_form(node: dict[str, Any], head: str, form: str) -> bool:
    """Whether a key names another form of a rate than there is; the forms exclude each other."""
    return head == "rate" and form in RATE_FORMS and form not in node[head]


def _base(above: str) -> int:
    return 1 if above.removesuffix(".") in COUNTED_FROM_ONE else 0


def _indices(items: list[Any], word: str, setting: Setting, name: str) -> list[int]:
    if not items:
        raise setting.fail(f"the file has no [[{name}]] to set it in")
    if word == "*":
        return list(range(len(items)))
    first = _base(f"{name}.")
    last = first + len(items) - 1
    if not (word.isascii() and word.isdigit() and len(word) < 8 and first <= int(word) <= last):
        known = f"{name}.{first}" if first == last else f"{name}.{first} to {name}.{last}"
        raise setting.fail(f"there is no {name}.{word}; the file has {known}, and {name}.* means all")
    return [int(word) - first]


def _hops(raw: dict[str, Any], direction: str, setting: Setting) -> list[dict[str, Any]]:
    path = raw.get("path")
    hops = path.get(direction, []) if isinstance(path, dict) else []
    if not _is_list_of_tables(hops):
        raise setting.fail(f"path.{direction} is not a list of tables; write [[path.{direction}]]")
    return hops


def _fill_schemes(raw: dict[str, Any], setting: Setting) -> list[str]:
    flows = raw.get("flow")
    if not _is_list_of_tables(flows):
        raise setting.fail("the file has no [[flow]] to give the scheme to")
    touched = []
    for number, flow in enumerate(flows, 1):
        if "scheme" not in flow:
            flow["scheme"] = setting.value
            touched.append(f"flow.{number}.scheme")
    if not touched:
        of_file = not setting.origin.startswith("--")
        right = "remove scheme from [matrix]" if of_file else 'set "flow.1.scheme" and so on'
        raise setting.fail(f"every flow names its own scheme, so this changes nothing; {right}")
    return touched


def _set_rtt(raw: dict[str, Any], setting: Setting) -> list[str]:
    try:
        rtt_ns = parse_time(setting.value)
    except UnitError as error:
        raise setting.fail(str(error)) from error
    forward, reverse = _hops(raw, "forward", setting), _hops(raw, "reverse", setting)
    if not forward:
        raise setting.fail("the file has no [[path.forward]] to set it in")
    if rtt_ns % 2:
        raise setting.fail(f"{shown(setting.value)}: half of it goes each way, so it must be an even number of ns")
    touched = []
    for direction, hops in (("forward", forward), ("reverse", reverse)):
        for index, hop in enumerate(hops):
            hop["delay"] = format_time(rtt_ns // 2 if index == 0 else 0)
            touched.append(f"path.{direction}.{index}.delay")
    return touched
