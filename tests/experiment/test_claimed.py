"""Claims about what no run will have are refused before anything runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bakeoff.errors import UserError
from bakeoff.experiment import expand, load

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bakeoff.experiment import Plan

    Planned = Callable[..., Plan]

EXPERIMENT = """
name = "claimed"
duration = "1s"
[[path.forward]]
rate = "10Mbit/s"
delay = "10ms"
queue = { limit = "1bdp" }
[[flow]]
[[flow]]
scheme = "cubic"
[[probe]]
[matrix]
scheme = ["cubic", "reno"]
[[claim]]
id = "wide"
says = "It is"
expect = "> 0"
"""


def _plan(planned: Planned, measure: str, *changes: str, more: str = "", head: str = "") -> Plan:
    return planned(f"{head}{EXPERIMENT}measure = '{measure}'\n{more}", *changes)


@pytest.mark.parametrize(
    ("measure", "sentence"),
    [
        ("flow3.loss", "flow3, which the run does not have; there are flow1 to flow2"),
        ("1 - abs(-flow3.loss)", "flow3, which the run does not have; there are flow1 to flow2"),
        ("most(flow3.cwnd while time_s > 0)", "flow3, which the run does not have; there are flow1 to flow2"),
        ("most(flow1.cwnd while flow9.cwnd > 0)", "flow9, which the run does not have; there are flow1 to flow2"),
        ("seconds(flow9.cwnd / 2 > 0)", "flow9, which the run does not have; there are flow1 to flow2"),
        ("default(flow3.loss, 0)", "flow3, which the run does not have; there are flow1 to flow2"),
        ("rank_correlation(total.loss, flow3.loss)", "flow3, which the run does not have; there are flow1 to flow2"),
        ("probe2.rtt_p50_ms", "probe2, which the run does not have; there is probe1"),
        ('hops["forward.1"].queue_p95_ms', 'forward.1, which the run does not have; did you mean "forward.0"?'),
        ("total.loss / published.loss", "a published number, and the file names no reference; add one, or leave"),
    ],
)
def test_what_a_run_does_not_have(planned: Planned, measure: str, sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        _plan(planned, measure)
    assert f'x.toml (scheme cubic): claim.1.measure: "wide" is about {sentence}' in str(caught.value)


@pytest.mark.parametrize(
    "measure",
    [
        "duration_s + flow2.loss + probe1.rtt_p50_ms",
        'hops["forward.0"].dropped["blue"] + hops["reverse.0"].queue_p95_ms',
        "most(flow2.cwnd while time_s > 0) + spells(flow1.cwnd > 2)",
    ],
)
def test_what_it_has(planned: Planned, measure: str) -> None:
    assert len(_plan(planned, measure).runs) == 2


SOME = "[matrix.more]\nprobes = { probe = [{}, {}] }\none = { probe = [{}] }\n"


def test_one_cell_is_enough_where_something_stands_in_or_cells_are_left_out(planned: Planned) -> None:
    for measure in ("default(probe2.rtt_p50_ms, 0)", "rank_correlation(total.loss, probe2.rtt_p50_ms)"):
        _plan(planned, measure, more=SOME)
    with pytest.raises(UserError, match=r"\(scheme cubic, more one\): claim\.1\.measure: .* probe2"):
        _plan(planned, "default(0, probe2.rtt_p50_ms)", more=SOME)
    _plan(planned, "probe2.rtt_p50_ms", more=f'where = {{ more = "probes" }}\n{SOME}')
    more = f'where = {{ more = "probes" }}\nagainst = {{ more = "one" }}\n{SOME}'
    with pytest.raises(UserError, match=r"\(scheme cubic, more one\): claim\.1\.measure: .* probe2"):
        _plan(planned, "probe2.rtt_p50_ms", more=more)


PUBLISHED = """
name = "beside"
duration = "1s"
reference = "pantheon/india-ppp0"
[[path.forward]]
rate = "10Mbit/s"
queue = { limit = "9pkt" }
[[flow]]
[matrix]
scheme = ["kernel:cubic", "illinois"]
[[claim]]
id = "near"
says = "It is"
expect = "> 0"
"""


@pytest.mark.parametrize(
    ("measure", "where", "missing"),
    [
        ("published.loss", "kernel:cubic", ""),
        ("published.flow3.loss", "kernel:cubic", ""),
        ("published.flow4.loss", "kernel:cubic", "published.flow4.loss"),
        ("published.loss", "illinois", "published.loss"),
        ("rank_correlation(total.loss, published.loss)", "", ""),
        ("rank_correlation(total.loss, published.loss)", "illinois", "published.loss"),
    ],
)
def test_published_rows(tmp_path: Path, measure: str, where: str, missing: str) -> None:
    file = tmp_path / "x.toml"
    narrowed = f'where = {{ scheme = "{where}" }}' if where else ""
    file.write_text(f'{PUBLISHED}measure = "{measure}"\n{narrowed}', encoding="utf-8")
    if not missing:
        expand(load(str(file)))
        return
    what = f'"near" is about {missing}, which pantheon/india-ppp0 does not have here; name another, or narrow'
    with pytest.raises(UserError) as caught:
        expand(load(str(file)))
    assert f"x.toml (scheme {where}): claim.1.measure: {what}" in str(caught.value)


def test_a_claim_that_the_command_line_left_without_its_subject_is_undecided(planned: Planned) -> None:
    _plan(planned, "flow2.loss", "flow=[{}]")
    with pytest.raises(UserError, match="flow3"):
        _plan(planned, "flow3.loss", "repeats=2", "seed=4")


def test_the_number_of_a_claim_is_that_in_the_file(planned: Planned) -> None:
    more = 'where = { scheme = "reno" }\n[[claim]]\nid = "b"\nsays = "b"\nmeasure = "most(flow1.cwnd)"\nexpect = "> 0"'
    with pytest.raises(UserError, match=r"claim\.2\.measure: needs telemetry"):
        _plan(planned, "flow2.loss", "matrix.scheme=cubic", "record.level=summary", more=more)
