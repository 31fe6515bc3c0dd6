"""The packet loss of BBR and Cubic on nine links: "Compare packets loss rate of BBR and CUBIC on ns3", July 2019."""

from __future__ import annotations

import functools

from bakeoff.references.model import Published, PublishedRun, PublishedScheme, Reference, rows

_TITLE = "Compare packets loss rate of BBR and CUBIC on ns3 (July 2019)"
TITLES = {"bbr-loss/as-published": _TITLE, "bbr-loss/clean": _TITLE}

# Column of the published table to the scheme that answers to it here.
_SCHEME_KEYS = {"BBR(false)": "quic_bbr", "BBR(true)": "quic_bbr", "CUBIC": "quic_cubic"}


@functools.cache
def load(name: str) -> Reference:
    """The published table; `name` is one of `TITLES`."""
    return Reference(name, TITLES[name], tuple(_cell(row) for row in rows("bbr-loss.csv")))


def _cell(row: dict[str, str]) -> PublishedScheme:
    total = Published(None, None, float(row["loss"]))
    return PublishedScheme(
        name=f"{row['sender']}, case {row['case']}",
        key=_SCHEME_KEYS[row["sender"]],
        run_count=1,
        flows={},
        runs=(PublishedRun(1, total, {}),),
        cell={"sender": row["sender"], "case": row["case"]},
        counts_packets=True,
    )
