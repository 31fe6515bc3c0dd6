"""The page in a real browser, where there is one: every figure is drawn, and nothing goes wrong on the way."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from bakeoff.reports import html, model
from bakeoff.reports.html.page import asset

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bakeoff.recording import ResultFolder

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")


pytestmark = [pytest.mark.slow, pytest.mark.skipif(BROWSER is None, reason="no chromium here")]


def written(folder: ResultFolder) -> Path:
    """The page of a result folder."""
    return folder.write_report(html.render(model.load(folder), datetime(2026, 3, 4, tzinfo=UTC)))


def dom_of(page: Path, profile: Path, *options: str) -> str:
    """What the browser has made of a page, without an error on the way."""
    made = subprocess.run(
        [
            str(BROWSER),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--enable-logging=stderr",
            f"--user-data-dir={profile}",
            *options,
            "--virtual-time-budget=10000",
            "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    # What goes wrong while uPlot draws is caught by nobody.
    assert "Uncaught" not in made.stderr, made.stderr
    return made.stdout


@pytest.mark.parametrize("paper", ["0", "1"], ids=["dark", "light"])
def test_every_figure_is_drawn(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any], tmp_path: Path, paper: str
) -> None:
    page = written(filled(plan_of(("cubic", "bbr"), 1)))
    options = (f"--blink-settings=preferredColorScheme={paper}", "--window-size=1000,30000")
    dom = re.sub(r"<script.*?</script>", "", dom_of(page, tmp_path / "browser", *options), flags=re.DOTALL)
    assert "could not be drawn" not in dom
    figures = len(re.findall(r'class="plot[^"]*"', dom))
    # The means of the cells, which have a run each, and three of each run.
    assert figures == 1 + 2 * 3
    assert dom.count('class="u-over"') == figures
    assert "plot waiting" not in dom


def test_figures_of_a_long_run_are_drawn(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any], tmp_path: Path
) -> None:
    page = written(filled(plan_of(("vegas",), 1, level="series", flows=1, seconds=700, reference=None)))
    drawn = dom_of(page, tmp_path / "browser", "--window-size=1000,30000")
    dom = re.sub(r"<script.*?</script>", "", drawn, flags=re.DOTALL)
    assert "could not be drawn" not in dom
    assert dom.count('class="u-over"') == 3
    # The range of the throughput, and that of the window.
    assert len(re.findall(r'class="u-series range"', dom)) == 2


def test_figures_are_ready_for_print_where_no_idle_moment_comes(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any], tmp_path: Path
) -> None:
    text = written(filled(plan_of(("cubic", "bbr"), 1, seconds=3))).read_text()
    busy = "window.requestIdleCallback = (work, options) => options?.timeout && setTimeout(work, options.timeout);"
    ask = "setInterval(() => { document.body.dataset.decoded = `${decoded.size} of ${hosts.length}`; }, 100);"
    page = tmp_path / "asked.html"
    page.write_text(
        text.replace("<body>", f"<body><script>{busy}</script>").replace("</body>", f"<script>{ask}</script></body>")
    )
    assert 'data-decoded="7 of 7"' in dom_of(page, tmp_path / "browser")


def test_the_table_of_three_flows_fits_beside_the_contents(india: ResultFolder, tmp_path: Path) -> None:
    text = written(india).read_text()
    table = "document.querySelector('#summary .scroll')"
    ask = f"document.body.dataset.wider = {table}.scrollWidth - {table}.clientWidth;"
    page = tmp_path / "asked.html"
    page.write_text(text.replace("</body>", f"<script>{ask}</script></body>"))
    assert 'data-wider="0"' in dom_of(page, tmp_path / "browser", "--window-size=1200,1000")


def test_a_narrow_page_is_no_wider_than_its_window(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any], tmp_path: Path
) -> None:
    columns = "| " + " | ".join(f"column {number}" for number in range(12)) + " |"
    table = "\n".join([columns, "|---" * 12 + "|", columns])
    doc = f"# Title\n\n    bakeoff run x --set {'a.long.key.' * 9}=1\n\n{table}\n\n## What differs\n\n{table}\n"
    text = written(filled(plan_of(("cubic", "bbr"), 3, doc=doc))).read_text()
    ask = "document.body.dataset.wider = document.documentElement.scrollWidth - document.documentElement.clientWidth;"
    page = tmp_path / "asked.html"
    page.write_text(text.replace("</body>", f"<script>{ask}</script></body>"))
    assert 'data-wider="0"' in dom_of(page, tmp_path / "browser", "--window-size=500,1000")


def test_a_name_stands_at_our_marker_and_not_at_the_published_one(tmp_path: Path) -> None:
    def marker(name: str, x: int, *, hollow: bool) -> dict[str, Any]:
        return {"entry": {"name": name, "hollow": hollow}, "x": x, "y": 100}

    placed = [
        marker("TCP BBR", 10, hollow=True),
        marker("SCReAM", 20, hollow=True),
        marker("QUIC Cubic", 30, hollow=False),
        marker("TCP BBR", 40, hollow=False),
    ]
    page = tmp_path / "names.html"
    scripts = "\n".join(asset(f"js/{name}") for name in ("data.js", "paper.js", "summary.js"))
    ask = f"document.body.dataset.named = namedMarkers({json.dumps(placed)}).map(({{ x }}) => x).join();"
    page.write_text(
        f'<body><script type="application/json" id="markers">{{}}</script><script>{scripts}\n{ask}</script>'
    )
    assert 'data-named="30,40,20"' in dom_of(page, tmp_path / "browser")


def test_numbers_under_the_pointer_keep_their_zeros(tmp_path: Path) -> None:
    numbers = [0, 0.25, 5.3, 100, 1000, 1200.3, -2500, 12344, None]
    page = tmp_path / "numbers.html"
    ask = f"document.body.dataset.shown = {json.dumps(numbers)}.map(shown).join();"
    page.write_text(f"<body><script>{asset('js/paper.js')}\n{ask}</script>")
    shown = "0,0.25,5.3,100,1000,1200,\N{MINUS SIGN}2500,12340,"
    assert f'data-shown="{shown}"' in dom_of(page, tmp_path / "browser")


@pytest.mark.parametrize("count", [8, 9])
def test_the_legend_over_time_names_every_line(tmp_path: Path, count: int) -> None:
    line = {"style": "line", "light": "#000000", "dark": "#ffffff", "y": [1, 2]}
    series = [{**line, "label": f"Flow {number}"} for number in range(1, count + 1)]
    figure = {"unit": "ms", "span": [0, 1], "x": [0, 1], "series": series}
    scripts = [asset("vendor/uPlot.iife.min.js"), *(asset(f"js/{name}") for name in ("data.js", "paper.js", "time.js"))]
    rows = "[...host.querySelectorAll('.u-legend tr')].filter((row) => getComputedStyle(row).display !== 'none')"
    ask = f"""
        const host = document.querySelector('.plot');
        drawTime(host, {json.dumps(figure)}, 800);
        host.dataset.named = {rows}.map((row) => row.querySelector('th').textContent).join();
    """
    style = asset("vendor/uPlot.min.css") + asset("report.css")
    body = "".join(f"<script>{script}</script>" for script in [*scripts, ask])
    page = tmp_path / "legend.html"
    page.write_text(f'<style>{style}</style><body><div class="plot"></div>{body}')
    names = ",".join(f"Flow {number}" for number in range(1, count + 1))
    assert f'data-named="{names}"' in dom_of(page, tmp_path / "browser")
