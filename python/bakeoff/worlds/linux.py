"""The linux world: one run on the real Linux network stack, in a guest of its own in deterministic virtual time."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff import _core
from bakeoff.experiment import estimate
from bakeoff.kernel import cache
from bakeoff.worlds import frames, guest, names
from bakeoff.worlds.outcome import Outcome, RunInvalid, RunStopped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bakeoff.experiment import PlannedRun

_INIT = Path(__file__).resolve().parents[1] / "_guest"
_JOB = "job.json"
_DONE = "done"
# Real packets cost 30 to 60 us of CPU; a guest that takes many times that will not end.
_CPU_S_PER_PACKET = 1e-3
_CPU_S = 120
_MEMORY_BYTES = 1 << 30
# A packet takes this much of the guest's memory for each byte that it has, with copies and bookkeeping.
_MEMORY_PER_BYTE = 8


def execute(run: PlannedRun) -> Outcome:
    """Runs a scenario in a guest.

    Raises:
        RunStopped: the kernel cannot run this scenario, or the guest failed; its last lines are quoted.
        RunInvalid: the packets of the run do not add up.
    """
    job = json.dumps(names.for_kernel(run.scenario))
    with tempfile.TemporaryDirectory(prefix="bakeoff-guest-") as name:
        scratch = Path(name)
        root, folder = guest.prepare(scratch, _INIT)
        (folder / _JOB).write_text(job, encoding="utf-8")
        limits = guest.Limits(
            cpu_s=round(_CPU_S + _CPU_S_PER_PACKET * estimate.cost(run.scenario).packets),
            memory_bytes=_memory(run.scenario),
        )
        ended = guest.boot(cache.kernel_of(cache.default()), root, run.seed, limits)
        if not (folder / _DONE).is_file():
            raise RunStopped(ended.problem())
        try:
            tables = _core.tables_from_log(job, str(folder))["tables"]
        except _core.ScenarioError as error:
            raise RunStopped(str(error)) from error
        except _core.ConservationError as error:
            raise RunInvalid(str(error)) from error
    return Outcome(frames.of_core(tables), ended.cpu_s)


def _memory(scenario: Mapping[str, Any]) -> int:
    """Memory for a guest: enough for all packets that queues and wires can hold."""
    hops = [*scenario["forward"], *scenario["reverse"]]
    packet_bytes = max(flow["mss_bytes"] + flow["header_bytes"] for flow in scenario["flows"])
    round_trip_s = sum(hop["delay_ns"] for hop in hops) / 1e9
    rate = estimate.bottleneck_bps(hops)
    held = 0 if rate is None else rate / 8 * round_trip_s
    for hop in hops:
        queue = hop["queue"]
        limits = [queue.get("limit_bytes"), packet_bytes * (queue.get("limit_packets") or 0)]
        held += max((limit for limit in limits if limit is not None), default=0)
    return _MEMORY_BYTES + round(_MEMORY_PER_BYTE * held)


def check(scenario: Mapping[str, Any]) -> None:
    """Checks, before anything is run, that a kernel is there and that it can run a scenario.

    Raises:
        RunFailed: no kernel is built.
        RunStopped: the kernel cannot run it; the message names the key, and what would be right.
    """
    cache.default()
    try:
        _core.check_for_kernel(json.dumps(names.for_kernel(scenario)))
    except _core.ScenarioError as error:
        raise RunStopped(str(error)) from error
