//! IP, TCP and UDP headers, as far as the emulator reads and writes them (RFC 791, 8200, 9293, 768).

use bakeoff_core::packet::Ecn;

const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const ECHO_REQUEST: u8 = 8;
const IPV6_FRAGMENT: u8 = 44;
/// The flag of an IPv4 header beside "more fragments" and the offset.
const DO_NOT_FRAGMENT: u16 = 0x4000;
const IPV6_HEADER: usize = 40;
/// Offset of the checksum in a TCP header.
pub(super) const TCP_CHECKSUM: usize = 16;
pub(super) const FIN: u8 = 1;
pub(super) const PSH: u8 = 8;
pub(super) const CWR: u8 = 0x80;

/// The transport protocol of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    Tcp,
    Udp,
    /// A message that has an identification, as echo requests and their answers have.
    Icmp {
        is_request: bool,
    },
    Other,
}

/// What the headers of a packet say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Headers {
    pub(super) is_v6: bool,
    pub(super) transport: Transport,
    /// Where the transport's header begins.
    pub(super) transport_at: usize,
    /// Where the payload begins.
    pub(super) payload_at: usize,
    /// Routers that the packet may still pass.
    pub(super) hop_limit: u8,
    pub(super) ecn: Ecn,
    pub(super) dscp: u8,
    /// Ports of sender and receiver, or the identification twice; zero if the transport has neither.
    pub(super) ports: [u16; 2],
    /// Whether it goes to a group and not to a host.
    pub(super) is_multicast: bool,
    /// Whether it is a piece of a datagram that was too large for the device.
    pub(super) is_fragment: bool,
}

pub(super) fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn put_word(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

impl Headers {
    /// Reads an IP packet; `None` if it is none, or ends within its headers.
    pub(super) fn read(packet: &[u8]) -> Option<Self> {
        let version = packet.first()? >> 4;
        let is_v6 = version == 6;
        let (transport_at, protocol) = match version {
            4 => (usize::from(packet[0] & 15) * 4, *packet.get(9)?),
            6 => (IPV6_HEADER, *packet.get(6)?),
            _ => return None,
        };
        if transport_at < 20 || packet.len() < transport_at {
            return None;
        }
        let is_fragment = if is_v6 { protocol == IPV6_FRAGMENT } else { word(packet, 6) & !DO_NOT_FRAGMENT != 0 };
        let (transport, length) = match protocol {
            _ if is_fragment => (Transport::Other, 0),
            TCP => (Transport::Tcp, usize::from(packet.get(transport_at + 12)? >> 4) * 4),
            UDP => (Transport::Udp, 8),
            ICMP => (Transport::Icmp { is_request: *packet.get(transport_at)? == ECHO_REQUEST }, 8),
            _ => (Transport::Other, 0),
        };
        let payload_at = transport_at + length;
        if packet.len() < payload_at || (length > 0 && length < 8) {
            return None;
        }
        let traffic_class = if is_v6 { packet[0] << 4 | packet[1] >> 4 } else { packet[1] };
        let ports = match transport {
            Transport::Tcp | Transport::Udp => [word(packet, transport_at), word(packet, transport_at + 2)],
            Transport::Icmp { .. } => [word(packet, transport_at + 4); 2],
            Transport::Other => [0; 2],
        };
        Some(Self {
            is_v6,
            transport,
            transport_at,
            payload_at,
            hop_limit: packet[if is_v6 { 7 } else { 8 }],
            ecn: Ecn::from_bits(traffic_class),
            dscp: traffic_class >> 2,
            ports,
            is_multicast: if is_v6 { packet[24] == 0xff } else { packet[16] >> 4 == 14 },
            is_fragment,
        })
    }

    /// Writes DSCP and ECN codepoint into the IP header.
    pub(super) fn write_ds_field(&self, packet: &mut [u8], field: u8) {
        if self.is_v6 {
            packet[0] = packet[0] & 0xf0 | field >> 4;
            packet[1] = packet[1] & 0x0f | field << 4;
        } else {
            packet[1] = field;
        }
    }

    /// Writes the length of the packet into the IP header.
    pub(super) fn write_length(&self, packet: &mut [u8], length: usize) {
        if self.is_v6 {
            put_word(packet, 4, (length - IPV6_HEADER) as u16);
        } else {
            put_word(packet, 2, length as u16);
        }
    }

    /// Adds to the identification of an IPv4 header.
    pub(super) fn add_to_identification(&self, packet: &mut [u8], count: u16) {
        if !self.is_v6 {
            put_word(packet, 4, word(packet, 4).wrapping_add(count));
        }
    }

    /// Writes the checksum of an IPv4 header; IPv6 has none.
    pub(super) fn write_ip_checksum(&self, packet: &mut [u8]) {
        if !self.is_v6 {
            put_word(packet, 10, 0);
            let checksum = !folded(sum(&packet[..self.transport_at]));
            put_word(packet, 10, checksum);
        }
    }

    /// Writes what the checksum of a TCP packet of this length begins with, the sum of its pseudo-header, for the
    /// kernel to complete.
    pub(super) fn write_partial_checksum(&self, packet: &mut [u8], length: usize) {
        let addresses = if self.is_v6 { &packet[8..IPV6_HEADER] } else { &packet[12..20] };
        let total = sum(addresses) + u32::from(TCP) + (length - self.transport_at) as u32;
        put_word(packet, self.transport_at + TCP_CHECKSUM, folded(total));
    }
}

/// The sum of 16-bit words in network order (RFC 1071); the length is even.
fn sum(bytes: &[u8]) -> u32 {
    bytes.as_chunks().0.iter().map(|pair| u32::from(u16::from_be_bytes(*pair))).sum()
}

fn folded(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example header of RFC 1071's neighbours: total length 115, TTL 64, UDP, checksum 0xb861.
    const EXAMPLE: [u8; 28] = [
        0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0, 0xc7, 0x27, 0x10,
        0x9c, 0x40, 0, 8, 0, 0,
    ];

    #[test]
    fn the_checksum_is_that_of_a_known_header() {
        let mut packet = EXAMPLE;
        let headers = Headers::read(&packet).unwrap();
        packet[10..12].fill(0);
        headers.write_ip_checksum(&mut packet);
        assert_eq!(packet, EXAMPLE);
    }

    #[test]
    fn ports_and_places_are_read() {
        let headers = Headers::read(&EXAMPLE).unwrap();
        assert_eq!(headers.ports, [10_000, 40_000]);
        assert_eq!((headers.transport_at, headers.payload_at, headers.hop_limit), (20, 28, 64));
        assert!(!headers.is_multicast && !headers.is_v6);
    }

    #[test]
    fn a_mark_or_a_rule_changes_the_ds_field_and_the_checksum() {
        let mut packet = EXAMPLE;
        packet[1] = 0b1011_1010;
        let headers = Headers::read(&packet).unwrap();
        assert_eq!((headers.dscp, headers.ecn), (46, Ecn::Ect0));
        for field in [0b1011_1011, 0b0010_1010] {
            headers.write_ds_field(&mut packet, field);
            headers.write_ip_checksum(&mut packet);
            assert_eq!(packet[1], field);
            assert_eq!(folded(sum(&packet[..20])), 0xffff, "a valid header sums to all ones");
        }
    }

    #[test]
    fn ipv6_keeps_its_ds_field_across_two_bytes() {
        let mut packet = [0; 48];
        packet[0] = 0x6b;
        packet[1] = 0xa5;
        packet[6] = UDP;
        let headers = Headers::read(&packet).unwrap();
        assert_eq!((headers.dscp, headers.ecn, headers.payload_at), (46, Ecn::Ect0, 48));
        headers.write_ds_field(&mut packet, 0x2b);
        assert_eq!(packet[..2], [0x62, 0xb5]);
    }

    #[test]
    fn an_echo_has_an_identification() {
        let mut packet = EXAMPLE;
        packet[9] = ICMP;
        packet[20] = ECHO_REQUEST;
        packet[24..26].copy_from_slice(&20_001_u16.to_be_bytes());
        let headers = Headers::read(&packet).unwrap();
        assert_eq!((headers.transport, headers.ports), (Transport::Icmp { is_request: true }, [20_001; 2]));
    }

    #[test]
    fn a_fragment_is_known_by_its_flag_or_its_offset() {
        assert!(!Headers::read(&EXAMPLE).unwrap().is_fragment, "do not fragment");
        for (high, low) in [(0x20, 0), (0x20, 0xb9), (0, 0xb9)] {
            let mut packet = EXAMPLE;
            (packet[6], packet[7]) = (high, low);
            let headers = Headers::read(&packet).unwrap();
            assert!(headers.is_fragment);
            assert_eq!((headers.transport, headers.ports), (Transport::Other, [0; 2]));
        }
    }

    #[test]
    fn what_is_cut_is_no_packet() {
        for length in 0..EXAMPLE.len() {
            assert_eq!(Headers::read(&EXAMPLE[..length]), None, "{length}");
        }
        assert_eq!(Headers::read(&[0x15; 40]), None);
        assert_eq!(Headers::read(&[0x41; 40]), None);
    }

    #[test]
    fn ipv6_has_its_hop_limit_addresses_and_length_elsewhere() {
        let mut packet = [0; 60];
        (packet[0], packet[6], packet[7], packet[8], packet[52]) = (0x60, TCP, 63, 0xe0, 5 << 4);
        let headers = Headers::read(&packet).unwrap();
        assert_eq!((headers.hop_limit, headers.is_multicast), (63, false));
        packet[24] = 0xff;
        assert!(Headers::read(&packet).unwrap().is_multicast);
        headers.write_length(&mut packet, 1_500);
        assert_eq!(word(&packet, 4), 1_460, "its own header does not count");
        let mut packet = EXAMPLE;
        for (byte, is_multicast) in [(223, false), (224, true), (239, true), (240, false)] {
            packet[16] = byte;
            assert_eq!(Headers::read(&packet).unwrap().is_multicast, is_multicast, "{byte}");
        }
    }

    #[test]
    fn a_partial_checksum_is_that_of_addresses_protocol_and_length_of_the_segment() {
        // RFC 9293, section 3.1, and RFC 8200, section 8.1: word by word.
        let mut packet = [0; 60];
        (packet[0], packet[6], packet[52]) = (0x60, TCP, 5 << 4);
        (packet[8..40].iter_mut().zip(1..)).for_each(|(byte, value)| *byte = value);
        let headers = Headers::read(&packet).unwrap();
        headers.write_partial_checksum(&mut packet, 1_040);
        let addresses: u32 = (1..=32).step_by(2).map(|byte| 256 * byte + byte + 1).sum();
        assert_eq!(word(&packet, 40 + TCP_CHECKSUM), folded(addresses + 6 + 1_000));
        let mut packet = [0; 40];
        (packet[0], packet[9], packet[32]) = (0x45, TCP, 5 << 4);
        packet[12..20].copy_from_slice(&[10, 1, 0, 2, 10, 3, 0, 4]);
        Headers::read(&packet).unwrap().write_partial_checksum(&mut packet, 1_020);
        assert_eq!(word(&packet, 20 + TCP_CHECKSUM), 0x0a01 + 2 + 0x0a03 + 4 + 6 + 1_000);
    }
}
