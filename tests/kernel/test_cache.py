from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from bakeoff.cli import main
from bakeoff.errors import RunFailed, UserError
from bakeoff.kernel import boot, cache, command
from bakeoff.kernel.cache import Built

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def built(name: str = "7.3.4-abc") -> Built:
    return Built(name, "7.3.4", "abc", size_bytes=3, sha256="0" * 64, banner="7.3.4 #1")


def stored(tmp_path: Path, name: str = "7.3.4-abc") -> Path:
    program = tmp_path / "linux"
    program.write_bytes(b"elf")
    return cache.store(built(name), program)


def test_what_is_stored_is_listed_until_it_is_removed(tmp_path: Path) -> None:
    assert cache.entries() == []
    kernel = stored(tmp_path)
    assert kernel.read_bytes() == b"elf"
    assert kernel.stat().st_mode & 0o111
    assert cache.entries() == [built()]
    stored(tmp_path)
    assert cache.entries() == [built()]
    cache.remove("7.3.4-abc")
    assert cache.entries() == []


def test_a_name_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="none is built"):
        cache.remove("7.3.4-abc")
    stored(tmp_path)
    with pytest.raises(UserError, match=r"there are 7\.3\.4-abc"):
        cache.remove("../../etc")


def test_a_broken_entry_is_passed_over(tmp_path: Path) -> None:
    stored(tmp_path)
    (cache.folder() / "7.3.4-abc" / cache.MANIFEST).write_text("{")
    assert cache.entries() == []


def test_the_commands_list_and_remove(tmp_path: Path) -> None:
    runner = CliRunner()
    assert "no kernel is built yet" in runner.invoke(main, ["kernel", "list"]).stderr
    stored(tmp_path)
    assert "7.3.4-abc" in runner.invoke(main, ["kernel", "list"]).stdout
    assert '"sha256"' in runner.invoke(main, ["kernel", "list", "--json"]).stdout
    assert runner.invoke(main, ["kernel", "remove", "nothing"]).exit_code == 2
    assert runner.invoke(main, ["kernel", "remove", "7.3.4-abc"]).exit_code == 0
    assert cache.entries() == []


def test_missing_tools_are_named_with_their_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RunFailed, match=r"apt install .*bison.*flex"):
        command.check_tools()


def test_a_program_that_fails_is_quoted_by_its_last_line(tmp_path: Path) -> None:
    words = ["sh", "-c", "echo first; echo last words >&2; exit 3"]
    with pytest.raises(RunFailed, match="it cannot be done: last words"):
        command.run(words, cwd=tmp_path, failing="it cannot be done")
    with pytest.raises(RunFailed, match="there is no program nothing-like-this"):
        command.run(["nothing-like-this"], cwd=tmp_path, failing="x")


def test_a_kernel_that_does_not_boot_is_quoted(tmp_path: Path) -> None:
    kernel = tmp_path / "linux"
    kernel.write_text("#!/bin/sh\necho Kernel panic - no init\n")
    kernel.chmod(0o755)
    with pytest.raises(RunFailed, match="does not boot: Kernel panic - no init"):
        boot.verify(kernel)
