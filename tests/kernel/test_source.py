"""Sources that the user names: folders, tarballs, and what is neither."""

from __future__ import annotations

import os
import random
import tarfile
from typing import TYPE_CHECKING

import pytest

from bakeoff.errors import RunFailed, UserError
from bakeoff.kernel import source

if TYPE_CHECKING:
    from pathlib import Path

MAKEFILE = "# SPDX\nVERSION = 7\nPATCHLEVEL = 3\nSUBLEVEL = 4\nEXTRAVERSION =\nNAME = Some Name\n"
NEEDED = {
    "Makefile",
    "link",
    "drivers/gpu/Kconfig",
    "drivers/net/veth.c",
    "net/core/dev.c",
    "arch/um/a.c",
    "arch/x86/a.S",
}
LEFT_OUT = {"drivers/gpu/drm/x.c", "drivers/net/can/x.c", "arch/arm64/x.S", "Documentation/net/a.rst", ".git/HEAD"}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "linux-7.3.4"
    for name in (NEEDED | LEFT_OUT) - {"link"}:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("text")
    (root / "Makefile").write_text(MAKEFILE)
    (root / "link").symlink_to("Makefile")
    return root


def prepare(given: Path, work: Path) -> source.Source:
    work.mkdir()
    source.check(given)
    return source.prepare(given, work, lambda _: None)


def check(found: source.Source, origin: str) -> None:
    assert (found.version, found.origin, found.from_distribution) == ("7.3.4", origin, False)
    assert {str(path.relative_to(found.tree)) for path in found.tree.rglob("*") if not path.is_dir()} == NEEDED


def test_a_folder_is_copied_without_what_is_never_compiled(tree: Path, tmp_path: Path) -> None:
    found = prepare(tree, tmp_path / "work")
    check(found, "linux-7.3.4")
    (found.tree / "net/core/dev.c").write_text("changed")
    assert (tree / "net/core/dev.c").read_text() == "text"


@pytest.mark.parametrize("kind", ["xz", "gz"])
@pytest.mark.parametrize("inside", ["linux-7.3.4", "."])
def test_a_tarball_is_unpacked_without_what_is_never_compiled(
    tree: Path, tmp_path: Path, kind: str, inside: str
) -> None:
    tarball = tmp_path / f"linux.tar.{kind}"
    with tarfile.open(tarball, f"w:{kind}") as file:  # type: ignore[call-overload] # a mode made here
        file.add(tree, arcname=inside)
    check(prepare(tarball, tmp_path / "work"), tarball.name)


def test_the_digest_of_a_folder_is_that_of_what_may_be_compiled(tree: Path, tmp_path: Path) -> None:
    def digest() -> str:
        digests.append(prepare(tree, tmp_path / f"work{len(digests)}").sha256)
        return digests[-1]

    digests: list[str] = []
    first = digest()
    (tree / ".git/HEAD").write_text("other")
    assert digest() == first
    (tree / "net/core/dev.c").write_text("other")
    digest()
    (tree / "net/core/dev.c").rename(tree / "net/core/dev2.c")
    digest()
    (tree / "link").unlink()
    (tree / "link").symlink_to("net")
    digest()
    assert len(set(digests)) == len(digests) - 1


@pytest.mark.parametrize(
    ("old", "new", "version"),
    [
        ("", "", "7.3.4"),
        ("EXTRAVERSION =", "EXTRAVERSION = -rc1", "7.3.4-rc1"),
        ("SUBLEVEL = 4", "SUBLEVEL=0", "7.3.0"),
    ],
)
def test_the_version_is_that_of_the_makefile(tree: Path, old: str, new: str, version: str) -> None:
    (tree / "Makefile").write_text(MAKEFILE.replace(old, new))
    assert source.version(tree, named=tree) == version


@pytest.mark.parametrize("text", ["", "VERSION = 7\n", "all:\n\techo\n", MAKEFILE.replace("= 7", "= ../7")])
def test_a_folder_without_a_kernels_makefile_is_refused(tree: Path, text: str) -> None:
    (tree / "Makefile").write_text(text)
    with pytest.raises(UserError, match=r"linux-7\.3\.4: holds no Makefile of Linux; give a folder or a tarball"):
        source.check(tree)


def test_a_folder_that_was_compiled_in_is_refused(tree: Path) -> None:
    (tree / ".config").touch()
    with pytest.raises(UserError, match="has been compiled in; clean it with `make ARCH=um mrproper`"):
        source.check(tree)


def test_what_is_neither_folder_nor_tarball_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such folder or tarball; give a folder"):
        source.check(tmp_path / "nothing")
    (tmp_path / "text").write_text("text")
    with pytest.raises(UserError, match="text: not a tarball; give a folder"):
        source.check(tmp_path / "text")


def test_a_tarball_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    tarball = tmp_path / "other.tar"
    with tarfile.open(tarball, "w") as file:
        file.add(tmp_path / "file", arcname="file")
    with pytest.raises(UserError, match=r"other\.tar: holds no Makefile of Linux"):
        prepare(tarball, tmp_path / "work")


def test_a_damaged_tarball_is_one_sentence(tree: Path, tmp_path: Path) -> None:
    (tree / "net/core/noise").write_bytes(random.Random(1).randbytes(1 << 18))  # noqa: S311 - cannot be packed
    tarball = tmp_path / "linux.tar.gz"
    with tarfile.open(tarball, "w:gz") as file:
        file.add(tree, arcname="linux")
    tarball.write_bytes(tarball.read_bytes()[: 1 << 17])
    with pytest.raises(RunFailed, match=r"linux\.tar\.gz: cannot be unpacked: .*[Uu]nexpected (EOF|end of file)"):
        prepare(tarball, tmp_path / "work")


def test_a_folder_that_cannot_be_copied_is_one_sentence(tree: Path, tmp_path: Path) -> None:
    os.mkfifo(tree / "net/pipe")
    with pytest.raises(RunFailed, match=r"net/pipe: cannot be copied: .*named pipe"):
        prepare(tree, tmp_path / "work")
