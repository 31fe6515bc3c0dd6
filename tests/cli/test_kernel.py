"""`bakeoff kernel` with a compiler that pretends: what it says, what it keeps, and what it leaves behind."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import tarfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from bakeoff.kernel import apt, cache, command, configuration, patches

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ended

    Command = Callable[..., Ended]
    Start = Callable[..., subprocess.Popen[str]]

MAKEFILE = "VERSION = 7\nPATCHLEVEL = 3\nSUBLEVEL = 4\nEXTRAVERSION =\n"
REAL = ("tar", "xz", "prlimit", "setarch")
GUEST = "#!/bin/sh\nprintf 'bakeoff-guest\\t7.3.4 #1\\t3600\\tcafe\\n'\n"
# Grants every option, notes how it was called, and then compiles as the test wants it.
MAKE = """\
#!/bin/sh
for word; do case "$word" in O=*) build="${{word#O=}}";; esac; done
echo "$*" >> {here}/words
env >> {here}/environment
case "$*" in
*allnoconfig*) cp "$KCONFIG_ALLCONFIG" "$build/.config";;
*) . {here}/compile;;
esac
"""
# What pretends needs no room on the disk; Python reads this as it starts, in commands that are processes of their own.
ROOMY = "from bakeoff.kernel import build\nbuild._NEEDED_BYTES = 0\n"
LATE_S = 60.0


@dataclass(frozen=True)
class Machine:
    """A machine on which all programs of a build pretend.

    Attributes:
        folder: holds the script `compile`, and what the pretended `make` notes: `words` and `environment`.
        tools: the programs.
        tree: a Linux source that pretends, too.
    """

    folder: Path
    tools: Path
    tree: Path

    def program(self, name: str, text: str) -> None:
        """Puts a program in place."""
        (self.tools / name).unlink(missing_ok=True)
        (self.tools / name).write_text(text)
        (self.tools / name).chmod(0o755)

    def compiles(self, text: str) -> None:
        """Says what the compiler does, in words of the shell."""
        (self.folder / "compile").write_text(text)


@pytest.fixture
def machine(here: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine(here, here / "tools", here / "linux-7.3.4")
    machine.tools.mkdir()
    for name in command.TOOLS | command.FETCHING | {"strip": ""}:
        machine.program(name, "#!/bin/sh\n")
    for name in (*REAL, "sh", "cp", "env", "tail", "chmod", "mkdir", "gzip"):
        found = shutil.which(name)
        assert found is not None
        (machine.tools / name).unlink(missing_ok=True)
        (machine.tools / name).symlink_to(found)
    machine.program("make", MAKE.format(here=here))
    (here / "guest").write_text(GUEST)
    machine.compiles(f'echo "  CC      a.o"\ncp {here}/guest "$build/linux"; chmod +x "$build/linux"\n')
    for patch in patches.PATCHES:
        (machine.tree / patch.file).parent.mkdir(parents=True, exist_ok=True)
        (machine.tree / patch.file).write_text(patch.old)
    (machine.tree / "Makefile").write_text(MAKEFILE)
    monkeypatch.setattr("bakeoff.kernel.build._NEEDED_BYTES", 0)
    (here / "roomy").mkdir()
    (here / "roomy" / "sitecustomize.py").write_text(ROOMY)
    monkeypatch.setenv("PYTHONPATH", str(here / "roomy"))
    monkeypatch.setenv("PATH", str(machine.tools))
    monkeypatch.setenv("XDG_CACHE_HOME", str(here / "cache"))
    return machine


def left() -> list[str]:
    """What is in the cache."""
    folder = cache.folder().parent
    return sorted(str(entry.relative_to(folder)) for entry in folder.rglob("*") if entry.name != ".lock")


def test_a_kernel_is_built_kept_listed_and_removed(bakeoff: Command, machine: Machine) -> None:
    ended = bakeoff("kernel", "build", "--source", str(machine.tree))
    assert ended.code == 0, ended.err
    (built,) = cache.entries()
    assert ended.out == f"{built.name}\n"
    assert (built.version, built.source, built.from_distribution) == ("7.3.4", "linux-7.3.4", False)
    assert cache.kernel_of(built).read_text() == GUEST
    assert left() == ["kernels", *(f"kernels/{built.name}{end}" for end in ("", "/linux", "/manifest.json"))]
    assert [built.name, "7.3.4", "linux-7.3.4"] == bakeoff("kernel", "list").out.splitlines()[1].split()[:3]
    (listed,) = json.loads(bakeoff("kernel", "list", "--json").out)
    assert (listed["name"], listed["path"]) == (built.name, str(cache.kernel_of(built)))
    assert bakeoff("kernel", "remove", built.name).code == 0
    assert left() == ["kernels"]


def test_the_users_settings_and_compilers_have_no_say(
    bakeoff: Command, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MAKEFLAGS", "KCFLAGS", "ARCH", "CROSS_COMPILE", "LANG", "CPATH"):
        monkeypatch.setenv(name, "mine")
    assert bakeoff("kernel", "build", "--source", str(machine.tree)).code == 0
    names = {line.partition("=")[0] for line in (machine.folder / "environment").read_text().splitlines()}
    pinned = {f"KBUILD_BUILD_{name}" for name in ("TIMESTAMP", "VERSION", "USER", "HOST")}
    from_the_shell = {"PWD", "OLDPWD", "SHLVL", "_"}
    assert names - from_the_shell == {"PATH", "HOME", "TMPDIR", "LC_ALL", "KCONFIG_ALLCONFIG", *pinned}
    calls = (machine.folder / "words").read_text().splitlines()
    assert len(calls) == 2
    assert all("RUSTC=/dev/null PAHOLE=/dev/null" in words for words in calls)


def test_another_source_of_the_same_version_is_another_kernel(bakeoff: Command, machine: Machine) -> None:
    def build(source: Path) -> str:
        return bakeoff("kernel", "build", "--source", str(source)).out.strip()

    first = build(machine.tree)
    assert build(machine.tree) == first
    (machine.tree / "Makefile").write_text(f"{MAKEFILE}# changed\n")
    second = build(machine.tree)
    tarball = machine.folder / "linux.tar"
    with tarfile.open(tarball, "w") as file:
        file.add(machine.tree, arcname="linux")
    third = build(tarball)
    assert len({first, second, third}) == 3
    assert {built.name for built in cache.entries()} == {first, second, third}


def test_another_configuration_is_another_kernel(
    bakeoff: Command, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build() -> str:
        return bakeoff("kernel", "build", "--source", str(machine.tree)).out.strip()

    first = build()
    monkeypatch.setitem(configuration.BUILD_ENVIRONMENT, "KBUILD_BUILD_USER", "other")
    assert build() != first


def test_the_distributions_kernel_is_the_default_beside_one_of_the_same_tarball(
    bakeoff: Command, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    tarball = machine.folder / "linux-source-7.3.tar.gz"
    with tarfile.open(tarball, "w:gz") as file:
        file.add(machine.tree, arcname="linux-source-7.3")
    (machine.folder / "sources.list").write_text("deb http://mirror.example/debian trixie main\n")
    monkeypatch.setattr(apt, "MACHINE", machine.folder)
    machine.program(
        "apt-get", '#!/bin/sh\ncase "$*" in *download*) : > linux-source-7.3_7.3.4-1~bpo13+1_all.deb;; esac\n'
    )
    machine.program("dpkg-deb", f'#!/bin/sh\nmkdir -p "$3/usr/src"; cp {tarball} "$3/usr/src"\n')
    given = bakeoff("kernel", "build", "--source", str(tarball)).out.strip()
    assert cache.default().name == given
    ended = bakeoff("kernel", "build")
    assert ended.code == 0, ended.err
    default = cache.default()
    assert f"{default.name}\n" == ended.out != f"{given}\n"
    assert (default.source, default.from_distribution) == ("linux-source-7.3 7.3.4-1~bpo13+1", True)


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("echo '  CC a.o'; echo 'a.c:1:2: error: no such thing'; exit 2", "a.c:1:2: error: no such thing"),
        ("exit 2", "make ends with exit code 2"),
        ("echo done", "done"),
    ],
)
def test_a_kernel_that_does_not_compile_is_one_sentence_that_names_the_log(
    bakeoff: Command, machine: Machine, script: str, sentence: str
) -> None:
    machine.compiles(script)
    ended = bakeoff("kernel", "build", "--source", str(machine.tree))
    log = cache.folder().parent / "build.log"
    assert (ended.code, ended.out) == (1, "")
    last = ended.err.splitlines()[-1]
    assert last == f"bakeoff: the kernel does not compile: {sentence}; the whole log is {log}"
    assert left() == ["build.log", "kernels"]


def test_a_source_without_an_option_is_one_sentence(bakeoff: Command, machine: Machine) -> None:
    without = (
        'while read -r line; do case "$line" in *BBR*|*_TUN=*);; *) echo "$line";; esac; done < "$KCONFIG_ALLCONFIG"'
    )
    machine.program("make", MAKE.format(here=machine.folder).replace('cp "$KCONFIG_ALLCONFIG"', f"{without} >"))
    ended = bakeoff("kernel", "build", "--source", str(machine.tree))
    assert ended.code == 1
    assert ended.err.splitlines()[-1].endswith("linux-7.3.4: has no TUN, TCP_CONG_BBR; use the source of Linux 7.3")
    assert left() == ["kernels"]


def test_missing_tools_are_one_sentence(bakeoff: Command, machine: Machine) -> None:
    for name in ("flex", "bison", "apt-get"):
        (machine.tools / name).unlink()
    sentence = "bakeoff: a kernel cannot be built without {}: apt install {}\n"
    ended = bakeoff("kernel", "build", "--source", str(machine.tree))
    assert (ended.code, ended.err) == (1, sentence.format("flex, bison", "bison flex"))
    ended = bakeoff("kernel", "build")
    assert (ended.code, ended.err) == (1, sentence.format("flex, bison, apt-get", "apt bison flex"))


def test_a_compiler_without_headers_is_one_sentence(bakeoff: Command, machine: Machine) -> None:
    machine.program("gcc", "#!/bin/sh\nexit 1\n")
    ended = bakeoff("kernel", "build", "--source", str(machine.tree))
    assert (ended.code, "without stdio.h: apt install libc6-dev\n" in ended.err) == (1, True)


def test_a_wrong_source_is_one_sentence_before_anything_is_done(bakeoff: Command, machine: Machine) -> None:
    ended = bakeoff("kernel", "build", "--source", "nothing")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert ended.err.startswith("bakeoff: nothing: no such folder or tarball; give a folder")
    assert not (machine.folder / "cache").exists()


def test_a_cache_that_cannot_be_written_is_one_sentence(bakeoff: Command, machine: Machine) -> None:
    (machine.folder / "cache").write_text("a file")
    ended = bakeoff("kernel", "build", "--source", str(machine.tree))
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "the cache cannot be written (not a directory); set XDG_CACHE_HOME to a folder" in ended.err


def test_a_damaged_kernel_is_named_and_can_be_removed(bakeoff: Command, machine: Machine) -> None:
    name = bakeoff("kernel", "build", "--source", str(machine.tree)).out.strip()
    (cache.folder() / name / "linux").write_text("cut")
    ended = bakeoff("kernel", "list", "--json")
    assert json.loads(ended.out) == []
    assert f"{name}: damaged, or of another bakeoff; remove it with: bakeoff kernel remove {name}" in ended.err
    assert bakeoff("kernel", "remove", name).code == 0
    assert cache.names() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("step", ["unpack", "compile", "boot"])
def test_one_signal_ends_a_build_and_leaves_nothing(
    start: Start, machine: Machine, step: str, number: signal.Signals
) -> None:
    fifo = machine.folder / "begun"
    os.mkfifo(fifo)
    hang = f"exec 9> {fifo}\ntail -f /dev/null &\necho begun >&9\nwait\n"
    if step == "compile":
        machine.compiles(hang)
    elif step == "boot":
        (machine.folder / "guest").write_text(f"#!/bin/sh\nPATH={machine.tools}\n{hang}")
    tarball = machine.folder / "linux.tar"
    with tarfile.open(tarball, "w") as file:
        file.add(machine.tree, arcname="linux")
    if step == "unpack":
        machine.program("tar", f"#!/bin/sh\n{hang}")
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with start("kernel", "build", "--source", str(tarball)) as process:
            begun, _, _ = select.select([reader], [], [], LATE_S)
            process.send_signal(number if begun else signal.SIGKILL)
            _, err = process.communicate(timeout=LATE_S)
        assert os.read(reader, 100) == b"begun\n", err
        assert os.read(reader, 100) == b"", "a process still has the pipe open"
    finally:
        os.close(reader)
    assert process.returncode == 128 + number
    assert err.splitlines()[-1] == "bakeoff: interrupted: nothing half-made is left"
    assert left() == ["kernels"]
