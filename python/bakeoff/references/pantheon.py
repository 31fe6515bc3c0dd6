"""The published Pantheon reports: per-flow means and per-run numbers of every scheme.

Source: the reports' own tables, in `data/`; report names and scheme keys: StanfordSNR/pantheon, src/config.yml at
23e738c (2024) and f23294e (2018).
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from bakeoff.references.model import Published, PublishedRun, PublishedScheme, Reference, rows

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
    "QUIC Cubic": "quic_cubic",
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


TITLES = {
    "pantheon/india-ppp0": "Pantheon, India ppp0 to AWS India 1 (2018-01-25)",
    "pantheon/london-sydney": "Pantheon, GCE London to GCE Sydney (2018-08-28)",
}


@functools.cache
def load(name: str) -> Reference:
    """The report with this name, one of `TITLES`."""
    stem = name.replace("/", "-")
    runs: dict[str, dict[int, dict[str, Published]]] = {}
    for row in rows(f"{stem}-runs.csv"):
        numbers = _published(row["tput_mbps"], row["owd95_ms"], row["loss_pct"])
        runs.setdefault(row["scheme"], {}).setdefault(int(row["run"]), {})[row["flow"]] = numbers
    schemes = tuple(_scheme(row, runs.get(row["scheme"], {})) for row in rows(f"{stem}-summary.csv"))
    return Reference(name, TITLES[name], schemes)


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
