"""Runs the commands of docs/cookbook.md, and writes what they print, and the files that they are about, into the page.

.venv/bin/python scripts/cookbook.py [--check]

With --check nothing is written, and the exit code is 1 where the page is not what comes out.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import printed

PAGE = printed.ROOT / "docs" / "cookbook.md"
BLOCK = re.compile(r"(?:^ {4}.*\n(?:\n+(?= {4}))?)+", re.MULTILINE)
_FILE = re.compile(r"\(\.\./(examples/[a-z0-9-]+\.toml)\)")
_PROMPT = "    $ "


def main() -> int:
    """Writes the page, or compares it."""
    parser = printed.parser(__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, and exit with 1 where the page is stale")
    asked = parser.parse_args()
    before = PAGE.read_text(encoding="utf-8")
    after = BLOCK.sub(lambda block: filled(before[: block.start()], block[0]), before)
    if not asked.check:
        PAGE.write_text(after, encoding="utf-8")
    elif after != before:
        print(f"{PAGE.relative_to(printed.ROOT)} is stale: run .venv/bin/python scripts/cookbook.py", file=sys.stderr)
        return 1
    return 0


def filled(before: str, block: str) -> str:
    """A block as it should be: the file that the paragraph before it names, its command, and what that prints."""
    command = next(line for line in block.splitlines() if line.startswith(_PROMPT)).removeprefix(_PROMPT)
    file = _FILE.search(before.rstrip().rpartition("\n\n")[2])
    shown = f"{(printed.ROOT / file[1]).read_text(encoding='utf-8')}\n" if file else ""
    return textwrap.indent(f"{shown}$ {command}\n{_output(command)}", "    ")


def _output(command: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "examples").symlink_to(printed.ROOT / "examples")
        words = ["bash", "-c", command.replace("./bakeoff", f"{sys.executable} -m bakeoff")]
        ended = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if ended.returncode:
        sys.exit(f"{command}: {ended.stderr}")
    return "".join(f"{line.rstrip()}\n" for line in ended.stdout.splitlines())


if __name__ == "__main__":
    sys.exit(main())
