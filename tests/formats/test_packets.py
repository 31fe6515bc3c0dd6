"""Headers of packets, byte by byte, against the RFCs."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bakeoff.formats import packets

ENVELOPE = packets.Envelope(
    source=bytes([10, 1, 0, 1]), destination=bytes([10, 2, 0, 1]), identification=7, tos=0xB9, size=1500
)
SEGMENT = packets.Segment(flags=0x10, sequence=5, acknowledged=9, payload=1448, sack=[], stamp=(3, 4), mss=1460)
NOP = b"\x01"
STAMP = bytes([8, 10, 0, 0, 0, 3, 0, 0, 0, 4])


def tcp(size: int, segment: packets.Segment) -> tuple[tuple[int, ...], bytes]:
    """The fixed fields of a TCP header and its options; what is behind the IP header."""
    header = packets.tcp(replace(ENVELOPE, size=size), segment, is_of_sender=True)[packets.IP_BYTES :]
    return struct.unpack("!HHIIHHHH", header[:20]), header[20:]


def test_the_checksum_is_that_of_the_example_in_rfc_1071() -> None:
    assert packets.checksum(bytes.fromhex("0001f203f4f5f6f7")) == 0xFFFF - 0xDDF2


def test_a_carry_may_carry_again() -> None:
    assert packets.checksum(bytes.fromhex("ffffffff0001")) == 0xFFFF - 0x0001


def test_an_odd_byte_is_the_upper_half_of_a_word() -> None:
    assert packets.checksum(b"\x01") == packets.checksum(b"\x01\x00") == 0xFEFF


@given(st.binary(max_size=80).filter(lambda data: len(data) % 2 == 0))
def test_what_holds_its_checksum_has_the_checksum_0(data: bytes) -> None:
    assert packets.checksum(data + struct.pack("!H", packets.checksum(data))) == 0


@pytest.mark.parametrize(("options", "fits"), [(-4, False), (0, True), (2, False), (12, True), (40, True), (44, False)])
def test_tcp_has_up_to_40_bytes_of_options_in_words(options: int, *, fits: bool) -> None:
    assert packets.fits_tcp(40 + options + 1000, 1000) == fits


def test_an_ip_header() -> None:
    header = packets.udp(replace(ENVELOPE, identification=0x1_0007), is_of_sender=True)[:20]
    assert packets.checksum(header) == 0
    fields = struct.unpack("!BBHHHBBH4s4s", header)
    assert fields[:4] == (0x45, 0xB9, 1500, 7)
    assert fields[4:7] == (0x4000, 64, 17)
    assert fields[8:] == (ENVELOPE.source, ENVELOPE.destination)


def test_numbers_of_tcp_wrap_and_the_accurate_ecn_flag_is_the_ninth() -> None:
    large = replace(SEGMENT, flags=0x1D0, sequence=2**32 + 5, acknowledged=2**33 + 9)
    (_, _, sequence, acknowledged, flags, window, *_), _ = tcp(1500, large)
    assert (sequence, acknowledged, window) == (5, 9, 0xFFFF)
    assert flags == 8 << 12 | 0x1D0


@pytest.mark.parametrize(
    ("room", "blocks", "options"),
    [
        (0, [], b""),
        (8, [], NOP * 8),
        (12, [], NOP * 2 + STAMP),
        (20, [(7, 8)], NOP * 2 + STAMP + NOP * 8),
        (24, [(7, 2**32 + 8)], NOP * 2 + STAMP + NOP * 2 + bytes([5, 10, 0, 0, 0, 7, 0, 0, 0, 8])),
        (32, [(7, 8), (9, 10)], NOP * 2 + STAMP + NOP * 2 + bytes([5, 18]) + struct.pack("!IIII", 7, 8, 9, 10)),
    ],
)
def test_options_are_what_there_is_room_for(room: int, blocks: list[tuple[int, int]], options: bytes) -> None:
    _, found = tcp(40 + room + 1000, replace(SEGMENT, payload=1000, sack=blocks))
    assert found == options


def test_a_syn_offers_what_linux_offers() -> None:
    _, options = tcp(60, replace(SEGMENT, flags=packets.SYN, payload=0))
    # Segment size, SACK, time stamps, and the largest scale of the window (RFC 7323, 2.3).
    assert options == bytes([2, 4, 1460 >> 8, 1460 & 0xFF, 4, 2]) + STAMP + NOP + bytes([3, 3, 14])


def test_a_udp_checksum_of_0_is_sent_as_ones() -> None:
    def checksum(envelope: packets.Envelope) -> int:
        return int.from_bytes(packets.udp(envelope, is_of_sender=True)[26:28], "big")

    plain = replace(ENVELOPE, source=bytes([10, 1, 0, 0]))
    # The address fills up what the sum lacks.
    last = checksum(plain).to_bytes(2, "big")
    assert checksum(replace(plain, source=plain.source[:2] + last)) == 0xFFFF


@pytest.mark.parametrize(("is_request", "kind"), [(True, 8), (False, 0)])
def test_an_echo(*, is_request: bool, kind: int) -> None:
    header = packets.echo(ENVELOPE, is_request=is_request, identification=3, number=0x1_0002)[20:]
    assert packets.checksum(header) == 0
    assert struct.unpack("!BBHHH", header)[:2] == (kind, 0)
    assert struct.unpack("!BBHHH", header)[3:] == (3, 2)
