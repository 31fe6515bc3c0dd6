"""From a source to a kernel in the cache."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.errors import RunFailed
from bakeoff.kernel import boot, cache, command, compiling, configuration, patches, source

if TYPE_CHECKING:
    from collections.abc import Callable

LOG = "build.log"


def build(given: Path | None, jobs: int, say: Callable[[str], None]) -> cache.Built:
    """Fetches, changes, configures, compiles, boots and keeps a kernel.

    Args:
        given: a folder or tarball with a Linux source; the distribution's package if None.
        jobs: compilers at a time.
        say: takes lines of progress.

    Raises:
        RunFailed: a tool or the source is missing, or a step fails; nothing is kept but the log of the compiler.
        UserError: what the user gave is no source.
    """
    command.check_tools()
    cache.folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bakeoff-kernel-", dir=cache.folder().parent) as name:
        work = Path(name)
        tree = source.prepare(given, work, say)
        patches.apply(tree)
        say(f"configuring Linux {source.version(tree)} ...")
        compiling.configure(tree, work / "build")
        log = cache.folder().parent / LOG
        kernel = compiling.compile_kernel(tree, work / "build", jobs, log, say)
        say("booting it once ...")
        built = _describe(kernel, source.version(tree), boot.verify(kernel))
        cache.store(built, kernel)
        log.unlink(missing_ok=True)
    return built


def _describe(kernel: Path, version: str, banner: str) -> cache.Built:
    if not banner.startswith(version):
        raise RunFailed(f"{kernel}: says that it is {banner}, not Linux {version}")
    content = kernel.read_bytes()
    digest = configuration.digest(patches.described())
    return cache.Built(
        name=f"{version}-{digest}",
        version=version,
        configuration=digest,
        size_bytes=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        banner=banner,
    )
