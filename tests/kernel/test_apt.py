from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from bakeoff.errors import RunFailed
from bakeoff.kernel import apt
from bakeoff.kernel.apt import Archive

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
    assert apt.parse_sources(DEB822)[0] == Archive(
        "http://mirror.example/debian", ("bookworm", "bookworm-updates"), ("main",)
    )
    assert len(apt.parse_sources(DEB822)) == 2
    assert apt.parse_list(ONE_LINE) == [
        Archive("https://tools.example/apt", ("stable",), ("main",)),
        Archive("http://mirror.example/debian/", ("bookworm",), ("main", "contrib")),
    ]


@pytest.mark.parametrize(("name", "text"), [("sources.list", ONE_LINE), ("sources.list.d/debian.sources", DEB822)])
def test_the_mirror_is_that_of_the_base_system(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / name).write_text(text)
    assert apt.mirror(tmp_path).rstrip("/") == "http://mirror.example/debian"


def test_without_a_mirror_the_sentence_offers_a_source(tmp_path: Path) -> None:
    (tmp_path / "sources.list").write_text("deb https://tools.example/apt stable main\n")
    with pytest.raises(RunFailed, match="--source"):
        apt.mirror(tmp_path)


@pytest.fixture
def pretended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with a mirror, and an `apt-get` of our own."""
    (tmp_path / "sources.list").write_text(ONE_LINE)
    monkeypatch.setattr(apt, "MACHINE", tmp_path)
    tools = tmp_path / "tools"
    tools.mkdir()
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    return tools / "apt-get"


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        (
            "echo 'W: hm'; echo \"E: Could not resolve 'mirror.example'\"; exit 100",
            "E: Could not resolve 'mirror.example'",
        ),
        ("case $* in *download*) echo 'E: Unable to locate package'; exit 100;; esac", "E: Unable to locate package"),
        ("exit 100", "exit code 100"),
    ],
)
def test_a_package_that_cannot_be_fetched_is_one_sentence(
    tmp_path: Path, pretended: Path, script: str, sentence: str
) -> None:
    pretended.write_text(f"#!/bin/sh\n{script}\n")
    pretended.chmod(0o755)
    wanted = "linux-source-7.3 of trixie-backports: cannot be fetched from this machine's mirror, so give a source with"
    with pytest.raises(RunFailed) as failed:
        apt.fetch(tmp_path / "work", lambda _: None)
    assert str(failed.value) == f"{wanted} --source: {sentence}"


def test_a_package_without_a_source_is_one_sentence(tmp_path: Path, pretended: Path) -> None:
    pretended.write_text("#!/bin/sh\n")
    pretended.chmod(0o755)
    with pytest.raises(RunFailed, match="holds no tarball of a Linux source; give a source with --source"):
        apt.fetch(tmp_path / "work", lambda _: None)
