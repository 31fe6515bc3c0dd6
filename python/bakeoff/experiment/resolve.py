"""From one cell of an experiment to the scenario that a world runs: integers in ns, bit/s and bytes."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from bakeoff.experiment import flow_names, hops, schemes
from bakeoff.experiment.catalogue import KERNEL, PROGRAM
from bakeoff.experiment.flow import Finite, Flow, OnOff, Traffic
from bakeoff.experiment.limits import (
    HEADER_BYTES,
    MAX_FLOWS,
    MAX_MSS_BYTES,
    MAX_PROBE_BYTES,
    MIN_MSS_BYTES,
    MIN_PROBE_BYTES,
)
from bakeoff.experiment.path import Hop, TraceRate
from bakeoff.experiment.problems import KeyProblem
from bakeoff.experiment.units import format_time
from bakeoff.scenario import (
    CONTROLLERS,
    EMULATION,
    FILES,
    NAMES,
    PROGRAMS,
    PYTHON,
    TRACES,
    largest_packet_bytes,
    longest_rtt_ns,
)
from bakeoff.scheme import reference

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bakeoff.experiment.catalogue import Catalogue
    from bakeoff.experiment.probe import Probe
    from bakeoff.experiment.program import Program
    from bakeoff.experiment.schema import ExperimentFile


def scenario(experiment: ExperimentFile, folder: Path, catalogue: Catalogue) -> dict[str, Any]:
    """The scenario of a cell, without its seed.

    Args:
        experiment: the cell.
        folder: what names of trace files are relative to.
        catalogue: schemes and queues that exist.

    Raises:
        KeyProblem: the cell cannot be run.
    """
    schemes.check_variants(experiment, folder, catalogue)
    flows = _flows(experiment, folder, catalogue)
    forward = experiment.path.forward
    reverse = experiment.path.reverse or [Hop().model_copy(update={"delay": sum(hop.delay for hop in forward)})]
    probes = [_probe(probe, f"probe.{number}", experiment) for number, probe in enumerate(experiment.probe, 1)]
    # As much of the scenario as its queues are measured by.
    measured = {
        "forward": [{"delay_ns": hop.delay} for hop in forward],
        "reverse": [{"delay_ns": hop.delay} for hop in reverse],
        "flows": flows,
        "probes": probes,
    }
    scale = hops.Scale(longest_rtt_ns(measured), largest_packet_bytes(measured), experiment.duration)
    resolved_hops = {
        direction: [
            hops.resolve(hop, f"path.{direction}.{index}", folder, catalogue, scale) for index, hop in enumerate(items)
        ]
        for direction, items in (("forward", forward), ("reverse", reverse))
    }
    resolved = {
        "duration_ns": experiment.duration,
        "record": {"level": experiment.record.level, "interval_ns": experiment.record.interval},
        "start_jitter_ns": experiment.start_jitter,
        **resolved_hops,
        "flows": flows,
    }
    # What nobody asks for is no part of a scenario, so that it stays what it was before there was such a thing.
    emulated = _emulated(experiment, folder, [flow["scheme"] for flow in flows])
    own = {
        PYTHON: schemes.classes(experiment, folder),
        FILES: _files(flows, catalogue) | _files_of_emulated(emulated),
        TRACES: _names_of_traces({"forward": forward, "reverse": reverse}),
        NAMES: flow_names.names(experiment, flows),
    }
    optional = {"probes": probes, **emulated, **own}
    return resolved | {name: value for name, value in optional.items() if value}


def _emulated(experiment: ExperimentFile, folder: Path, used: Sequence[str]) -> dict[str, Any]:
    """What only the emulated world understands: the programs and controllers that flows use, and its options."""
    files = {name: str(folder / controller.object) for name, controller in experiment.controller.items()}
    return {
        PROGRAMS: {
            name: _program(program, folder)
            for name, program in experiment.program.items()
            if f"{PROGRAM}{name}" in used
        },
        CONTROLLERS: {name: file for name, file in files.items() if f"{KERNEL}{name}" in used},
        EMULATION: {"merge": True} if experiment.emulation.merge else {},
    }


def _files(flows: Sequence[Mapping[str, Any]], catalogue: Catalogue) -> dict[str, str]:
    """The digests of the files that parameters name, by path: a run with another content is another run."""
    named = {
        flow["parameters"][parameter.name]
        for flow in flows
        if not flow["scheme"].startswith(reference.PREFIX)
        for parameter in catalogue.files_of(flow["scheme"])
    }
    return {name: hashlib.sha256(Path(name).read_bytes()).hexdigest() for name in sorted(named)}


def _files_of_emulated(emulated: Mapping[str, Any]) -> dict[str, str]:
    """The digests of object files and wrappers, by path; of those that are not there the world will tell."""
    wrappers = [program["wrapper"] for program in emulated[PROGRAMS].values() if "wrapper" in program]
    named = sorted({*emulated[CONTROLLERS].values(), *wrappers})
    return {name: hashlib.sha256(Path(name).read_bytes()).hexdigest() for name in named if _readable(name)}


def _names_of_traces(path: Mapping[str, Sequence[Hop]]) -> dict[str, str]:
    """The names of trace files, by hop."""
    rates = {f"{direction}.{place}": hop.rate for direction, items in path.items() for place, hop in enumerate(items)}
    named = ((name, rate.trace) for name, rate in rates.items() if isinstance(rate, TraceRate))
    return {name: PurePath(trace).name for name, trace in named if isinstance(trace, str)}


def _readable(name: str) -> bool:
    return os.path.isfile(name) and os.access(name, os.R_OK)  # noqa: PTH113 - never raises


def _program(program: Program, folder: Path) -> dict[str, Any]:
    if program.wrapper is not None:
        return {"wrapper": str(folder / program.wrapper)}
    return {"first": program.first, "sender": program.sender, "receiver": program.receiver}


def _flows(experiment: ExperimentFile, folder: Path, catalogue: Catalogue) -> list[dict[str, Any]]:
    total = sum(flow.count for flow in experiment.flow)
    if total > MAX_FLOWS:
        raise KeyProblem("flow", f"{total} flows in one run; the most is {MAX_FLOWS}: lower flow.N.count")
    return [
        _flow(flow, scheme, f"flow.{number}", copy, experiment)
        for number, flow in enumerate(experiment.flow, 1)
        for scheme in [schemes.of_flow(flow, f"flow.{number}", experiment, folder, catalogue)]
        for copy in range(flow.count)
    ]


def _flow(
    flow: Flow, scheme: tuple[str, dict[str, Any]], key: str, copy: int, experiment: ExperimentFile
) -> dict[str, Any]:
    duration_ns = experiment.duration
    start_ns = flow.start + copy * flow.interval
    _check_times(flow, key, start_ns, experiment)
    if not MIN_MSS_BYTES <= flow.mss <= MAX_MSS_BYTES:
        raise KeyProblem(f"{key}.mss", f"{flow.mss} bytes: must be from {MIN_MSS_BYTES}B to {MAX_MSS_BYTES}B")
    if flow.receive_window is not None and flow.receive_window < 2 * flow.mss:
        sentence = f"{flow.receive_window} bytes hold less than two segments; make it larger"
        raise KeyProblem(f"{key}.receive_window", sentence)
    unusual = ({"dscp": flow.dscp} if flow.dscp else {}) | ({} if flow.handshake else {"handshake": False})
    optional = {"ecn": flow.ecn, "ect": flow.ect, "max_pacing_rate_bps": flow.max_pacing_rate}
    return unusual | {
        "scheme": scheme[0],
        "parameters": scheme[1],
        "traffic": _traffic(flow.traffic),
        "start_ns": start_ns,
        "stop_ns": duration_ns if flow.stop is None else flow.stop,
        "direction": flow.direction,
        "extra_delay_ns": flow.extra_delay,
        "mss_bytes": flow.mss,
        "header_bytes": HEADER_BYTES,
        "receive_window_bytes": flow.receive_window,
        "pacing": flow.pacing,
        "burst_packets": flow.burst,
        "acks": flow.acks,
        "send_jitter_ns": flow.send_jitter,
        **{name: value for name, value in optional.items() if value is not None},
    }


def _probe(probe: Probe, key: str, experiment: ExperimentFile) -> dict[str, Any]:
    _check_times(probe, key, probe.start, experiment)
    if not MIN_PROBE_BYTES <= probe.size <= MAX_PROBE_BYTES:
        sentence = f"{probe.size} bytes: must be from {MIN_PROBE_BYTES}B to {MAX_PROBE_BYTES}B"
        raise KeyProblem(f"{key}.size", sentence)
    kind = {} if probe.kind == "udp" else {"kind": probe.kind}
    return kind | {
        "interval_ns": probe.interval,
        "size_bytes": probe.size,
        "ecn": probe.ecn,
        "start_ns": probe.start,
        "stop_ns": experiment.duration if probe.stop is None else probe.stop,
        "direction": probe.direction,
    }


def _check_times(item: Flow | Probe, key: str, start_ns: int, experiment: ExperimentFile) -> None:
    jitter_ns, duration_ns = experiment.start_jitter, experiment.duration
    what = key.partition(".")[0]
    latest = start_ns + jitter_ns
    started = format_time(latest) + (" at the latest (start_jitter)" if jitter_ns else "")
    end = format_time(duration_ns)
    if latest >= duration_ns:
        culprit = "start" if item.start + jitter_ns >= duration_ns else "interval"
        sentence = f"the {what} starts at {started}, and the run ends at {end}; start it earlier"
        raise KeyProblem(f"{key}.{culprit}", sentence)
    if item.stop is not None and not latest < item.stop <= duration_ns:
        raise KeyProblem(
            f"{key}.stop",
            f"{format_time(item.stop)}: must lie after the start of the {what}, {started}, "
            f"and not after the end of the run, {end}",
        )


def _traffic(traffic: Traffic) -> dict[str, Any]:
    if isinstance(traffic, Finite):
        return {"kind": "finite", "size_bytes": traffic.size}
    if isinstance(traffic, OnOff):
        return {
            "kind": "on-off",
            "on_ns": traffic.on,
            "off_ns": traffic.off,
            "distribution": traffic.distribution,
        }
    return {"kind": "bulk"} | ({} if traffic.write is None else {"write_bytes": traffic.write})
