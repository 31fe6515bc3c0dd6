"""Where the kernel's source comes from: the distribution's package, or a folder or tarball that the user names.

The package is fetched through an apt root of its own, whose mirror is that of the machine's sources. The machine's own
lists and settings stay untouched, and no privilege is needed.
"""

from __future__ import annotations

import re
import shutil
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.errors import RunFailed, UserError
from bakeoff.kernel.command import run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SUITE = "trixie-backports"
PACKAGE = "linux-source-7.3"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_APT = Path("/etc/apt")
_OTHER_ARCHIVES = ("-security", "-backports", "-updates")
# Big parts of the source that User-mode Linux never compiles.
_LEFT_OUT = ("*/Documentation/*/*", "*/drivers/gpu/*.[ch]", "*/drivers/net/ethernet/*.[ch]", "*/sound/*.[ch]")


@dataclass(frozen=True)
class Archive:
    """An entry of apt's sources.

    Attributes:
        uri: the mirror.
        suites: its distributions.
        components: main and so on.
    """

    uri: str
    suites: tuple[str, ...]
    components: tuple[str, ...]


def parse_list(text: str) -> list[Archive]:
    """Entries of a `.list` file: one a line."""
    found = []
    for line in text.splitlines():
        match = re.match(r"\s*deb\s+(?:\[[^\]]*\]\s+)?(\S+)\s+(\S+)\s+(.+)", line.partition("#")[0])
        if match:
            found.append(Archive(match[1], (match[2],), tuple(match[3].split())))
    return found


def parse_sources(text: str) -> list[Archive]:
    """Entries of a `.sources` file: one a paragraph of fields."""
    found = []
    for paragraph in re.split(r"\n\s*\n", text):
        lines = [line for line in paragraph.splitlines() if not line.startswith("#")]
        fields = {name.strip().lower(): value.split() for name, _, value in (line.partition(":") for line in lines)}
        if "deb" in fields.get("types", []) and fields.get("enabled") != ["no"]:
            suites, components = tuple(fields.get("suites", [])), tuple(fields.get("components", []))
            found += [Archive(uri, suites, components) for uri in fields.get("uris", [])]
    return found


def mirror(folder: Path = _APT) -> str:
    """The mirror from which this machine gets Debian itself.

    Raises:
        RunFailed: apt's sources name none.
    """
    archives: list[Archive] = []
    for file in [folder / "sources.list", *sorted((folder / "sources.list.d").glob("*"))]:
        if file.is_file() and file.suffix in {".list", ".sources"}:
            text = file.read_text(encoding="utf-8", errors="replace")
            archives += (parse_sources if file.suffix == ".sources" else parse_list)(text)
    for archive in archives:
        is_base = any(not suite.endswith(_OTHER_ARCHIVES) for suite in archive.suites)
        if "main" in archive.components and is_base and archive.uri.rstrip("/").endswith("/debian"):
            return archive.uri
    raise RunFailed(f"{folder}: names no Debian mirror to fetch {PACKAGE} from; give a source with --source")


def fetch(work: Path, say: Callable[[str], None]) -> Path:
    """Downloads the package's tarball into `work`.

    Raises:
        RunFailed: there is no mirror, or the package cannot be had.
    """
    root = work / "apt"
    for inner in ("state/lists/partial", "cache/archives/partial", "parts"):
        (root / inner).mkdir(parents=True, exist_ok=True)
    (root / "parts" / "source.sources").write_text(
        f"Types: deb\nURIs: {mirror()}\nSuites: {SUITE}\nComponents: main\nSigned-By: {KEYRING}\n", encoding="utf-8"
    )
    options = {
        "Dir::Etc::sourcelist": "/dev/null",
        "Dir::Etc::sourceparts": str(root / "parts"),
        "Dir::State": str(root / "state"),
        "Dir::Cache": str(root / "cache"),
        "APT::Sandbox::User": "",
    }
    apt = ["apt-get", "-qq", *(f"-o{name}={value}" for name, value in options.items())]
    say(f"fetching {PACKAGE} of {SUITE} ...")
    run([*apt, "update"], cwd=root, failing=f"{PACKAGE}: the package lists of {SUITE} cannot be fetched")
    run([*apt, "download", PACKAGE], cwd=root, failing=f"{PACKAGE}: cannot be downloaded from the machine's mirror")
    package = next(root.glob(f"{PACKAGE}_*.deb"))
    run(
        ["dpkg-deb", "-x", str(package), str(root / "package")], cwd=root, failing=f"{package.name}: cannot be unpacked"
    )
    return next((root / "package" / "usr" / "src").glob("linux-source-*.tar.*"))


def unpack(tarball: Path, work: Path, say: Callable[[str], None]) -> Path:
    """Unpacks a tarball, without what the guest never compiles, and returns the folder of the source.

    Raises:
        UserError: it is not a tarball of a kernel.
    """
    target = work / "source"
    target.mkdir()
    say(f"unpacking {tarball.name} ...")
    excludes = [f"--exclude={pattern}" for pattern in _LEFT_OUT]
    if not tarfile.is_tarfile(tarball):
        raise UserError(f"{tarball}: not a tarball; give a folder or a tarball of a Linux source")
    run(["tar", "-xf", str(tarball), *excludes, "-C", str(target)], cwd=work, failing=f"{tarball}: cannot be unpacked")
    return _single(target.iterdir(), tarball)


def _single(entries: Iterable[Path], origin: Path) -> Path:
    folders = [entry for entry in entries if (entry / "Makefile").is_file()]
    if len(folders) != 1:
        raise UserError(f"{origin}: holds no Linux source; give a folder or a tarball with a kernel's Makefile")
    return folders[0]


def prepare(given: Path | None, work: Path, say: Callable[[str], None]) -> Path:
    """A source of its own to change and to compile: the package's, or a copy of what the user names.

    Raises:
        RunFailed: the package cannot be had.
        UserError: what the user names is no source.
    """
    if given is None:
        return unpack(fetch(work, say), work, say)
    if not given.exists():
        raise UserError(f"{given}: no such folder or tarball; give a Linux source with --source")
    if given.is_file():
        return unpack(given, work, say)
    _single([given], given)
    say(f"copying {given} ...")
    shutil.copytree(given, work / "source", symlinks=True, ignore=shutil.ignore_patterns(".git"))
    return work / "source"


def version(tree: Path) -> str:
    """The version of a source, from the first lines of its Makefile.

    Raises:
        UserError: the Makefile is not a kernel's.
    """
    text = (tree / "Makefile").read_text(encoding="utf-8", errors="replace")
    parts = [re.search(rf"^{name} *= *(\d+)", text, re.MULTILINE) for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL")]
    if None in parts:
        raise UserError(f"{tree}: its Makefile states no kernel version; give a Linux source with --source")
    return ".".join(part[1] for part in parts if part)
