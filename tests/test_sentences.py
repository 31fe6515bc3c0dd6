"""Sentences for the person at the keyboard are all of one form."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(__file__).parents[1] / "python" / "bakeoff"
RAISED = {"FileWanted", "Interrupted", "KeyProblem", "RunFailed", "RunInvalid", "RunStopped", "UserError"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


def endings(sentence: ast.expr, assigned: dict[str, list[ast.expr]]) -> Iterator[str]:
    """The texts that a sentence may end with, as far as they stand in its function."""
    match sentence:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=[*_, last]):
            yield from endings(last, assigned)
        case ast.FormattedValue(value=value):
            yield from endings(value, assigned)
        case ast.BinOp(right=right):
            yield from endings(right, assigned)
        case ast.IfExp(body=body, orelse=otherwise):
            yield from endings(body, assigned)
            yield from endings(otherwise, assigned)
        case ast.Name(id=name):
            for value in assigned.pop(name, []):
                yield from endings(value, assigned)


def with_a_period(source: str) -> list[int]:
    """The lines of a module where an error is made whose sentence ends with a period."""
    found = set()
    for function in (node for node in ast.walk(ast.parse(source)) if isinstance(node, Function)):
        for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
            name = getattr(call.func, "id", getattr(call.func, "attr", ""))
            if name in RAISED or name == "fail" or name.endswith("Error"):
                assigned: dict[str, list[ast.expr]] = {}
                for node in ast.walk(function):
                    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                        assigned.setdefault(node.targets[0].id, []).append(node.value)
                if any(text.endswith(".") for argument in call.args for text in endings(argument, assigned)):
                    found.add(call.lineno)
    return sorted(found)


@pytest.mark.parametrize("folder", sorted({file.parent for file in PACKAGE.rglob("*.py")}), ids=lambda path: path.name)
def test_no_error_ends_with_a_period(folder: Path) -> None:
    found = {file.name: with_a_period(file.read_text(encoding="utf-8")) for file in folder.glob("*.py")}
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "line",
    [
        'raise UserError("x.")',
        'raise UserError(f"{y} x.")',
        'y = f"{z}: x."; raise RunStopped(y)',
        'y = "a." if z else "b"; raise UserError(f"x; {y}")',
    ],
)
def test_a_period_is_found(line: str) -> None:
    assert with_a_period(f"def f():\n    {line}") == [2]
    assert with_a_period(f"def f():\n    {line.replace('.', '')}") == []
