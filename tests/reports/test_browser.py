"""The page in a real browser, where there is one: every figure is drawn, and nothing goes wrong on the way."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from bakeoff.reports import html

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bakeoff.recording import ResultFolder

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no chromium here")
@pytest.mark.parametrize("paper", ["0", "1"], ids=["dark", "light"])
def test_every_figure_is_drawn(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any], tmp_path: Path, paper: str
) -> None:
    page = html.write(filled(plan_of(("cubic", "bbr"), 1)))
    dom = subprocess.run(
        [
            str(BROWSER),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            f"--user-data-dir={tmp_path / 'browser'}",
            f"--blink-settings=preferredColorScheme={paper}",
            "--window-size=1000,30000",
            "--virtual-time-budget=10000",
            "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout
    dom = re.sub(r"<script.*?</script>", "", dom, flags=re.DOTALL)
    assert "could not be drawn" not in dom
    figures = len(re.findall(r'class="plot[^"]*"', dom))
    # The means of the cells, which have a run each, and three of each run.
    assert figures == 1 + 2 * 3
    assert dom.count('class="u-over"') == figures
    assert "plot waiting" not in dom
