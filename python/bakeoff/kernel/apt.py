"""The kernel's source as the distribution's package, fetched through an apt root of its own.

The mirror is that of the machine's sources. The machine's own lists and settings stay untouched, and no privilege is
needed.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.errors import RunFailed
from bakeoff.kernel.command import run

if TYPE_CHECKING:
    from collections.abc import Callable

SUITE = "trixie-backports"
PACKAGE = "linux-source-7.3"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
MACHINE = Path("/etc/apt")
_OTHER_ARCHIVES = ("-security", "-backports", "-updates")


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


def mirror(folder: Path) -> str:
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
    raise RunFailed(f"{folder}: names no Debian mirror to fetch {PACKAGE} from; give a Linux source with --source")


def fetch(work: Path, say: Callable[[str], None]) -> tuple[Path, str]:
    """Downloads the package into `work`.

    Returns:
        Its tarball, and the package with its version.

    Raises:
        RunFailed: there is no mirror, or the package cannot be had.
    """
    root = work / "apt"
    for inner in ("state/lists/partial", "cache/archives/partial", "parts"):
        (root / inner).mkdir(parents=True)
    (root / "parts" / "source.sources").write_text(
        f"Types: deb\nURIs: {mirror(MACHINE)}\nSuites: {SUITE}\nComponents: main\nSigned-By: {KEYRING}\n",
        encoding="utf-8",
    )
    options = {
        "Dir::Etc::sourcelist": "/dev/null",
        "Dir::Etc::sourceparts": str(root / "parts"),
        "Dir::State": str(root / "state"),
        "Dir::Cache": str(root / "cache"),
        "APT::Sandbox::User": "",
        "APT::Update::Error-Mode": "any",
        "Acquire::Languages": "none",
        "Acquire::Retries": "2",
        "Acquire::http::Timeout": "30",
        "Acquire::https::Timeout": "30",
    }
    apt = ["apt-get", "-qq", *(f"-o{name}={value}" for name, value in options.items())]
    variables = {**os.environ, "LC_ALL": "C"}  # apt may need the user's proxy
    say(f"fetching {PACKAGE} of {SUITE} ...")
    failing = f"{PACKAGE} of {SUITE}: cannot be fetched from this machine's mirror, so give a source with --source"
    run([*apt, "update"], cwd=root, failing=failing, environment=variables)
    run([*apt, "download", PACKAGE], cwd=root, failing=failing, environment=variables)
    for package in root.glob(f"{PACKAGE}_*.deb"):
        words = ["dpkg-deb", "-x", str(package), str(root / "package")]
        run(words, cwd=root, failing=f"{package.name}: cannot be unpacked", environment=variables)
        package.unlink()
        for tarball in (root / "package" / "usr" / "src").glob("linux-source-*.tar.*"):
            return tarball, package.name.removesuffix("_all.deb").replace("_", " ")
    raise RunFailed(f"{PACKAGE}: the package holds no tarball of a Linux source; give a source with --source")
