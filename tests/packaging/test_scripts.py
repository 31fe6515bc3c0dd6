"""The programs that write pages of the documentation."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bakeoff.experiment import load

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_of_quinn_needs_a_kernel_and_says_so_at_once(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "scripts" / "quinn.py")]
    places = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    ended = subprocess.run(command, env=places, capture_output=True, text=True, check=False, timeout=60)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == (
        "bakeoff: no kernel is built yet: run `bakeoff kernel build` once, which takes about eight minutes\n"
    )


def script(name: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A script that has ended."""
    command = [sys.executable, str(ROOT / "scripts" / f"{name}.py"), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("name", ["quinn", "agreement", "originals", "conformance", "claims", "cookbook", "dualpi2"])
def test_a_script_explains_itself_and_writes_nothing(name: str) -> None:
    ended = script(name, "--help")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert f".venv/bin/python scripts/{name}.py" in ended.stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["quinn", "x"], "quinn.py: error: unrecognized arguments: x"),
        (["agreement", "cakes", "x.json"], "argument page: invalid choice: 'cakes'"),
        (["agreement", "schemes", "gone.json"], "gone.json: cannot be read (no such file or directory); give what"),
        (["conformance", __file__], "not JSON; give what `bakeoff conformance SCHEME --json` printed"),
        (["claims", str(ROOT / "docs" / "reference" / "experiment.schema.json")], "has no family; give what"),
        (["originals", "gone", "ours"], "gone: not a result folder of bakeoff"),
    ],
)
def test_what_a_script_cannot_use_is_one_sentence(words: list[str], sentence: str) -> None:
    ended = script(*words)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert sentence in ended.stderr
    assert "Traceback" not in ended.stderr


def test_numbers_are_put_between_the_comments_of_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    put = importlib.import_module("printed").put
    page = tmp_path / "page.md"
    jitter = "<!-- jitter: written by scripts/x.py -->\n\nold\n\n<!-- end of jitter -->"
    page.write_text(f"a\n<!-- numbers: written by scripts/x.py -->\n<!-- end of numbers -->\nb\n{jitter}\n")
    put(page, "new\n", by="x")
    put(page, "newer", by="x", name="jitter")
    numbers = "<!-- numbers: written by scripts/x.py -->\n\nnew\n\n<!-- end of numbers -->"
    assert page.read_text() == f"a\n{numbers}\nb\n{jitter.replace('old', 'newer')}\n"


@pytest.mark.parametrize(
    ("where", "against", "said"),
    [
        ({"rtt": "10ms", "queue": "pie"}, {}, "`total.loss` in rtt 10ms, queue pie |"),
        ({"rtt": "10ms"}, {"rtt": "80ms"}, "`total.loss` in rtt 10ms, over that of 80ms |"),
        ({}, {}, "`total.loss` in all cells |"),
    ],
)
def test_a_page_of_claims_says_which_cells_each_is_about(
    monkeypatch: pytest.MonkeyPatch, where: dict[str, str], against: dict[str, str], said: str
) -> None:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    page = importlib.import_module("claims").page
    claim: dict[str, Any] = {"id": "A", "says": "Little is lost", "source": None, "where": where, "against": against}
    claim |= {"measure": "total.loss", "statistic": "mean", "expect": "< 1", "verdict": "holds", "reason": None}
    claim |= {"mean": 0.5, "low": None, "high": None, "runs": 3, "unit": "", "is_count": False, "absent": 0}
    claim["note"] = None
    experiments = [{"experiment": "sce-l4s/s1", "claims": [claim]}]
    assert any(said in line for line in page({"family": "sce-l4s", "experiments": experiments}))


@pytest.mark.parametrize("name", ["quinn", "agreement", "originals", "conformance"])
def test_a_script_has_its_page(name: str) -> None:
    begin = f": written by scripts/{name}.py -->"
    pages = [page for page in (ROOT / "docs").glob("*.md") if begin in page.read_text(encoding="utf-8")]
    assert pages
    for page in pages:
        names = re.findall(rf"<!-- (\w+){begin}", page.read_text(encoding="utf-8"))
        assert all(page.read_text(encoding="utf-8").count(f"<!-- end of {each} -->") == 1 for each in names)


def test_what_the_page_of_queues_calls_a_default_in_code_can_be_written(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    found = []
    for line in (ROOT / "docs" / "reference" / "queues.md").read_text(encoding="utf-8").splitlines():
        if heading := re.fullmatch(r"## `(\w+)`", line):
            queue = heading[1]
        elif row := re.match(r'\| `(\w+)` \| [^|]+ \| `(".+")` \|', line):
            found.append((queue, row[1]))
            file.write_text(
                'name = "x"\nduration = "1s"\n[[flow]]\nscheme = "cubic"\n[[path.forward]]\nrate = "10Mbit/s"\n'
                f'queue = {{ kind = "{queue}", {row[1]} = {row[2]} }}\n',
                encoding="utf-8",
            )
            load(str(file))
    assert ("fifo", "limit") in found
    assert ("codel", "target") in found
    assert len(found) > 30
