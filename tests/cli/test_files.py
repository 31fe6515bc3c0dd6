"""Files that a parameter names, from the command line: refused before anything runs, and part of what a run is."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

EXPERIMENT = """
name = "policy"
duration = "300ms"
[[path.forward]]
rate = "10Mbit/s"
delay = "20ms"
queue = { limit = "1bdp" }
[[flow]]
scheme = "indigo"
parameters = { weights = "w.bin" }
"""
TREE = Path(__file__).parents[2] / "crates" / "core" / "tests" / "files" / "one-rule.json"
OWN_TREE = Path(__file__).parents[2] / "crates" / "core" / "src" / "scheme" / "remy" / "own-100x.json"


def write(folder: Path, bias: float) -> str:
    """An experiment with Indigo's smallest network, in which only the bias of its first action is not zero.

    Returns:
        The digest of its weights.
    """
    (folder / "x.toml").write_text(EXPERIMENT)
    content = struct.pack("<5542f", 0, bias, *[0.0] * 5540)
    (folder / "w.bin").write_bytes(content)
    return hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("words", [("check",), ("run", "--dry-run"), ("run", "--out", "out")])
def test_a_file_that_cannot_be_used_is_refused_before_anything_runs(
    here: Path, bakeoff: Callable[..., Any], words: tuple[str, ...]
) -> None:
    write(here, float("nan"))
    ended = bakeoff(words[0], "x.toml", *words[1:])
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.count("\n") == 1
    start = f'bakeoff: x.toml: flow 1: parameter weights of indigo cannot be "{here}/w.bin"; it takes a file with'
    assert ended.err.startswith(start)
    assert "this one has a weight, number 1, that is no number" in ended.err
    assert not (here / "out").exists()
    assert not (here / "results").exists()


def test_a_run_is_not_taken_up_with_another_file(here: Path, bakeoff: Callable[..., Any]) -> None:
    digest = write(here, 1.0)
    words = ("run", "x.toml", "--out", "out", "--quiet", "--resume")
    assert bakeoff(*words[:-1]).code == 0
    manifest = json.loads((here / "out" / "runs" / "run1" / "manifest.json").read_text())
    assert manifest["scenario"]["files"] == {str(here / "w.bin"): digest}
    assert f"w.bin (SHA-256 {digest[:12]}" in (here / "out" / "report.html").read_text()
    assert bakeoff(*words).code == 0
    write(here, 2.0)
    ended = bakeoff(*words)
    assert ended.code == 2
    assert f"holds a different experiment or an older version of this one ({here}/w.bin changed)" in ended.err


def test_a_report_says_which_tree_ran(here: Path, bakeoff: Callable[..., Any]) -> None:
    for tree in (TREE, OWN_TREE):
        write(here, 1.0)
        (here / "x.toml").write_text(
            EXPERIMENT.replace("indigo", "taova").replace('weights = "w.bin"', f'tree = "{tree}"')
        )
        ended = bakeoff("run", "x.toml", "--out", tree.stem, "--quiet")
        assert ended.code == 0, ended.err
        digest = hashlib.sha256(tree.read_bytes()).hexdigest()
        assert f"{tree.name} (SHA-256 {digest[:12]}" in (here / tree.stem / "report.html").read_text()


@pytest.mark.usefixtures("here")
def test_the_example_files_are_sound(bakeoff: Callable[..., Any]) -> None:
    folder = Path(__file__).parents[2] / "examples" / "originals"
    assert bakeoff("check", str(folder / "programs.toml")).err == ""
    ours = ("check", str(folder / "ours.toml"))
    whole = bakeoff(*ours, "--set", f"variant.taova_tree.parameters.tree={OWN_TREE}")
    assert (whole.err, "without a file" in whole.out) == ("", False)
    ended = bakeoff(*ours)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.endswith("4 cells without a file of the user's\n"), "TaoVA, over each link"


def test_a_run_with_a_scheme_in_python_beside_it_finds_the_file(here: Path, bakeoff: Callable[..., Any]) -> None:
    write(here, 1.0)
    example = Path(__file__).resolve().parents[2] / "examples" / "my_scheme.py"
    (here / "my_scheme.py").write_text(example.read_text())
    (here / "x.toml").write_text(f'{EXPERIMENT}[[flow]]\nscheme = "./my_scheme.py:MyScheme"\n')
    ended = bakeoff("run", "x.toml", "--out", "out", "--quiet")
    assert ended.code == 0, ended.err


LONG = "n" * 300


@pytest.mark.parametrize(
    ("words", "flow", "sentence"),
    [
        (("check", "x.toml"), f'scheme = "indigo"\nparameters = {{ weights = "{LONG}" }}', "there is no file"),
        (("check", "x.toml"), 'scheme = "./a\\u0000b.py:X"', "cannot be read (embedded null byte)"),
        (("run", "x.toml"), f'scheme = "program:a"\n[program.a]\nwrapper = "{LONG}"', "is not there: install it"),
        (("run", "x.toml"), f'scheme = "kernel:a"\n[controller.a]\nobject = "{LONG}"', "there is no file"),
        (
            ("compare", "pantheon/london-sydney", "out"),
            'scheme = "reno"',
            "goes second: bakeoff compare DIR pantheon/london-s",
        ),
        (("compare", "out", LONG), 'scheme = "reno"', "neither a result folder nor a published reference"),
        (("kernel", "build", "--source", LONG), 'scheme = "reno"', "no such folder or tarball"),
    ],
)
def test_names_that_no_file_can_have_are_one_sentence(
    here: Path, bakeoff: Callable[..., Any], words: tuple[str, ...], flow: str, sentence: str
) -> None:
    file = here / "x.toml"
    if words[0] == "compare":
        file.write_text(EXPERIMENT.partition("[[flow]]")[0] + "[[flow]]\nscheme = 'reno'")
        assert bakeoff("run", "x.toml", "--out", "out", "--quiet").code == 0
    world = "world = 'emu'\n" if words[0] == "run" else ""
    file.write_text(f"{world}{EXPERIMENT.partition('[[flow]]')[0]}[[flow]]\n{flow}")
    ended = bakeoff(*words)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert sentence in ended.err


def test_a_file_that_may_not_be_read_is_named(
    here: Path, bakeoff: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(here, 1.0)
    before = Path.open

    def refuse(path: Path, *words: Any, **more: Any) -> Any:
        if path.name == "w.bin":
            raise PermissionError(13, "Permission denied", str(path))
        return before(path, *words, **more)

    monkeypatch.setattr(Path, "open", refuse)
    ended = bakeoff("check", "x.toml")
    sentence = f"bakeoff: x.toml: flow.1.parameters.weights: {here}/w.bin cannot be read (permission denied); write the"
    assert (ended.code, ended.err[: len(sentence)]) == (2, sentence)
