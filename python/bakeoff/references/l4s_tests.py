"""The steady state of two flows in the tests of L4S: heistp/l4s-tests at e21cd91, runs of November 2020."""

from __future__ import annotations

import functools

from bakeoff.references.model import Published, PublishedScheme, Reference, Steady, rows

_TITLE = "L4S Tests (Heist and Morton), steady state"
# By steady_state.go, means of the `delivery_rate` of the sender's tcp_info, which is of payload.
_FAIRNESS, _COMPETITION = Steady(length_s=60, rest_s=2), Steady(length_s=40, rest_s=2)
TITLES = {"l4s-tests/s1-50mbit": _TITLE, "l4s-tests/s1-10mbit": _TITLE, "l4s-tests/s6": _TITLE}


@functools.cache
def load(name: str) -> Reference:
    """The published table; `name` is one of `TITLES`."""
    if name == "l4s-tests/s6":
        found = [_competition(row) for row in rows("l4s-tests-s6.csv")]
    else:
        rate = name.removeprefix("l4s-tests/s1-").removesuffix("mbit")
        found = [_fairness(row) for row in rows("l4s-tests-s1.csv") if row["rate_mbps"] == rate]
    return Reference(name, TITLES[name], tuple(found))


def _fairness(row: dict[str, str]) -> PublishedScheme:
    first, second = row["scheme1"], row["scheme2"]
    queue = row["qdisc"].partition("(")[0]
    rtts = f"{row['rtt1_ms']}/{row['rtt2_ms']}ms"
    cell = {"queue": queue, "rtts": rtts, "pair": f"{first}, {second}"}
    return _pair(row, first if first == second else "", cell, _FAIRNESS)


def _competition(row: dict[str, str]) -> PublishedScheme:
    return _pair(row, "", {"queue": row["qdisc"], "pair": f"prague, {row['scheme2']}"}, _COMPETITION)


def _pair(row: dict[str, str], key: str, cell: dict[str, str], steady: Steady) -> PublishedScheme:
    flows = {number: Published(float(row[f"rate{number}_mbps"]), None, None) for number in (1, 2)}
    name = ", ".join(cell.values())
    return PublishedScheme(name, key, run_count=1, flows=flows, runs=(), cell=cell, steady=steady)
