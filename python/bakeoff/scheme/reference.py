"""Naming a class in a file: `./my_scheme.py:MyScheme`."""

from __future__ import annotations

import ast
import functools
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from bakeoff.errors import UserError, reason

PREFIX = "python:"
"""Before the name of the class, in a scenario."""

_FORM = re.compile(r"(?P<file>.+\.py):(?P<name>[A-Za-z_]\w*)", re.ASCII)
_MAX_BYTES = 2**20


@dataclass(frozen=True)
class Reference:
    """A class in a file.

    Attributes:
        file: path of the file, as it was given.
        name: name of the class.
    """

    file: str
    name: str


@dataclass(frozen=True)
class Found:
    """A class that is there, as far as that can be seen without running its file.

    Attributes:
        file: absolute path of the file, for any process.
        sha256: digest of its content.
    """

    file: str
    sha256: str


def parse(scheme: str) -> Reference | None:
    """The class that the name of a scheme means; None if it is another kind of name."""
    match = _FORM.fullmatch(scheme)
    return Reference(match["file"], match["name"]) if match else None


def label(scheme: str) -> str:
    """What a scheme is called in cells and tables: a class by its name."""
    reference = parse(scheme)
    return reference.name if reference else scheme


def find(reference: Reference, folder: Path) -> Found:
    """Looks for a class, without running its file.

    Args:
        reference: which.
        folder: what the path is relative to.

    Raises:
        UserError: the file is missing, is no Python, or has no such class.
    """
    path = folder / Path(reference.file).expanduser()
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise UserError(f"{path}: larger than {_MAX_BYTES // 2**20} MiB, the most that a scheme may have")
        content = path.read_bytes()
    except (OSError, ValueError) as error:
        raise UserError(
            f"{path}: cannot be read ({reason(error)}); write the path of a file, as in ./my_scheme.py"
        ) from error
    names = _names(content, str(path))
    if names is not None and reference.name not in names:
        from bakeoff.experiment.likely import nearest  # noqa: PLC0415 - only for the message

        classes = [name for name, is_class in names.items() if is_class]
        hint = f"; {nearest(reference.name, classes)}" if classes else ", nor any other"
        raise UserError(f"{path}: has no class {reference.name}{hint}")
    return Found(str(path.absolute()), hashlib.sha256(content).hexdigest())


@functools.lru_cache(maxsize=64)
def _names(content: bytes, path: str) -> dict[str, bool] | None:
    """Names that a file binds anywhere, and whether each is a class; None if that cannot be seen."""
    try:
        tree = ast.parse(content, path)
    except SyntaxError as error:
        where = path if error.lineno is None else f"{path}:{error.lineno}"
        raise UserError(f"{where}: not Python: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise UserError(f"{path}: not Python: {str(error) or 'nested too deeply'}") from error
    names: dict[str, bool] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            names[node.name] = True
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            names.setdefault(node.name, False)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.setdefault(node.id, False)
        elif isinstance(node, ast.alias):
            if node.name == "*":
                return None
            names.setdefault(node.asname or node.name.partition(".")[0], False)
    return names
