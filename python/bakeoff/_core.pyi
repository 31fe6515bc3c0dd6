"""The compiled core: the simulator behind a JSON door. Ordinary code calls `bakeoff.worlds`, not this."""

from collections.abc import Callable, Mapping
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

_Column: TypeAlias = (
    NDArray[np.uint32]
    | NDArray[np.uint64]
    | NDArray[np.int64]
    | NDArray[np.float64]
    | NDArray[np.bool_]
    | list[str]
    | tuple[NDArray[np.uint8] | NDArray[np.uint32], list[str]]
)

__all__ = [
    "INTERVAL_FIELDS",
    "ConnectionLost",
    "ConservationError",
    "Episodes",
    "ScenarioError",
    "SchemeError",
    "check",
    "check_emulated",
    "check_for_kernel",
    "check_scheme",
    "qdiscs",
    "queues",
    "run",
    "schemes",
    "tables",
    "tables_from_events",
    "tables_from_log",
    "telemetry",
    "version",
]

class ScenarioError(ValueError):
    """The scenario cannot be run as it stands; the message is one sentence that names the key."""

class ConnectionLost(RuntimeError):  # noqa: N818 - what happened
    """A stack gave the connection of a flow up before the flow was to stop; the message is one sentence."""

class ConservationError(RuntimeError):
    """The packets of a finished run do not add up: a fault of ours, never of the input."""

class SchemeError(RuntimeError):
    """A scheme that is computed outside has failed; the message is what it said of that."""

INTERVAL_FIELDS: list[str]
"""What `Episodes.step` tells of an interval, in its order; the unit is part of the name, bytes are payload."""

def run(
    scenario_json: str, schemes: Mapping[int, Callable[[bytes], bytes]] | None = None
) -> dict[str, dict[str, dict[str, _Column]]]:
    """Runs one resolved scenario in virtual time, with the interpreter lock released while no scheme needs it.

    Args:
        scenario_json: the scenario as a JSON object (units: ns, bit/s, bytes; ratios 0..1).
        schemes: by index of a flow, what computes its scheme: takes a message and returns the answer; see
            `bakeoff.scheme.messages`.

    Returns:
        `{"tables": {table: {column: values}}}`. The columns of a table are equally long, numbers as arrays, words as
        lists, or as the index of each row into a list of words; -1 stands for what does not exist. `tables()` declares
        them.

    Raises:
        ScenarioError: the scenario is malformed or names something unknown.
        ConnectionLost: a stack gave the connection of a flow up.
        ConservationError: the packets of the run do not add up.
        SchemeError: one of `schemes` has failed.
    """

@final
class Episodes:
    """Runs in virtual time, each with a flow that is steered from decision to decision."""

    def __new__(cls, count: int) -> Episodes: ...
    def begin(self, place: int, scenario_json: str, flow: int) -> NDArray[np.float64]:
        """Begins a run in a place, in place of what was there, and takes it to the first acknowledgement.

        Args:
            place: from 0, below the count.
            scenario_json: as for `run`; of the scheme of the steered flow only its ECN counts.
            flow: index of the flow that is steered, from 0.

        Returns:
            What happened so far, as `INTERVAL_FIELDS`; the smoothed round trip is not a number if there was none.

        Raises:
            ScenarioError: the scenario is malformed, or there is no such place.
        """

    def step(
        self, cwnd: NDArray[np.uint32], rate_bps: NDArray[np.float64], until_s: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Takes every run to its next decision, with the interpreter lock released.

        Args:
            cwnd: window of each steered flow from now on, packets.
            rate_bps: its pacing rate; 0 for none.
            until_s: up to when each run goes on.

        Returns:
            A row a run of `INTERVAL_FIELDS`; what is not known is not a number.
        """

    def losses(self) -> list[tuple[int, str]]:
        """The places of the runs in which a flow has lost its connection, and a sentence for each."""

def check(scenario_json: str) -> None:
    """Checks that the simulator can run a resolved scenario.

    Args:
        scenario_json: as for `run`.

    Raises:
        ScenarioError: it cannot; the message names the key, and what would be right.
    """

def check_scheme(name: str, parameters_json: str) -> None:
    """Checks the parameters of a scheme and the files that they name.

    Args:
        name: of one of bakeoff's own schemes.
        parameters_json: a JSON object.

    Raises:
        ScenarioError: there is no such scheme, or it cannot be made with these.
    """

def check_for_kernel(scenario_json: str) -> None:
    """Checks that a kernel can run a resolved scenario.

    Args:
        scenario_json: as for `run`; queues may be any that the kernel has.

    Raises:
        ScenarioError: it cannot; the message names the key, and what would be right.
    """

def check_emulated(scenario_json: str) -> None:
    """Checks that the emulated world can run a resolved scenario.

    Args:
        scenario_json: as for `run`.

    Raises:
        ScenarioError: it cannot; the message names the key, and what would be right.
    """

def tables_from_log(scenario_json: str, folder: str) -> dict[str, dict[str, dict[str, _Column]]]:
    """The tables of a run on a real kernel, from the logs that it left, with the interpreter lock released.

    Args:
        scenario_json: the scenario that was run.
        folder: where the logs are.

    Returns:
        As `run`.

    Raises:
        ScenarioError: the scenario is malformed.
        OSError: a log cannot be read, or was cut off.
        ConservationError: the packets of the run do not add up.
    """

def tables_from_events(scenario_json: str, folder: str) -> dict[str, dict[str, dict[str, _Column]]]:
    """The tables of an emulated run, from the logs that it left, with the interpreter lock released.

    Args:
        scenario_json: the scenario that was run.
        folder: where the logs are.

    Returns:
        As `run`.

    Raises:
        ScenarioError: the scenario is malformed.
        OSError: a log cannot be read, or was cut off.
        ConservationError: the packets of the run do not add up.
    """

def schemes() -> str:
    """The congestion-control schemes, as a JSON array of `{name, title, source, parameters, telemetry}`.

    Behind our own stand the stacks that are not ours, with each of their controllers; a name with a colon is of one.
    """

def queues() -> str:
    """The queueing disciplines, as a JSON array of `{name, title, source, parameters, telemetry}`."""

def qdiscs() -> str:
    """How queues map to the queueing disciplines of Linux.

    Returns:
        A JSON array of `{queue, qdiscs, source, doc, parameters, gaps}`. A parameter is `{name, attribute, kind,
        default, doc}`, and with it `min, max, unit, kernel_unit, step` of a `number`, or the `options` of a `choice` as
        pairs of a word and the kernel's number. A gap is `{what, why}`.
    """

def tables() -> str:
    """The tables of a recording, as a JSON array of `{name, doc, columns: [{name, kind, doc}]}`."""

def telemetry() -> str:
    """The telemetry that every sender has, whatever its scheme, as a JSON array of `{name, unit, doc}`."""

def version() -> str:
    """The version of the core, as in `1.2.3`."""
