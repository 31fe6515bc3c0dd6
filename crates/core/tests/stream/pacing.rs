//! Senders that are paced.

use bakeoff_core::endpoint::Endpoint;
use bakeoff_core::packet::{FlowId, Packet};
use bakeoff_core::packet_pool::PacketPool;
use bakeoff_core::scheme::{Ack, Congestion, Feedback, Scheme, Sent, Timeout};
use bakeoff_core::traffic::{Source, TrafficConfig};
use bakeoff_core::transport::stream::{AckMode, EcnMode, Ect, Pacing, Segment, Sender, StreamConfig};
use bakeoff_core::units::{Bytes, Duration, Instant, Rate};

use super::exchange::{Fate, exchange_of, random, sequence};
use super::script::Script;

/// Sends a packet every so often, with one window but from a timeout to the next ack, and tells whether that limited
/// it. It has a timer, for nothing.
pub(super) struct Paced {
    gap: Duration,
    window: u32,
    cwnd: u32,
    is_cwnd_limited: bool,
    timer: Instant,
}

impl Paced {
    pub(super) fn new(gap: Duration, cwnd: u32) -> Box<Self> {
        Box::new(Self { gap, window: cwnd, cwnd, is_cwnd_limited: false, timer: Instant::ZERO })
    }
}

impl Scheme for Paced {
    fn cwnd(&self) -> u32 {
        self.cwnd
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Rate::of(StreamConfig::DEFAULT.packet_size(), self.gap)
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.cwnd = self.window;
        self.is_cwnd_limited = ack.is_cwnd_limited;
    }

    fn on_congestion(&mut self, _congestion: &Congestion) {}

    fn on_timeout(&mut self, _timeout: &Timeout) {
        self.cwnd = 1;
    }

    fn has_timer(&self) -> bool {
        true
    }

    fn next_timer(&self) -> Option<Instant> {
        Some(self.timer)
    }

    fn on_timer(&mut self, now: Instant) {
        self.timer = now + Duration::from_millis(100);
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        report("is_cwnd_limited", self.is_cwnd_limited.into());
    }
}

/// Sends a packet every four milliseconds, by a rate that does not count so much of every packet.
struct Uncounted(Bytes);

impl Scheme for Uncounted {
    fn cwnd(&self) -> u32 {
        1_000
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Rate::of(StreamConfig::DEFAULT.packet_size().saturating_sub(self.0), Duration::from_millis(4))
    }

    fn unpaced_header(&self) -> Bytes {
        self.0
    }

    fn on_ack(&mut self, _ack: &Ack<'_>) {}

    fn on_congestion(&mut self, _congestion: &Congestion) {}

    fn on_timeout(&mut self, _timeout: &Timeout) {}
}

#[test]
fn a_rate_is_shown_as_one_of_whole_packets_and_paces_what_it_counts() {
    // Packets of 1448 and of 552 bytes in turn, and 52 of headers: the first count for 4 ms, the second for their part
    // of that.
    for (uncounted, cycle_us) in [(0, 4_000 + 4_000 * 604 / 1_500), (28, 4_000 + 4_000 * 576 / 1_472)] {
        let config = StreamConfig { has_handshake: false, ..StreamConfig::DEFAULT };
        let source = Source::new(&TrafficConfig::Bulk { write: Some(Bytes::new(2_000)) }, Instant::ZERO, random());
        let scheme = Box::new(Uncounted(Bytes::new(uncounted)));
        let mut sender = Sender::new(FlowId(0), config, scheme, source, Instant::ZERO, random());
        let (mut pool, mut left) = (PacketPool::<Segment>::default(), Vec::new());
        let mut now = Instant::ZERO;
        while left.len() < 40 {
            now = sender.poll(now, &mut pool).map_or_else(
                || sender.next_wakeup().unwrap_or(now),
                |_| {
                    left.push(now);
                    now
                },
            );
        }
        let cycles = left[39].since(left[19]).as_micros();
        assert!(cycles.abs_diff(10 * cycle_us) < 100, "{uncounted} bytes: {cycles} us");
        let mut shown = None;
        sender.telemetry(&mut |name, value| shown = if name == "pacing_rate" { Some(value) } else { shown });
        assert_eq!(shown, Some(3e6), "{uncounted} bytes");
    }
}

#[test]
fn the_rate_of_a_window_is_that_of_the_last_ack_and_of_what_was_outstanding_then() {
    let mut script = Script::new(StreamConfig { pacing: Pacing::Internal, ..StreamConfig::DEFAULT });
    assert_eq!(script.send(10, 100).len(), 10);
    script.ack(1, &[], 100, 120);
    assert_eq!(script.telemetry("pacing_rate"), Some(12e6), "twice ten packets in 20 ms");
    assert_eq!(script.send(14, 120).len(), 1);
    assert_eq!(script.telemetry("pacing_rate"), Some(12e6), "before anything left for the ack");
    script.ack(2, &[], 100, 120);
    assert_eq!(script.telemetry("pacing_rate"), Some(16.8e6));
}

#[test]
fn with_counters_of_marks_the_rate_is_that_of_segments_without_them() {
    let config = StreamConfig::DEFAULT.with_ecn(EcnMode::Accurate, Ect::Ect0);
    let mut script = Script::new(StreamConfig { pacing: Pacing::Internal, ..config });
    assert_eq!(script.send(10, 100).len(), 10);
    script.ack(1, &[], 100, 120);
    let rate = script.telemetry("pacing_rate").map(f64::round);
    // Zeroed bits tell of marks, after which it is 1.2 times the window.
    assert_eq!(rate, Some((7.2e6_f64 * 1_448.0 / 1_436.0).floor()), "1436 bytes leave");
}

#[test]
fn a_window_that_the_pace_does_not_fill_is_no_limit() {
    // `tcp_cwnd_validate` looks at what is in flight whenever something was sent: here ten packets.
    for (cwnd, expected) in [(40, 0.0), (20, 0.0), (8, 1.0)] {
        let scheme = Paced::new(Duration::from_millis(4), cwnd);
        let (sender, ..) = exchange_of(scheme, StreamConfig::DEFAULT, 1_000, |_| Fate::Pass, 1);
        let mut found = None;
        sender.telemetry(&mut |name, value| {
            if name == "is_cwnd_limited" {
                found = Some(value);
            }
        });
        assert_eq!(found, Some(expected), "window of {cwnd}");
    }
}

#[test]
fn a_window_that_has_shrunk_is_a_limit_while_the_pacer_waits_too() {
    let mut script = Script::new(StreamConfig { pacing: Pacing::Internal, ..StreamConfig::DEFAULT });
    assert_eq!(script.send(10, 100).len(), 10);
    script.ack(10, &[], 100, 120);
    for millis in [120, 121] {
        assert_eq!(script.send(20, millis).len(), 1);
    }
    assert_eq!(script.send(2, 121), []);
    script.ack(11, &[], 120, 140);
    assert_eq!(script.usage(), [(true, 10), (true, 2)]);
}

/// Has gaps of 100 ms from the packet that left last, and of 10 ms from the first ack on; its rate says otherwise.
struct OwnGaps {
    departed: Instant,
    gap: Duration,
}

impl Scheme for OwnGaps {
    fn cwnd(&self) -> u32 {
        20
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Rate::of(StreamConfig::DEFAULT.packet_size(), Duration::from_secs(1))
    }

    fn next_departure(&self) -> Option<Instant> {
        Some(self.departed + self.gap)
    }

    fn on_sent(&mut self, sent: &Sent) -> u64 {
        self.departed = sent.now;
        0
    }

    fn on_ack(&mut self, _ack: &Ack<'_>) {
        self.gap = Duration::from_millis(10);
    }

    fn on_congestion(&mut self, _congestion: &Congestion) {}

    fn on_timeout(&mut self, _timeout: &Timeout) {}
}

#[test]
fn a_scheme_that_counts_gaps_itself_may_shorten_the_one_that_has_begun() {
    let every_20_ms = Rate::of(StreamConfig::DEFAULT.packet_size(), Duration::from_millis(20));
    // Of the 21 ms that the second packet is behind the highest rate the pacer makes up for ten.
    for (max_pacing_rate, expected) in [(None, [0, 41, 51, 61]), (every_20_ms, [0, 41, 51, 71])] {
        let scheme = Box::new(OwnGaps { departed: Instant::ZERO, gap: Duration::from_millis(100) });
        let config = StreamConfig { max_pacing_rate, feedback: Feedback::EveryPacket, ..StreamConfig::DEFAULT };
        let mut departures = Vec::new();
        let fate = |packet: &Packet<Segment>| {
            departures.extend(sequence(packet).map(|_| packet.sent.as_millis()));
            Fate::Pass
        };
        exchange_of(scheme, config, 300, fate, 1);
        let first = departures[0];
        assert_eq!(departures[..4].iter().map(|millis| millis - first).collect::<Vec<_>>(), expected);
    }
}

/// So many packets in flight, whatever happens.
struct Window(u32);

impl Scheme for Window {
    fn cwnd(&self) -> u32 {
        self.0
    }

    fn on_ack(&mut self, _ack: &Ack<'_>) {}

    fn on_congestion(&mut self, _congestion: &Congestion) {}

    fn on_timeout(&mut self, _timeout: &Timeout) {}
}

#[test]
fn the_most_that_a_flow_may_have_paces_it_before_its_round_trip_is_known() {
    let every_10_ms = Rate::of(StreamConfig::DEFAULT.packet_size(), Duration::from_millis(10));
    let gaps_of = |max_pacing_rate| {
        let config = StreamConfig { max_pacing_rate, has_handshake: false, ..StreamConfig::DEFAULT };
        let mut departures = Vec::new();
        let fate = |packet: &Packet<Segment>| {
            departures.extend(sequence(packet).map(|_| packet.sent.as_millis()));
            Fate::Pass
        };
        exchange_of(Box::new(Window(20)), config, 300, fate, 1);
        // Ten packets leave at once in any case.
        departures[9..13].iter().map(|millis| millis - departures[9]).collect::<Vec<_>>()
    };
    assert_eq!([None, every_10_ms].map(gaps_of), [[0; 4], [0, 10, 20, 30]]);
}

#[test]
fn jitter_is_counted_from_the_ack_and_what_waits_leaves_together() {
    let send_jitter = Duration::from_millis(10);
    let config = StreamConfig { acks: AckMode::Each, send_jitter, ..StreamConfig::DEFAULT };
    let gaps_of = |window| {
        let mut sent = Vec::new();
        let fate = |packet: &Packet<Segment>| {
            sent.extend(sequence(packet).map(|_| packet.sent.as_micros()));
            Fate::Pass
        };
        exchange_of(Box::new(Window(window)), config, 30_000, fate, 1);
        sent.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>()
    };
    // A round trip is 41 ms with the link's, and time passes by tenths of a millisecond.
    let waits: Vec<_> = gaps_of(1).into_iter().map(|gap| gap - 41_000).collect();
    assert!(waits.len() > 600 && waits.iter().all(|wait| (1..=10_000).contains(wait)), "{waits:?}");
    for tenth in 0..10 {
        let count = waits.iter().filter(|wait| (1_000 * tenth + 1..=1_000 * (tenth + 1)).contains(*wait)).count();
        assert!((30..110).contains(&count), "{count} of {} in tenth {tenth}", waits.len());
    }
    // The acks of three packets are a millisecond apart.
    let gaps = gaps_of(3);
    let together = gaps.iter().filter(|gap| **gap == 0).count();
    assert!((gaps.len() / 3..gaps.len()).contains(&together), "{together} of {}", gaps.len());
}

/// Alternates between small packets and ones that are too large.
struct OwnSizes(u64);

impl Scheme for OwnSizes {
    fn cwnd(&self) -> u32 {
        4
    }

    fn next_size(&self) -> Option<Bytes> {
        Some(Bytes::new(if self.0.is_multiple_of(2) { 300 } else { 1 << 20 }))
    }

    fn on_sent(&mut self, sent: &Sent) -> u64 {
        self.0 += u64::from(!sent.is_retransmission);
        0
    }

    fn on_ack(&mut self, _ack: &Ack<'_>) {}

    fn on_congestion(&mut self, _congestion: &Congestion) {}

    fn on_timeout(&mut self, _timeout: &Timeout) {}
}

#[test]
fn a_scheme_that_says_how_large_its_packets_are_has_them_so_and_again_where_they_are_lost() {
    let StreamConfig { mss, header, .. } = StreamConfig::DEFAULT;
    let mut sizes = Vec::new();
    let fate = |packet: &Packet<Segment>| {
        sizes.extend(sequence(packet).map(|sequence| (sequence, packet.size)));
        if sequence(packet) == Some(5) && !packet.is_retransmission { Fate::Drop } else { Fate::Pass }
    };
    let (sender, receiver, _) = exchange_of(Box::new(OwnSizes(0)), StreamConfig::DEFAULT, 300, fate, 1);
    assert_eq!(sender.stats.retransmissions, 1);
    let expected = |sequence: u64| header + if sequence.is_multiple_of(2) { Bytes::new(300) } else { mss };
    assert!(sizes.len() > 10 && sizes.iter().all(|(sequence, size)| *size == expected(*sequence)), "{sizes:?}");
    assert!(receiver.stats.goodput > Bytes::ZERO);
}

#[test]
fn a_paced_sender_is_silent_until_its_next_packet() {
    let gap = Duration::from_millis(400);
    let mut is_first = true;
    let fate = |packet: &Packet<Segment>| {
        let is_lost = sequence(packet) == Some(15) && std::mem::take(&mut is_first);
        if is_lost { Fate::Drop } else { Fate::Pass }
    };
    let scheme = Paced::new(gap, 40);
    let (sender, ..) = exchange_of(scheme, StreamConfig::DEFAULT, 4_000, fate, 1);
    assert_eq!(sender.stats.retransmissions, 1);
    let next = sender.next_wakeup().expect("the next packet's time or the timer's");
    assert!(sender.is_silent_before(next));
    assert!(!sender.is_silent_before(next + Duration::from_nanos(1)));
}

#[test]
fn timers_do_not_run_while_the_pacer_holds_packets_back() {
    // Longer than a probe and a timeout wait after a round trip of 41 ms.
    let gap = Duration::from_millis(300);
    let mut sent = Vec::new();
    let fate = |packet: &Packet<Segment>| {
        let is_lost =
            sequence(packet).is_some_and(|sequence| (15..18).contains(&sequence)) && !packet.is_retransmission;
        if sequence(packet).is_some() {
            sent.push(packet.sent);
        }
        if is_lost { Fate::Drop } else { Fate::Pass }
    };
    let (sender, ..) = exchange_of(Paced::new(gap, 40), StreamConfig::DEFAULT, 6_000, fate, 1);
    // The first ten are not paced, and the next one makes up for them.
    let early: Vec<_> = sent[11..].windows(2).filter(|pair| pair[1].since(pair[0]) < gap).collect();
    assert!(early.is_empty(), "{early:?}");
    assert_eq!((sender.stats.retransmissions, sender.stats.timeouts, sender.stats.probes), (3, 0, 0));
}

#[test]
fn after_a_timeout_one_new_packet_leaves_and_what_waits_for_the_pacer_is_the_lost_first() {
    // RFC 5682 tests with new data; a paced sender does so with the ack, and not with every packet after it.
    let mut sent = Vec::new();
    let fate = |packet: &Packet<Segment>| {
        let is_blackout = (100..400).contains(&packet.sent.as_millis());
        sent.push((packet.is_retransmission, is_blackout));
        if is_blackout { Fate::Drop } else { Fate::Pass }
    };
    let (sender, ..) = exchange_of(Paced::new(Duration::from_millis(4), 20), StreamConfig::DEFAULT, 2_000, fate, 1);
    assert!(sender.stats.timeouts >= 1);
    let after: Vec<_> = sent.iter().skip_while(|(_, is_blackout)| !is_blackout).filter(|(_, lost)| !lost).collect();
    let are_retransmissions: Vec<_> = after.iter().take(6).map(|(again, _)| *again).collect();
    assert_eq!(are_retransmissions, [true, false, true, true, true, true]);
}
