"""Packets made up from what is recorded of them: IPv4 with TCP, UDP or ICMP headers, and a payload of zeros.

Source: RFC 791, 792, 768, 9293 and 7323 (time stamps); RFC 2018 (SACK); RFC 1071 (checksums).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

IP_BYTES = 20
_TCP_BYTES = 20
_MOST_OPTIONS = 40
_ICMP, _TCP, _UDP = 1, 6, 17
_DO_NOT_FRAGMENT = 0x4000
_TIME_TO_LIVE = 64
# Ports that no dissector claims; an address of its own tells every flow.
SENDER_PORT, RECEIVER_PORT = 61_001, 61_002
SYN = 1 << 1
# What a window of 16 bits stands for is not recorded: the largest there is, which nothing fills.
_WINDOW, _WINDOW_SCALE = 0xFFFF, 14
_NOP = b"\x01"


@dataclass(frozen=True, kw_only=True)
class Segment:
    """What a TCP header says; positions are those of the wire, a SYN has the first.

    Attributes:
        flags: the lower eight, and AE (once NS) above them.
        sequence: sequence number.
        acknowledged: acknowledgement number.
        payload: bytes behind the header.
        sack: blocks, as first number and one past the last.
        stamp: value and echo of the time stamp.
        mss: for the option of a SYN.
    """

    flags: int
    sequence: int
    acknowledged: int
    payload: int
    sack: Sequence[tuple[int, int]]
    stamp: tuple[int, int]
    mss: int


@dataclass(frozen=True, kw_only=True)
class Envelope:
    """What an IP header says.

    Attributes:
        source: address of the sender.
        destination: address of the receiver.
        identification: counts the packets of a sender.
        tos: type of service; its last two bits are the ECN codepoint.
        size: bytes of the whole packet.
    """

    source: bytes
    destination: bytes
    identification: int
    tos: int
    size: int


def checksum(data: bytes) -> int:
    """The sum of the Internet; 0 over what holds its own right sum."""
    if len(data) % 2:
        data += b"\0"
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def fits_tcp(size: int, payload: int) -> bool:
    """Whether the headers of a packet can be those of IPv4 and TCP."""
    options = size - payload - IP_BYTES - _TCP_BYTES
    return 0 <= options <= _MOST_OPTIONS and options % 4 == 0


def tcp(envelope: Envelope, segment: Segment, *, is_of_sender: bool) -> bytes:
    """The headers of a TCP packet; those of `fits_tcp` only."""
    options = _options(segment, envelope.size - segment.payload - IP_BYTES - _TCP_BYTES)
    length = _TCP_BYTES + len(options)
    ports = (SENDER_PORT, RECEIVER_PORT) if is_of_sender else (RECEIVER_PORT, SENDER_PORT)

    def header(total: int) -> bytes:
        fixed = struct.pack(
            "!HHIIHHHH",
            *ports,
            segment.sequence & 0xFFFFFFFF,
            segment.acknowledged & 0xFFFFFFFF,
            length // 4 << 12 | segment.flags & 0x1FF,
            _WINDOW,
            total,
            0,
        )
        return fixed + options

    return _ip(envelope, _TCP) + header(checksum(_pseudo(envelope, _TCP) + header(0)))


def _options(segment: Segment, room: int) -> bytes:
    stamp = struct.pack("!BBII", 8, 10, segment.stamp[0] & 0xFFFFFFFF, segment.stamp[1] & 0xFFFFFFFF)
    found = b""
    if segment.flags & SYN:
        first = struct.pack("!BBHBB", 2, 4, segment.mss, 4, 2)
        found = first + stamp + _NOP + struct.pack("!BBB", 3, 3, _WINDOW_SCALE)
    elif room >= 12:
        found = _NOP * 2 + stamp
        if segment.sack and room >= 16 + 8 * len(segment.sack):
            found += _NOP * 2 + struct.pack("!BB", 5, 2 + 8 * len(segment.sack))
            found += b"".join(struct.pack("!II", a & 0xFFFFFFFF, b & 0xFFFFFFFF) for a, b in segment.sack)
    return (found if len(found) <= room else b"").ljust(room, _NOP)


def udp(envelope: Envelope, *, is_of_sender: bool) -> bytes:
    """The headers of a UDP packet."""
    ports = (SENDER_PORT, RECEIVER_PORT) if is_of_sender else (RECEIVER_PORT, SENDER_PORT)
    length = envelope.size - IP_BYTES
    bare = struct.pack("!HHHH", *ports, length, 0)
    total = checksum(_pseudo(envelope, _UDP) + bare) or 0xFFFF
    return _ip(envelope, _UDP) + struct.pack("!HHHH", *ports, length, total)


def echo(envelope: Envelope, *, is_request: bool, identification: int, number: int) -> bytes:
    """The headers of an ICMP echo request or its answer."""
    kind = 8 if is_request else 0
    bare = struct.pack("!BBHHH", kind, 0, 0, identification, number & 0xFFFF)
    return _ip(envelope, _ICMP) + struct.pack("!BBHHH", kind, 0, checksum(bare), identification, number & 0xFFFF)


def _ip(envelope: Envelope, protocol: int) -> bytes:
    def header(total: int) -> bytes:
        return struct.pack(
            "!BBHHHBBH4s4s",
            0x45,
            envelope.tos,
            envelope.size,
            envelope.identification & 0xFFFF,
            _DO_NOT_FRAGMENT,
            _TIME_TO_LIVE,
            protocol,
            total,
            envelope.source,
            envelope.destination,
        )

    return header(checksum(header(0)))


def _pseudo(envelope: Envelope, protocol: int) -> bytes:
    return struct.pack("!4s4sBBH", envelope.source, envelope.destination, 0, protocol, envelope.size - IP_BYTES)
