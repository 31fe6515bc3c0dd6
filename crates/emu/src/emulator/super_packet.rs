//! What the kernel hands over in one read: a packet, or several TCP segments of equal size under one header.
//!
//! Hops see segments only, each with its own size and fate. On the way out, segments that follow each other may be put
//! together again; the kernel completes their checksums.

use std::io::IoSlice;
use std::ops::Range;
use std::sync::Arc;

use bakeoff_core::units::Bytes;

use super::headers::{CWR, FIN, Headers, PSH, TCP_CHECKSUM, Transport};

/// Size of `struct virtio_net_hdr` before every packet (Linux `include/uapi/linux/virtio_net.h`).
pub(super) const VNET_BYTES: usize = 10;
/// The most that one read returns.
pub(super) const READ_BYTES: usize = VNET_BYTES + 65_536;
const NEEDS_CHECKSUM: u8 = 1;
const GSO_NONE: u8 = 0;
const GSO_TCPV4: u8 = 1;
const GSO_TCPV6: u8 = 4;
/// The longest headers: IPv6 or IPv4 with options, and TCP with options.
const HEADER_BYTES: usize = 120;
const FLAGS: usize = 13;
const SEQUENCE: usize = 4;

/// A packet, or several under one header.
#[derive(Debug)]
pub(super) struct SuperPacket {
    /// From the IP header on.
    bytes: Box<[u8]>,
    pub(super) headers: Headers,
    /// Payload of each segment but the last, which may have less.
    segment_payload: usize,
    /// The header that came before a packet that is not to be split.
    vnet: [u8; VNET_BYTES],
}

/// A segment of a super-packet: what hops carry.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) whole: Arc<SuperPacket>,
    /// Its number among the segments.
    pub(super) segment: u16,
    /// Number of the device that it goes to.
    pub(super) device: u16,
}

impl SuperPacket {
    /// Takes what a device returned; `None` if it is no IP packet.
    pub(super) fn read(read: &[u8]) -> Option<Self> {
        let (vnet, packet) = read.split_first_chunk::<VNET_BYTES>()?;
        let headers = Headers::read(packet)?;
        let is_whole = vnet[1] == GSO_NONE || headers.transport != Transport::Tcp;
        let payload = packet.len() - headers.payload_at;
        let segment = usize::from(u16::from_ne_bytes([vnet[4], vnet[5]]));
        let segment_payload = if is_whole || segment == 0 { payload } else { segment };
        Some(Self { bytes: packet.into(), headers, segment_payload, vnet: *vnet })
    }

    fn payload(&self) -> &[u8] {
        &self.bytes[self.headers.payload_at..]
    }

    /// Number of segments.
    pub(super) fn segments(&self) -> u16 {
        self.payload().len().div_ceil(self.segment_payload.max(1)).max(1) as u16
    }

    fn part(&self, segments: Range<u16>) -> &[u8] {
        let payload = self.payload();
        let at = |segment: u16| (usize::from(segment) * self.segment_payload).min(payload.len());
        if self.segments() == 1 { payload } else { &payload[at(segments.start)..at(segments.end)] }
    }

    /// Size of the IP packet of a segment.
    pub(super) fn size(&self, segment: u16) -> Bytes {
        Bytes::new((self.headers.payload_at + self.part(segment..segment + 1).len()) as u64)
    }

    /// The beginning of a segment's transport header, as many bytes as `room` has.
    pub(super) fn transport(&self, segment: u16, room: &mut [u8]) {
        for (to, from) in room.iter_mut().zip(&self.bytes[self.headers.transport_at..]) {
            *to = *from;
        }
        if self.headers.transport == Transport::Tcp {
            self.number(&mut *room, segment..segment + 1);
        }
    }

    /// Makes the TCP header in `transport` that of some segments.
    fn number(&self, transport: &mut [u8], segments: Range<u16>) {
        let sequence = u32::from_be_bytes(std::array::from_fn(|index| transport[SEQUENCE + index]));
        let offset = u32::from(segments.start) * self.segment_payload as u32;
        transport[SEQUENCE..SEQUENCE + 4].copy_from_slice(&sequence.wrapping_add(offset).to_be_bytes());
        if segments.end < self.segments() {
            transport[FLAGS] &= !(FIN | PSH);
        }
        if segments.start > 0 {
            transport[FLAGS] &= !CWR;
        }
    }

    /// Writes some segments, which all have this DS field, as one packet into `scratch`, and hands its parts to
    /// `write`.
    pub(super) fn emit<T>(
        &self,
        segments: Range<u16>,
        ds_field: u8,
        scratch: &mut [u8; VNET_BYTES + HEADER_BYTES],
        write: impl FnOnce(&[IoSlice<'_>]) -> T,
    ) -> T {
        let headers = &self.headers;
        let part = self.part(segments.clone());
        let (vnet, head) = scratch.split_at_mut(VNET_BYTES);
        let head = &mut head[..headers.payload_at];
        head.copy_from_slice(&self.bytes[..headers.payload_at]);
        headers.write_ds_field(head, ds_field);
        if self.segments() == 1 {
            vnet.copy_from_slice(&self.vnet);
        } else {
            headers.write_length(head, headers.payload_at + part.len());
            headers.add_to_identification(head, segments.start);
            self.number(&mut head[headers.transport_at..], segments.clone());
            headers.write_partial_checksum(head, headers.payload_at + part.len());
            vnet.copy_from_slice(&self.vnet_of(segments));
        }
        headers.write_ip_checksum(head);
        write(&[IoSlice::new(&scratch[..VNET_BYTES + headers.payload_at]), IoSlice::new(part)])
    }

    /// The header before a packet of these segments.
    fn vnet_of(&self, segments: Range<u16>) -> [u8; VNET_BYTES] {
        let mut vnet = [0; VNET_BYTES];
        let mut put = |at: usize, value: usize| vnet[at..at + 2].copy_from_slice(&(value as u16).to_ne_bytes());
        put(6, self.headers.transport_at);
        put(8, TCP_CHECKSUM);
        if segments.len() > 1 {
            put(2, self.headers.payload_at);
            put(4, self.segment_payload);
            vnet[1] = if self.headers.is_v6 { GSO_TCPV6 } else { GSO_TCPV4 };
        }
        vnet[0] = NEEDS_CHECKSUM;
        vnet
    }
}

/// Room for the headers of one packet.
pub(super) type Scratch = [u8; VNET_BYTES + HEADER_BYTES];

/// Empty room.
pub(super) const SCRATCH: Scratch = [0; VNET_BYTES + HEADER_BYTES];

#[cfg(test)]
mod tests;
