from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bakeoff.errors import RunFailed
from bakeoff.kernel import configuration, patches

if TYPE_CHECKING:
    from pathlib import Path

PATCH = patches.Patch(file="arch/Kconfig", why="a finer tick", old="default 100\n", new="default 1000\n")


def tree(folder: Path, text: str) -> Path:
    (folder / "arch").mkdir()
    (folder / "arch/Kconfig").write_text(text)
    return folder


def test_a_patch_applies_once(tmp_path: Path) -> None:
    source = tree(tmp_path, "config HZ\ndefault 100\n")
    for _ in range(2):
        patches.apply(source, (PATCH,))
        assert (source / "arch/Kconfig").read_text() == "config HZ\ndefault 1000\n"


@pytest.mark.parametrize("text", ["config HZ\ndefault 250\n", "default 100\ndefault 100\n"])
def test_a_source_that_looks_different_is_refused(tmp_path: Path, text: str) -> None:
    source = tree(tmp_path, text)
    with pytest.raises(RunFailed, match=r"arch/Kconfig: does not look as expected .*a finer tick"):
        patches.apply(source, (PATCH,))
    assert (source / "arch/Kconfig").read_text() == text


def test_a_folder_that_is_no_kernel_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match="not a Linux source"):
        patches.apply(tmp_path)


def test_the_name_of_a_configuration_depends_on_every_change() -> None:
    before = configuration.digest(patches.described())
    assert configuration.digest(patches.described()) == before
    assert configuration.digest({**patches.described(), "arch/um/Kconfig": "HZ 250"}) != before


def test_an_option_that_the_source_lacks_is_named() -> None:
    complete = configuration.fragment()
    assert configuration.missing(complete) == []
    assert configuration.missing(complete.replace("CONFIG_NET_SCH_DUALPI2=y\n", "")) == ["NET_SCH_DUALPI2"]
