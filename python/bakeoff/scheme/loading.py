"""Loading a class from a file, in a process that is its own: it runs what the file says."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bakeoff.errors import reason
from bakeoff.scheme import base

# Characters of what an exception says; a sentence is no place for an array.
_MOST_WORDS = 1000
_FEW_WORDS = 100


class SchemeProblem(Exception):  # noqa: N818 - what it is
    """One sentence that names the file, what is wrong, and where it can be said the line."""


@dataclass(frozen=True)
class Place:
    """A class, and how it is made.

    Attributes:
        file: path of its file.
        name: name of the class.
        parameters: named arguments.
        sha256: digest of the file; empty if any content will do.
        shown: what sentences call the file; empty: its path.
    """

    file: str
    name: str
    parameters: dict[str, Any] = field(default_factory=dict)
    sha256: str = ""
    shown: str = ""

    @property
    def title(self) -> str:
        """What sentences call the file."""
        return self.shown or self.file


def load(place: Place) -> type:
    """Runs a file and takes a class out of it.

    Raises:
        SchemeProblem: that fails, or the class is no scheme.
    """
    path = Path(place.file).resolve()
    shown = place.title
    try:
        content = path.read_bytes()
    except OSError as error:
        raise SchemeProblem(f"{shown}: cannot be read ({reason(error)})") from error
    if place.sha256 not in {"", hashlib.sha256(content).hexdigest()}:
        raise SchemeProblem(f"{shown}: has changed since the experiment began; run it again")
    kind = getattr(_module(path, place), place.name, None)
    if kind is None:
        raise SchemeProblem(f"{shown}: has no class {place.name}")
    if not isinstance(kind, type):
        raise SchemeProblem(f"{shown}: {place.name} is not a class but {_a(type(kind).__name__)}; name the class")
    missing = [name for name in base.REQUIRED if not base.has(kind, name)]
    if missing:
        raise SchemeProblem(
            f"{shown}: the class {place.name} has no {' and no '.join(missing)}; write def {missing[0]}(self, ...)"
        )
    for name, near in base.misspelt(kind).items():
        raise SchemeProblem(f"{shown}: nothing calls {place.name}.{name}; write {near}, or _{name} if it is your own")
    for name in (*base.REQUIRED, *base.OPTIONAL):
        callback = getattr(kind, name, None)
        if inspect.iscoroutinefunction(callback):
            raise SchemeProblem(f"{shown}: {place.name}.{name} is async, and nothing waits for it; write def {name}")
        if inspect.isgeneratorfunction(callback) or inspect.isasyncgenfunction(callback):
            raise SchemeProblem(
                f"{shown}: {place.name}.{name} yields, so that a call runs nothing of it; leave yield out"
            )
    return kind


def _module(path: Path, place: Place) -> Any:
    sys.dont_write_bytecode = True
    # What lies beside the file can be imported, as if it were started itself.
    sys.path.insert(0, str(path.parent))
    # A file called numpy.py takes nobody's place.
    loaded = sys.modules.get(path.stem)
    is_free = loaded is None or getattr(loaded, "__file__", None) == str(path)
    name = path.stem if is_free else f"{path.stem} of {path.parent}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise SchemeProblem(f"{place.title}: cannot be loaded as Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:  # even SystemExit: the file may do anything
        raise SchemeProblem(explain(error, place, "")) from error
    return module


def arguments(kind: type, place: Place, setup: Any) -> tuple[Any, ...]:
    """What a class is made with beside its parameters: the setup, or nothing.

    Raises:
        SchemeProblem: it wants something else, or not these parameters.
    """
    try:
        signature = inspect.signature(kind)
    except ValueError:
        return (setup,)
    for given in ((setup,), ()):
        try:
            signature.bind(*given, **place.parameters)
        except TypeError:
            continue
        return given
    names = [name for name in place.parameters if name not in signature.parameters]
    if names:
        known = [name for name, known in signature.parameters.items() if known.default is not known.empty]
        has = ", ".join(known) if known else "none"
        raise SchemeProblem(f"{place.title}: {place.name} has no parameter {names[0]}; it has {has}")
    raise SchemeProblem(
        f"{place.title}: {place.name}{signature} cannot be made; write __init__(self, setup) with defaults for the rest"
    )


def explain(error: BaseException, place: Place, callback: str, kind: type | None = None) -> str:
    """One sentence about an exception: the last line of the user's own file, and what it was.

    Args:
        error: the exception.
        place: the class, and how it is made.
        callback: the callback that raised it; empty while the file is loaded.
        kind: the class, whose lines tell of an exception that no line of the file raised, as of wrong arguments.
    """
    line = None
    file = str(Path(place.file).resolve())
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    if line is None and kind is not None:
        line = line_of(kind, callback, place)
    where = f"{place.title}:{line}" if line else place.title
    what = f"{place.name}.{callback}: " if callback else ""
    try:
        said = str(error)
    except Exception:  # noqa: BLE001 - it is the user's, too
        said = ""
    hidden = _hidden(error)
    said = "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in " ".join(said.split()))
    text = shortened(said, _FEW_WORDS if hidden else _MOST_WORDS) + hidden
    return f"{where}: {what}{type(error).__name__}{': ' if text else ''}{text}"


def _hidden(error: BaseException) -> str:
    """Why an import fails where Python itself lies in a folder that is closed to whom this process has become."""
    library = Path(inspect.__file__).parent
    if not isinstance(error, ImportError) or os.access(library, os.R_OK | os.X_OK):
        return ""
    return f" (a class runs as who called sudo or as nobody, who may not read {library}; keep Python where they may)"


def line_of(kind: type, callback: str, place: Place) -> int | None:
    """The line of a callback if it is written in the file of the class, otherwise that of the class."""
    code = getattr(getattr(kind, callback, None), "__code__", None)
    if code is not None and code.co_filename == str(Path(place.file).resolve()):
        return int(code.co_firstlineno)
    try:
        return inspect.getsourcelines(kind)[1]
    except (OSError, TypeError):
        return None


def shortened(text: str, most: int) -> str:
    """A text, or its beginning and an ellipsis."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _a(noun: str) -> str:
    return f"an {noun}" if noun[:1] in "aeiou" else f"a {noun}"
