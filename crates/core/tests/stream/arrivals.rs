//! What a receiver makes of segments that are late or arrive twice.

use bakeoff_core::endpoint::Endpoint;
use bakeoff_core::packet::{Ecn, Envelope, FlowId};
use bakeoff_core::packet_pool::PacketPool;
use bakeoff_core::transport::stream::{Receiver, Segment, StreamConfig};
use bakeoff_core::units::{Duration, Instant};

/// An ack: the next expected segment, the one that arrived twice, and the send time in milliseconds that it echoes.
type Told = (u64, Option<u64>, u64);

/// A receiver whose window grows no more, after 44 segments of which each was sent and arrived in its own millisecond.
fn receiver() -> Receiver {
    let mut receiver = Receiver::new(
        FlowId(0),
        StreamConfig { receive_window: Some(StreamConfig::DEFAULT.mss), ..StreamConfig::DEFAULT },
    );
    (0..44).for_each(|sequence| assert!(arrive(&mut receiver, sequence, sequence, sequence).len() <= 1));
    receiver
}

/// A segment that was sent at `sent` milliseconds arrives at `millis`; the acks that it causes at once.
fn arrive(receiver: &mut Receiver, sequence: u64, sent: u64, millis: u64) -> Vec<Told> {
    let at = |millis| Instant::ZERO + Duration::from_millis(millis);
    let data = Segment::Data {
        sequence,
        length: StreamConfig::DEFAULT.mss,
        timestamp_echo: Instant::ZERO,
        is_window_reduced: false,
        is_pushed: false,
    };
    receiver.accept(&data, Envelope { number: 0, ecn: Ecn::NotEct, sent: at(sent) }, at(millis));
    let mut pool = PacketPool::<Segment>::default();
    std::iter::from_fn(|| receiver.poll(at(millis), &mut pool))
        .filter_map(|packet| match &packet.payload {
            Segment::Ack(ack) => {
                Some((ack.cumulative, ack.duplicate().map(|range| range.start), ack.timestamp_echo.as_millis()))
            }
            _ => None,
        })
        .collect()
}

#[test]
fn what_a_retransmission_has_overtaken_is_acknowledged_and_not_taken() {
    let mut receiver = receiver();
    // The first of two was lost; its retransmission closes the hole.
    assert_eq!(arrive(&mut receiver, 46, 52, 72), [(44, None, 43)]);
    assert_eq!(arrive(&mut receiver, 44, 90, 95), [(45, None, 90)]);
    assert_eq!(arrive(&mut receiver, 44, 91, 96), [(45, Some(44), 91)]);
    assert_eq!(arrive(&mut receiver, 45, 51, 97), [(45, None, 91)], "its own time stamp is too old");
    assert_eq!(arrive(&mut receiver, 44, 50, 98), [(45, Some(44), 91)], "that of one that it has already is, too");
    assert_eq!(arrive(&mut receiver, 45, 90, 99), [(47, None, 91)], "a tick is no matter");
}

#[test]
fn what_arrived_long_ago_and_arrives_again_is_not_echoed() {
    let mut receiver = receiver();
    assert_eq!(arrive(&mut receiver, 20, 90, 95), [(44, Some(20), 43)]);
    assert_eq!(arrive(&mut receiver, 44, 50, 96), [(45, None, 50)]);
}

#[test]
fn what_waits_already_is_reported_with_the_acks_that_are_held_back() {
    let mut receiver = receiver();
    for sequence in 46..49 {
        assert_eq!(arrive(&mut receiver, sequence, 60, 80), [(44, None, 43)]);
    }
    assert_eq!(arrive(&mut receiver, 47, 70, 81), []);
    assert_eq!(arrive(&mut receiver, 49, 70, 83), [(44, Some(47), 43)]);
    // Below what is expected it is told of at once, and so are the next ones.
    assert_eq!(arrive(&mut receiver, 43, 71, 84), [(44, Some(43), 71)]);
    assert_eq!(arrive(&mut receiver, 50, 72, 85), [(44, None, 71)]);
}

#[test]
fn many_segments_at_once_are_acknowledged_beside_the_three_acks_that_are_not_held_back() {
    let mut receiver = receiver();
    for sequence in (45..57).chain(58..60) {
        arrive(&mut receiver, sequence, sequence, 60);
    }
    // What it releases takes no room of a window that is far smaller than the buffer.
    assert_eq!(arrive(&mut receiver, 44, 61, 61), [(57, None, 61)]);
    assert_eq!([60, 61, 62, 63].map(|sequence| arrive(&mut receiver, sequence, 62, 62).len()), [1, 1, 1, 0]);
}
