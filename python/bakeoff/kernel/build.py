"""From a source to a kernel in the cache."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from bakeoff.errors import RunFailed
from bakeoff.kernel import boot, cache, command, compiling, configuration, patches, source
from bakeoff.kernel.interruption import interruptible

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LOG = "build.log"
_NEEDED_BYTES = 800_000_000


def build(given: Path | None, jobs: int, say: Callable[[str], None]) -> cache.Built:
    """Fetches, changes, configures, compiles, boots and keeps a kernel.

    Args:
        given: a folder or tarball with a Linux source; the distribution's package if None.
        jobs: compilers at a time.
        say: takes lines of progress.

    Raises:
        Interrupted: a signal ended it; nothing is kept, and no process goes on.
        RunFailed: a tool, the source or disk space is missing, or a step fails; nothing is kept but the log of the
            compiler.
        UserError: what the user gave is no source, or the cache cannot be written.
    """
    if given is not None:
        source.check(given)
    command.check_tools(fetching=given is None)
    log = cache.folder().parent / LOG
    with interruptible(), cache.workshop(_NEEDED_BYTES) as work:
        found = source.prepare(given, work, say)
        patches.apply(found.tree)
        say(f"configuring Linux {found.version} ...")
        compiling.configure(found.tree, work / "build", found.origin)
        kernel = compiling.compile_kernel(found.tree, work / "build", jobs, log, say)
        say("booting it twice ...")
        built = _describe(kernel, found, boot.verify(kernel, work))
        cache.store(built, kernel)
    log.unlink(missing_ok=True)
    return built


def _describe(kernel: Path, found: source.Source, banner: str) -> cache.Built:
    if not banner.startswith(found.version):
        raise RunFailed(f"{found.origin}: is Linux {found.version}, but the kernel says that it is {banner}")
    content = kernel.read_bytes()
    digest = configuration.digest(patches.described())
    parts = f"{digest} {found.from_distribution} {found.sha256}"
    return cache.Built(
        name=f"{found.version}-{hashlib.sha256(parts.encode()).hexdigest()[:12]}",
        version=found.version,
        configuration=digest,
        source=found.origin,
        source_sha256=found.sha256,
        from_distribution=found.from_distribution,
        size_bytes=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        banner=banner,
    )
