"""tshark reads our captures: nothing in them is malformed, and what it counts and concludes is what was recorded."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections import Counter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import polars as pl
import pytest

from bakeoff.errors import UserError
from bakeoff.formats import packets, pcapng
from bakeoff.metrics import summarise
from bakeoff.recording import ResultFolder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bakeoff.recording import RunRecording

TSHARK = shutil.which("tshark")
needs_tshark = pytest.mark.skipif(TSHARK is None, reason="no tshark here: apt install tshark")
CHECKSUMS = [word for layer in ("ip", "tcp", "udp") for word in ("-o", f"{layer}.check_checksum:TRUE")]
AGAIN = "tcp.analysis.retransmission || tcp.analysis.out_of_order"


@pytest.fixture(scope="session")
def capture(office: ResultFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    (path,) = pcapng.write(office.recordings()[0], "office", tmp_path_factory.mktemp("pcapng"))
    return path


@pytest.fixture(scope="session")
def passages(office: ResultFolder) -> pl.DataFrame:
    return office.recordings()[0].table("passages")


def tshark(path: Path, *words: str) -> list[list[str]]:
    """Fields of the packets that a filter chooses."""
    command = [TSHARK or "tshark", "-r", str(path), "-n", "-T", "fields", *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=250)
    complaints = [line for line in done.stderr.splitlines() if "Running as user" not in line]
    assert complaints == []
    return [line.split("\t") for line in done.stdout.splitlines()]


@needs_tshark
def test_every_packet_is_there_and_none_is_malformed(capture: Path, passages: pl.DataFrame) -> None:
    rows = tshark(capture, *CHECKSUMS, "-e", "frame.interface_name", "-e", "frame.len", "-e", "ip.checksum.status",
                  "-e", "tcp.checksum.status", "-e", "_ws.malformed")  # fmt: skip
    here = passages.filter(pl.col("hop") == "forward.0")
    there = passages.filter((pl.col("hop") == "reverse.0") & (pl.col("fate") == "passed"))
    assert Counter(row[0] for row in rows) == {"forward.0": here.height, "left hosts": there.height}
    assert sum(int(row[1]) for row in rows) == sum([*here["size_bytes"].to_list(), *there["size_bytes"].to_list()])
    assert {row[2] for row in rows} == {"1"}, "good, every one"
    assert {row[3] for row in rows} == {"", "1", "2"}, "good, or not to be told without the payload; pings have none"
    assert {row[4] for row in rows} == {""}


@needs_tshark
def test_verdicts_and_codepoints_are_those_of_the_hop(
    capture: Path, passages: pl.DataFrame, office: ResultFolder
) -> None:
    verdicts = {row["reason"]: row["packets"] for row in office.recordings()[0].table("verdicts").to_dicts()}
    assert verdicts["congestion"] > 0
    rows = tshark(capture, "-Y", "frame.interface_id == 0", "-e", "frame.time_epoch", "-e", "ip.dsfield.ecn",
                  "-e", "frame.comment")  # fmt: skip
    here = passages.filter(pl.col("hop") == "forward.0")
    assert [int(row[1], 0) for row in rows] == here["ecn_in"].to_list()
    base = int(rows[0][0].replace(".", "")) - here["in_ns"][0]
    assert [int(row[0].replace(".", "")) - base for row in rows] == here["in_ns"].to_list(), "to the nanosecond"
    for row, (queue_ns, fate, mark) in zip(rows, here.select("queue_ns", "fate", "mark").iter_rows(), strict=True):
        expected = {"passed": f"{queue_ns / 1e6:.6f} ms", "dropped": "dropped: congestion", "inside": "in the hop"}
        assert row[2].startswith(expected[fate])
        assert row[2].endswith("marked CE: congestion") == bool(mark)
    counted = office.recordings()[0].table("verdicts").group_by("verdict").agg(pl.col("packets").sum())
    totals = dict(counted.iter_rows())
    assert totals == {
        "drop": sum(row[2].startswith("dropped") for row in rows),
        "mark": sum("marked" in row[2] for row in rows),
    }


@needs_tshark
def test_its_analysis_of_tcp_finds_what_was_sent_again_and_nothing_else(capture: Path, passages: pl.DataFrame) -> None:
    sent = passages.filter((pl.col("hop") == "forward.0") & (pl.col("flow") <= 2))
    again = sent.filter(pl.col("retransmit"))
    assert again.height > 10
    rows = tshark(capture, "-Y", AGAIN, "-e", "ip.id", "-e", "tcp.len")
    assert Counter(int(row[0], 0) for row in rows) == Counter(again["number"].to_list())
    bogus = "tcp.analysis.lost_segment || tcp.analysis.ack_lost_segment || tcp.analysis.window_full"
    assert tshark(capture, "-Y", f"{bogus} || tcp.analysis.zero_window", "-e", "frame.number") == []
    echoes = tshark(capture, "-Y", "frame.interface_id == 1 && tcp.flags.ece == 1", "-e", "tcp.stream")
    recorded = passages.filter((pl.col("hop") == "reverse.0") & (pl.col("fate") == "passed"))
    assert len(echoes) == recorded.filter(pl.col("flags") & 64 != 0).height > 0


@needs_tshark
def test_sequence_numbers_and_payload_are_those_of_the_stream(capture: Path, passages: pl.DataFrame) -> None:
    rows = tshark(capture, "-Y", "frame.interface_id == 0 && tcp.len > 0", "-e", "tcp.seq_raw", "-e", "tcp.len")
    data = passages.filter((pl.col("hop") == "forward.0") & (pl.col("payload_bytes") > 0))
    assert [(int(a) - 1, int(b)) for a, b in rows] == list(data.select("sequence_bytes", "payload_bytes").iter_rows())
    acks = tshark(capture, "-Y", "frame.interface_id == 1 && tcp.flags.syn == 0", "-e", "tcp.ack_raw",
                  "-e", "tcp.options.sack_le")  # fmt: skip
    back = passages.filter(
        (pl.col("hop") == "reverse.0") & (pl.col("fate") == "passed") & (pl.col("flags") & 2 == 0)
    ).sort("out_ns", maintain_order=True)
    assert [int(row[0]) - 1 for row in acks] == back["acknowledged_bytes"].to_list()
    blocks = [int(row[1].split(",")[0]) - 1 if row[1] else None for row in acks]
    assert blocks == back["sack_1_start_bytes"].to_list()


@needs_tshark
def test_with_payload_every_checksum_is_good(
    office: ResultFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pcapng, "SNAP_BYTES", 2000)
    (path,) = pcapng.write(office.recordings()[0], "office", tmp_path)
    rows = tshark(path, *CHECKSUMS, "-Y", "tcp", "-e", "tcp.checksum.status")
    assert {row[0] for row in rows} == {"1"}


@needs_tshark
def test_a_recording_of_real_packets_is_read_as_well(of_kernel: ResultFolder, tmp_path: Path) -> None:
    recording = of_kernel.recordings()[0]
    (path,) = pcapng.write(recording, "office", tmp_path)
    rows = tshark(path, *CHECKSUMS, "-e", "ip.checksum.status", "-e", "_ws.malformed")
    assert {tuple(row) for row in rows} == {("1", "")}
    asked = tshark(path, "-Y", "tcp.flags.syn == 1 && tcp.flags.ack == 0", "-e", "ip.src", "-e", "tcp.flags")
    flags = {int(address.rpartition(".")[2]): int(found, 0) for address, found in asked}
    assert flags == {1: 0x0C2, 2: 0x1C2, 3: 0x0C2}, "SYN with CWR and ECE; AE for accurate ECN"
    again = Counter(int(row[0].rpartition(".")[2]) for row in tshark(path, "-Y", AGAIN, "-e", "ip.src"))
    assert again == {flow.flow: flow.retransmits for flow in summarise(recording).flows if flow.retransmits}


def test_it_is_written_in_parts(office: ResultFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    recording = office.recordings()[0]
    (whole,) = pcapng.write(recording, "office", tmp_path / "a")
    monkeypatch.setattr(pcapng, "_BATCH_ROWS", 1000)
    assert len(list(pcapng._in_order(recording, "forward.0"))) >= 8
    (parts,) = pcapng.write(recording, "office", tmp_path / "b")
    assert parts.read_bytes() == whole.read_bytes()


def test_a_run_without_packets_is_refused(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any], tmp_path: Path
) -> None:
    recording = filled(plan_of(("cubic",), 1, level="series")).recordings()[0]
    with pytest.raises(UserError, match=r'cubic_run1: recorded at level "series".*--set record.level=packets'):
        list(pcapng.write(recording, "x", tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_headers_are_those_of_the_standards() -> None:
    # RFC 1071, section 3: the sum of these bytes is ddf2, the checksum its complement.
    assert packets.checksum(bytes.fromhex("0001f203f4f5f6f7")) == 0xFFFF ^ 0xDDF2
    assert packets.fits_tcp(1500, 1448)
    assert not packets.fits_tcp(1500, 1472), "28 bytes are for UDP"
    envelope = packets.Envelope(source=bytes(4), destination=bytes(4), identification=7, tos=2, size=52)
    segment = packets.Segment(flags=0x110, sequence=1, acknowledged=2, payload=0, sack=(), stamp=(3, 4), mss=1448)
    made = packets.tcp(envelope, segment, is_of_sender=True)
    assert len(made) == 52
    assert struct.unpack("!H", made[32:34])[0] == 8 << 12 | 0x110, "eight words, AE and ACK"
    assert packets.checksum(made[:20]) == 0


@needs_tshark
def test_what_nobody_can_read_is_datagrams(encrypted: ResultFolder, tmp_path: Path) -> None:
    recording = encrypted.recordings()[0]
    (path,) = pcapng.write(recording, "office", tmp_path)
    table = recording.table("passages")
    there = table.filter((pl.col("hop") == "reverse.0") & (pl.col("fate") == "passed"))
    rows = tshark(path, "-e", "ip.proto", "-e", "udp.length", "-e", "frame.len")
    assert {row[0] for row in rows} == {"17"}
    assert all(int(row[1]) + 20 == int(row[2]) for row in rows)
    sizes = pl.concat([table.filter(pl.col("hop") == "forward.0"), there])["size_bytes"]
    assert Counter(int(row[2]) for row in rows) == Counter(sizes)


def test_an_ack_comes_before_what_it_lets_go_at_once(capture: Path) -> None:
    content, place = capture.read_bytes(), 0
    seen: dict[int, list[int]] = {}
    while place < len(content):
        kind, length, interface, high, low = struct.unpack_from("<IIIII", content, place)
        if kind == 6:
            seen.setdefault(high << 32 | low, []).append(interface)
        place += length
    both = [interfaces for interfaces in seen.values() if len(set(interfaces)) == 2]
    assert len(both) > 100
    assert all(interfaces == sorted(interfaces, reverse=True) for interfaces in both)
    assert list(seen) == sorted(seen)


def test_what_arrives_at_the_hosts_of_a_side(
    plan_of: Callable[..., Any], tables_of: Callable[..., Any], tmp_path: Path
) -> None:
    plan = plan_of(("cubic",), 1, flows=3, seconds=3, level="series")
    run = plan.runs[0]
    # Two flows with delays of their own, of which one goes the other way, and one without.
    for flow, direction, delay_ns in zip(
        run.scenario["flows"], ("forward", "reverse", "forward"), (5, 5, 0), strict=True
    ):
        flow |= {"direction": direction, "extra_delay_ns": delay_ns}
    rows = [
        # Hop, flow, what it is, when it came and when it left.
        ("forward.0", 1, "data", 10, 20),
        ("forward.0", 3, "data", 3 * 10**9, None),
        ("reverse.0", 1, "acks", 30, 40),
        ("flow1.ack", 1, "acks", 40, 45),
        ("reverse.0", 2, "data", 50, 60),
        ("flow2.ack", 2, "acks", 60, 65),
        ("reverse.0", 3, "acks", 70, 80),
    ]
    passages = pl.DataFrame(
        [
            {
                **dict.fromkeys(pcapng._COLUMNS, 0),
                "hop": hop,
                "flow": flow,
                "direction": direction,
                "in_ns": came,
                "out_ns": left,
                "fate": "inside" if left is None else "passed",
                "reason": "",
                "mark": "",
            }
            for hop, flow, direction, came, left in rows
        ]
    )
    folder = ResultFolder.create(tmp_path / "results", plan)
    folder.write_run(run, tables_of(run.scenario, 1) | {"passages": passages})
    (recording,) = folder.recordings()
    table = pl.concat(list(pcapng._in_order(recording, "forward.0")))
    # Those of a flow with a delay of its own are there after that, and the last packet comes as the run ends.
    expected = [(10, 0, 1), (45, 1, 1), (60, 1, 2), (80, 1, 3), (3 * 10**9, 0, 3)]
    assert table.select("time", "interface", "flow").rows() == expected


def test_a_path_without_a_rate_has_a_capture_of_its_first_hop() -> None:
    free, limited = ({"link": {"kind": kind}} for kind in ("unlimited", "trace"))
    assert pcapng._hops({"forward": [free, free], "reverse": [free]}) == ["forward.0"]
    assert pcapng._hops({"forward": [free, limited], "reverse": [limited]}) == ["forward.1", "reverse.0"]


def test_an_ack_of_a_flow_beyond_the_first_255_has_its_addresses_and_blocks() -> None:
    flows = [{"direction": "forward", "mss_bytes": 1448}] * 300
    encoder = pcapng.Encoder(cast("RunRecording", SimpleNamespace(scenario={"flows": flows}, timing=None)))
    # Bytes 10 to 19 of the stream have come out of order; the first byte has the number 1.
    sack = [10, 20, None, None, None, None]
    block = encoder.packet(9, 0, 300, "acks", 0, 64, 7, 16, None, 0, 5, *sack, 0, 0, 0, "passed", "", "")
    packet = block[28:]
    assert packet[12:20] == bytes([10, 2, 1, 44, 10, 1, 1, 44])
    assert packet[52:64] == bytes([1, 1, 5, 10]) + struct.pack("!II", 11, 21)


@pytest.mark.parametrize(("interface", "ecn"), [(0, 2), (1, 3)])
def test_a_packet_is_as_it_comes_to_the_hop_or_as_it_left_the_last_one(interface: int, ecn: int) -> None:
    flow = {"direction": "forward", "mss_bytes": 1448}
    encoder = pcapng.Encoder(cast("RunRecording", SimpleNamespace(scenario={"flows": [flow]}, timing=None)))
    sack = [None] * 6
    # Data of 1448 bytes that left at 7 ms, came at 9 ms, was marked, and waited for 1.5 ms.
    block = encoder.packet(
        9_000_000, interface, 1, "data", 0, 1500, 7_000_000, 16, 0, 1448, 0, *sack, 2, 3, 1_500_000, "passed", "", "x"
    )
    (kind, _, number, high, low, kept, size) = struct.unpack_from("<IIIIIII", block)
    assert (kind, number, high << 32 | low, kept, size) == (6, interface, 9_000_000, pcapng.SNAP_BYTES, 1500)
    packet = block[28:]
    assert packet[1] == ecn
    # The stamp of data is the millisecond at which it left, from 1.
    assert packet[40:44] == bytes([1, 1, 8, 10])
    assert int.from_bytes(packet[44:48], "big") == 8
    assert (b"1.500000 ms in the queue; marked CE: x" in block) == (interface == 0)
