"""Finding and reading experiment files and named paths."""

from __future__ import annotations

import codecs
import copy
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bakeoff import suites
from bakeoff.errors import UserError, reason
from bakeoff.experiment.likely import likely, nearest
from bakeoff.experiment.problems import first_problem
from bakeoff.experiment.schema import NamedPath
from bakeoff.experiment.units import shown

_MAX_BYTES = 16 * 2**20


@dataclass(frozen=True)
class Source:
    """An experiment file that was read.

    Attributes:
        name: name of the suite, or the file as it was given.
        folder: what relative names in the file are relative to.
        raw: its content, as TOML has it.
        doc: text of a suite, in Markdown; empty for other files.
    """

    name: str
    folder: Path
    raw: dict[str, Any]
    doc: str


def find(name_or_path: str) -> Source:
    """Reads a suite by its name, or a file.

    Raises:
        UserError: there is neither, or it is not TOML.
    """
    if name_or_path in suites.names():
        file = suites.file(name_or_path)
        return Source(name_or_path, file.parent, read_toml(file, name_or_path), suites.doc(name_or_path))
    file = Path(name_or_path)
    try:
        exists = file.exists()
    except OSError as error:
        raise UserError(f"{shown(name_or_path)}: cannot be read ({reason(error)}); give a suite or a file") from error
    if not exists and (members := suites.families().get(name_or_path)):
        raise UserError(f"{shown(name_or_path)} is a family of suites; name one of them: {', '.join(members)}")
    if not exists:
        raise UserError(f"{shown(name_or_path)}: neither a suite nor a file; {_instead_of(name_or_path)}")
    return Source(name_or_path, file.parent, read_toml(file, name_or_path), "")


def _instead_of(name: str) -> str:
    """What somebody may have meant by a name that is neither a suite nor a file."""
    near = [found for found in suites.names() if found.endswith(f"/{name}")]
    if name and Path(f"{name}.toml").is_file():
        near = [f"{name}.toml"]
    if near:
        return f"did you mean {' or '.join(map(shown, near))}?"
    return likely(name, [*suites.families(), *suites.names()], []) or "`bakeoff list suites` names the suites"


def read_toml(file: Path, name: str) -> dict[str, Any]:
    """The content of a TOML file.

    Args:
        file: where it is.
        name: what messages call it.

    Raises:
        UserError: it cannot be read, or is not TOML; the sentence names the line.
    """
    try:
        if not file.is_file():
            raise UserError(f"{name}: not a file; give an experiment file (TOML) or the name of a suite")
        if file.stat().st_size > _MAX_BYTES:
            raise UserError(f"{name}: larger than {_MAX_BYTES // 2**20} MiB, the most that an experiment file may have")
        # Some editors begin a file with a mark, which is no part of the text.
        content = file.read_bytes().removeprefix(codecs.BOM_UTF8)
    except OSError as error:
        raise UserError(f"{name}: cannot be read ({reason(error)}); give an experiment file (TOML)") from error
    try:
        return tomllib.loads(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UserError(f"{name}: line {line} is not UTF-8 text; save the file as UTF-8") from error
    except RecursionError as error:
        raise UserError(f"{name}: not TOML that can be read: nested too deeply") from error
    except ValueError as error:
        raise UserError(f"{name}: not valid TOML: {_toml_problem(str(error), content)}") from error


# What word processors make of quotation marks.
_TYPOGRAPHIC = frozenset(
    "\N{LEFT DOUBLE QUOTATION MARK}\N{RIGHT DOUBLE QUOTATION MARK}\N{DOUBLE LOW-9 QUOTATION MARK}"
    "\N{LEFT SINGLE QUOTATION MARK}\N{RIGHT SINGLE QUOTATION MARK}"
)


def _toml_problem(message: str, content: bytes) -> str:
    match = re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", message, re.DOTALL)
    if match:
        # What Python says of a key that is there already names neither.
        twice = re.match(r"Cannot (overwrite a value|declare \(.*\) twice)", match[1])
        line = content.decode().split("\n")[int(match[2]) - 1]
        if twice and (key := re.match(r"\s*(\[+[^]]+\]+|[^=#]+?(?=\s*=))", line)):
            return f"line {match[2]}: {key[1]} is there already; keep one of them"
        place = f"line {match[2]}, column {match[3]}"
        if (mark := line[int(match[3]) - 1 : int(match[3])]) in _TYPOGRAPHIC:
            return f'{place}: {mark} is no quotation mark of TOML; write "'
        return f"{place}: {match[1]}"
    return message.replace("(at end of document)", "at the end of the file")


def use_named_path(raw: dict[str, Any], blamed: str) -> None:
    """Replaces `path.use` by the hops of the path it names, in place; the file's own hops override them key by key.

    Args:
        raw: the content of the file.
        blamed: who names the path, at the beginning of a sentence.

    Raises:
        UserError: there is no such path.
    """
    path = raw.get("path")
    if not isinstance(path, dict) or "use" not in path:
        return
    name = path["use"]
    if not isinstance(name, str) or name not in suites.path_names():
        hint = nearest(name, suites.path_names()) if isinstance(name, str) else "write its name"
        raise UserError(f"{blamed}path.use: {shown(name)} is not a named path; {hint} (bakeoff list paths)")
    named = read_path(name)
    hops = {key: named[key] for key in ("forward", "reverse") if key in named}
    own = {key: value for key, value in path.items() if key != "use"}
    raw["path"] = _merged(hops, own)


def read_path(name: str) -> dict[str, Any]:
    """The content of a named path's file, checked.

    Raises:
        UserError: the file is not what it should be.
    """
    content = read_toml(suites.path_file(name), f"path {name}")
    try:
        NamedPath.model_validate(content)
    except ValidationError as error:
        key, sentence = first_problem(error)
        raise UserError(f"path {name}: {key}: {sentence}") from error
    return content


def _merged(below: Any, above: Any) -> Any:
    if isinstance(below, dict) and isinstance(above, dict):
        keys = {**below, **above}
        # The forms of a rate exclude each other, so a rate replaces a rate.
        return {
            key: _merged(below[key], above[key])
            if key in below and key in above and key != "rate"
            else copy.deepcopy(keys[key])
            for key in keys
        }
    if isinstance(below, list) and isinstance(above, list) and _tables(below) and _tables(above):
        paired = [_merged(one, other) for one, other in zip(below, above, strict=False)]
        return paired + copy.deepcopy(below[len(paired) :] + above[len(paired) :])
    return copy.deepcopy(above)


def _tables(items: list[Any]) -> bool:
    return all(isinstance(item, dict) for item in items)
