"""What the scripts that write pages share: their arguments, runs of bakeoff, and how a text gets into a page."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.errors import reason

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[1]


def by(command: str, key: str) -> Callable[[str], Any]:
    """The type of an argument that names a file of JSON.

    Args:
        command: what has printed it.
        key: what it has to have.
    """

    def read(name: str) -> Any:
        try:
            found = json.loads(Path(name).read_text(encoding="utf-8"))
        except OSError as error:
            raise argparse.ArgumentTypeError(
                f"{name}: cannot be read ({reason(error)}); give what `{command}` printed"
            ) from error
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"{name}: not JSON; give what `{command}` printed") from error
        if not isinstance(found, dict) or key not in found:
            raise argparse.ArgumentTypeError(f"{name}: has no {key}; give what `{command}` printed")
        return found

    return read


def runs_of(*words: str) -> list[dict[str, Any]]:
    """The runs that a command of bakeoff prints with `--json`; ends the program if it fails, of which it has told."""
    command = [str(ROOT / "bakeoff"), *words, "--json"]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, cwd=ROOT)
    if done.returncode:
        sys.exit(done.returncode)
    found: list[dict[str, Any]] = json.loads(done.stdout)["runs"]
    return found


def parser(doc: str | None) -> argparse.ArgumentParser:
    """A parser that shows the doc of its script."""
    return argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)


def put(page: Path, text: str, *, by: str, name: str = "numbers") -> None:
    """Puts a text into a page, in place of what stood between its two comments.

    Args:
        page: the file.
        text: Markdown.
        by: name of the script, as in the first comment.
        name: what the text is, as in both comments.
    """
    begin, end = f"<!-- {name}: written by scripts/{by}.py -->", f"<!-- end of {name} -->"
    before, rest = page.read_text(encoding="utf-8").split(begin)
    after = rest.split(end)[1]
    page.write_text(f"{before}{begin}\n\n{text.strip()}\n\n{end}{after}", encoding="utf-8")
