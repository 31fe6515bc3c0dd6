from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bakeoff.errors import RunFailed, UserError
from bakeoff.kernel import source
from bakeoff.kernel.source import Archive

if TYPE_CHECKING:
    from pathlib import Path

DEB822 = """\
# the base system
Types: deb
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://security.example/debian-security
Suites: bookworm-security
Components: main
"""
ONE_LINE = """\
# deb http://old.example/debian bookworm main
deb-src http://mirror.example/debian bookworm main
deb [arch=amd64 signed-by=/k.gpg] https://tools.example/apt stable main
deb http://mirror.example/debian/ bookworm main contrib # base
"""


def test_both_formats_of_apt_sources_are_read() -> None:
    assert source.parse_sources(DEB822)[0] == Archive(
        "http://mirror.example/debian", ("bookworm", "bookworm-updates"), ("main",)
    )
    assert len(source.parse_sources(DEB822)) == 2
    assert source.parse_list(ONE_LINE) == [
        Archive("https://tools.example/apt", ("stable",), ("main",)),
        Archive("http://mirror.example/debian/", ("bookworm",), ("main", "contrib")),
    ]


@pytest.mark.parametrize(("name", "text"), [("sources.list", ONE_LINE), ("sources.list.d/debian.sources", DEB822)])
def test_the_mirror_is_that_of_the_base_system(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / name).write_text(text)
    assert source.mirror(tmp_path).rstrip("/") == "http://mirror.example/debian"


def test_without_a_mirror_the_sentence_offers_a_source(tmp_path: Path) -> None:
    (tmp_path / "sources.list").write_text("deb https://tools.example/apt stable main\n")
    with pytest.raises(RunFailed, match="--source"):
        source.mirror(tmp_path)


def test_a_version_comes_from_the_makefile(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("# SPDX\nVERSION = 7\nPATCHLEVEL = 3\nSUBLEVEL = 4\nEXTRAVERSION =\n")
    assert source.version(tmp_path) == "7.3.4"
    (tmp_path / "Makefile").write_text("all:\n\ttrue\n")
    with pytest.raises(UserError, match="no kernel version"):
        source.version(tmp_path)


def test_what_is_no_source_is_refused(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    text = tmp_path / "notes.txt"
    text.write_text("not a tarball")
    for given, words in [(tmp_path / "nowhere", "no such folder"), (text, "not a tarball"), (work, "no Linux source")]:
        with pytest.raises(UserError, match=words):
            source.prepare(given, work, lambda _: None)
        for left in work.iterdir():
            left.rmdir()
