"""What all parts know of a scenario: the keys that not only the core reads, and what follows from it alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

FILES = "files"
"""Where it keeps the digests of the files that parameters, controllers and programs name, by path."""

TRACES = "traces"
"""Where it keeps the names of the trace files of its hops, by hop; what is in them is part of the hop."""

NAMES = "names"
"""Where it keeps what the scheme of a flow is called, by number of the flow, where that is not its key."""

PYTHON = "python"
"""Where it keeps the files of the classes in Python that are schemes, by name of the class."""

PROGRAMS = "programs"
"""Where it keeps the commands of the programs that flows are, by name; only emu has them."""

CONTROLLERS = "controllers"
"""Where it keeps the object files of controllers for the kernel, by name; only emu has them."""

EMULATION = "emulation"
"""Where it keeps what only emu asks."""


def flow_name(scenario: Mapping[str, Any], number: int) -> str:
    """What the scheme of a flow is called, by the number of the flow."""
    # Scenarios of earlier versions have no names.
    return str(scenario.get(NAMES, {}).get(str(number), scenario["flows"][number - 1]["scheme"]))


def flow_names(scenario: Mapping[str, Any]) -> list[str]:
    """What the scheme of each flow is called, in order."""
    return [flow_name(scenario, number) for number in range(1, len(scenario["flows"]) + 1)]


def hops(scenario: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The hops there and back by their names, such as `forward.0`."""
    return {
        f"{direction}.{place}": hop
        for direction in ("forward", "reverse")
        for place, hop in enumerate(scenario[direction])
    }


def merges(scenario: Mapping[str, Any]) -> bool:
    """Whether the emulator hands segments that are due together over together."""
    return bool(scenario.get(EMULATION, {}).get("merge", False))


def rtt_ns(scenario: Mapping[str, Any], flow: Mapping[str, Any]) -> int:
    """Round-trip time of a flow without queues, in nanoseconds.

    Args:
        scenario: what is run.
        flow: one of its flows.
    """
    delays = sum(int(hop["delay_ns"]) for hop in (*scenario["forward"], *scenario["reverse"]))
    return delays + 2 * int(flow["extra_delay_ns"])


def base_rtt_ns(scenario: Mapping[str, Any]) -> int:
    """Round-trip time without queues of the flow that is nearest, in nanoseconds."""
    return min(rtt_ns(scenario, flow) for flow in scenario["flows"])


def longest_rtt_ns(scenario: Mapping[str, Any]) -> int:
    """Round-trip time without queues of the flow that is farthest away, in nanoseconds."""
    return max(rtt_ns(scenario, flow) for flow in scenario["flows"])


def largest_packet_bytes(scenario: Mapping[str, Any]) -> int:
    """Size of the largest IP packet that any flow or probe sends, in bytes."""
    flows = [int(flow["mss_bytes"]) + int(flow["header_bytes"]) for flow in scenario["flows"]]
    return max(flows + [int(probe["size_bytes"]) for probe in scenario.get("probes", ())])


def goes_both_ways(scenario: Mapping[str, Any]) -> bool:
    """Whether flows send in both directions: those of different ones share no link, so none is fair to another."""
    return len({flow["direction"] for flow in scenario["flows"]}) > 1
