"""The cache: what is kept, found, chosen and removed."""

from __future__ import annotations

import shutil
from collections import namedtuple
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from bakeoff.cli import main
from bakeoff.errors import RunFailed, UserError
from bakeoff.kernel import cache, configuration, patches
from bakeoff.kernel.cache import Built

if TYPE_CHECKING:
    from pathlib import Path

CURRENT = configuration.digest(patches.described())
PACKAGE = "linux-source-7.3 7.3.4-1~bpo13+1"
BUILT = Built("7.3.4-abc", "7.3.4", CURRENT, PACKAGE, "1" * 64, True, 3, "0" * 64, "7.3.4 #1")  # noqa: FBT003 - a row
GIVEN = replace(BUILT, name="7.3.4-def", source="linux.tar", from_distribution=False)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def store(tmp_path: Path, *kernels: Built) -> None:
    program = tmp_path / "linux"
    program.write_bytes(b"elf")
    for built in kernels:
        cache.store(built, program)


def test_what_is_stored_is_listed_until_it_is_removed(tmp_path: Path) -> None:
    assert cache.entries() == []
    store(tmp_path, BUILT)
    kernel = cache.kernel_of(BUILT)
    assert kernel.read_bytes() == b"elf"
    assert kernel.stat().st_mode & 0o111
    assert cache.entries() == [BUILT]
    again = replace(BUILT, banner="7.3.4 #2")
    store(tmp_path, again)
    assert cache.entries() == [again]
    assert [entry.name for entry in cache.folder().iterdir()] == [BUILT.name]
    cache.remove(BUILT.name)
    assert list(cache.folder().iterdir()) == []


def test_a_name_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="none is built"):
        cache.remove(BUILT.name)
    store(tmp_path, BUILT)
    with pytest.raises(UserError, match=r"there are 7\.3\.4-abc"):
        cache.remove("../../etc")


@pytest.mark.parametrize("manifest", ["{", "{}", "[]", None])
def test_a_broken_entry_is_passed_over_and_can_be_removed(tmp_path: Path, manifest: str | None) -> None:
    store(tmp_path, BUILT)
    if manifest is None:
        cache.kernel_of(BUILT).write_bytes(b"cut off")
    else:
        (cache.folder() / BUILT.name / cache.MANIFEST).write_text(manifest)
    assert cache.entries() == []
    assert cache.names() == [BUILT.name]
    cache.remove(BUILT.name)
    assert cache.names() == []


def test_the_commands_list_and_remove(tmp_path: Path) -> None:
    runner = CliRunner()
    assert "no kernel is built yet" in runner.invoke(main, ["kernel", "list"]).stderr
    store(tmp_path, BUILT)
    assert "7.3.4-abc" in runner.invoke(main, ["kernel", "list"]).stdout
    assert '"sha256"' in runner.invoke(main, ["kernel", "list", "--json"]).stdout
    assert runner.invoke(main, ["kernel", "remove", "nothing"]).exit_code == 2
    assert runner.invoke(main, ["kernel", "remove", "7.3.4-abc"]).exit_code == 0
    assert cache.entries() == []


def test_the_default_is_this_bakeoffs_kernel_of_the_newest_package(tmp_path: Path) -> None:
    older = replace(BUILT, name="7.3.4-b", configuration="before")
    newer = replace(BUILT, name="7.3.10-a", source="linux-source-7.3 7.3.10-1~bpo13+1")
    store(tmp_path, GIVEN, BUILT, older)
    assert cache.default() == BUILT
    store(tmp_path, newer)
    assert cache.default() == newer


@pytest.mark.parametrize("other", [GIVEN, replace(BUILT, configuration="before")])
def test_the_default_is_else_the_only_kernel(tmp_path: Path, other: Built) -> None:
    store(tmp_path, other)
    assert cache.default() == other
    store(tmp_path, replace(other, name="7.3.4-2"))
    with pytest.raises(RunFailed, match=rf"none of the kernels 7\.3\.4-2, {other.name} is .*`bakeoff kernel build`"):
        cache.default()


def test_without_a_kernel_the_sentence_says_how_to_get_one() -> None:
    with pytest.raises(RunFailed, match=r"^no kernel is built yet: run `bakeoff kernel build`"):
        cache.default()


def test_a_workshop_vanishes_with_all_that_is_in_it_and_with_what_others_left() -> None:
    with cache.workshop(1) as work:
        (work / "big").write_text("text")
        left = cache.folder() / ".partial-left"
        left.mkdir()
    assert [entry.name for entry in cache.folder().iterdir() if entry.is_dir()] == [left.name]
    with cache.workshop(1):
        assert not left.exists()


def test_two_builds_at_a_time_are_refused() -> None:
    with cache.workshop(1), pytest.raises(RunFailed, match="another build of a kernel is under way"), cache.workshop(1):
        pass


def test_a_disk_that_is_too_small_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")  # noqa: PYI024 - as shutil's
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 10**9 - 2 * 10**8, 2 * 10**8))
    wanted = r"takes 1\.5 GB of disk and 0\.2 GB are free; make room, or set XDG_CACHE_HOME"
    with pytest.raises(RunFailed, match=wanted), cache.workshop(1_500_000_000):
        pass
    with cache.workshop(2 * 10**8):
        pass


@pytest.mark.parametrize("base", ["", "relative"])
def test_a_cache_that_is_no_absolute_path_is_the_users(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, base: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", base)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.folder() == tmp_path / ".cache/bakeoff/kernels"
