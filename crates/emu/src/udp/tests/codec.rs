use bakeoff_core::packet::{Ecn, FlowId, Packet};
use bakeoff_core::transport::stream::{AckSegment, EcnMode, Range, Segment};
use bakeoff_core::units::{Bytes, Duration, Instant};
use proptest::collection::vec;
use proptest::prelude::*;

use super::FLOW;
use crate::udp::codec::{UNBOUNDED_WINDOW, expand};
use crate::udp::{Datagram, DecodeError, Decoder, EncodeError, Kind, MAX_HEADER_BYTES, Prefix, encode};

const HEADER: Bytes = Bytes::new(52);
const HANDSHAKE: Bytes = Bytes::new(60);

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn datagram(packet: &Packet<Segment>) -> Vec<u8> {
    let mut datagram = vec![0xff; 5_000];
    encode(packet, &mut datagram).unwrap();
    datagram
}

fn decode(decoder: &mut Decoder, bytes: &[u8], now: Instant) -> Result<Packet<Segment>, DecodeError> {
    decoder.decode(&Datagram { bytes, length: bytes.len(), ecn: Ecn::NotEct }, now)
}

fn ack(cumulative: u64, blocks: u64, has_duplicate: bool) -> Packet<Segment> {
    let mut ack = AckSegment::new(cumulative, at(3), Duration::from_nanos(20_000_001));
    if has_duplicate {
        ack.set_duplicate(Range { start: cumulative - 1, end: cumulative });
    }
    ack.set_blocks(
        (1..=blocks).map(|block| Range { start: cumulative + 10 * block, end: cumulative + 10 * block + 7 }),
    );
    ack.is_ecn_echo = blocks == 1;
    ack.window = UNBOUNDED_WINDOW | (12 + blocks as u16);
    Packet::new(FLOW, false, 4, ack.size(HEADER), at(9), Segment::Ack(ack))
}

fn data(sequence: u64, length: u64, sent: Instant) -> Packet<Segment> {
    let (is_window_reduced, is_pushed) = (sequence % 2 == 1, sequence % 3 == 1);
    let (length, timestamp_echo) = (Bytes::new(length), Instant::ZERO);
    let segment = Segment::Data { sequence, length, timestamp_echo, is_window_reduced, is_pushed };
    let packet = Packet::new(FLOW, true, sequence + 1, HEADER + length, sent, segment);
    Packet { is_retransmission: sequence.is_multiple_of(3), ..packet }
}

/// One packet of every kind, and acks with every number of blocks.
fn examples() -> Vec<Packet<Segment>> {
    let mut examples = vec![
        Packet::new(FLOW, true, 0, HANDSHAKE, at(9), Segment::Syn { ecn: EcnMode::Accurate }),
        Packet::new(FLOW, false, 0, HANDSHAKE, at(9), Segment::SynAck { ecn: EcnMode::Sce, timestamp_echo: at(5) }),
        data(50, 1_448, at(1)),
        data(51, 1, at(1)),
    ];
    examples.extend((0..=3).map(|blocks| ack(100, blocks, false)));
    examples.extend((0..=2).map(|blocks| ack(100, blocks, true)));
    examples
}

/// Acks of accurate ECN and of SCE, with every number of blocks.
fn examples_with_marks() -> Vec<Packet<Segment>> {
    let with_marks = |blocks, eceb, is_sce_echo| {
        let packet = ack(100, blocks, false);
        let Segment::Ack(plain) = packet.payload else { panic!("{packet:?}") };
        let ace = blocks as u8 + 4;
        let mut ack = plain;
        ack.is_sce_echo = is_sce_echo;
        ack.set_marks(ace, (blocks < 3).then_some(eceb));
        Packet { size: ack.size(HEADER), payload: Segment::Ack(ack), ..packet }
    };
    (0..=3).flat_map(|blocks| [with_marks(blocks, 0xfe_dcba, false), with_marks(blocks, 0, true)]).collect()
}

#[test]
fn every_segment_survives() {
    for packet in examples().into_iter().chain(examples_with_marks()) {
        let decoded = decode(&mut Decoder::new(FLOW), &datagram(&packet), at(9)).unwrap();
        assert_eq!(format!("{decoded:?}"), format!("{packet:?}"));
    }
}

#[test]
fn ip_packets_are_as_large_as_simulated_ones() {
    let sizes: Vec<_> = examples().iter().map(|packet| 20 + 8 + datagram(packet).len()).collect();
    assert_eq!(sizes, [60, 60, 1_500, 53, 52, 64, 72, 80, 64, 72, 80]);
}

#[test]
fn what_is_kept_of_a_datagram_is_enough() {
    for packet in examples().into_iter().chain(examples_with_marks()) {
        let whole = datagram(&packet);
        let bytes = &whole[..whole.len().min(MAX_HEADER_BYTES)];
        let cut = Datagram { bytes, length: whole.len(), ecn: Ecn::Ce };
        let decoded = Decoder::new(FLOW).decode(&cut, at(9)).unwrap();
        assert_eq!((decoded.size, decoded.ecn), (packet.size, Ecn::Ce));
    }
}

#[test]
fn a_tap_reads_fields_at_the_offsets_that_are_documented() {
    let packet = Packet { number: 0x0102_0304, ..data(0x0a0b_0c0f, 1_448, Instant::from_nanos(0x1122_3344_5566)) };
    let bytes = datagram(&packet);
    assert_eq!(bytes[..12], [0x13, 0b11, 0, 7, 1, 2, 3, 4, 0x0a, 0x0b, 0x0c, 0x0f]);
    assert_eq!(bytes[12..24], [0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0, 0, 0, 5, 0xa8, 0]);
    let prefix = Prefix::read(&bytes[..24]).unwrap();
    assert_eq!((prefix.kind, prefix.number, prefix.is_retransmission), (Kind::Data, 0x0102_0304, true));
    let bytes = datagram(&ack(0x0a0b_0c0f, 2, true));
    assert_eq!(bytes[..12], [0x14, 0b10_1000, 0, 7, 0, 0, 0, 4, 0x0a, 0x0b, 0x0c, 0x0f]);
    assert_eq!(bytes[24..40], [10, 11, 12, 14, 10, 11, 12, 15, 10, 11, 12, 25, 10, 11, 12, 32]);
}

#[test]
fn a_packet_without_room_for_its_header_is_refused() {
    let small = Packet { size: Bytes::new(40), ..ack(100, 0, false) };
    let error = encode(&small, &mut Vec::new()).unwrap_err();
    assert_eq!(error, EncodeError::TooSmall { size: 40, needed: 52 });
    assert_eq!(error.to_string(), "a packet of 40 bytes cannot be sent over UDP; what it carries needs 52");
    let large = Packet { size: Bytes::new(65_536), ..data(0, 1_448, at(0)) };
    assert_eq!(encode(&large, &mut Vec::new()), Err(EncodeError::TooLarge { size: 65_536 }));
    let empty = Packet { size: Bytes::new(1_499), ..data(0, 1_448, at(0)) };
    assert_eq!(encode(&empty, &mut Vec::new()), Err(EncodeError::TooSmall { size: 1_499, needed: 1_500 }));
    let far = Packet { flow: FlowId(65_536), ..data(0, 1_448, at(0)) };
    assert_eq!(encode(&far, &mut Vec::new()), Err(EncodeError::Flow { flow: 65_536 }));
}

#[test]
fn malformed_datagrams_are_refused() {
    let decode = |bytes: &[u8]| decode(&mut Decoder::new(FLOW), bytes, at(9)).unwrap_err();
    let good = datagram(&ack(100, 1, false));
    assert_eq!(decode(&good[..23]), DecodeError::Short { length: 23, needed: 24 });
    assert_eq!(decode(&good[..31]), DecodeError::Short { length: 31, needed: 32 });
    let with = |place: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[place] = byte;
        decode(&bytes)
    };
    assert_eq!(with(0, 0x24), DecodeError::Kind { byte: 0x24 });
    assert_eq!(with(3, 8), DecodeError::Flow { flow: 8 });
    assert_eq!(with(31, 110), DecodeError::Block { start: 110, end: 110 });
    assert_eq!(with(28, 0xff), DecodeError::Block { start: 110, end: 0xff00_0075 });
    let cut = &datagram(&data(1, 1_448, at(0)))[..1_471];
    assert_eq!(decode(cut), DecodeError::Payload { length: 1_471, payload: 1_448 });
}

#[test]
fn what_is_refused_does_not_move_the_numbers() {
    let mut decoder = Decoder::new(FLOW);
    let mut bad = datagram(&ack(u64::from(u32::MAX / 2), 1, false));
    bad.truncate(30);
    assert!(decode(&mut decoder, &bad, at(9)).is_err());
    let good = decode(&mut decoder, &datagram(&data(5, 1, at(1))), at(9)).unwrap();
    assert!(matches!(good.payload, Segment::Data { sequence: 5, .. }));
}

#[test]
fn a_very_long_delay_reads_as_the_longest() {
    let long = AckSegment::new(1, at(0), Duration::from_secs(7_200));
    let packet = Packet::new(FLOW, false, 0, HEADER, at(0), Segment::Ack(long));
    let decoded = decode(&mut Decoder::new(FLOW), &datagram(&packet), at(0)).unwrap();
    let Segment::Ack(ack) = decoded.payload else { panic!("{decoded:?}") };
    assert_eq!(ack.one_way_delay.as_nanos(), (1 << 40) - 1);
}

#[test]
fn numbers_grow_to_the_nearest_one() {
    assert_eq!(expand(0x05, 8, 0x1fe), 0x205);
    assert_eq!(expand(0xfe, 8, 0x205), 0x1fe);
    assert_eq!(expand(0xfe, 8, 0x02), 0xfe);
    assert_eq!(expand(0x01, 8, u64::MAX), 0x01);
}

proptest! {
    #[test]
    fn numbers_and_times_pass_any_wrap(
        steps in vec((0_u64..1 << 31, 0_u64..1 << 46, 0_u64..1 << 46), 1..40),
        begin in 0_u64..1 << 60,
        lengths in vec(1_u64..9_000, 40),
    ) {
        let (mut sequence, mut now) = (0, begin);
        let (mut receiver, mut sender) = (Decoder::new(FLOW), Decoder::new(FLOW));
        for ((step, elapsed, underway), length) in steps.into_iter().zip(lengths) {
            sequence += step;
            now += elapsed;
            let sent = Instant::from_nanos(now.saturating_sub(underway));
            let now = Instant::from_nanos(now);
            let packet = data(sequence, length, sent);
            let decoded = decode(&mut receiver, &datagram(&packet), now).unwrap();
            prop_assert_eq!(format!("{decoded:?}"), format!("{packet:?}"));
            let mut ack = AckSegment::new(sequence + 1, sent, Duration::from_nanos(underway.min((1 << 40) - 1)));
            ack.set_blocks([Range { start: sequence + 2, end: sequence + 2 + length }]);
            let packet = Packet::new(FLOW, false, sequence / 2, ack.size(HEADER), now, Segment::Ack(ack));
            let decoded = decode(&mut sender, &datagram(&packet), now).unwrap();
            prop_assert_eq!(format!("{decoded:?}"), format!("{packet:?}"));
        }
    }

    #[test]
    fn arbitrary_bytes_are_a_packet_or_an_error(
        mut bytes in vec(any::<u8>(), 0..200),
        kind in 0_u8..6,
        now in any::<u64>(),
        length in 0_usize..70_000,
    ) {
        let mut decoder = Decoder::new(FlowId(0));
        if bytes.len() > 4 {
            bytes[0] = 0x10 | kind;
            bytes[2..4].fill(0);
        }
        for ecn in [Ecn::NotEct, Ecn::Ce] {
            let datagram = Datagram { bytes: &bytes, length, ecn };
            if let Ok(packet) = decoder.decode(&datagram, Instant::from_nanos(now)) {
                prop_assert_eq!(packet.size.count(), length as u64 + 28);
            }
        }
    }
}

#[test]
fn the_largest_packet_is_that_of_ip() {
    let of = |size| Packet { size: Bytes::new(size), ..data(1, 1_448, at(1)) };
    let mut datagram = Vec::new();
    assert_eq!((encode(&of(65_535), &mut datagram), datagram.len()), (Ok(()), 65_507));
    assert_eq!(encode(&of(65_536), &mut datagram), Err(EncodeError::TooLarge { size: 65_536 }));
}

#[test]
fn numbers_go_on_from_the_highest_of_all_whatever_was_late() {
    let mut decoder = Decoder::new(FLOW);
    let mut number = |number, sequence| {
        let packet = Packet { number, ..data(sequence, 1_448, at(1)) };
        let decoded = decode(&mut decoder, &datagram(&packet), at(1)).unwrap();
        let Segment::Data { sequence, .. } = decoded.payload else { panic!("it was data") };
        (decoded.number, sequence)
    };
    let half = 1 << 31;
    // Each is less than half the numbers' range from the highest, and more than that from the one before.
    for next in [half - 1, half - 1 + half - 2, half, half - 1 + half - 2 + half - 2] {
        assert_eq!(number(next, next), (next, next));
    }
}
