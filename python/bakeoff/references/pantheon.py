"""The published Pantheon reports: per-flow means and per-run numbers of every scheme.

Source: the reports' own tables, in `data/`; report names and scheme keys: StanfordSNR/pantheon, src/config.yml at
23e738c (2024) and f23294e (2018).
"""

from __future__ import annotations

import csv
import difflib
import functools
import statistics
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

from bakeoff.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping

# Report name to the key of the scheme that answers to it here.
SCHEME_KEYS: Mapping[str, str] = {
    "TCP BBR": "bbr",
    "TCP Cubic": "cubic",
    "TCP Vegas": "vegas",
    "LEDBAT": "ledbat",
    "PCC": "pcc",
    "PCC-Allegro": "pcc",
    "PCC-Vivace": "vivace",
    "QUIC Cubic": "quic",
    "SCReAM": "scream",
    "WebRTC media": "webrtc",
    "Sprout": "sprout",
    "TaoVA-100x": "taova",
    "Verus": "verus",
    "Copa": "copa",
    "FillP": "fillp",
    "Indigo": "indigo",
    "Indigo-2-256": "indigo_2_256",
    "Indigo-1-32": "indigo_1_32",
    "Indigo-1-128": "indigo_1_128",
    "Muses": "muses",
}


@dataclass(frozen=True)
class Published:
    """Three published numbers; None where the report has none.

    Attributes:
        throughput_mbps: average throughput, Mbit/s.
        owd_p95_ms: 95th-percentile one-way delay, ms.
        loss: ratio 0..1 (the report prints percent).
    """

    throughput_mbps: float | None
    owd_p95_ms: float | None
    loss: float | None


@dataclass(frozen=True)
class PublishedRun:
    """One published run of a scheme.

    Attributes:
        run: its number, from 1.
        total: all flows together.
        flows: by number.
    """

    run: int
    total: Published
    flows: Mapping[int, Published]


@dataclass(frozen=True)
class PublishedScheme:
    """One row of a published summary table.

    Attributes:
        name: the scheme's name in the report.
        key: the key of the scheme here.
        run_count: valid runs that the means are over.
        flows: means over runs, by flow number.
        runs: what the report prints of each run.
    """

    name: str
    key: str
    run_count: int
    flows: Mapping[int, Published]
    runs: tuple[PublishedRun, ...]

    @property
    def total(self) -> Published:
        """Means over runs of the numbers of all flows together (the figures use these, the table does not)."""
        totals = [run.total for run in self.runs]
        return Published(
            _mean([total.throughput_mbps for total in totals]),
            _mean([total.owd_p95_ms for total in totals]),
            _mean([total.loss for total in totals]),
        )


@dataclass(frozen=True)
class Reference:
    """A published report.

    Attributes:
        name: what an experiment calls it.
        title: the path it measured.
        schemes: rows of its table, in its order.
    """

    name: str
    title: str
    schemes: tuple[PublishedScheme, ...]

    def scheme(self, key: str) -> PublishedScheme | None:
        """The row of a scheme, by our key."""
        return next((row for row in self.schemes if row.key == key), None)


_TITLES = {
    "pantheon/india-ppp0": "Pantheon, India ppp0 to AWS India 1 (2018-01-25)",
    "pantheon/london-sydney": "Pantheon, GCE London to GCE Sydney (2018-08-28)",
}


def names() -> tuple[str, ...]:
    """The names of all references."""
    return tuple(_TITLES)


def find(name: str | None) -> Reference | None:
    """As `load`, but None for a name that is no reference."""
    return load(name) if name in _TITLES else None


@functools.cache
def load(name: str) -> Reference:
    """A published report by name.

    Raises:
        UserError: there is none of that name.
    """
    if name not in _TITLES:
        near = difflib.get_close_matches(name, _TITLES, 1)
        hint = f'did you mean "{near[0]}"?' if near else f"there are {', '.join(_TITLES)}."
        raise UserError(f'"{name}" is not a published reference; {hint}')
    stem = name.replace("/", "-")
    runs: dict[str, dict[int, dict[str, Published]]] = {}
    for row in _rows(f"{stem}-runs.csv"):
        numbers = _published(row["tput_mbps"], row["owd95_ms"], row["loss_pct"])
        runs.setdefault(row["scheme"], {}).setdefault(int(row["run"]), {})[row["flow"]] = numbers
    schemes = tuple(_scheme(row, runs.get(row["scheme"], {})) for row in _rows(f"{stem}-summary.csv"))
    return Reference(name, _TITLES[name], schemes)


def _rows(file: str) -> list[dict[str, str]]:
    text = (resources.files("bakeoff.references") / "data" / file).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def _scheme(row: Mapping[str, str], runs: Mapping[int, Mapping[str, Published]]) -> PublishedScheme:
    numbers = sorted(int(name.removeprefix("tput").removesuffix("_mbps")) for name in row if name.startswith("tput"))
    return PublishedScheme(
        name=row["scheme"],
        key=SCHEME_KEYS[row["scheme"]],
        run_count=int(row["runs"]),
        flows={n: _published(row[f"tput{n}_mbps"], row[f"owd95_{n}_ms"], row[f"loss{n}_pct"]) for n in numbers},
        runs=tuple(
            PublishedRun(
                number,
                flows["total"],
                {int(flow): value for flow, value in flows.items() if flow != "total"},
            )
            for number, flows in sorted(runs.items())
        ),
    )


def _published(throughput: str, delay: str, loss: str) -> Published:
    return Published(_number(throughput), _number(delay), None if not loss else float(loss) / 100)


def _number(text: str) -> float | None:
    return float(text) if text else None


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None
