"""Captures: every packet at a hop, as Wireshark opens it, with what the queue did to it as a comment.

What it is: one file a hop that has a rate. Its first interface sees what arrives at the hop's queue, with the
verdict of the queue and the time in it as a comment; the second one sees what arrives over the other direction at
the hosts on this side, acks for the most part. So every packet is there once, and what Wireshark concludes of
retransmissions and round trips is what a capture on this side of the hop would tell.

Source: draft-ietf-opsawg-pcapng (section header, interface description and enhanced packet blocks).
Deviations: a recording holds no bytes of packets. Their headers are made up from what it holds (`packets.py`):
addresses and ports, the initial sequence numbers (0), windows (never full), the time stamps of data (the echo is
the latest stamp in the capture). Where the kernel sent, SACK blocks are not recorded. Payload is zeros, of which
the file keeps none, as a capture with a snap length does.
How it is validated: tshark reads the files in the tests: counts, sizes, checksums, ECN fields, comments, and its
analysis of TCP.
"""

from __future__ import annotations

import ipaddress
import struct
from datetime import datetime
from typing import TYPE_CHECKING, Any

import bakeoff
from bakeoff.formats import packets
from bakeoff.formats.exported import check_recorded, make_folder
from bakeoff.recording import atomic
from bakeoff.scenario import hops

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import polars as pl

    from bakeoff.recording import RunRecording

# LINKTYPE_RAW of the tcpdump group's list: packets begin with their IP header.
_RAW_IP = 101
_SECTION, _INTERFACE, _PACKET = 0x0A0D0D0A, 1, 6
_ORDER = 0x1A2B3C4D
_COMMENT = 1
_USER_APPLICATION = 4
_NAME, _DESCRIPTION, _RESOLUTION = 2, 3, 9
_NANOSECONDS = bytes([9])
# Headers with all options; what follows is zeros.
SNAP_BYTES = packets.IP_BYTES + 60
# Rows of a recording that are in memory at a time, about.
_BATCH_ROWS = 100_000
_COLUMNS = (
    "flow", "direction", "number", "size_bytes", "sent_ns", "flags", "sequence_bytes", "payload_bytes",
    "acknowledged_bytes", "sack_1_start_bytes", "sack_1_end_bytes", "sack_2_start_bytes", "sack_2_end_bytes",
    "sack_3_start_bytes", "sack_3_end_bytes", "ecn_in", "ecn_out", "queue_ns", "fate", "reason", "mark",
)  # fmt: skip


def write(recording: RunRecording, experiment: str, folder: Path) -> Iterator[Path]:
    """Writes the captures of a run into a folder, and yields their paths.

    Args:
        recording: a complete run.
        experiment: name of the experiment, for the comment of the file.
        folder: where they go.

    Raises:
        UserError: the run did not record packets, or a table of it is damaged.
    """
    check_recorded(recording, "passages", level="packets", why="this needs every packet at every hop")
    make_folder(folder)
    for hop in _hops(recording.scenario):
        path = folder / f"{recording.id}.{hop}.pcapng"
        with atomic.stream_file(path, writing="a capture") as file:
            for block in _blocks(recording, experiment, hop):
                file.write(block)
        yield path


def _hops(scenario: dict[str, Any]) -> list[str]:
    """The hops that are worth a capture: those with a rate, or the first one."""
    found = [name for name, hop in hops(scenario).items() if hop["link"]["kind"] != "unlimited"]
    return found or ["forward.0"]


def _blocks(recording: RunRecording, experiment: str, hop: str) -> Iterator[bytes]:
    encoder = Encoder(recording)
    forward = hop.startswith("forward")
    side = "left" if forward else "right"
    comment = f"{experiment}, {recording.id}\n" + "\n".join(encoder.names())
    yield _block(
        _SECTION,
        struct.pack("<IHHq", _ORDER, 1, 0, -1),
        [(_COMMENT, comment.encode()), (_USER_APPLICATION, f"bakeoff {bakeoff.__version__}".encode())],
    )
    yield _interface(hop, f"what arrives at the queue of {hop}")
    yield _interface(f"{side} hosts", f"what arrives at the hosts on this side of {hop}")
    for rows in _in_order(recording, hop):
        yield b"".join(encoder.packet(*row) for row in rows.iter_rows())


def _interface(name: str, description: str) -> bytes:
    options = [(_NAME, name.encode()), (_DESCRIPTION, description.encode()), (_RESOLUTION, _NANOSECONDS)]
    return _block(_INTERFACE, struct.pack("<HHI", _RAW_IP, 0, SNAP_BYTES), options)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _block(kind: int, body: bytes, options: Sequence[tuple[int, bytes]]) -> bytes:
    """A block; its body is a multiple of four bytes long."""
    if options:
        body += b"".join(struct.pack("<HH", code, len(value)) + _padded(value) for code, value in options)
        body += bytes(4)
    length = len(body) + 12
    return struct.pack("<II", kind, length) + body + struct.pack("<I", length)


def _in_order(recording: RunRecording, hop: str) -> Iterator[pl.DataFrame]:
    """Packets of a capture in order of time, some at a time: time, interface, and `_COLUMNS`."""
    import polars as pl  # noqa: PLC0415 - loaded when something is exported

    table = recording.scan("passages")
    here = table.filter(pl.col("hop") == hop).with_columns(time=pl.col("in_ns"), interface=pl.lit(0))
    there = table.filter(_arrives_beside(recording.scenario, hop.partition(".")[0]) & (pl.col("fate") == "passed"))
    there = there.with_columns(time=pl.col("out_ns"), interface=pl.lit(1))
    duration = recording.scenario["duration_ns"]
    batches = -(-recording.manifest.tables["passages"].rows // _BATCH_ROWS) or 1
    width = -(-(duration + 1) // batches)
    for start in range(0, duration + 1, width):
        both = [
            part.filter((pl.col("time") >= start) & (pl.col("time") < start + width)).select(
                "time", "interface", *_COLUMNS
            )
            # What arrives at a host comes before what it sends at once in return.
            for part in (there, here)
        ]
        yield pl.concat(both).collect().sort("time", maintain_order=True)


def _arrives_beside(scenario: dict[str, Any], direction: str) -> pl.Expr:
    """What comes out of these rows' hops is at the hosts where `direction` begins."""
    import polars as pl  # noqa: PLC0415 - loaded when something is exported

    back = "reverse" if direction == "forward" else "forward"
    last = pl.col("hop") == f"{back}.{len(scenario[back]) - 1}"
    flows = list(enumerate(scenario["flows"], 1))
    delayed = [number for number, flow in flows if flow["extra_delay_ns"] and flow["direction"] == direction]
    own = pl.col("hop").is_in([f"flow{number}.ack" for number in delayed])
    return (last & ~((pl.col("direction") == "acks") & pl.col("flow").is_in(delayed))) | own


class Encoder:
    """Makes the blocks of packets; to be asked in order of time.

    Args:
        recording: the run.
    """

    def __init__(self, recording: RunRecording) -> None:
        self._flows = recording.scenario["flows"]
        self._senders: list[dict[str, Any]] = [*self._flows, *recording.scenario.get("probes", ())]
        self._epoch_ns = 0
        if recording.timing:
            self._epoch_ns = int(datetime.fromisoformat(recording.timing.started).timestamp() * 1e6) * 1000
        # The latest time stamp of each flow and direction.
        self._stamps: dict[tuple[int, bool], int] = {}

    def names(self) -> Iterator[str]:
        """Which flow has which addresses."""
        for number, flow in enumerate(self._flows, 1):
            near, far = (ipaddress.ip_address(address) for address in self._addresses(number, of_sender=True))
            yield f"flow {number}, {flow['scheme']}: {near} to {far}"
        for number in range(len(self._flows) + 1, len(self._senders) + 1):
            near, far = (ipaddress.ip_address(address) for address in self._addresses(number, of_sender=True))
            yield f"probe {number - len(self._flows)}: {near} to {far}"

    def _config(self, flow: int) -> dict[str, Any]:
        return self._senders[flow - 1]

    def _addresses(self, flow: int, *, of_sender: bool) -> tuple[bytes, bytes]:
        left, right = (bytes([10, net, flow >> 8 & 0xFF, flow & 0xFF]) for net in (1, 2))
        from_left = (self._config(flow)["direction"] == "forward") == of_sender
        return (left, right) if from_left else (right, left)

    def packet(  # noqa: PLR0913, PLR0917 - the columns of a row
        self,
        time: int,
        interface: int,
        flow: int,
        direction: str,
        number: int,
        size: int,
        sent_ns: int,
        flags: int | None,
        sequence: int | None,
        payload: int | None,
        acknowledged: int | None,
        *rest: Any,
    ) -> bytes:
        """The block of a packet."""
        *sack, ecn_in, ecn_out, queue_ns, fate, reason, mark = rest
        is_data = direction == "data"
        source, destination = self._addresses(flow, of_sender=is_data)
        envelope = packets.Envelope(
            source=source,
            destination=destination,
            identification=number,
            tos=ecn_out if interface else ecn_in,
            size=size,
        )
        if flow > len(self._flows):
            headers = self._probe(envelope, flow, number, is_request=is_data)
        elif flags is None or payload is None or not packets.fits_tcp(size, payload):
            headers = packets.udp(envelope, is_of_sender=is_data)
        else:
            stamp = sent_ns // 1_000_000 + 1
            self._stamps[flow, is_data] = stamp
            # A SYN has the first number, and the stream begins behind it.
            segment = packets.Segment(
                flags=flags,
                sequence=0 if sequence is None else sequence + 1,
                acknowledged=0 if acknowledged is None else acknowledged + 1,
                payload=payload,
                sack=[(a + 1, b + 1) for a, b in zip(sack[::2], sack[1::2], strict=True) if a is not None],
                stamp=(stamp, self._stamps.get((flow, not is_data), 0)),
                mss=self._config(flow).get("mss_bytes", 1460),
            )
            headers = packets.tcp(envelope, segment, is_of_sender=is_data)
        comment = "" if interface else _verdict(queue_ns, fate, reason, mark)
        return self._enhanced(time, interface, headers, size, comment)

    def _probe(self, envelope: packets.Envelope, flow: int, number: int, *, is_request: bool) -> bytes:
        if self._config(flow).get("kind") == "ping":
            return packets.echo(envelope, is_request=is_request, identification=flow, number=number)
        return packets.udp(envelope, is_of_sender=is_request)

    def _enhanced(self, time: int, interface: int, headers: bytes, size: int, comment: str) -> bytes:
        kept = headers.ljust(min(size, SNAP_BYTES), b"\0")[:SNAP_BYTES]
        moment = self._epoch_ns + time
        fixed = struct.pack("<IIIII", interface, moment >> 32, moment & 0xFFFFFFFF, len(kept), size)
        return _block(_PACKET, fixed + _padded(kept), [(_COMMENT, comment.encode())] if comment else [])


def _verdict(queue_ns: int, fate: str, reason: str, mark: str) -> str:
    """What became of a packet in the hop."""
    waited = f"{queue_ns / 1e6:.6f} ms in the queue"
    marked = f"; marked {'SCE' if mark == 'sce' else 'CE'}: {mark}" if mark else ""
    if fate == "dropped":
        return f"dropped: {reason}; {waited}{marked}"
    if fate == "inside":
        return "in the hop at the end of the run"
    return waited + marked
