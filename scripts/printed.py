"""The arguments of the scripts that write pages: files with what bakeoff printed."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.errors import reason

if TYPE_CHECKING:
    from collections.abc import Callable


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


def parser(doc: str | None) -> argparse.ArgumentParser:
    """A parser that shows the doc of its script."""
    return argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
