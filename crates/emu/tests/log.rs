//! What is written to the log is what is read from it, and only packets that travel are logged.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use bakeoff_core::units::Instant;
use bakeoff_emu::layout::Point;
use bakeoff_emu::log::{PacketRecord, Protocol, SampleRecord, TIMEOUTS, TRANSPORT_BYTES, quantities};
use proptest::prelude::*;

const POINT: Point = Point { tap: 3, is_outgoing: true };

/// An IPv4 packet with a TCP header of 32 bytes, whose fields are all different.
fn packet() -> Vec<u8> {
    let mut bytes = vec![0x45, 0x02, 0x05, 0xdc, 0x12, 0x34, 0x40, 0, 64, 6, 0, 0, 10, 1, 0, 0, 10, 2, 0, 0];
    bytes.extend_from_slice(&[0x27, 0x10, 0x9c, 0x40]);
    bytes.extend(1..=28);
    bytes
}

fn parse(bytes: &[u8]) -> Option<PacketRecord> {
    PacketRecord::parse(bytes, Instant::from_nanos(5), POINT)
}

#[test]
fn the_fields_of_a_packet_are_those_of_its_headers() {
    let record = parse(&packet()).unwrap();
    let expected = PacketRecord {
        time: Instant::from_nanos(5),
        point: POINT,
        protocol: Protocol::Tcp,
        tos: 2,
        identification: 0x1234,
        size: 1500,
        source_port: 10_000,
        destination_port: 40_000,
        transport: std::array::from_fn(|index| index as u8 + 1),
    };
    assert_eq!(record, expected);
    assert_eq!(record.header().length, 1480, "behind the header of IP");
}

#[test]
fn a_packet_that_is_cut_off_behind_its_ports_has_zeros() {
    let record = parse(&packet()[..32]).unwrap();
    assert_eq!(record.transport[..8], [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(record.transport[8..], [0; TRANSPORT_BYTES - 8]);
}

#[test]
fn what_does_not_travel_is_not_logged() {
    let changed = |index: usize, value: u8| {
        let mut bytes = packet();
        bytes[index] = value;
        parse(&bytes)
    };
    assert_eq!(changed(8, 1), None, "a time to live of 1 ends at the first router");
    assert_eq!(changed(9, 1), None, "ICMP");
    assert_eq!(changed(0, 0x60), None, "IPv6");
    assert_eq!(changed(0, 0x46), None, "IP options");
    assert_eq!(parse(&packet()[..27]), None, "too short");
    assert_eq!(changed(9, 17).unwrap().protocol, Protocol::Udp);
}

#[test]
fn a_sample_needs_a_known_name() {
    assert_eq!(SampleRecord::new(Instant::ZERO, 0, "no such quantity", 1.0), None);
    let sample = SampleRecord::new(Instant::ZERO, 2, TIMEOUTS, 1.0).unwrap();
    assert_eq!(quantities().nth(sample.quantity as usize), Some(TIMEOUTS));
}

proptest! {
    #[test]
    fn a_packet_is_read_as_it_was_written(
        time in any::<u64>(), tap in any::<u16>(), is_outgoing in any::<bool>(), is_tcp in any::<bool>(),
        tos in any::<u8>(), words in any::<[u16; 4]>(), transport in any::<[u8; TRANSPORT_BYTES]>(),
    ) {
        let [identification, size, source_port, destination_port] = words;
        let record = PacketRecord {
            time: Instant::from_nanos(time),
            point: Point { tap: usize::from(tap), is_outgoing },
            protocol: if is_tcp { Protocol::Tcp } else { Protocol::Udp },
            tos, identification, size, source_port, destination_port, transport,
        };
        prop_assert_eq!(PacketRecord::decode(&record.encode()), record);
    }

    #[test]
    fn a_sample_is_read_as_it_was_written(time in any::<u64>(), flow in any::<u32>(), quantity in any::<u32>(), value in -1e300..1e300) {
        let sample = SampleRecord { time: Instant::from_nanos(time), flow, quantity, value };
        prop_assert_eq!(SampleRecord::decode(&sample.encode()), sample);
    }
}
