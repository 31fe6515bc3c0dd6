"""The linux world: one run on the real Linux network stack, in a guest of its own in deterministic virtual time."""

from __future__ import annotations

import functools
import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff import _core
from bakeoff.errors import RunFailed
from bakeoff.experiment import estimate
from bakeoff.experiment.catalogue import OWN
from bakeoff.kernel import cache
from bakeoff.scenario import largest_packet_bytes
from bakeoff.worlds import frames, guest, named_files, names, processes, scratch
from bakeoff.worlds.outcome import Outcome, RunInvalid, RunStopped
from bakeoff.worlds.world import World

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bakeoff.experiment import PlannedRun
    from bakeoff.experiment.estimate import Cost

_INIT = Path(__file__).resolve().parents[1] / "_guest"
_JOB = "job.json"
_DONE = "done"
# Where the guest finds the folder that it shares with us.
_SEEN_AS = "/run"
# Measured: a boot, and a packet with its ack through the kernel's stack. Packets of our own schemes wake a thread each.
_CPU_S_PER_RUN = 0.15
_CPU_S_PER_KERNEL_PACKET = 13e-6
_CPU_S_PER_OWN_PACKET = 100e-6
# Measured: what a guest touches of its memory; and of each packet, the log and what becomes of it in our memory.
_RESIDENT_BYTES = 100_000_000
_MEMORY_BYTES_PER_PACKET = 600
# A guest that takes many times of what it should will not end.
_CPU_S_LIMIT_PER_PACKET = 1e-3
_CPU_S_LIMIT = 120
_WALL_PER_CPU = 10.0
_GUEST_BYTES = 1 << 30
# A packet takes this much of the guest's memory for each byte that it has, with copies and bookkeeping.
_GUEST_BYTES_PER_BYTE = 8


def execute(run: PlannedRun) -> Outcome:
    """Runs a scenario in a guest.

    Raises:
        RunFailed: there is no kernel, or it cannot be started.
        RunStopped: the kernel cannot run this scenario, or the guest failed; its last lines are quoted.
        RunInvalid: the packets of the run do not add up.
    """
    named_files.check_unchanged(run.scenario)
    kernel = cache.default()
    with processes.folder() as place:
        folder = guest.prepare(place, _INIT)
        job = json.dumps(names.for_kernel(named_files.brought_along(run.scenario, folder, _SEEN_AS)))
        (folder / _JOB).write_text(job, encoding="utf-8")
        ended = guest.boot(cache.kernel_of(kernel), place, run.seed, _limits(run.scenario))
        outcome = Outcome(cpu_s=ended.cpu_s, provenance=_provenance_of(kernel))
        said = replace(outcome, console=ended.console)
        if not (folder / _DONE).is_file():
            raise RunStopped(ended.problem(), said)
        try:
            tables = _core.tables_from_log(job, str(folder))["tables"]
        except (_core.ScenarioError, OSError) as error:
            raise RunStopped(str(error), said) from error
        except _core.ConservationError as error:
            raise RunInvalid(str(error), said) from error
    return replace(outcome, tables=frames.of_core(tables))


def check(scenario: Mapping[str, Any]) -> None:
    """Checks, before anything is run, that the kernel can run a scenario.

    Raises:
        RunStopped: it cannot; the message names the key, and what would be right.
    """
    try:
        _core.check_for_kernel(json.dumps(names.for_kernel(scenario)))
    except _core.ScenarioError as error:
        raise RunStopped(str(error)) from error


def prepare() -> None:
    """Looks for what guests need, and removes what those of killed processes have left.

    Raises:
        RunFailed: no kernel is built, or a program is missing.
    """
    cache.default()
    if not _INIT.is_file():
        raise RunFailed("the guest's program is missing; start ./bakeoff once to compile it")
    guest.check_tools()
    scratch.sweep()


def cost(scenario: Mapping[str, Any]) -> Cost:
    """What one run costs."""
    simulated = estimate.cost(scenario)
    flows = names.for_kernel(scenario)["flows"]
    own = sum(flow["scheme"].startswith(OWN) for flow in flows) / len(flows)
    each_s = own * _CPU_S_PER_OWN_PACKET + (1 - own) * _CPU_S_PER_KERNEL_PACKET
    return replace(
        simulated,
        cpu_s=_CPU_S_PER_RUN + each_s * simulated.packets,
        memory_bytes=_RESIDENT_BYTES + _MEMORY_BYTES_PER_PACKET * simulated.packets + simulated.memory_bytes,
    )


def stop() -> None:
    """Ends all guests at once, and removes their folders."""
    processes.stop()


def provenance() -> dict[str, str]:
    """The kernel of the guests, and their program.

    Raises:
        RunFailed: no kernel is built.
    """
    return _provenance_of(cache.default())


def _provenance_of(kernel: cache.Built) -> dict[str, str]:
    return {
        "kernel": kernel.name,
        "kernel_version": kernel.version,
        "kernel_sha256": kernel.sha256,
        "guest_sha256": _digest_of_init(),
    }


@functools.cache
def _digest_of_init() -> str:
    return hashlib.sha256(_INIT.read_bytes()).hexdigest()


def _limits(scenario: Mapping[str, Any]) -> guest.Limits:
    cpu_s = round(_CPU_S_LIMIT + _CPU_S_LIMIT_PER_PACKET * estimate.cost(scenario).packets)
    return guest.Limits(cpu_s=cpu_s, wall_s=_WALL_PER_CPU * cpu_s, memory_bytes=_memory(scenario))


def _memory(scenario: Mapping[str, Any]) -> int:
    """Memory for a guest: enough for all packets that queues and wires can hold."""
    hops = [*scenario["forward"], *scenario["reverse"]]
    packet_bytes = largest_packet_bytes(scenario)
    round_trip_s = sum(hop["delay_ns"] for hop in hops) / 1e9
    rate = estimate.peak_rate_bps(hops)
    held = 0 if rate is None else rate / 8 * round_trip_s
    for hop in hops:
        queue = hop["queue"]
        # A limit of time is one of bytes at the rate of the hop.
        in_time = (queue.get("limit_time_ns") or 0) * (estimate.peak_rate_bps([hop]) or 0) / 8e9
        limits = [queue.get("limit_bytes"), packet_bytes * (queue.get("limit_packets") or 0), in_time]
        held += max((limit for limit in limits if limit is not None), default=0)
    return _GUEST_BYTES + round(_GUEST_BYTES_PER_BYTE * held)


WORLD = World(execute=execute, cost=cost, check=check, prepare=prepare, stop=stop, provenance=provenance)
